"""Which nodes, GPUs, links and ports fail more often than the fleet, and how likely that is by chance alone.

Counted are roots that are sure, and lie in the hardware, driver or operating system of a node: what was set aside, one
of several causes that fit, or a fault of the job or of a service counts against nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import case, func, select

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
    nodes, parts = _nodes(asked), _parts(asked)
    shown = [*nodes.shown, *parts.shown]
    fleet = _fleet(asked, nodes, parts)
    tries = _attempts_of(asked, sorted({item.node for item in shown if item.node}))
    last = _last_of_nodes(asked, sorted({item.node for item in nodes.shown}))
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
class _Nodes:
    """Nodes that are to blame: those with the most failures, how many there are, and their failures together."""

    shown: list[_Blamed]
    nodes: int
    failures: int


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


def _fleet(asked: _Asked, blamed: _Nodes, parts: _Parts) -> Fleet:
    nodes = max(_nodes_seen(asked), blamed.nodes)
    units = {kind: max(number, nodes * parts.each.get(kind, 0)) for kind, number in parts.units.items()}
    sums = _sums(asked)
    return Fleet(
        since=asked.since,
        attempts=sums.get(days.ALL, 0),
        node_attempts=sums.get(days.ALLOCATED, 0),
        nodes=nodes,
        failures={UnitKind.NODE: blamed.failures, **parts.failures},
        units={UnitKind.NODE: nodes, **units},
    )


def _sums(asked: _Asked) -> dict[str, int]:
    """How many attempts there were, and how many nodes they took together."""
    c = result_days.c
    query = select(c.facet, func.sum(c.results)).where(c.facet.in_((days.ALL, days.ALLOCATED)), *asked.of(c))
    return {facet: int(number) for facet, number in asked.rows(query.group_by(c.facet))}


def _nodes(asked: _Asked) -> _Nodes:
    """Count the nodes that are to blame."""
    held = days.by_node(days.BLAMED_NODE, asked.of(result_days.c)).subquery()
    totals = (func.count().over().label("nodes"), func.sum(held.c.number).over().label("failures"))
    order = (held.c.number.desc(), held.c.node, held.c.cluster)
    rows = asked.rows(select(held, *totals).order_by(*order).limit(NODES_LOOKED_AT)).all()
    shown = [
        _Blamed(UnitKind.NODE, row.cluster, row.node, "", int(row.number), None) for row in rows if row.number >= FEWEST
    ]
    return _Nodes(shown, int(rows[0].nodes), int(rows[0].failures)) if rows else _Nodes([], 0, 0)


def _parts(asked: _Asked) -> _Parts:
    """Count the parts that are to blame. Each question reads one index in its order, and lets go what is not shown."""
    c = result_units.c
    where, number = [c.blamed, *asked.of(c)], func.count().label("number")
    by_kind = asked.rows(select(c.kind, number).where(*where).group_by(c.kind))
    failures = {UnitKind(kind): count for kind, count in by_kind}
    different = func.count(c.unit.distinct()).label("number")
    on_node = select(c.kind, c.node, different).where(*where).group_by(c.kind, c.cluster, c.node).subquery()
    most = func.max(case((on_node.c.node != "", on_node.c.number)))
    by_kind = asked.rows(select(on_node.c.kind, func.sum(on_node.c.number), most).group_by(on_node.c.kind))
    counted = {UnitKind(kind): (int(count), int(largest or 0)) for kind, count, largest in by_kind}
    units, each = ({kind: numbers[n] for kind, numbers in counted.items()} for n in (0, 1))
    return _Parts(_worst_parts(asked), failures, units, each)


def _worst_parts(asked: _Asked) -> list[_Blamed]:
    """The parts of each kind with the most failures."""
    c = result_units.c
    names, number = ("kind", "cluster", "node", "unit"), func.count().label("number")
    columns = [c[name] for name in names]
    each = select(*columns, number).where(c.blamed, *asked.of(c)).group_by(*columns)
    held = each.having(number >= FEWEST).subquery()
    order = (held.c.number.desc(), held.c.node, held.c.unit, held.c.cluster)
    ranked = select(held, func.row_number().over(partition_by=held.c.kind, order_by=order).label("rank")).subquery()
    u = result_units.alias().c
    same = [u[name] == ranked.c[name] for name in names]
    last = select(u.at).where(u.blamed, *same, *asked.of(u)).order_by(u.at.desc()).limit(1).correlate(ranked)
    query = select(ranked, last.scalar_subquery().label("at")).where(ranked.c.rank <= LOOKED_AT)
    return [
        _Blamed(UnitKind(row.kind), row.cluster, row.node, row.unit, row.number, row.at) for row in asked.rows(query)
    ]


def _attempts_of(asked: _Asked, nodes: Sequence[str]) -> dict[tuple[str, str], int]:
    """How many attempts each node took part in."""
    c = result_days.c
    where = [c.facet == days.ALLOCATED_NODE, any_of(asked.asking.connection, c.value, nodes), *asked.of(c)]
    query = select(c.cluster, c.value, func.sum(c.results)).where(*where).group_by(c.cluster, c.value)
    return {(cluster, node): int(number) for cluster, node, number in asked.rows(query)} if nodes else {}


def _last_of_nodes(asked: _Asked, nodes: Sequence[str]) -> dict[tuple[str, str], datetime]:
    """When a root that counts was last found on each node."""
    if not nodes:
        return {}
    c, known = result_causes.c, node_names.c
    where = [c.node == known.name, c.cluster == known.cluster, *blamed(c), *asked.of(c)]
    last = select(c.at).where(*where).order_by(c.at.desc()).limit(1).correlate(node_names).scalar_subquery()
    query = select(known.cluster, known.name, last).where(any_of(asked.asking.connection, known.name, nodes))
    return {(cluster, node): at for cluster, node, at in asked.rows(query)}


def _nodes_seen(asked: _Asked) -> int:
    """How many nodes took part in any attempt."""
    c, known = result_nodes.c, node_names.c
    seen = select(1).where(c.node == known.name, c.cluster == known.cluster, c.allocated, *asked.of(c))
    query = select(func.count()).select_from(node_names).where(seen.correlate(node_names).exists())
    if asked.cluster is not None:
        query = query.where(known.cluster == asked.cluster)
    number: int = asked.rows(query).scalar_one()
    return number
