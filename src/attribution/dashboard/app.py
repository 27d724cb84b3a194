"""The application: who may read, which page answers where, and what is answered when none can."""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from attribution.dashboard import problems
from attribution.dashboard.access import Access, AccessControl
from attribution.dashboard.headers import SecurityHeaders
from attribution.dashboard.pages import (
    attempts,
    coverage,
    decided,
    devices,
    diagnosis,
    evidence,
    excerpt,
    health,
    hot_spots,
    nodes,
    patterns,
    rules,
    symptoms,
)
from attribution.dashboard.problems import WebProblem
from attribution.dashboard.views.keys import BadQuery
from attribution.store.database import Store
from attribution.store.faults import DatabaseDamaged, StoreDamaged, StoreUnavailable

log = logging.getLogger(__name__)

STATIC = Path(__file__).resolve().parent / "static"

ROUTES = (
    *attempts.ROUTES,
    *nodes.ROUTES,
    *devices.ROUTES,
    *hot_spots.ROUTES,
    *diagnosis.ROUTES,
    *decided.ROUTES,
    *evidence.ROUTES,
    *excerpt.ROUTES,
    *coverage.ROUTES,
    *patterns.ROUTES,
    *rules.ROUTES,
    *symptoms.ROUTES,
    *health.ROUTES,
)
"""Every page and every other form of one, in the order in which an address is looked for."""

Answers = Callable[[Request], Response]


def _by_kind(routes: Sequence[Route]) -> Iterator[Route]:
    """The routes, of which a page answers with its JSON twin to a program that accepts JSON and not HTML."""
    known = {route.path: route for route in routes}
    for route in routes:
        twin = known.get(f"{route.path}.json")
        yield Route(route.path, _either(route.endpoint, twin.endpoint)) if twin else route


def _either(html: Answers, json: Answers) -> Answers:
    def answer(request: Request) -> Response:
        response = (json if problems.wants_json(request) else html)(request)
        response.headers["vary"] = "accept"
        return response

    return answer


Clock = Callable[[], datetime]


def create_app(store: Store, access: Access, clock: Clock = lambda: datetime.now(UTC)) -> ASGIApp:
    """The pages over a store. They never write to it. `clock` says what `24h` is counted from."""
    app = Starlette(
        routes=[Route("/", _home), *_by_kind(ROUTES), Mount("/static", StaticFiles(directory=STATIC))],
        exception_handlers={
            WebProblem: _told,
            BadQuery: _told,
            HTTPException: _told,
            StoreUnavailable: _told,
            StoreDamaged: _told,
            Exception: _told,
        },
    )
    app.router.redirect_slashes = False
    app.state.store = store
    app.state.clock = clock
    app.state.catalogs = {}
    return SecurityHeaders(AccessControl(app, access))


async def _home(request: Request) -> Response:
    return RedirectResponse("/attempts")


async def _told(request: Request, error: Exception) -> Response:
    return problems.answer(request, _problem(request, error))


def _problem(request: Request, error: Exception) -> WebProblem:
    """What went wrong, in a sentence for the reader. What only the operator of the pages can mend stays in the log."""
    if isinstance(error, WebProblem):
        return error
    if isinstance(error, BadQuery):
        return WebProblem(400, "The address of this page asks for something that it does not understand.", error.items)
    if isinstance(error, HTTPException):
        if error.status_code == 405:
            return WebProblem(405, f"These pages are read-only; {request.method} is not answered.", (), error.headers)
        path = problems.shown(request.url.path)
        return WebProblem(error.status_code, f"Nothing is at {path}. Begin with the list of attempts.")
    if isinstance(error, StoreUnavailable):
        return WebProblem(503, "The store cannot be read now. Try again in a moment.", (), {"retry-after": "5"})
    if isinstance(error, DatabaseDamaged):
        log.error("%s", error)
        return WebProblem(503, "The database of the store is damaged. Whoever runs it must restore it from a backup.")
    if isinstance(error, StoreDamaged):
        return WebProblem(500, "What the store holds of this attempt is damaged. Diagnose the attempt again.")
    return WebProblem(500, "Something in these pages broke. The log of `attribution web` says what.")
