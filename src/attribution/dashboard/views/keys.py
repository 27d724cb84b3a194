"""The keys of an address that a page understands; whatever else is there is told, never ignored."""

from collections.abc import Iterable, Sequence

from attribution.contracts.errors import nearest
from attribution.contracts.exchange import ProblemItem
from attribution.dashboard.views.query import BadQuery
from attribution.presentation.columns import clip

LONGEST = 200
"""Characters that one value may have."""


def item(key: str, code: str, message: str, remedy: str) -> ProblemItem:
    """One thing that is wrong with a key."""
    shown = clip(key, 60)
    return ProblemItem(place=f"?{shown}", code=code, message=f"`{shown}` {message}", remedy=remedy)


def read_keys(given: Iterable[tuple[str, str]], known: Sequence[str]) -> dict[str, str]:
    """Every known key with its value, empty where it is not set. Raises BadQuery."""
    values: dict[str, str] = {}
    problems = []
    for key, value in given:
        if key not in known:
            remedy = nearest(key, known) or (f"the keys are {', '.join(known)}" if known else "this page has none")
            problems.append(item(key, "unknown-key", "is not a key of this page", remedy))
        elif key in values:
            problems.append(item(key, "twice", "is given twice", "give it once"))
        elif len(value) > LONGEST:
            problems.append(item(key, "too-long", f"has more than {LONGEST} characters", "shorten it"))
        else:
            values[key] = value.strip()
    if problems:
        raise BadQuery(problems)
    return {key: values.get(key, "") for key in known}


def one_of(values: dict[str, str], key: str, known: Iterable[str]) -> str:
    """The value of a key, if it is a known one or not set. Raises BadQuery."""
    value, names = values[key], sorted(known)
    if value and value not in names:
        remedy = nearest(value, names) or f"one of {', '.join(names)}"
        raise BadQuery([item(key, "unknown-value", f"cannot be `{clip(value, 60)}`", remedy)])
    return value
