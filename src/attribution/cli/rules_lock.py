"""`attribution rules lock`: what the rules do is written down, so that a later change of it shows."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from attribution.cli.catalog import SHIPPED, load_rules, own_folders
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.presentation.columns import visible
from attribution.rules.loader import LOCK_NAME, shown_path
from attribution.rules.lock import renewed

HELP = "write down what the rules of a folder do, so that a change of it shows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the action."""
    parser.add_argument("paths", type=Path, nargs="*", metavar="DIR", help="a folder of your own rules")
    parser.add_argument(
        "--rules", type=Path, action="append", default=[], metavar="DIR", help="the same; may be repeated"
    )
    parser.add_argument("--shipped", action="store_true", help="the rules that come with the product")


def run(options: argparse.Namespace) -> int:
    """Rewrite the lock files of the folders that are given."""
    own = [*options.rules, *options.paths]
    folders = [*([SHIPPED] if options.shipped else []), *own]
    if not folders:
        remedy = "give a folder of your own rules, or --shipped"
        raise ConfigurationError([Problem(Place("rules lock"), "C001", "is given no folder of rules", remedy)])
    problems = list(_no_whole_folders(folders, [SHIPPED, *own_folders(own)]))
    if problems:
        raise ConfigurationError(problems)
    catalog = load_rules(own, fresh=True).catalog
    texts = [(folder / LOCK_NAME, *renewed(catalog, folder)) for folder in folders]
    for path, text, changes in texts:
        _write(path, text)
        for change in changes:
            print(change)
        count = f"{len(changes)} changed" if changes else "nothing changed"
        print(f"{visible(shown_path(path))}: {count}")
    return 0


def _no_whole_folders(folders: Sequence[Path], loaded: Sequence[Path]) -> Iterator[Problem]:
    """What has no lock file of its own: a single file, or a folder whose rules are those of the folder around it."""
    for folder in folders:
        if not folder.is_dir():
            yield Problem(
                Place(str(folder)), "C001", "is one file, and lock files are those of folders", "give its folder"
            )
        for outer in (*loaded, *folders):
            if outer.resolve() in folder.resolve().parents:
                message = f"lies in another folder of rules, {shown_path(outer)}"
                yield Problem(
                    Place(str(folder)), "C001", message, "give that one: its lock file holds all of its rules"
                )
                break


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        problem = Problem(Place(str(path)), "C005", message, "give a folder of your own")
        raise ConfigurationError([problem]) from error
