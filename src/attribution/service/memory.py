"""The bytes of all bodies in memory together are bounded: those that arrive, and those that are being read."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from attribution.service.problems import BUSY, ServiceProblem
from attribution.service.settings import Limits

RETRY_BODIES_SECS = 2


def busy(detail: str) -> ServiceProblem:
    """The problem of a request for which there is no room now."""
    return ServiceProblem.later(BUSY, detail, RETRY_BODIES_SECS)


@dataclass(slots=True)
class Arriving:
    """The bytes of one body that have arrived."""

    rooms: "Rooms"
    size: int = 0

    def add(self, count: int) -> None:
        """Count bytes that came. ServiceProblem (503) if all bodies together are too many then."""
        if self.rooms.arrived + count > self.rooms.limits.arriving_bytes:
            raise busy("Too many bodies arrive at the same time.")
        self.size += count
        self.rooms.arrived += count


@dataclass(slots=True)
class Reading:
    """The room that one body takes while it is read."""

    rooms: "Rooms"
    size: int

    def shrink(self, size: int) -> None:
        """Give back what turned out not to be needed."""
        self.rooms.give(max(0, self.size - size))
        self.size = min(self.size, size)


@dataclass(slots=True)
class Rooms:
    """What bodies take of the memory of this process. Used from the event loop only.

    A body has its room for reading only when it has arrived, so that slow clients keep nobody from it; room is given
    in the order in which it was asked for.
    """

    limits: Limits
    arrived: int = 0
    _read: int = 0
    _reading: int = 0
    _waiting: deque[tuple[int, asyncio.Future[None]]] = field(default_factory=deque)

    @contextmanager
    def arriving(self) -> Iterator[Arriving]:
        """Counts a body from its first byte until it was answered."""
        body = Arriving(self)
        try:
            yield body
        finally:
            self.arrived -= body.size

    @asynccontextmanager
    async def reading(self, size: int) -> AsyncIterator[Reading]:
        """Room for a body of up to `size` bytes. ServiceProblem (503) if too many wait for it."""
        size = min(size, self.limits.reading_bytes)
        if len(self._waiting) >= self.limits.waiting_bodies and not self._fits(size):
            raise busy(f"{len(self._waiting)} bodies wait to be read already.")
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._next()  # those behind may have waited for this one
            else:
                self._left(size)
            raise
        room = Reading(self, size)
        try:
            yield room
        finally:
            self._left(room.size)

    def give(self, size: int) -> None:
        """Let others have bytes that were taken."""
        self._read -= size
        self._next()

    def _left(self, size: int) -> None:
        self._reading -= 1
        self.give(size)

    def _fits(self, size: int) -> bool:
        return self._reading < self.limits.bodies and self._read + size <= self.limits.reading_bytes

    def _next(self) -> None:
        while self._waiting:
            size, turn = self._waiting[0]
            if not turn.cancelled():
                if not self._fits(size):
                    return
                self._reading += 1
                self._read += size
                turn.set_result(None)
            self._waiting.popleft()
