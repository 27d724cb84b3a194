"""CORE001: what lies outside the attempt informs, it does not explain."""

from collections.abc import Iterator
from datetime import datetime

from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter


@event_filter(id="CORE001", name="attempt-window", since="0.1.0", stage=FilterStage.EARLY)
def attempt_window(view: EventView) -> Iterator[EventDecision]:
    """Events that are provably too early or too late to belong to the attempt become context.

    Why: an Xid of last week is no cause of today's failure, and the next job's noise is none either.
    Misses: lines without a date or a zone, which may be old; they stay, and their time says how uncertain it is.
    Next step: if the attempt's start or end is wrong, correct it in the context and diagnose again.
    """
    start, end = _us(view.context.started_at), _us(view.context.ended_at)
    for event in view.events:
        uncertainty = event.moment.uncertainty_us() if event.moment else None
        if event.moment is None or uncertainty is None or event.key.stream == "context":
            continue
        if start is not None and event.moment.us + uncertainty < start - view.margin_us:
            yield SetContext(event, "seen before the attempt began", out_of_window=True)
        elif end is not None and event.moment.us - uncertainty > end + view.margin_us:
            yield SetContext(event, "seen after the attempt had ended", out_of_window=True)


def _us(instant: datetime | None) -> int | None:
    return None if instant is None else round(instant.timestamp() * 1_000_000)


CASES = """
- name: an Xid two days before the start
  context: {started_at: '2026-01-03T00:00:00Z', ended_at: '2026-01-03T01:00:00Z'}
  given: |
    node-01 +0.0s XID_79 gpu:pci=0000:52:00
    node-01 +174000.0s XID_79 gpu:pci=0000:52:00
  expect: |
    context node-01 +0.0s XID_79
- name: an Xid long after the end
  context: {started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T01:00:00Z'}
  given: |
    node-01 +7200.0s XID_79 gpu:pci=0000:52:00
  expect: |
    context node-01 +7200.0s XID_79
- name: an Xid ten minutes before the start
  because: what broke the node while the job was being placed belongs to the attempt
  context: {started_at: '2026-01-01T00:10:00Z', ended_at: '2026-01-01T01:00:00Z'}
  given: |
    node-01 +1.0s XID_79 gpu:pci=0000:52:00
  expect: none
"""
