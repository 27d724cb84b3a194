"""A condition is a question to one series; its answer is where it holds, as spans."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from attribution.events.event import Sample
from attribution.events.moment import SECOND
from attribution.extraction.series import Labels, Series
from attribution.presentation import words

PASSING_LABELS = frozenset(
    {
        "pod", "namespace", "container", "pod_uid", "exported_pod", "exported_namespace", "exported_container",
        "hpc_job", "err_code", "err_msg",
    }
)  # fmt: skip
"""Labels that come and go while the thing measured stays: whom a GPU serves, and what the last error was."""

_AROUND = 3


@dataclass(frozen=True, slots=True)
class Increase:
    """A counter rose by at least `by`. Where it drops it was restarted: the value after the drop counts from 0.

    One span a rise: `at_us` is the first sample by which the counter had risen by `by`, `width_us` reaches back to the
    last sample before that rise, and `value` is the rise up to where the counter rests. A slow climb is one rise once
    it adds up to `by`. A series that begins above 0 has not risen by that; blank and infinite samples are stepped over.
    """

    by: float = 1

    def __post_init__(self) -> None:
        if not self.by > 0:
            raise ValueError("`by` must be above 0")


@dataclass(frozen=True, slots=True)
class Above:
    """A series stayed above `value` (not at it) for `for_secs` from the first to the last of its samples that are.

    One span a run: `at_us` is the first such sample, `value` the largest. Blank samples are stepped over.
    """

    value: float
    for_secs: float = 0

    def __post_init__(self) -> None:
        _check_duration(self.for_secs)

    def holds(self, value: float) -> bool:
        """Whether one sample is as it must be."""
        return value > self.value


@dataclass(frozen=True, slots=True)
class Below:
    """A series stayed below `value` (not at it) for `for_secs`: as `Above`, with the smallest for `value`."""

    value: float
    for_secs: float = 0

    def __post_init__(self) -> None:
        _check_duration(self.for_secs)

    def holds(self, value: float) -> bool:
        """Whether one sample is as it must be."""
        return value < self.value


@dataclass(frozen=True, slots=True)
class Equal:
    """A series stayed at exactly `value` for `for_secs`: as `Above`, with `value` for `value`."""

    value: float
    for_secs: float = 0

    def __post_init__(self) -> None:
        _check_duration(self.for_secs)

    def holds(self, value: float) -> bool:
        """Whether one sample is as it must be."""
        return value == self.value


@dataclass(frozen=True, slots=True)
class Blank:
    """A series that had values has none for `for_secs`, while others of the same scrape do.

    One span a gap: `at_us` is the first instant at which another series has a value and this one none, and the last
    such instant of the gap is at least `for_secs` later. `value` is the last that was read. An instant at which the
    whole scrape is silent says nothing. A series does not end where it goes on under other `PASSING_LABELS`.
    """

    for_secs: float

    def __post_init__(self) -> None:
        _check_duration(self.for_secs)


Level = Above | Below | Equal
Condition = Increase | Level | Blank


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of a series over which a condition holds.

    `at_us` is the first instant that shows it; what it shows began up to `width_us` before, after an instant that did
    not show it yet. `open_start` says that the first sample of the series shows it already: it began at an unknown time
    before, and `width_us` is 0. `samples` are the decisive ones and some around them, at most 20; None is a blank.
    """

    at_us: int
    width_us: int
    samples: tuple[Sample, ...]
    value: str
    open_start: bool = False


def find(condition: Condition, series: Series, neighbours: Sequence[Series] = ()) -> tuple[Span, ...]:
    """Where `condition` holds in `series`, earliest first.

    `neighbours` are all series of the same node, whatever their names; only `Blank` looks at them, and picks those of
    the same scrape itself.
    """
    match condition:
        case Increase():
            return increases(condition, series)
        case Blank():
            return blanks(condition, series, neighbours)
        case _:
            return runs(condition, series)


# --- counters -----------------------------------------------------------------------------------------------------


def increases(condition: Increase, series: Series) -> tuple[Span, ...]:
    """The rises of a counter."""
    readings = [(s, s.value) for s in series.samples if s.value is not None and math.isfinite(s.value)]
    samples = [sample for sample, _ in readings]
    steps = (max(now - was if now >= was else now, 0.0) for (_, was), (_, now) in pairwise(readings))
    risen = list(accumulate(steps, initial=0.0))[: len(samples)]
    spans = []
    rest = 0
    for shown in range(1, len(risen)):
        if shown <= rest or risen[shown] - risen[rest] < condition.by:
            continue
        before = next(i for i in range(shown - 1, rest - 1, -1) if risen[shown] - risen[i] >= condition.by)
        rest = shown
        while rest + 1 < len(risen) and risen[rest + 1] > risen[rest]:
            rest += 1
        at_us = samples[shown].us
        rise = risen[rest] - risen[before]
        spans.append(
            Span(at_us, at_us - samples[before].us, _around(samples, before, shown, rest), words.decimal(rise))
        )
    return tuple(spans)


# --- thresholds ---------------------------------------------------------------------------------------------------


def runs(condition: Level, series: Series) -> tuple[Span, ...]:
    """The runs of samples at a level that last long enough."""
    samples = _readable(series)
    values = [s.value for s in samples if s.value is not None]
    sign = -1.0 if isinstance(condition, Below) else 1.0
    spans = []
    for first, last in stretches(condition, values):
        if samples[last].us - samples[first].us >= condition.for_secs * SECOND:
            peak = max(range(first, last + 1), key=lambda at: sign * values[at])
            spans.append(_run(samples, first, peak, last, values[peak]))
    return tuple(spans)


def stretches(condition: Level, values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """First and last index of every stretch of values at a level, however short."""
    first = None
    for index, value in enumerate(values):
        if not condition.holds(value):
            if first is not None:
                yield first, index - 1
            first = None
        elif first is None:
            first = index
    if first is not None:
        yield first, len(values) - 1


def _run(samples: Sequence[Sample], first: int, peak: int, last: int, extreme: float) -> Span:
    at_us = samples[first].us
    width_us = at_us - samples[first - 1].us if first else 0
    return Span(at_us, width_us, _around(samples, first, peak, last), words.decimal(extreme), open_start=not first)


# --- silence ------------------------------------------------------------------------------------------------------


def blanks(condition: Blank, series: Series, neighbours: Sequence[Series]) -> tuple[Span, ...]:
    """The gaps of a series that are no lost scrapes."""
    scrape = [other for other in neighbours if _scrape(other) == _scrape(series)]
    same = [_times(other) for other in scrape if _thing(other) == _thing(series)]
    witnesses = [_times(o) for o in scrape if _thing(o) != _thing(series) and _is_scraped(o.name)]
    samples = _readable(series)
    spans = []
    for index, last in enumerate(samples):
        later = [samples[index + 1].us] if index + 1 < len(samples) else []
        if later and later[0] - last.us <= condition.for_secs * SECOND:
            continue
        later += [times[at] for times in same if (at := bisect_right(times, last.us)) < len(times)]
        seen = _between(witnesses, last.us, min(later, default=None))
        if seen and seen[-1] - seen[0] >= condition.for_secs * SECOND:
            shown = [Sample(us, None) for us in sorted({*seen[: 2 * _AROUND], seen[-1]})]
            excerpt = (*samples[max(0, index - 2 * _AROUND) : index + 1], *shown, *samples[index + 1 :][:_AROUND])
            spans.append(Span(seen[0], seen[0] - last.us, excerpt, words.decimal(last.value or 0.0)))
    return tuple(spans)


def _between(witnesses: Iterable[list[int]], after: int, before: int | None) -> list[int]:
    found: set[int] = set()
    for times in witnesses:
        found.update(times[bisect_right(times, after) : len(times) if before is None else bisect_left(times, before)])
    return sorted(found)


def _scrape(series: Series) -> tuple[str | None, str | None]:
    return series.get("job"), series.get("instance")


def _thing(series: Series) -> tuple[str, Labels]:
    return series.name, tuple(pair for pair in series.labels if pair[0] not in PASSING_LABELS)


def _is_scraped(name: str) -> bool:
    """Whether the target itself gave the series. Prometheus goes on writing the others while the target is down."""
    return name != "up" and ":" not in name and not name.startswith(("scrape_", "ALERTS"))


# --- shared -------------------------------------------------------------------------------------------------------


def _readable(series: Series) -> list[Sample]:
    return [sample for sample in series.samples if sample.value is not None]


def _times(series: Series) -> list[int]:
    return [sample.us for sample in series.samples if sample.value is not None]


def _around(samples: Sequence[Sample], *marks: int) -> tuple[Sample, ...]:
    """The marked samples with three before and two after each."""
    wanted = {index for mark in marks for index in range(mark - _AROUND, mark + _AROUND)}
    return tuple(samples[index] for index in sorted(wanted) if 0 <= index < len(samples))


def _check_duration(for_secs: float) -> None:
    if not for_secs >= 0:
        raise ValueError("`for_secs` must not be below 0")
