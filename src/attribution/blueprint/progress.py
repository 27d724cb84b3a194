"""An attempt that takes long says from time to time how far it is."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from attribution.blueprint.attempt import Attempt
from attribution.contracts.observation import Observation


@dataclass(slots=True)
class Under:
    """An attempt that is under way: since when (on the clock), and what was collected of it so far."""

    label: str
    begun: float
    told: float
    observations: int = 0
    bytes: int = 0

    def sentence(self, now: float) -> str:
        """How far it is, in words."""
        size = f"{self.bytes / (1 << 20):,.1f} MiB"
        return f"{self.label}: under way for {now - self.begun:.0f} s, {self.observations:,} observations, {size}"


class Progress:
    """Counts what is collected of the attempts that are under way. Used by several threads."""

    def __init__(self, every_secs: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_secs = every_secs
        self._clock = clock
        self._lock = threading.Lock()
        self._under: dict[object, Under] = {}

    def begin(self, attempt: Attempt) -> None:
        """Work on an attempt begins."""
        now = self._clock()
        with self._lock:
            self._under[attempt.identity] = Under(attempt.label, now, now)

    def saw(self, attempt: Attempt, observation: Observation) -> None:
        """An observation of it was collected."""
        with self._lock:
            under = self._under.get(attempt.identity)
            if under is not None:
                under.observations += 1
                under.bytes += len(observation.body)

    def end(self, attempt: Attempt) -> None:
        """Work on it is over, however it went."""
        with self._lock:
            self._under.pop(attempt.identity, None)

    def due(self) -> list[str]:
        """A sentence for each attempt that was not told of for so long; those that began first come first."""
        now = self._clock()
        with self._lock:
            due = [under for under in self._under.values() if now - under.told >= self._every_secs]
            for under in due:
                under.told = now
            return [under.sentence(now) for under in due]
