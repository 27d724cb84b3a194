"""What must hold of a whole set of rules that were read without error, or it is refused."""

import re
from collections.abc import Callable, Iterator, Mapping

from attribution.contracts import documents
from attribution.contracts.errors import Place, Problem, nearest
from attribution.contracts.vocabulary import Action, Role
from attribution.events.symptom import ENDS_JOB, SymptomType
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
    Retired,
    Rule,
    RuleInfo,
    emitted_by,
)
from attribution.rules.patterns import refused_patterns
from attribution.rules.schema import CaseModel

FIRST_FREE = 900
"""The number of a rule from which on none is shipped."""

_VERSION = re.compile(r"\d{1,5}\.\d{1,5}\.\d{1,5}")


def check_catalog(catalog: Catalog) -> Iterator[Problem]:
    """Everything that is wrong with a set of rules that were read without error."""
    yield from _names_are_unique(catalog)
    for rule in catalog.rules:
        yield from _since_is_past(catalog, rule)
        yield from _symptoms_exist(catalog, rule)
        ungated = tuple(_patterns_are_gated(rule)) if isinstance(rule, Extractor) else ()
        yield from ungated
        yield from _cases_are_whole(rule, catalog, gated=not ungated)
    yield from _tags_are_declared(catalog)
    yield from _recovered_exist(catalog)
    yield from _relations_have_no_cycle(catalog)


def check_thrift(catalog: Catalog) -> Iterator[Problem]:
    """What a set of rules that works has too much of, or too little: R020, R027, R028, R038. Runs no case."""
    yield from _numbers_are_free(catalog)
    for rule in catalog.extractors:
        yield from _literals_are_needed(rule)
    emitted = {name for rule in catalog.rules for name in emitted_by(rule)}
    for symptom in catalog.symptoms.values():
        place = catalog.at(symptom.name)
        if symptom.name not in emitted:
            remedy = "let a rule emit it, or remove it"
            yield Problem(place, "R027", f"defines the symptom `{symptom.name}`, which no rule emits", remedy)
        for lack in _lacks(symptom):
            yield Problem(place, "R028", f"defines the symptom `{symptom.name}` {lack}", "complete it")


def _numbers_are_free(catalog: Catalog) -> Iterator[Problem]:
    """An operator's rule in a family of the shipped ones has a number that none of them will ever have."""
    families = {rule.info.id[:-3] for rule in catalog.rules if rule.info.written.shipped}
    for rule in catalog.rules:
        info = rule.info
        if not info.written.shipped and info.id[:-3] in families and int(info.id[-3:]) < FIRST_FREE:
            message = f"has the id `{info.id}`, which a later version may give to a shipped rule"
            yield Problem(info.at("id"), "R038", message, f"take a number from {FIRST_FREE} on")


def _literals_are_needed(rule: Extractor) -> Iterator[Problem]:
    kept = list(rule.literals)
    for literal in sorted(rule.literals, key=len, reverse=True):
        others = [other for other in kept if other != literal]
        likely_first = sorted(rule.patterns, key=lambda pattern: not _holds(pattern, literal))
        if others and all(proof.implies(pattern, others) for pattern in likely_first):
            kept = others
            place = rule.info.at("extract", "literals", rule.literals.index(literal))
            message = f"has the literal `{literal}`, which no pattern needs: the others gate them all"
            yield Problem(place, "R020", message, "remove it")


def _lacks(symptom: SymptomType) -> Iterator[str]:
    if not symptom.meaning.strip():
        yield "without a meaning"
    if symptom.ends_job not in ENDS_JOB:
        yield f"that ends jobs `{symptom.ends_job}`, which is none of {', '.join(ENDS_JOB)}"
    if symptom.role is Role.CAUSE:
        if symptom.sub_domain is None:
            yield "of role `cause` without a sub_domain"
        if not set(symptom.actions) - {Action.NONE}:
            yield "of role `cause` without an action"


def _since_is_past(catalog: Catalog, rule: Rule) -> Iterator[Problem]:
    since, place = rule.info.since, rule.info.at("since")
    if not _VERSION.fullmatch(since):
        yield Problem(place, "R032", f"has `since: {since}`, which is no version", "write it as 1.2.3")
    elif _VERSION.fullmatch(catalog.version) and _numbers(since) > _numbers(catalog.version):
        message = f"has `since: {since}`, which is later than this version, {catalog.version}"
        yield Problem(place, "R032", message, "name the first version that has the rule")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _names_are_unique(catalog: Catalog) -> Iterator[Problem]:
    seen: dict[str, RuleInfo] = {}
    for rule in catalog.rules:
        if rule.info.id in catalog.retired:
            yield _retired(rule.info, catalog.retired_at[rule.info.id])
        for key, label in (("id", rule.info.id), ("name", rule.info.name)):
            if label in seen:
                yield _same(key, label, rule.info, seen[label])
            seen[label] = rule.info


def _retired(info: RuleInfo, retired: Retired) -> Problem:
    """Blames the rule, or the operator who retires a shipped one, which only its own folder can."""
    if info.written.shipped and not retired.shipped:
        message = f"retires the id `{info.id}`, which a shipped rule uses"
        return Problem(retired.place, "R011", message, "remove the line: a folder retires ids of its own only")
    return Problem(info.at("id"), "R011", f"uses the retired id `{info.id}`", "take the next free number")


def _same(key: str, label: str, one: RuleInfo, other: RuleInfo) -> Problem:
    """Blames the rule of the operator's, if the other one is shipped."""
    if one.written.shipped == other.written.shipped:
        return Problem(one.at(key), "R002", f"is called `{label}`, as is {other.at(key)}", "rename one")
    own, shipped = (other, one) if one.written.shipped else (one, other)
    remedy = f"take a number from {FIRST_FREE} on" if key == "id" else "rename it"
    return Problem(own.at(key), "R002", f"is called `{label}`, as is the shipped {shipped.at(key)}", remedy)


def _symptoms_exist(catalog: Catalog, rule: Rule) -> Iterator[Problem]:
    for path, name in _named(rule):
        yield from _exists(catalog, rule.info.at(*path), name)


def _exists(catalog: Catalog, place: Place, name: str) -> Iterator[Problem]:
    """What is wrong with a `NAME` or `tag:NAME` that nothing defines."""
    if name.startswith("tag:"):
        if name[4:] not in catalog.tag_meanings:
            remedy = nearest(name[4:], catalog.tag_meanings) or "declare it under `tags:` of a symptoms file"
            yield Problem(place, "R015", f"names the unknown tag `{name[4:]}`", remedy)
    elif name not in catalog.symptoms:
        remedy = nearest(name, catalog.symptoms) or "define it under `symptom:` or in the registry"
        yield Problem(place, "R003", f"names the unknown symptom `{name}`", remedy)


def _recovered_exist(catalog: Catalog) -> Iterator[Problem]:
    for symptom in catalog.symptoms.values():
        for number, name in enumerate(symptom.recovers):
            yield from _exists(catalog, catalog.at(symptom.name, "recovers", number), name)


def _tags_are_declared(catalog: Catalog) -> Iterator[Problem]:
    for symptom in catalog.symptoms.values():
        for number, tag in enumerate(symptom.tags):
            if tag not in catalog.tag_meanings:
                remedy = nearest(tag, catalog.tag_meanings) or "declare it under `tags:` of a symptoms file"
                message = f"defines the symptom `{symptom.name}` with the unknown tag `{tag}`"
                yield Problem(catalog.at(symptom.name, "tags", number), "R015", message, remedy)


def _named(rule: Rule) -> Iterator[tuple[documents.Path, str]]:
    """The symptoms and tags that a rule names, each with the part of the rule that does."""
    lists: list[tuple[documents.Path, tuple[str, ...]]] = []
    if isinstance(rule, Relation):
        lists = [(("relation", "causes"), rule.causes), (("relation", "effects"), rule.effects)]
    elif isinstance(rule, Filter):
        lists = [(("emits",), rule.emits), (("needs",), rule.needs)]
    elif isinstance(rule, Refiner):
        lists = [(("needs",), rule.needs)]
    elif rule.info.at("emit") == rule.info.place:  # a function
        lists = [(("emits",), emitted_by(rule))]
    else:
        yield ("emit", "symptom"), emitted_by(rule)[0]
    for path, names in lists:
        yield from (((*path, number), name) for number, name in enumerate(names))


def _cases_are_whole(rule: Rule, catalog: Catalog, *, gated: bool) -> Iterator[Problem]:
    info = rule.info
    for negative, word in ((False, "a case that fires"), (True, "a case with `expect: none`")):
        if not any(case.negative is negative for case in info.cases):
            yield Problem(info.at("cases"), "R007", f"lacks {word}", "add one")
    for number, case in enumerate(info.cases):
        for part, parse in (("given", notation.parse_given), ("expect", _expectation(rule))):
            try:
                parse(getattr(case, part))
            except notation.NotationError as error:
                place = info.at("cases", number, part, error.number - 1)
                yield Problem(place, "R017", f"has a case `{case.name}` whose {error}")
                break
        else:
            if case.negative and not case.because:
                message = f"has a negative case `{case.name}` without `because`"
                yield Problem(info.at("cases", number), "R008", message, "say why")
            yield from _facts_are_known(rule, number, catalog)
            remedy = _far_miss(rule, case, catalog) if case.negative and gated else ""
            if remedy:
                message = f"has a negative case `{case.name}` that would not pass the rule's gate"
                yield Problem(info.at("cases", number, "given"), "R009", message, remedy)


def _facts_are_known(rule: Rule, case: int, catalog: Catalog) -> Iterator[Problem]:
    """The symptoms that a case is given exist: a line that names another could not be run."""
    text = rule.info.cases[case].given
    rows = [row for row, line in enumerate(text.splitlines()) if line.strip()]
    for row, line in zip(rows, notation.parse_given(text), strict=True):
        if isinstance(line, notation.Fact) and line.symptom not in catalog.symptoms:
            message = f"has a case `{rule.info.cases[case].name}` with the unknown symptom `{line.symptom}`"
            remedy = nearest(line.symptom, catalog.symptoms) or "define it, or give one that a rule emits"
            yield Problem(rule.info.at("cases", case, "given", row), "R003", message, remedy)


def _expectation(rule: Rule) -> Callable[[str], object]:
    """What reads the `expect` of a rule's cases."""
    if isinstance(rule, Extractor | MetricExtractor):
        return notation.parse_facts
    if isinstance(rule, Filter):
        return notation.parse_event_decisions
    return notation.parse_decisions


def _far_miss(rule: Rule, case: CaseModel, catalog: Catalog) -> str:
    """What a negative case should have been given, if it has nothing that the rule looks at."""
    given = notation.parse_given(case.given)
    if isinstance(rule, Extractor):
        return "" if _near_miss(rule, case) else "give a line of a source that the rule reads, with one of its literals"
    if isinstance(rule, MetricExtractor):
        read = [
            line.text for line in given if isinstance(line, notation.RawLine) and line.source in rule.extract.sources
        ]
        near = any(re.match(rf"{re.escape(name)}[\s{{]", text) for name in rule.extract.metric for text in read)
        return "" if near else "give a sample of a metric and source that the rule reads"
    if isinstance(rule, Relation) and all(isinstance(line, notation.Fact) for line in given):
        related = set(expand((*rule.causes, *rule.effects), catalog.tags))
        near = any(isinstance(line, notation.Fact) and line.symptom in related for line in given)
        return "" if near else "give one of the symptoms that the rule relates"
    return ""


def _near_miss(rule: Extractor, case: CaseModel) -> bool:
    """Whether a line of the case is one that the scanner would hand to the rule."""
    for line in notation.parse_given(case.given):
        if isinstance(line, notation.RawLine) and line.source in rule.sources:
            for pattern in rule.patterns:
                fold = str.lower if proof.ignores_case(pattern) else str
                if any(fold(literal) in fold(line.text) for literal in rule.literals):
                    return True
    return False


def _patterns_are_gated(rule: Extractor) -> Iterator[Problem]:
    for number, pattern in enumerate(rule.patterns):
        place = rule.info.at("extract", "pattern", number)
        if next(refused_patterns([pattern], place), None):
            continue  # told where it was read
        try:
            if not proof.implies(pattern, rule.literals):
                yield _ungated(rule, pattern, place)
        except (re.error, OverflowError, RecursionError) as error:
            yield Problem(place, "R004", f"has the pattern `{pattern}`, which cannot be read: {error}")


def _holds(pattern: str, literal: str) -> bool:
    """Whether the literal can be read in the text of a pattern."""
    return literal.lower() in re.sub(r"\\(.)", r"\1", pattern).lower()


def _ungated(rule: Extractor, pattern: str, place: Place) -> Problem:
    """Blames the literal that no pattern holds, if it is one, else the pattern."""
    texts = proof.needles(pattern)
    held = f"; all of this one hold `{texts[0]}`" if texts and len(texts) == 1 else ""
    remedy = "every match must hold one of the rule's literals" + held
    for number, literal in enumerate(rule.literals):
        if not any(_holds(other, literal) for other in rule.patterns):
            message = f"has the literal `{literal}`, and the pattern `{pattern}` does not imply it"
            return Problem(rule.info.at("extract", "literals", number), "R005", message, remedy)
    return Problem(place, "R005", f"has literals that the pattern `{pattern}` does not imply", remedy)


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
        yield Problem(first.at("relation"), "R014", message, "give one of them `order: earlier`")


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
