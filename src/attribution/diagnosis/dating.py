"""What a stamp leaves out is taken from what else is known: the year of the attempt, a twin of a line since boot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Source
from attribution.events.event import Event
from attribution.events.moment import SECOND, Basis, Moment
from attribution.extraction.clock import ClockRules, with_year
from attribution.extraction.extract import StreamReport

_AGREE_US = 2 * SECOND
"""How far the times of the boot may differ that several lines tell."""

_Boot = tuple[int, int, Basis]
"""When a node booted, how far that may be too early, and on which clock, in microseconds."""


def dated(events: Sequence[Event], context: ExecutionContext, reports: Sequence[StreamReport]) -> tuple[Event, ...]:
    """The events; those whose stamps leave the year out get the year that puts them nearest to the attempt's window.

    `context` is as `with_window` gives it.
    """
    clocks = {report.stream.key: report.stream.clock for report in reports}
    found = []
    for event in events:
        if event.moment is not None and event.moment.basis is Basis.YEARLESS:
            rules = ClockRules.of(clocks.get(event.key), context)
            until = None if event.until is None else with_year(event.until, rules)
            event = replace(event, moment=with_year(event.moment, rules), until=until)
        found.append(event)
    return tuple(found)


def anchored(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events; those whose stamps count from the boot get a date where another log of the node has the same lines.

    A node may have booted more than once: only lines that both logs hold equally often count, and all must tell one
    time of the boot.
    """
    boots = {node: boot for node, found in _twins(events).items() if (boot := _one_boot(found)) is not None}
    return tuple(_at(event, boots.get(event.node)) for event in events)


def _twins(events: Iterable[Event]) -> Mapping[object, list[tuple[Moment, Moment]]]:
    """By node: what the two clocks read when one line was logged."""
    said: dict[tuple[object, ...], tuple[list[Moment], list[Moment]]] = {}
    for event in events:
        if event.key.source is Source.SYSLOG and event.moment is not None and not event.moment.inherited:
            words = (event.node, event.symptom, event.device, event.discriminator, event.fields, event.count)
            said.setdefault(words, ([], []))[event.moment.basis is not Basis.BOOT].append(event.moment)
    found: dict[object, list[tuple[Moment, Moment]]] = {}
    for (node, *_), (since_boot, with_date) in said.items():
        if len(since_boot) == len(with_date) and len({moment.basis for moment in with_date}) == 1:
            pairs = zip(*(sorted(several, key=lambda m: m.us) for several in (since_boot, with_date)), strict=True)
            found.setdefault(node, []).extend(pairs)
    return found


def _one_boot(pairs: Sequence[tuple[Moment, Moment]]) -> _Boot | None:
    bases = {date.basis for _, date in pairs}
    if len(bases) != 1:
        return None
    low = max(date.us - boot.us for boot, date in pairs)
    high = min(date.us + date.width_us - boot.us for boot, date in pairs)
    first = min(low, high)
    return None if low - high > _AGREE_US else (first, max(low, high) - first + SECOND, bases.pop())


def _at(event: Event, boot: _Boot | None) -> Event:
    if boot is None or event.moment is None or event.moment.basis is not Basis.BOOT:
        return event
    us, width_us, basis = boot

    def dated_as(moment: Moment | None) -> Moment | None:
        if moment is None or moment.basis is not Basis.BOOT:
            return moment
        return replace(moment, us=moment.us + us, width_us=moment.width_us + width_us, basis=basis)

    return replace(event, moment=dated_as(event.moment), until=dated_as(event.until))
