"""Nodes by their failures, and the history of one across workloads."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.dashboard.access import reader_of
from attribution.dashboard.pages.attempts import listed_in
from attribution.dashboard.rendering import page
from attribution.dashboard.views import links
from attribution.dashboard.views.histories import ROLES, node_view, nodes_view
from attribution.dashboard.views.query import Asked, Query
from attribution.dashboard.views.spans import SpanQuery, read_span
from attribution.dashboard.views.timed import plain
from attribution.store.histories import NodeHistory, NodeLine, begin, node_history, worst_nodes
from attribution.store.queries import Page, PageRequest, ResultFilters
from attribution.store.selection import reading

_ROWS = 50


def html(request: Request) -> Response:
    """The nodes with a root, those with the most first."""
    query, lines, count = _worst(request)
    return HTMLResponse(page("nodes.html", view=nodes_view(query, lines, count, request.app.state.clock())))


def json(request: Request) -> Response:
    """The same as JSON."""
    query, lines, count = _worst(request)
    nodes = [{"href": links.node(line.node), **plain(asdict(line))} for line in lines]
    return JSONResponse({"days": query.days, "total": count, "nodes": nodes})


def _worst(request: Request) -> tuple[SpanQuery, tuple[NodeLine, ...], int]:
    query = read_span(request.query_params.multi_items(), ("q",))
    since = begin(request.app.state.clock(), query.days)
    with reading(request.app.state.store, reader_of(request).tenant) as asking:
        lines, count = worst_nodes(asking, since, query.get("q") or None)
    return query, lines, count


def node_html(request: Request) -> Response:
    """What became of the attempts of a node."""
    name, query, found, attempts = _node(request)
    view = node_view(name, query, found, attempts, request.app.state.clock())
    return HTMLResponse(page("node.html", view=view))


def node_json(request: Request) -> Response:
    """The same as JSON."""
    name, query, found, attempts = _node(request)
    after = query.address(links.twin(links.node(name)), after=attempts.next) if attempts.next else None
    answer: dict[str, Any] = {"node": name, "days": query.days, **plain(asdict(found))}
    answer["units"] = [{"href": links.unit(line.node, line.unit), **plain(asdict(line))} for line in found.units]
    answer["attempts"] = [{"href": links.attempt(row.key), **plain(asdict(row))} for row in attempts.rows]
    return JSONResponse({**answer, "next": after})


def _node(request: Request) -> tuple[str, SpanQuery, NodeHistory, Page]:
    name = links.unsegment(request.path_params["name"])
    query = read_span(request.query_params.multi_items(), ("part", "after"), {"part": [key for key in ROLES if key]})
    since = begin(request.app.state.clock(), query.days)
    role, _ = ROLES[query.get("part")]
    filters = ResultFilters(node=name, node_role=role, since=since)
    with reading(request.app.state.store, reader_of(request).tenant) as asking:
        found = node_history(asking, name, since)
        asked = Asked(Query(), filters, PageRequest(_ROWS, query.get("after") or None))
        return name, query, found, listed_in(asking, asked)


ROUTES = (
    Route(links.NODES, html),
    Route(f"{links.NODES}.json", json),
    Route(links.NODES + "/{name}.json", node_json),
    Route(links.NODES + "/{name}", node_html),
)
