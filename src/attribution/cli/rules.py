"""`attribution rules list|check|new|diff`: what is in the catalog, whether every case holds, and how it grows."""

import argparse
import sys
import time
from pathlib import Path

from attribution.cli import rules_diff, rules_list, rules_new
from attribution.cli.catalog import add_rules_flag, load_rules
from attribution.contracts.errors import ConfigurationError
from attribution.diagnosis.verify import verify
from attribution.extraction.price import dear_literals
from attribution.rules.model import Extractor, MetricExtractor, Rule

_ACTIONS = {"list": rules_list, "new": rules_new, "diff": rules_diff}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help=(text := "load every rule and run every case"), description=_said(text))
    check.add_argument(
        "paths", type=Path, nargs="*", metavar="PATH", help="a folder of your own rules, or one rule file"
    )
    add_rules_flag(check)
    for name, module in _ACTIONS.items():
        action = actions.add_parser(name, help=module.HELP, description=_said(module.HELP))
        module.add_arguments(action)


def _said(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def run(options: argparse.Namespace) -> int:
    """Run the action that was asked for."""
    return check(options) if options.action == "check" else _ACTIONS[options.action].run(options)


def check(options: argparse.Namespace) -> int:
    """Load the shipped rules and those that were named, and run every case."""
    rules = load_rules([*options.rules, *options.paths])
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
