"""A family of rules shares the letters of its ids; its files stand in one folder."""

import re
from collections.abc import Iterable
from pathlib import Path

import attribution
from attribution.contracts.errors import Place
from attribution.rules.model import Rule

OWN_FROM = 900
"""Numbers from here on are for operators' own rules; no shipped rule has one."""

_PACKAGE = Path(attribution.__file__).resolve().parent


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


def family_named(word: str, known: Iterable[str]) -> str:
    """The family that a word stands for: one of the known ones (`pyxis` is PYX), else its own letters."""
    letters = re.sub(r"[^A-Z0-9]", "", word.upper()).lstrip("0123456789")
    fitting = [name for name in known if letters.startswith(name) or name.startswith(letters)]
    return max(fitting, key=lambda name: (name == letters, len(name), name)) if letters and fitting else letters[:5]


def next_id(family: str, taken: Iterable[str], *, own: bool) -> str:
    """The first number of a family that is above all taken ones: from OWN_FROM for an operator, below it for us."""
    numbers = [int(name[-3:]) for name in taken if name[:-3] == family]
    number = max((n for n in numbers if (n >= OWN_FROM) is own), default=OWN_FROM - 1 if own else 0) + 1
    return f"{family}{number:03}"
