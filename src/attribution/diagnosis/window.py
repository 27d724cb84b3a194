"""When the attempt ran: as the context says, else as far as its own logs show."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import METRIC_SOURCES, Source
from attribution.events.moment import SECOND, UNKNOWN_ZONE, Basis, Moment, at_us
from attribution.extraction.clock import DAY, ClockRules, with_year
from attribution.extraction.extract import Extraction, StreamReport

EARLIEST_US = 86_400 * SECOND
"""How long before the first line of its own log an attempt may have begun, where nothing says when it did."""


_HALF_A_YEAR_US = 182 * DAY
_ONE_YEAR_US = 360 * DAY
"""How much other logs may cover before a date without a year could be of two of their years."""


def attempt_window(context: ExecutionContext, extraction: Extraction) -> tuple[int, int] | None:
    """Start and end in microseconds since 1970, from the context, else the job's logs; None if neither says."""
    reports = _logs(extraction)
    start = _us(context.started_at) if context.started_at else min(_utc(r.first for r in reports), default=None)
    end = _us(context.ended_at) if context.ended_at else max(_utc(r.last for r in reports), default=None)
    start = end if start is None else start
    end = start if end is None else end
    return None if start is None or end is None else (start, end)


def with_window(context: ExecutionContext, extraction: Extraction) -> ExecutionContext:
    """The context with a window wide enough for all that may belong to the attempt, where it names none.

    What it takes from the evidence is listed in `inferred`.
    """
    start, end = _seen(extraction)
    found: dict[str, datetime] = {}
    if context.started_at is None and context.ended_at is not None and start is None:
        found["started_at"] = at_us(_us(context.ended_at) - EARLIEST_US)
    elif context.started_at is None and start is not None:
        found["started_at"] = at_us(start)
    if context.ended_at is None and end is not None:
        found["ended_at"] = max(at_us(end), context.started_at or at_us(end))
    inferred = tuple(sorted({*context.inferred, *found}))
    return context.model_copy(update={**found, "inferred": inferred}) if found else context


def _seen(extraction: Extraction) -> tuple[int | None, int | None]:
    """The earliest start and the latest end that the evidence allows, in microseconds since 1970.

    A scheduler's record of one attempt tells both. The job's own log begins no later than a day after the start, and
    says nothing after the end; where its stamps leave the year out, the logs of the nodes tell it. Where neither has a
    date, metrics were asked for the time of the attempt.
    """
    logs = _logs(extraction)
    first, last = _earliest(r.first for r in logs), _latest(r.last for r in logs)
    if first is None and last is None:
        first, last = _of_the_year(logs, [r for r in extraction.reports if r not in logs])
    told = [ran for report in extraction.reports for ran in report.ran]
    begun, ended = _earliest(ran.began for ran in told), _latest(ran.ended for ran in told)
    is_one = len({ran.attempt for ran in told}) == 1
    if not is_one or begun is None or (last is not None and begun > last):
        begun = ended = None  # records of several attempts, or of another one
    if begun is None and first is None:
        first = _earliest(r.first for r in extraction.reports if r.stream.key.source in METRIC_SOURCES)
    starts = [us for us in (begun, None if first is None else first - EARLIEST_US) if us is not None]
    ends = [us for us in (ended, last) if us is not None]
    return max(starts, default=None), max(ends, default=None)


def _of_the_year(logs: Sequence[StreamReport], others: Sequence[StreamReport]) -> tuple[int | None, int | None]:
    """What logs without a year tell, read in the year in which they end while other logs were written, give or take a
    day; nothing where no year does that, or where the other logs cover so much that two could.
    """
    begun, ended = _earliest(r.first for r in others), _latest(r.last for r in others)
    if begun is None or ended is None or ended - begun > _ONE_YEAR_US:
        return None, None
    found: list[tuple[Moment, Moment]] = []
    for first, last in ((r.first, r.last) for r in logs if r.first is not None and r.last is not None):
        end = with_year(last, ClockRules(window=(begun, ended)))
        start = with_year(first, ClockRules(window=(end.us - _HALF_A_YEAR_US, end.us)))
        if begun - DAY <= end.us <= ended + DAY and start.us <= end.us:
            found.append((start, end))
    return _earliest(start for start, _ in found), _latest(end for _, end in found)


def _earliest(moments: Iterable[Moment | None]) -> int | None:
    return min((m.us - _zone_us(m) for m in _best(moments)), default=None)


def _latest(moments: Iterable[Moment | None]) -> int | None:
    return max((m.us + _zone_us(m) for m in _best(moments)), default=None)


def _best(moments: Iterable[Moment | None]) -> list[Moment]:
    """Those in UTC; those of an unknown zone where there are none."""
    known = [moment for moment in moments if moment is not None]
    in_utc = [moment for moment in known if moment.basis is Basis.UTC]
    return in_utc or [moment for moment in known if moment.basis is Basis.LOCAL]


def _zone_us(moment: Moment) -> int:
    return UNKNOWN_ZONE if moment.basis is Basis.LOCAL else 0


def _logs(extraction: Extraction) -> list[StreamReport]:
    return [report for report in extraction.reports if report.stream.key.source is Source.APPLOG]


def _utc(moments: Iterable[Moment | None]) -> list[int]:
    return [moment.us for moment in moments if moment is not None and moment.basis is Basis.UTC]


def _us(instant: datetime) -> int:
    return round(instant.timestamp() * SECOND)
