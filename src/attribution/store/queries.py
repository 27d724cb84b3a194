"""What pages ask about results. Every answer is of one tenant, unless all are asked for."""

import base64
import re
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, func, literal, select, tuple_

from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store.codec import from_json, unpack
from attribution.store.database import Store
from attribution.store.identity import ALL_TENANTS, Tenant, owned_by
from attribution.store.results import ResultKey
from attribution.store.schema import result_causes, result_documents, result_nodes, results

__all__ = [
    "ALL_TENANTS",
    "FACETS",
    "Counted",
    "Listed",
    "NodeRole",
    "Order",
    "Page",
    "PageRequest",
    "ResultFilters",
    "Tenant",
    "count_results",
    "facet",
    "get_result",
    "get_row",
    "list_results",
]

MAX_PAGE = 1000
"""The most results of one page."""


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


@dataclass(frozen=True, slots=True)
class ResultFilters:
    """What a result must be like; what is None does not matter.

    `cause` is the symptom of any of its causes, `node` any node of the attempt or of a finding, narrowed by
    `node_role`. `since` is the first moment and `until` the first one too late. `search` is text within workload id,
    name, user, cluster, nodes, causes and summary, whatever its case; all its words must be there.
    """

    terminal_state: str | None = None
    domain: str | None = None
    sub_domain: str | None = None
    cause: str | None = None
    node: str | None = None
    node_role: NodeRole | None = None
    cluster: str | None = None
    user: str | None = None
    workload_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    search: str | None = None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list: at most `size` results behind the `cursor` of an earlier page."""

    size: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a list. Names of more than 160 characters are shortened; the result holds them whole."""

    key: str
    tenant: str | None
    at: datetime
    cluster: str | None
    workload_id: str
    attempt: int
    scheduler: str
    name: str | None
    user: str | None
    framework: str | None
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    terminal_state: str
    domain: str
    sub_domain: str
    cause: str | None
    cause_meaning: str | None
    cause_node: str | None
    causes: int
    nodes: int
    summary: str
    catalog_version: str
    catalog_digest: str
    first_written_at: datetime
    written_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """Results in order. `next` is the cursor of the page behind this one, None on the last."""

    rows: tuple[Listed, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Counted:
    """How many results have a value."""

    value: str
    results: int


LISTED = tuple(results.c[field.name] for field in fields(Listed))


def listed(row: Any) -> Listed:
    values = {field.name: getattr(row, field.name) for field in fields(Listed)}
    return Listed(**{**values, "tenant": row.tenant or None})


def list_results(
    store: Store,
    tenant: Tenant,
    filters: ResultFilters | None = None,
    order: Order = Order.NEWEST,
    page: PageRequest | None = None,
) -> Page:
    """One page of results by time. Results written meanwhile neither repeat nor hide one of a later page.

    Raises ConfigurationError for a cursor that is not of this list.
    """
    page = page or PageRequest()
    size = max(1, min(page.size, MAX_PAGE))
    position = tuple_(results.c.at, results.c.id)
    query = select(*LISTED, results.c.id).where(*_conditions(tenant, filters or ResultFilters()))
    if page.cursor is not None:
        place = tuple_(*_place(page.cursor))
        query = query.where(position < place if order is Order.NEWEST else position > place)
    columns = (results.c.at, results.c.id)
    query = query.order_by(*(c.desc() if order is Order.NEWEST else c.asc() for c in columns)).limit(size + 1)
    with store.read() as connection:
        found = connection.execute(query).all()
    shown = found[:size]
    more = len(found) > size
    return Page(tuple(listed(row) for row in shown), _cursor(shown[-1].at, shown[-1].id) if more else None)


def count_results(store: Store, tenant: Tenant, filters: ResultFilters | None = None) -> int:
    """How many results there are like this."""
    query = select(func.count()).select_from(results).where(*_conditions(tenant, filters or ResultFilters()))
    with store.read() as connection:
        return connection.execute(query).scalar_one()


def _is_key(key: ResultKey | str) -> bool:
    return re.fullmatch("[0-9a-f]{32}", str(key)) is not None


def get_result(store: Store, key: ResultKey | str, tenant: Tenant) -> AttributionBlueprintResult | None:
    """The whole result; None if this tenant has none of that key. Raises StoreDamaged."""
    if not _is_key(key):
        return None
    query = (
        select(result_documents.c.raw_size, result_documents.c.document)
        .join(results, results.c.id == result_documents.c.result_id)
        .where(results.c.key == str(key), *owned_by(results.c.tenant, tenant))
    )
    with store.read() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return from_json(unpack(row.document, row.raw_size, f"the result {key}"), AttributionBlueprintResult)


def get_row(store: Store, key: ResultKey | str, tenant: Tenant) -> Listed | None:
    """The line of one result, with when it was written; None if this tenant has none of that key."""
    if not _is_key(key):
        return None
    query = select(*LISTED).where(results.c.key == str(key), *owned_by(results.c.tenant, tenant))
    with store.read() as connection:
        row = connection.execute(query).one_or_none()
    return listed(row) if row is not None else None


FACETS: Final = ("terminal_state", "domain", "sub_domain", "cause", "cluster", "user", "node")
"""What results are counted by. `node` counts affected nodes, or those of `node_role`."""


def facet(
    store: Store, name: str, tenant: Tenant, filters: ResultFilters | None = None, most: int = 20
) -> tuple[Counted, ...]:
    """How many results have each value of one of FACETS, the commonest first; its own filter is left out.

    A result with several causes counts once for each symptom among them.
    """
    given = filters or ResultFilters()
    where = _conditions(tenant, given, leave_out=name)
    number = func.count(results.c.id.distinct()).label("number")
    query: Select[Any]
    if name == "cause":
        value = result_causes.c.symptom
        query = select(value, number).join(results, results.c.id == result_causes.c.result_id)
    elif name == "node":
        value = result_nodes.c.node
        role = result_nodes.c[(given.node_role or NodeRole.AFFECTED).value]
        query = select(value, number).join(results, results.c.id == result_nodes.c.result_id).where(role)
    elif name in FACETS:
        value = results.c[name]
        query = select(value, number).where(value.is_not(None))
    else:
        raise ValueError(f"no facet is called {name}")
    query = query.where(*where).group_by(value).order_by(number.desc(), value).limit(most)
    with store.read() as connection:
        return tuple(Counted(row[0], row[1]) for row in connection.execute(query))


# --- conditions -----------------------------------------------------------------------------------------------------


def _conditions(tenant: Tenant, filters: ResultFilters, leave_out: str = "") -> list[ColumnElement[bool]]:
    conditions = [*owned_by(results.c.tenant, tenant)]
    for name in ("terminal_state", "domain", "sub_domain", "cluster", "user", "workload_id"):
        value = getattr(filters, name)
        if value is not None and name != leave_out:
            conditions.append(results.c[name] == value)
    if filters.cause is not None and leave_out != "cause":
        conditions.append(results.c.id.in_(_with_cause(tenant, filters.cause)))
    if filters.node is not None and leave_out != "node":
        conditions.append(results.c.id.in_(_with_node(tenant, filters.node, filters.node_role)))
    if filters.since is not None:
        conditions.append(results.c.at >= filters.since)
    if filters.until is not None:
        conditions.append(results.c.at < filters.until)
    for word in (filters.search or "").lower().split():
        conditions.append(results.c.search.contains(word, autoescape=True))
    return conditions


def _with_cause(tenant: Tenant, symptom: str) -> Select[Any]:
    c = result_causes.c
    return select(c.result_id).where(c.symptom == symptom, *owned_by(c.tenant, tenant))


def _with_node(tenant: Tenant, node: str, role: NodeRole | None) -> Select[Any]:
    c = result_nodes.c
    return select(c.result_id).where(c.node == node, *owned_by(c.tenant, tenant), *([c[role.value]] if role else []))


# --- cursors --------------------------------------------------------------------------------------------------------

_ORIGIN = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def _cursor(at: datetime, number: int) -> str:
    micros = (at - _ORIGIN) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(f"{micros}:{number}".encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[Any, Any]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        micros, _, number = base64.b64decode(padded, b"-_", validate=True).decode().partition(":")
        at, last = _ORIGIN + timedelta(microseconds=int(micros)), int(number)
        if not 0 <= last < 2**63:
            raise ValueError(cursor)
    except (ValueError, OverflowError):
        problem = Problem(
            Place("cursor"), "T012", "is not one that a page of this list gave", "begin at the first page"
        )
        raise ConfigurationError([problem]) from None
    return literal(at, results.c.at.type), literal(last, results.c.id.type)
