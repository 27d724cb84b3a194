"""One piece of evidence in its context: where it stands, what was read from it, and what rests on it."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.pages.results import result_of
from attribution.dashboard.problems import WebProblem, shown
from attribution.dashboard.rendering import page
from attribution.dashboard.views import links
from attribution.dashboard.views.trail import TrailView, trail_view, uses
from attribution.presentation.answer import Answer


def html(request: Request) -> Response:
    """The page."""
    return HTMLResponse(page("evidence.html", view=_view(request, result_of(request)), key=request.path_params["key"]))


def json(request: Request) -> Response:
    """The evidence as the diagnosis has it, what rests on it, and its neighbours."""
    result = result_of(request)
    view = _view(request, result)
    item = next(item for item in result.diagnosis.evidence if item.id == view.line.id)
    return JSONResponse(
        {
            "attempt": {
                "href": links.attempt(request.path_params["key"]),
                "workload_id": result.diagnosis.workload_id,
                "attempt": result.diagnosis.attempt,
            },
            "evidence": item.model_dump(mode="json"),
            "used_by": [asdict(use) for use in uses(Answer(result.diagnosis), item.id)],
            "number": view.number,
            "total": view.total,
            "previous": view.previous and view.previous.href,
            "next": view.next and view.next.href,
        }
    )


def _view(request: Request, result: AttributionBlueprintResult) -> TrailView:
    evidence_id = links.unsegment(request.path_params["id"])
    view = trail_view(result, request.path_params["key"], evidence_id)
    if view is None:
        raise WebProblem(404, f"This diagnosis keeps no evidence `{shown(evidence_id, 60)}`.")
    return view


ROUTES = (
    Route("/attempts/{key}/evidence/{id}.json", json),
    Route("/attempts/{key}/evidence/{id}", html),
)
