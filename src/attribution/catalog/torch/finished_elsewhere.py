"""TORCH110: where a rank reports the good end of the job and nothing says that a process failed, errors were survived."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role, Source, TerminalState
from attribution.events.moment import Order
from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_ENDINGS = ("tag:process_end", "tag:scheduler_end", "tag:memory_limit")
_TAKEN_DOWN = ("XID_45",)
"""What the driver reports of channels that were open when their process ended, however it ended."""


@event_filter(id="TORCH110", name="finished-elsewhere", since="0.1.0", stage=FilterStage.MAIN)
def finished_elsewhere(view: EventView) -> Iterator[EventDecision]:
    """Errors in the logs of other ranks are set aside where one rank reports a good end and no process is said to fail.

    Why: the ranks of a job work in step, so none finishes well while another has died; what it logged it had caught, and
    connections that are lost as all are taken down end nothing.
    Misses: jobs whose ranks work alone, and failures after the end that no launcher, kernel or scheduler reports.
    Next step: nothing; the errors stay listed as context.
    """
    good = [
        event
        for name, kind in view.types.items()
        if kind.terminal_state is TerminalState.COMPLETED
        for event in view.of(name)
        if event.key.source is Source.APPLOG
    ]
    if not good or any(view.types[event.symptom].role is not Role.CONTEXT for event in view.of(*_ENDINGS)):
        return
    failures = view.of("tag:app_failure")
    if any(view.order(end, failure) is Order.BEFORE and end.key == failure.key for failure in failures for end in good):
        return
    streams = {end.key for end in good}
    elsewhere = [failure for failure in failures if failure.key not in streams]
    for error in (*elsewhere, *view.of("tag:collective_echo", *_TAKEN_DOWN)):
        yield SetContext(error, "survived: a rank reports the good end of the job, and no process failed")


CASES = """
- name: a sample that one rank could not read
  given: |
    node-02.rank9 +0.0s applog | OSError: image file is truncated (17 bytes not processed)
    node-01.rank0 +900.0s applog | [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.
  expect: |
    context node-02.rank9 +0.0s FILE_CORRUPT
- name: a connection that is lost as all are taken down
  given: |
    node-01.rank0 +0.0s applog | [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.
    node-02 +1.0s TORCH_STORE_LOST
  expect: |
    context node-02 +1.0s TORCH_STORE_LOST
- name: channels that were open as the process ended
  given: |
    node-01.rank0 +0.0s TRAINING_LOOP_ENDED
    node-01.rank0 +0.0s applog | [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.
    node-02 +1.0s XID_45 gpu:pci=0000:52:00
  expect: |
    context node-02 +1.0s XID_45
- name: a launcher reports that a process failed
  because: the rank may have been one that finished before
  given: |
    node-02.rank9 +0.0s applog | OSError: image file is truncated (17 bytes not processed)
    node-01 +1.0s PROCESS_EXIT_CODE
    node-01.rank0 +900.0s applog | [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.
  expect: none
"""
