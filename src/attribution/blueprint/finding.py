"""Attempts are found in time: a connector that still looks for them at the deadline is left behind."""

import queue
import threading
from collections.abc import Iterator
from typing import Any

from attribution.blueprint.attempt import Found, Query
from attribution.blueprint.connectors.base import ContextConnector
from attribution.blueprint.deadline import Deadline
from attribution.blueprint.handover import POLL_SECS, hand_over
from attribution.client.bounded import within

_QUEUED = 8
_GRACE_SECS = 0.5
"""How long one that is left behind may take to end the program that it runs."""


class LateError(Exception):
    """A connector had not found all attempts by the time at which collecting must end."""


def found_in_time(connector: ContextConnector[Any], query: Query, deadline: Deadline) -> Iterator[Found]:
    """What a connector finds, as it comes. Raises what the connector raises, or LateError.

    Its calls and programs are bounded by the same time, so that none of them outlives the run.
    """
    secs = deadline.collecting_secs()
    if secs is None:
        yield from connector.discover(query)
        return
    events: queue.Queue[Found | Exception | None] = queue.Queue(_QUEUED)
    left_behind = threading.Event()

    def work() -> None:
        try:
            with within(secs):
                for found in connector.discover(query):
                    if not hand_over(events, found, left_behind):
                        return
        except Exception as error:  # raised again where it is waited for
            hand_over(events, error, left_behind)
        else:
            hand_over(events, None, left_behind)

    thread = threading.Thread(target=work, name="discover", daemon=True)
    thread.start()
    try:
        yield from _taken(events, deadline)
    finally:
        left_behind.set()
        thread.join(_GRACE_SECS)


def _taken(events: "queue.Queue[Found | Exception | None]", deadline: Deadline) -> Iterator[Found]:
    while True:
        is_late = deadline.halted()
        try:
            event = events.get(block=not is_late, timeout=POLL_SECS)
        except queue.Empty:
            if is_late:
                raise LateError from None
            continue
        if event is None:
            return
        if isinstance(event, Exception):
            if deadline.halted():  # the time was also that of its calls
                raise LateError from event
            raise event
        yield event
