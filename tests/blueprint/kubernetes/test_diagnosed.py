"""What is found and collected in a cluster becomes the right answer, through the Service."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from attribution.blueprint.attempt import Query
from attribution.blueprint.connectors.context.kueue import Kueue, KueueSettings
from attribution.blueprint.connectors.logs.kubernetes_pods import KubernetesPods, KubernetesPodsSettings
from attribution.client.client import AttributionClient
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Source, Status
from attribution.testing import Reply, Server

from tests.blueprint.fakes import Run
from tests.blueprint.kubernetes.double import TOKEN, Cluster, stamped
from tests.blueprint.kubernetes.things import (
    admitted,
    condition,
    ended,
    event,
    evicted,
    failed_job,
    job,
    node,
    pod,
    workload,
)

LONG_AGO = 20 * 365 * 86400


def out_of_memory(cluster: Cluster) -> None:
    own = failed_job(pods=1)
    cluster.add(own, pod(own, 0, 11, "node-02", "Failed", ended(137, "OOMKilled")), node("node-02"))


def python_error(cluster: Cluster) -> None:
    own = failed_job(pods=2)
    cluster.add(own, pod(own, 0, 11, "node-01", "Failed", ended(1, "Error")))
    cluster.add(pod(own, 1, 12, "node-02", "Failed", ended(1, "Error")))
    text = ["Traceback (most recent call last):", '  File "/data/job/train.py", line 7, in <module>', "    main()"]
    text += ["ValueError: batch size must be positive"]
    cluster.logs["train-1-0000c/trainer"] = Reply(body=stamped(["step 1", *text]))


def no_image(cluster: Cluster) -> None:
    own = job("train", 1, 1)
    words = 'Failed to pull image "images.example/train:nope": rpc error: code = NotFound desc = not found'
    held = pod(own, 0, 11, "node-01", "Pending", {"waiting": {"reason": "ImagePullBackOff", "message": words}})
    cluster.add(own, held, event(held, 1, "Failed", words, 75, 400, count=5, source={"host": "node-01"}))


def preemption(cluster: Cluster) -> None:
    words = "Preempted to accommodate a workload (UID: u, JobUID: j) due to prioritization in the ClusterQueue"
    own = job()
    taken = condition("Preempted", "True", "InClusterQueue", words, 300)
    cluster.add(own, workload(own, 21, *evicted("Preempted", words, 300), taken))


def never_ready(cluster: Cluster) -> None:
    words = "Exceeded the PodsReady timeout team-a/job-train-1a2b3"
    own = job()
    waits = condition("PodsReady", "False", "WaitForStart", "Not all pods are ready or succeeded", 60)
    cluster.add(own, workload(own, 21, *evicted("PodsReadyTimeout", words, 660), waits))


def too_slow(cluster: Cluster) -> None:
    words = "Job was active longer than specified deadline"
    own = job(
        "train", 1, 1, condition("Failed", "True", "DeadlineExceeded", words, 610), startTime="2026-05-04T03:01:00Z"
    )
    cluster.add(own, workload(own, 21, *admitted(), condition("Finished", "True", "Failed", words, 610)))


@pytest.mark.parametrize(
    ("story", "answer", "where"),
    [
        (out_of_memory, "out_of_memory, resource_limit", "node-02"),
        (python_error, "failed, user_code", "node-02 rank 1"),
        (no_image, "launch_failed, container_runtime", "node-01"),
        (preemption, "preempted, scheduler", None),
        (never_ready, "launch_failed, scheduler", None),
        (too_slow, "timed_out, scheduler", None),
    ],
)
def test_the_answer(
    service: AttributionClient, tmp_path: Path, story: Callable[[Cluster], None], answer: str, where: str | None
) -> None:
    result = diagnosed(service, tmp_path, story)
    cause = result.diagnosis.causes[0]
    rank = f" rank {cause.rank}" if cause.rank is not None else ""
    assert f"{result.terminal_state.value}, {result.sub_domain.value}" == answer, result.diagnosis.summary
    assert (f"{cause.node}{rank}" if cause.node else None) == where


def diagnosed(client: AttributionClient, folder: Path, story: Callable[[Cluster], None]) -> AttributionBlueprintResult:
    cluster = Cluster()
    story(cluster)
    token = folder / "token"
    token.write_text(TOKEN)
    with Server(cluster) as server:
        access = {"api_url": server.url, "token_file": token, "retry_secs": 0.0}
        kueue = Kueue(KueueSettings(**access, lookback_secs=LONG_AGO))
        pods = KubernetesPods(KubernetesPodsSettings(**access))
        with closing(kueue), closing(pods):
            run = Run(client, list(kueue.discover(Query())), [pods])
    assert run.told == []
    (result,) = run.results.values()
    return result


def test_the_reports_say_what_was_refused(service: AttributionClient, tmp_path: Path) -> None:
    def story(cluster: Cluster) -> None:
        python_error(cluster)
        cluster.denied = {"list events", "get pods/log"}

    result = diagnosed(service, tmp_path, story)
    reports = {(found.source, found.node): found for found in result.connector_reports}
    record = reports[Source.SCHEDULER, None]
    assert record.status is Status.PARTIAL and 'cannot list resource "events"' in (record.reason or "")
    for name in ("node-01", "node-02"):
        log = reports[Source.APPLOG, name]
        assert log.status is Status.ERROR and "grant that right" in (log.reason or "")
    assert any("pods/log" in (line.reason or "") for line in result.diagnosis.coverage)
