"""SLURM114: a job that the controller closed with exit code 0 completed, where no process of it is known to have failed."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.rules.api import Derive, EventDecision, EventView, FilterStage, event_filter

_ENDINGS = ("tag:process_end", "tag:scheduler_end", "tag:memory_limit")


@event_filter(
    id="SLURM114",
    name="slurm-ended-well",
    since="0.1.0",
    stage=FilterStage.EARLY,
    needs=("SLURM_JOB_EXIT_ZERO",),
    emits=("SCHEDULER_COMPLETED",),
)
def slurm_ended_well(view: EventView) -> Iterator[EventDecision]:
    """The controller's exit code 0 is the good end of the job, unless a process, a node or the scheduler ended it.

    Why: the accounting record of such a job says COMPLETED; the line of the controller is the same word.
    Misses: scripts that end with 0 although their program failed without a word.
    Next step: nothing.
    """
    if any(view.types[event.symptom].role is not Role.CONTEXT for event in view.of(*_ENDINGS)):
        return
    closed = view.of("SLURM_JOB_EXIT_ZERO")
    if len({event.get("job") for event in closed}) == 1:
        yield Derive("SCHEDULER_COMPLETED", closed[:1], "no process of it is known to have failed", absorbs=False)


CASES = """
- name: closed with 0
  given: |
    node-01 +0.0s scheduler | _job_complete: JobId=81234 WEXITSTATUS 0
  expect: |
    derive - +0.0s SCHEDULER_COMPLETED
- name: a task failed
  because: the script hides it
  given: |
    node-01 +0.0s applog | srun: error: node-02: task 3: Exited with exit code 1
    node-01 +1.0s scheduler | _job_complete: JobId=81234 WEXITSTATUS 0
  expect: none
- name: two jobs
  because: nothing says which is meant
  given: |
    node-01 +0.0s scheduler | _job_complete: JobId=81234 WEXITSTATUS 0
    node-01 +1.0s scheduler | _job_complete: JobId=81235 WEXITSTATUS 0
  expect: none
"""
