"""What the connectors gave over the last days: where evidence is missing before the next failure asks for it."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.dashboard.access import reader_of
from attribution.dashboard.rendering import page
from attribution.dashboard.views.coverage import coverage_view
from attribution.dashboard.views.keys import BadQuery, item, read_keys
from attribution.store.connectors import Given, given
from attribution.store.untested import UntestedIn, untested

KEYS = ("days",)
DEFAULT_DAYS, MAX_DAYS = 7, 365


def html(request: Request) -> Response:
    """The page."""
    days, found, missing = _find(request)
    return HTMLResponse(page("coverage.html", view=coverage_view(found, missing, days)))


def json(request: Request) -> Response:
    """The same as JSON."""
    days, found, missing = _find(request)
    answer: dict[str, Any] = {
        "days": days,
        "attempts": found.results,
        "bounded": found.bounded,
        "first_at": _text(found.first_at),
        "reports": [{**asdict(row), "last_at": _text(row.last_at)} for row in found.reports],
        "last_good": [{**asdict(row), "at": _text(row.at)} for row in found.last_good],
        "silent_nodes": [{**asdict(row), "last_at": _text(row.last_at)} for row in found.silent],
        "more_silent_nodes": found.more_silent,
        "untested": [asdict(row) for row in missing.rows],
        "untested_of": missing.of,
    }
    return JSONResponse(answer)


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _find(request: Request) -> tuple[int, Given, UntestedIn]:
    days = _days(read_keys(request.query_params.multi_items(), KEYS)["days"])
    store, tenant = request.app.state.store, reader_of(request).tenant
    since = request.app.state.clock() - timedelta(days=days)
    return days, given(store, tenant, since), untested(store, tenant, since)


def _days(value: str) -> int:
    if not value:
        return DEFAULT_DAYS
    if not (value.isascii() and value.isdecimal() and len(value) <= 3 and 1 <= int(value) <= MAX_DAYS):
        raise BadQuery([item("days", "no-days", "is no number of days", f"write 1 to {MAX_DAYS}")])
    return int(value)


ROUTES = (Route("/coverage", html), Route("/coverage.json", json))
