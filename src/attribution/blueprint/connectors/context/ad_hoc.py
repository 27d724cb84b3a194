"""An attempt made of what was asked for: these nodes in this span of time, without a scheduler."""

import re
from collections.abc import Iterator

from attribution.blueprint.attempt import Attempt, Found, Query
from attribution.blueprint.connectors.base import ConnectorError, ContextConnector
from attribution.contracts.base import Strict
from attribution.contracts.context import ExecutionContext, Node


class AdHocSettings(Strict):
    """Nothing can be set: the query says it all."""


class AdHoc(ContextConnector[AdHocSettings]):
    """The one attempt that a query itself describes. It is no entry point: it is used where none is configured."""

    Settings = AdHocSettings

    def check(self) -> str:
        """Nothing is asked of anybody."""
        return "takes nodes and times from the command line"

    def discover(self, query: Query) -> Iterator[Found]:
        """The nodes and the span of the query as an attempt that may hold several workloads, or a part of one."""
        if not describes_attempt(query):
            raise ConnectorError("needs nodes and the start and end of a span")
        given = query.workload or query.job
        yield Attempt(
            ExecutionContext(
                workload_id=given or _named(query),
                started_at=query.start,
                ended_at=query.end,
                nodes=tuple(Node(name=name) for name in query.nodes),
                inferred=() if given else ("workload_id",),
                partial="made of nodes and times that were asked for; no scheduler was asked",
            ),
            str(query),
        )


def describes_attempt(query: Query) -> bool:
    """Whether a query says by itself where and when an attempt ran."""
    return bool(query.nodes) and query.start is not None and query.end is not None


def _named(query: Query) -> str:
    """A name that the same question always gets: `node-01.and-3-more.20260504T030000Z`."""
    assert query.start is not None
    rest = len(query.nodes) - 1
    first = re.sub(r"[^A-Za-z0-9._-]+", "-", query.nodes[0])
    return f"{first}{f'.and-{rest}-more' if rest else ''}.{query.start:%Y%m%dT%H%M%SZ}"
