"""`attribution bench accuracy FOLDER...`: how often the diagnosis of labelled attempts is right."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from attribution.accuracy.collection import collect
from attribution.accuracy.figures import Figure
from attribution.accuracy.measure import measure
from attribution.accuracy.report import Measure, as_json, as_text
from attribution.accuracy.requirement import requirements
from attribution.cli.catalog import add_rules_flag, load_rules
from attribution.cli.manual import shown
from attribution.contracts.errors import ConfigurationError, EvidenceError, Place, Problem

HELP = "tell how often the diagnosis of labelled cases and scenarios is right"
_REQUIRE = "--require"
_TENTHS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the action."""
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="labelled case files (*.yaml), or scenarios: folders with truth.yaml beside bundle/; however deep",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to write it (default: text)")
    parser.add_argument(
        "--misses", action="store_true", help="also list each attempt that misses something (JSON does)"
    )
    parser.add_argument(
        _REQUIRE,
        action="append",
        default=[],
        metavar="FIGURE>=SHARE",
        help="exit with 1 unless it holds, such as accepted>=0.95 or harmful<=0; may be repeated. Figures: "
        + ", ".join(figure.value for figure in Figure),
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one per processor)")
    parser.add_argument(
        "--timeout-secs", type=float, default=120.0, metavar="SECS", help="time limit of one attempt (default: 120)"
    )
    add_rules_flag(parser)


def run(options: argparse.Namespace) -> int:
    """Write the measure to stdout, what could not be read and what is not as required to stderr."""
    required = requirements(options.require, _REQUIRE)
    workers = _checked(options)
    load_rules(options.rules)  # before the workers do, so that what is wrong is told once and gates are compiled once
    collection = collect(options.paths)
    verdicts = measure(
        collection.subjects,
        partial(load_rules, tuple(options.rules)),
        workers=workers,
        timeout_secs=options.timeout_secs,
        told=progress(len(collection.subjects)),
    )
    found = Measure(tuple(verdicts))
    if options.format == "json":
        told = as_json(found, broken=collection.broken, unreadable=len(collection.problems))
        print(json.dumps(told, indent=2))
    else:
        print("\n".join(as_text(found, broken=collection.broken, misses=options.misses)))
    missed = [text for one in required if (text := one.broken_by(found.figures()))]
    for text in missed:
        print(f"attribution: {text}", file=sys.stderr)
    return _told(collection.problems) or (1 if missed else 0)


def _told(problems: Sequence[Problem]) -> int:
    """Say which labels could not be read; the others were counted, and the exit code says that some were not."""
    for problem in problems:
        print(f"attribution: {shown(problem)}", file=sys.stderr)
    return EvidenceError.exit_code if problems else 0


def _checked(options: argparse.Namespace) -> int:
    problems = []
    if options.workers is not None and options.workers < 1:
        problems.append(Problem(Place("--workers"), "A004", f"is {options.workers}", "give 1 or more"))
    if not options.timeout_secs > 0:
        problems.append(Problem(Place("--timeout-secs"), "A004", f"is {options.timeout_secs:g}", "give more than 0"))
    if problems:
        raise ConfigurationError(problems)
    return int(options.workers or os.cpu_count() or 1)


def progress(total: int) -> Callable[[int], None]:
    """Tells on stderr of each tenth that is done."""

    def told(done: int) -> None:
        if done == total or done * _TENTHS // total > (done - 1) * _TENTHS // total:
            print(f"attribution: diagnosed {done} of {total}", file=sys.stderr)

    return told
