"""`attribution why-not RULE PATH`: which condition of a rule failed on a bundle, and on which line."""

import argparse
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from attribution.bundle.evidence import Evidence
from attribution.bundle.reader import open_bundle
from attribution.cli.catalog import add_rules_flag, load_rules
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.errors import ConfigurationError, Place, Problem, nearest
from attribution.diagnosis.engine import conclude
from attribution.events.event import Event
from attribution.extraction.extract import Extraction, extract
from attribution.extraction.ruleset import RuleSets
from attribution.rules.api import Finding, Match, expand
from attribution.rules.model import Catalog, Extractor, Filter, MetricExtractor, Refiner, Relation, Rule

MAX_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.add_argument("rule", help="the id or name of a rule")
    parser.add_argument("path", type=Path, help="an evidence bundle: a folder, an archive or a single log file")
    parser.add_argument(
        "--context", type=Path, metavar="FILE", help="the execution context, if it is not in the bundle"
    )
    add_rules_flag(parser)


def run(options: argparse.Namespace) -> int:
    """Write what was found to stdout."""
    rules = load_rules(options.rules)
    rule = rules.catalog.rule(options.rule)
    if rule is None:
        known = [name for r in rules.catalog.rules for name in (r.info.id, r.info.name)]
        remedy = nearest(options.rule, known) or "see: attribution rules list"
        raise ConfigurationError([Problem(Place("why-not"), "C003", f"knows no rule `{options.rule}`", remedy)])
    with open_bundle(options.path, options.context) as evidence:
        print("\n".join(answer(rules, rule, evidence)))
    return 0


def answer(rules: RuleSets, rule: Rule, evidence: Evidence) -> Iterator[str]:
    """Why the rule did not fire, or that it did, in lines."""
    extraction = extract(evidence, rules)
    yield f"{rule.info.id} {rule.info.name}"
    if isinstance(rule, Extractor):
        yield from _extractor(rules, rule, evidence, extraction)
    elif isinstance(rule, MetricExtractor):
        yield from _metric(rule, evidence, extraction)
    else:
        yield from _judgement(rules, rule, evidence, extraction)


def _extractor(rules: RuleSets, rule: Extractor, evidence: Evidence, extraction: Extraction) -> Iterator[str]:
    found = [event for event in extraction.events if event.rule == rule.info.id]
    if found:
        yield f"  It fired on {len(found)} lines; the first: {_shown(found[0])}"
        yield from _set_aside(conclude(evidence, extraction, rules), {event.symptom for event in found})
        return
    streams = [stream for stream in evidence.streams if stream.key.source in rule.sources]
    if not streams:
        names = ", ".join(source.value for source in rule.sources)
        yield f"  No evidence of a source that it reads: {names}."
        return
    near = extract(evidence, _literals_only(rules.catalog, rule)).events
    if not near:
        quoted = " or ".join(f"`{literal}`" for literal in rule.literals)
        yield f"  None of {len(streams)} streams holds a line with {quoted}."
        return
    yield f"  {len(near)} lines hold one of its literals, but none matches its pattern:"
    yield from (f"    {_shown(event)}" for event in near[:MAX_SHOWN])
    if len(near) > MAX_SHOWN:
        yield f"    and {len(near) - MAX_SHOWN} more"
    yield "  pattern:"
    yield from (f"    {pattern}" for pattern in rule.patterns)
    if rule.follow_pattern:
        yield f"  and the lines after it must match: {rule.follow_pattern}"


def _literals_only(catalog: Catalog, rule: Extractor) -> RuleSets:
    """A catalog of this one rule, loosened so that a literal is enough."""

    def find(_match: Match) -> Iterable[Finding]:
        yield Finding(rule.emits[0])

    pattern = "|".join(re.escape(literal) for literal in rule.literals)
    loose = replace(rule, patterns=(pattern,), find=find, follow_lines=0, follow_pattern=None, traceback=False)
    return RuleSets(replace(catalog, extractors=(loose,), metrics=(), relations=(), filters=(), refiners=()))


def _metric(rule: MetricExtractor, evidence: Evidence, extraction: Extraction) -> Iterator[str]:
    found = [event for event in extraction.events if event.rule == rule.info.id]
    if found:
        yield f"  It fired on {len(found)} spans; the first: {_shown(found[0])}"
        return
    streams = [stream for stream in evidence.streams if stream.key.source in rule.extract.sources]
    names = ", ".join(rule.extract.metric)
    if not streams:
        yield f"  No metrics in the evidence; it reads {names}."
        return
    yield f"  No series of {names} meets its condition in {len(streams)} streams:"
    yield f"    {rule.extract.when.model_dump_json(exclude_none=True, exclude_defaults=True)}"


def _judgement(
    rules: RuleSets, rule: Relation | Filter | Refiner, evidence: Evidence, extraction: Extraction
) -> Iterator[str]:
    diagnosis = conclude(evidence, extraction, rules)
    taken = [entry for entry in diagnosis.trace if entry.rule == rule.info.id]
    fired = [entry for entry in taken if entry.outcome == "fired"]
    if fired:
        yield f"  It decided {sum(entry.count for entry in fired)} times:"
        for entry in fired[:MAX_SHOWN]:
            yield f"    {entry.decision} {entry.symptom or 'the job'} on {entry.node or 'no node'}: {entry.reason}"
        return
    present = {symptom.symptom for symptom in diagnosis.symptoms}
    needs = [rule.causes, rule.effects] if isinstance(rule, Relation) else [(need,) for need in rule.needs]
    missing = [group for group in needs if not present & set(expand(group, rules.catalog.tags))]
    for group in missing:
        yield f"  Needs {' or '.join(group)}, and the evidence shows none."
    for entry in taken:
        yield f"  {entry.outcome}: {entry.reason}" if entry.reason else f"  {entry.outcome}"
    if not missing and not taken:
        yield "  What it needs is there, but its scope, order or distance does not hold, or another rule decided first."


def _set_aside(diagnosis: Diagnosis, names: set[str]) -> Iterator[str]:
    for symptom in diagnosis.symptoms:
        if symptom.symptom in names and symptom.demoted_by:
            by = symptom.demoted_by
            yield f"  {symptom.symptom} on {symptom.node or 'no node'} was set aside by {by.rule}: {by.reason}"


def _shown(event: Event) -> str:
    return f"{event.key.stream or event.key.source.value}:{event.line}  {event.text[:160]}"
