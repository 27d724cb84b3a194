"""SLURM111: records of another attempt, or of a job that nothing ties to this one, inform only."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from attribution.contracts.context import ExecutionContext
from attribution.events.event import Event
from attribution.events.moment import SECOND, Basis
from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_RULE = "SLURM110"
_ENDS = (
    "KUEUE_EVICTED",
    "KUEUE_PODS_NOT_READY",
    "SCHEDULER_CANCELLED",
    "SCHEDULER_COMPLETED",
    "SCHEDULER_FAILED",
    "SCHEDULER_LAUNCH_FAILED",
    "SCHEDULER_NODE_FAILED",
    "SCHEDULER_OUT_OF_MEMORY",
    "SCHEDULER_PREEMPTED",
    "SCHEDULER_TIME_LIMIT",
)
_SLACK_US = 60 * SECOND
"""How far the end that a record tells may lie from the end of the attempt."""


@event_filter(id="SLURM111", name="other-attempts", since="0.1.0", stage=FilterStage.EARLY)
def other_attempts(view: EventView) -> Iterator[EventDecision]:
    """Of several records of one job, that of this attempt counts; an end before the attempt began is another's.

    Why: a requeued job keeps its id, and its records stand side by side: preempted, then completed. A list of many
    jobs says nothing of this one if the context does not name it.
    Misses: which record is meant where the context tells neither a start nor a number and no log tells the time.
    Next step: give scheduler_ids, attempt and started_at in the context.
    """
    records = [event for event in view.events if event.rule == _RULE and "." not in (event.get("job") or "")]
    own = _own(records, view.context)
    chosen = _chosen(own, view.context)
    for event in records:
        if event not in own:
            yield SetContext(event, "nothing ties this job to the attempt", out_of_window=True)
        elif event not in chosen:
            yield SetContext(event, "it tells how another attempt of the job ended", out_of_window=_ended_well(event))
    steps = [event for event in view.events if event.rule == _RULE and event not in records]
    for event in steps if records else ():
        if not any(_is_step_of(event, job) for job in chosen):
            yield SetContext(event, "it is a step of another job or attempt")
    yield from _of_earlier_attempts(view, set(records))


def _ended_well(event: Event) -> bool:
    """A good end of another attempt is not worth a word."""
    return event.symptom == "SCHEDULER_COMPLETED"


def _own(records: Sequence[Event], context: ExecutionContext) -> list[Event]:
    """The records of the context's job; where it names none, those of the only job that there is, or that fits."""
    wanted = set(context.scheduler_ids.values())
    if named := [r for r in records if wanted & {r.get("job"), r.get("raw_id")}]:
        het = {_base(r) for r in named if "+" in (r.get("job") or "")}
        return [r for r in records if r in named or ("+" in (r.get("job") or "") and _base(r) in het)]
    if based := [r for r in records if _base(r) in wanted]:
        return based
    if wanted or len({_base(r) for r in records}) <= 1:
        return [] if wanted else list(records)
    fitting = {_base(r) for r in records if _overlaps(r, context)}
    return [r for r in records if _base(r) in fitting] if len(fitting) == 1 else []


def _base(record: Event) -> str:
    return (record.get("job") or "").partition("+")[0].partition("_")[0]


def _chosen(own: Sequence[Event], context: ExecutionContext) -> list[Event]:
    """Of each job id the record of this attempt: by its start, else by its number, else the last that fits."""
    by_id: dict[str, list[Event]] = {}
    for record in own:
        by_id.setdefault(record.get("job") or "", []).append(record)
    found = []
    for several in by_id.values():
        ordered = sorted(several, key=lambda r: (_span(r) or (0, 0), r.id))
        starts = [r for r in ordered if (span := _span(r)) and _near(span[0], _given_start(context))]
        if starts:
            found += starts[-1:]
        elif 1 < context.attempt <= len(ordered):
            found.append(ordered[context.attempt - 1])
        else:
            found += [r for r in ordered if _overlaps(r, context)][-1:] or ordered[-1:]
    return found


def _given_start(context: ExecutionContext) -> int | None:
    return None if "started_at" in context.inferred else _us(context.started_at)


def _near(us: int, other: int | None) -> bool:
    return other is not None and abs(us - other) <= _SLACK_US


def _span(record: Event) -> tuple[int, int] | None:
    """From when to when the record says that it ran, on the clock of its own time; None where it does not."""
    begin, end = _naive(record.get("from")), _naive(record.get("to"))
    if record.moment is None or record.moment.basis is not Basis.UTC or begin is None:
        return None
    length = max(0, round((end - begin).total_seconds())) * SECOND if end else 0
    return record.moment.us - length, record.moment.us


def _overlaps(record: Event, context: ExecutionContext) -> bool:
    """Whether the attempt's logs end within the span of the record."""
    span, end = _span(record), _us(context.ended_at)
    return span is not None and end is not None and span[0] - _SLACK_US <= end <= span[1] + _SLACK_US


def _naive(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=None) if text else None
    except ValueError:
        return None


def _us(instant: datetime | None) -> int | None:
    return None if instant is None else round(instant.timestamp() * SECOND)


def _is_step_of(step: Event, job: Event) -> bool:
    """By the id, and by the time where both have one: a step ends with its job or before."""
    if (step.get("job") or "").partition(".")[0] != job.get("job"):
        return False
    span, at = _span(job), step.moment
    if span is None or at is None or at.basis is not Basis.UTC:
        return True
    return span[0] <= at.us <= span[1] + _SLACK_US


def _of_earlier_attempts(view: EventView, records: set[Event]) -> Iterator[EventDecision]:
    start = _given_start(view.context)
    for event in view.of(*_ENDS) if start is not None else ():
        later = event.until or event.moment
        if event in records or event.in_order or later is None or later.basis is not Basis.UTC:
            continue
        assert start is not None
        if later.us + later.width_us <= start:
            yield SetContext(event, "it came before the attempt began", out_of_window=_ended_well(event))


CASES = """
- name: preempted, requeued, then completed
  context: {scheduler_ids: {job: '81234'}, started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T00:01:00Z'}
  given: |
    node-01/a +60.0s scheduler | Slurm job 81234 PREEMPTED, exit code 0:0, from 2026-01-01T00:00:00Z, to 2026-01-01T00:01:00Z, on node-01
    node-01/a +600.0s scheduler | Slurm job 81234 FAILED, exit code 1:0, from 2026-01-01T00:08:20Z, to 2026-01-01T00:10:00Z, on node-01
  expect: |
    context - +600.0s SCHEDULER_FAILED
- name: by the number of the attempt
  context: {scheduler_ids: {job: '81234'}, attempt: 2}
  given: |
    node-01/a +60.0s scheduler | Slurm job 81234 NODE_FAIL, exit code 0:0, from 2026-01-01T00:00:00Z, to 2026-01-01T00:01:00Z, on node-01
    node-01/a +600.0s scheduler | Slurm job 81234 FAILED, exit code 1:0, from 2026-01-01T00:08:20Z, to 2026-01-01T00:10:00Z, on node-01
  expect: |
    context - +60.0s SCHEDULER_NODE_FAILED
- name: the last, where nothing tells which
  given: |
    node-01/a +60.0s scheduler | Slurm job 81234 NODE_FAIL, exit code 0:0, from 2026-01-01T00:00:00Z, to 2026-01-01T00:01:00Z, on node-01
    node-01/a +600.0s scheduler | Slurm job 81234 FAILED, exit code 1:0, from 2026-01-01T00:08:20Z, to 2026-01-01T00:10:00Z, on node-01
  expect: |
    context - +60.0s SCHEDULER_NODE_FAILED
- name: another task of the array
  context: {scheduler_ids: {job: '81232', array_job: '81230', array_task: '2'}}
  given: |
    node-01/a +0.0s scheduler | Slurm job 81230_1 (81231) FAILED, exit code 1:0, on node-01
    node-01/a +0.0s scheduler | Slurm job 81230_2 (81232) TIMEOUT, exit code 0:0, on node-01
  expect: |
    context - +0.0s SCHEDULER_FAILED
- name: a list of many jobs, and no word of which is meant
  given: |
    node-01/a +0.0s scheduler | Slurm job 81231 FAILED, exit code 1:0, on node-01
    node-01/a +0.0s scheduler | Slurm job 81232 TIMEOUT, exit code 0:0, on node-02
  expect: |
    context - +0.0s SCHEDULER_FAILED
    context - +0.0s SCHEDULER_TIME_LIMIT
- name: both components of one job
  because: they are one attempt
  context: {scheduler_ids: {job: '81240', het_job: '81240'}}
  given: |
    node-01/a +0.0s scheduler | Slurm job 81240+0 (81240) FAILED, exit code 1:0, on node-01
    node-01/a +0.0s scheduler | Slurm job 81240+1 (81241) CANCELLED by uid 0, exit code 0:0, on node-02
  expect: none
- name: a step of the job
  because: it belongs to the attempt
  given: |
    node-01/a +60.0s scheduler | Slurm job 81234 FAILED, exit code 1:0, from 2026-01-01T00:00:00Z, to 2026-01-01T00:01:00Z, on node-01
    node-01/a +60.0s scheduler | Slurm step 81234.0 OUT_OF_MEMORY, exit code 0:125, from 2026-01-01T00:00:00Z, to 2026-01-01T00:01:00Z, on node-01
  expect: none
"""
