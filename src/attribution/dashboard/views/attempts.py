"""The list of attempts: what is asked, what was found, and links that narrow it or take it further."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from attribution.contracts.vocabulary import SubDomain, TerminalState
from attribution.dashboard.views import states
from attribution.dashboard.views.query import Query
from attribution.dashboard.views.states import Badge
from attribution.presentation import words
from attribution.presentation.columns import clip
from attribution.store.queries import Listed, NodeRole, Page
from attribution.store.survey import Counted

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
    """The values of one key."""

    name: str
    label: str
    values: tuple[FacetValue, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class AttemptsView:
    """Everything that the list page shows."""

    told: str
    count: str
    json: str
    fields: tuple[FieldView, ...]
    kept: tuple[tuple[str, str], ...]
    rows: tuple[RowView, ...]
    newest: str
    older: str
    facets: tuple[FacetView, ...]
    empty: str


def href(key: str) -> str:
    """The address of an attempt's page."""
    return f"{PATH}/{key}"


def attempts_view(
    query: Query, page: Page, total: int, facets: Mapping[str, Sequence[Counted]], now: datetime
) -> AttemptsView:
    """The list page: a part of `total` attempts, and for each of FACETS how many have which value."""
    told = ", ".join(_told(query))
    older = query.with_(after=page.next).address(PATH) if page.next else ""
    return AttemptsView(
        told=told,
        count=words.counted(total, "attempt"),
        json=query.address(f"{PATH}.json"),
        fields=tuple(_field(query, name) for name in FIELDS),
        kept=tuple(pair for pair in query.pairs() if pair[0] in (*FACETS, "node_role", "limit") and pair[0] != "node"),
        rows=tuple(_row(row, query, now) for row in page.rows),
        newest=query.with_().address(PATH) if query.after else "",
        older=older,
        facets=tuple(view for name in FACETS if (view := _facet(query, name, facets.get(name, ()))) is not None),
        empty=_empty(query, told),
    )


def _told(query: Query) -> Iterator[str]:
    """What the list is narrowed to, in words."""
    for name, value in query.pairs():
        if name in LABELS:
            label = f"{query.node_role} {LABELS[name]}" if name == "node" and query.node_role else LABELS[name]
            yield f"{label.lower()} {clip(_word(name, value), NAME_COLUMNS)}"


def _empty(query: Query, told: str) -> str:
    if query.after:
        return "No older attempts."
    if told:
        return f"No attempt matches {told}."
    return "No attempt was diagnosed yet. `attribution run` writes its results into this store."


def _field(query: Query, name: str) -> FieldView:
    kind = "search" if name == "q" else "text"
    return FieldView(name, LABELS[name], kind, getattr(query, name), _HINTS.get(name, ""))


# --- rows ---------------------------------------------------------------------------------------------------------


def _row(row: Listed, query: Query, now: datetime) -> RowView:
    cause, blame = _blamed(row)
    return RowView(
        href=href(row.key),
        attempt=f"{clip(row.workload_id, NAME_COLUMNS)}, attempt {row.attempt}",
        about=" · ".join(clip(part, NAME_COLUMNS) for part in (row.name, row.user, row.cluster, row.tenant) if part),
        instant=row.at.astimezone(UTC).isoformat(timespec="seconds"),
        at=words.time(row.at)[: len("2026-05-04 03:06:58")],
        age=age(row.at, now),
        badge=states.state(TerminalState(row.terminal_state)),
        cause=clip(cause, TEXT_COLUMNS),
        blame=clip(blame, TEXT_COLUMNS),
        node=clip(row.cause_node or "", NAME_COLUMNS),
        node_href=query.with_(node=row.cause_node, node_role=NodeRole.AFFECTED).address(PATH) if row.cause_node else "",
        nodes=f"of {words.counted(row.nodes, 'node')}" if row.nodes else "",
    )


def _blamed(row: Listed) -> tuple[str, str]:
    """What is blamed and where it belongs. Where that is not one thing, this comes first."""
    sub_domain = SubDomain(row.sub_domain)
    blame = words.SUB_DOMAINS[sub_domain]
    more = f" and {row.causes - 1:,} more" if row.causes > 1 else ""
    cause = f"{row.cause_meaning}{more}" if row.cause_meaning else ""
    if sub_domain is SubDomain.AMBIGUOUS:
        return words.sentence(blame), cause
    if not cause:
        return words.sentence(blame), "" if sub_domain is SubDomain.NONE else row.summary
    return words.sentence(cause), blame


_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))


def age(at: datetime, now: datetime) -> str:
    """How long ago, in one number: `12 min ago`, `3 h ago`, `40 d ago`."""
    secs = (now - at).total_seconds()
    if secs < 0:
        return ""
    return next((f"{secs // size:,.0f} {unit} ago" for size, unit in _AGES if secs >= size), "just now")


# --- facets -------------------------------------------------------------------------------------------------------


def _facet(query: Query, name: str, counts: Sequence[Counted]) -> FacetView | None:
    """The values of one key; nothing where there is nothing to choose."""
    chosen = getattr(query, name)
    listed = [(item.value, f"{item.results:,}") for item in counts]
    if chosen and chosen not in {value for value, _ in listed}:
        listed.insert(0, (chosen, ""))
    values = tuple(_value(query, name, value, count, value == chosen) for value, count in listed)
    return FacetView(name, LABELS[name], values, len(counts) >= SHOWN_VALUES) if values else None


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
