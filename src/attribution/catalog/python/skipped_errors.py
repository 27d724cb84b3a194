"""PY085: an error beside which the program says that it goes on did not end it."""

from collections import Counter
from collections.abc import Iterator

from attribution.events.event import Event
from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_NEAR_LINES = 2
"""How far from its record the program says so; lines of other writers may come between."""


@event_filter(
    id="PY085",
    name="skipped-errors",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("ERROR_SKIPPED",),
)
def skipped_errors(view: EventView) -> Iterator[EventDecision]:
    """An exception is set aside where its writer says, in the lines around it, that it goes on without.

    Why: a data loader that skips a broken image logs the whole traceback, a search for the batch size runs out of
    memory on purpose; what ended the job is something else.
    Misses: exceptions of which there are more than the program says it skipped, for one of them may have ended it.
    Next step: look at what came last.
    """
    signs: dict[object, list[int]] = {}
    said: Counter[object] = Counter()
    for sign in view.of("ERROR_SKIPPED"):
        signs.setdefault((sign.key, sign.writer), []).append(sign.line)
        said[sign.key, sign.writer] += sign.count
    for event in view.of("tag:app_failure", "tag:memory_limit"):
        place = (event.key, event.writer)
        if event.count <= said[place] and any(_is_near(event, line) for line in signs.get(place, ())):
            yield SetContext(event, "the program says that it goes on without it")


def _is_near(event: Event, line: int) -> bool:
    return event.first_line - _NEAR_LINES <= line <= event.last_line + _NEAR_LINES


CASES = """
- name: a broken image of a data loader
  given: |
    node-01 +0.0s applog | ERROR sample 91000 could not be decoded and is left out
    node-01 +0.0s applog | OSError: image file is truncated (17 bytes not processed)
    node-01 +0.0s applog | INFO continuing with the next sample
  expect: |
    context node-01 +0.0s FILE_CORRUPT
- name: a search for the largest batch
  given: |
    node-01 +0.0s applog | torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB.
    node-01 +0.0s applog | Batch size 32 failed, trying batch size 16
  expect: |
    context node-01 +0.0s CUDA_OUT_OF_MEMORY
- name: an error after the one that was skipped
  because: nothing says that it was skipped too
  given: |
    node-01 +0.0s applog | INFO continuing with the next sample
    node-01 +1.0s applog | step 12 loss 2.31
    node-01 +2.0s applog | step 13 loss 2.30
    node-01 +3.0s applog | OSError: image file is truncated (17 bytes not processed)
  expect: none
- name: what another rank skips
  because: who skips something speaks of its own errors
  given: |
    node-01 +0.0s applog | [rank0]: OSError: image file is truncated (17 bytes not processed)
    node-01 +0.0s applog | [rank1]: INFO continuing with the next sample
  expect: none
"""
