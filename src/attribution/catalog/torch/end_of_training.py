"""TORCH111: the end of training is the good end of the job where nothing of it is known to have failed since."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.events.event import Event
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
    """A report that training is finished counts as the end of the job, unless a process ended badly or failed after it,
    or its log shows training since.

    Why: most programs say no more than this; what ranks print while they are taken down ends nothing.
    Misses: a last save or evaluation that fails without a word.
    Next step: nothing.
    """
    if any(view.types[event.symptom].role is not Role.CONTEXT for event in view.of(*_ENDINGS)):
        return
    failures, progress = view.of(*_FAILURES), view.of("tag:progress")
    for event in view.of("TRAINING_LOOP_ENDED"):
        later = (*failures, *(sign for sign in progress if sign.key == event.key and _is_step(sign)))
        if not any(view.order(event, other) is Order.BEFORE for other in later):
            yield Derive("RUN_COMPLETED", (event,), "nothing is known to have failed since")


def _is_step(sign: Event) -> bool:
    """Whether it is a step with its loss; bars are drawn once more at the end, and by evaluations too."""
    return "loss" in sign.text.lower() and "it/s" not in sign.text and "s/it" not in sign.text


CASES = """
- name: the last line of a trainer
  given: |
    node-01.rank0 +0.0s TRAINING_LOOP_ENDED
  expect: |
    derive node-01.rank0 +0.0s RUN_COMPLETED
- name: the bar is drawn once more
  given: |
    node-01.rank0/a +0.0s applog | {'train_runtime': 119.8187, 'train_loss': 1.2388, 'epoch': 2.57}
    node-01.rank0/a +0.1s applog | 100%|##########| 93/93 [01:59<00:00,  1.29s/it]
  expect: |
    derive node-01.rank0 +0.0s RUN_COMPLETED
- name: one of several trainings
  because: the next one follows
  given: |
    node-01.rank0/a +0.0s applog | INFO: training finished.
    node-01.rank0/a +60.0s applog | step 12 loss 2.31 lr 0.1
  expect: none
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
