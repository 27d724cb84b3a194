"""A stretch of time laid over the width of a drawing, with ticks at round moments of UTC."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MOST_TICKS = 6

_STEPS_SECS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(60 * n for n in (1, 2, 5, 10, 15, 30)),
    *(3600 * n for n in (1, 2, 3, 6, 12)),
    *(86400 * n for n in (1, 2, 7, 14, 30, 90, 365, 3650)),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Tick:
    """A round moment: its place in percent of the width, and its label."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Scale:
    """From `start` at 0 percent to `end` at 100."""

    start: datetime
    end: datetime

    def x(self, at: datetime) -> float:
        """The place of a moment in percent; what lies outside is put on the edge."""
        return min(100.0, max(0.0, 100.0 * (at - self.start) / (self.end - self.start)))

    def holds(self, at: datetime) -> bool:
        """Whether a moment lies within."""
        return self.start <= at <= self.end

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Round moments, at most six."""
        step, marked = self._step()
        several_days = self.end - self.start > timedelta(days=1)
        return tuple(Tick(self.x(at), _label(at, step, several_days)) for at in marked)

    def _step(self) -> tuple[float, list[datetime]]:
        for step in _STEPS_SECS:
            if (self.end - self.start).total_seconds() / step > MOST_TICKS + 1:
                continue
            marked = list(self._multiples(step))
            if len(marked) <= MOST_TICKS:
                return step, marked
        return _STEPS_SECS[-1], []

    def _multiples(self, step: float) -> Iterator[datetime]:
        micros = round(step * 1e6)
        first = -(-((self.start - _EPOCH) // timedelta(microseconds=1)) // micros)
        while (at := _EPOCH + timedelta(microseconds=first * micros)) <= self.end:
            if at >= self.start:
                yield at
            first += 1


def _label(at: datetime, step: float, several_days: bool) -> str:
    if step >= 86400:
        return f"{at:%Y-%m-%d}"
    if several_days:
        return f"{at:%m-%d %H:%M}"
    if step >= 60:
        return f"{at:%H:%M}"
    return f"{at:%H:%M:%S}" if step >= 1 else f"{at:%H:%M:%S}.{at.microsecond // 1000:03}"
