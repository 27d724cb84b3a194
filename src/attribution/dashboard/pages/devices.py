"""The history of a GPU, link, network port or switch port across workloads."""

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.dashboard.access import reader_of
from attribution.dashboard.rendering import page
from attribution.dashboard.views import links
from attribution.dashboard.views.histories import PartOf, unit_view
from attribution.dashboard.views.spans import SpanQuery, cluster_of, read_span
from attribution.dashboard.views.timed import plain
from attribution.store.histories import Span, UnitHistory, clusters_of_unit, unit_history
from attribution.store.selection import reading


def html(request: Request) -> Response:
    """The page."""
    part, query, found = _find(request)
    return HTMLResponse(page("device.html", view=unit_view(part, query, found, request.app.state.clock())))


def json(request: Request) -> Response:
    """The same as JSON."""
    part, _, found = _find(request)
    of: dict[str, Any] = {"cluster": part.cluster or None, "clusters": [name for name in part.clusters if name]}
    answer: dict[str, Any] = {"node": part.node or None, "unit": part.unit, **of, **plain(found)}
    answer["attempts"] = [
        {
            "href": links.attempt(entry.row.key),
            "part": entry.part.value,
            "symptoms": list(entry.symptoms),
            **plain(entry.row),
        }
        for entry in found.entries
    ]
    del answer["entries"]
    return JSONResponse(answer)


def _find(request: Request) -> tuple[PartOf, SpanQuery, UnitHistory]:
    given = request.path_params["node"]
    node = "" if given == links.NOWHERE else links.unsegment(given)
    unit = " ".join(map(links.unsegment, request.path_params["unit"].split("/")))
    now = request.app.state.clock()
    query = read_span(request.query_params.multi_items(), now, ("until", "cluster"))
    with reading(request.app.state.store, reader_of(request).tenant) as asking:
        held = clusters_of_unit(asking, node, unit)
        part = PartOf(node, unit, cluster_of(query, held), tuple(held))
        return part, query, unit_history(asking, node, unit, Span(part.cluster, query.since(now), query.until))


ROUTES = (
    Route(links.DEVICES + "/{node}/{unit:path}.json", json),
    Route(links.DEVICES + "/{node}/{unit:path}", html),
)
