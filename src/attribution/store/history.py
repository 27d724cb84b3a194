"""What happened before: to a node, to a part of one, and by the same cause."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Table, func, select

from attribution.contracts.diagnosis import Device
from attribution.contracts.vocabulary import Confidence
from attribution.store.database import Store
from attribution.store.identity import Tenant, owned_by
from attribution.store.queries import LISTED, Listed, listed
from attribution.store.schema import result_causes, result_units, results
from attribution.store.selection import blamed
from attribution.store.units import Pcis, place_of, units


class SeenWhat(StrEnum):
    """What is the same as in an earlier attempt."""

    NODE = "node"
    DEVICE = "device"
    CAUSE = "cause"


@dataclass(frozen=True, slots=True)
class Seen:
    """Earlier attempts with the same root: on the same node or device, or the same symptom wherever it was.

    `counts` has the attempts within each span of days before; `last` the last few within the longest, the newest first.
    `unsure` is in how many of the longest it was no more than one of several causes that fit.
    """

    what: SeenWhat
    counts: tuple[tuple[int, int], ...]
    last: tuple[Listed, ...]
    unsure: int = 0


def seen_before(
    store: Store,
    tenant: Tenant,
    node: str | None,
    device: Device | None,
    cause: str | None,
    at: datetime,
    cluster: str | None = None,
    pcis: Pcis | None = None,
    days: Sequence[int] = (7, 30),
    shown: int = 3,
) -> tuple[Seen, ...]:
    """One Seen each for `node`, `device` (of that node, or of none) and `cause` (a symptom), as far as they are given.

    A node or device is that of `cluster`; another cluster's of the same name is another. `pcis` tells which device is
    meant, as its attempt's context does. Counted are attempts that ended before `at` (the time of the row of the
    attempt in question, `get_row(…).at`), so never itself. What was set aside does not count. Against a node count
    roots that are sure and lie in its hardware, driver or operating system, as for hot spots; against a device those
    that are sure.
    """
    c, u = result_causes.c, result_units.c
    asked: list[tuple[SeenWhat, Table, list[ColumnElement[bool]]]] = []
    if node is not None:
        asked.append((SeenWhat.NODE, result_causes, [c.node == node, c.cluster == (cluster or ""), *blamed(c)]))
    if named := units(device, node, pcis):
        where = [u.node == place_of(device, node), u.unit == named[-1], u.cluster == (cluster or "")]
        where.append(u.part == "cause")
        asked.append((SeenWhat.DEVICE, result_units, where))
    if cause is not None:
        asked.append((SeenWhat.CAUSE, result_causes, [c.symptom == cause]))
    return tuple(_seen(store, tenant, what, table, where, at, sorted(days), shown) for what, table, where in asked)


def _seen(
    store: Store,
    tenant: Tenant,
    what: SeenWhat,
    table: Table,
    where: list[Any],
    at: datetime,
    days: Sequence[int],
    shown: int,
) -> Seen:
    c = table.c
    where = [*where, *owned_by(c.tenant, tenant), c.at < at]
    number = func.count(c.result_id.distinct())
    spans = [select(number).where(*where, c.at >= at - timedelta(days=span)).scalar_subquery() for span in days]
    newest = (
        select(c.at, c.result_id)
        .where(*where, c.at >= at - timedelta(days=max(days)))
        .distinct()
        .order_by(c.at.desc(), c.result_id.desc())
        .limit(shown)
        .subquery()
    )
    rows = select(*LISTED).join(newest, newest.c.result_id == results.c.id)
    with store.read() as connection:
        counts = connection.execute(select(*spans)).one()
        last = connection.execute(rows.order_by(results.c.at.desc(), results.c.id.desc())).all()
        unsure = 0
        if what is SeenWhat.CAUSE and counts[-1]:
            sure = [*where, c.at >= at - timedelta(days=max(days)), c.confidence != Confidence.ONE_OF_SEVERAL.value]
            unsure = counts[-1] - connection.execute(select(number).where(*sure)).scalar_one()
    return Seen(what, tuple(zip(days, counts, strict=True)), tuple(listed(row) for row in last), unsure)
