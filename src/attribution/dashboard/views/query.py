"""What a list is asked for: every key of the address, checked, and the address that asks the same again."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode

from attribution.contracts.exchange import ProblemItem
from attribution.contracts.vocabulary import SubDomain, TerminalState
from attribution.dashboard.views.keys import BadQuery, gather, item, pick
from attribution.store.queries import NodeRole, Order, PageRequest, ResultFilters

MAX_WORDS = 8
"""Words that one search may have."""

DEFAULT_LIMIT, MAX_LIMIT = 50, 200
"""Attempts of one page."""


@dataclass(frozen=True, slots=True)
class Query:
    """The filters of a list as they stand in its address. Empty means that it was not asked for.

    `since` and `until` are an ISO date or time (UTC unless it says otherwise), or a span before now such as `24h` or
    `7d`. `after` is where the next page begins, as the page before it told. With `group` the attempts are counted by
    that key and not listed.
    """

    q: str = ""
    terminal_state: str = ""
    sub_domain: str = ""
    cause: str = ""
    node: str = ""
    node_role: str = ""
    cluster: str = ""
    user: str = ""
    since: str = ""
    until: str = ""
    group: str = ""
    sort: str = ""
    after: str = ""
    limit: str = ""

    def pairs(self) -> list[tuple[str, str]]:
        """The keys that are set, in their order."""
        return [(one.name, value) for one in fields(self) if (value := getattr(self, one.name))]

    def address(self, path: str) -> str:
        """The address that asks for this."""
        pairs = self.pairs()
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def with_(self, **changes: str) -> "Query":
        """Another query from its first page on."""
        return replace(self, **{"after": "", **changes})


KEYS = tuple(one.name for one in fields(Query))

E = TypeVar("E", bound=StrEnum)


class GroupBy(StrEnum):
    """What attempts are counted by instead of listed."""

    CAUSE = "cause"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Asked:
    """A query whose values were understood, as the store takes it."""

    query: Query
    filters: ResultFilters
    page: PageRequest
    order: Order = Order.NEWEST
    group: GroupBy | None = None


def read(given: Iterable[tuple[str, str]], now: datetime) -> Asked:
    """Check the keys and values of an address. Raises BadQuery with everything that is wrong."""
    values, problems = gather(given, KEYS)
    if values.get("node") == "":  # a form whose node was emptied still sends the role that a link had brought
        values.pop("node_role", None)
    filters = ResultFilters(
        terminal_state=_one_of(TerminalState, "terminal_state", values, problems),
        sub_domain=_one_of(SubDomain, "sub_domain", values, problems),
        cause=values.get("cause") or None,
        node=values.get("node") or None,
        node_role=_one_of(NodeRole, "node_role", values, problems),
        cluster=values.get("cluster") or None,
        user=values.get("user") or None,
        since=moment_of("since", values, now, problems),
        until=moment_of("until", values, now, problems),
        search=values.get("q") or None,
    )
    if filters.since and filters.until and filters.until <= filters.since:
        problems.append(item("until", "order", "lies before `since`", "swap the two"))
    if filters.node_role and not filters.node:
        problems.append(item("node_role", "alone", "is given without `node`", "name the node as well"))
    if len((filters.search or "").split()) > MAX_WORDS:
        problems.append(item("q", "too-many-words", f"has more than {MAX_WORDS} words", "leave some out"))
    page = PageRequest(_limit(values, problems), values.get("after") or None)
    order = _one_of(Order, "sort", values, problems) or Order.NEWEST
    group = _one_of(GroupBy, "group", values, problems)
    if group and values.get("sort"):
        problems.append(item("sort", "no-list", "is given with `group`, whose largest is first", "leave one out"))
    if group and page.cursor:
        problems.append(item("after", "no-list", "is given with `group`, which is one page", "leave one of them out"))
    if problems:
        raise BadQuery(problems)
    return Asked(Query(**values), filters, page, order, group)


def _one_of(kind: type[E], key: str, values: Mapping[str, str], problems: list[ProblemItem]) -> E | None:
    value = pick(values, key, [member.value for member in kind], problems)
    return kind(value) if value else None


_SPAN = re.compile(r"([0-9]{1,4})([hd])")
_TIME_REMEDY = "write a time such as 2026-05-04, 2026-05-04 03:00 or 2026-05-04T03:00Z, or a span such as 24h or 7d"


def moment_of(key: str, values: Mapping[str, str], now: datetime, problems: list[ProblemItem]) -> datetime | None:
    """A moment in UTC. A date alone is its first moment; as `until` it takes in the whole day."""
    value = values.get(key, "")
    if not value:
        return None
    try:
        if span := _SPAN.fullmatch(value):
            return now - timedelta(hours=int(span[1]) * (24 if span[2] == "d" else 1))
        moment = datetime.fromisoformat(value)
        if key == "until" and not set(value) & set("T :"):
            moment += timedelta(days=1)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        problems.append(item(key, "no-time", "is no time", _TIME_REMEDY))
        return None


def _limit(values: Mapping[str, str], problems: list[ProblemItem]) -> int:
    value = values.get("limit", "")
    if not value:
        return DEFAULT_LIMIT
    if not (value.isascii() and value.isdecimal() and 1 <= int(value) <= MAX_LIMIT):
        problems.append(item("limit", "no-limit", "is no number of rows", f"write 1 to {MAX_LIMIT}"))
        return DEFAULT_LIMIT
    return int(value)
