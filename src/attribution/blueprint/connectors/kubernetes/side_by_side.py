"""Several streams are read at the same time and handed on one after the other, in their order."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from attribution.blueprint.handover import hand_over

T = TypeVar("T")

_AHEAD = 2
"""Items of a stream that wait to be handed on."""

Start = Callable[[], Iterator[T]]


@dataclass(frozen=True, slots=True)
class _Ended:
    """A stream has no more, or failed."""

    error: Exception | None = None


class _Stream(Generic[T]):
    def __init__(self, start: Start[T], left: threading.Event) -> None:
        self._items: queue.Queue[T | _Ended] = queue.Queue(_AHEAD)
        self._start = start
        self._left = left
        threading.Thread(target=self._read, name="read-ahead", daemon=True).start()

    def items(self) -> Iterator[T]:
        while not isinstance(item := self._items.get(), _Ended):
            yield item
        if item.error is not None:
            raise item.error

    def _read(self) -> None:
        try:
            for item in self._start():
                if not self._put(item):
                    return
        except Exception as error:  # raised where the items are taken
            self._put(_Ended(error))
        else:
            self._put(_Ended())

    def _put(self, item: T | _Ended) -> bool:
        return hand_over(self._items, item, self._left)


def side_by_side(starts: Sequence[Start[T]], count: int) -> Iterator[T]:
    """The items of all streams, each stream whole before the next; `count` of them are read at a time.

    Of those that are not yet at their turn few items are held. What a stream raises is raised at its turn.
    """
    left = threading.Event()
    running: list[_Stream[T]] = []
    waiting = iter(starts)
    try:
        while True:
            while len(running) < count and (start := next(waiting, None)) is not None:
                running.append(_Stream(start, left))
            if not running:
                return
            yield from running.pop(0).items()
    finally:
        left.set()
