"""When the attempt ran: as the context says, else as far as its own logs show."""

from collections.abc import Iterable
from datetime import datetime

from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Source
from attribution.events.moment import SECOND, Basis, Moment, at_us
from attribution.extraction.extract import Extraction, StreamReport

EARLIEST_US = 86_400 * SECOND
"""How long before the first line of its own log an attempt may have begun, where nothing says when it did."""


def attempt_window(context: ExecutionContext, extraction: Extraction) -> tuple[int, int] | None:
    """Start and end in microseconds since 1970, from the context, else the job's logs; None if neither says."""
    reports = _logs(extraction)
    start = _us(context.started_at) if context.started_at else min(_utc(r.first for r in reports), default=None)
    end = _us(context.ended_at) if context.ended_at else max(_utc(r.last for r in reports), default=None)
    start = end if start is None else start
    end = start if end is None else end
    return None if start is None or end is None else (start, end)


def with_window(context: ExecutionContext, extraction: Extraction) -> ExecutionContext:
    """The context with a window wide enough for all that may belong to the attempt, where it names none."""
    window = attempt_window(context, extraction)
    if window is None:
        return context
    found: dict[str, datetime] = {}
    if context.started_at is None:
        found["started_at"] = at_us(window[0] - EARLIEST_US)
    if context.ended_at is None and any(_utc(r.last for r in _logs(extraction))):  # nothing else tells the end
        end = at_us(window[1])
        found["ended_at"] = max(end, context.started_at or end)
    return context.model_copy(update=found) if found else context


def _logs(extraction: Extraction) -> list[StreamReport]:
    return [report for report in extraction.reports if report.stream.key.source is Source.APPLOG]


def _utc(moments: Iterable[Moment | None]) -> list[int]:
    return [moment.us for moment in moments if moment is not None and moment.basis is Basis.UTC]


def _us(instant: datetime) -> int:
    return round(instant.timestamp() * SECOND)
