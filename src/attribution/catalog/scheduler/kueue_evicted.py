"""K8S016: Kueue took a workload out of the queue, and says for which reason."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Action, Role, Source, SubDomain, TerminalState
from attribution.events.symptom import SymptomType
from attribution.rules.api import NOWHERE, Finding, Match, PrintedBy, extractor

SYMPTOMS = (
    SymptomType(
        name="KUEUE_EVICTED",
        role=Role.CAUSE,
        meaning="an eviction from the queue",
        sub_domain=SubDomain.SCHEDULER,
        actions=(Action.COLLECT_MORE, Action.RETRY_LATER),
        tags=("scheduler_end",),
        ends_job="usually",
        terminal_state=TerminalState.PREEMPTED,
    ),
    SymptomType(
        name="KUEUE_PODS_NOT_READY",
        role=Role.CAUSE,
        meaning="pods that did not become ready in time",
        sub_domain=SubDomain.SCHEDULER,
        actions=(Action.COLLECT_MORE, Action.RETRY_LATER),
        tags=("scheduler_end",),
        ends_job="sometimes",
        terminal_state=TerminalState.LAUNCH_FAILED,
    ),
)
_ENDINGS = (
    ("PodsReady", "KUEUE_PODS_NOT_READY"),
    ("RequeuingLimitExceeded", "KUEUE_PODS_NOT_READY"),
    ("MaximumExecutionTimeExceeded", "SCHEDULER_TIME_LIMIT"),
    ("Preempted", "SCHEDULER_PREEMPTED"),
    ("NodeFailures", "SCHEDULER_NODE_FAILED"),
    ("Queue", "SCHEDULER_CANCELLED"),
    ("Deactivated", "SCHEDULER_CANCELLED"),
    ("InactiveWorkload", "SCHEDULER_CANCELLED"),
)
"""A part of the reason, and what it comes to; the first that fits counts. Any other is an eviction."""


@extractor(
    id="K8S016",
    name="kueue-evicted",
    since="0.1.0",
    literals=(
        "EvictedDueTo",
        " Evicted=True ",
        "Exceeded the PodsReady timeout",
        "At least one admission check",
        "The ClusterQueue is stopped",
        "The LocalQueue is stopped",
    ),
    pattern=(
        r"EvictedDueTo(?P<reason>[A-Z]\w{2,80})",
        r"^Workload \S+ Evicted=True (?P<reason>[A-Z]\w{2,80})",
        r"(?P<reason>Exceeded the PodsReady timeout)",
        r"(?P<reason>At least one admission check is false)",
        r"(?P<reason>The (?:Cluster|Local)Queue is stopped)",
    ),
    emits=(
        "KUEUE_EVICTED",
        "KUEUE_PODS_NOT_READY",
        "SCHEDULER_CANCELLED",
        "SCHEDULER_NODE_FAILED",
        "SCHEDULER_PREEMPTED",
        "SCHEDULER_TIME_LIMIT",
    ),
    printed_by=PrintedBy("Kueue", ">=0.4", "workload controller: Evicted condition and events"),
    sources=(Source.SCHEDULER, Source.APPLOG, Source.SYSLOG),
)
def kueue_evicted(match: Match) -> Iterator[Finding]:
    """Kueue took a workload out of the queue or stopped it.

    Why: other work, a lost node, a limit, a person, an admission check or pods that never became ready: the reason
    tells whether anything is to be mended.
    Misses: what made pods or checks late.
    Next step: look at the reason: pods that did not become ready point at images, nodes or volumes.
    """
    reason = match["reason"] or ""
    symptom = next((name for part, name in _ENDINGS if part in reason), "KUEUE_EVICTED")
    yield Finding(symptom, {"reason": reason}, node=NOWHERE)


CASES = """
- name: pods not ready
  given: |
    node-01 +0.0s scheduler | Normal  EvictedDueToPodsReadyTimeout  1s  workload-controller  Exceeded the PodsReady timeout team/train
  expect: |
    - +0.0s KUEUE_PODS_NOT_READY reason=PodsReadyTimeout
- name: deactivated after too many attempts, and by a person
  given: |
    node-01 +0.0s scheduler | Workload team/train Evicted=True DeactivatedDueToRequeuingLimitExceeded: The workload is deactivated due to exceeding the maximum number of re-queuing retries
    node-01 +1.0s scheduler | Workload team/train Evicted=True Deactivated: The workload is deactivated
    node-01 +2.0s scheduler | Normal  EvictedDueToInactiveWorkload  1s  workload-controller  The workload is deactivated
  expect: |
    - +0.0s KUEUE_PODS_NOT_READY
    - +1.0s SCHEDULER_CANCELLED reason=Deactivated
    - +2.0s SCHEDULER_CANCELLED reason=InactiveWorkload
- name: other work, a lost node, a limit
  given: |
    node-01 +0.0s scheduler | Normal  EvictedDueToPreempted  1s  workload-controller  made room
    node-01 +1.0s scheduler | Workload team/train Evicted=True NodeFailures: Workload was evicted as there was no replacement for a failed node
    node-01 +2.0s scheduler | Normal  EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded  1s  kueue-admission  exceeded the maximum execution time
  expect: |
    - +0.0s SCHEDULER_PREEMPTED reason=Preempted
    - +1.0s SCHEDULER_NODE_FAILED reason=NodeFailures
    - +2.0s SCHEDULER_TIME_LIMIT
- name: its other forms
  given: |
    node-01 +0.0s scheduler |     message: Exceeded the PodsReady timeout team/train
    node-01 +1.0s scheduler |     message: At least one admission check is false
    node-01 +2.0s scheduler |     message: The ClusterQueue is stopped
  expect: |
    - +0.0s KUEUE_PODS_NOT_READY reason="Exceeded the PodsReady timeout"
    - +1.0s KUEUE_EVICTED reason="At least one admission check is false"
    - +2.0s SCHEDULER_CANCELLED reason="The ClusterQueue is stopped"
- name: in the queue again
  because: the eviction is history
  given: |
    node-01 +0.0s scheduler | Workload team/train Evicted=False QuotaReserved: an earlier attempt was evicted
    node-01 +1.0s scheduler | the policy EvictedDueTo is set
  expect: none
"""
