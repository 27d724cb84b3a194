"""The list of attempts, with filters that stand in its address, or how many of them have which cause or node."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.contracts.errors import ConfigurationError
from attribution.contracts.vocabulary import TerminalState
from attribution.dashboard.access import reader_of
from attribution.dashboard.rendering import page as rendered
from attribution.dashboard.views import links, summary
from attribution.dashboard.views.attempts import FACETS, PATH, SHOWN_VALUES, Found, attempts_view
from attribution.dashboard.views.keys import BadQuery, item
from attribution.dashboard.views.query import Asked, read
from attribution.dashboard.views.timed import plain
from attribution.store.faults import StoreUnavailable
from attribution.store.queries import Order, Page, PageRequest, ResultFilters, list_in
from attribution.store.selection import Reading, reading
from attribution.store.survey import Survey, groups_in, survey_in

_SPANS = {"24h": timedelta(hours=24), "7d": timedelta(days=7)}


def html(request: Request) -> Response:
    """The page."""
    asked, found, now = _find(request)
    return HTMLResponse(rendered("attempts.html", view=attempts_view(asked.query, found, now)))


def json(request: Request) -> Response:
    """The same as JSON: the filters, how many there are in all, the attempts or groups, facets, the next page."""
    asked, found, _ = _find(request)
    query, after = asked.query, found.page.next if found.page else None
    answer: dict[str, Any] = {
        "filters": dict(query.pairs()),
        "total": found.survey.total,
        "total_is_at_least": found.survey.more,
        "summary": {span: _summed(one) for span, one in found.spans.items()},
        "attempts": [{"href": links.attempt(row.key), **plain(row)} for row in (found.page.rows if found.page else ())],
        "groups": None if found.groups is None else [plain(row) for row in found.groups.rows],
        "groups_among": found.groups.of if found.groups else None,
        "facets": {name: [asdict(item) for item in one.values] for name, one in found.survey.facets.items()},
        "facets_among": {name: one.of for name, one in found.survey.facets.items()},
        "next": query.with_(after=after).address(f"{PATH}.json") if after else None,
    }
    return JSONResponse(answer)


def _summed(found: Survey) -> dict[str, Any]:
    """The numbers of one span of time."""
    values = {name: {item.value: item.results for item in one.values} for name, one in found.facets.items()}
    return {"attempts": found.total, "failed": summary.failed_of(found), **values}


def _find(request: Request) -> tuple[Asked, Found, datetime]:
    now: datetime = request.app.state.clock()
    store, tenant = request.app.state.store, reader_of(request).tenant
    asked = read(request.query_params.multi_items(), now)
    with reading(store, tenant) as asking:
        found = Found(
            page=None if asked.group else listed_in(asking, asked.filters, asked.page, asked.order),
            groups=groups_in(asking, asked.group, asked.filters, asked.page.size) if asked.group else None,
            survey=survey_in(asking, asked.filters, FACETS, SHOWN_VALUES),
            spans={
                span: survey_in(asking, ResultFilters(since=now - length), summary.FACETS, len(TerminalState))
                for span, length in _SPANS.items()
            },
        )
    return asked, found, now


def listed_in(asking: Reading, filters: ResultFilters, page: PageRequest, order: Order = Order.NEWEST) -> Page:
    """A page of the list; a cursor that leads nowhere is the reader's mistake."""
    try:
        return list_in(asking, filters, order, page)
    except StoreUnavailable:
        raise
    except ConfigurationError:  # the cursor
        remedy = "follow the links between the pages, or leave it out"
        raise BadQuery([item("after", "no-cursor", "leads nowhere", remedy)]) from None


ROUTES = (Route(PATH, html), Route(f"{PATH}.json", json))
