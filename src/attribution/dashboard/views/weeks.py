"""How often something was seen in each of the last weeks: a strip of bars, and the same as a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WEEKS = 12
"""Weeks that are shown, the running one last."""

BAR, GAP, HEIGHT = 22, 4, 48
"""Sizes within the strip, in its own units."""

_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Week:
    """One week: its first day, how many attempts, and where its bar stands in the strip."""

    first_day: str
    attempts: int
    x: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Strip:
    """All weeks, and the size of the strip."""

    weeks: tuple[Week, ...]
    width: int
    height: int
    total: int
    most: int


def begin(now: datetime) -> datetime:
    """The first moment of the first week that is shown. Weeks end with the day of `now`."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1) - WEEKS * _WEEK


def strip(times: Iterable[datetime], now: datetime) -> Strip:
    """The times by week; those before the first week are left out."""
    first = begin(now)
    counts = [0] * WEEKS
    for at in times:
        place = (at - first) // _WEEK
        if 0 <= place < WEEKS:
            counts[place] += 1
    most = max(counts)
    weeks = tuple(_week(first, place, count, most) for place, count in enumerate(counts))
    return Strip(weeks, WEEKS * (BAR + GAP) - GAP, HEIGHT, sum(counts), most)


def _week(first: datetime, place: int, count: int, most: int) -> Week:
    height = max(2, round(HEIGHT * count / most)) if count else 0
    return Week((first + place * _WEEK).date().isoformat(), count, place * (BAR + GAP), HEIGHT - height, height)


def as_json(weeks: Sequence[Week]) -> list[dict[str, str | int]]:
    """The weeks for programs."""
    return [{"first_day": week.first_day, "attempts": week.attempts} for week in weeks]
