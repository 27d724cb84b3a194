"""What pages ask about results. Every answer is of one tenant, unless all are asked for."""

import base64
import re
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import literal, select

from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store.codec import from_json, unpack
from attribution.store.database import Store
from attribution.store.identity import ALL_TENANTS, Tenant, owned_by
from attribution.store.results import ResultKey
from attribution.store.schema import result_documents, results
from attribution.store.selection import SCANNED, NodeRole, Order, Reading, ResultFilters, reading

__all__ = [
    "ALL_TENANTS",
    "Listed",
    "NodeRole",
    "Order",
    "Page",
    "PageRequest",
    "ResultFilters",
    "Tenant",
    "get_result",
    "get_row",
    "list_results",
]

MAX_PAGE = 1000
"""The most results of one page."""


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


_NAMES = tuple(field.name for field in fields(Listed))
LISTED = tuple(results.c[name] for name in _NAMES)


def listed(row: Any) -> Listed:
    values = {name: getattr(row, name) for name in _NAMES}
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
    with reading(store, tenant) as asking:
        return list_in(asking, filters or ResultFilters(), order, page or PageRequest())


def list_in(asking: Reading, filters: ResultFilters, order: Order, page: PageRequest) -> Page:
    """As `list_results`, within a transaction."""
    size = max(1, min(page.size, MAX_PAGE))
    behind = _place(page.cursor) if page.cursor is not None else None
    asked = asking.selection(filters)
    if asked.is_scan and behind is None and order is Order.NEWEST and size < SCANNED:
        places = asking.scanned(filters)[: size + 1]
    else:
        places = asking.connection.execute(asked.newest(size + 1, order, behind)).all()
    shown = places[:size]
    query = select(*LISTED, results.c.id).where(results.c.id.in_([place.id for place in shown]))
    rows = {row.id: listed(row) for row in asking.connection.execute(query)}
    found = tuple(rows[place.id] for place in shown if place.id in rows)
    return Page(found, _cursor(shown[-1].at, shown[-1].id) if len(places) > size else None)


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
