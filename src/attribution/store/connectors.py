"""What the connectors gave for the newest results: by connector and source, and of which nodes nothing came."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, case, func, select

from attribution.store.database import Store
from attribution.store.identity import Tenant, owned_by
from attribution.store.schema import result_reports, results

WINDOW = 1_000
"""The newest results of the time that are looked at."""

MOST_REPORTS = 20_000
"""Reports after which no older result is looked at: a large attempt has one for each node and source."""

MOST = 100
"""Rows of one answer."""


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports of one connector on one source that ended alike, with a reason of the result written last."""

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
    with store.read() as connection:
        ids, first_at, bounded = _newest(connection, tenant, since)
        reports = _by_end(connection, ids)
        last_good = tuple(LastGood(*row) for row in connection.execute(_last_good(ids)))
        silent = [SilentNode(*row) for row in connection.execute(_silent(ids))]
    return Given(
        results=len(ids),
        bounded=bounded,
        first_at=first_at,
        reports=reports,
        last_good=last_good,
        silent=tuple(silent[:MOST]),
        more_silent=len(silent) > MOST,
    )


def _newest(connection: Connection, tenant: Tenant, since: datetime) -> tuple[list[int], datetime | None, bool]:
    """The newest results of a time, when the oldest of them ended, and whether there are older ones."""
    c = result_reports.c
    last = select(func.max(c.position)).where(c.result_id == results.c.id).scalar_subquery()
    newest = (
        select(results.c.id, results.c.at, func.coalesce(last + 1, 0).label("reports"))
        .where(results.c.at >= since, *owned_by(results.c.tenant, tenant))
        .order_by(results.c.at.desc(), results.c.id.desc())
        .limit(WINDOW + 1)
    )
    ids: list[int] = []
    first_at, held = None, 0
    for row in connection.execute(newest).all():
        held += row.reports
        if len(ids) == WINDOW or (ids and held > MOST_REPORTS):
            return ids, first_at, True
        ids.append(row.id)
        first_at = row.at
    return ids, first_at, False


def _by_end(connection: Connection, ids: Sequence[int]) -> tuple[Reports, ...]:
    c = result_reports.c
    key = (c.connector, c.source, c.status)
    query = (
        select(
            *key,
            func.count().label("reports"),
            func.count(c.result_id.distinct()).label("results"),
            func.sum(c.lines).label("lines"),
            func.sum(c.rejected).label("rejected"),
            func.max(results.c.at).label("last_at"),
            func.max(c.result_id).label("newest"),
        )
        .join(results, results.c.id == c.result_id)
        .where(c.result_id.in_(ids))
        .group_by(*key)
        .order_by(*key)
        .limit(MOST)
    )
    rows = connection.execute(query).all()
    reasons = _reasons(connection, sorted({row.newest for row in rows}))
    return tuple(
        Reports(
            connector=row.connector,
            source=row.source,
            status=row.status,
            reason=reasons.get((row.newest, row.connector, row.source, row.status)),
            reports=row.reports,
            results=row.results,
            lines=row.lines,
            rejected=row.rejected,
            last_at=row.last_at,
        )
        for row in rows
    )


def _reasons(connection: Connection, ids: Sequence[int]) -> dict[tuple[int, str, str, str], str]:
    """The first reason that each result has for a connector, source and status."""
    c = result_reports.c
    query = (
        select(c.result_id, c.connector, c.source, c.status, c.reason)
        .where(c.result_id.in_(ids), c.reason.is_not(None))
        .order_by(c.result_id, c.position.desc())
    )
    return {(row[0], row[1], row[2], row[3]): row[4] for row in connection.execute(query)}


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
