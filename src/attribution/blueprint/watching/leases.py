"""What a watcher works on stays its own as long as it lives: its leases are renewed in time."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from attribution.blueprint.watching.logs import logger, words
from attribution.blueprint.watching.meters import Meters

Renew = Callable[[Sequence[str], datetime, float], set[str]]


class Keeper:
    """Renews the leases of one table, every third of their time."""

    def __init__(self, renew: Renew, now: Callable[[], datetime], lease_secs: float, meters: Meters) -> None:
        self._renew = renew
        self._now = now
        self._lease_secs = lease_secs
        self._meters = meters
        self._lock = threading.Lock()
        self._held: set[str] = set()

    @contextmanager
    def keeping(self, lease: str) -> Iterator[None]:
        """Keep a lease while the block runs."""
        with self._lock:
            self._held.add(lease)
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(lease)

    def run(self, stopped: threading.Event) -> None:
        """Renew until stopped. A store that does not answer is asked again a third later, twice before it is late."""
        while not stopped.wait(self._lease_secs / 3):
            self.renew()

    def renew(self) -> None:
        """Renew all leases now. One that is another's by now is renewed no longer; its worker finds out at the end."""
        with self._lock:
            held = set(self._held)
        if not held:
            return
        try:
            lost = held - self._renew(sorted(held), self._now(), self._lease_secs)
        except Exception as error:  # a keeper that ends would lose everything that is being worked on
            logger().warning("leases not renewed", reason=words(error))
            return
        with self._lock:
            lost &= self._held  # what ended meanwhile is not lost
            self._held -= lost
        if lost:
            self._meters.leases_lost.inc(len(lost))
            logger().warning("leases lost", count=len(lost))
