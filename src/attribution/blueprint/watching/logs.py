"""The watcher's log lines: events with fields, and no evidence."""

import structlog

from attribution.presentation.columns import visible

Logger = structlog.typing.FilteringBoundLogger
_LONGEST = 500


def logger() -> Logger:
    """The logger of the watcher."""
    found: Logger = structlog.get_logger("attribution.watch")
    return found


def words(error: BaseException | str) -> str:
    """A reason as one bounded line that no terminal acts on."""
    text = " ".join(str(error).split()) or type(error).__name__
    return visible(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
