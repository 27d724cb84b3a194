"""The diagnosis of one attempt: a page, the whole result as JSON, and Markdown for a ticket."""

import re

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.access import reader_of
from attribution.dashboard.problems import WebProblem, shown
from attribution.dashboard.rendering import page
from attribution.dashboard.views.attempts import href
from attribution.dashboard.views.diagnosis import diagnosis_view
from attribution.presentation import delivery
from attribution.presentation import markdown as as_markdown
from attribution.store.queries import get_result

_KEY = re.compile(r"[0-9a-f]{32}")


def html(request: Request) -> Response:
    """The page."""
    result = _result(request)
    key = request.path_params["key"]
    links = {"json": f"{href(key)}.json", "markdown": f"{href(key)}.md", "name": f"attribution-{key[:12]}"}
    return HTMLResponse(page("diagnosis.html", view=diagnosis_view(result), links=links))


def json(request: Request) -> Response:
    """The AttributionBlueprintResult, whole."""
    return Response(_result(request).model_dump_json(), media_type="application/json")


def markdown(request: Request) -> Response:
    """The diagnosis as Markdown."""
    result = _result(request)
    text = as_markdown.render(result.diagnosis) + "\n".join([*delivery.as_markdown(result), ""])
    return Response(text.encode("utf-8", "replace"), media_type="text/markdown")


def _result(request: Request) -> AttributionBlueprintResult:
    key = request.path_params["key"]
    found = get_result(request.app.state.store, key, reader_of(request).tenant) if _KEY.fullmatch(key) else None
    if found is None:
        raise WebProblem(404, f"No attempt is known by `{shown(key, 60)}`. It may never have been diagnosed here.")
    return found


ROUTES = (
    Route("/attempts/{key}.json", json),
    Route("/attempts/{key}.md", markdown),
    Route("/attempts/{key}", html),
)
