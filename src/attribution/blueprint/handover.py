"""What one thread makes goes to another that may have stopped to wait for it."""

import queue
import threading
from typing import TypeVar

T = TypeVar("T")

POLL_SECS = 0.2
"""How often either side looks whether the other is still there."""


def hand_over(events: "queue.Queue[T]", event: T, left: threading.Event) -> bool:
    """Put an event into a full queue once there is room; False if nobody takes it any more (`left` is set)."""
    while not left.is_set():
        try:
            events.put(event, timeout=POLL_SECS)
        except queue.Full:
            continue
        return True
    return False
