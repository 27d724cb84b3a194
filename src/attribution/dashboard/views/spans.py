"""What a history is asked for: how many days back, and little else; checked as the address of a list is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from attribution.contracts.errors import nearest
from attribution.contracts.exchange import ProblemItem
from attribution.dashboard.views import links
from attribution.dashboard.views.query import LONGEST, BadQuery
from attribution.presentation.columns import clip

SPANS = (7, 30, 90)
"""Days that a page offers."""

DEFAULT_DAYS, MOST_DAYS = 30, 90


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several ways to see the same, with the address that chooses it."""

    word: str
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class SpanQuery:
    """The days, today among them, and the other keys that a page knows, as they stand in its address."""

    days: int
    values: Mapping[str, str]

    def get(self, key: str) -> str:
        """The value of a key, empty if it was not given."""
        return self.values.get(key, "")

    def address(self, path: str, **changes: str | int) -> str:
        """The address that asks for this with some changes, from its first page on."""
        kept = {key: value for key, value in self.values.items() if key != "after"}
        return links.with_query(path, **{**kept, **changes})

    def choices(self, path: str) -> tuple[Choice, ...]:
        """The spans that a page offers."""
        return tuple(Choice(f"{span} days", self.address(path, days=span), span == self.days) for span in SPANS)


def read_span(
    given: Iterable[tuple[str, str]], keys: Iterable[str] = (), words: Mapping[str, Iterable[str]] | None = None
) -> SpanQuery:
    """Check the keys of an address: `days` and `keys`, of which some have only certain `words`. Raises BadQuery."""
    known, problems = ("days", *keys), list[ProblemItem]()
    values: dict[str, str] = {}
    for key, value in given:
        if key not in known:
            remedy = nearest(key, known) or f"the keys are {', '.join(known)}"
            problems.append(_item(key, "unknown-key", "is not a key of this page", remedy))
        elif key in values:
            problems.append(_item(key, "twice", "is given twice", "give it once"))
        elif len(value) > LONGEST:
            problems.append(_item(key, "too-long", f"has more than {LONGEST} characters", "shorten it"))
        elif value.strip():
            values[key] = value.strip()
    for key, allowed in (words or {}).items():
        listed = tuple(allowed)
        if key in values and values[key] not in listed:
            remedy = nearest(values[key], listed) or f"one of {', '.join(listed)}"
            problems.append(_item(key, "unknown-value", f"cannot be `{clip(values[key], 60)}`", remedy))
    days = values.get("days", str(DEFAULT_DAYS))
    if not (days.isascii() and days.isdecimal() and len(days) < 4 and 1 <= int(days) <= MOST_DAYS):
        problems.append(_item("days", "no-days", "is no number of days", f"write 1 to {MOST_DAYS}"))
    if problems:
        raise BadQuery(problems)
    return SpanQuery(int(days), values)


def _item(key: str, code: str, message: str, remedy: str) -> ProblemItem:
    shown = clip(key, 60)
    return ProblemItem(place=f"?{shown}", code=code, message=f"`{shown}` {message}", remedy=remedy)
