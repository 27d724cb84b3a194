"""The connectors to Kubernetes on a real API server: rights, pages, logs and events as it answers them."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from attribution.blueprint.attempt import Attempt, Query
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.context.kueue import Kueue, KueueSettings
from attribution.blueprint.connectors.kubernetes.access import KubernetesAccess, connect
from attribution.blueprint.connectors.kubernetes.resources import EVENT, WORKLOAD
from attribution.blueprint.connectors.logs.kubernetes_pods import KubernetesPods, KubernetesPodsSettings
from attribution.blueprint.connectors.sinks.kubernetes_event import KubernetesEvent, KubernetesEventSettings
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Status
from attribution.testing import collected

from tests.blueprint.kubernetes.things import (
    SPACE,
    admitted,
    condition,
    container,
    ended,
    event,
    failed_job,
    job,
    node,
    pod,
    workload,
)
from tests.blueprint.results import SNAPSHOT, result
from tests.conftest import ROOT
from tests.live.kubernetes.server import ADMIN, NOBODY, NODES, READER, KubernetesServer

pytestmark = pytest.mark.live
PLAN = CollectionPlan(catalog_digest="d")
LONG_AGO = 20 * 365 * 86400
SPACE_DEFAULT = "default"


@pytest.fixture(scope="module")
def filled(server: KubernetesServer) -> KubernetesServer:
    """A failed job of two pods in Kueue, one that waits for its image, logs of both, and the rights of the example."""
    server.call("POST", "api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    for thing in yaml.safe_load_all((ROOT / "examples/kueue/rbac.yaml").read_text()):
        if thing["kind"] == "ServiceAccount":
            continue
        if thing["kind"] == "ClusterRoleBinding":
            thing["subjects"] = [{"kind": "User", "name": READER, "apiGroup": "rbac.authorization.k8s.io"}]
        server.call("POST", f"apis/rbac.authorization.k8s.io/v1/{thing['kind'].lower()}s", thing)
    own = _put(server, failed_job())
    finished = condition("Finished", "True", "Failed", "Job has reached the specified backoff limit", 602)
    _put(server, workload(own, 21, *admitted(), finished))
    first = _put(server, pod(own, 0, 11, NODES[0], "Failed", ended(1, "Error", 601)))
    second = pod(own, 1, 12, NODES[1], "Failed", ended(137, "OOMKilled"))
    second["status"]["containerStatuses"] = [container(ended(137, "OOMKilled"), restarts=1)]
    _put(server, second)
    _put(server, event(own, 1, "BackoffLimitExceeded", "Job has reached the specified backoff limit", 602))
    lost = event(node(NODES[1]), 2, "OOMKilling", "Memory cgroup out of memory", 600)
    lost["metadata"]["namespace"] = lost["involvedObject"]["namespace"] = SPACE_DEFAULT
    _put(server, lost)
    waits = _put(server, job("waits", 3, 1, startTime="2026-05-04T03:01:00Z"))
    reason = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    _put(server, pod(waits, 0, 31, NODES[0], "Pending", reason))
    _put(server, pod(waits, 1, 32, None, "Pending"))
    _log(server, first, "".join(f"2026-05-04T03:02:{n % 60:02d}.{n:09d}Z step {n}\n" for n in range(60)))
    _log(server, second, "2026-05-04T03:02:00.000000001Z MemoryError\n")
    return server


def _put(server: KubernetesServer, thing: dict[str, Any]) -> dict[str, Any]:
    """Make an object; pods need fields that the fixtures leave out, and owners the uid that the server gave."""
    if thing["kind"] in {"Job", "Pod"}:
        spec = thing["spec"]["template"]["spec"] if thing["kind"] == "Job" else thing["spec"]
        spec["restartPolicy"] = "Never"
        for one in spec["containers"]:
            one["resources"] = {}
    if thing["kind"] == "Job":
        thing["spec"]["template"]["metadata"] = {"labels": {}}
    server.put(thing)
    return thing


def _log(server: KubernetesServer, of: dict[str, Any], text: str) -> None:
    folder = server.logs / SPACE / of["metadata"]["name"]
    folder.mkdir(parents=True)
    (folder / "trainer.log").write_text(text)


@pytest.fixture(params=["kubectl", "api"])
def access(request: pytest.FixtureRequest, filled: KubernetesServer) -> Any:
    """The settings by which a user reaches the server, both ways."""

    def settings(user: str) -> dict[str, Any]:
        if request.param == "kubectl":
            return {"kubeconfig": filled.kubeconfig(user), "retry_secs": 0.0}
        return {"api_url": filled.url, "ca_file": filled.ca, "token_file": filled.token(user), "retry_secs": 0.0}

    return settings


def found(access: Any, query: Query, user: str = READER, **changes: Any) -> list[Attempt]:
    with closing(Kueue(KueueSettings(**access(user), **{"lookback_secs": LONG_AGO} | changes))) as connector:
        items = list(connector.discover(query))
    assert all(isinstance(item, Attempt) for item in items), items
    return [item for item in items if isinstance(item, Attempt)]


def test_the_failed_job_is_found_with_the_rights_of_the_example(access: Any) -> None:
    (attempt,) = found(access, Query(job="train"))
    context = attempt.context
    assert (context.scheduler_state, context.exit_code, context.scheduler) == ("Failed", 137, "kueue")
    assert [(n.name, n.ranks) for n in context.nodes] == [(NODES[0], (0,)), (NODES[1], (1,))]
    streams = {item.stream: item.status for item in attempt.evidence}
    assert streams == dict.fromkeys(("objects", "pods", "events", "nodes", "node events"), Status.OK)
    assert "OOMKilling" in attempt.evidence[-1].body


def test_a_pod_that_waits_is_stuck(access: Any) -> None:
    (attempt,) = found(access, Query(), standings=("stuck",), stuck_secs=0)
    assert (attempt.context.name, attempt.context.scheduler_state) == ("waits", "ImagePullBackOff")


def test_doctor_is_content_with_the_example_and_names_what_others_lack(access: Any) -> None:
    with closing(Kueue(KueueSettings(**access(READER)))) as connector:
        assert connector.check().startswith("sees 2 jobs through ")
    for kind, settings in (
        (Kueue, KueueSettings(**access(NOBODY))),
        (KubernetesPods, KubernetesPodsSettings(**access(NOBODY))),
        (KubernetesEvent, KubernetesEventSettings(**access(NOBODY))),
    ):
        with closing(kind(settings)) as other, pytest.raises(ConnectorError, match=r"may not .*rbac\.yaml"):
            other.check()


def test_who_may_not_list_is_not_told_that_there_is_nothing(access: Any) -> None:
    for user, words in ((NOBODY, r"is forbidden: User .*grant that right"), ("wrong", "give credentials")):
        with closing(Kueue(KueueSettings(**access(user)))) as connector, pytest.raises(ConnectorError, match=words):
            list(connector.discover(Query()))


def test_the_newest_version_of_kueue_is_asked(access: Any) -> None:
    with closing(connect(KubernetesAccess(**access(READER)))) as cluster:
        (newer,) = cluster.list(WORKLOAD, SPACE)
        assert newer["apiVersion"] == "kueue.x-k8s.io/v1beta2"


def test_a_list_comes_by_pages(access: Any, filled: KubernetesServer) -> None:
    with closing(connect(KubernetesAccess(**access(ADMIN), page_objects=1))) as cluster:
        assert {item["reason"] for item in cluster.list(EVENT, SPACE)} >= {"BackoffLimitExceeded"}


def test_logs_go_through_the_kubelet(access: Any, filled: KubernetesServer) -> None:
    (attempt,) = found(access, Query(job="train"))
    with closing(KubernetesPods(KubernetesPodsSettings(**access(READER)))) as connector:
        pieces = collected(connector, attempt, PLAN)
    told = {(item.stream.partition("/")[2], item.node): item for item in pieces}
    assert told["trainer", NODES[0]].body.count("\n") == 60
    assert told["trainer", NODES[1]].body.endswith("MemoryError\n")
    assert told["trainer (previous)", NODES[1]].reason and "not kept" in str(
        told["trainer (previous)", NODES[1]].reason
    )


def test_a_large_log_is_read_from_both_ends(access: Any) -> None:
    (attempt,) = found(access, Query(job="train"))
    with closing(KubernetesPods(KubernetesPodsSettings(**access(READER), log_bytes=2048))) as connector:
        pieces = [item for item in collected(connector, attempt, PLAN) if item.node == NODES[0]]
    text = "".join(item.body for item in pieces)
    assert "step 0\n" in text and "step 59\n" in text and "step 30\n" not in text
    assert Status.PARTIAL in {item.status for item in pieces}


def test_waiting_and_unplaced_pods_have_nothing_to_read(access: Any) -> None:
    (attempt,) = found(access, Query(job="waits"))
    with closing(KubernetesPods(KubernetesPodsSettings(**access(READER)))) as connector:
        pieces = collected(connector, attempt, PLAN)
    assert {item.status for item in pieces} == {Status.EMPTY}
    reasons = " ".join(item.reason or "" for item in pieces)
    assert "is waiting to start" in reasons and "never placed" in reasons


def test_a_kubelet_that_is_gone(access: Any, filled: KubernetesServer) -> None:
    (attempt,) = found(access, Query(job="train"))
    filled.stop_kubelet()
    try:
        with closing(KubernetesPods(KubernetesPodsSettings(**access(READER)))) as connector:
            pieces = collected(connector, attempt, PLAN)
    finally:
        filled.start_kubelet()
    assert {item.status for item in pieces} == {Status.ERROR}
    assert all("kubelet" in (item.reason or "") for item in pieces)


def test_a_result_becomes_one_event(access: Any, filled: KubernetesServer) -> None:
    (attempt,) = found(access, Query(job="train"))
    told = result("w", scheduler="kueue", scheduler_ids=attempt.context.scheduler_ids)
    with closing(KubernetesEvent(KubernetesEventSettings(**access(READER)))) as sink:
        sink.write(told, lambda: SNAPSHOT)
        sink.write(told, lambda: SNAPSHOT)
    with closing(connect(KubernetesAccess(**access(READER)))) as cluster:
        (written,) = [item for item in cluster.list(EVENT, SPACE) if item["reason"] == "AttributionDiagnosis"]
    assert written["involvedObject"]["name"] == "train" and written["message"].startswith("attempt 1 failed")
    assert datetime.fromisoformat(written["lastTimestamp"]) > datetime.now(UTC) - timedelta(hours=1)
