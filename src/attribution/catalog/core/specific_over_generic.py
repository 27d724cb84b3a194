"""CORE003: a generic finding gives way to a specific one of the same record."""

from bisect import bisect_left
from collections.abc import Iterator

from attribution.bundle.evidence import StreamKey
from attribution.events.event import Event
from attribution.rules.api import Absorb, EventDecision, EventView, FilterStage, event_filter


@event_filter(id="CORE003", name="specific-over-generic", since="0.1.0", stage=FilterStage.EARLY)
def specific_over_generic(view: EventView) -> Iterator[EventDecision]:
    """A record that a specific rule understands is not also reported by a generic one.

    Why: a traceback that ends in a CUDA out-of-memory error is one failure, and the specific name says what to do.
    Misses: records whose lines were torn apart by other writers, so that both findings stand.
    Next step: nothing; the generic finding counts for the specific one.
    """
    specific: dict[StreamKey, list[Event]] = {}
    generic: list[Event] = []
    for event in view.events:
        if event.generic:
            generic.append(event)
        else:
            specific.setdefault(event.key, []).append(event)
    lines = {key: sorted(events, key=lambda e: (_at(e), e.id)) for key, events in specific.items()}
    for event in generic:
        better = _inside(event, lines.get(event.key, []))
        if better is not None:
            yield Absorb(event, better, f"{better.rule} reads the same record more exactly", same_lines=True)


def _inside(generic: Event, specific: list[Event]) -> Event | None:
    """The last specific event within the lines of a generic one: the nearest to its decisive line."""
    first, last = generic.first_line or generic.line, max(generic.last_line, _at(generic))
    start = bisect_left(specific, first, key=_at)
    found = None
    for event in specific[start:]:
        if _at(event) > last:
            break
        if event.writer == generic.writer:
            found = event
    return found


def _at(event: Event) -> int:
    """The line that decides; of a record the sentence, since all sentences of one record stand in one place."""
    return event.line if event.in_order else event.last_line


CASES = """
- name: a traceback that ends in a CUDA out-of-memory error
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 10, in <module>
    node-01 +0.0s applog | torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.10 GiB is free.
  expect: |
    absorb node-01 +0.0s PYTHON_EXCEPTION into node-01 +0.0s CUDA_OUT_OF_MEMORY
- name: a traceback of the job's own code
  because: no specific rule reads it
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 10, in <module>
    node-01 +0.0s applog | ValueError: batch size must be positive
  expect: none
"""
