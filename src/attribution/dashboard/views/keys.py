"""The keys of an address that a page understands; whatever else is there is told, never ignored."""

from collections.abc import Iterable, Mapping, Sequence

from attribution.contracts.errors import nearest
from attribution.contracts.exchange import ProblemItem
from attribution.presentation.columns import clip

LONGEST = 200
"""Characters that one value may have."""

FEW_VALUES = 5
"""So few values of a key are named all; of more, the one that is most like what was written."""


class BadQuery(Exception):
    """The address asks for what there is not. `items` name each key and a remedy."""

    def __init__(self, items: Iterable[ProblemItem]) -> None:
        self.items = tuple(items)
        super().__init__("; ".join(item.message for item in self.items))


def item(key: str, code: str, message: str, remedy: str) -> ProblemItem:
    """One thing that is wrong with a key."""
    shown = clip(key, 60)
    return ProblemItem(place=f"?{shown}", code=code, message=f"`{shown}` {message}", remedy=remedy)


def gather(given: Iterable[tuple[str, str]], known: Sequence[str]) -> tuple[dict[str, str], list[ProblemItem]]:
    """The known keys that are given, each with its value, and what is wrong with the others."""
    values: dict[str, str] = {}
    problems = []
    for key, value in given:
        if key not in known:
            all_of_them = f"the keys are {', '.join(known)}" if known else "this page has none"
            problems.append(item(key, "unknown-key", "is not a key of this page", nearest(key, known) or all_of_them))
        elif key in values:
            problems.append(item(key, "twice", "is given twice", "give it once"))
        elif len(value) > LONGEST:
            problems.append(item(key, "too-long", f"has more than {LONGEST} characters", "shorten it"))
        else:
            values[key] = value.strip()
    return values, problems


def pick(values: Mapping[str, str], key: str, allowed: Iterable[str], problems: list[ProblemItem]) -> str:
    """The value of a key if it is one of those; empty if it is not set, or none of them, which is a problem."""
    value, names = values.get(key, ""), list(allowed)
    if not value or value in names:
        return value
    guess = "" if len(names) <= FEW_VALUES else nearest(value, names)
    remedy = guess or f"it is one of {', '.join(names)}"
    problems.append(item(key, "unknown-value", f"cannot be `{clip(value, 60)}`", remedy))
    return ""


def read_keys(given: Iterable[tuple[str, str]], known: Sequence[str]) -> dict[str, str]:
    """Every known key with its value, empty where it is not set. Raises BadQuery."""
    values, problems = gather(given, known)
    if problems:
        raise BadQuery(problems)
    return {key: values.get(key, "") for key in known}


def one_of(values: Mapping[str, str], key: str, known: Iterable[str]) -> str:
    """The value of a key, if it is a known one or not set. Raises BadQuery."""
    problems: list[ProblemItem] = []
    value = pick(values, key, known, problems)
    if problems:
        raise BadQuery(problems)
    return value
