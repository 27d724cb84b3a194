"""The list of attempts: what is asked, what was found, and links that narrow it or take it further."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from attribution.contracts.vocabulary import SubDomain, TerminalState
from attribution.dashboard.views import links, moments, states
from attribution.dashboard.views.query import GroupBy, Query
from attribution.dashboard.views.spans import Choice, of_attempt
from attribution.dashboard.views.states import Badge
from attribution.dashboard.views.summary import SpanView, percent, summary_view
from attribution.presentation import words
from attribution.presentation.columns import clip
from attribution.store.queries import Listed, NodeRole, Order, Page
from attribution.store.survey import Facet, Groups, Survey

PATH = "/attempts"

LABELS: Mapping[str, str] = {
    "q": "Text",
    "terminal_state": "State",
    "sub_domain": "Blamed",
    "cause": "Cause",
    "node": "Node",
    "cluster": "Cluster",
    "user": "User",
    "since": "Ended since",
    "until": "Ended until",
}
"""What a reader calls each key of the address."""

FIELDS = ("q", "node", "user", "since", "until")
"""Keys that are typed; the others are chosen from what there is."""

FACETS = ("terminal_state", "sub_domain", "cause", "node", "cluster", "user")

NAME_COLUMNS, TEXT_COLUMNS = 60, 160
"""Columns of a name, and of what is said of an attempt; its own page has them whole."""

SHOWN_VALUES = 12
"""Values of one facet that are shown."""

_HINTS = {"q": "job, name, node, cause …", "since": "24h, 7d or 2026-05-04", "until": "2026-05-04 12:00"}


@dataclass(frozen=True, slots=True)
class FieldView:
    """One field of the form."""

    name: str
    label: str
    type: str
    value: str
    placeholder: str


@dataclass(frozen=True, slots=True)
class RowView:
    """One attempt of the list."""

    href: str
    attempt: str
    about: str
    instant: str
    at: str
    age: str
    badge: Badge
    cause: str
    blame: str
    node: str
    node_href: str
    nodes: str


@dataclass(frozen=True, slots=True)
class FacetValue:
    """One value with how many attempts have it, and the address that chooses it, or no longer does."""

    word: str
    count: str
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class FacetView:
    """The values of one key. `bound` says among how many attempts they were counted, if not among all."""

    name: str
    label: str
    values: tuple[FacetValue, ...]
    more: bool
    bound: str


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The attempts with one value: how many, what share, when the newest ended, and where they are listed."""

    word: str
    href: str
    page: str
    about: str
    count: str
    share: str
    width: int
    instant: str
    at: str
    age: str


@dataclass(frozen=True, slots=True)
class GroupsView:
    """Attempts by cause or by node. `number` is what is counted, `last` whose time is told."""

    label: str
    number: str
    last: str
    rows: tuple[GroupRow, ...]
    told: str


@dataclass(frozen=True, slots=True)
class AttemptsView:
    """Everything that the list page shows."""

    told: str
    count: str
    json: str
    summary: tuple[SpanView, ...]
    fields: tuple[FieldView, ...]
    kept: tuple[tuple[str, str], ...]
    ways: tuple[Choice, ...]
    orders: tuple[Choice, ...]
    times: tuple[Choice, ...]
    groups: GroupsView | None
    rows: tuple[RowView, ...]
    caption: str
    first: str
    next: str
    next_word: str
    facets: tuple[FacetView, ...]
    empty: str


def href(key: str) -> str:
    """The address of an attempt's page."""
    return f"{PATH}/{key}"


@dataclass(frozen=True, slots=True)
class Found:
    """What the store answers: a page of attempts or their groups, how many there are, and what the days were like."""

    page: Page | None
    groups: Groups | None
    survey: Survey
    spans: Mapping[str, Survey]


def attempts_view(query: Query, found: Found, now: datetime) -> AttemptsView:
    """The list page: a part of all attempts that match or their groups, and for each of FACETS how many have which."""
    told = ", ".join(_told(query))
    rows = found.page.rows if found.page else ()
    after = found.page.next if found.page else None
    oldest_first = query.sort == Order.OLDEST
    kept = (*FACETS, "node_role", "group", "sort", "limit")
    return AttemptsView(
        told=told,
        count=count_words(found.survey),
        json=query.address(f"{PATH}.json"),
        summary=summary_view(found.spans),
        fields=tuple(_field(query, name) for name in FIELDS),
        kept=tuple(pair for pair in query.pairs() if pair[0] in kept and pair[0] not in FIELDS),
        ways=tuple(_ways(query)),
        orders=() if found.groups else tuple(_orders(query)),
        times=tuple(_times(query)),
        groups=_groups(query, found.groups, found.survey, now) if found.groups and found.groups.rows else None,
        rows=tuple(row_view(row, now) for row in rows),
        caption=f"Attempts, the {'oldest' if oldest_first else 'newest'} first",
        first=query.with_().address(PATH) if query.after else "",
        next=query.with_(after=after).address(PATH) if after else "",
        next_word="Newer" if oldest_first else "Older",
        facets=tuple(
            view for name in FACETS if (view := _facet(query, name, found.survey.facets.get(name))) is not None
        ),
        empty=_empty(query, told, found.survey),
    )


def count_words(found: Survey) -> str:
    """How many attempts there are, as far as they were counted."""
    return f"At least {found.total:,} attempts" if found.more else words.counted(found.total, "attempt")


def _ways(query: Query) -> Iterator[Choice]:
    for group, word in (("", "One by one"), (GroupBy.CAUSE.value, "By cause"), (GroupBy.NODE.value, "By node")):
        yield Choice(
            word, query.with_(group=group, sort="" if group else query.sort).address(PATH), query.group == group
        )


def _orders(query: Query) -> Iterator[Choice]:
    for order, word in (("", "Newest first"), (Order.OLDEST.value, "Oldest first")):
        yield Choice(word, query.with_(sort=order).address(PATH), (query.sort == Order.OLDEST) == bool(order))


_TIMES = (("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days"), ("", "all time"))


def _times(query: Query) -> Iterator[Choice]:
    for since, word in _TIMES:
        chosen = query.since == since and not query.until
        yield Choice(word, query.with_(since=since, until="").address(PATH), chosen)
    if query.until or query.since not in {since for since, _ in _TIMES}:
        yield Choice("as written above", query.with_().address(PATH), True)


def _told(query: Query) -> Iterator[str]:
    """What the list is narrowed to, in words."""
    for name, value in query.pairs():
        if name in LABELS:
            label = f"{query.node_role} {LABELS[name]}" if name == "node" and query.node_role else LABELS[name]
            yield f"{label.lower()} {clip(_word(name, value), NAME_COLUMNS)}"


_WITHOUT = {"cause": "has a cause that is named", "node": "has a root on a node"}


def _empty(query: Query, told: str, found: Survey) -> str:
    if query.group and found.total:
        return f"Of {words.counted(found.total, 'attempt')} none {_WITHOUT[query.group]}."
    if query.after:
        return "No further attempts."
    if told:
        return f"No attempt matches {told}."
    return "No attempt was diagnosed yet. `attribution run` writes its results into this store."


def _field(query: Query, name: str) -> FieldView:
    kind = "search" if name == "q" else "text"
    return FieldView(name, LABELS[name], kind, getattr(query, name), _HINTS.get(name, ""))


# --- rows ---------------------------------------------------------------------------------------------------------


def row_view(row: Listed, now: datetime) -> RowView:
    """One attempt as a line of a list."""
    cause, blame = _blamed(row)
    return RowView(
        href=href(row.key),
        attempt=f"{clip(row.workload_id, NAME_COLUMNS)}, attempt {row.attempt}",
        about=" · ".join(clip(part, NAME_COLUMNS) for part in (row.name, row.user, row.cluster, row.tenant) if part),
        instant=moments.instant(row.at),
        at=moments.second(row.at),
        age=_what_time(row) or age(row.at, now),
        badge=states.state(TerminalState(row.terminal_state)),
        cause=clip(cause, TEXT_COLUMNS),
        blame=clip(blame, TEXT_COLUMNS),
        node=clip(row.cause_node or "", NAME_COLUMNS),
        node_href=links.node(row.cause_node, **of_attempt(row.cluster, row.at, now)) if row.cause_node else "",
        nodes=f"of {words.counted(row.nodes, 'node')}" if row.nodes else "",
    )


def _what_time(row: Listed) -> str:
    """What the time of a row is, where it is not that of the end; empty where it is."""
    if row.ended_at is not None:
        return ""
    known = "started" if row.started_at else "submitted" if row.submitted_at else "diagnosed"
    return f"{known}; no end is known"


def _blamed(row: Listed) -> tuple[str, str]:
    """What is blamed, and its symptom and where it belongs as the facets name them.

    Where it belongs to more than one thing, that comes first.
    """
    sub_domain = SubDomain(row.sub_domain)
    blame = words.SUB_DOMAINS[sub_domain]
    more = f" and {row.causes - 1:,} more" if row.causes > 1 else ""
    cause = f"{row.cause_meaning}{more}" if row.cause_meaning else ""
    if sub_domain is SubDomain.AMBIGUOUS:
        return words.sentence(blame), cause
    if not cause:
        return words.sentence(blame), "" if sub_domain is SubDomain.NONE else row.summary
    symptom = words.symptom(row.cause or "")
    is_told = symptom.lower() in cause.lower()
    return words.sentence(cause), blame if is_told else f"{words.sentence(symptom)} · {blame}"


_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))


def age(at: datetime, now: datetime) -> str:
    """How long ago, in one number: `12 min ago`, `3 h ago`, `40 d ago`."""
    secs = (now - at).total_seconds()
    if secs < 0:
        return ""
    return next((f"{secs // size:,.0f} {unit} ago" for size, unit in _AGES if secs >= size), "just now")


# --- groups -------------------------------------------------------------------------------------------------------


_NUMBERS: Mapping[str, tuple[str, str]] = {
    "cause": ("Attempts", "Last seen"),
    "node": ("Root here", "Last root"),
}
_SEVERAL: Mapping[str, str] = {
    "cause": "An attempt with several causes counts for each of them.",
    "node": "Counted are attempts with a root on the node; one with roots on several nodes counts for each of them.",
}


def _groups(query: Query, found: Groups, survey: Survey, now: datetime) -> GroupsView:
    name = query.group
    whole = found.of or survey.total
    largest = max((row.results for row in found.rows), default=1)
    rows = []
    for row in found.rows:
        changes = {name: row.value, "group": ""} | ({"node_role": NodeRole.AFFECTED} if name == "node" else {})
        keys = of_attempt(query.cluster, row.last_at, now)
        rows.append(
            GroupRow(
                word=clip(words.sentence(_word(name, row.value)), NAME_COLUMNS),
                href=query.with_(**changes).address(PATH),
                page=links.node(row.value, **keys) if name == "node" else links.symptom(row.value),
                about="history" if name == "node" else "about",
                count=f"{row.results:,}",
                share=percent(row.results, whole),
                width=max(1, round(100 * row.results / largest)),
                instant=moments.instant(row.last_at),
                at=moments.second(row.last_at),
                age=age(row.last_at, now),
            )
        )
    left = found.values - len(found.rows)
    rarer = words.counted(left, f"rarer {LABELS[name].lower()}")
    told = [f"Counted {_bound(found.of)}."] if found.of else []
    told.append(_SEVERAL[name])
    told += [f"Not shown: {rarer}; narrow the list to see them."] if left else []
    number, last = _NUMBERS[name]
    return GroupsView(LABELS[name], number, last, tuple(rows), " ".join(told))


# --- facets -------------------------------------------------------------------------------------------------------


_FACET_LABELS = {"node": "Root on node"}


def _facet(query: Query, name: str, found: Facet | None) -> FacetView | None:
    """The values of one key; nothing where there is nothing to choose."""
    if found is None:
        return None
    chosen = getattr(query, name)
    listed = [(item.value, f"{item.results:,}") for item in found.values]
    if name == "node" and query.node_role != NodeRole.AFFECTED:
        listed = [(value, "" if value == chosen else count) for value, count in listed]  # it is chosen in any role
    if chosen and chosen not in {value for value, _ in listed}:
        listed.insert(0, (chosen, ""))
    values = tuple(_value(query, name, value, count, value == chosen) for value, count in listed)
    return (
        FacetView(name, _FACET_LABELS.get(name, LABELS[name]), values, found.more, _bound(found.of)) if values else None
    )


def _bound(of: int | None) -> str:
    return "" if of is None else f"among the newest {of:,} that match"


def _value(query: Query, name: str, value: str, count: str, chosen: bool) -> FacetValue:
    changes = {name: "" if chosen else value}
    if name == "node":
        changes["node_role"] = "" if chosen else NodeRole.AFFECTED
    return FacetValue(clip(_word(name, value), NAME_COLUMNS), count, query.with_(**changes).address(PATH), chosen)


def _word(name: str, value: str) -> str:
    """A value as people say it."""
    if name == "terminal_state":
        return words.STATES[TerminalState(value)]
    if name == "sub_domain":
        return words.SUB_DOMAINS[SubDomain(value)]
    return words.symptom(value) if name == "cause" else value
