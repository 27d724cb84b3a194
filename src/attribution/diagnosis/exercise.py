"""Which patterns of a rule its cases exercise, and which pieces of them could go without any case noticing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import re2
from pydantic import ValidationError

from attribution.contracts.errors import Problem
from attribution.diagnosis.verify import case_context, stamped
from attribution.extraction.clock import ClockRules
from attribution.extraction.envelopes import unwrap
from attribution.extraction.lines import peel
from attribution.rules import notation
from attribution.rules.model import Catalog, Extractor
from attribution.rules.patterns import compile_pattern
from attribution.rules.pieces import Cut, cuts
from attribution.rules.schema import CaseModel

MAX_SHOWN = 60
"""Characters of a pattern or piece that a message shows."""


@dataclass(slots=True)
class _Exercised:
    """What the cases of a rule say to its patterns: the texts that each decides, and those that none matches."""

    rule: Extractor
    compiled: list[Any]
    decided: dict[int, list[str]] = field(default_factory=dict)
    quiet: list[str] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)


def unexercised(catalog: Catalog) -> Iterator[Problem]:
    """Patterns that no case that fires needs (R024)."""
    for rule in catalog.extractors:
        seen = _exercise(rule)
        for number, pattern in enumerate(rule.patterns):
            if number in seen.decided:
                continue
            why = ", since an earlier pattern takes each line it reads" if number in seen.taken else ""
            message = f"has the pattern `{_short(pattern)}`, which decides no case that fires{why}"
            remedy = "add a line that only this pattern reads to a case that fires, or remove the pattern"
            yield Problem(rule.info.at("extract", "pattern", number), "R024", message, remedy)


def loosenings(catalog: Catalog) -> Iterator[Problem]:
    """Pieces of patterns that no case needs: alternatives (R025), and what could be looser (R026). Advice.

    A piece is needed if without it a case that fires no longer does, or says something else, or a line that must not
    fire would. A negative case that needs no piece at all is told too (R036).
    """
    for rule in catalog.extractors:
        seen = _exercise(rule)
        looser: list[Any] = list(seen.compiled)
        for number, pattern in enumerate(rule.patterns):
            for cut in cuts(pattern):
                try:
                    other = compile_pattern(cut.pattern)
                except re2.error:  # what is left is no pattern
                    continue
                if number in seen.decided and not _is_needed(seen, number, cut, other):
                    yield _advice(rule, number, cut)
                if cut.loosens:
                    looser.append(other)
        yield from _far_misses(rule, looser)


def _far_misses(rule: Extractor, looser: Sequence[Any]) -> Iterator[Problem]:
    for number, case in enumerate(rule.info.cases):
        if case.negative and not any(pattern.search(text) for text in messages(case, rule) for pattern in looser):
            message = f"has a negative case `{case.name}` of {rule.info.id}, which no single loosening would let fire"
            yield Problem(rule.info.at("cases", number, "given"), "R036", message, "bring it nearer to what fires")


def _advice(rule: Extractor, number: int, cut: Cut) -> Problem:
    place = rule.info.at("extract", "pattern", number)
    if cut.loosens:
        message = (
            f"has the {cut.what} `{_short(cut.piece)}` in a pattern of {rule.info.id}, and no case fails without it"
        )
        return Problem(place, "R026", message, "add a near miss that differs only there")
    message = f"has the {cut.what} `{_short(cut.piece)}` in a pattern of {rule.info.id}, and no case holds it"
    return Problem(place, "R025", message, "add a line with it, or remove it")


def _is_needed(seen: _Exercised, number: int, cut: Cut, other: Any) -> bool:
    if not all(_says_the_same(seen.compiled[number], other, text) for text in seen.decided[number]):
        return True
    return cut.loosens and any(other.search(text) for text in seen.quiet)


def _says_the_same(pattern: Any, other: Any, text: str) -> bool:
    before, after = pattern.search(text), other.search(text)
    return after is not None and {**before.groupdict(), **after.groupdict()} == before.groupdict()


def _exercise(rule: Extractor) -> _Exercised:
    seen = _Exercised(rule, [compile_pattern(pattern) for pattern in rule.patterns])
    for case in rule.info.cases:
        for text in messages(case, rule):
            matching = [number for number, pattern in enumerate(seen.compiled) if pattern.search(text)]
            if not matching:
                seen.quiet.append(text)
            elif not case.negative:
                seen.decided.setdefault(matching[0], []).append(text)
                seen.taken.update(matching[1:])
    return seen


def messages(case: CaseModel, rule: Extractor) -> Sequence[str]:
    """The texts of a case that the patterns of a rule see: lines of its sources, freed of prefixes."""
    try:
        clock = ClockRules.of(None, case_context(case))
    except ValidationError:  # the case cannot be run, which `verify` tells
        clock = ClockRules()
    found = []
    for line in notation.parse_given(case.given):
        if isinstance(line, notation.RawLine) and line.source in rule.sources:
            raw = stamped(line)
            peeled = peel(raw, clock)
            inner = unwrap(raw, clock) if peeled.message.startswith("{") else None
            found += [item.message for item in inner or (peeled,)]
    return found


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
