"""What must hold of a whole set of rules that were read without error. The codes are listed in `loader`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attribution.contracts.errors import Problem, nearest
from attribution.rules import literals as proof
from attribution.rules import notation
from attribution.rules.api import expand
from attribution.rules.model import (
    Catalog,
    Extractor,
    Filter,
    MetricExtractor,
    Refiner,
    Relation,
    Rule,
    RuleInfo,
    emitted_by,
)
from attribution.rules.patterns import refused_patterns
from attribution.rules.schema import CaseModel


def check_catalog(catalog: Catalog) -> Iterator[Problem]:
    """Everything that is wrong with a set of rules that were read without error."""
    yield from _names_are_unique(catalog)
    for rule in catalog.rules:
        yield from _symptoms_exist(catalog, rule)
        yield from _cases_are_whole(rule)
        if isinstance(rule, Extractor):
            yield from _patterns_are_gated(rule)
    yield from _relations_have_no_cycle(catalog)


def _names_are_unique(catalog: Catalog) -> Iterator[Problem]:
    seen: dict[str, RuleInfo] = {}
    for rule in catalog.rules:
        if rule.info.id in catalog.retired:
            yield Problem(rule.info.place, "R011", f"uses the retired id `{rule.info.id}`", "take the next free number")
        for label in (rule.info.id, rule.info.name):
            if label in seen:
                yield Problem(rule.info.place, "R002", f"is called `{label}`, as is {seen[label].place}", "rename one")
            seen[label] = rule.info


def _symptoms_exist(catalog: Catalog, rule: Rule) -> Iterator[Problem]:
    names: Iterable[str] = emitted_by(rule)
    if isinstance(rule, Relation):
        names = [*rule.causes, *rule.effects]
    elif isinstance(rule, Filter | Refiner):
        names = [*names, *rule.needs]
    for symptom in (catalog.symptoms[name] for name in emitted_by(rule) if name in catalog.symptoms):
        for tag in symptom.tags:
            if tag not in catalog.tag_meanings:
                remedy = nearest(tag, catalog.tag_meanings) or "declare it under `tags:` of a symptoms file"
                yield Problem(rule.info.place, "R015", f"emits `{symptom.name}` with the unknown tag `{tag}`", remedy)
    for name in names:
        if name.startswith("tag:"):
            if name[4:] not in catalog.tag_meanings:
                remedy = nearest(name[4:], catalog.tag_meanings) or "declare it under `tags:` of a symptoms file"
                yield Problem(rule.info.place, "R015", f"names the unknown tag `{name[4:]}`", remedy)
        elif name not in catalog.symptoms:
            remedy = nearest(name, catalog.symptoms) or "define it under `symptom:` or in the registry"
            yield Problem(rule.info.place, "R003", f"names the unknown symptom `{name}`", remedy)


def _cases_are_whole(rule: Rule) -> Iterator[Problem]:
    cases = rule.info.cases
    for negative, word in ((False, "a case that fires"), (True, "a case with `expect: none`")):
        if not any(case.negative is negative for case in cases):
            yield Problem(rule.info.place, "R007", f"lacks {word}", "add one")
    for case in cases:
        try:
            given = notation.parse_given(case.given)
            _parse_expect(rule, case)
        except notation.NotationError as error:
            yield Problem(rule.info.place, "R017", f"has a case `{case.name}` whose {error}")
            continue
        if case.negative and not case.because:
            yield Problem(rule.info.place, "R008", f"has a negative case `{case.name}` without `because`", "say why")
        if case.negative and isinstance(rule, Extractor) and not _near_miss(rule, given):
            remedy = "let it hold one of the rule's literals"
            yield Problem(
                rule.info.place, "R009", f"has a negative case `{case.name}` that any line would pass", remedy
            )


def _parse_expect(rule: Rule, case: CaseModel) -> None:
    if isinstance(rule, Extractor | MetricExtractor):
        notation.parse_facts(case.expect)
    elif isinstance(rule, Filter):
        notation.parse_event_decisions(case.expect)
    else:
        notation.parse_decisions(case.expect)


def _near_miss(rule: Extractor, given: Sequence[notation.RawLine | notation.Fact]) -> bool:
    texts = [line.text.lower() for line in given if isinstance(line, notation.RawLine)]
    return any(literal.lower() in text for literal in rule.literals for text in texts)


def _patterns_are_gated(rule: Extractor) -> Iterator[Problem]:
    for pattern in rule.patterns:
        if next(refused_patterns([pattern], rule.info.place), None):
            continue  # told where it was read
        try:
            implied = proof.implies(pattern, rule.literals)
        except (re.error, OverflowError, RecursionError) as error:
            yield Problem(rule.info.place, "R004", f"has the pattern `{pattern}`, which cannot be read: {error}")
        else:
            if not implied:
                message = f"has literals that the pattern `{pattern}` does not imply"
                yield Problem(rule.info.place, "R005", message, "every match must contain one of them")


def _relations_have_no_cycle(catalog: Catalog) -> Iterator[Problem]:
    """Symptoms that explain each other are an error unless a proven order breaks the circle."""
    edges: dict[str, set[str]] = {}
    by_edge: dict[tuple[str, str], Relation] = {}
    for relation in catalog.relations:
        if relation.order == "earlier":
            continue
        for cause in expand(relation.causes, catalog.tags):
            for effect in expand(relation.effects, catalog.tags):
                if cause != effect:
                    edges.setdefault(cause, set()).add(effect)
                    by_edge[cause, effect] = relation
    for circle in _circles(edges):
        pairs = list(zip(circle, (*circle[1:], circle[0]), strict=True))
        first, *others = (by_edge[pair].info for pair in pairs)
        if len(circle) == 2:
            message = f"says `{circle[0]}` explains `{circle[1]}`, and {others[0].id} says the contrary"
        else:
            ways = ", ".join(f"`{a}` explains `{b}` ({by_edge[a, b].info.id})" for a, b in pairs)
            message = f"closes a circle: {ways}"
        yield Problem(first.place, "R014", message, "give one of them `order: earlier`")


def _circles(edges: Mapping[str, set[str]]) -> Iterator[tuple[str, ...]]:
    """The shortest circle through each symptom that is in one; each circle once, from its first name on."""
    inner = {cause: set(effects) for cause, effects in edges.items()}
    size = -1
    while size != len(inner):  # what nothing explains, or what explains nothing, is in no circle
        size = len(inner)
        explained = {effect for effects in inner.values() for effect in effects}
        inner = {cause: effects & inner.keys() for cause, effects in inner.items() if cause in explained}
        inner = {cause: effects for cause, effects in inner.items() if effects}
    told: set[frozenset[str]] = set()
    for start in sorted(inner):
        ways: list[tuple[str, ...]] = [(start,)]
        reached = {start}
        for way in ways:
            further = sorted(inner.get(way[-1], ()))
            if start in further:
                if frozenset(way) not in told:
                    told.add(frozenset(way))
                    yield way
                break
            ways += [(*way, effect) for effect in further if effect not in reached]
            reached.update(further)
