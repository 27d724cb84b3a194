"""`attribution rules check`: every rule is loaded, every case run, and everything that is wrong is told."""

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from attribution.cli.catalog import SHIPPED, add_rules_flag, load_rules, own_folders
from attribution.cli.manual import shown
from attribution.contracts.error_codes import CODES
from attribution.diagnosis.exercise import loosenings
from attribution.diagnosis.lint import lint
from attribution.rules.model import Extractor, MetricExtractor, Rule

HELP = "load every rule and run every case"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the action."""
    parser.add_argument(
        "paths", type=Path, nargs="*", metavar="PATH", help="a folder of your own rules, or one rule file"
    )
    add_rules_flag(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to write it (default: text)")
    parser.add_argument("--loosening", action="store_true", help="also tell which pieces of patterns no case needs")


def run(options: argparse.Namespace) -> int:
    """0 if nothing is wrong, else 1. Advice is told and is nothing wrong."""
    started = time.perf_counter()
    folders = [*options.rules, *options.paths]
    rules = load_rules(folders, fresh=True)
    catalog = rules.catalog
    problems = sorted(lint(rules, [SHIPPED, *own_folders(folders)]))
    advice = sorted(loosenings(catalog)) if options.loosening else []
    seconds = time.perf_counter() - started
    if options.format == "json":
        print(json.dumps([asdict(problem) for problem in [*problems, *advice]], indent=2))
    else:
        for problem in [*problems, *advice]:
            print(shown(problem))
        cases = sum(len(rule.info.cases) for rule in catalog.rules)
        patterns = sum(pattern_count(rule) for rule in catalog.rules)
        found = f"{len(problems)} wrong" if problems else f"{cases} cases hold"
        print(f"{len(catalog.rules)} rules, {patterns} patterns, {len(catalog.symptoms)} symptoms: {found}")
        for code, count in sorted(Counter(problem.code for problem in advice).items()):
            print(f"advice {code}, {count} times: {CODES[code][0]}")
    print(f"checked in {seconds:.1f} s", file=sys.stderr)
    return 1 if problems else 0


def pattern_count(rule: Rule) -> int:
    """How many patterns or metric conditions a rule brings."""
    if isinstance(rule, Extractor):
        return len(rule.patterns)
    return 1 if isinstance(rule, MetricExtractor) else 0
