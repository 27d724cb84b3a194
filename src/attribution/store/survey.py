"""How many results are like what is asked for, and how many of them have which value.

Whatever is asked by time alone, or by one value, is counted whole from the counts of each day; the rest among the
newest results that match, and the answer says among how many.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, CompoundSelect, Select, and_, cast, func, literal, null, select, union_all

from attribution.store import days
from attribution.store.identity import owned_by
from attribution.store.schema import result_causes, result_days, result_nodes, results
from attribution.store.selection import SCANNED, NodeRole, Reading, ResultFilters
from attribution.store.statements import portions

FACETS: Final = ("terminal_state", "domain", "sub_domain", "cause", "cluster", "user", "node")
"""What results are counted by. `node` counts affected nodes, or those of `node_role`."""

COUNTED = 10_000
"""Results that are counted one by one; then it is said that they are at least as many."""

WINDOW = 2_000
"""The newest results that match, among which values are counted; SCANNED where rows are read one by one."""

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
    """How many results there are (`total`, or at least as many if `more`) and their facets by name."""

    total: int
    more: bool
    facets: Mapping[str, Facet]


def survey_in(asking: Reading, filters: ResultFilters, names: Sequence[str], most: int) -> Survey:
    """Count results, and the commonest values of each facet as if it had no filter of its own.

    A result with several causes counts once for each symptom among them.
    """
    asked: dict[ResultFilters, list[str]] = {}
    for name in names:
        asked.setdefault(filters.without(name), []).append(name)
    facets: dict[str, Facet] = {}
    counted: tuple[int, bool] | None = None
    for narrowed, wanted in asked.items():
        for name, found in _values(asking, narrowed, wanted, filters.node_role, most).items():
            facets[name] = _facet(found, most)
            if narrowed == filters and (found.of is None or asking.selection(filters).is_scan):
                counted = (found.size, found.of is not None) if found.size else counted  # not read again to count
    total, more = counted or _total(asking, filters)
    return Survey(total, more, {name: facets[name] for name in names})


def groups_in(asking: Reading, by: str, filters: ResultFilters, most: int) -> Groups:
    """The results that match by the values of one of FACETS."""
    found = _values(asking, filters, [by], filters.node_role, None)[by]
    ranked = sorted(found.numbers.items(), key=lambda item: (-item[1], item[0]))[:most]
    last = found.last or _last_of(asking, filters, by, [value for value, _ in ranked])
    rows = tuple(Group(value, number, last[value]) for value, number in ranked if value in last)
    return Groups(rows, found.of, len(found.numbers) > len(ranked), len(found.numbers))


@dataclass(frozen=True, slots=True)
class _Found:
    """Results by value, among how many, and when the newest of each ended and of how many where that is known."""

    numbers: Counter[str]
    of: int | None = None
    last: Mapping[str, datetime] | None = None
    size: int | None = None


def _facet(found: _Found, most: int) -> Facet:
    ranked = sorted(found.numbers.items(), key=lambda item: (-item[1], item[0]))
    return Facet(tuple(Counted(*item) for item in ranked[:most]), found.of, len(ranked) > most)


# --- totals -------------------------------------------------------------------------------------------------------


def _total(asking: Reading, filters: ResultFilters) -> tuple[int, bool]:
    by = filters.by_value()
    if not by:
        return _whole(asking, filters, [days.ALL])[days.ALL].numbers.total(), False
    if len(by) == 1 and _is_rolled(by[0], filters.node_role):
        return _whole(asking, filters, by, value=getattr(filters, by[0]))[by[0]].numbers.total(), False
    most = SCANNED if asking.selection(filters).is_scan else COUNTED
    query = asking.newest(filters, most).subquery()
    number = asking.connection.execute(select(func.count()).select_from(query)).scalar_one()
    return number, number >= most


def _is_rolled(name: str, role: NodeRole | None) -> bool:
    """Whether each day's counts have a facet as it is filtered by."""
    return name in FACETS if name != "node" else role is NodeRole.AFFECTED


# --- values -------------------------------------------------------------------------------------------------------


def _values(
    asking: Reading, filters: ResultFilters, names: Sequence[str], role: NodeRole | None, most: int | None
) -> dict[str, _Found]:
    """The counts of values, of each name at least the `most` largest and one more. All of them are counted once."""
    found = {name: asking.counted[filters, role, name] for name in names if (filters, role, name) in asking.counted}
    if left := [name for name in names if name not in found]:
        found |= _count(asking, filters, left, role, most)
    if most is None:
        asking.counted.update({(filters, role, name): counts for name, counts in found.items()})
    return found


def _count(
    asking: Reading, filters: ResultFilters, names: Sequence[str], role: NodeRole | None, most: int | None
) -> dict[str, _Found]:
    if filters.by_value():
        limit = SCANNED if asking.selection(filters).is_scan else WINDOW
        return _among_newest(asking, filters, names, role, limit, most)
    other = [name for name in names if name == "node" and role not in (None, NodeRole.AFFECTED)]
    found = _whole(asking, filters, [days.ALL, *(name for name in names if name not in other)], most)
    del found[days.ALL]
    if other:
        found |= _among_newest(asking, filters, other, role, WINDOW, most)
    return found


def _among_newest(
    asking: Reading,
    filters: ResultFilters,
    names: Sequence[str],
    role: NodeRole | None,
    limit: int,
    most: int | None = None,
) -> dict[str, _Found]:
    """Count values among the newest results; of causes and nodes the `most` largest and one more, if that is given."""
    columns = [name for name in names if name in days.OF_RESULT]
    more = None if most is None else most + 2  # one more, and results without a value
    window = asking.newest(filters, limit, columns).cte("newest")
    parts: list[Select[Any]] = [_part(days.ALL, null(), window)]
    parts += [_part(name, window.c[name], window) for name in columns]
    # The joins are outer ones so that SQLite begins with the few results, not with the many rows of all of them.
    if "cause" in names:
        c = result_causes.c
        causes = select(window.c.at, window.c.id, c.symptom).outerjoin(result_causes, c.result_id == window.c.id)
        held_causes = causes.distinct().subquery()
        parts.append(_largest(_part("cause", held_causes.c.symptom, held_causes), more))
    if "node" in names:
        n = result_nodes.c
        took = n[NodeRole.AFFECTED.value if role in (None, NodeRole.BLAMED) else role.value]
        nodes = select(window.c.at, n.node).outerjoin(result_nodes, and_(n.result_id == window.c.id, took))
        held_nodes = nodes.subquery()
        parts.append(_largest(_part("node", held_nodes.c.node, held_nodes), more))
    numbers: dict[str, Counter[str]] = {name: Counter() for name in (days.ALL, *names)}
    last: dict[str, dict[str, datetime]] = {name: {} for name in names}
    for name, value, number, at in asking.connection.execute(union_all(*parts)):
        if name == days.ALL:
            numbers[name][""] = number
        elif value is not None:
            numbers[name][value] = number
            last[name][value] = at
    size = numbers[days.ALL][""]
    of = limit if size >= limit else None
    return {name: _Found(numbers[name], of, last[name], size) for name in names}


def _part(name: str, value: Any, rows: Any) -> Select[Any]:
    value = cast(value, results.c.cluster.type) if name == days.ALL else value
    number, last = func.count().label("number"), func.max(rows.c.at).label("last")
    query = select(literal(name).label("facet"), value.label("value"), number, last).select_from(rows)
    return query if name == days.ALL else query.group_by(value)


def _largest(part: Select[Any], most: int | None) -> Select[Any]:
    """The `most` largest counts of a part, whose columns begin with name, value and number; all if that is None."""
    if most is None:
        return part
    _, value, number, *_ = part.selected_columns
    return select(*part.order_by(number.desc(), value).limit(most).subquery().c)


def _whole(
    asking: Reading, filters: ResultFilters, names: Sequence[str], most: int | None = None, value: str | None = None
) -> dict[str, _Found]:
    """Count values among all results of a time: from the counts of its whole days, and one by one at its edges.

    With `value` only that one of the only name; `filters` may then hold it too. With days.ALL among the names the
    answer says of how many results.
    """
    first, behind, edges = _days(filters.since, filters.until)
    found: dict[str, Counter[str]] = {name: Counter() for name in names}
    more = None if edges or value is not None or most is None else most + 1
    if first is None or behind is None or first < behind:
        for name, held, count in asking.connection.execute(_rolled(asking, names, first, behind, more, value)):
            found[name][held] = count
    for since, until in edges:
        counted = _edge(asking, replace(filters, since=since, until=until), names)
        for name in names:
            found[name].update(counted[name])
    size = found[days.ALL].total() if days.ALL in found else None
    return {name: _Found(numbers, size=size) for name, numbers in found.items()}


def _rolled(
    asking: Reading, names: Sequence[str], first: int | None, behind: int | None, most: int | None, value: str | None
) -> CompoundSelect[Any]:
    """Name, value and count of whole days; of each name the `most` largest, where that is given."""
    c = result_days.c
    number = cast(func.sum(c.results), BigInteger)
    where = [*owned_by(c.tenant, asking.tenant)]
    where += [c.day >= first] if first is not None else []
    where += [c.day < behind] if behind is not None else []
    where += [c.value == value] if value is not None else []
    parts = []
    for name in names:
        query = select(literal(name), c.value, number).where(c.facet == name, *where).group_by(c.value)
        parts.append(_largest(query.having(number > 0), most))
    return union_all(*parts)


def _edge(asking: Reading, filters: ResultFilters, names: Sequence[str]) -> dict[str, Counter[str]]:
    if list(names) == [days.ALL] or filters.by_value():
        (name,) = names  # by a value one counts only what has it
        rows = asking.newest(filters, _EVERY).subquery()
        number = asking.connection.execute(select(func.count()).select_from(rows)).scalar_one()
        return {name: Counter({"": number})}
    return {name: found.numbers for name, found in _among_newest(asking, filters, names, None, _EVERY).items()}


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


def _last_of(asking: Reading, filters: ResultFilters, by: str, values: Sequence[str]) -> dict[str, datetime]:
    """When the newest result of each value ended."""
    table = {"cause": result_causes, "node": result_nodes}.get(by, results)
    column = table.c["symptom" if by == "cause" else by]
    where = list(owned_by(table.c.tenant, asking.tenant))
    where += [result_nodes.c.affected] if by == "node" else []
    where += [table.c.at >= filters.since] if filters.since else []
    where += [table.c.at < filters.until] if filters.until else []
    found: dict[str, datetime] = {}
    for portion in portions(values, 100):
        queries = [
            select(literal(value, column.type).label("value"), func.max(table.c.at)).where(column == value, *where)
            for value in portion
        ]
        found |= {value: at for value, at in asking.connection.execute(union_all(*queries)) if at is not None}
    return found
