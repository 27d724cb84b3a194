"""The span of time that a connector asks for: that of the attempt, with a margin on both sides."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from attribution.blueprint.connectors.base import ConnectorError
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Window

_EARLIEST, _LATEST = datetime(1970, 1, 2, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when evidence may belong to an attempt; None is open."""

    start: datetime | None = None
    end: datetime | None = None

    @classmethod
    def of(cls, context: ExecutionContext, margin_secs: int) -> "Span":
        """The attempt's times with the margin; what the context does not say is open."""
        start = context.started_at or context.submitted_at
        return cls(_moved(start, -margin_secs), _moved(context.ended_at, margin_secs))

    def window(self, now: datetime) -> Window | None:
        """The span as a window that ends now at the latest; None if its start is open or still to come."""
        end = now if self.end is None else min(self.end, max(now, self.start or now))
        if self.start is None or self.start >= end:
            return None
        return Window(start=self.start, end=end)


def known(window: Window | None) -> Window:
    """A window that is there. Raises ConnectorError if there is none to ask for."""
    if window is None:
        raise ConnectorError("the context does not say when the attempt ran, or it has not begun")
    return window


def _moved(at: datetime | None, secs: int) -> datetime | None:
    if at is None:
        return None
    try:
        moved = at + timedelta(seconds=secs)
    except OverflowError:
        return None
    return moved if _EARLIEST <= moved <= _LATEST else None
