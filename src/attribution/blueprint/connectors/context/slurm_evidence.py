"""What the scheduler recorded, as observations: the accounting records of an attempt, and what became of its nodes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from attribution.blueprint.connectors.context.slurm_jobs import JobAttempt
from attribution.blueprint.connectors.context.slurm_rows import OutputUnreadable, Row, instant
from attribution.contracts.observation import Clock, Observation, Window
from attribution.contracts.vocabulary import Format, Source, Status

RECORD_FIELDS = (
    *("JobID", "JobIDRaw", "Partition", "State", "ExitCode", "DerivedExitCode", "Reason", "Submit", "Start", "End"),
    *("ElapsedRaw", "TimelimitRaw", "NNodes", "NTasks", "NodeList", "Restarts", "FailedNode", "AllocTRES"),
    *("MaxRSS", "MaxRSSNode", "MaxRSSTask"),
)
"""What is shown of a record. Names and command lines are the user's words, not the scheduler's, and stay out."""
EVENT_FIELDS = ("Cluster", "NodeName", "TimeStart", "TimeEnd", "State", "User", "Reason", "StateRaw")
"""How `sacctmgr` is asked: the reason is free text, and the number behind it shows that a row is whole."""

MARGIN = timedelta(minutes=15)
"""How long before and after an attempt its nodes' events are of interest."""
_TIMES = frozenset({"Submit", "Start", "End", "Eligible", "TimeStart", "TimeEnd"})
_UTC = Clock(zone="UTC")
_MAX_REASON = 2000
_WHOLE = re.compile(r"(.*)\|(\d+)")
"""What stands behind the other fields of a row: the reason, and the number that ends the row."""
_MAX_STEPS = 2000
"""Steps of one attempt that are shown; a loop of `srun` may have made many more."""


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """A span in which a node was down, drained or not answering."""

    row: Row
    node: str
    start: datetime
    end: datetime | None

    def touches(self, window: Window) -> bool:
        """Whether it lies in a window, if only in part."""
        return self.start <= window.end and (self.end is None or self.end >= window.start)


def record_observation(attempt: JobAttempt) -> Observation:
    """The records of the job and its steps, written as `sacct --parsable2` does, with times in UTC."""
    steps = [id(step) for record in attempt.records for step in record.steps]
    shown = set(steps)
    if len(steps) > _MAX_STEPS:
        lost = [id(step) for record in attempt.records for step in record.steps if step["State"] != "COMPLETED"]
        shown = set(list(dict.fromkeys(lost + steps))[:_MAX_STEPS])
    found = [
        row for record in attempt.records for row in (record.row, *(step for step in record.steps if id(step) in shown))
    ]
    fields = [name for name in RECORD_FIELDS if name in found[0]]
    observation = _table(Format.SACCT_PARSABLE2, "sacct", fields, found)
    if len(shown) == len(steps):
        return observation
    reason = f"{len(shown)} of {len(steps)} steps are shown, those that did not complete first"
    return observation.model_copy(update={"status": Status.PARTIAL, "reason": reason})


def event_rows(text: str) -> Iterator[NodeEvent]:
    """The node events of an output of `sacctmgr show event`; a line that begins no row continues the reason before.

    Raises OutputUnreadable at the end of an output that breaks off within a row, or that holds what is none.
    """
    held: list[str] | None = None
    *lines, rest = text.split("\n")
    is_whole = not rest
    for line in lines:
        values = line.split("|", len(EVENT_FIELDS) - 2)
        if len(values) == len(EVENT_FIELDS) - 1 and (instant(values[2]) or not values[1]):
            is_whole &= held is None or _WHOLE.fullmatch(held[-1]) is not None
            yield from _event(held)
            held = values
        elif held is not None:
            held[-1] = _bounded(f"{held[-1]} {line}")
        else:
            is_whole = False
    yield from _event(held)
    if not (is_whole and (held is None or _WHOLE.fullmatch(held[-1]))):
        remedy = "run it by hand and see what it prints, then ask again"
        raise OutputUnreadable(f"what `sacctmgr` printed ends within a row, or is none of its rows ({remedy})")


def _bounded(told: str) -> str:
    """Both ends of what stands behind the other fields of a row."""
    return told if len(told) <= 2 * _MAX_REASON else told[:_MAX_REASON] + told[-_MAX_REASON:]


def _event(values: Sequence[str] | None) -> Iterator[NodeEvent]:
    """The event of a row that is whole; those without a node say that the cluster itself was registered."""
    found = _WHOLE.fullmatch(values[-1]) if values else None
    if values and found and values[1] and (start := instant(values[2])):
        row = dict(zip(EVENT_FIELDS, (*values[:-1], found[1][:_MAX_REASON], found[2]), strict=True))
        yield NodeEvent(row, values[1], start, instant(values[3]))


def event_window(attempt: JobAttempt, now: datetime) -> Window | None:
    """The span in which events of the attempt's nodes matter, if it ran at all."""
    start, end = attempt.span()
    return Window(start=start - MARGIN, end=(end or now) + MARGIN) if start else None


def event_observation(
    nodes: Iterable[str], window: Window, events: Iterable[NodeEvent], missing: str | None = None
) -> Observation:
    """What became of the attempt's nodes around its time, written as `sacctmgr --parsable2 show event` does.

    `missing` says why events may be missing, if some may.
    """
    own = set(nodes)
    rows = [event.row for event in events if event.node in own and event.touches(window)]
    # A table without rows is an answer: the nodes were examined, and nothing had become of them.
    fields = ("Cluster", "NodeName", "TimeStart", "TimeEnd", "State", "Reason", "User")
    ordered = sorted(rows, key=lambda row: (row["TimeStart"], row["NodeName"]))
    told = {"window": window} | ({"status": Status.PARTIAL, "reason": missing} if missing else {})
    return _table(Format.TEXT, "sacctmgr-events", fields, ordered).model_copy(update=told)


def no_events(window: Window, reason: str) -> Observation:
    """Says why events could not be had."""
    stream = "sacctmgr-events"
    return Observation(source=Source.SCHEDULER, stream=stream, window=window, status=Status.ERROR, reason=reason)


def _table(form: Format, stream: str, fields: Sequence[str], rows: Iterable[Mapping[str, str]]) -> Observation:
    lines = ["|".join(fields), *("|".join(_plain(name, row.get(name, "")) for name in fields) for row in rows)]
    body = "".join(f"{line}\n" for line in lines)
    return Observation(source=Source.SCHEDULER, format=form, stream=stream, clock=_UTC, body=body)


def _plain(name: str, value: str) -> str:
    """A value that cannot be taken for another field or row."""
    at = instant(value) if name in _TIMES else None
    return f"{at:%Y-%m-%dT%H:%M:%S}" if at else " ".join(value.replace("|", "/").split())
