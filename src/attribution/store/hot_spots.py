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
from attribution.store.selection import Reading, blamed
from attribution.store.statements import any_of
from attribution.store.units import UnitKind

FEWEST, RAREST, TIMES = 3, 0.01, 2.0
"""A hot spot has so many failures, that chance gives to one of so many fleets at most, at so many times the rate."""

NODES_LOOKED_AT, LOOKED_AT = 60, 20
"""Nodes, and parts of each kind, that are compared: those with the most failures; none with fewer than FEWEST is."""


@dataclass(frozen=True, slots=True)
class HotSpot:
    """One unit: its failures, the attempts it took part in (None: not known), and what chance would give.

    Its `cluster` ('' for none) tells it from others of its name.

    `expected` is what the fleet's rate gives for as many attempts. `by_chance` is the chance that some unit of the
    fleet has as many failures or more by chance alone; `stands_out` whether it is called a hot spot.
    """

    kind: UnitKind
    cluster: str
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


def hot_spots(asking: Reading, now: datetime, span: int = 30, cluster: str | None = None) -> HotSpots:
    """Compare units of a cluster ('' for none) or of all over the last days, today among them."""
    first = days.day_of(now) - span + 1
    asked = _Asked(asking, cluster, first, days.begin_of(first))
    nodes = _rolled(asked, days.BLAMED_NODE)
    roots = [_Blamed(UnitKind.NODE, *place, "", number, None) for place, number in nodes.items()]
    roots.sort(key=lambda item: (-item.failures, item.node, item.cluster))
    parts = _parts(asked)
    shown = [item for item in [*roots[:NODES_LOOKED_AT], *parts.shown] if item.failures >= FEWEST]
    fleet = _fleet(asked, nodes, parts)
    tries = _attempts_of(asked, sorted({item.node for item in shown if item.node}))
    last = _last_of_nodes(asked, sorted({item.node for item in shown if item.kind is UnitKind.NODE}))
    rows = []
    for item in shown:
        place = (item.cluster, item.node)
        rows.append(_compared(item, tries.get(place), fleet, item.last_at or last.get(place)))
    rows.sort(key=lambda row: (not row.stands_out, row.by_chance, -row.failures, row.node, row.unit, row.cluster))
    return HotSpots(fleet, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who asks, of which cluster, and since which day."""

    asking: Reading
    cluster: str | None
    first: int
    since: datetime

    def of(self, c: Any) -> list[Any]:
        """The conditions on a table."""
        cluster = [c.cluster == self.cluster] if self.cluster is not None else []
        time = c.day >= self.first if "day" in c else c.at >= self.since
        return [time, *cluster, *owned_by(c.tenant, self.asking.tenant)]

    def rows(self, query: Any) -> Any:
        """What a query answers."""
        return self.asking.connection.execute(query)


@dataclass(frozen=True, slots=True)
class _Blamed:
    kind: UnitKind
    cluster: str
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
    return HotSpot(item.kind, item.cluster, item.node, item.unit, failures, tries, expected, by_chance, out, last)


def _fleet(asked: _Asked, by_node: Mapping[tuple[str, str], int], parts: _Parts) -> Fleet:
    nodes = max(_nodes_seen(asked), len(by_node))
    units = {kind: max(number, nodes * parts.each.get(kind, 0)) for kind, number in parts.units.items()}
    return Fleet(
        since=asked.since,
        attempts=sum(_rolled(asked, days.ALL).values()),
        node_attempts=sum(_rolled(asked, days.ALLOCATED).values()),
        nodes=nodes,
        failures={UnitKind.NODE: sum(by_node.values()), **parts.failures},
        units={UnitKind.NODE: nodes, **units},
    )


def _rolled(asked: _Asked, facet: str) -> dict[tuple[str, str], int]:
    """The counts of the days by cluster and value."""
    c = result_days.c
    number = func.sum(c.results)
    query = select(c.cluster, c.value, number).where(c.facet == facet, *asked.of(c)).group_by(c.cluster, c.value)
    return {(cluster, value): int(count) for cluster, value, count in asked.rows(query.having(number > 0))}


def _parts(asked: _Asked) -> _Parts:
    """Count the parts that are to blame; an attempt counts once for each."""
    c = result_units.c
    names = ("kind", "cluster", "node", "unit")
    columns = [c[name] for name in names]
    number = func.count(c.result_id.distinct()).label("number")
    grouped = select(*columns, number, func.max(c.at).label("at")).where(c.blamed, *asked.of(c))
    each = grouped.group_by(*columns).cte("each_unit")
    order = (each.c.number.desc(), each.c.node, each.c.unit, each.c.cluster)
    rank = func.row_number().over(partition_by=each.c.kind, order_by=order)
    ranked = select(each, rank.label("rank")).where(each.c.number >= FEWEST).subquery()
    of_node = select(each.c.kind, func.count().label("most")).where(each.c.node != "")
    of_node_each = of_node.group_by(each.c.kind, each.c.cluster, each.c.node).subquery()
    none = [cast(null(), c[name].type) for name in names[1:]]
    no_time = cast(null(), c.at.type)
    query = union_all(
        select(literal(0).label("what"), *(ranked.c[name] for name in (*names, "number", "at"))).where(
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
    for what, kind, cluster, node, unit, count, at in asked.rows(query):
        if what == 0:
            shown.append(_Blamed(UnitKind(kind), cluster, node, unit, int(count), at))
        else:
            sums[what - 1][UnitKind(kind)] = int(count)
    return _Parts(shown, *sums)


def _attempts_of(asked: _Asked, nodes: Sequence[str]) -> dict[tuple[str, str], int]:
    """How many attempts each node took part in."""
    c = result_nodes.c
    where = [any_of(asked.asking.connection, c.node, nodes), c.allocated, *asked.of(c)]
    query = select(c.cluster, c.node, func.count()).where(*where).group_by(c.cluster, c.node)
    return {(cluster, node): number for cluster, node, number in asked.rows(query)} if nodes else {}


def _last_of_nodes(asked: _Asked, nodes: Sequence[str]) -> dict[tuple[str, str], datetime]:
    """When a root that counts was last found on each node."""
    c = result_causes.c
    where = [any_of(asked.asking.connection, c.node, nodes), *blamed(c), *asked.of(c)]
    query = select(c.cluster, c.node, func.max(c.at)).where(*where).group_by(c.cluster, c.node)
    return {(cluster, node): at for cluster, node, at in asked.rows(query)} if nodes else {}


def _nodes_seen(asked: _Asked) -> int:
    """How many nodes took part in any attempt."""
    c, known = result_nodes.c, node_names.c
    seen = select(1).where(c.node == known.name, c.cluster == known.cluster, c.allocated, *asked.of(c))
    query = select(func.count()).select_from(node_names).where(seen.correlate(node_names).exists())
    if asked.cluster is not None:
        query = query.where(known.cluster == asked.cluster)
    number: int = asked.rows(query).scalar_one()
    return number
