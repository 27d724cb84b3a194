"""The history of a GPU, link, network port or switch port across workloads."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.dashboard.access import reader_of
from attribution.dashboard.rendering import page
from attribution.dashboard.views import links
from attribution.dashboard.views.histories import unit_view
from attribution.dashboard.views.spans import SpanQuery, read_span
from attribution.dashboard.views.timed import plain
from attribution.store.histories import UnitHistory, begin, unit_history
from attribution.store.selection import reading


def html(request: Request) -> Response:
    """The page."""
    node, unit, query, found = _find(request)
    return HTMLResponse(page("device.html", view=unit_view(node, unit, query, found, request.app.state.clock())))


def json(request: Request) -> Response:
    """The same as JSON."""
    node, unit, query, found = _find(request)
    answer: dict[str, Any] = {"node": node or None, "unit": unit, "days": query.days, **plain(asdict(found))}
    answer["attempts"] = [
        {
            "href": links.attempt(entry.row.key),
            "part": entry.part.value,
            "symptoms": list(entry.symptoms),
            **plain(asdict(entry.row)),
        }
        for entry in found.entries
    ]
    del answer["entries"]
    return JSONResponse(answer)


def _find(request: Request) -> tuple[str, str, SpanQuery, UnitHistory]:
    given = request.path_params["node"]
    node = "" if given == links.NOWHERE else links.unsegment(given)
    unit = " ".join(map(links.unsegment, request.path_params["unit"].split("/")))
    query = read_span(request.query_params.multi_items())
    with reading(request.app.state.store, reader_of(request).tenant) as asking:
        return node, unit, query, unit_history(asking, node, unit, begin(request.app.state.clock(), query.days))


ROUTES = (
    Route(links.DEVICES + "/{node}/{unit:path}.json", json),
    Route(links.DEVICES + "/{node}/{unit:path}", html),
)
