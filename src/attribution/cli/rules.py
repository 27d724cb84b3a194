"""`attribution rules list|check`: what is in the catalog, and whether every case holds."""

import argparse
import json
import sys
import time
from pathlib import Path

from attribution.cli.catalog import load_rules
from attribution.contracts.errors import ConfigurationError
from attribution.diagnosis.verify import verify
from attribution.extraction.price import dear_literals
from attribution.rules.model import Extractor, MetricExtractor, Rule, emitted_by


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in (("list", "list the rules"), ("check", "load every rule and run every case")):
        action = actions.add_parser(name, help=text)
        action.add_argument("--rules", type=Path, action="append", default=[], metavar="DIR", help="your own rules")
        action.add_argument("--format", choices=("text", "json"), default="text")


def run(options: argparse.Namespace) -> int:
    """Run the action that was asked for."""
    rules = load_rules(options.rules)
    if options.action == "list":
        return _list(rules.catalog.rules, options.format)
    started = time.perf_counter()
    dear = tuple(dear_literals(rules))
    if dear:
        raise ConfigurationError(dear)
    failures = verify(rules)
    seconds = time.perf_counter() - started
    cases = sum(len(rule.info.cases) for rule in rules.catalog.rules)
    for failure in failures:
        print(failure)
    found = f"{len(failures)} of {cases} cases fail" if failures else f"{cases} cases hold"
    patterns = sum(pattern_count(rule) for rule in rules.catalog.rules)
    print(f"{len(rules.catalog.rules)} rules, {patterns} patterns, {len(rules.catalog.symptoms)} symptoms: {found}")
    print(f"checked in {seconds:.1f} s", file=sys.stderr)
    return 1 if failures else 0


def pattern_count(rule: Rule) -> int:
    """How many patterns or metric conditions a rule brings."""
    if isinstance(rule, Extractor):
        return len(rule.patterns)
    return 1 if isinstance(rule, MetricExtractor) else 0


def _list(rules: tuple[Rule, ...], form: str) -> int:
    if form == "json":
        rows = [
            {
                "id": rule.info.id,
                "name": rule.info.name,
                "kind": rule.info.kind,
                "status": rule.info.status,
                "emits": emitted_by(rule),
                "summary": rule.info.summary,
            }
            for rule in rules
        ]
        print(json.dumps(rows, indent=2))
        return 0
    width = max((len(rule.info.name) for rule in rules), default=0)
    for rule in rules:
        print(f"{rule.info.id:9} {rule.info.kind:9} {rule.info.name:{width}}  {rule.info.summary}")
    return 0
