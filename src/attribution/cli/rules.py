"""`attribution rules list|check|lock`: what is in the catalog, whether it holds, and what it did when it was meant."""

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from attribution.cli.catalog import SHIPPED, load_rules
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.diagnosis.exercise import loosenings
from attribution.diagnosis.lint import lint
from attribution.rules.codes import CODES
from attribution.rules.loader import LOCK_NAME, shown_path
from attribution.rules.lock import renewed
from attribution.rules.model import Extractor, MetricExtractor, Rule, emitted_by


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in (
        ("list", "list the rules"),
        ("check", "load every rule and run every case"),
        ("lock", "write down what the rules do, so that a change of it shows"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("--rules", type=Path, action="append", default=[], metavar="DIR", help="your own rules")
        if name != "lock":
            action.add_argument("--format", choices=("text", "json"), default="text")
        if name == "check":
            text = "also tell which pieces of patterns no case needs"
            action.add_argument("--loosening", action="store_true", help=text)


def run(options: argparse.Namespace) -> int:
    """Run the action that was asked for."""
    if options.action == "list":
        return _list(load_rules(options.rules).catalog.rules, options.format)
    if options.action == "lock":
        return _lock(options.rules)
    return _check(options)


def _check(options: argparse.Namespace) -> int:
    """0 if nothing is wrong, else 1. Advice is told and is nothing wrong."""
    started = time.perf_counter()
    rules = load_rules(options.rules, fresh=True)
    catalog = rules.catalog
    problems = sorted(lint(rules, [SHIPPED, *options.rules]))
    advice = sorted(loosenings(catalog)) if options.loosening else []
    seconds = time.perf_counter() - started
    if options.format == "json":
        print(json.dumps([asdict(problem) for problem in [*problems, *advice]], indent=2))
    else:
        for problem in [*problems, *advice]:
            print(problem)
        cases = sum(len(rule.info.cases) for rule in catalog.rules)
        patterns = sum(pattern_count(rule) for rule in catalog.rules)
        found = f"{len(problems)} wrong" if problems else f"{cases} cases hold"
        print(f"{len(catalog.rules)} rules, {patterns} patterns, {len(catalog.symptoms)} symptoms: {found}")
        for code, count in sorted(Counter(problem.code for problem in advice).items()):
            print(f"advice {code}, {count} times: {CODES[code]}")
    print(f"checked in {seconds:.1f} s", file=sys.stderr)
    return 1 if problems else 0


def _lock(folders: list[Path]) -> int:
    """Rewrites the lock files of operators' folders if any are given, else that of the shipped rules."""
    catalog = load_rules(folders, fresh=True).catalog
    for folder in folders or [SHIPPED]:
        text, changes = renewed(catalog, folder)
        path = folder / LOCK_NAME
        try:
            path.write_text(text, "utf-8")
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            raise ConfigurationError(
                [Problem(Place(str(path)), "C001", message, "give a folder of your own")]
            ) from error
        for change in changes:
            print(change)
        print(f"{shown_path(path)}: {f'{len(changes)} changed' if changes else 'nothing changed'}")
    return 0


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
