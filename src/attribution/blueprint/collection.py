"""The connectors of one attempt collect side by side, and none of them can hold up the answer or stop the run."""

import queue
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import DEADLINE, Collected, Collector
from attribution.blueprint.connectors.foreign import one_line
from attribution.blueprint.deadline import Deadline
from attribution.blueprint.handover import POLL_SECS, hand_over
from attribution.blueprint.ledger import Item
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan

_QUEUED = 8
"""Observations of all connectors that wait to be sent; of up to a MiB each, so few."""
_GRACE_SHARE = 0.25
"""How much of the reserve connectors have to say what they did not read."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A connector is done, or why it is not: it failed, or it did not end by the deadline."""

    connector: str
    failure: str | None = None
    is_late: bool = False


Event = Item | Ended
Collectors = Mapping[str, Collector[Any]]


def collect(
    collectors: Collectors, attempt: Attempt, plan: CollectionPlan, deadline: Deadline, stopped: threading.Event
) -> Generator[Event, None, None]:
    """What the connectors deliver, as it comes, and for each of them how it ended.

    After the deadline connectors have a short time to tell what they did not read; one that hangs is left behind.
    Ends early, with every connector late, when `stopped` is set.
    """
    events: queue.Queue[Event] = queue.Queue(_QUEUED)
    abandoned = threading.Event()

    def halted() -> bool:
        return deadline.halted() or stopped.is_set() or abandoned.is_set()

    def put(event: Event) -> bool:
        return hand_over(events, event, abandoned)

    for name, collector in collectors.items():
        work = _work(name, lambda found=collector: found.collect(attempt, plan, halted), put)  # type: ignore[misc]
        threading.Thread(target=work, name=f"collect-{name}", daemon=True).start()
    running = set(collectors)
    try:
        while running:
            if stopped.is_set() or _is_over(deadline):
                abandoned.set()
            try:
                event = events.get(block=not abandoned.is_set(), timeout=POLL_SECS)
            except queue.Empty:
                if abandoned.is_set():
                    break
                continue
            if isinstance(event, Ended):
                running.discard(event.connector)
            yield event
    finally:
        abandoned.set()
    yield from (Ended(name, DEADLINE, is_late=True) for name in sorted(running))


def _work(
    name: str, start: Callable[[], Iterator[Observation | Collected]], put: Callable[[Event], bool]
) -> Callable[[], None]:
    """What the thread of one connector does."""

    def work() -> None:
        try:
            for found in start():
                got = found if isinstance(found, Collected) else Collected(found)
                if not put(Item(name, got.observation, got.retries)):
                    return
        except Exception as error:  # a connector that fails never stops the run
            put(Ended(name, one_line(error)))
        else:
            put(Ended(name))

    return work


def _is_over(deadline: Deadline) -> bool:
    """Whether also the time is over in which connectors may tell what they did not read."""
    left = deadline.left_secs()
    return left is not None and left <= deadline.reserve_secs * (1 - _GRACE_SHARE)
