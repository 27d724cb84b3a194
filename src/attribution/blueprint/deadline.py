"""A run may have to answer by a certain time: collecting ends early enough that a diagnosis can still be had."""

import time
from collections.abc import Callable
from dataclasses import dataclass

_RESERVED_SHARE, _MOST_RESERVED_SECS = 0.3, 20.0


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the `clock`, or none. What is left of the time is for collecting but for a reserve at the end."""

    at: float | None = None
    reserve_secs: float = 0.0
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, secs: float | None, clock: Callable[[], float] = time.monotonic) -> "Deadline":
        """The deadline in so many seconds; three tenths of them, at most 20 s, are kept for the diagnosis."""
        if secs is None:
            return cls(clock=clock)
        return cls(clock() + secs, min(_RESERVED_SHARE * secs, _MOST_RESERVED_SECS), clock)

    def left_secs(self) -> float | None:
        """The time until the answer is due; None if it is not."""
        return None if self.at is None else max(0.0, self.at - self.clock())

    def collecting_secs(self) -> float | None:
        """The time until collecting must end; None if it need not."""
        left = self.left_secs()
        return None if left is None else max(0.0, left - self.reserve_secs)

    def halted(self) -> bool:
        """Whether collecting must end now."""
        return self.collecting_secs() == 0.0
