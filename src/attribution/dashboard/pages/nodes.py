"""Nodes by their failures, and the history of one across workloads."""

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.dashboard.access import reader_of
from attribution.dashboard.pages.attempts import listed_in
from attribution.dashboard.rendering import page
from attribution.dashboard.views import links
from attribution.dashboard.views.histories import ROLES, PartOf, node_view, nodes_view
from attribution.dashboard.views.spans import SpanQuery, cluster_of, read_span
from attribution.dashboard.views.timed import plain
from attribution.store.histories import (
    NodeHistory,
    NodeLine,
    Span,
    clusters,
    clusters_of_node,
    node_history,
    worst_nodes,
)
from attribution.store.queries import Page, PageRequest, ResultFilters
from attribution.store.selection import reading

_ROWS = 50


def html(request: Request) -> Response:
    """The nodes with a root, those with the most first."""
    query, lines, count, held = _worst(request)
    return HTMLResponse(page("nodes.html", view=nodes_view(query, lines, count, held, request.app.state.clock())))


def json(request: Request) -> Response:
    """The same as JSON."""
    query, lines, count, _ = _worst(request)
    nodes = [{"href": links.node(line.node, **query.kept(line.cluster)), **plain(line)} for line in lines]
    return JSONResponse({"days": query.days, "total": count, "nodes": nodes})


def _worst(request: Request) -> tuple[SpanQuery, tuple[NodeLine, ...], int, tuple[str, ...]]:
    now = request.app.state.clock()
    query = read_span(request.query_params.multi_items(), now, ("q", "cluster"))
    search, cluster = query.get("q") or None, query.get("cluster") or None
    with reading(request.app.state.store, reader_of(request).tenant) as asking:
        lines, count = worst_nodes(asking, query.since(now), search, _ROWS, cluster)
        return query, lines, count, clusters(asking)


def node_html(request: Request) -> Response:
    """What became of the attempts of a node."""
    part, query, found, attempts = _node(request)
    view = node_view(part, query, found, attempts, request.app.state.clock())
    return HTMLResponse(page("node.html", view=view))


def node_json(request: Request) -> Response:
    """The same as JSON."""
    part, query, found, attempts = _node(request)
    path, keys = links.twin(links.node(part.node)), query.kept(part.cluster)
    after = query.address(path, cluster=part.cluster, after=attempts.next) if attempts.next else None
    of: dict[str, Any] = {"cluster": part.cluster or None, "clusters": [name for name in part.clusters if name]}
    answer: dict[str, Any] = {"node": part.node, **of, **plain(found)}
    answer["units"] = [{"href": links.unit(line.node, line.unit, **keys), **plain(line)} for line in found.units]
    answer["attempts"] = [{"href": links.attempt(row.key), **plain(row)} for row in attempts.rows]
    return JSONResponse({**answer, "next": after})


def _node(request: Request) -> tuple[PartOf, SpanQuery, NodeHistory, Page]:
    name = links.unsegment(request.path_params["name"])
    now, parts = request.app.state.clock(), [key for key in ROLES if key]
    keys = ("until", "cluster", "part", "after")
    query = read_span(request.query_params.multi_items(), now, keys, {"part": parts})
    role, _ = ROLES[query.get("part")]
    with reading(request.app.state.store, reader_of(request).tenant) as asking:
        held = clusters_of_node(asking, name)
        part = PartOf(name, "", cluster_of(query, held), tuple(held))
        span = Span(part.cluster, query.since(now), query.until)
        found = node_history(asking, name, span)
        filters = ResultFilters(
            node=name, node_role=role, node_cluster=span.cluster, since=span.since, until=span.until
        )
        return part, query, found, listed_in(asking, filters, PageRequest(_ROWS, query.get("after") or None))


ROUTES = (
    Route(links.NODES, html),
    Route(f"{links.NODES}.json", json),
    Route(links.NODES + "/{name}.json", node_json),
    Route(links.NODES + "/{name}", node_html),
)
