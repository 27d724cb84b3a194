"""Work that goes well, badly, for ever, or takes its process with it."""

import os
import signal
import time
from collections.abc import Callable

from attribution.contracts.errors import ConfigurationError, EvidenceError, Place, Problem

_PROBLEM = Problem(Place("there"), "B001", "does not exist")


def prepared() -> Callable[[str], str]:
    """What a worker does with a word."""
    return answer


def refused() -> Callable[[str], str]:
    """A set-up that fails."""
    raise ConfigurationError([_PROBLEM])


def answer(word: str) -> str:
    """The word in capitals, unless it asks for trouble."""
    if word == "raise":
        raise ValueError("no such luck")
    if word == "unreadable":
        raise EvidenceError([_PROBLEM])
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "hang":
        time.sleep(3600)
    return word.upper()
