"""TORCH111: the end of training is the good end of the job where nothing of it is known to have failed since."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.events.moment import Order
from attribution.rules.api import Derive, EventDecision, EventView, FilterStage, event_filter

_FAILURES = ("tag:app_failure", "tag:memory_limit")
_ENDINGS = ("tag:process_end", "tag:scheduler_end")


@event_filter(
    id="TORCH111",
    name="end-of-training",
    since="0.1.0",
    stage=FilterStage.EARLY,
    needs=("TRAINING_LOOP_ENDED",),
    emits=("RUN_COMPLETED",),
)
def end_of_training(view: EventView) -> Iterator[EventDecision]:
    """A report that training is finished counts as the end of the job, unless a process ended badly or failed after it.

    Why: most programs say no more than this; what ranks print while they are taken down ends nothing.
    Misses: a last save or evaluation that fails without a word.
    Next step: nothing.
    """
    if any(view.types[event.symptom].role is not Role.CONTEXT for event in view.of(*_ENDINGS)):
        return
    failures = view.of(*_FAILURES)
    for event in view.of("TRAINING_LOOP_ENDED"):
        if not any(view.order(event, failure) is Order.BEFORE for failure in failures):
            yield Derive("RUN_COMPLETED", (event,), "nothing is known to have failed since")


CASES = """
- name: the last line of a trainer
  given: |
    node-01.rank0 +0.0s TRAINING_LOOP_ENDED
  expect: |
    derive node-01.rank0 +0.0s RUN_COMPLETED
- name: an evaluation that failed then
  because: the program ended with that
  given: |
    node-01.rank0 +0.0s TRAINING_LOOP_ENDED
    node-01.rank0 +60.0s PYTHON_EXCEPTION
  expect: none
- name: a launcher reports a failure
  because: some process ended badly
  given: |
    node-01.rank0 +0.0s TRAINING_LOOP_ENDED
    node-01 +1.0s PROCESS_EXIT_CODE
  expect: none
"""
