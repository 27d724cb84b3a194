"""SLURM113: what Slurm did outside of the attempt's own time it did to another attempt, or to another job."""

from collections.abc import Iterator
from datetime import datetime

from attribution.contracts.vocabulary import Source
from attribution.events.event import Event
from attribution.events.moment import SECOND, Basis
from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_SLACK_US = 5 * SECOND
"""Records and logs of Slurm tell one moment within a few seconds."""


@event_filter(id="SLURM113", name="slurm-outside-attempt", since="0.1.0", stage=FilterStage.EARLY)
def slurm_outside_attempt(view: EventView) -> Iterator[EventDecision]:
    """A prolog that failed before the attempt began or after it ended, and a cancel after its end, are set aside.

    Why: nodes go from job to job within seconds, and a job that was put back into the queue is often cancelled then.
    Misses: attempts whose start and end the context does not give, and lines without a time in UTC.
    Next step: give started_at and ended_at in the context.
    """
    start, end = _us(view.context.started_at), _us(view.context.ended_at)
    for event in view.of("SLURM_PROLOG_FAILED", "SCHEDULER_CANCELLED"):
        at = _told_at(event)
        if at is None:
            continue
        if end is not None and at > end + _SLACK_US:
            yield SetContext(event, "it came after the attempt had ended")
        elif start is not None and at < start - _SLACK_US and event.symptom == "SLURM_PROLOG_FAILED":
            yield SetContext(event, "it came before the attempt began")


def _told_at(event: Event) -> int | None:
    """When the scheduler says that it was, if that is known in UTC."""
    moment = event.moment
    is_known = moment is not None and moment.basis is Basis.UTC and not moment.inherited
    return moment.us if moment is not None and is_known and event.key.source is Source.SCHEDULER else None


def _us(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp()) * SECOND


CASES = """
- name: the prolog of the next job, and a cancel of the next attempt
  context: {started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T00:01:00Z'}
  given: |
    node-01 +90.0s scheduler | error: [job 81234] prolog failed status=1:0
    node-01 +120.0s scheduler | _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=81234 uid 1007
  expect: |
    context node-01 +90.0s SLURM_PROLOG_FAILED
    context - +120.0s SCHEDULER_CANCELLED
- name: the prolog of the job before
  context: {started_at: '2026-01-01T00:10:00Z', ended_at: '2026-01-01T00:11:00Z'}
  given: |
    node-01 +90.0s scheduler | error: [job 81234] prolog failed status=1:0
  expect: |
    context node-01 +90.0s SLURM_PROLOG_FAILED
- name: its own
  because: both fall into its time
  context: {started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T00:01:00Z'}
  given: |
    node-01 +2.0s scheduler | error: [job 81234] prolog failed status=1:0
    node-01 +61.0s scheduler | _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=81234 uid 1007
  expect: none
"""
