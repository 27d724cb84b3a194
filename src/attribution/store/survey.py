"""How many results are like what is asked for, and how many of them have which value.

Whatever is asked by time alone, or by one value, is counted whole from the counts of each day; the rest among the
newest results that match, and the answer says among how many.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Integer, Select, cast, func, literal, null, select, union_all

from attribution.store import days
from attribution.store.database import Store
from attribution.store.identity import Tenant, owned_by
from attribution.store.schema import result_causes, result_days, result_nodes, results
from attribution.store.selection import NodeRole, ResultFilters, Selection, selection

FACETS: Final = ("terminal_state", "domain", "sub_domain", "cause", "cluster", "user", "node")
"""What results are counted by. `node` counts affected nodes, or those of `node_role`."""

COUNTED = 10_000
"""Results that are counted one by one; of more it is said that they are more."""

WINDOW = 5_000
"""The newest results that match, among which values are counted."""

_EVERY = 1 << 40


@dataclass(frozen=True, slots=True)
class Counted:
    """How many results have a value."""

    value: str
    results: int


@dataclass(frozen=True, slots=True)
class Group:
    """The results that have a value, and when the newest of them ended."""

    value: str
    results: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Facet:
    """The commonest values. `of` is among how many of the newest results they were counted; None: among all."""

    values: tuple[Counted, ...]
    of: int | None
    more: bool


@dataclass(frozen=True, slots=True)
class Groups:
    """Results by value, the largest group first; `of` and `more` as for a Facet, `values` how many there are."""

    rows: tuple[Group, ...]
    of: int | None
    more: bool
    values: int


@dataclass(frozen=True, slots=True)
class Survey:
    """How many results there are (`total`, or more than that if `more`) and their facets by name."""

    total: int
    more: bool
    facets: Mapping[str, Facet]


def survey(
    store: Store,
    tenant: Tenant,
    filters: ResultFilters | None = None,
    names: Sequence[str] = FACETS,
    most: int = 20,
) -> Survey:
    """Count results, and the commonest values of each facet as if it had no filter of its own.

    A result with several causes counts once for each symptom among them.
    """
    given = filters or ResultFilters()
    with store.read() as connection:
        total, more = _total(connection, tenant, given)
        asked: dict[ResultFilters, list[str]] = {}
        for name in names:
            asked.setdefault(given.without(name), []).append(name)
        facets = {}
        for narrowed, wanted in asked.items():
            for name, found in _values(connection, tenant, narrowed, wanted, given.node_role).items():
                facets[name] = _facet(found, most)
    return Survey(total, more, {name: facets[name] for name in names})


def count_results(store: Store, tenant: Tenant, filters: ResultFilters | None = None) -> int:
    """How many results there are like this; COUNTED + 1 where they are more than are counted."""
    with store.read() as connection:
        total, more = _total(connection, tenant, filters or ResultFilters())
    return total + more


def facet(
    store: Store, name: str, tenant: Tenant, filters: ResultFilters | None = None, most: int = 20
) -> tuple[Counted, ...]:
    """The commonest values of one of FACETS."""
    if name not in FACETS:
        raise ValueError(f"no facet is called {name}")
    return survey(store, tenant, filters, (name,), most).facets[name].values


def groups(store: Store, tenant: Tenant, by: str, filters: ResultFilters | None = None, most: int = 25) -> Groups:
    """The results that match by the values of one of FACETS."""
    given = filters or ResultFilters()
    with store.read() as connection:
        found = _values(connection, tenant, given, [by], given.node_role)[by]
        ranked = sorted(found.numbers.items(), key=lambda item: (-item[1], item[0]))[:most]
        last = found.last or _last_of(connection, tenant, given, by, [value for value, _ in ranked])
    rows = tuple(Group(value, number, last[value]) for value, number in ranked if value in last)
    return Groups(rows, found.of, len(found.numbers) > len(ranked), len(found.numbers))


@dataclass(frozen=True, slots=True)
class _Found:
    """Results by value, among how many, and when the newest of each ended where that is known already."""

    numbers: Counter[str]
    of: int | None = None
    last: Mapping[str, datetime] | None = None


def _facet(found: _Found, most: int) -> Facet:
    ranked = sorted(found.numbers.items(), key=lambda item: (-item[1], item[0]))
    return Facet(tuple(Counted(*item) for item in ranked[:most]), found.of, len(ranked) > most)


# --- totals -------------------------------------------------------------------------------------------------------


def _total(connection: Connection, tenant: Tenant, filters: ResultFilters) -> tuple[int, bool]:
    by = filters.by_value()
    if not by:
        return _whole(connection, tenant, filters, [days.ALL], None)[days.ALL].numbers[""], False
    if len(by) == 1 and _is_rolled(by[0], filters.node_role):
        value = getattr(filters, by[0])
        found = _whole(connection, tenant, filters.without(by[0]), [by[0]], value)[by[0]].numbers
        return found.total(), False
    query = selection(connection, tenant, filters).newest(connection, COUNTED + 1).subquery()
    number = connection.execute(select(func.count()).select_from(query)).scalar_one()
    return min(number, COUNTED), number > COUNTED


def _is_rolled(name: str, role: NodeRole | None) -> bool:
    """Whether each day's counts have a facet as it is filtered by."""
    return name in FACETS if name != "node" else role is NodeRole.AFFECTED


# --- values -------------------------------------------------------------------------------------------------------


def _values(
    connection: Connection, tenant: Tenant, filters: ResultFilters, names: Sequence[str], role: NodeRole | None
) -> dict[str, _Found]:
    if filters.by_value():
        return _among_newest(connection, selection(connection, tenant, filters), names, role)
    other = [name for name in names if name == "node" and role not in (None, NodeRole.AFFECTED)]
    found = _whole(connection, tenant, filters, [name for name in names if name not in other], None)
    if other:
        found |= _among_newest(connection, selection(connection, tenant, filters), other, role)
    return found


def _among_newest(
    connection: Connection, asked: Selection, names: Sequence[str], role: NodeRole | None, limit: int = WINDOW
) -> dict[str, _Found]:
    """Count values among the newest results."""
    window = asked.newest(connection, limit).cte("newest")
    parts: list[Select[Any]] = [_part(days.ALL, null(), select(window.c.id, window.c.at).subquery())]
    columns = [name for name in names if name in days.OF_RESULT]
    if columns:
        rows = select(window.c.at, *(results.c[name] for name in columns))
        held = rows.join(results, results.c.id == window.c.id).cte("held")
        parts += [_part(name, held.c[name], held) for name in columns]
    if "cause" in names:
        c = result_causes.c
        causes = select(window.c.at, window.c.id, c.symptom).join(result_causes, c.result_id == window.c.id).distinct()
        held_causes = causes.subquery()
        parts.append(_part("cause", held_causes.c.symptom, held_causes))
    if "node" in names:
        n = result_nodes.c
        nodes = select(window.c.at, n.node).join(result_nodes, n.result_id == window.c.id)
        held_nodes = nodes.where(n[(role or NodeRole.AFFECTED).value]).subquery()
        parts.append(_part("node", held_nodes.c.node, held_nodes))
    numbers: dict[str, Counter[str]] = {name: Counter() for name in (days.ALL, *names)}
    last: dict[str, dict[str, datetime]] = {name: {} for name in names}
    for name, value, number, at in connection.execute(union_all(*parts)):
        if name == days.ALL:
            numbers[name][""] = number
        elif value is not None:
            numbers[name][value] = number
            last[name][value] = at
    of = limit if numbers[days.ALL][""] >= limit else None
    return {name: _Found(numbers[name], of, last[name]) for name in names}


def _part(name: str, value: Any, rows: Any) -> Select[Any]:
    value = cast(value, results.c.cluster.type) if name == days.ALL else value
    query = select(literal(name).label("facet"), value.label("value"), func.count(), func.max(rows.c.at))
    query = query.select_from(rows)
    return query if name == days.ALL else query.group_by(value)


def _whole(
    connection: Connection, tenant: Tenant, filters: ResultFilters, names: Sequence[str], value: str | None
) -> dict[str, _Found]:
    """Count values among all results of a time: from the counts of its whole days, and one by one at its edges."""
    first, behind, edges = _days(filters.since, filters.until)
    c = result_days.c
    found: dict[str, Counter[str]] = {name: Counter() for name in names}
    if names and (first is None or behind is None or first < behind):
        where = [c.facet.in_(names), *owned_by(c.tenant, tenant)]
        where += [c.day >= first] if first is not None else []
        where += [c.day < behind] if behind is not None else []
        where += [c.value == value] if value is not None else []
        number = func.sum(c.results)
        query = select(c.facet, c.value, cast(number, Integer)).where(*where).group_by(c.facet, c.value)
        for name, held, count in connection.execute(query.having(number > 0)):
            found[name][held] = count
    for since, until in edges:
        narrowed = ResultFilters(since=since, until=until)
        if value is not None:
            narrowed = ResultFilters(since=since, until=until, **{names[0]: value})  # type: ignore[arg-type]
        counted = _edge(connection, tenant, narrowed, names)
        for name in names:
            found[name].update(counted[name])
    return {name: _Found(numbers) for name, numbers in found.items()}


def _edge(
    connection: Connection, tenant: Tenant, filters: ResultFilters, names: Sequence[str]
) -> dict[str, Counter[str]]:
    asked = selection(connection, tenant, filters)
    if names and names[0] in (days.ALL, *filters.by_value()):
        rows = asked.newest(connection, _EVERY).subquery()
        number = connection.execute(select(func.count()).select_from(rows)).scalar_one()
        return {names[0]: Counter({getattr(filters, names[0], None) or "": number})}
    return {name: f.numbers for name, f in _among_newest(connection, asked, names, None, _EVERY).items()}


Edges = list[tuple[datetime | None, datetime | None]]


def _days(since: datetime | None, until: datetime | None) -> tuple[int | None, int | None, Edges]:
    """The first whole day of a time, the one behind its last, and the pieces of days at its ends."""
    first = days.day_of(since) if since is not None else None
    behind = days.day_of(until) if until is not None else None
    starts_day = since is None or since == days.begin_of(first or 0)
    ends_day = until is None or until == days.begin_of(behind or 0)
    if starts_day and ends_day:
        return first, behind, []
    after = first + 1 if first is not None and not starts_day else first
    if after is not None and behind is not None and after > behind:
        return after, behind, [(since, until)]
    edges: Edges = []
    if not starts_day:
        assert first is not None
        edges.append((since, days.begin_of(first + 1)))
    if not ends_day:
        assert behind is not None
        edges.append((days.begin_of(behind), until))
    return after, behind, edges


# --- the newest of a value ----------------------------------------------------------------------------------------


def _last_of(
    connection: Connection, tenant: Tenant, filters: ResultFilters, by: str, values: Iterable[str]
) -> dict[str, datetime]:
    """When the newest result of each value ended."""
    table = {"cause": result_causes, "node": result_nodes}.get(by, results)
    column = table.c["symptom" if by == "cause" else by]
    where = list(owned_by(table.c.tenant, tenant))
    where += [result_nodes.c.affected] if by == "node" else []
    where += [table.c.at >= filters.since] if filters.since else []
    where += [table.c.at < filters.until] if filters.until else []
    queries = [
        select(literal(value, column.type), func.max(table.c.at)).where(column == value, *where) for value in values
    ]
    if not queries:
        return {}
    return {value: at for value, at in connection.execute(union_all(*queries)) if at is not None}
