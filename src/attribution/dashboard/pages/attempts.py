"""The list of attempts, the newest first, with filters that stand in its address."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.contracts.errors import ConfigurationError
from attribution.contracts.exchange import ProblemItem
from attribution.dashboard.access import reader_of
from attribution.dashboard.rendering import page
from attribution.dashboard.views.attempts import FACETS, PATH, SHOWN_VALUES, attempts_view, href
from attribution.dashboard.views.query import Asked, BadQuery, read
from attribution.store.faults import StoreUnavailable
from attribution.store.queries import Page, list_results
from attribution.store.survey import Counted, count_results, facet


@dataclass(frozen=True, slots=True)
class _Found:
    """What the store answers to a query."""

    asked: Asked
    page: Page
    total: int
    facets: dict[str, tuple[Counted, ...]]
    now: datetime


def html(request: Request) -> Response:
    """The page."""
    found = _find(request)
    view = attempts_view(found.asked.query, found.page, found.total, found.facets, found.now)
    return HTMLResponse(page("attempts.html", view=view))


def json(request: Request) -> Response:
    """The same as JSON: the filters, how many there are in all, the attempts, facets, and the address of older ones."""
    found = _find(request)
    query = found.asked.query
    older = query.with_(after=found.page.next).address(f"{PATH}.json") if found.page.next else None
    answer: dict[str, Any] = {
        "filters": dict(query.pairs()),
        "total": found.total,
        "attempts": [{"href": href(row.key), **_plain(asdict(row))} for row in found.page.rows],
        "facets": {name: [asdict(count) for count in counts] for name, counts in found.facets.items()},
        "older": older,
    }
    return JSONResponse(answer)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its times as text."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}


def _find(request: Request) -> _Found:
    now = request.app.state.clock()
    store, tenant = request.app.state.store, reader_of(request).tenant
    asked = read(request.query_params.multi_items(), now)
    try:
        listed = list_results(store, tenant, asked.filters, page=asked.page)
    except StoreUnavailable:
        raise
    except ConfigurationError:  # the cursor
        remedy = "follow the links between the pages, or leave it out"
        raise BadQuery(
            [ProblemItem(place="?after", code="no-cursor", message="`after` leads nowhere", remedy=remedy)]
        ) from None
    counted = {name: facet(store, name, tenant, asked.filters, SHOWN_VALUES) for name in FACETS}
    return _Found(asked, listed, count_results(store, tenant, asked.filters), counted, now)


ROUTES = (Route("/attempts", html), Route("/attempts.json", json))
