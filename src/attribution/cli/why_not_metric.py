"""Why a metric rule did not fire: no such series, other labels, or samples that never met the condition."""

from collections.abc import Iterator, Sequence

from attribution.bundle.evidence import Evidence
from attribution.bundle.names import NodeNames
from attribution.cli.findings import MAX_COLUMNS, MAX_SHOWN, counted, more, shown, what_became
from attribution.contracts.errors import nearest
from attribution.contracts.vocabulary import METRIC_SOURCES
from attribution.events.moment import SECOND, at_us
from attribution.extraction.closest import Near, closest, distance
from attribution.extraction.conditions import Blank, Condition, Increase
from attribution.extraction.extract import Extraction, NodeSeries, condition_of, node_series, reads_series, series_name
from attribution.extraction.ruleset import RuleSets
from attribution.extraction.series import Series
from attribution.presentation import words
from attribution.presentation.columns import clip, visible
from attribution.presentation.manual import asked, where_text
from attribution.rules.model import MetricExtractor
from attribution.rules.snapshot import series_conditions

_Found = tuple[tuple[bool, float], str, NodeSeries, Series, Near]


def answer(rules: RuleSets, rule: MetricExtractor, evidence: Evidence, extraction: Extraction) -> Iterator[str]:
    """The lines of the answer."""
    found = [event for event in extraction.events if event.rule == rule.info.id]
    if found:
        yield f"  It fired on {counted(len(found), 'span', 'spans')}; the first: {shown(found[0])}"
        yield from what_became(rules, evidence, extraction, found)
        return
    names = ", ".join(rule.extract.metric)
    groups = _groups(evidence)
    own = [group for group in groups if group.source in rule.extract.sources]
    if not own:
        yield f"  No series in the evidence of {', '.join(rule.extract.sources)}; it reads {names}."
        return
    called = [item for group in own for item in group.series if item.name in rule.extract.metric]
    if not called:
        known = sorted({item.name for group in own for item in group.series})
        hint = next((near for name in rule.extract.metric if (near := nearest(name, known))), "")
        total = sum(len(group.series) for group in own)
        yield f"  None of {total} series is called {names}." + (f" ({hint})" if hint else "")
        return
    chosen = [item for item in called if reads_series(rule.extract, item)]
    if not chosen:
        yield f"  All {len(called)} series of that name have other labels than {where_text(rule.extract.where)}:"
        yield from (f"    {clip(series_name(item), MAX_COLUMNS)}" for item in called[:MAX_SHOWN])
        yield from more(len(called))
        return
    yield from _closest(rule, own, len(chosen))


def _groups(evidence: Evidence) -> tuple[NodeSeries, ...]:
    streams = [stream for stream in evidence.streams if stream.key.source in METRIC_SOURCES]
    return node_series(streams, NodeNames(evidence.context.nodes))[0]


def _closest(rule: MetricExtractor, groups: Sequence[NodeSeries], count: int) -> Iterator[str]:
    condition = condition_of(rule.extract.when)
    found: list[_Found] = []
    for group in groups:
        for item in group.series:
            near = closest(condition, item, group.series) if reads_series(rule.extract, item) else None
            if near:
                found.append((distance(condition, near), series_name(item), group, item, near))
    wanted = asked(series_conditions(rule.extract))
    if not found:
        yield f"  It asks for {wanted}; none of {count} series has a sample with a value."
        return
    yield f"  It asks for {wanted}. Of {count} series the closest:"
    for _, name, group, _, near in sorted(found, key=lambda one: one[:2])[:MAX_SHOWN]:
        yield f"    {clip(name, MAX_COLUMNS)} on {visible(group.node or 'no node')}"
        yield f"      {near_text(condition, near)}"
    yield from more(len(found))


def near_text(condition: Condition, near: Near) -> str:
    """What a series has to show for it, in words."""
    at, value = words.time(at_us(near.at_us)), words.decimal(near.value)
    if isinstance(condition, Increase):
        return f"it rose by {value} in all, last at {at}" if near.value else f"it never rose (last read at {at})"
    if near.held_us is None:
        if isinstance(condition, Blank):
            return f"it was never silent while others went on (last read at {at}: {value})"
        return f"the nearest sample is {value} at {at}"
    lasted = words.decimal(near.held_us / SECOND)
    if isinstance(condition, Blank):
        return f"it was silent for {lasted} s, from {at} on, after {value}"
    return f"it was there for {lasted} s only, from {at} on, with {value}"
