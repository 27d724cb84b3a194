"""What the connectors gave in a time: who reported how, which nodes give nothing, what could not be tested."""

from dataclasses import dataclass

from attribution.contracts.vocabulary import Source, Status, SubDomain
from attribution.dashboard.views import links, moments
from attribution.dashboard.views.spans import Choice
from attribution.dashboard.views.states import Badge
from attribution.presentation import words
from attribution.presentation.columns import clip
from attribution.store.connectors import Given
from attribution.store.untested import UntestedIn

SPANS = (1, 7, 30, 90)
"""Days that are offered."""

NAME_COLUMNS, REASON_COLUMNS = 60, 240

_BADGES = {
    Status.OK: ("●", "good"),
    Status.EMPTY: ("○", "dim"),
    Status.PARTIAL: ("◆", "warn"),
    Status.ERROR: ("■", "bad"),
    Status.SKIPPED: ("○", "dim"),
}


@dataclass(frozen=True, slots=True)
class ConnectorRow:
    """One connector on one source, in one of the ways in which its reports ended."""

    connector: str
    source: str
    badge: Badge
    reports: str
    attempts: str
    lines: str
    rejected: str
    instant: str
    last_at: str
    reason: str


@dataclass(frozen=True, slots=True)
class GoodRow:
    """When a connector last gave a source whole."""

    connector: str
    source: str
    badge: Badge
    instant: str
    at: str


@dataclass(frozen=True, slots=True)
class SilentRow:
    """A node that gives a connector nothing."""

    node: str
    href: str
    connector: str
    source: str
    nothing: str
    instant: str
    last_at: str


@dataclass(frozen=True, slots=True)
class UntestedRow:
    """A source that was missing, why, in how many attempts, and which causes it would have decided."""

    source: str
    reason: str
    attempts: str
    causes: str


@dataclass(frozen=True, slots=True)
class CoverageView:
    """Everything that the page shows."""

    days: int
    spans: tuple[Choice, ...]
    attempts: str
    bound: str
    rows: tuple[ConnectorRow, ...]
    good: tuple[GoodRow, ...]
    silent: tuple[SilentRow, ...]
    more_silent: bool
    untested: tuple[UntestedRow, ...]
    untested_of: str
    json: str


def coverage_view(found: Given, missing: UntestedIn, days: int) -> CoverageView:
    """The page."""
    return CoverageView(
        days=days,
        spans=tuple(Choice(_span(n), links.coverage(days=n), n == days) for n in SPANS),
        attempts=words.counted(found.results, "attempt"),
        bound=_bound(found),
        rows=tuple(
            ConnectorRow(
                connector=clip(item.connector, NAME_COLUMNS),
                source=_source(item.source),
                badge=badge(item.status),
                reports=f"{item.reports:,}",
                attempts=f"{item.results:,}",
                lines=f"{item.lines:,}",
                rejected=f"{item.rejected:,}" if item.rejected else "–",
                instant=moments.instant(item.last_at),
                last_at=moments.minute(item.last_at),
                reason=clip(item.reason or "", REASON_COLUMNS),
            )
            for item in found.reports
        ),
        good=tuple(
            GoodRow(
                connector=clip(item.connector, NAME_COLUMNS),
                source=_source(item.source),
                badge=Badge("ok", "●", "good") if item.at else Badge("not in this time", "■", "bad"),
                instant=moments.instant(item.at) if item.at else "",
                at=moments.minute(item.at) if item.at else "",
            )
            for item in found.last_good
        ),
        silent=tuple(
            SilentRow(
                node=clip(item.node, NAME_COLUMNS),
                href=links.node(item.node),
                connector=clip(item.connector, NAME_COLUMNS),
                source=_source(item.source),
                nothing=f"{item.results:,} of {words.counted(item.of, 'attempt')}",
                instant=moments.instant(item.last_at),
                last_at=moments.minute(item.last_at),
            )
            for item in found.silent
        ),
        more_silent=found.more_silent,
        untested=tuple(
            UntestedRow(
                source=_source(item.source) if item.source else "a rule",
                reason=clip(item.reason, REASON_COLUMNS),
                attempts=f"{item.results:,} of {missing.of:,}",
                causes=words.listed([_blame(name) for name in item.sub_domains], 6),
            )
            for item in missing.rows
        ),
        untested_of=words.counted(missing.of, "attempt"),
        json=links.twin(links.coverage(days=days)),
    )


def badge(status: str) -> Badge:
    """How a report ended."""
    known = Status(status)
    return Badge(words.STATUSES[known], *_BADGES[known])


def _bound(found: Given) -> str:
    """From when on attempts were looked at, where not all of this time were."""
    if not found.bounded or found.first_at is None:
        return ""
    return f"the newest of this time, back to {moments.minute(found.first_at)}"


def _span(days: int) -> str:
    return "24 hours" if days == 1 else f"{days} days"


def _source(name: str) -> str:
    return words.SOURCES[Source(name)]


def _blame(name: str) -> str:
    return words.SUB_DOMAINS[SubDomain(name)]
