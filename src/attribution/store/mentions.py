"""In which results a rule or a symptom was seen: the newest of them, bounded, and how often in the newest of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Select, func, select

from attribution.store.database import Store
from attribution.store.identity import Tenant, owned_by
from attribution.store.schema import result_causes, result_evidence, result_symptoms, results

MOST = 5_000
"""The newest results of one rule or symptom that are looked at."""

WINDOW = 1_000
"""The newest results among which all rules or symptoms are counted."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One result in which it was seen."""

    key: str
    at: datetime
    workload_id: str
    attempt: int
    terminal_state: str
    sub_domain: str
    summary: str


@dataclass(frozen=True, slots=True)
class Mentions:
    """The times of the results, the newest first, and the first few of them. `bounded`: there are older ones."""

    times: tuple[datetime, ...]
    newest: tuple[Mention, ...]
    bounded: bool


@dataclass(frozen=True, slots=True)
class Often:
    """In how many of the `of` newest results each name was seen."""

    results: dict[str, int]
    of: int


def of_rule(store: Store, tenant: Tenant, rule: str, since: datetime, shown: int = 10) -> Mentions:
    """Results with a line that the rule read, from `since` on."""
    return _mentions(store, tenant, result_evidence.c.rule, rule, since, shown)


def of_symptom(store: Store, tenant: Tenant, symptom: str, since: datetime, shown: int = 10) -> Mentions:
    """Results with the symptom, whatever became of it, from `since` on."""
    return _mentions(store, tenant, result_symptoms.c.symptom, symptom, since, shown)


def blamed(store: Store, tenant: Tenant, symptom: str, since: datetime) -> int:
    """In how many results, from `since` on, the symptom is a cause; MOST where they are as many or more."""
    c = result_causes.c
    conditions = (c.symptom == symptom, c.at >= since, *owned_by(c.tenant, tenant))
    found = select(c.result_id).where(*conditions).distinct().limit(MOST).subquery()
    with store.read() as connection:
        return connection.execute(select(func.count()).select_from(found)).scalar_one()


def rules_often(store: Store, tenant: Tenant) -> Often:
    """In how many of the newest results each rule read a line."""
    return _often(store, tenant, result_evidence.c.rule)


def symptoms_often(store: Store, tenant: Tenant) -> Often:
    """In how many of the newest results each symptom was seen."""
    return _often(store, tenant, result_symptoms.c.symptom)


def _mentions(store: Store, tenant: Tenant, column: Column[Any], name: str, since: datetime, shown: int) -> Mentions:
    ids = _ids(tenant, column, name).subquery()
    query = (
        select(results.c.id, results.c.at)
        .join(ids, ids.c.result_id == results.c.id)
        .where(results.c.at >= since)
        .order_by(results.c.at.desc(), results.c.id.desc())
    )
    with store.read() as connection:
        found = connection.execute(query).all()
        bounded = connection.execute(select(func.count()).select_from(ids)).scalar_one() >= MOST
        newest = _listed([row.id for row in found[:shown]])
        rows = connection.execute(newest).all() if found else []
    times = tuple(row.at for row in found)
    return Mentions(times, tuple(Mention(*row) for row in rows), bounded)


def _ids(tenant: Tenant, column: Column[Any], name: str) -> Select[Any]:
    """The results of a tenant that were written last with a name; an index holds them in this order."""
    number = column.table.c.result_id
    query = select(number).where(column == name).distinct().order_by(number.desc()).limit(MOST)
    if own := owned_by(results.c.tenant, tenant):
        query = query.join_from(column.table, results, results.c.id == number).where(*own)
    return query


def _listed(ids: Sequence[int]) -> Select[Any]:
    c = results.c
    columns = (c.key, c.at, c.workload_id, c.attempt, c.terminal_state, c.sub_domain, c.summary)
    return select(*columns).where(c.id.in_(ids)).order_by(c.at.desc(), c.id.desc())


def _often(store: Store, tenant: Tenant, column: Column[Any]) -> Often:
    number = column.table.c.result_id
    newest = (
        select(results.c.id)
        .where(*owned_by(results.c.tenant, tenant))
        .order_by(results.c.at.desc(), results.c.id.desc())
        .limit(WINDOW)
    )
    with store.read() as connection:
        ids = list(connection.execute(newest).scalars())
        counted = (
            select(column.label("name"), func.count(number.distinct()).label("often"))
            .where(number.in_(ids))
            .group_by(column)
        )
        found = {row.name: row.often for row in connection.execute(counted)}
    return Often(found, len(ids))
