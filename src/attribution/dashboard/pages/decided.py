"""How a diagnosis was decided, step by step: all of them, or one after the other by `?step=`."""

import sys
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.dashboard.pages.results import result_of
from attribution.dashboard.rendering import page
from attribution.dashboard.views import links
from attribution.dashboard.views.keys import BadQuery, item, read_keys
from attribution.dashboard.views.steps import Step, steps
from attribution.presentation.answer import Answer
from attribution.presentation.columns import clip

KEYS = ("step",)
"""What the address may ask for."""


def html(request: Request) -> Response:
    """The page."""
    result, key = result_of(request, KEYS), request.path_params["key"]
    told = steps(result, key)
    chosen = _chosen(request, told)
    return HTMLResponse(
        page("decided.html", key=key, attempt=Answer(result.diagnosis).attempt, steps=told, chosen=chosen)
    )


def json(request: Request) -> Response:
    """The steps as JSON with all their rows; all of them, or the one that is asked for."""
    result, key = result_of(request, KEYS), request.path_params["key"]
    told = steps(result, key, most=sys.maxsize)
    chosen = _chosen(request, told)
    shown = [step for step in told if chosen in (None, step.number)]
    return JSONResponse({"attempt": {"href": links.attempt(key)}, "steps": [asdict(step) for step in shown]})


def _chosen(request: Request, told: tuple[Step, ...]) -> int | None:
    """The number of the step that is asked for; None for all."""
    value = read_keys(request.query_params.multi_items(), KEYS)["step"]
    if not value:
        return None
    if value not in {str(step.number) for step in told}:
        raise BadQuery([item("step", "no-step", f"cannot be `{clip(value, 60)}`", f"write 1 to {len(told)}")])
    return int(value)


ROUTES = (
    Route("/attempts/{key}/decided.json", json),
    Route("/attempts/{key}/decided", html),
)
