"""Nodes, GPUs, links and ports that fail more often than the fleet."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.dashboard.access import reader_of
from attribution.dashboard.rendering import page
from attribution.dashboard.views import links
from attribution.dashboard.views.hot_spots import hot_spots_view, href_of
from attribution.dashboard.views.spans import SpanQuery, read_span
from attribution.dashboard.views.timed import plain
from attribution.store.histories import clusters
from attribution.store.hot_spots import HotSpots, hot_spots
from attribution.store.selection import reading


def html(request: Request) -> Response:
    """The page."""
    query, found, held = _find(request)
    return HTMLResponse(page("hot_spots.html", view=hot_spots_view(query, found, held, request.app.state.clock())))


def json(request: Request) -> Response:
    """The same as JSON: the fleet, and each unit that was compared."""
    query, found, held = _find(request)
    rows = [{"href": href_of(row, query), **plain(row)} for row in found.rows]
    of = {"cluster": query.get("cluster") or None, "clusters": [name for name in held if name]}
    return JSONResponse({"days": query.days, **of, "fleet": plain(found.fleet), "units": rows})


def _find(request: Request) -> tuple[SpanQuery, HotSpots, tuple[str, ...]]:
    now = request.app.state.clock()
    query = read_span(request.query_params.multi_items(), now, ("cluster",))
    with reading(request.app.state.store, reader_of(request).tenant) as asking:
        return query, hot_spots(asking, now, query.days, query.get("cluster") or None), clusters(asking)


ROUTES = (Route(links.HOT_SPOTS, html), Route(f"{links.HOT_SPOTS}.json", json))
