"""Worker processes, each with a time limit per piece of work; one that dies or is late is replaced and named."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from attribution.contracts.errors import AttributionError

W = TypeVar("W")
A = TypeVar("A")

_PATIENCE_SECS = 5.0
_CONTEXT = multiprocessing.get_context("spawn")
"""Workers start empty, so they are the same wherever they run, and whatever threads the parent has."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no answer to a piece of work."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Ready:
    """What a worker says when it is set up. `error` is what kept it from that."""

    error: Exception | None = None


def _serve(pipe: Connection, prepare: Callable[[], Callable[[Any], Any]]) -> None:
    """The life of a worker: set up once, then one answer for each piece of work, until the other end is closed."""
    try:
        work = prepare()
    except AttributionError as error:
        pipe.send(_Ready(error))
        return
    pipe.send(_Ready())
    try:
        while True:
            item = pipe.recv()
            pipe.send(_answered(work, item))
    except (EOFError, KeyboardInterrupt):
        return


def _answered(work: Callable[[Any], Any], item: Any) -> Any:
    try:
        return work(item)
    except AttributionError as error:
        return Failed("; ".join(str(problem) for problem in error.problems))
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


class _Worker(Generic[W, A]):
    """One process, and what it is at. Work begins when it is ready: its start does not count as late."""

    def __init__(self, prepare: Callable[[], Callable[[W], A]]) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(theirs, prepare), daemon=True)
        self.process.start()
        theirs.close()  # or its end would never be seen
        self.ready = False
        self.at: int | None = None
        self.late_at = float("inf")

    def begin(self, number: int, item: W, timeout_secs: float) -> None:
        self.at = number
        self.late_at = time.monotonic() + timeout_secs
        self.pipe.send(item)

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join(_PATIENCE_SECS)


def spread(
    items: list[W], prepare: Callable[[], Callable[[W], A]], *, workers: int, timeout_secs: float
) -> Iterator[tuple[int, A | Failed]]:
    """Each item's number with its answer, in the order in which they are done.

    `prepare` is called once in each worker and answers what does the work; it and the items cross process borders.
    Raises what `prepare` raises, if that is an AttributionError.
    """
    waiting = list(reversed(range(len(items))))
    team = [_Worker[W, A](prepare) for _ in range(min(workers, len(items)))]
    try:
        done = 0
        while done < len(items):
            for number, answer in _heard(team, prepare):
                done += 1
                yield number, answer
            for worker in team:
                if worker.ready and worker.at is None and waiting:
                    number = waiting.pop()
                    worker.begin(number, items[number], timeout_secs)
    finally:
        for worker in team:
            worker.end()


def _heard(team: list[_Worker[W, A]], prepare: Callable[[], Callable[[W], A]]) -> Iterator[tuple[int, A | Failed]]:
    """Wait for news; a worker that is gone or late is replaced in its place in the team."""
    soonest = min(worker.late_at for worker in team)
    patience = None if soonest == float("inf") else max(0.0, soonest - time.monotonic())
    speaking = wait([worker.pipe for worker in team], patience)
    for place, worker in enumerate(team):
        late = time.monotonic() >= worker.late_at
        if worker.pipe not in speaking and not late:
            continue
        said = _said(worker) if worker.pipe in speaking else Failed("out of time")
        if isinstance(said, _Ready):
            if said.error:
                raise said.error
            worker.ready = True
            continue
        number, worker.at, worker.late_at = worker.at, None, float("inf")
        if number is None:
            raise RuntimeError(f"a worker ended before it began: {said}")
        if worker.pipe not in speaking or not worker.process.is_alive():
            worker.end()
            team[place] = _Worker(prepare)
        yield number, said


def _said(worker: _Worker[W, A]) -> Any:
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join(_PATIENCE_SECS)
        return Failed(f"the process ended with {worker.process.exitcode}")
