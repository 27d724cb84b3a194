"""The manual page of one rule, whatever its kind."""

from collections.abc import Iterator

from attribution.cli.families import shown_file
from attribution.cli.manual import entries, paragraph, quoted, some
from attribution.cli.why_not_metric import condition_text, where_text
from attribution.events.moment import SECOND
from attribution.extraction.conditions import number_text
from attribution.extraction.extract import condition_of
from attribution.rules.model import Catalog, Extractor, Filter, MetricExtractor, Refiner, Relation, Rule, emitted_by

MAX_PATTERNS = 6

SCOPES = {
    "same_gpu": "on the same GPU",
    "same_node": "on the same node",
    "same_nvlink_domain": "in the same NVLink domain",
    "same_communicator": "in the same communicator",
    "job": "anywhere in the job",
}
ORDERS = {
    "not_later": "unless the cause provably came later",
    "earlier": "only where the cause provably came first",
    "any": "whatever came first",
}


def rule_page(catalog: Catalog, rule: Rule) -> Iterator[str]:
    """The lines of the page."""
    info = rule.info
    yield f"{info.id} {info.name}  ({info.kind}, {info.status}, since {info.since})"
    yield from paragraph("", info.summary)
    for heading, text in (("Why", info.why), ("Misses", info.misses), ("Next step", info.next_step)):
        yield from paragraph(heading, text)
    if info.printed_by:
        printed = info.printed_by
        yield from paragraph("Printed by", f"{printed.program} {printed.versions} ({printed.source})")
    yield from _conditions(catalog, rule)
    symptoms = [catalog.symptoms[name] for name in emitted_by(rule) if name in catalog.symptoms]
    yield from entries("Emits", ((symptom.name, symptom.meaning) for symptom in symptoms[:12]))
    if len(symptoms) > 12:
        yield f"  and {len(symptoms) - 12} more"
    yield from _cases(rule)
    yield ""
    yield f"Written in {shown_file(info.place)}"


def _conditions(catalog: Catalog, rule: Rule) -> Iterator[str]:
    """What must hold for the rule to fire."""
    if isinstance(rule, Extractor):
        yield from _text(rule)
    elif isinstance(rule, MetricExtractor):
        yield from paragraph("Reads", ", ".join(source.value for source in rule.extract.sources))
        labels = f" with {where_text(rule.extract.where)}" if rule.extract.where else ""
        yield from paragraph("Series", ", ".join(rule.extract.metric) + labels)
        yield from paragraph("Asks for", condition_text(condition_of(rule.extract.when)))
    elif isinstance(rule, Relation):
        yield from _side(catalog, "Causes", rule.causes)
        yield from _side(catalog, "Explain", rule.effects)
        yield from paragraph("Holds", "; ".join(relation_terms(rule)))
        yield from paragraph("Reason given", rule.reason)
    elif isinstance(rule, Filter | Refiner):
        yield from paragraph("Stage", rule.stage.name + _priority(rule))
        yield from paragraph("Needs", " and ".join(rule.needs))


def relation_terms(rule: Relation) -> Iterator[str]:
    """Scope, order and distance of a relation in words."""
    yield SCOPES[rule.scope]
    yield ORDERS[rule.order]
    if rule.within_us is not None:
        yield f"at most {number_text(rule.within_us / SECOND)} s apart"


def _priority(rule: Filter | Refiner) -> str:
    return f", priority {rule.priority}" if isinstance(rule, Refiner) and rule.priority else ""


def _text(rule: Extractor) -> Iterator[str]:
    yield from paragraph("Reads", ", ".join(source.value for source in rule.sources))
    yield from paragraph("Literals", " or ".join(f"`{literal}`" for literal in rule.literals))
    yield ""
    yield "Pattern:" if len(rule.patterns) == 1 else "Patterns, any of:"
    yield from (f"    {pattern}" for pattern in rule.patterns[:MAX_PATTERNS])
    if len(rule.patterns) > MAX_PATTERNS:
        yield f"    and {len(rule.patterns) - MAX_PATTERNS} more"
    if rule.follow_pattern:
        yield f"  and of {_following(rule)}: {rule.follow_pattern}"
    elif rule.traceback:
        yield "  with the traceback that follows, up to the exception"
    elif rule.follow_lines:
        yield f"  with {_following(rule)}"
    if rule.generic:
        yield from paragraph("Gives way", "to any other finding on the same lines")


def _following(rule: Extractor) -> str:
    return "the line after it" if rule.follow_lines == 1 else f"the {rule.follow_lines} lines after it"


def _side(catalog: Catalog, heading: str, names: tuple[str, ...]) -> Iterator[str]:
    yield from entries(heading, ((name, _meaning(catalog, name)) for name in names))


def _meaning(catalog: Catalog, name: str) -> str:
    tag = name.removeprefix("tag:")
    if tag != name:
        return f"{catalog.tag_meanings.get(tag, '')} ({some(catalog.tags.get(tag, ()), shown=4)})"
    return catalog.symptoms[name].meaning if name in catalog.symptoms else ""


def _cases(rule: Rule) -> Iterator[str]:
    fires = next((case for case in rule.info.cases if not case.negative), None)
    quiet = next((case for case in rule.info.cases if case.negative), None)
    if fires:
        yield ""
        yield f"Fires on: {fires.name}"
        yield from quoted(fires.given)
    if quiet:
        yield ""
        yield f"Must not fire on: {quiet.name} ({quiet.because})"
        yield from quoted(quiet.given)
