"""`attribution diagnose PATH`: the diagnosis of one attempt's evidence."""

import argparse
import sys
from pathlib import Path

from attribution.bundle.reader import open_bundle
from attribution.cli.catalog import add_rules_flag, load_rules
from attribution.contracts.diagnosis import Diagnosis
from attribution.diagnosis.engine import diagnose

FORMATS = ("text", "json", "md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.add_argument("path", type=Path, help="an evidence bundle: a folder, an archive or a single log file")
    parser.add_argument(
        "--context", type=Path, metavar="FILE", help="the execution context, if it is not in the bundle"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="how to write the answer (default: text)")
    parser.add_argument("--verbose", action="store_true", help="also show what was set aside, coverage and the trace")
    parser.add_argument("--width", type=int, metavar="COLUMNS", help="columns of the text (default: the terminal's)")
    add_rules_flag(parser)
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="SUB_DOMAIN",
        help="exit with 1 if the answer is this sub_domain, such as insufficient_evidence; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    """Write the diagnosis to stdout."""
    _check_fail_on(options.fail_on)
    rules = load_rules(options.rules)
    with open_bundle(options.path, options.context) as evidence:
        diagnosis = diagnose(evidence, rules)
    sys.stdout.buffer.write(rendered(diagnosis, options).encode("utf-8", "replace"))
    return 1 if diagnosis.sub_domain in options.fail_on else 0


def rendered(diagnosis: Diagnosis, options: argparse.Namespace) -> str:
    """The diagnosis in the form that was asked for."""
    if options.format == "json":
        return diagnosis.to_json().decode()
    if options.format == "md":
        from attribution.presentation import markdown

        return markdown.render(diagnosis)
    from attribution.presentation import text
    from attribution.presentation.terminal import columns, takes_color

    color = takes_color(sys.stdout)
    return text.render(diagnosis, width=columns(options.width), color=color, verbose=options.verbose)


def _check_fail_on(names: list[str]) -> None:
    from attribution.contracts.errors import ConfigurationError, Place, Problem, nearest
    from attribution.contracts.vocabulary import SubDomain

    known = [sub_domain.value for sub_domain in SubDomain]
    wrong = [name for name in names if name not in known]
    if wrong:
        remedies = {name: nearest(name, known) or "one of: " + ", ".join(known) for name in wrong}
        place = Place("--fail-on")
        raise ConfigurationError([Problem(place, "C002", f"knows no sub_domain `{n}`", remedies[n]) for n in wrong])
