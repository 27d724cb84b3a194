"""`attribution why-not RULE PATH`: which condition of a rule failed on a bundle, and on which line."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from attribution.bundle.evidence import Evidence
from attribution.bundle.reader import open_bundle
from attribution.cli import why_not_judgement, why_not_metric, why_not_relation, why_not_text
from attribution.cli.catalog import add_rules_flag, load_rules
from attribution.contracts.errors import ConfigurationError, Place, Problem, nearest
from attribution.extraction.extract import extract
from attribution.extraction.ruleset import RuleSets
from attribution.rules.model import Extractor, MetricExtractor, Relation, Rule


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
    """Why the rule did not fire, or that it did and what became of it, in lines."""
    extraction = extract(evidence, rules)
    yield f"{rule.info.id} {rule.info.name}"
    if isinstance(rule, Extractor):
        yield from why_not_text.answer(rules, rule, evidence, extraction)
    elif isinstance(rule, MetricExtractor):
        yield from why_not_metric.answer(rules, rule, evidence, extraction)
    elif isinstance(rule, Relation):
        yield from why_not_relation.answer(rules, rule, evidence, extraction)
    else:
        yield from why_not_judgement.answer(rules, rule, evidence, extraction)
