"""What the scheduler itself says of the end, as events: the execution context is evidence too."""

from collections.abc import Mapping

from attribution.bundle.evidence import StreamKey
from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Source, TerminalState
from attribution.diagnosis.outcome import scheduler_state
from attribution.events.event import Event, event_id, freeze
from attribution.events.moment import SECOND, Basis, Moment
from attribution.rules.model import Catalog

SYMPTOM_OF: Mapping[TerminalState, str] = {
    TerminalState.PREEMPTED: "SCHEDULER_PREEMPTED",
    TerminalState.NODE_FAILED: "SCHEDULER_NODE_FAILED",
    TerminalState.TIMED_OUT: "SCHEDULER_TIME_LIMIT",
    TerminalState.CANCELLED: "SCHEDULER_CANCELLED",
    TerminalState.OUT_OF_MEMORY: "SCHEDULER_OUT_OF_MEMORY",
    TerminalState.LAUNCH_FAILED: "SCHEDULER_LAUNCH_FAILED",
}
"""The symptom that stands for a scheduler's word; a catalog without it says nothing."""

RULE = "scheduler-record"
STREAM = "context"


def scheduler_events(context: ExecutionContext, catalog: Catalog) -> tuple[Event, ...]:
    """At most one event: the scheduler's state, at the end of the attempt."""
    state = scheduler_state(context)
    symptom = SYMPTOM_OF.get(state) if state else None
    if symptom is None or symptom not in catalog.symptoms:
        return ()
    key = StreamKey(Source.SCHEDULER, None, None, STREAM)
    text = f"scheduler_state: {context.scheduler_state}" + (f", reason: {context.reason}" if context.reason else "")
    moment = None
    if context.ended_at:
        moment = Moment(int(context.ended_at.timestamp()) * SECOND, SECOND, Basis.UTC)
    fields = freeze({"state": context.scheduler_state, "reason": context.reason})
    event = Event(event_id(key, text.encode(), 0), symptom, RULE, key, None, None, moment, 1, 0, text, fields=fields)
    return (event,)
