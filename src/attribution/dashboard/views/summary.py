"""What the last day and the last week were like, in a few numbers, each of which leads to its attempts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attribution.contracts.vocabulary import TerminalState
from attribution.dashboard.views import links, states
from attribution.dashboard.views.states import Badge
from attribution.presentation import words
from attribution.presentation.columns import clip
from attribution.store.survey import Survey

SPANS: Mapping[str, str] = {"24h": "Last 24 hours", "7d": "Last 7 days"}
"""The spans that are summed up, as they stand in an address, with their names."""

FACETS = ("terminal_state", "cause")
"""What they are summed up by."""

FAILED = frozenset(
    {
        TerminalState.FAILED,
        TerminalState.NODE_FAILED,
        TerminalState.OUT_OF_MEMORY,
        TerminalState.LAUNCH_FAILED,
        TerminalState.TIMED_OUT,
    }
)
"""Ends that count as failed: by themselves, for want of a node, memory or a start, or at the time limit."""

SHOWN_CAUSES = 3
NAME_COLUMNS = 48


@dataclass(frozen=True, slots=True)
class Tally:
    """A number with what it counts, and the address that lists it."""

    badge: Badge | None
    word: str
    count: str
    href: str


@dataclass(frozen=True, slots=True)
class SpanView:
    """One span of time."""

    name: str
    count: str
    failed: str
    href: str
    states: tuple[Tally, ...]
    causes: tuple[Tally, ...]


def failed_of(found: Survey) -> int:
    """How many of the attempts count as failed."""
    return sum(item.results for item in found.facets["terminal_state"].values if TerminalState(item.value) in FAILED)


def summary_view(found: Mapping[str, Survey]) -> tuple[SpanView, ...]:
    """The spans that SPANS names."""
    return tuple(_span(span, name, found[span]) for span, name in SPANS.items())


def _span(span: str, name: str, found: Survey) -> SpanView:
    failed = failed_of(found)
    share = f" ({percent(failed, found.total)})" if found.total else ""
    return SpanView(
        name=name,
        count=words.counted(found.total, "attempt"),
        failed=f"{failed:,} failed{share}",
        href=links.attempts(since=span),
        states=tuple(
            Tally(
                states.state(TerminalState(item.value)),
                words.STATES[TerminalState(item.value)],
                f"{item.results:,}",
                links.attempts(terminal_state=item.value, since=span),
            )
            for item in found.facets["terminal_state"].values
        ),
        causes=_causes(span, found),
    )


def _causes(span: str, found: Survey) -> tuple[Tally, ...]:
    shown: Sequence[Tally] = [
        Tally(
            None,
            clip(words.sentence(words.symptom(item.value)), NAME_COLUMNS),
            f"{item.results:,}",
            links.attempts(cause=item.value, since=span),
        )
        for item in found.facets["cause"].values[:SHOWN_CAUSES]
    ]
    return tuple(shown)


def percent(part: int, whole: int) -> str:
    """A share in whole percent, and never 0 % of something or 100 % of nearly all."""
    if not whole:
        return "–"
    share = 100 * part / whole
    if 0 < share < 1:
        return "< 1 %"
    if 99 < share < 100:
        return "> 99 %"
    return f"{share:.0f} %"
