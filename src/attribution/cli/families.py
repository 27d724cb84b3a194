"""A family of rules shares the letters of its ids; its files stand in one folder."""

import re
from collections.abc import Iterable
from pathlib import Path

from attribution.cli.catalog import SHIPPED
from attribution.contracts.errors import Place
from attribution.rules.model import Rule

OWN_FROM = 900
"""Numbers from here on are for operators' own rules; no shipped rule has one."""

_PACKAGE = SHIPPED.parent


def family_of(rule: Rule) -> str:
    """The letters of a rule's id, such as PYX."""
    return rule.info.id[:-3]


def folder_of(rule: Rule) -> str:
    """The name of the folder that a rule's file stands in, such as `container`."""
    return Path(rule.info.place.file).absolute().parent.name


def shown_file(place: Place) -> str:
    """Where a rule is written: of a shipped one the path within the package, which every machine shares."""
    path = Path(place.file).resolve()
    return path.relative_to(_PACKAGE.parent).as_posix() if path.is_relative_to(_PACKAGE) else place.file


FAMILY = re.compile(r"[A-Za-z0-9_-]+")
"""The words that may name a family."""


def family_named(word: str, known: Iterable[str]) -> str:
    """The family that a word stands for: one of the known ones (`pyxis` is PYX), else its own letters."""
    letters = re.sub(r"[^A-Z0-9]", "", word.upper()).lstrip("0123456789")
    fitting = [name for name in known if letters.startswith(name) or name.startswith(letters)]
    return max(fitting, key=lambda name: (name == letters, len(name), name)) if letters and fitting else letters[:5]


def next_id(family: str, taken: Iterable[str], *, own: bool) -> str | None:
    """The first number of a family that is above all taken ones, else the first that is free, else None.

    An operator's are those from OWN_FROM on, ours those below.
    """
    numbers = range(OWN_FROM, 1000) if own else range(1, OWN_FROM)
    used = {int(name[-3:]) for name in taken if name[:-3] == family} & set(numbers)
    after = range(max(used, default=numbers.start - 1) + 1, numbers.stop)
    number = next((n for n in (*after, *numbers) if n not in used), None)
    return None if number is None else f"{family}{number:03}"
