"""K8S004: a workload was preempted for another one."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import NOWHERE, Finding, Match, PrintedBy, extractor


@extractor(
    id="K8S004",
    name="k8s-preempted",
    since="0.1.0",
    literals=("Preempted by ", "PreemptionByScheduler", "preempting to accommodate", "Preempted to accommodate"),
    pattern=(
        r"\bPreempted by (?:a )?(?:pod )?(?P<by>\S+)(?: on node (?P<host>[\w.-]+))?",
        r"\bPreemptionByScheduler\b",
        r"preempting to accommodate a higher priority pod",
        r"Preempted to accommodate a workload",
    ),
    emits=("SCHEDULER_PREEMPTED",),
    printed_by=PrintedBy(
        "Kubernetes, Kueue", ">=1.16", "preemption of kube-scheduler; DisruptionTarget condition; Kueue preemption"
    ),
    sources=(Source.SCHEDULER, Source.APPLOG, Source.SYSLOG),
)
def k8s_preempted(match: Match) -> Iterator[Finding]:
    """A workload was preempted for another one.

    Why: nothing was wrong with it; it lost its place to a higher priority or to the owner of the quota.
    Misses: evictions by other tools that give no reason.
    Next step: start again; check the priority class and the borrowing of the queue.
    """
    yield Finding("SCHEDULER_PREEMPTED", {"by": match["by"]}, node=match["host"] or NOWHERE)


CASES = """
- name: scheduler
  given: |
    node-01 +0.0s scheduler | Normal  Preempted  1s  default-scheduler  Preempted by team/urgent-0 on node node-02
  expect: |
    node-02 +0.0s SCHEDULER_PREEMPTED by=team/urgent-0
- name: condition
  given: |
    node-01 +0.0s scheduler | kube-scheduler: preempting to accommodate a higher priority pod, reason PreemptionByScheduler
  expect: |
    - +0.0s SCHEDULER_PREEMPTED
- name: Kueue
  given: |
    node-01 +0.0s scheduler | Preempted to accommodate a workload (UID: 1f0c, JobUID: 77ab) due to reclamation within the cohort
  expect: |
    - +0.0s SCHEDULER_PREEMPTED
- name: another form
  given: |
    node-01 +0.0s scheduler |     message: 'scheduler: preempting to accommodate a higher priority pod'
  expect: |
    - +0.0s SCHEDULER_PREEMPTED
- name: a training log
  because: it is a word of a class name
  given: |
    node-01 +0.0s scheduler | loaded callback StopWhenPreemptionBySchedulerSoon
  expect: none
"""
