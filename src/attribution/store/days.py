"""How many results each day has of each value is counted as they are written, so that no list counts them again."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, func, select

from attribution.contracts.vocabulary import Confidence, Domain, SubDomain, domain_of
from attribution.store import schema
from attribution.store.columns import shortened
from attribution.store.schema import result_days, results
from attribution.store.statements import insert_rows, portions, upsert

Row = Mapping[str, Any]
Fact = tuple[str, str]
"""A facet and its value."""

Placed = tuple[str, str, str, str, int]
"""A facet, its value, a tenant, a cluster ('' for none), and a day."""

_KEY: Final = ("facet", "value", "tenant", "cluster", "day")

ALL, ALLOCATED, ALLOCATED_NODE, BLAMED_NODE = "all", "allocated", "allocated_node", "blamed_node"
"""Facets beside those of a list: every result, how many nodes took part, which did, nodes surely to blame."""

OF_RESULT: Final = ("terminal_state", "domain", "sub_domain", "cluster", "user")
"""Facets that are a column of `results`."""

_FIRST_DAY = date(1970, 1, 1)


def day_of(at: datetime) -> int:
    """The number of a day in UTC."""
    return (at.astimezone(UTC).date() - _FIRST_DAY).days


def begin_of(day: int) -> datetime:
    """The first moment of a day; the last moment there is for the day behind the last."""
    if day > (date.max - _FIRST_DAY).days:
        return datetime.max.replace(tzinfo=UTC)
    moment = _FIRST_DAY + timedelta(days=day)
    return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)


BLAMED: Final = tuple(
    item.value
    for item in SubDomain
    if domain_of(item) is Domain.HARDWARE or item in {SubDomain.GPU_DRIVER, SubDomain.HOST_OS}
)
"""Sub-domains of what a node itself is: its hardware, its driver and its operating system.

A file server, a registry or a scheduler that fails is met on some node and says nothing of it.
"""


def is_blamed(confidence: str, sub_domain: str) -> bool:
    """Whether a cause counts against the thing it lies on: surely a root, and of what a node itself is."""
    return confidence != Confidence.ONE_OF_SEVERAL and sub_domain in BLAMED


_OF_NODE: Final = (("node", "affected"), (ALLOCATED_NODE, "allocated"))
"""Facets by nodes, and the column that says whether a node counts."""


def facts(head: Row, nodes: Iterable[Row], causes: Iterable[Row]) -> Counter[Fact]:
    """What one result adds to its day."""
    found = {(name, shortened(head[name])) for name in OF_RESULT if head[name] is not None}
    found.add((ALL, ""))
    for row in nodes:
        name = shortened(row["node"])
        found |= {(facet, name) for facet, is_so in _OF_NODE if row[is_so]}
    for row in causes:
        found.add(("cause", shortened(row["symptom"])))
        if row["node"] is not None and is_blamed(row["confidence"], row["sub_domain"]):
            found.add((BLAMED_NODE, shortened(row["node"])))
    counted = Counter(found)
    if head["nodes"]:
        counted[ALLOCATED, ""] = head["nodes"]
    return counted


def facts_held(connection: Connection, key: str) -> Counter[Placed] | None:
    """What the result of a key has added so far, with tenant and day; None if there is none."""
    head = connection.execute(select(results).where(results.c.key == key)).mappings().one_or_none()
    if head is None:
        return None
    nodes, causes = (
        connection.execute(select(table).where(table.c.result_id == head["id"])).mappings().all()
        for table in (schema.result_nodes, schema.result_causes)
    )
    return placed(facts(head, nodes, causes), head["tenant"], head["cluster"], head["at"])  # type: ignore[arg-type]


def placed(found: Counter[Fact], tenant: str, cluster: str | None, at: datetime) -> Counter[Placed]:
    """The facts of a result, with whose, which cluster's and which day's they are."""
    place = (tenant, shortened(cluster or ""), day_of(at))
    return Counter({(facet, value, *place): number for (facet, value), number in found.items()})


def recount(connection: Connection, held: Counter[Placed] | None, after: Counter[Placed]) -> None:
    """Take back what was counted before and count what is there now."""
    before: Counter[Placed] = held or Counter()
    changed = {key: after[key] - before[key] for key in before | after}
    add(connection, {key: number for key, number in changed.items() if number})


def add(connection: Connection, changed: Mapping[Placed, int]) -> None:
    """Add to the counts. Rows are taken in one order, so that no two writers wait for each other in a circle."""
    for portion in portions(sorted(changed.items())):
        statement = upsert(connection, result_days)
        statement = statement.values([{**dict(zip(_KEY, key, strict=True)), "results": n} for key, n in portion])
        grown = result_days.c.results + statement.excluded.results
        connection.execute(statement.on_conflict_do_update(index_elements=_KEY, set_={"results": grown}))


def by_node(facet: str, where: Iterable[ColumnElement[bool]]) -> Select[Any]:
    """The counts of a facet of nodes by `node` and `cluster`: the `number` of each that has any."""
    c = result_days.c
    # By tenant first, as the key is sorted, so that nothing is sorted but what is left.
    each = select(c.value, c.cluster, func.sum(c.results).label("number")).where(c.facet == facet, *where)
    held = each.group_by(c.value, c.tenant, c.cluster).subquery().c
    number = func.sum(held.number)
    counted = select(held.value.label("node"), held.cluster, number.label("number"))
    return counted.group_by(held.value, held.cluster).having(number > 0)


def add_new(connection: Connection, counted: Mapping[Placed, int]) -> None:
    """Write counts into an empty table."""
    rows = [{**dict(zip(_KEY, key, strict=True)), "results": number} for key, number in sorted(counted.items())]
    insert_rows(connection, result_days, rows)
