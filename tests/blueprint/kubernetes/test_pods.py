"""Logs of pods: every container and its run before, with what is missing of them, and no trap taken for nothing."""

from contextlib import closing
from typing import Any

import pytest

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.logs.kubernetes_pods import KubernetesPods, KubernetesPodsSettings
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Source, Status
from attribution.testing import Reply, collected, collector_complies

from tests.blueprint.kubernetes.double import BOTH_WAYS, Reached, Thing, stamped, status
from tests.blueprint.kubernetes.things import SPACE, at, container, ended, failed_job, pod, uid

PLAN = CollectionPlan(catalog_digest="d")
WAITING = {"waiting": {"reason": "ContainerCreating"}}


def attempt(*nodes: Thing, **changes: Any) -> Attempt:
    ids = {"namespace": SPACE, "kind": "Job", "name": "train", "uid": uid(1)}
    given = {"workload_id": "w", "scheduler": "kubernetes", "scheduler_ids": ids}
    times = {"started_at": at(60), "ended_at": at(600)}
    return Attempt(ExecutionContext.model_validate({**given, **times, "nodes": nodes, **changes}), "test")


def pods(reached: Reached, **changes: Any) -> KubernetesPods:
    return KubernetesPods(KubernetesPodsSettings(**reached.settings, **changes))


def told(reached: Reached, of: Attempt | None = None, **changes: Any) -> list[Observation]:
    with closing(pods(reached, **changes)) as connector:
        return collected(connector, of or attempt(), PLAN)


def lines(reached: Reached, *text: str, **changes: Any) -> None:
    """A failed job of one pod whose container printed something."""
    own = failed_job(pods=1)
    reached.cluster.add(own, pod(own, 0, 11, "node-01", "Failed", ended(1, "Error"), **changes))
    reached.cluster.logs["train-0-0000b/trainer"] = Reply(body=stamped(text))


NODE = {"name": "node-01", "aliases": ("train-0-0000b",)}


@BOTH_WAYS
def test_it_complies(reached: Reached) -> None:
    lines(reached, "step 1", "RuntimeError: boom")
    found = collector_complies(pods(reached), attempt(NODE), PLAN)
    (piece,) = found
    assert (piece.source, piece.node, piece.rank) == (Source.APPLOG, "node-01", 0)
    assert piece.stream == "train-0-0000b/trainer"
    assert piece.body == "2026-05-04T03:02:00.000000000Z step 1\n2026-05-04T03:02:01.000000001Z RuntimeError: boom\n"


@BOTH_WAYS
def test_all_containers_and_the_runs_before_their_restarts(reached: Reached) -> None:
    own = failed_job(pods=1)
    held = pod(own, 0, 11)
    held["spec"]["initContainers"] = [{"name": "fetch"}]
    held["spec"]["containers"].append({"name": "sidecar"})
    held["spec"]["ephemeralContainers"] = [{"name": "debugger"}]
    held["status"]["containerStatuses"] = [container(ended(1, "Error"), restarts=3), container(WAITING, "sidecar")]
    reached.cluster.add(own, held)
    for name in ("fetch", "trainer", "trainer (previous)", "sidecar", "debugger"):
        reached.cluster.logs[f"train-0-0000b/{name}"] = Reply(body=stamped([f"this is {name}"]))
    found = told(reached)
    assert [(item.stream.partition("/")[2], item.rank) for item in found if item.body] == [
        ("fetch", None),
        ("trainer (previous)", 0),
        ("trainer", 0),
        ("sidecar", None),
        ("debugger", None),
    ]
    (short,) = [item for item in found if not item.body]
    assert (short.stream, short.status) == ("train-0-0000b/trainer (previous)", Status.PARTIAL)
    assert short.reason == "the container was started 4 times; only its last two logs are kept"
    assert {item.stream.partition("/")[2] for item in told(reached, containers=("sidecar",))} == {"sidecar"}


@BOTH_WAYS
def test_only_the_window_of_the_attempt(reached: Reached) -> None:
    lines(reached)
    log = stamped(["too early"], 0).replace("03:00", "02:00") + stamped(["within"], 2) + stamped(["too late"], 40)
    reached.cluster.logs["train-0-0000b/trainer"] = Reply(body=log)
    (piece,) = told(reached)
    assert piece.body.splitlines() == ["2026-05-04T03:02:00.000000000Z within"]
    (asked,) = [request for request in reached.cluster.asked if request.path.endswith("/log")]
    assert asked.params["sinceTime"] == "2026-05-04T02:46:00Z"


def test_a_log_comes_in_pieces_of_whole_lines(reached: Reached) -> None:
    text = [f"line {n} of ünïcödé" for n in range(200)]
    lines(reached, *text)
    found = told(reached, piece_bytes=1024)
    assert len(found) > 5 and all(item.body.endswith("\n") for item in found)
    assert "".join(item.body for item in found) == stamped(text)
    place = lines_so_far = 0
    for item in found:
        assert (item.offset, item.first_line) == (place, lines_so_far)
        place += len(item.body.encode())
        lines_so_far += item.body.count("\n")


def test_a_line_without_end_is_cut(reached: Reached) -> None:
    lines(reached, "x" * 10_000)
    found = told(reached, piece_bytes=1024)
    assert "".join(item.body for item in found) == stamped(["x" * 10_000])
    assert max(len(item.body) for item in found) <= 1024


@BOTH_WAYS
def test_of_a_log_that_is_too_large_the_start_and_the_end_are_read(reached: Reached) -> None:
    lines(reached, *(f"{n:05d} {'x' * 60}" for n in range(1000)))
    held = reached.cluster.logs["train-0-0000b/trainer"]
    text = "".join(f"2026-05-04T03:02:00.{n:09d}Z {n:05d} {'x' * 60}\n" for n in range(1000))
    reached.cluster.logs["train-0-0000b/trainer"] = Reply(body=text)
    found = told(reached, log_bytes=20_000)
    start = "".join(item.body for item in found if item.stream == "train-0-0000b/trainer")
    end = "".join(item.body for item in found if item.stream == "train-0-0000b/trainer (end)")
    assert text.startswith(start) and text.endswith(end) and start.endswith("\n")
    assert 9_000 < len(start) <= 10_000 and 9_000 < len(end) <= 10_000
    (missing,) = [item for item in found if item.status is Status.PARTIAL]
    assert missing.reason == "the log is larger than `log_bytes` (20000): its middle was not read"
    assert held is not None


def test_start_and_end_that_meet_are_the_whole_log(reached: Reached) -> None:
    lines(reached)
    text = "".join(f"2026-05-04T03:02:00.{n:09d}Z {n:05d} {'x' * 60}\n" for n in range(150))
    reached.cluster.logs["train-0-0000b/trainer"] = Reply(body=text)
    found = told(reached, log_bytes=20_000)
    assert "".join(item.body for item in found) == text
    assert {item.status for item in found} == {Status.OK}


@BOTH_WAYS
def test_bytes_that_are_no_text_are_replaced(reached: Reached) -> None:
    lines(reached)
    raw = b"2026-05-04T03:02:00.000000000Z \xff\x00\x1b[31m\x0c\xe2\x80\xa8x\n2026-05-04T03:02:00.000000001Z y\n"
    reached.cluster.logs["train-0-0000b/trainer"] = Reply(body=raw)
    (piece,) = told(reached)
    assert piece.body == raw.decode("utf-8", "replace")


@BOTH_WAYS
def test_many_logs_are_read_at_once_and_come_in_order(reached: Reached) -> None:
    own = failed_job(pods=12)
    for index in range(12):
        reached.cluster.add(pod(own, index, 11 + index, f"node-{index:02d}"))
        reached.cluster.logs[f"train-{index}-{11 + index:05x}/trainer"] = Reply(body=stamped([f"rank {index}"] * 50))
    alone = told(reached, logs_at_once=1, piece_bytes=1024)
    assert told(reached, logs_at_once=5, piece_bytes=1024) == alone
    assert [item.rank for item in alone] == sorted(item.rank or 0 for item in alone) and len(alone) == 24


def test_what_is_read_ahead_is_not_handed_on_after_the_deadline(reached: Reached) -> None:
    own = failed_job(pods=4)
    for index in range(4):
        reached.cluster.add(pod(own, index, 11 + index, f"node-0{index}"))
        reached.cluster.logs[f"train-{index}-{11 + index:05x}/trainer"] = Reply(body=stamped(["x"]))
    seen: list[Observation] = []
    with closing(pods(reached)) as connector:
        for item in connector.collect(attempt(), PLAN, lambda: bool(seen)):
            assert isinstance(item, Observation)
            seen.append(item)
    assert [bool(item.body) for item in seen] == [True, False, False, False]
    assert {(item.status, item.reason) for item in seen[1:]} == {(Status.SKIPPED, "deadline")}


# --- what is not a log ------------------------------------------------------------------------------------------------


def refusal(reached: Reached, code: int, reason: str, words: str, **changes: Any) -> Observation:
    lines(reached, **changes)
    reached.cluster.logs["train-0-0000b/trainer"] = status(code, reason, words)
    (found,) = told(reached)
    assert not found.body and found.node == "node-01"
    return found


@BOTH_WAYS
def test_a_container_that_waits(reached: Reached) -> None:
    words = 'container "trainer" in pod "train-0-0000b" is waiting to start: trying and failing to pull image'
    found = refusal(reached, 400, "BadRequest", words)
    assert (found.status, found.reason) == (Status.EMPTY, words)


@BOTH_WAYS
def test_a_kubelet_that_is_gone(reached: Reached) -> None:
    words = 'Get "https://10.0.0.1:10250/containerLogs/team-a/x/trainer": dial tcp 10.0.0.1:10250: connect: refused'
    found = refusal(reached, 500, "", words)
    assert found.status is Status.ERROR and (found.reason or "").startswith("the node's kubelet, which keeps the log")


@BOTH_WAYS
def test_a_pod_that_is_deleted_meanwhile(reached: Reached) -> None:
    found = refusal(reached, 404, "NotFound", 'pods "train-0-0000b" not found')
    assert (found.status, found.reason) == (Status.ERROR, "the pod is gone, and its log with it")


@BOTH_WAYS
def test_a_missing_right(reached: Reached) -> None:
    lines(reached, "x")
    reached.cluster.denied = {"get pods/log"}
    (found,) = told(reached)
    assert found.status is Status.ERROR and "grant that right" in (found.reason or "")


@BOTH_WAYS
def test_pods_that_may_not_be_listed(reached: Reached) -> None:
    lines(reached, "x")
    reached.cluster.denied = {"list pods"}
    (found,) = told(reached, attempt(NODE))
    assert (found.node, found.status) == ("node-01", Status.ERROR) and "cannot list" in (found.reason or "")


def test_a_run_before_a_restart_that_is_not_kept(reached: Reached) -> None:
    lines(reached, "x")
    (held,) = [thing for thing in reached.cluster.objects if thing["kind"] == "Pod"]
    held["status"]["containerStatuses"] = [container(ended(1, "Error"), restarts=1)]
    before, now = told(reached)
    assert (before.status, before.stream) == (Status.ERROR, "train-0-0000b/trainer (previous)")
    assert before.reason == "the container was restarted, and the log of its run before is not kept any more"
    assert now.body


def test_a_pod_that_was_never_placed(reached: Reached) -> None:
    own = failed_job(pods=1)
    reached.cluster.add(own, pod(own, 0, 11, None, "Pending"))
    (found,) = told(reached)
    assert (found.status, found.node) == (Status.EMPTY, None) and "never placed" in (found.reason or "")


def test_a_pod_that_was_never_placed_beside_one_that_was(reached: Reached) -> None:
    """Nodes are known by their pods, and it has none; one of a later attempt is not told of."""
    lines(reached, "x")
    (own,) = [thing for thing in reached.cluster.objects if thing["kind"] == "Job"]
    younger = pod(own, 2, 13, None, "Pending")
    younger["metadata"]["creationTimestamp"] = at(700)
    reached.cluster.add(pod(own, 1, 12, None, "Pending"), younger)
    found = told(reached, attempt(NODE))
    assert sorted((item.stream, item.status) for item in found) == [
        ("train-0-0000b/trainer", Status.OK),
        ("train-1-0000c/trainer", Status.EMPTY),
    ]


def test_a_container_that_printed_nothing(reached: Reached) -> None:
    lines(reached)
    (found,) = told(reached)
    assert (found.status, found.reason) == (Status.EMPTY, "the container printed nothing in the window")


def test_pods_that_are_gone_are_told_node_by_node(reached: Reached) -> None:
    lines(reached, "x")
    gone = {"name": "node-02", "aliases": ("train-1-0000c",)}
    read, missing = told(reached, attempt(NODE, gone))
    assert read.body and (missing.node, missing.status) == ("node-02", Status.ERROR)
    assert missing.reason == "the pods of this node are gone, and their logs with them"


def test_pods_of_a_later_attempt_are_not_read(reached: Reached) -> None:
    lines(reached, "x")
    (found,) = told(reached, attempt(ended_at=at(62)))
    assert (found.status, found.body) == (Status.ERROR, "")
    assert found.reason == "no pod of the attempt is there any more, so its logs are gone"
    (other,) = told(reached, attempt({"name": "node-01", "aliases": ("train-0-older",)}))
    assert (other.node, other.body) == ("node-01", "")


@BOTH_WAYS
def test_a_log_that_breaks_off_keeps_what_came(reached: Reached) -> None:
    text = stamped(f"line {n}" for n in range(50))
    lines(reached)
    cluster = reached.cluster
    cut = Reply(body=text, cut_at=1500, content_type="text/plain")
    reached.server.handler = lambda asked: cut if asked.path.endswith("/log") else cluster(asked)
    found = told(reached, piece_bytes=1024)
    assert "".join(item.body for item in found) == text[:1500]
    assert found[-1].status is Status.PARTIAL and (found[-1].reason or "").startswith("broke off")


@BOTH_WAYS
def test_a_log_that_never_ends_stops_at_its_limit(reached: Reached) -> None:
    lines(reached)
    reached.cluster.logs["train-0-0000b/trainer"] = Reply(body=stamped(["x" * 500]), endless=True)
    with closing(pods(reached, piece_bytes=1024)) as connector:
        seen: list[Observation] = []
        for item in connector.collect(attempt(), PLAN, lambda: len(seen) >= 5):
            seen.append(item)
    assert seen[-1].status is Status.PARTIAL and seen[-1].reason == "deadline" and len(seen) < 10


@BOTH_WAYS
def test_a_server_that_does_not_answer(reached: Reached) -> None:
    lines(reached)
    reached.cluster.logs["train-0-0000b/trainer"] = Reply(wait_secs=20.0, body=stamped(["x"]), endless=True)
    (found,) = told(reached, timeout_secs=1.0)
    assert found.status is Status.ERROR and "within 1 s" in (found.reason or "")


# --- attempts of other schedulers -------------------------------------------------------------------------------------


def test_an_attempt_that_names_no_job(reached: Reached) -> None:
    lines(reached, "x")
    static = attempt(NODE, scheduler="static", scheduler_ids={})
    (found,) = told(reached, static)
    assert (found.node, found.status) == ("node-01", Status.SKIPPED) and "names no job" in (found.reason or "")
    (held,) = [thing for thing in reached.cluster.objects if thing["kind"] == "Pod"]
    held["metadata"]["labels"]["run"] = "w"
    (found,) = told(reached, static, selector="run={workload_id}", namespace=SPACE)
    assert found.body


def test_a_selector_with_an_unknown_place_is_refused() -> None:
    with pytest.raises(ValueError, match="and no other place"):
        KubernetesPodsSettings(selector="run={job}")


@BOTH_WAYS
def test_check_names_the_right_that_is_missing(reached: Reached) -> None:
    lines(reached, "x")
    with closing(pods(reached)) as connector:
        assert connector.check().startswith("may read pods and their logs")
        reached.cluster.denied = {"get pods/log"}
        with pytest.raises(ConnectorError, match=r"may not get pods/log in all namespaces \(bind a role"):
            connector.check()
