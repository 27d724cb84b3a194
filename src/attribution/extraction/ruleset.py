"""A RuleSet is the extractors that read one source, with their gate and their compiled patterns."""

from dataclasses import dataclass, field
from typing import Any

from attribution.contracts.vocabulary import Source
from attribution.extraction.gate import Cut, Gate, build_gate, cuts_of
from attribution.rules import literals as proof
from attribution.rules.cache import Cache, no_cache
from attribution.rules.model import Catalog, Extractor
from attribution.rules.patterns import compile_pattern


@dataclass(slots=True)
class RuleSet:
    """Extractors of one source. `cuts[n]` says which rules a gate hit of number n concerns.

    Of the rules of `last` only the last match of a stream counts. The gate knows nothing of those among them that are
    `asked` of every window, since what they look for stands in nearly every line.
    """

    rules: tuple[Extractor, ...]
    cuts: tuple[Cut, ...]
    gate: Gate
    last: tuple[int, ...] = ()
    asked: frozenset[int] = frozenset()
    _patterns: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    _follow: dict[int, Any] = field(default_factory=dict)
    _needles: dict[int, tuple[bytes, ...] | None] = field(default_factory=dict)

    def may_match(self, number: int, line: bytes) -> bool:
        """Whether a rule could match a line that is no JSON: a cheap look, before prefixes are taken off."""
        if number not in self._needles:
            self._needles[number] = _needles_of(self.rules[number])
        needles = self._needles[number]
        return needles is None or any(needle in line for needle in needles)

    def patterns(self, number: int) -> tuple[Any, ...]:
        """The compiled patterns of a rule; compiled when first asked for, since most rules never hit."""
        found = self._patterns.get(number)
        if found is None:
            found = self._patterns[number] = tuple(compile_pattern(p) for p in self.rules[number].patterns)
        return found

    def follow_pattern(self, number: int) -> Any:
        """The compiled pattern of the joined lines, or None."""
        pattern = self.rules[number].follow_pattern
        if pattern is None:
            return None
        if number not in self._follow:
            self._follow[number] = compile_pattern(pattern)
        return self._follow[number]


def _needles_of(rule: Extractor) -> tuple[bytes, ...] | None:
    found: list[bytes] = []
    for pattern in rule.patterns:
        texts = proof.needles(pattern)
        if texts is None:
            return None
        found += [text.encode() for text in texts]
    return tuple(found)


def rule_set(catalog: Catalog, source: Source, cache: Cache = no_cache) -> RuleSet:
    """The extractors of a catalog that read `source`."""
    rules = tuple(rule for rule in catalog.extractors if source in rule.sources)
    last = tuple(number for number, rule in enumerate(rules) if rule.last)
    asked = frozenset(number for number in last if _needles_of(rules[number]) is None)
    literals = [
        (number, literal, any(proof.ignores_case(pattern) for pattern in rule.patterns))
        for number, rule in enumerate(rules)
        for literal in rule.literals
        if number not in asked
    ]
    cuts = cuts_of(literals, cache)
    return RuleSet(rules, cuts, build_gate(cuts, cache), last, asked)


class RuleSets:
    """The rule sets of a catalog, each built when a stream of its source is first scanned."""

    def __init__(self, catalog: Catalog, cache: Cache = no_cache) -> None:
        self.catalog = catalog
        self._cache = cache
        self._sets: dict[Source, RuleSet] = {}

    def __getitem__(self, source: Source) -> RuleSet:
        found = self._sets.get(source)
        if found is None:
            found = self._sets[source] = rule_set(self.catalog, source, self._cache)
        return found
