"""Which results are like what is asked for: the newest first, begun with whatever of it is rarest."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, func, select, tuple_

from attribution.contracts.vocabulary import Confidence
from attribution.store import days
from attribution.store.database import Store
from attribution.store.identity import Everyone, Tenant, owned_by, tenant_key
from attribution.store.schema import result_causes, result_days, result_nodes, results
from attribution.store.statements import any_of
from attribution.store.words import FEW, MANY, Term, asked_words, have_all, is_read_with, term


class Order(StrEnum):
    """In which order results are listed."""

    NEWEST = "newest"
    OLDEST = "oldest"


class NodeRole(StrEnum):
    """How a node took part in an attempt."""

    ALLOCATED = "allocated"
    AFFECTED = "affected"
    INTERESTING = "interesting"
    EXCLUDED = "excluded"
    BLAMED = "blamed"  # a root that is sure lay on it, and in its hardware, driver or operating system


@dataclass(frozen=True, slots=True)
class ResultFilters:
    """What a result must be like; what is None does not matter.

    `cause` is the symptom of any of its causes, `node` any node of the attempt or of a finding, narrowed by
    `node_role` and by its cluster ('' for none). `since` is the first moment and `until` the first one too late.
    `search` is words that all must stand within the words of workload id, name, user, cluster, causes and summary, or
    within the name of a node, whatever their case.
    """

    terminal_state: str | None = None
    domain: str | None = None
    sub_domain: str | None = None
    cause: str | None = None
    node: str | None = None
    node_role: NodeRole | None = None
    node_cluster: str | None = None
    cluster: str | None = None
    user: str | None = None
    workload_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    search: str | None = None

    def without(self, *facets: str) -> "ResultFilters":
        """The same without the filters of facets."""
        left = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in facets}
        return ResultFilters(**left)

    def by_value(self) -> list[str]:
        """The filters that are set, but for the time."""
        names = (item.name for item in fields(self))
        return [name for name in names if name not in _BY_TIME and getattr(self, name) is not None]


_BY_TIME = ("since", "until", "node_role", "node_cluster")
SCANNED = 500
"""Results that are looked for where rows are read one by one."""

COLUMNS = (*days.OF_RESULT, "workload_id")
"""Filters that are a column of `results`."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A question about results, with its search looked up. `begin` is the filter that is the rarest.

    `found` is how many results have all the words that were looked up, at most; None if no word was.
    """

    tenant: Tenant
    filters: ResultFilters
    terms: tuple[Term, ...] = ()
    begin: str | None = None
    found: int | None = None

    @property
    def is_scan(self) -> bool:
        """Whether rows are looked at one by one for words that many have."""
        return bool(self.terms) and (self.found is None or self.found > FEW)

    def newest(
        self,
        limit: int,
        order: Order = Order.NEWEST,
        behind: Sequence[Any] | None = None,
        columns: Sequence[str] = (),
    ) -> Select[Any]:
        """Time and number (`at`, `id`) of at most `limit` results in order, behind a place of it if one is given.

        With `columns` these of `results` too.
        """
        begun = self._begun()
        conditions = [*begun.conditions, *self._in_time(begun.at), *self._owned(begun)]
        query = select(begun.at.label("at"), begun.number.label("id"), *(results.c[name] for name in columns))
        others = list(self._others())
        if begun.at is not results.c.at and (others or columns):
            query = query.join_from(begun.at.table, results, results.c.id == begun.number)
        if begun.at is result_causes.c.at:
            query = query.distinct()
        conditions += others
        place = tuple_(begun.at, begun.number)
        if behind is not None:
            conditions.append(place < tuple_(*behind) if order is Order.NEWEST else place > tuple_(*behind))
        ordered = (column.desc() if order is Order.NEWEST else column.asc() for column in (begun.at, begun.number))
        return query.where(*conditions).order_by(*ordered).limit(limit)

    def _begun(self) -> "_Begun":
        f, c, n = self.filters, result_causes.c, result_nodes.c
        if self.begin == "cause":
            return _Begun(c.at, c.result_id, c.tenant, [c.symptom == f.cause])
        if self.begin == "node" and f.node_role is NodeRole.BLAMED:
            return _Begun(c.at, c.result_id, c.tenant, self._of_node())
        if self.begin == "node":
            return _Begun(n.at, n.result_id, n.tenant, self._of_node())
        r = results.c
        if self.begin == "search":
            held = have_all(self.terms)
            assert held is not None
            return _Begun(r.at, r.id, r.tenant, [r.id.in_(held)])
        where = [r[self.begin] == getattr(f, self.begin)] if self.begin else []
        return _Begun(r.at, r.id, r.tenant, where)

    def _of_node(self) -> list[ColumnElement[bool]]:
        f = self.filters
        n, role = result_nodes.c, []
        if f.node_role is NodeRole.BLAMED:
            n, role = result_causes.c, list(blamed(result_causes.c))
        elif f.node_role:
            role = [n[f.node_role.value]]
        return [n.node == f.node, *role, *([n.cluster == f.node_cluster] if f.node_cluster is not None else [])]

    def _owned(self, begun: "_Begun") -> tuple[ColumnElement[bool], ...]:
        if self.begin is None or isinstance(self.tenant, Everyone):
            return owned_by(begun.tenant, self.tenant)
        return (begun.tenant.concat("") == tenant_key(self.tenant),)

    def _in_time(self, at: Column[Any]) -> Iterator[ColumnElement[bool]]:
        if self.filters.since is not None:
            yield at >= self.filters.since
        if self.filters.until is not None:
            yield at < self.filters.until

    def _others(self) -> Iterator[ColumnElement[bool]]:
        """What a row of `results` must be like beside what was begun with; said so that no other index tempts."""
        f, c, n = self.filters, result_causes.c, result_nodes.c
        for name in COLUMNS:
            if getattr(f, name) is not None and name != self.begin:
                yield results.c[name].concat("") == getattr(f, name)
        if f.cause is not None and self.begin != "cause":
            yield select(1).where(c.result_id == results.c.id, c.symptom == f.cause).correlate(results).exists()
        if f.node is not None and self.begin != "node":
            of = c if f.node_role is NodeRole.BLAMED else n
            yield select(1).where(of.result_id == results.c.id, *self._of_node()).correlate(results).exists()
        held = have_all(self.terms)
        if held is not None and self.begin != "search":
            yield (results.c.id + 0).in_(held)
        yield from (is_read_with(item) for item in self.terms if item.results is None)


def blamed(c: Any) -> tuple[ColumnElement[bool], ...]:
    """The conditions that a cause counts against what it lies on, as `days.is_blamed` says it."""
    return c.confidence != Confidence.ONE_OF_SEVERAL.value, c.sub_domain.in_(days.BLAMED)


@dataclass(frozen=True, slots=True)
class _Begun:
    at: Column[Any]
    number: Column[Any]
    tenant: Column[Any]
    conditions: list[ColumnElement[bool]]


@dataclass(frozen=True, slots=True)
class Reading:
    """Questions of one tenant within one transaction; what one looked up serves the others."""

    connection: Connection
    tenant: Tenant
    _terms: dict[str, Term] = field(default_factory=dict, repr=False)
    _asked: dict[ResultFilters, Selection] = field(default_factory=dict, repr=False)
    _scanned: dict[ResultFilters, Sequence[Any]] = field(default_factory=dict, repr=False)
    counted: dict[tuple[ResultFilters, NodeRole | None, str], Any] = field(default_factory=dict, repr=False)

    def selection(self, filters: ResultFilters) -> Selection:
        """Look up what is asked for, and choose what to begin with."""
        if filters not in self._asked:
            self._asked[filters] = self._select(filters)
        return self._asked[filters]

    def newest(self, filters: ResultFilters, limit: int, columns: Sequence[str] = ()) -> Select[Any]:
        """Time and number of the newest results, at most `limit`, and more columns of them."""
        asked = self.selection(filters)
        if asked.is_scan and limit <= SCANNED:
            numbers = [row.id for row in self.scanned(filters)[:limit]]
            query = select(results.c.at, results.c.id, *(results.c[name] for name in columns))
            return query.where(any_of(self.connection, results.c.id, numbers))
        return asked.newest(limit, columns=columns)

    def scanned(self, filters: ResultFilters) -> Sequence[Any]:
        """Times and numbers of the newest SCANNED results, where rows are read one by one: no row is read twice.

        What is narrowed by columns is first looked for among what was found without, then behind that.
        """
        if filters not in self._scanned:
            narrow = [name for name in days.OF_RESULT if getattr(filters, name) is not None]
            wide = filters.without(*narrow)
            held = self.scanned(wide) if narrow else []
            found = [row for row in held if all(getattr(row, name) == getattr(filters, name) for name in narrow)]
            if not narrow or len(held) == SCANNED:
                behind = (held[-1].at, held[-1].id) if held else None
                left = SCANNED - len(found)
                query = self.selection(filters).newest(left, behind=behind, columns=days.OF_RESULT)
                found += self.connection.execute(query).all()
            self._scanned[filters] = found
        return self._scanned[filters]

    def _select(self, filters: ResultFilters) -> Selection:
        terms = tuple(self._term(word) for word in asked_words(filters.search))
        by = [name for name in filters.by_value() if name != "search"]
        sizes = {name: _size(self.connection, self.tenant, filters, name) for name in by}
        found = self._found(terms)
        if found is not None and (found <= FEW or any(item.results is None for item in terms)):
            sizes["search"] = found  # of more, the newest are found sooner by reading on
        begin = min(sizes, key=lambda name: sizes[name]) if sizes else None
        return Selection(self.tenant, filters, terms, begin, found)

    def _found(self, terms: tuple[Term, ...]) -> int | None:
        known = [item.results for item in terms if item.results is not None]
        held = have_all(terms)
        if held is None or len(known) < 2 or min(known) == 0:
            return min(known, default=None)
        number: int = self.connection.execute(select(func.count()).select_from(held.subquery())).scalar_one()
        return number

    def _term(self, word: str) -> Term:
        if word not in self._terms:
            self._terms[word] = term(self.connection, word, self.tenant, MANY)
        return self._terms[word]


@contextmanager
def reading(store: Store, tenant: Tenant) -> Iterator[Reading]:
    """A transaction to ask in."""
    with store.read() as connection:
        yield Reading(connection, tenant)


def _size(connection: Connection, tenant: Tenant, filters: ResultFilters, name: str) -> int:
    """About how many results a filter leaves, at most, of the days that are asked about."""
    if name == "workload_id":
        return 0
    value = getattr(filters, name)
    if name == "node" and filters.node_role is not NodeRole.AFFECTED:
        n = result_nodes.c
        some = select(n.at).where(n.node == value, *owned_by(n.tenant, tenant)).limit(FEW).subquery()
        return connection.execute(select(func.count()).select_from(some)).scalar_one()
    c = result_days.c
    query = select(func.sum(c.results)).where(c.facet == name, c.value == value, *owned_by(c.tenant, tenant))
    if filters.since is not None:
        query = query.where(c.day >= days.day_of(filters.since))
    if filters.until is not None:
        query = query.where(c.day <= days.day_of(filters.until))
    return connection.execute(query).scalar() or 0
