"""`attribution rules lock`: what the rules do is written down, so that a later change of it shows."""

import argparse
from pathlib import Path

from attribution.cli.catalog import SHIPPED, load_rules
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.rules.loader import LOCK_NAME, shown_path
from attribution.rules.lock import renewed

HELP = "write down what the rules do, so that a change of it shows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the action."""
    parser.add_argument(
        "--rules",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of your own rules; may be repeated (default: the shipped rules)",
    )


def run(options: argparse.Namespace) -> int:
    """Rewrite the lock files of the folders that are given, else that of the shipped rules."""
    catalog = load_rules(options.rules, fresh=True).catalog
    for folder in options.rules or [SHIPPED]:
        text, changes = renewed(catalog, folder)
        path = folder / LOCK_NAME
        try:
            path.write_text(text, "utf-8")
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            problem = Problem(Place(str(path)), "C005", message, "give a folder of your own")
            raise ConfigurationError([problem]) from error
        for change in changes:
            print(change)
        print(f"{shown_path(path)}: {f'{len(changes)} changed' if changes else 'nothing changed'}")
    return 0
