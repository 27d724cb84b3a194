"""SLURM103: what a controller's log says of other jobs and of nodes that the job did not have informs only."""

import re
from collections.abc import Iterator

from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Source
from attribution.events.event import Event
from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_OF_A_JOB = (
    "SCHEDULER_TIME_LIMIT",
    "SCHEDULER_PREEMPTED",
    "SCHEDULER_NODE_FAILED",
    "SCHEDULER_CANCELLED",
    "SCHEDULER_OUT_OF_MEMORY",
    "SCHEDULER_FAILED",
    "SCHEDULER_COMPLETED",
    "SLURM_PROLOG_FAILED",
    "STEP_CANCELLED",
    "STEP_OUT_OF_MEMORY",
    "PROCESS_EXIT_CODE",
)
_OF_A_NODE = ("SCHEDULER_NODE_FAILED", "SLURM_NODE_DOWN", "SLURM_PROLOG_FAILED", "NODE_REBOOTED", "STEP_UNKILLABLE")
_ID = re.compile(r"\d+")
_STEP = re.compile(r"\bstep (\d+)\.")


@event_filter(id="SLURM103", name="slurm-other-jobs", since="0.1.0", stage=FilterStage.EARLY)
def slurm_other_jobs(view: EventView) -> Iterator[EventDecision]:
    """A line that names another job, or a node that the job did not have, is set aside.

    Why: the controller writes of the whole cluster, and on a large one something fails every minute.
    Misses: attempts whose job id and nodes the context does not give: there every line counts.
    Next step: give the job id and the nodes in the context.
    """
    jobs, nodes = _jobs(view.context), _nodes(view.context)
    for event in view.of(*_OF_A_JOB) if jobs else ():
        named = _named(event)
        if named is not None and named not in jobs:
            well = event.symptom == "SCHEDULER_COMPLETED"  # how another job ended well says nothing of this one
            yield SetContext(event, "it names another job", out_of_window=well)
    for event in view.of(*_OF_A_NODE) if nodes else ():
        cluster_wide = event.key.source is Source.SCHEDULER and event.key.stream != "context"
        if cluster_wide and event.node is not None and event.node != event.key.node and event.node not in nodes:
            yield SetContext(event, "it names a node that the job did not have")


def _named(event: Event) -> str | None:
    """The job that a line names, be it only by the step that slurmstepd puts before its words: `[81234.0]`."""
    found = _ID.match(event.get("job") or event.get("step") or "")
    writer = None if found else _STEP.search(event.writer)
    return writer[1] if writer else found[0] if found else None


def _jobs(context: ExecutionContext) -> frozenset[str]:
    # The index of a task within its array is no id.
    found = (_ID.match(value) for key, value in context.scheduler_ids.items() if key != "array_task")
    return frozenset(match[0] for match in found if match)


def _nodes(context: ExecutionContext) -> frozenset[str]:
    return frozenset() if "nodes" in context.inferred else frozenset(node.name for node in context.nodes)


CASES = """
- name: another job and another node
  context: {scheduler_ids: {job: '81234'}, nodes: [{name: node-01}, {name: node-02}]}
  given: |
    node-01 +0.0s scheduler | _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=81235 uid 1007
    node-01 +1.0s scheduler | error: Nodes node-09 not responding, setting DOWN
    node-01 +2.0s scheduler | error: Nodes node-02 not responding, setting DOWN
  expect: |
    context - +0.0s SCHEDULER_CANCELLED job=81235
    context node-09 +1.0s SLURM_NODE_DOWN
- name: a step of another job on the same node
  context: {scheduler_ids: {job: '81234'}, nodes: [{name: node-01}]}
  given: |
    node-01 +0.0s syslog | slurmstepd: error: Detected 1 oom_kill event in StepId=81235.0. Some of the step tasks have been OOM Killed.
    node-01 +1.0s syslog | slurmstepd: error: Detected 1 oom_kill event in StepId=81234.0. Some of the step tasks have been OOM Killed.
  expect: |
    context node-01 +0.0s STEP_OUT_OF_MEMORY step=81235.0
- name: a step that only its mark in the log of slurmd names
  context: {scheduler_ids: {job: '81234', array_job: '81230', array_task: '7'}, nodes: [{name: node-01}]}
  given: |
    node-01 +0.0s scheduler | [2026-01-01T00:00:00.000] [7.0] get_exit_code task 0 died by signal: 11
    node-01 +1.0s scheduler | [2026-01-01T00:00:01.000] [81234.0] get_exit_code task 0 died by signal: 11
  expect: |
    context node-01 +0.0s PROCESS_EXIT_CODE signal=11
- name: the job itself
  because: it is the attempt in question
  context: {scheduler_ids: {job: '81234'}, nodes: [{name: node-01}]}
  given: |
    node-01 +0.0s scheduler | _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=81234 uid 1007
  expect: none
- name: nothing is known of the job
  because: no line can be told apart
  given: |
    node-01 +0.0s scheduler | error: Nodes node-09 not responding, setting DOWN
  expect: none
"""
