"""How much work a function does, told without a clock: what a loaded machine does not change."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ENDLESS_CPU_SECS = 20
"""A hundred times what linear work takes on the texts of these tests; what is quadratic takes far more."""


def calls(function: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called while it runs."""
    count = 0

    def seen(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@contextmanager
def ends() -> Iterator[None]:
    """Fails if the block computes on and on, as a pattern that backtracks does. Waiting for a turn does not count."""

    def give_up(*_: object) -> None:
        raise AssertionError("does not come to an end")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS_CPU_SECS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
