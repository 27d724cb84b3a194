"""How a diagnosis was decided, step by step: all of them, or one after the other by `?step=`."""

import sys
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.contracts.exchange import ProblemItem
from attribution.dashboard.pages.results import result_of
from attribution.dashboard.rendering import page
from attribution.dashboard.views import links
from attribution.dashboard.views.query import BadQuery
from attribution.dashboard.views.steps import Step, steps
from attribution.presentation.answer import Answer
from attribution.presentation.columns import clip

KEYS = ("step",)
"""What the address may ask for."""


def html(request: Request) -> Response:
    """The page."""
    result, key = result_of(request), request.path_params["key"]
    told = steps(result, key)
    chosen = _chosen(request, told)
    return HTMLResponse(
        page("decided.html", key=key, attempt=Answer(result.diagnosis).attempt, steps=told, chosen=chosen)
    )


def json(request: Request) -> Response:
    """The steps as JSON with all their rows; all of them, or the one that is asked for."""
    result, key = result_of(request), request.path_params["key"]
    told = steps(result, key, most=sys.maxsize)
    chosen = _chosen(request, told)
    shown = [step for step in told if chosen in (None, step.number)]
    return JSONResponse({"attempt": {"href": links.attempt(key)}, "steps": [asdict(step) for step in shown]})


def _chosen(request: Request, told: tuple[Step, ...]) -> int | None:
    """The number of the step that is asked for; None for all."""
    given = request.query_params.multi_items()
    unknown = [name for name, _ in given if name not in KEYS]
    values = [value for name, value in given if name in KEYS]
    if unknown or len(values) > 1:
        name = clip((unknown or list(KEYS))[0], 60)
        raise _bad(name, "is not a key of this page" if unknown else "is given twice", "the only key is `step`, once")
    if not values or not values[0]:
        return None
    if values[0] not in {str(step.number) for step in told}:
        raise _bad("step", f"cannot be `{clip(values[0], 60)}`", f"write 1 to {len(told)}")
    return int(values[0])


def _bad(name: str, message: str, remedy: str) -> BadQuery:
    return BadQuery([ProblemItem(place=f"?{name}", code="no-step", message=f"`{name}` {message}", remedy=remedy)])


ROUTES = (
    Route("/attempts/{key}/decided.json", json),
    Route("/attempts/{key}/decided", html),
)
