"""While the Service cannot be had, nothing new is begun: what waits keeps waiting, and nothing is dropped."""

import threading
import time
from collections.abc import Callable

from attribution.blueprint.delivery import grown_secs

_FIRST_SECS, _LONGEST_SECS = 2.0, 300.0


class Pressure:
    """Grows each time the Service says that it cannot, and is gone when it answers. Used by several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pushes = 0
        self._until = 0.0

    def push(self) -> float:
        """The Service cannot, now. The seconds for which nothing is begun; several at once count as one."""
        with self._lock:
            now = self._clock()
            if now >= self._until:
                self._pushes += 1
                self._until = now + grown_secs(self._pushes, _FIRST_SECS, _LONGEST_SECS)
            return self._until - now

    def ease(self) -> None:
        """The Service answered."""
        with self._lock:
            self._pushes, self._until = 0, 0.0

    def left_secs(self) -> float:
        """For how long nothing is begun yet; 0 if work may go on."""
        with self._lock:
            return max(0.0, self._until - self._clock())
