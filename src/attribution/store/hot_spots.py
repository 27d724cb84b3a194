"""Which nodes, GPUs, links and ports fail more often than the fleet, and how likely that is by chance alone.

Counted are roots that are sure, and lie in the hardware or the platform: what was set aside, one of several causes that
fit, or a fault of the job counts against nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import cast, func, literal, null, select, union_all

from attribution.store import days
from attribution.store.chance import at_least, at_least_of_many, somewhere
from attribution.store.identity import owned_by
from attribution.store.schema import node_names, result_causes, result_days, result_nodes, result_units
from attribution.store.selection import Reading
from attribution.store.statements import any_of
from attribution.store.units import UnitKind

FEWEST, RAREST, TIMES = 3, 0.01, 2.0
"""A hot spot has so many failures, that chance gives to one of so many fleets at most, at so many times the rate."""

LOOKED_AT = 40
"""Units of each kind that are compared, those with the most failures; none with fewer than FEWEST is."""


@dataclass(frozen=True, slots=True)
class HotSpot:
    """One unit: its failures, the attempts it took part in (None: not known), and what chance would give.

    `expected` is what the fleet's rate gives for as many attempts. `by_chance` is the chance that some unit of the
    fleet has as many failures or more by chance alone; `stands_out` whether it is called a hot spot.
    """

    kind: UnitKind
    node: str
    unit: str
    failures: int
    attempts: int | None
    expected: float
    by_chance: float
    stands_out: bool
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fleet:
    """What the units are compared with: attempts of nodes (one of 8 nodes counts 8), nodes, failures by kind."""

    since: datetime
    attempts: int
    node_attempts: int
    nodes: int
    failures: Mapping[UnitKind, int]
    units: Mapping[UnitKind, int]


@dataclass(frozen=True, slots=True)
class HotSpots:
    """The units with the most failures of each kind, the least likely first."""

    fleet: Fleet
    rows: tuple[HotSpot, ...]


def hot_spots(asking: Reading, now: datetime, span: int = 30) -> HotSpots:
    """Compare units over the last days, today among them."""
    first = days.day_of(now) - span + 1
    since = days.begin_of(first)
    nodes = _rolled(asking, days.BLAMED_NODE, first)
    blamed = [_Blamed(UnitKind.NODE, node, "", number, None) for node, number in nodes.items()]
    blamed.sort(key=lambda item: (-item.failures, item.node))
    parts = _parts(asking, since)
    shown = [item for item in [*blamed[:LOOKED_AT], *parts.shown] if item.failures >= FEWEST]
    fleet = _fleet(asking, first, since, nodes, parts)
    tries = _attempts_of(asking, since, sorted({item.node for item in shown if item.node}))
    last = _last_of_nodes(asking, since, [item.node for item in shown if item.kind is UnitKind.NODE])
    rows = [_compared(item, tries.get(item.node), fleet, item.last_at or last.get(item.node)) for item in shown]
    rows.sort(key=lambda item: (not item.stands_out, item.by_chance, -item.failures, item.node, item.unit))
    return HotSpots(fleet, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Blamed:
    kind: UnitKind
    node: str
    unit: str
    failures: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Parts:
    """Parts of nodes that are to blame: those with the most failures, and of each kind how many failures and units.

    `each` is how many of a kind were seen on one node at most.
    """

    shown: list[_Blamed]
    failures: dict[UnitKind, int]
    units: dict[UnitKind, int]
    each: dict[UnitKind, int]


def _compared(item: _Blamed, tries: int | None, fleet: Fleet, last: datetime | None) -> HotSpot:
    """A part of a node is compared with all parts of its kind that a node has, so that it is rather understated.

    A unit of no node is compared with the units of its kind that failed at all.
    """
    failures, total, units = item.failures, fleet.failures[item.kind], fleet.units[item.kind]
    if item.node and fleet.node_attempts:
        tries = max(tries or 0, failures)
        rate = total / max(fleet.node_attempts, total)
        expected, chance = tries * rate, at_least(failures, tries, rate)
    else:
        tries, expected = None, total / max(1, units)
        chance = at_least_of_many(failures, expected)
    by_chance = somewhere(chance, units)
    out = failures >= FEWEST and by_chance <= RAREST and failures >= TIMES * expected
    return HotSpot(item.kind, item.node, item.unit, failures, tries, expected, by_chance, out, last)


def _fleet(asking: Reading, first: int, since: datetime, blamed: Mapping[str, int], parts: _Parts) -> Fleet:
    nodes = max(_nodes_seen(asking, since), len(blamed))
    units = {kind: max(number, nodes * parts.each.get(kind, 0)) for kind, number in parts.units.items()}
    return Fleet(
        since=since,
        attempts=sum(_rolled(asking, days.ALL, first).values()),
        node_attempts=sum(_rolled(asking, days.ALLOCATED, first).values()),
        nodes=nodes,
        failures={UnitKind.NODE: sum(blamed.values()), **parts.failures},
        units={UnitKind.NODE: nodes, **units},
    )


def _rolled(asking: Reading, facet: str, first: int) -> dict[str, int]:
    c = result_days.c
    number = func.sum(c.results)
    query = select(c.value, number).where(c.facet == facet, c.day >= first, *owned_by(c.tenant, asking.tenant))
    rows = asking.connection.execute(query.group_by(c.value).having(number > 0))
    return {value: int(count) for value, count in rows}


def _parts(asking: Reading, since: datetime) -> _Parts:
    """Count the parts that are to blame; an attempt counts once for each."""
    c = result_units.c
    where = [c.blamed, c.at >= since, *owned_by(c.tenant, asking.tenant)]
    grouped = select(
        c.kind, c.node, c.unit, func.count(c.result_id.distinct()).label("number"), func.max(c.at).label("at")
    )
    each = grouped.where(*where).group_by(c.kind, c.node, c.unit).cte("each_unit")
    rank = func.row_number().over(partition_by=each.c.kind, order_by=(each.c.number.desc(), each.c.node, each.c.unit))
    ranked = select(each, rank.label("rank")).where(each.c.number >= FEWEST).subquery()
    of_node = (
        select(each.c.kind, func.count().label("most")).where(each.c.node != "").group_by(each.c.kind, each.c.node)
    )
    of_node_each = of_node.subquery()
    none = [cast(null(), c.node.type), cast(null(), c.unit.type)]
    no_time = cast(null(), c.at.type)
    query = union_all(
        select(literal(0).label("what"), *(ranked.c[name] for name in ("kind", "node", "unit", "number", "at"))).where(
            ranked.c.rank <= LOOKED_AT
        ),
        select(literal(1), each.c.kind, *none, func.sum(each.c.number), no_time).group_by(each.c.kind),
        select(literal(2), each.c.kind, *none, func.count(), no_time).group_by(each.c.kind),
        select(literal(3), of_node_each.c.kind, *none, func.max(of_node_each.c.most), no_time).group_by(
            of_node_each.c.kind
        ),
    )
    shown: list[_Blamed] = []
    sums: tuple[dict[UnitKind, int], ...] = ({}, {}, {})
    for what, kind, node, unit, number, at in asking.connection.execute(query):
        if what == 0:
            shown.append(_Blamed(UnitKind(kind), node, unit, int(number), at))
        else:
            sums[what - 1][UnitKind(kind)] = int(number)
    return _Parts(shown, *sums)


def _attempts_of(asking: Reading, since: datetime, nodes: Sequence[str]) -> dict[str, int]:
    """How many attempts each node took part in."""
    c = result_nodes.c
    where = [any_of(asking.connection, c.node, nodes), c.at >= since, c.allocated, *owned_by(c.tenant, asking.tenant)]
    query = select(c.node, func.count()).where(*where).group_by(c.node)
    return {row[0]: row[1] for row in asking.connection.execute(query)} if nodes else {}


def _last_of_nodes(asking: Reading, since: datetime, nodes: Sequence[str]) -> dict[str, datetime]:
    """When a root was last found on each node."""
    c = result_causes.c
    where = [any_of(asking.connection, c.node, nodes), c.at >= since, *owned_by(c.tenant, asking.tenant)]
    query = select(c.node, func.max(c.at)).where(*where).group_by(c.node)
    return {row[0]: row[1] for row in asking.connection.execute(query)} if nodes else {}


def _nodes_seen(asking: Reading, since: datetime) -> int:
    """How many nodes took part in any attempt."""
    c = result_nodes.c
    where: list[Any] = [c.node == node_names.c.name, c.at >= since, c.allocated, *owned_by(c.tenant, asking.tenant)]
    query = select(func.count()).select_from(node_names).where(select(1).where(*where).correlate(node_names).exists())
    return asking.connection.execute(query).scalar_one()
