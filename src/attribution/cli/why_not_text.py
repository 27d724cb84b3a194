"""Why a text rule did not fire: no evidence of its sources, no literal, or a pattern that a line departs from."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from attribution.bundle.evidence import Evidence
from attribution.cli.findings import MAX_COLUMNS, MAX_SHOWN, counted, more, shown, what_became
from attribution.contracts.vocabulary import METRIC_SOURCES, Source
from attribution.events.event import Event
from attribution.extraction.extract import Extraction, extract
from attribution.extraction.ruleset import RuleSets
from attribution.presentation.columns import clip, visible
from attribution.rules.api import Finding, Match
from attribution.rules.literals import ignores_case
from attribution.rules.model import Extractor
from attribution.rules.patterns import compile_pattern
from attribution.rules.pieces import alternatives

_MESSAGE, _FOLLOW = "message", "follow"
_ANYTHING = "(?s).*"


def answer(rules: RuleSets, rule: Extractor, evidence: Evidence, extraction: Extraction) -> Iterator[str]:
    """The lines of the answer."""
    found = [event for event in extraction.events if event.rule == rule.info.id]
    if found:
        yield f"  It fired on {counted(len(found), 'line', 'lines')}; the first: {shown(found[0])}"
        yield from what_became(rules, evidence, extraction, found)
        return
    failed = sorted({error for name, error in extraction.failures if name == rule.info.id})
    yield from (f"  It broke: {visible(error)}" for error in failed)
    names = ", ".join(source.value for source in rule.sources)
    streams = [stream for stream in evidence.streams if stream.key.source in rule.sources]
    near, hidden = _near(rules, rule, evidence, rule.sources) if streams else ((), ())
    if near:
        yield f"  {counted(len(near), 'line holds', 'lines hold')} one of its literals, but none matches:"
        for event in near[:MAX_SHOWN]:
            yield f"    {shown(event)}"
            yield from (f"      {line}" for line in _departs(rule, event))
        yield from more(len(near))
        return
    others = len(rule.literals) - MAX_SHOWN
    quoted = " or ".join(f"`{literal}`" for literal in rule.literals[:MAX_SHOWN])
    quoted += f" or {others} more" if others > 0 else ""
    if streams:
        yield f"  None of {counted(len(streams), 'stream', 'streams')} ({names}) holds a line with {quoted}."
    else:
        yield f"  No evidence of a source that it reads: {names}."
    if hidden:
        said = counted(len(hidden), "line", "lines")
        yield f"  In {said} one stands only in the stamp, host and program that are taken off before a rule reads:"
        yield from _some(hidden)
    other = tuple(s for s in Source if s not in rule.sources and s not in METRIC_SOURCES)
    elsewhere, _ = _near(rules, rule, evidence, other)
    if elsewhere:
        said = counted(len(elsewhere), "line", "lines")
        yield f"  One of its literals stands in {said} of sources that it does not read:"
        yield from _some(elsewhere)


def _some(events: Sequence[Event]) -> Iterator[str]:
    yield from (f"    {shown(event)}" for event in events[:MAX_SHOWN])
    yield from more(len(events))


def _near(
    rules: RuleSets, rule: Extractor, evidence: Evidence, sources: tuple[Source, ...]
) -> tuple[Sequence[Event], Sequence[Event]]:
    """The lines of some sources that hold a literal of the rule, as events that tell what was read.

    First those that hold it where a rule reads, then those that hold it only in what is taken off before.
    """

    def find(match: Match) -> Iterable[Finding]:
        yield Finding(rule.emits[0], {_MESSAGE: match.text, _FOLLOW: "\n".join(match.follow)})

    loose = replace(rule, sources=sources, patterns=(_ANYTHING,), find=find, follow_pattern=None, generic=False)
    alone = replace(rules.catalog, extractors=(loose,), metrics=(), relations=(), filters=(), refiners=())
    folded = "(?i)" if any(ignores_case(pattern) for pattern in rule.patterns) else ""
    literal = compile_pattern(folded + "|".join(re.escape(text) for text in rule.literals))
    events = extract(evidence, RuleSets(alone)).events
    near = [event for event in events if literal.search(event.get(_MESSAGE) or "")]
    return near, [event for event in events if event not in near and literal.search(event.text)]


# --- where a line departs from a pattern ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Departure:
    """How far a line fits a pattern: the fitting text, the part of the pattern that fails, the text it meets."""

    fits: str
    wanted: str
    met: str


def _departs(rule: Extractor, event: Event) -> Iterator[str]:
    message, follow = event.get(_MESSAGE) or "", event.get(_FOLLOW) or ""
    if any(compile_pattern(pattern).search(message) for pattern in rule.patterns):
        if rule.follow_pattern and not compile_pattern(rule.follow_pattern).search(follow):
            yield f"fits its pattern, but the lines after it do not match `{rule.follow_pattern}`:"
            yield from (clip(f"| {line}", MAX_COLUMNS) for line in follow.splitlines()[:MAX_SHOWN])
        else:
            yield "fits its pattern, but the rule finds nothing to report in it, or another finding takes the line"
        return
    best = max((departure(pattern, message) for pattern in rule.patterns), key=lambda found: len(found.fits))
    if best.fits:
        yield f"fits as far as `{clip(best.fits, MAX_COLUMNS)}`"
    met = f"`{clip(best.met, MAX_COLUMNS // 2)}`" if best.met else "its end"
    yield f"then the pattern asks for `{best.wanted}`, and the line has {met}"


def departure(pattern: str, text: str) -> Departure:
    """Where a text departs from a pattern that it does not match: the longest way into one of its alternatives."""
    flags, body = re.match(r"((?:\(\?[a-zA-Z]+\))?)(.*)", pattern, re.DOTALL).groups()  # type: ignore[union-attr]
    found = [_departure(flags, atoms, text) for atoms in alternatives(body)]
    return max(found, key=lambda one: len(one.fits))


def _departure(flags: str, atoms: Sequence[str], text: str) -> Departure:
    for count in range(len(atoms) - 1, 0, -1):
        match = compile_pattern(flags + "".join(atoms[:count])).search(text)
        if match and match.end() > match.start():
            return Departure(text[match.start() : match.end()], "".join(atoms[count:]), text[match.end() :])
    return Departure("", "".join(atoms), text)
