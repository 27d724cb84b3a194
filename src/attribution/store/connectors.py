"""What the connectors gave for the newest results: by connector and source, and of which nodes nothing came."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, case, func, select

from attribution.store.database import Store
from attribution.store.identity import Tenant, owned_by
from attribution.store.schema import result_reports, results

WINDOW = 1_000
"""The newest results of the time that are looked at."""

MOST = 100
"""Rows of one answer."""


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports of one connector on one source that ended alike; `reason` is that of the newest of them."""

    connector: str
    source: str
    status: str
    reason: str | None
    reports: int
    results: int
    lines: int
    rejected: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class LastGood:
    """When a connector last gave a source whole: the end of that attempt; None: not in this time."""

    connector: str
    source: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class SilentNode:
    """A node of which a connector was asked and gave nothing, in how many of how many results."""

    node: str
    connector: str
    source: str
    results: int
    of: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Given:
    """What came in a time. `results` were looked at, the newest; `bounded`: there are older ones in the time."""

    results: int
    bounded: bool
    first_at: datetime | None
    reports: tuple[Reports, ...]
    last_good: tuple[LastGood, ...]
    silent: tuple[SilentNode, ...]
    more_silent: bool


_GOOD, _NOTHING = ("ok",), ("empty", "error", "skipped")


def given(store: Store, tenant: Tenant, since: datetime) -> Given:
    """Count the reports on the newest results from `since` on."""
    newest = (
        select(results.c.id, results.c.at)
        .where(results.c.at >= since, *owned_by(results.c.tenant, tenant))
        .order_by(results.c.at.desc(), results.c.id.desc())
        .limit(WINDOW + 1)
    )
    with store.read() as connection:
        found = connection.execute(newest).all()
        looked_at = found[:WINDOW]
        ids = [row.id for row in looked_at]
        reports = tuple(Reports(*row) for row in connection.execute(_by_end(ids)))
        last_good = tuple(LastGood(*row) for row in connection.execute(_last_good(ids)))
        silent = [SilentNode(*row) for row in connection.execute(_silent(ids))]
    first_at = looked_at[-1].at if looked_at else None
    return Given(
        results=len(looked_at),
        bounded=len(found) > WINDOW,
        first_at=first_at,
        reports=reports,
        last_good=last_good,
        silent=tuple(silent[:MOST]),
        more_silent=len(silent) > MOST,
    )


def _by_end(ids: Sequence[int]) -> Select[Any]:
    c, at = result_reports.c, results.c.at
    newest = func.row_number().over(
        partition_by=(c.connector, c.source, c.status), order_by=(at.desc(), c.result_id.desc(), c.position)
    )
    rows = (
        select(c.connector, c.source, c.status, c.reason, c.result_id, c.lines, c.rejected, at, newest.label("place"))
        .join(results, results.c.id == c.result_id)
        .where(c.result_id.in_(ids))
        .subquery()
    )
    r = rows.c
    key = (r.connector, r.source, r.status)
    return (
        select(
            *key,
            func.max(case((r.place == 1, r.reason))),
            func.count(),
            func.count(r.result_id.distinct()),
            func.sum(r.lines),
            func.sum(r.rejected),
            func.max(r.at),
        )
        .group_by(*key)
        .order_by(*key)
        .limit(MOST)
    )


def _last_good(ids: Sequence[int]) -> Select[Any]:
    c = result_reports.c
    at = func.max(case((c.status.in_(_GOOD), results.c.at)))
    return (
        select(c.connector, c.source, at)
        .join(results, results.c.id == c.result_id)
        .where(c.result_id.in_(ids))
        .group_by(c.connector, c.source)
        .order_by(c.connector, c.source)
        .limit(MOST)
    )


def _silent(ids: Sequence[int]) -> Select[Any]:
    """Nodes that gave nothing at least as often as they gave something, those of the most results first."""
    c = result_reports.c
    nothing = func.count(case((c.status.in_(_NOTHING) & (c.lines == 0), c.result_id)).distinct())
    asked = func.count(c.result_id.distinct())
    return (
        select(c.node, c.connector, c.source, nothing.label("silent"), asked, func.max(results.c.at))
        .join(results, results.c.id == c.result_id)
        .where(c.result_id.in_(ids), c.node.is_not(None))
        .group_by(c.node, c.connector, c.source)
        .having(nothing * 2 >= asked, nothing > 0)
        .order_by(nothing.desc(), c.node, c.connector, c.source)
        .limit(MOST + 1)
    )
