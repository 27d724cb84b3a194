"""K8S110: what objects of Kubernetes say of pods, jobs and nodes, as it is told."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role, Source, TerminalState
from attribution.events.symptom import SymptomType
from attribution.rules.api import NOWHERE, Finding, Match, PrintedBy, extractor

SYMPTOMS = (
    SymptomType(
        name="K8S_CONTAINER_NOT_STARTED",
        role=Role.EFFECT,
        meaning="a container that could not be started",
        tags=("process_end",),
        ends_job="usually",
        terminal_state=TerminalState.LAUNCH_FAILED,
    ),
)
_SUCCESS = frozenset({"Complete", "Completed", "Succeeded", "SuccessCriteriaMet"})
_FAILURE = frozenset({"Failed", "FailureTarget"})
_JOBS = ("Job", "JobSet", "Workload", "AppWrapper")
_NOT_STARTED = frozenset({"StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError"})
_SAID_ELSEWHERE = frozenset({"OOMKilled", "ContainerStatusUnknown", "Evicted"})
"""Ends of containers that other rules read; the exit code 137 beside them is no news."""
_RAY = {
    "SUCCEEDED": "SCHEDULER_COMPLETED",
    "FAILED": "SCHEDULER_FAILED",
    "STOPPED": "SCHEDULER_CANCELLED",
    "RUNNING": "SCHEDULER_RUNNING",
}
_RAY_REASONS = {"DeadlineExceeded": "SCHEDULER_TIME_LIMIT", "SubmissionFailed": "SCHEDULER_LAUNCH_FAILED"}


@extractor(
    id="K8S110",
    name="k8s-record",
    since="0.1.0",
    literals=(
        " container ",
        "=True",
        " jobStatus=",
        " jobDeploymentStatus=",
        "Node Ready=",
        " unhealthyNodes: ",
        " ready pods",
    ),
    pattern=(
        r"^pod/(?P<pod>\S+) container (?P<container>\S+) ended(?: before)?, reason: (?P<reason>\S+), exit code (?P<code>\d+)",
        r"^pod/(?P<pod>\S+) container (?P<container>\S+) (?P<runs>runs)$",
        r"^(?P<kind>[A-Z]\w+) (?P<name>[\w./-]+) (?P<condition>\w+)=True(?: (?P<reason>\w+))?(?:: (?P<message>.*))?",
        r"^(?P<kind>RayJob) (?P<name>\S+) jobStatus=(?P<ray>\w+)(?: jobDeploymentStatus=(?P<deployment>\w+))?"
        r"(?: (?P<reason>\w+):)?",
        r"^(?P<kind>RayJob) (?P<name>\S+) jobDeploymentStatus=(?P<deployment>\w+)(?: (?P<reason>\w+):)?",
        r"^Node Ready=(?P<ready>False|Unknown)(?: (?P<reason>\w+))?",
        r"^Workload (?P<name>\S+) (?P<unhealthy>unhealthyNodes): ",
        r"^(?P<kind>[A-Z]\w+) (?P<name>\S+) has (?P<pods>\d+) ready pods",
    ),
    emits=(
        "CONTAINER_STARTED",
        "K8S_CONTAINER_NOT_STARTED",
        "K8S_NODE_UNREADY",
        "PROCESS_EXIT_CODE",
        "SCHEDULER_CANCELLED",
        "SCHEDULER_COMPLETED",
        "SCHEDULER_FAILED",
        "SCHEDULER_LAUNCH_FAILED",
        "SCHEDULER_NODE_FAILED",
        "SCHEDULER_RUNNING",
        "SCHEDULER_TIME_LIMIT",
    ),
    printed_by=PrintedBy("Kubernetes, Kueue, KubeRay", "any", "objects of the API, told as sentences by this program"),
    sources=(Source.SCHEDULER,),
)
def k8s_record(match: Match) -> Iterator[Finding]:
    """Objects say how a container or a job ended, and whether a node still answers.

    Why: conditions and states are the cluster's own record; logs of a lost node may never come.
    Misses: what was deleted with its pod. 137 is a SIGKILL from anywhere, unless the reason says out of memory.
    Next step: read the log of the container, and what the kernel of its node said at that time.
    """
    if match["container"]:
        yield from _container(match)
    elif match["ready"]:
        lost = match["ready"] == "Unknown"
        yield Finding("SCHEDULER_NODE_FAILED" if lost else "K8S_NODE_UNREADY", {"reason": match["reason"]})
    elif match["unhealthy"]:
        yield Finding("SCHEDULER_NODE_FAILED", {"reason": "unhealthyNodes"})
    elif match["pods"]:
        yield Finding("SCHEDULER_RUNNING", {"object": match["name"]}, node=NOWHERE)
    else:
        symptom = _ray(match) if match["kind"] == "RayJob" and not match["condition"] else _job(match)
        if symptom:
            fields = {"object": f"{match['kind']} {match['name']}", "reason": match["reason"]}
            yield Finding(symptom, fields, node=NOWHERE)


def _container(match: Match) -> Iterator[Finding]:
    fields = {"pod": match["pod"], "container": match["container"], "code": match["code"], "reason": match["reason"]}
    if match["runs"]:
        yield Finding("CONTAINER_STARTED", fields)
    elif match["reason"] in _NOT_STARTED:
        yield Finding("K8S_CONTAINER_NOT_STARTED", fields)
    elif match["reason"] not in _SAID_ELSEWHERE and (match["code"] or "0").strip("0"):
        yield Finding("PROCESS_EXIT_CODE", fields)


def _job(match: Match) -> str | None:
    kind, condition, reason = match["kind"] or "", match["condition"] or "", match["reason"] or ""
    if not kind.endswith(_JOBS):
        return None
    if kind == "Workload" and condition == "Finished":
        failed = reason == "Failed" or (reason != "Succeeded" and "fail" in (match["message"] or "").lower())
        return "SCHEDULER_FAILED" if failed else "SCHEDULER_COMPLETED"
    if kind == "Workload":
        return "SCHEDULER_RUNNING" if condition == "PodsReady" else None
    if condition in _FAILURE:
        return "SCHEDULER_TIME_LIMIT" if reason == "DeadlineExceeded" else "SCHEDULER_FAILED"
    return "SCHEDULER_COMPLETED" if condition in _SUCCESS else None


def _ray(match: Match) -> str | None:
    by_reason = _RAY_REASONS.get(match["reason"] or "")
    if by_reason or match["ray"]:
        return by_reason or _RAY.get(match["ray"] or "")
    return "SCHEDULER_FAILED" if match["deployment"] == "Failed" else None


CASES = """
- name: containers
  given: |
    node-01 +0.0s scheduler | pod/team/train-0 container trainer ended, reason: Error, exit code 42
    node-01 +1.0s scheduler | pod/team/train-1 container trainer ended, reason: StartError, exit code 128
    node-01 +2.0s scheduler | pod/team/train-2 container trainer runs
  expect: |
    node-01 +0.0s PROCESS_EXIT_CODE code=42 pod=team/train-0
    node-01 +1.0s K8S_CONTAINER_NOT_STARTED pod=team/train-1
    node-01 +2.0s CONTAINER_STARTED container=trainer
- name: jobs that failed
  given: |
    node-01 +0.0s scheduler | Job team/train Failed=True PodFailurePolicy: Container trainer for pod team/train-0 failed
    node-01 +1.0s scheduler | Workload team/job-train-1 Finished=True Failed: Job failed
    node-01 +2.0s scheduler | JobSet team/train Failed=True FailedJobs: jobset failed
    node-01 +3.0s scheduler | PyTorchJob team/train Failed=True PyTorchJobFailed: 1 Worker replica(s) failed.
    node-01 +4.0s scheduler | RayJob team/train jobStatus=FAILED jobDeploymentStatus=Failed AppFailed: the entrypoint failed
  expect: |
    - +0.0s SCHEDULER_FAILED object="Job team/train" reason=PodFailurePolicy
    - +1.0s SCHEDULER_FAILED
    - +2.0s SCHEDULER_FAILED
    - +3.0s SCHEDULER_FAILED
    - +4.0s SCHEDULER_FAILED reason=AppFailed
- name: jobs that ended well, or run
  given: |
    node-01 +0.0s scheduler | Job team/train Complete=True
    node-01 +1.0s scheduler | Workload team/job-train-1 Finished=True JobFinished: Job finished successfully
    node-01 +2.0s scheduler | Workload team/job-train-1 PodsReady=True Started: All pods reached readiness
    node-01 +3.0s scheduler | Job team/train has 2 ready pods
    node-01 +4.0s scheduler | RayJob team/train jobStatus=SUCCEEDED jobDeploymentStatus=Complete
  expect: |
    - +0.0s SCHEDULER_COMPLETED object="Job team/train"
    - +1.0s SCHEDULER_COMPLETED
    - +2.0s SCHEDULER_RUNNING
    - +3.0s SCHEDULER_RUNNING
    - +4.0s SCHEDULER_COMPLETED
- name: time limits, a stop and a submission that failed
  given: |
    node-01 +0.0s scheduler | Job team/train Failed=True DeadlineExceeded: it took too long
    node-01 +1.0s scheduler | RayJob team/train jobStatus=STOPPED jobDeploymentStatus=Complete
    node-01 +2.0s scheduler | RayJob team/train jobDeploymentStatus=Failed SubmissionFailed: no answer
    node-01 +3.0s scheduler | RayJob team/train jobStatus=RUNNING jobDeploymentStatus=Failed DeadlineExceeded: it took too long
  expect: |
    - +0.0s SCHEDULER_TIME_LIMIT
    - +1.0s SCHEDULER_CANCELLED
    - +2.0s SCHEDULER_LAUNCH_FAILED
    - +3.0s SCHEDULER_TIME_LIMIT
- name: nodes
  given: |
    node-01 +0.0s scheduler | Node Ready=Unknown NodeStatusUnknown: Kubelet stopped posting node status.
    node-02 +1.0s scheduler | Node Ready=False KubeletNotReady: it is not ready
    node-03 +2.0s scheduler | Workload team/job-train-1 unhealthyNodes: node-03
  expect: |
    node-01 +0.0s SCHEDULER_NODE_FAILED reason=NodeStatusUnknown
    node-02 +1.0s K8S_NODE_UNREADY
    node-03 +2.0s SCHEDULER_NODE_FAILED
- name: what tells of no end
  because: a pod that is placed, one whose container ended well, and a quota say nothing of how the job ended
  given: |
    node-01 +0.0s scheduler | pod/team/train-0 PodScheduled=True
    node-01 +1.0s scheduler | pod/team/train-0 container init ended, reason: Completed, exit code 0
    node-01 +2.0s scheduler | Workload team/job-train-1 QuotaReserved=True QuotaReserved: Quota reserved
    node-01 +3.0s scheduler | Job team/train Suspended=True JobSuspended: Job suspended
  expect: none
"""
