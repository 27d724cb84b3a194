"""How close a series came to a condition that does not hold in it."""

import math
from dataclasses import dataclass
from itertools import pairwise

from attribution.events.moment import SECOND
from attribution.extraction.conditions import Blank, Condition, Increase, blanks, stretches
from attribution.extraction.series import Series


@dataclass(frozen=True, slots=True)
class Near:
    """The best that a series has to show for a condition.

    `value` is the sample nearest to a level, or the rise of a counter, or the last value before a silence; `at_us` is
    its time. `held_us` is how long a level that was reached lasted, or a silence; None where it was never reached.
    """

    value: float
    at_us: int
    held_us: int | None = None


def closest(condition: Condition, series: Series, neighbours: tuple[Series, ...] = ()) -> Near | None:
    """The nearest that `series` came, or None where it has no sample to show. `neighbours` as for `find`."""
    readings = [(s.us, s.value) for s in series.samples if s.value is not None]
    if isinstance(condition, Increase):
        readings = [(us, value) for us, value in readings if math.isfinite(value)]
    if not readings:
        return None
    if isinstance(condition, Increase):
        risen, at_us = 0.0, readings[-1][0]
        for (_, was), (us, now) in pairwise(readings):
            step = max(now - was if now >= was else now, 0.0)
            risen, at_us = risen + step, us if step else at_us
        return Near(risen, at_us)
    if isinstance(condition, Blank):
        spans = blanks(Blank(0), series, neighbours)
        longest = max(spans, key=lambda span: (span.samples[-1].us - span.at_us, -span.at_us), default=None)
        if longest is None:
            return Near(readings[-1][1], readings[-1][0])
        silent = [sample.us for sample in longest.samples if sample.value is None]
        return Near(float(longest.value), longest.at_us, silent[-1] - silent[0])
    values = [value for _, value in readings]
    held = [(readings[last][0] - readings[first][0], -first) for first, last in stretches(condition, values)]
    if held:
        lasted, first = max(held)
        return Near(values[-first], readings[-first][0], lasted)
    us, value = min(readings, key=lambda reading: (abs(reading[1] - condition.value), reading[0]))
    return Near(value, us)


def distance(condition: Condition, near: Near) -> tuple[bool, float]:
    """How far a series stayed from a condition, to compare series by: those that reached the level come first."""
    if isinstance(condition, Increase):
        return False, condition.by - near.value
    if near.held_us is not None:
        return False, condition.for_secs - near.held_us / SECOND
    return True, 0.0 if isinstance(condition, Blank) else abs(near.value - condition.value)
