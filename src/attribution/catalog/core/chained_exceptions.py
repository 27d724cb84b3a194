"""CORE010: exceptions that were raised of one another are one failure, named by the one that says most."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from attribution.bundle.evidence import StreamKey
from attribution.events.event import Event
from attribution.rules.api import Absorb, EventDecision, EventView, FilterStage, event_filter

_MARKER = re.compile(
    rb"The above exception was the direct cause of the following exception:"
    rb"|During handling of the above exception, another exception occurred:"
)
_NEAR = 6
"""Lines from an exception to the traceback of the next one of its chain, with its marker between blank lines."""

_EXCEPTIONS = ("PYTHON_EXCEPTION", "LIBRARY_EXCEPTION", "FRAMEWORK_EXCEPTION")


@event_filter(id="CORE010", name="chained-exceptions", since="0.1.0", stage=FilterStage.EARLY)
def chained_exceptions(view: EventView) -> Iterator[EventDecision]:
    """Of two exceptions of a chain, the first stands for the second, unless only the second is of a kind that is known.

    Why: Python prints what was raised first, then what was raised of it; the last line of a log is often the least
    telling.
    Misses: chains that other ranks' lines tear apart, and first exceptions that were expected and handled.
    Next step: read the first traceback of the chain.
    """
    by_key: dict[StreamKey, list[Event]] = {}
    for event in sorted(view.events, key=lambda e: (e.line, e.id)):
        by_key.setdefault(event.key, []).append(event)
    for event in view.of(*_EXCEPTIONS):
        if event.generic and any(_MARKER.search(line) for line in event.after):
            yield from _of_chain(event, by_key[event.key])


def _of_chain(first: Event, around: Sequence[Event]) -> Iterator[EventDecision]:
    then = next((e for e in around if _is_next(first, e)), None)
    if then is None:
        return
    before, after = _known(first, around), _known(then, around)
    if after is None:
        yield Absorb(then, before or first, "it was raised of the exception above it")
    elif before is None:
        yield Absorb(first, after, "what was raised of it says more")


def _is_next(first: Event, then: Event) -> bool:
    near = first.last_line < then.first_line <= first.last_line + _NEAR
    return near and then.generic and then.symptom in _EXCEPTIONS and then.writer == first.writer


def _known(record: Event, around: Sequence[Event]) -> Event | None:
    """What a specific rule found within the lines of a traceback."""
    start = bisect_left(around, record.first_line, key=lambda event: event.line)
    for event in around[start:]:
        if event.line > max(record.line, record.last_line):
            break
        if not event.generic and event.writer == record.writer:
            return event
    return None


CASES = """
- name: raised from another
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/corpus.py", line 31, in load
    node-01 +0.0s applog | KeyError: 'labels'
    node-01 +0.0s applog |
    node-01 +0.0s applog | The above exception was the direct cause of the following exception:
    node-01 +0.0s applog |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 10, in <module>
    node-01 +0.0s applog | RuntimeError: loading failed
  expect: |
    absorb node-01 +0.0s PYTHON_EXCEPTION exception=RuntimeError into node-01 +0.0s PYTHON_EXCEPTION exception=KeyError
- name: only the second is of a known kind
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/cache.py", line 31, in load
    node-01 +0.0s applog | KeyError: 'labels'
    node-01 +0.0s applog |
    node-01 +0.0s applog | During handling of the above exception, another exception occurred:
    node-01 +0.0s applog |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 10, in <module>
    node-01 +0.0s applog | torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.10 GiB is free.
  expect: |
    absorb node-01 +0.0s PYTHON_EXCEPTION exception=KeyError into node-01 +0.0s CUDA_OUT_OF_MEMORY
- name: two tracebacks of two attempts
  because: nothing says that one was raised of the other
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/corpus.py", line 31, in load
    node-01 +0.0s applog | KeyError: 'labels'
    node-01 +0.0s applog | trying again
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 10, in <module>
    node-01 +0.0s applog | RuntimeError: loading failed
  expect: none
"""
