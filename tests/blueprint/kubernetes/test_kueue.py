"""Attempts on Kubernetes: which there are, how they ended, where they ran, and what is evidence of it."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from attribution.blueprint.attempt import Attempt, Query, Unusable
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.context.kueue import Kueue, KueueSettings
from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Format, Scheduler, Source, Status
from attribution.testing import Reply, context_connector_complies

from tests.blueprint.kubernetes.double import BOTH_WAYS, Cluster, FakeKubectl, Reached, Thing
from tests.blueprint.kubernetes.things import (
    SPACE,
    admitted,
    at,
    condition,
    container,
    ended,
    event,
    evicted,
    failed_job,
    job,
    made,
    node,
    owner,
    pod,
    template,
    uid,
    workload,
)

LONG_AGO = 20 * 365 * 86400
ALL = Query()
PREEMPTED = "Preempted to accommodate a workload (UID: u, JobUID: j) due to prioritization in the ClusterQueue"


def kueue(reached: Reached, **changes: Any) -> Kueue:
    return Kueue(KueueSettings(**reached.settings, **{"lookback_secs": LONG_AGO} | changes))


def found(reached: Reached, query: Query = ALL, **changes: Any) -> list[Attempt]:
    with closing(kueue(reached, **changes)) as connector:
        items = list(connector.discover(query))
    assert not [item for item in items if isinstance(item, Unusable)], items
    return [item for item in items if isinstance(item, Attempt)]


def only(reached: Reached, query: Query = ALL, **changes: Any) -> ExecutionContext:
    (attempt,) = found(reached, query, **changes)
    return attempt.context


def oom(cluster: Cluster) -> None:
    """A job of two pods, of which one outgrew its memory."""
    own = failed_job()
    first = pod(own, 0, 11, "node-01", "Failed", ended(1, "Error", 601))
    second = pod(own, 1, 12, "node-02", "Failed", ended(137, "OOMKilled"))
    finished = condition("Finished", "True", "Failed", "Job has reached the specified backoff limit", 602)
    queued = workload(own, 21, *admitted(), finished)
    cluster.add(own, first, second, queued, node("node-01"), node("node-02"))
    cluster.add(event(own, 1, "BackoffLimitExceeded", "Job has reached the specified backoff limit", 602))
    cluster.add(event(node("node-02"), 2, "OOMKilling", "Memory cgroup out of memory: Killed process 7", 600))


@BOTH_WAYS
def test_it_complies(reached: Reached) -> None:
    oom(reached.cluster)
    (attempt,) = context_connector_complies(kueue(reached))
    assert attempt.context.name == "train"


@BOTH_WAYS
def test_a_failed_job_with_all_that_is_known_of_it(reached: Reached) -> None:
    oom(reached.cluster)
    context = only(reached)
    assert context.model_dump(exclude_defaults=True, mode="json") == {
        "workload_id": f"{SPACE}.train.00000001",
        "scheduler": "kueue",
        "scheduler_ids": {
            "namespace": SPACE,
            "name": "train",
            "uid": uid(1),
            "kind": "Job",
            "api_version": "batch/v1",
            "workload": "job-train-1a2b3",
        },
        "name": "train",
        "launch_command": "python train.py",
        "submitted_at": at(10),
        "started_at": at(55),
        "ended_at": at(602),
        "scheduler_state": "Failed",
        "exit_code": 137,
        "signal": 9,
        "reason": "BackoffLimitExceeded: Job has reached the specified backoff limit",
        "nodes": [
            {"name": "node-01", "aliases": ["10.0.0.1", "10.1.0.11", "train-0-0000b"], "ranks": [0]},
            {"name": "node-02", "aliases": ["10.0.0.2", "10.1.0.12", "train-1-0000c"], "ranks": [1]},
        ],
        "nranks": 2,
        "ranks_per_node": 1,
        "inferred": ["ranks"],
    }


def test_its_objects_pods_events_and_nodes_are_evidence(reached: Reached) -> None:
    oom(reached.cluster)
    (attempt,) = found(reached)
    held: dict[str, list[str]] = {}
    for item in attempt.evidence:
        assert (item.source, item.format, item.status) == (Source.SCHEDULER, Format.KUBERNETES_OBJECTS, Status.OK)
        held[item.stream] = [f"{o['kind']} {o['metadata']['name']}" for o in json.loads(item.body)["items"]]
    assert held == {
        "objects": ["Workload job-train-1a2b3", "Job train"],
        "pods": ["Pod train-0-0000b", "Pod train-1-0000c"],
        "events": ["Event train.1"],
        "nodes": ["Node node-01", "Node node-02"],
        "node events": ["Event node-02.2"],
    }


def test_what_may_be_secret_is_no_evidence(reached: Reached) -> None:
    own = failed_job()
    own["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}
    held = pod(own, 0, 11, env={"API_TOKEN": "hunter2"}, command="python train.py --hub-token hunter2")
    reached.cluster.add(own, held)
    (attempt,) = found(reached)
    assert "hunter2" not in "".join(item.body for item in attempt.evidence)
    assert attempt.context.launch_command == "python train.py --hub-token ***"


def test_an_event_of_a_newer_reporter_has_a_series(reached: Reached) -> None:
    own = failed_job()
    newer = {"eventTime": at(100), "firstTimestamp": None, "lastTimestamp": None, "count": None}
    inside = event(own, 1, "Stalled", "m", 0, **newer, series={"count": 3, "lastObservedTime": at(500)})
    after = event(own, 2, "Cleaned", "m", 0, **newer | {"eventTime": at(602 + 16 * 60)})
    reached.cluster.add(own, pod(own, 0, 11), inside, after)
    (attempt,) = found(reached)
    (events,) = [item for item in attempt.evidence if item.stream == "events"]
    assert [item["reason"] for item in json.loads(events.body)["items"]] == ["Stalled"]


@BOTH_WAYS
@pytest.mark.parametrize(
    ("denied", "stream", "words"),
    [
        ("list events", "events", 'cannot list resource "events"'),
        ("get nodes", "nodes", 'cannot get resource "nodes"'),
        ("list pods", "pods", 'cannot list resource "pods"'),
    ],
)
def test_a_missing_right_is_not_nothing_there(reached: Reached, denied: str, stream: str, words: str) -> None:
    oom(reached.cluster)
    reached.cluster.denied = {denied}
    (attempt,) = found(reached, standings=("failed",))
    (told,) = [item for item in attempt.evidence if item.stream == stream]
    assert (told.status, told.body) == (Status.ERROR, "") and words in (told.reason or "")
    if stream == "pods":
        assert "may not be listed" in (attempt.context.partial or "")


def test_events_that_are_no_more_are_empty_not_refused(reached: Reached) -> None:
    own = failed_job()
    reached.cluster.add(own, pod(own, 0, 11))
    (attempt,) = found(reached)
    (told,) = [item for item in attempt.evidence if item.stream == "events"]
    assert (told.status, told.reason) == (Status.EMPTY, "the cluster keeps no event of it, or none any more")


# --- Kueue ------------------------------------------------------------------------------------------------------------


def test_a_preempted_workload(reached: Reached) -> None:
    own = job(suspend=True)
    own["status"]["conditions"] = [condition("Suspended", "True", "JobSuspended", "Job suspended", 300)]
    stats = {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]}
    reached.cluster.add(
        own,
        workload(
            own,
            21,
            *evicted("Preempted", PREEMPTED, 300),
            condition("Preempted", "True", "InClusterQueue", PREEMPTED, 300),
            schedulingStats=stats,
            accumulatedPastExecutionTimeSeconds=240,
        ),
    )
    context = only(reached)
    assert (context.scheduler_state, context.attempt) == ("Preempted", 1)
    assert context.reason and context.reason.startswith("Evicted: Preempted (InClusterQueue): Preempted to accommodate")
    assert (context.started_at, context.ended_at) == tuple(map(_instant, (at(60), at(300))))
    assert context.partial == "its pods are gone, so its nodes and ranks are not known"


def test_the_same_from_a_cluster_with_the_older_version(reached: Reached) -> None:
    reached.cluster.groups["kueue.x-k8s.io"] = ["v1beta1"]
    own = job()
    spelt_so = {"accumulatedPastExexcutionTimeSeconds": 240}
    queued = workload(own, 21, *evicted("Preempted", PREEMPTED, 300), **spelt_so)
    queued["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    reached.cluster.add(own, queued)
    (attempt,) = found(reached)
    assert attempt.context.started_at == _instant(at(60))
    assert '"apiVersion":"kueue.x-k8s.io/v1beta1"' in attempt.evidence[0].body


def test_a_requeued_workload_has_two_attempts(reached: Reached) -> None:
    """Re-admitted, it says of its eviction only that it was; the event still has its time."""
    own = failed_job()
    words = f"Previously: {PREEMPTED}"
    queued = workload(
        own,
        21,
        *admitted(400),
        condition("Evicted", "False", "QuotaReserved", words, 400),
        condition("Requeued", "True", "Preempted", PREEMPTED, 302),
        condition("Finished", "True", "Failed", "Job has reached the specified backoff limit", 602),
        schedulingStats={"evictions": [{"reason": "Preempted", "count": 1}]},
    )
    young = pod(own, 0, 11)
    young["metadata"]["creationTimestamp"] = at(405)
    reached.cluster.add(own, queued, young)
    reached.cluster.add(event(queued, 1, "EvictedDueToPreempted", PREEMPTED, 300))
    reached.cluster.add(event(young, 2, "Failed", "m", 500))
    first, second = found(reached)
    assert [first.context.attempt, second.context.attempt] == [1, 2]
    assert (first.context.scheduler_state, second.context.scheduler_state) == ("Preempted", "Failed")
    assert first.context.ended_at == _instant(at(300)) and second.context.started_at == _instant(at(400))
    assert second.context.previous_attempts == (f"1: Preempted at {at(300)}",)
    assert not first.context.nodes and [n.name for n in second.context.nodes] == ["node-01"]
    assert [item.stream for item in first.evidence] == ["pods", "events"]
    assert "EvictedDueToPreempted" not in _stream(second, "events") and '"Failed"' in _stream(second, "events")


def test_the_eviction_before_a_new_admission_is_known_without_its_event(reached: Reached) -> None:
    own = job()
    queued = workload(
        own,
        21,
        *admitted(400),
        condition("Evicted", "False", "QuotaReserved", f"Previously: {PREEMPTED}", 400),
        condition("Requeued", "True", "Preempted", PREEMPTED, 302),
    )
    reached.cluster.add(own, queued)
    context = only(reached)
    assert (context.attempt, context.scheduler_state, context.ended_at) == (1, "Preempted", _instant(at(302)))


def test_evictions_that_are_only_counted_keep_the_numbers(reached: Reached) -> None:
    own = job()
    stats = {
        "evictions": [
            {"reason": "PodsReadyTimeout", "underlyingCause": "WaitForStart", "count": 3},
            {"reason": "Deactivated", "underlyingCause": "RequeuingLimitExceeded", "count": 1},
        ]
    }
    words = "The workload is deactivated due to exceeding the maximum number of re-queuing retries"
    reason = "DeactivatedDueToRequeuingLimitExceeded"
    reached.cluster.add(own, workload(own, 21, *evicted(reason, words, 900), schedulingStats=stats))
    context = only(reached)
    assert (context.attempt, context.scheduler_state) == (4, reason)
    assert context.partial and context.partial.endswith("3 earlier attempts are only counted by the scheduler")


def test_repeated_evictions_of_one_event_are_told_apart_as_far_as_their_times_are_known(reached: Reached) -> None:
    own = job()
    stats = {"evictions": [{"reason": "PodsReadyTimeout", "count": 4}]}
    queued = workload(
        own, 21, *evicted("PodsReadyTimeout", "Exceeded the PodsReady timeout", 900), schedulingStats=stats
    )
    reached.cluster.add(own, queued)
    reached.cluster.add(event(queued, 1, "EvictedDueToPodsReadyTimeout", "Exceeded", 300, 900, count=4))
    attempts = found(reached)
    assert [(a.context.attempt, a.context.ended_at) for a in attempts] == [
        (1, _instant(at(300))),
        (4, _instant(at(900))),
    ]


def test_evictions_of_several_reasons_whose_order_is_not_known(reached: Reached) -> None:
    own = job()
    stats = {"evictions": [{"reason": "PodsReadyTimeout", "count": 3}, {"reason": "Preempted", "count": 1}]}
    queued = workload(own, 21, *evicted("Preempted", PREEMPTED, 900), schedulingStats=stats)
    reached.cluster.add(own, queued)
    reached.cluster.add(event(queued, 1, "EvictedDueToPodsReadyTimeout", "Exceeded", 300, 600, count=3))
    reached.cluster.add(event(queued, 2, "EvictedDueToPreempted", PREEMPTED, 900))
    context = only(reached)
    assert (context.attempt, context.scheduler_state, context.ended_at) == (4, "Preempted", _instant(at(900)))
    assert context.partial and "3 earlier attempts are only counted" in context.partial


def test_a_workload_that_waits_counts_only_when_it_is_asked_for(reached: Reached) -> None:
    own = job()
    words = "couldn't assign flavors to pod set main: insufficient unused quota"
    reached.cluster.add(own, workload(own, 21, condition("QuotaReserved", "False", "Pending", words, 55)))
    assert found(reached) == []
    context = only(reached, Query(job="train"))
    assert (context.scheduler_state, context.reason) == ("Pending", f"Pending: {words}")
    assert context.partial is None and context.started_at is None


def test_pods_without_a_job_that_kueue_queues(reached: Reached) -> None:
    loose = made("Pod", "v1", "solo", 11, template()["spec"] | {"nodeName": "node-01"}, {"phase": "Failed"})
    queued = workload(
        loose, 21, *admitted(), condition("Finished", "True", "Failed", "Pods failed", 500), name="pod-solo"
    )
    reached.cluster.add(loose, queued)
    context = only(reached)
    assert (context.name, context.scheduler_state, context.ended_at) == ("pod-solo", "Failed", _instant(at(500)))
    assert [n.name for n in context.nodes] == ["node-01"]


def test_a_job_of_a_kind_that_is_not_read_is_known_by_its_workload(reached: Reached) -> None:
    other = made("MPIJob", "kubeflow.org/v2beta1", "mpi", 1, {}, {})
    reached.cluster.add(workload(other, 21, *evicted("Preempted", PREEMPTED, 300)))
    context = only(reached)
    assert (context.name, context.scheduler_state) == ("job-mpi-1a2b3", "Preempted")
    assert context.partial == "it is a MPIJob, whose pods are not read, so its nodes and ranks are not known"


def test_an_eviction_of_long_ago_is_not_looked_into(reached: Reached) -> None:
    """A cluster keeps Workloads that were evicted once; each round of a watcher would ask for all their pods."""
    own = job()
    requeued = condition("Requeued", "True", "Preempted", PREEMPTED, 302)
    stats = {"evictions": [{"reason": "Preempted", "count": 1}]}
    reached.cluster.add(own, workload(own, 21, *admitted(400), requeued, schedulingStats=stats))
    assert found(reached, Query(start=_instant(at(303)))) == []
    assert not [asked for asked in reached.cluster.asked if "labelSelector" in asked.params]


# --- kinds of jobs ----------------------------------------------------------------------------------------------------


def test_a_job_set_that_used_up_its_restarts(reached: Reached) -> None:
    part = {"replicas": 2, "template": {"spec": {"parallelism": 2, "completions": 2, "template": template()}}}
    spec = {"replicatedJobs": [{"name": "lead", **part, "replicas": 1}, {"name": "workers", **part}]}
    words = "jobset failed due to reaching max number of restarts (first failed job: set-workers-0)"
    status = {"restarts": 1, "conditions": [condition("Failed", "True", "ReachedMaxRestarts", words, 610)]}
    own = made("JobSet", "jobset.x-k8s.io/v1alpha2", "set", 1, spec, status)
    child = made("Job", "batch/v1", "set-workers-1", 2, {}, {}, ownerReferences=owner(own))
    prefix = "jobset.sigs.k8s.io"
    labels = {f"{prefix}/jobset-name": "set", f"{prefix}/replicatedjob-name": "workers", f"{prefix}/job-index": "1"}
    labels["batch.kubernetes.io/job-completion-index"] = "1"
    reached.cluster.add(own, child, pod(child, 1, 11, "node-03", labels=labels))
    (attempt,) = found(reached)
    context = attempt.context
    assert (context.name, context.attempt, context.scheduler_ids["kind"]) == ("set", 2, "JobSet")
    assert context.nodes[0].ranks == (2 + 2 + 1,) and context.nranks == 6
    assert "JobSet" in _stream(attempt, "objects") and '"set-workers-1"' in _stream(attempt, "objects")


def test_a_train_job_owns_a_job_set(reached: Reached) -> None:
    failed = {"conditions": [condition("Failed", "True", "ReachedMaxRestarts", "m", 610)]}
    spec = {"trainer": {"numNodes": 2, "numProcPerNode": 4}}
    own = made("TrainJob", "trainer.kubeflow.org/v1alpha1", "tj", 1, spec, failed)
    middle = made("JobSet", "jobset.x-k8s.io/v1alpha2", "tj", 2, {}, failed, ownerReferences=owner(own))
    child = made("Job", "batch/v1", "tj-node-0", 3, {}, {}, ownerReferences=owner(middle))
    labels = {"jobset.sigs.k8s.io/jobset-name": "tj", "batch.kubernetes.io/job-completion-index": "1"}
    reached.cluster.add(own, middle, child, pod(child, 1, 11, labels=labels, gpus=4, command="torchrun train.py"))
    context = only(reached)
    assert (context.scheduler_ids["kind"], context.nodes[0].ranks, context.nranks) == ("TrainJob", (4, 5, 6, 7), 8)


def test_a_pytorch_job_counts_its_master_first(reached: Reached) -> None:
    replicas = {"Master": {"replicas": 1, "template": template()}, "Worker": {"replicas": 3, "template": template()}}
    words = "PyTorchJob pt is failed because 1 Worker replica(s) failed."
    ends = {"startTime": at(60), "completionTime": at(610)}
    failed = ends | {"conditions": [condition("Failed", "True", "PyTorchJobFailed", words, 611)]}
    own = made("PyTorchJob", "kubeflow.org/v1", "pt", 1, {"pytorchReplicaSpecs": replicas, "nprocPerNode": "2"}, failed)
    key = "training.kubeflow.org"
    for n, (role, index) in enumerate([("master", 0), ("worker", 0), ("worker", 2)]):
        labels = {f"{key}/job-name": "pt", f"{key}/replica-type": role, f"{key}/replica-index": str(index)}
        reached.cluster.add(pod(own, index, 11 + n, f"node-0{n}", labels=labels, gpus=2))
    reached.cluster.add(own)
    context = only(reached)
    assert [n.ranks for n in context.nodes] == [(0, 1), (2, 3), (6, 7)]
    assert (context.framework, context.nranks, context.ended_at) == ("pytorch", 8, _instant(at(610)))
    assert context.partial == "3 of its 4 pods are known, so nodes and ranks may be missing"


def test_a_ray_job_with_its_cluster(reached: Reached) -> None:
    status = {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed", "reason": "AppFailed", "failed": 1}
    status |= {"message": "Job entrypoint command failed\nwith exit code 1", "startTime": at(60), "endTime": at(610)}
    own = made("RayJob", "ray.io/v1", "ray", 1, {"entrypoint": "python x.py"}, status)
    cluster = made("RayCluster", "ray.io/v1", "ray-raycluster-8d2kq", 2, {}, {}, ownerReferences=owner(own))
    reached.cluster.add(own, cluster, pod(cluster, 0, 11, labels={"ray.io/cluster": "ray-raycluster-8d2kq"}))
    context = only(reached)
    assert (context.scheduler_state, context.framework) == ("FAILED", "ray")
    assert context.reason == "AppFailed: Job entrypoint command failed with exit code 1"
    assert [n.name for n in context.nodes] == ["node-01"]


def test_a_deadline_is_the_state(reached: Reached) -> None:
    words = "Job was active longer than specified deadline"
    own = job("train", 1, 1, condition("Failed", "True", "DeadlineExceeded", words, 610))
    reached.cluster.add(own)
    assert only(reached).scheduler_state == "DeadlineExceeded"


def test_plain_pods_with_a_label_are_one_workload(reached: Reached) -> None:
    none: Thing = {"metadata": {"name": "x", "uid": "", "namespace": SPACE}, "kind": "X", "apiVersion": "v1"}
    for index, phase in enumerate(("Failed", "Succeeded")):
        own = pod(none, index, 11 + index, f"node-0{index}", phase, ended(1 - index, "Error"), labels={"run": "exp-7"})
        own["metadata"]["ownerReferences"] = []
        reached.cluster.add(own)
    assert found(reached) == []
    context = only(reached, pod_label="run")
    assert (context.scheduler, context.name, context.exit_code) == (Scheduler.KUBERNETES, "exp-7", 1)
    assert [n.name for n in context.nodes] == ["node-00", "node-01"]


# --- ranks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "gpus", "env", "ranks"),
    [
        ("python train.py", 8, {}, (1,)),
        ("torchrun --nproc_per_node=4 train.py", 8, {}, (4, 5, 6, 7)),
        ("torchrun --nproc-per-node gpu train.py", 2, {}, (2, 3)),
        ("torchrun train.py", 8, {}, ()),
        ("bash run.sh", 8, {}, ()),
        ("bash run.sh", 8, {"PET_NPROC_PER_NODE": "2"}, (2, 3)),
        ("bash run.sh", 1, {"RANK": "5"}, (5,)),
        ("bash run.sh", 1, {"RANK": "9" * 30}, (1,)),
    ],
)
def test_ranks_follow_the_index_and_the_launcher(
    reached: Reached, command: str, gpus: int, env: dict[str, str], ranks: tuple[int, ...]
) -> None:
    own = failed_job(pods=1)
    reached.cluster.add(own, pod(own, 1, 11, command=command, gpus=gpus, env=env))
    assert only(reached).nodes[0].ranks == ranks


def test_a_pod_that_was_made_again_for_the_same_job_name_is_not_taken(reached: Reached) -> None:
    own, other = failed_job(), failed_job("train", 99)
    reached.cluster.add(own, pod(own, 0, 11), pod(other, 1, 12, "node-09"))
    assert [n.name for n in only(reached).nodes] == ["node-01"]


def test_an_exit_that_nobody_saw_is_no_exit_code(reached: Reached) -> None:
    own = failed_job()
    reached.cluster.add(own, pod(own, 0, 11, state=ended(137, "ContainerStatusUnknown")))
    assert only(reached).exit_code is None


# --- stuck ------------------------------------------------------------------------------------------------------------


def test_a_pod_that_waits_for_its_image_in_vain_is_stuck(reached: Reached) -> None:
    own = job("train", 1, 1)
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    reached.cluster.add(own, pod(own, 0, 11, "node-01", "Pending", waiting))
    context = only(reached)
    assert (context.scheduler_state, context.ended_at) == ("ImagePullBackOff", None)
    assert found(reached, standings=("failed",)) == []
    assert found(reached, stuck_secs=LONG_AGO) == []


def test_a_pod_that_no_node_takes_is_stuck(reached: Reached) -> None:
    own = job("train", 1, 1)
    words = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    held = pod(own, 0, 11, None, "Pending", conditions=[condition("PodScheduled", "False", "Unschedulable", words, 70)])
    reached.cluster.add(own, held)
    context = only(reached)
    assert (context.scheduler_state, context.nodes) == ("Unschedulable", ())
    assert context.partial == "none of its pods was placed on a node"


def test_a_workload_whose_pods_do_not_recover_is_stuck(reached: Reached) -> None:
    """A node was lost: the job and its pods still say that they run."""
    own = job("train", 1, 1, startTime=at(60))
    lost = condition("PodsReady", "False", "WaitForRecovery", "At least one pod has failed, waiting for recovery", 341)
    queued = workload(own, 21, *admitted(), lost, unhealthyNodes=[{"name": "node-02"}])
    gone = condition("DisruptionTarget", "True", "DeletionByTaintManager", "deleting due to NoExecute taint", 640)
    reached.cluster.add(own, queued, pod(own, 0, 11, "node-02", conditions=[gone]))
    context = only(reached)
    assert (context.scheduler_state, context.nodes[0].name) == ("WaitForRecovery", "node-02")
    assert found(reached, stuck_secs=LONG_AGO) == []


# --- what is asked for ------------------------------------------------------------------------------------------------


def test_only_what_is_asked_for_is_found(reached: Reached) -> None:
    oom(reached.cluster)
    other = failed_job("other", 2)
    reached.cluster.add(other, job("fine", 3, 1, condition("Complete", "True", "CompletionsReached", "m", 700)))
    for query in (Query(job="other"), Query(job=f"{SPACE}/other"), Query(job=uid(2)), Query(workload="other")):
        assert [a.context.name for a in found(reached, query)] == ["other"]
    assert [a.context.name for a in found(reached, Query(job="job-train-1a2b3"))] == ["train"]
    assert [a.context.name for a in found(reached, Query(nodes=("node-02",)))] == ["other", "train"]
    assert [a.context.name for a in found(reached, Query(job="fine"))] == ["fine"]
    assert found(reached, Query(start=_instant(at(3600)))) == []
    assert [a.context.name for a in found(reached, only_queued=True)] == ["train"]
    assert found(reached, lookback_secs=1) == []
    assert len(found(reached, namespaces=("nowhere",))) == 0


def test_jobs_are_chosen_by_label(reached: Reached) -> None:
    own = failed_job()
    own["metadata"]["labels"] = {"team": "vision"}
    reached.cluster.add(own, failed_job("other", 2))
    assert only(reached, labels=("team=vision",)).name == "train"


def test_a_label_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match="`vision` is no label such as"):
        KueueSettings(labels=("vision",))


# --- lists, rights and failures ---------------------------------------------------------------------------------------


@BOTH_WAYS
def test_lists_are_read_by_pages_and_go_on_when_they_expire(reached: Reached) -> None:
    reached.cluster.add(*(failed_job(f"job-{n:02d}", n) for n in range(1, 24)))
    reached.cluster.ages = 2
    assert [a.context.name for a in found(reached, page_objects=5)] == [f"job-{n:02d}" for n in range(1, 24)]
    assert reached.cluster.ages == 0


@BOTH_WAYS
def test_a_kind_that_may_not_be_listed_is_told_and_the_others_are_found(reached: Reached) -> None:
    oom(reached.cluster)
    reached.cluster.denied = {"list rayjobs"}
    with closing(kueue(reached)) as connector:
        refused, attempt = connector.discover(Query())
    assert isinstance(refused, Unusable) and refused.is_failure and refused.origin == "kind RayJob"
    assert 'cannot list resource "rayjobs"' in refused.reason and "examples/kueue/rbac.yaml" in refused.reason
    assert isinstance(attempt, Attempt)


@BOTH_WAYS
def test_nothing_may_be_listed(reached: Reached) -> None:
    oom(reached.cluster)
    plurals = "workloads jobs jobsets pytorchjobs trainjobs rayjobs rayclusters pods"
    reached.cluster.denied = {f"list {plural}" for plural in plurals.split()}
    with closing(kueue(reached)) as connector, pytest.raises(ConnectorError, match="is forbidden") as raised:
        list(connector.discover(Query()))
    asked = reached.settings.get("api_url") or reached.settings["kubectl"]
    assert f"(asked through {asked}" in str(raised.value), "which cluster it is"
    assert str(raised.value).endswith("grant that right: see examples/kueue/rbac.yaml)")


def test_a_cluster_that_is_away_is_told_with_its_place_and_what_to_do(tmp_path: Path) -> None:
    fake = FakeKubectl(tmp_path / "bin", "http://127.0.0.1:1")
    for settings, place in (
        ({"api_url": "http://127.0.0.1:1"}, "http://127.0.0.1:1"),
        ({"kubectl": str(fake.path), "kubectl_context": "beta"}, f"{fake.path} --context beta"),
    ):
        connector = Kueue(KueueSettings.model_validate({**settings, "retry_secs": 0}))
        with closing(connector), pytest.raises(ConnectorError) as raised:
            list(connector.discover(Query()))
        remedy = "see whether the API server runs and can be reached from here"
        told = str(raised.value)
        assert told.count(place) == 1 and told.endswith(f"{remedy})")


@BOTH_WAYS
def test_a_cluster_without_kueue_has_jobs_all_the_same(reached: Reached) -> None:
    reached.cluster.groups = {"batch": ["v1"]}
    reached.cluster.add(failed_job())
    assert only(reached).scheduler is Scheduler.KUBERNETES


@BOTH_WAYS
def test_check_names_every_right_that_is_missing(reached: Reached) -> None:
    oom(reached.cluster)
    with closing(kueue(reached)) as connector:
        assert connector.check().startswith("sees 1 job through ")
        reached.cluster.denied = {"list workloads", "list events"}
        with pytest.raises(ConnectorError, match=r"may not list workloads\.kueue\.x-k8s\.io, list events in all"):
            connector.check()


@BOTH_WAYS
def test_an_answer_that_is_too_large_or_no_list_is_told(reached: Reached) -> None:
    reached.cluster.add(*(failed_job(f"job-{n}", n) for n in range(1, 9)))
    with closing(kueue(reached, answer_bytes=2000)) as connector, pytest.raises(ConnectorError, match="page_objects"):
        list(connector.discover(Query()))
    reached.server.handler = lambda request: Reply(body="<html>")
    with closing(kueue(reached)) as connector, pytest.raises(ConnectorError, match="no JSON"):
        list(connector.discover(Query()))


def test_hostile_objects_break_nothing(reached: Reached) -> None:
    own = failed_job()
    own["status"]["conditions"].append("no condition")
    own["status"]["conditions"].append({"type": 7, "status": [], "lastTransitionTime": "9999-99-99"})
    held = pod(own, 0, 11, "node-01", state={"terminated": {"exitCode": "x" * 9, "finishedAt": 7}})
    held["spec"]["containers"].append({"env": [{"name": "RANK", "value": "1e9"}, 7], "command": {"a": 1}})
    held["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = "٣"
    held["status"]["message"] = "\x1b[31m" + "x" * 100_000
    reached.cluster.add(own, held)
    (attempt,) = found(reached)
    assert attempt.context.nodes[0].ranks == ()
    assert all(len(item.body) < 50_000 for item in attempt.evidence)


# --- what is remembered -----------------------------------------------------------------------------------------------


class Kept:
    """A memory in memory."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.puts = 0

    def get(self, key: str) -> str | None:
        return self.held.get(key)

    def put(self, key: str, value: str, keep_secs: float) -> None:
        assert len(key) <= 200 and len(value) <= 64 << 10 and keep_secs > 0
        self.puts += 1
        self.held[key] = value

    def items(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        yield from sorted((k, v) for k, v in self.held.items() if k.startswith(prefix))

    def forget(self, key: str) -> None:
        self.held.pop(key, None)


def test_where_pods_were_is_remembered_when_they_are_gone(reached: Reached) -> None:
    own = job(startTime=at(60))
    queued = workload(own, 21, *admitted())
    pods = [pod(own, index, 11 + index, f"node-0{index}", env={"SECRET": "hunter2"}) for index in (0, 1)]
    reached.cluster.add(own, queued, *pods, node("node-00"), node("node-01"))
    kept = Kept()
    with closing(kueue(reached)) as connector:
        connector.observe(kept)
        written = kept.puts
        assert written and "hunter2" not in json.dumps(kept.held)
        connector.observe(kept)
        assert kept.puts == written + 1  # when it began, and no pod again
    stats = {"evictions": [{"reason": "Preempted", "count": 1}]}
    gone = workload(own, 21, *evicted("Preempted", PREEMPTED, 300), schedulingStats=stats)
    reached.cluster.objects = [own, gone, node("node-00"), node("node-01")]
    with closing(kueue(reached)) as connector:
        connector.observe(kept)  # another process, the same memory
        (attempt,) = [item for item in connector.discover(Query()) if isinstance(item, Attempt)]
    context = attempt.context
    assert [(n.name, n.ranks) for n in context.nodes] == [("node-00", (0,)), ("node-01", (1,))]
    assert (context.partial, context.started_at) == (None, _instant(at(55)))
    assert '"train-0-0000b"' in _stream(attempt, "pods") and '"node-01"' in _stream(attempt, "nodes")


def test_what_another_version_remembered_is_passed(reached: Reached) -> None:
    own = failed_job()
    reached.cluster.add(own)
    kept = Kept()
    kept.held[f"pod/{uid(1)}/1/x"] = '{"pod": 7}'
    with closing(kueue(reached)) as connector:
        connector.observe(kept)
        assert [item for item in connector.discover(Query()) if isinstance(item, Attempt)]


def _stream(attempt: Attempt, name: str) -> str:
    return "".join(item.body for item in attempt.evidence if item.stream == name)


def _instant(text: str) -> Any:
    return ExecutionContext(workload_id="x", started_at=text).started_at  # type: ignore[arg-type]


def test_containers_of_a_pod_that_ended_at_different_times(reached: Reached) -> None:
    own = failed_job()
    held = pod(own, 0, 11)
    held["status"]["containerStatuses"] = [
        container(ended(1, "Error", 500)),
        container(ended(3, "Error", 400), "sidecar"),
    ]
    reached.cluster.add(own, held)
    assert only(reached).exit_code == 3
