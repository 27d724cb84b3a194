"""The watcher's log lines: events with fields, and no evidence."""

from datetime import UTC, datetime
from typing import Any, Protocol

import structlog

from attribution.blueprint.connectors.foreign import one_line

Logger = structlog.typing.FilteringBoundLogger
_LONGEST = 500


def logger() -> Logger:
    """The logger of the watcher."""
    found: Logger = structlog.get_logger("attribution.watch")
    return found


def stamp(at: datetime) -> str:
    """A time as all log lines have it."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


class OfAttempt(Protocol):
    """What belongs to one attempt."""

    @property
    def workload_id(self) -> str:
        """The workload's id."""

    @property
    def attempt(self) -> int:
        """Which of its attempts."""


def naming(one: OfAttempt) -> dict[str, Any]:
    """The fields that say which attempt a line is about."""
    return {"workload": words(one.workload_id), "attempt": one.attempt}


def words(error: BaseException | str) -> str:
    """A reason as one bounded line that no terminal acts on."""
    return one_line(error, _LONGEST)
