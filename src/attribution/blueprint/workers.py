"""A few threads do the work that is handed to them, and end with the program even if they still work."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Workers(Generic[T]):
    """`count` threads. Unlike those of the standard library's pool they are not waited for when a run is broken off."""

    def __init__(self, count: int) -> None:
        self._tasks: queue.SimpleQueue[tuple[Future[T], Callable[[], T]] | None] = queue.SimpleQueue()
        self._count = count
        for number in range(count):
            threading.Thread(target=self._work, name=f"worker-{number}", daemon=True).start()

    def submit(self, task: Callable[[], T]) -> "Future[T]":
        """Have a task done; they are begun in the order in which they come."""
        future: Future[T] = Future()
        self._tasks.put((future, task))
        return future

    def close(self) -> None:
        """Let the threads end when all tasks are done."""
        for _ in range(self._count):
            self._tasks.put(None)

    def _work(self) -> None:
        while (item := self._tasks.get()) is not None:
            future, task = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(task())
            except BaseException as error:
                future.set_exception(error)
