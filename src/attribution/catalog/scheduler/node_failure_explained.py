"""SLURM104: a node failure of which the scheduler names no node is explained by the node that broke."""

from collections.abc import Iterator

from attribution.events.moment import SECOND, Order
from attribution.events.symptom import Symptom
from attribution.rules.api import Attribute, Decision, Demote, JobView, RefineStage, refiner

_WITHIN_US = 1800 * SECOND


@refiner(
    id="SLURM104",
    name="node-failure-explained",
    since="0.1.0",
    stage=RefineStage.JOB,
    needs=("SCHEDULER_NODE_FAILED",),
)
def node_failure_explained(job: JobView) -> Iterator[Decision]:
    """A fault or the loss of one of the job's nodes within half an hour explains that the job lost a node.

    Why: Slurm ends the job with a line that is the same for every node; the controller says which one it lost, and the
    kernel or BMC of that one says why.
    Misses: a second node that failed for another reason at the same time; and nodes that no evidence names, beside
    the only one that some does.
    Next step: deal with the fault that is named.
    """
    faults = [s for s in job.all("tag:host_fault", "tag:gpu_hard_fault") if s.name != "SCHEDULER_NODE_FAILED"]
    named = [s for s in job.all("SCHEDULER_NODE_FAILED", "SLURM_NODE_DOWN") if s.node is not None]
    for symptom in job.all("SCHEDULER_NODE_FAILED"):
        if symptom.node is not None:
            continue
        before = [s for s in faults if job.order(s, symptom) is not Order.AFTER]
        cause = next((s for s in (*before, *named) if _near(s, symptom)), None)
        if cause is not None:
            yield Demote(symptom, cause, f"the scheduler lost a node after {cause.type.meaning}")
        elif len(job.context.nodes) == 1:
            yield Attribute(symptom, "the attempt had no other node", node=job.context.nodes[0].name)


def _near(cause: Symptom, effect: Symptom) -> bool:
    a, b = cause.last.moment, effect.first.moment
    if a is None or b is None or a.basis is not b.basis or a.inherited or b.inherited:
        return True
    return abs(b.us - a.us) <= _WITHIN_US


CASES = """
- name: a panic on one node, the failure in the job's output
  given: |
    node-02 +0.0s KERNEL_PANIC
    node-01 +90.0s applog | slurmstepd: error: *** JOB 81234 ON node-01 CANCELLED AT 2026-01-01T00:01:30 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***
  expect: |
    demote - SCHEDULER_NODE_FAILED by node-02 KERNEL_PANIC
- name: the controller names the node that it lost
  given: |
    node-01 +0.0s scheduler | error: Nodes node-04 not responding, setting DOWN
    node-01 +0.0s scheduler | Slurm job 81234 NODE_FAIL, exit code 0:0, on node-[03-04]
  expect: |
    demote - SCHEDULER_NODE_FAILED by node-04 SLURM_NODE_DOWN
- name: a job of one node
  context: {nodes: [{name: node-01}]}
  given: |
    node-01 +90.0s applog | slurmstepd: error: *** JOB 81234 ON node-01 CANCELLED AT 2026-01-01T00:01:30 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***
  expect: |
    attribute - SCHEDULER_NODE_FAILED node=node-01
- name: the scheduler names another node
  because: that node failed for a reason of its own
  given: |
    node-02 +0.0s KERNEL_PANIC
    node-01 +90.0s scheduler | Killing JobId=81234 on failed node node-03
  expect: none
"""
