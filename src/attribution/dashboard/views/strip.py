"""Days side by side as a drawing: a lane of bars for each thing that is counted, and the same numbers as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from attribution.store.histories import DayLine

WIDTH, LEFT, GAP, LANE, HEAD = 960, 84, 2, 28, 8
"""Sizes in the units of the drawing: all of it, the labels, the gap behind a day, a lane, what is free above bars."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One day of a lane."""

    x: int
    y: int
    width: int
    height: int
    said: str


@dataclass(frozen=True, slots=True)
class Lane:
    """What is counted, each day that has any of it, and the tone of its bars."""

    label: str
    tone: str
    y: int
    most: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """A date below the days."""

    x: int
    text: str


@dataclass(frozen=True, slots=True)
class Strip:
    """The drawing, its sentence for who does not see it, and its rows as a table."""

    width: int
    height: int
    foot: int
    said: str
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    rows: tuple[tuple[str, str, str, str], ...]


LANES = (("root here", "bad", 1), ("set aside", "warn", 2), ("attempts", "dim", 0))


def strip(
    lines: Sequence[DayLine], since: datetime, span: int, attempts: str = "attempts", aside: str = "findings"
) -> Strip:
    """So many days from the first; a lane is as high as its fullest day, whose number stands beside it."""
    numbers = {(line.day - since).days: (line.attempts, line.causes, line.aside) for line in lines}
    column = (WIDTH - LEFT) // span
    lanes = []
    for place, (label, tone, index) in enumerate(LANES):
        counted = {day: held[index] for day, held in numbers.items() if held[index]}
        noun = attempts if index == 0 else label
        y, most = place * LANE, max(counted.values(), default=0)
        bars = tuple(
            _bar(day, number / most, y, column, f"{since + timedelta(days=day):%Y-%m-%d}: {number:,} {noun}")
            for day, number in sorted(counted.items())
        )
        lanes.append(Lane(noun, tone, y + LANE, f"{most:,}", bars))
    foot = LANE * len(LANES)
    return Strip(
        width=WIDTH,
        height=foot + 16,
        foot=foot,
        said=_said(lines, span, attempts, aside),
        lanes=tuple(lanes),
        ticks=tuple(_ticks(since, span, column)),
        rows=tuple((f"{x.day:%Y-%m-%d}", f"{x.causes:,}", f"{x.aside:,}", f"{x.attempts:,}") for x in reversed(lines)),
    )


def _bar(day: int, share: float, y: int, column: int, said: str) -> Bar:
    height = max(2, round((LANE - HEAD) * share))
    return Bar(LEFT + day * column, y + LANE - height, column - GAP, height, said)


def _ticks(since: datetime, span: int, column: int) -> list[Tick]:
    step = 1 if span <= 7 else 7 if span <= 31 else 14
    return [Tick(LEFT + day * column, f"{since + timedelta(days=day):%m-%d}") for day in range(0, span, step)]


def _said(lines: Sequence[DayLine], span: int, attempts: str, aside: str) -> str:
    total, causes, left = (sum(getattr(line, name) for line in lines) for name in ("attempts", "causes", "aside"))
    return f"{span} days: {total:,} {attempts}; {causes:,} with a root here, {left:,} with {aside} that were set aside."
