"""What schedulers record decides how the attempt ended, and is shown as sentences at its place in the document."""

import contextlib
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from attribution.bundle.evidence import assemble
from attribution.bundle.reader import open_bundle
from attribution.contracts.context import ExecutionContext, Node
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.observation import Clock, Observation
from attribution.contracts.vocabulary import Format, Source, Status, SubDomain, TerminalState
from attribution.diagnosis.engine import diagnose
from attribution.extraction.records import flight_recorder, kubernetes, slurm
from attribution.extraction.records.told import Unreadable
from attribution.extraction.ruleset import RuleSets

from tests.extraction import records as r

T = TerminalState


def concluded(
    rules: RuleSets, body: str, form: Format, context: ExecutionContext | None = None, **more: Any
) -> Diagnosis:
    seen = Observation(
        source=Source.SCHEDULER, format=form, stream="records", body=body, clock=Clock(zone="UTC"), **more
    )
    evidence, _ = assemble(context or ExecutionContext(workload_id="w"), [seen])
    return diagnose(evidence, rules)


CANCELLED = (("batch", "CANCELLED", 15), ("extern", "COMPLETED", None), (0, "CANCELLED", 15))
NEVER_REPORTED = (("batch", "CANCELLED", None), ("extern", "CANCELLED", None))
ROWS: list[tuple[str, dict[str, Any], TerminalState]] = [
    ("COMPLETED", {}, T.COMPLETED),
    ("FAILED", {"code": 3}, T.FAILED),
    ("FAILED", {"signal": 9, "steps": [("batch", "CANCELLED", 9)]}, T.FAILED),
    ("FAILED", {"code": 143, "steps": [("batch", "FAILED", None), (0, "CANCELLED", 15)]}, T.FAILED),
    ("FAILED", {"code": 1, "steps": [("batch", "FAILED", None), (0, "OUT_OF_MEMORY", 125)]}, T.OUT_OF_MEMORY),
    ("OUT_OF_MEMORY", {"signal": 125, "steps": [("batch", "OUT_OF_MEMORY", 125)]}, T.OUT_OF_MEMORY),
    ("TIMEOUT", {"steps": CANCELLED}, T.TIMED_OUT),
    ("CANCELLED", {"by": "alice", "steps": CANCELLED}, T.CANCELLED),
    ("CANCELLED", {"by": "alice", "start": None, "nodes": "None assigned"}, T.CANCELLED),
    ("CANCELLED", {"reason": "Dependency", "start": None, "nodes": "None assigned"}, T.LAUNCH_FAILED),
    ("PREEMPTED", {"steps": CANCELLED}, T.PREEMPTED),
    ("NODE_FAIL", {"code": 1, "steps": CANCELLED}, T.NODE_FAILED),
    ("BOOT_FAIL", {}, T.NODE_FAILED),
    ("REQUEUED", {"signal": 54, "steps": NEVER_REPORTED}, T.LAUNCH_FAILED),
    ("REQUEUED", {"steps": CANCELLED}, T.CANCELLED),
    ("DEADLINE", {"code": 1, "start": None, "nodes": "None assigned", "reason": "BeginTime"}, T.LAUNCH_FAILED),
    ("DEADLINE", {"steps": CANCELLED}, T.TIMED_OUT),
    ("FAILED", {"code": 1, "end": 0, "nodes": "None assigned"}, T.LAUNCH_FAILED),
    ("RUNNING", {}, T.RUNNING),
    ("SUSPENDED", {}, T.RUNNING),
]


@pytest.mark.parametrize("version", [r.job_of_22, r.job_of_25])
@pytest.mark.parametrize(
    ("state", "more", "ended"), ROWS, ids=[f"{s} {t.value} {n}" for n, (s, _, t) in enumerate(ROWS)]
)
def test_every_state_of_both_versions(
    shipped: RuleSets, version: Any, state: str, more: dict[str, Any], ended: TerminalState
) -> None:
    got = concluded(shipped, r.sacct(version(812, state, **more)), Format.SACCT_JSON)
    assert got.terminal_state is ended
    assert got.exclude_nodes == ()
    assert got.coverage[0].status is Status.OK or got.coverage[0].source is not Source.SCHEDULER


TABLE = [
    (("812", "FAILED", "3:0"), {}, T.FAILED),
    (("812", "CANCELLED by 1007", "0:0"), {}, T.CANCELLED),
    (("812", "CANCELLED by 1007", "0:0"), {"start": "None", "nodes": "None assigned"}, T.CANCELLED),
    (("812", "CANCELLED", "0:0"), {"start": "None", "reason": "Dependency", "nodes": "None assigned"}, T.LAUNCH_FAILED),
    (("812", "FAILED", "1:0"), {"nodes": "None assigned"}, T.LAUNCH_FAILED),
    (("812_3", "TIMEOUT", "0:0"), {"raw": "815"}, T.TIMED_OUT),
    (("812+0", "NODE_FAIL", "1:0"), {}, T.NODE_FAILED),
]


@pytest.mark.parametrize(("values", "more", "ended"), TABLE)
def test_every_state_of_a_table(
    shipped: RuleSets, values: tuple[str, str, str], more: dict[str, str], ended: TerminalState
) -> None:
    assert concluded(shipped, r.table(r.row(*values, **more)), Format.SACCT_PARSABLE2).terminal_state is ended


def test_a_step_that_ran_out_of_memory_is_named_with_its_node(shipped: RuleSets) -> None:
    body = r.table(r.row("812", "FAILED", "1:0"), r.row("812.0", "OUT_OF_MEMORY", "0:125", nodes="node-02"))
    got = concluded(shipped, body, Format.SACCT_PARSABLE2)
    assert (got.terminal_state, got.sub_domain) == (T.OUT_OF_MEMORY, SubDomain.RESOURCE_LIMIT)
    assert [(c.symptom, c.node) for c in got.causes] == [("STEP_OUT_OF_MEMORY", "node-02")]
    shown = next(e for e in got.evidence if e.id in got.causes[0].evidence_ids)
    assert shown.text.startswith("2026-05-04T03:10:00 Slurm step 812.0 OUT_OF_MEMORY, exit code 0:125")
    assert (shown.line, shown.offset) == (3, body.index("812.0"))
    assert shown.at == datetime(2026, 5, 4, 3, 10, tzinfo=UTC)


def test_a_record_is_shown_at_its_place_in_the_document(shipped: RuleSets) -> None:
    body = r.sacct(r.job_of_25(811, "COMPLETED"), r.job_of_25(812, "TIMEOUT"))
    context = ExecutionContext(workload_id="w", scheduler_ids={"job": "812"})
    got = concluded(shipped, body, Format.SACCT_JSON, context)
    shown = next(e for e in got.evidence if e.id in got.causes[0].evidence_ids)
    second = body.index("{", body.index('"steps": []'))
    assert (shown.offset, shown.line) == (second, body[:second].count("\n") + 1)
    assert got.causes[0].node is None


def test_the_record_of_another_attempt_is_context(shipped: RuleSets) -> None:
    body = r.sacct(
        r.job_of_22(812, "PREEMPTED", 0, 600),
        r.job_of_22(812, "NODE_FAIL", 700, 1200, nodes="node-03"),
        r.job_of_22(812, "COMPLETED", 1300, 1900, nodes="node-04"),
    )
    for start, ended in ((0, T.PREEMPTED), (700, T.NODE_FAILED), (1300, T.COMPLETED)):
        began = datetime.fromtimestamp(r.T0 + start, UTC)
        context = ExecutionContext(workload_id="w", scheduler_ids={"job": "812"}, started_at=began)
        assert concluded(shipped, body, Format.SACCT_JSON, context).terminal_state is ended
    context = ExecutionContext(workload_id="w", scheduler_ids={"job": "812"}, attempt=2)
    got = concluded(shipped, body, Format.SACCT_JSON, context)
    assert got.terminal_state is T.NODE_FAILED
    assert ("SCHEDULER_PREEMPTED", "context") in {(s.symptom, s.role.value) for s in got.symptoms}


def test_other_jobs_of_a_list_do_not_count(shipped: RuleSets) -> None:
    body = r.sacct(r.job_of_25(811, "FAILED", code=1), r.job_of_25(812, "TIMEOUT"), r.job_of_25(813, "PREEMPTED"))
    named = ExecutionContext(workload_id="w", scheduler_ids={"job": "812"})
    assert concluded(shipped, body, Format.SACCT_JSON, named).terminal_state is T.TIMED_OUT
    assert concluded(shipped, body, Format.SACCT_JSON).terminal_state is T.UNKNOWN
    tasks = r.sacct(r.job_of_25(821, "FAILED", array=(820, 1), code=1), r.job_of_25(822, "TIMEOUT", array=(820, 2)))
    one = ExecutionContext(workload_id="w", scheduler_ids={"job": "822", "array_job": "820", "array_task": "2"})
    assert concluded(shipped, tasks, Format.SACCT_JSON, one).terminal_state is T.TIMED_OUT


def test_rows_that_go_on_over_lines_and_names_with_the_delimiter() -> None:
    fields = f"{r.FIELDS}|SubmitLine"
    body = r.table(
        r.row("812", "FAILED", "1:0", name="a|b") + "|sbatch --wrap python -c",
        "import time",
        "time.sleep(3)",
        r.row("813", "TIMEOUT") + "|sbatch b.sh",
        fields=fields,
    )
    told = list(slurm.jobs_of_rows(body.encode()))
    assert [sentence.words.split(",")[0] for sentence in told] == ["Slurm job 812 FAILED", "Slurm job 813 TIMEOUT"]
    assert [sentence.line for sentence in told] == [1, 4]
    assert told[0].at == "2026-05-04T03:10:00"


def test_times_in_seconds_are_utc() -> None:
    body = r.table(r.row("812", "TIMEOUT", start=str(r.T0), end=str(r.T0 + 60)))
    assert [sentence.at for sentence in slurm.jobs_of_rows(body.encode())] == ["2026-05-04T03:01:00Z"]


EVENTS = """Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User
c1||2026-05-03T00:00:00|Unknown||Cluster Registered TRES|
c1|node-02|2026-05-04T03:09:40|2026-05-04T05:00:00|DOWN|xid 79: GPU has fallen off the bus|root(0)
c1|node-07|2026-05-04T03:09:50|Unknown|DOWN*|Not responding|slurm(64030)
"""


def test_a_node_that_was_set_down_explains_the_lost_job(shipped: RuleSets) -> None:
    context = ExecutionContext(
        workload_id="w",
        scheduler_ids={"job": "812"},
        nodes=(Node(name="node-01"), Node(name="node-02")),
        started_at=datetime(2026, 5, 4, 3, 0, tzinfo=UTC),
        ended_at=datetime(2026, 5, 4, 3, 10, tzinfo=UTC),
    )
    clock = Clock(zone="UTC")
    evidence, _ = assemble(
        context,
        [
            Observation(source=Source.SCHEDULER, stream="events", body=EVENTS, clock=clock),
            Observation(
                source=Source.SCHEDULER,
                format=Format.SACCT_JSON,
                stream="sacct",
                body=r.sacct(r.job_of_22(812, "NODE_FAIL")),
            ),
        ],
    )
    got = diagnose(evidence, shipped)
    assert (got.terminal_state, got.sub_domain) == (T.NODE_FAILED, SubDomain.GPU_HARDWARE)
    assert [(c.symptom, c.node) for c in got.causes] == [("XID_79", "node-02")]
    shown = next(e for e in got.evidence if e.id in got.causes[0].evidence_ids)
    assert "on node node-02: Slurm set the node DOWN, Reason=xid 79" in shown.text
    assert shown.line == 3


def test_the_controller_that_lost_a_node_names_it(shipped: RuleSets) -> None:
    body = EVENTS.replace("xid 79: GPU has fallen off the bus", "Not responding").replace("|DOWN|", "|DOWN*|")
    context = ExecutionContext(
        workload_id="w",
        scheduler_state="NODE_FAIL",
        nodes=(Node(name="node-01"), Node(name="node-02")),
        started_at=datetime(2026, 5, 4, 3, 0, tzinfo=UTC),
        ended_at=datetime(2026, 5, 4, 3, 10, tzinfo=UTC),
    )
    got = concluded(shipped, body, Format.TEXT, context)
    assert (got.terminal_state, got.sub_domain) == (T.NODE_FAILED, SubDomain.SCHEDULER)
    assert [(c.symptom, c.node) for c in got.causes] == [("SLURM_NODE_DOWN", "node-02")]


# --- Kubernetes -----------------------------------------------------------------------------------------------------

FAILED_JOB = r.thing("Job", "train", [r.condition("Failed", "True", "BackoffLimitExceeded", "reached the limit")])
KUEUE = ("kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2")


def killed(reason: str, code: int) -> list[dict[str, Any]]:
    return r.container(terminated={"exitCode": code, "reason": reason, "finishedAt": "2026-05-04T03:09:59Z"})


RAY_JOB = {
    "jobStatus": "FAILED",
    "jobDeploymentStatus": "Failed",
    "reason": "AppFailed",
    "message": "entrypoint failed, last logs:\nSome last words",
}
OBJECTS: list[tuple[str, tuple[Any, ...], TerminalState, SubDomain, str | None]] = [
    (
        "out of memory",
        (FAILED_JOB, r.pod("train-0", phase="Failed", containerStatuses=killed("OOMKilled", 137))),
        T.OUT_OF_MEMORY,
        SubDomain.RESOURCE_LIMIT,
        "node-02",
    ),
    (
        "137 alone",
        (FAILED_JOB, r.pod("train-0", phase="Failed", containerStatuses=killed("Error", 137))),
        T.FAILED,
        SubDomain.INSUFFICIENT_EVIDENCE,
        None,
    ),
    (
        "a lost node",
        (
            r.thing("Job", "train", [], active=1, ready=1),
            r.pod(
                "train-0",
                phase="Running",
                conditions=[r.condition("DisruptionTarget", "True", "DeletionByTaintManager", "deleting")],
                containerStatuses=r.container(running={"startedAt": "2026-05-04T03:00:10Z"}),
            ),
            r.thing("Node", "node-02", [r.condition("Ready", "Unknown", "NodeStatusUnknown", "stopped posting")], "v1"),
            r.happened("NodeNotReady", "Pod/train-0", "Node is not ready"),
        ),
        T.NODE_FAILED,
        SubDomain.SCHEDULER,
        "node-02",
    ),
    (
        "an image",
        (
            r.pod(
                "train-0",
                phase="Pending",
                containerStatuses=r.container(
                    waiting={"reason": "ImagePullBackOff", "message": 'Back-off pulling image "r.example.org/train:2"'}
                ),
            ),
            r.happened("Failed", "Pod/train-0", "Error: ErrImagePull", count=5, host="node-02"),
        ),
        T.LAUNCH_FAILED,
        SubDomain.CONTAINER_RUNTIME,
        "node-02",
    ),
    (
        "a deadline",
        (r.thing("Job", "train", [r.condition("Failed", "True", "DeadlineExceeded", "Job was active longer")]),),
        T.TIMED_OUT,
        SubDomain.SCHEDULER,
        None,
    ),
    (
        "an eviction from a full node",
        (r.pod("train-0", phase="Failed", reason="Evicted", message="The node was low on resource: memory."),),
        T.PREEMPTED,
        SubDomain.SCHEDULER,
        "node-02",
    ),
    (
        "RayJob",
        (r.thing("RayJob", "train", [], "ray.io/v1", **RAY_JOB),),
        T.FAILED,
        SubDomain.INSUFFICIENT_EVIDENCE,
        None,
    ),
    (
        "JobSet",
        (r.thing("JobSet", "train", [r.condition("Completed", "True", "AllJobsCompleted")]),),
        T.COMPLETED,
        SubDomain.NONE,
        None,
    ),
    (
        "PyTorchJob",
        (r.thing("PyTorchJob", "train", [r.condition("Running", "False"), r.condition("Succeeded", "True", "Done")]),),
        T.COMPLETED,
        SubDomain.NONE,
        None,
    ),
    (
        "TrainJob",
        (r.thing("TrainJob", "train", [r.condition("Failed", "True", "JobsFailed", "a job failed")]),),
        T.FAILED,
        SubDomain.INSUFFICIENT_EVIDENCE,
        None,
    ),
]


@pytest.mark.parametrize(
    ("objects", "ended", "sub_domain", "node"), [o[1:] for o in OBJECTS], ids=[o[0] for o in OBJECTS]
)
def test_objects_of_kubernetes(
    shipped: RuleSets, objects: tuple[Any, ...], ended: TerminalState, sub_domain: SubDomain, node: str | None
) -> None:
    got = concluded(shipped, r.objects(*objects), Format.KUBERNETES_OBJECTS)
    assert (got.terminal_state, got.sub_domain) == (ended, sub_domain)
    assert [c.node for c in got.causes] == ([] if not got.causes else [node])


WORKLOADS = [
    ([r.condition("Evicted", "True", "Preempted", "Preempted to accommodate a workload (UID: 1)")], T.PREEMPTED),
    ([r.condition("Evicted", "True", "NodeFailures", "no replacement")], T.NODE_FAILED),
    ([r.condition("Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout")], T.LAUNCH_FAILED),
    ([r.condition("Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded")], T.TIMED_OUT),
    ([r.condition("Evicted", "True", "Deactivated")], T.CANCELLED),
    ([r.condition("Evicted", "True", "ClusterQueueStopped")], T.CANCELLED),
    ([r.condition("Finished", "True", "Succeeded")], T.COMPLETED),
    ([r.condition("Finished", "True", "Failed", "Job failed")], T.FAILED),
    ([r.condition("PodsReady", "True", "Started")], T.RUNNING),
    (
        [
            r.condition("PodsReady", "True", "Started"),
            r.condition(
                "Evicted", "False", "QuotaReserved", "Previously: Preempted to accommodate a workload (UID: 1)"
            ),
        ],
        T.RUNNING,
    ),
]


@pytest.mark.parametrize("version", KUEUE)
@pytest.mark.parametrize(("conditions", "ended"), WORKLOADS)
def test_workloads_of_kueue(shipped: RuleSets, version: str, conditions: list[Any], ended: TerminalState) -> None:
    body = r.objects(r.thing("Workload", "job-train-1", conditions, version))
    assert concluded(shipped, body, Format.KUBERNETES_OBJECTS).terminal_state is ended


def test_an_eviction_of_an_earlier_attempt_is_context(shipped: RuleSets) -> None:
    body = r.objects(
        r.happened("EvictedDueToPreempted", "Workload/job-train-1", "Preempted to accommodate a workload"),
        r.thing("Workload", "job-train-1", [r.condition("Finished", "True", "Failed", "Job failed", at="03:30:00")]),
    )
    context = ExecutionContext(workload_id="w", started_at=datetime(2026, 5, 4, 3, 12, tzinfo=UTC))
    assert concluded(shipped, body, Format.KUBERNETES_OBJECTS, context).terminal_state is T.FAILED


def test_events_of_old_and_new_reporters_tell_the_same() -> None:
    old, new = (
        next(iter(kubernetes.objects_of(r.objects(r.happened("Failed", "Pod/train-0", "no", 7, n)).encode())))
        for n in (False, True)
    )
    assert (old.at, old.until, old.count, old.words) == (new.at, new.until, new.count, new.words)
    assert (old.at, old.until, old.count) == ("2026-05-04T03:05:00Z", "2026-05-04T03:09:00Z", 7)


def test_lists_single_objects_and_lines_of_objects_tell_the_same() -> None:
    pods = [r.pod(f"train-{n}", phase="Failed", reason="Evicted", message="low") for n in range(3)]
    listed = [t.words for t in kubernetes.objects_of(r.objects(*pods).encode())]
    lines = [t.words for t in kubernetes.objects_of("\n".join(map(json.dumps, pods)).encode())]
    nested = [t.words for t in kubernetes.objects_of(json.dumps([{"kind": "PodList", "items": pods}]).encode())]
    single = [t.words for t in kubernetes.objects_of(json.dumps(pods[0]).encode())]
    assert listed == lines == nested and len(listed) == 3
    assert single == listed[:1]


def test_the_last_words_of_a_container_are_read_as_its_log(shipped: RuleSets) -> None:
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-05-04T03:09:59Z"}
    message = (
        "Traceback (most recent call last):\n  File \"/data/job/train.py\", line 3, in <module>\nKeyError: 'labels'\n"
    )
    body = r.objects(
        r.pod("train-0", phase="Failed", containerStatuses=r.container(terminated={**ended, "message": message}))
    )
    got = concluded(shipped, body, Format.KUBERNETES_OBJECTS)
    assert [(c.symptom, c.node) for c in got.causes] == [("PYTHON_EXCEPTION", "node-02")]


def test_an_empty_list_and_what_is_no_record_are_told_apart(shipped: RuleSets) -> None:
    assert concluded(shipped, r.objects(), Format.KUBERNETES_OBJECTS).terminal_state is T.UNKNOWN
    for form in (Format.KUBERNETES_OBJECTS, Format.SACCT_JSON, Format.SACCT_PARSABLE2):
        got = concluded(shipped, '{"jobs": [{"job_id": 8', form)
        told = next(c for c in got.coverage if c.source is Source.SCHEDULER)
        assert told.status in {Status.ERROR, Status.PARTIAL}
        assert told.reason


@pytest.mark.parametrize(
    "job",
    [
        {},
        {"job_id": "x", "time": 3, "state": [], "steps": {}},
        {"state": {"current": [None, 3]}, "steps": [None, {}]},
        7,
        None,
    ],
)
def test_records_of_any_form_are_survived(shipped: RuleSets, job: Any) -> None:
    assert concluded(shipped, json.dumps({"jobs": [job]}), Format.SACCT_JSON).terminal_state is T.UNKNOWN
    thing = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": job,
        "status": {"containerStatuses": [job], "conditions": job},
    }
    concluded(shipped, json.dumps(thing), Format.KUBERNETES_OBJECTS)


def test_a_bundle_holds_records_under_any_name(shipped: RuleSets, tmp_path: Path) -> None:
    folder = tmp_path / "scheduler"
    folder.mkdir()
    (folder / "accounting-2.json").write_text(r.sacct(r.job_of_25(812, "TIMEOUT")))
    with open_bundle(tmp_path, None) as evidence:
        got = diagnose(evidence, shipped)
    assert got.terminal_state is T.TIMED_OUT
    assert [c.node for c in got.causes] == [None]
    assert "accounting" not in got.to_json().decode().replace("scheduler/accounting-2.json", "")


# --- PyTorch's flight recorder --------------------------------------------------------------------------------------


def dump(enqueued: int, completed: int, operation: str = "nccl:all_reduce", status: bool = True) -> str:
    entries = [
        {
            "record_id": number,
            "pg_id": 0,
            "process_group": ["0", "default_pg"],
            "collective_seq_id": number,
            "profiling_name": operation if number == enqueued else "nccl:all_reduce",
            "time_created_ns": (r.T0 + number) * 10**9,
            "input_sizes": [[4, 256]],
            "state": "completed" if number <= completed else "started",
            "is_p2p": False,
        }
        for number in range(enqueued - 3, enqueued + 1)
    ]
    said = {"last_enqueued_collective": enqueued, "last_started_collective": enqueued}
    whole = {"0": {**said, "last_completed_collective": completed}} if status else None
    return json.dumps(
        {"version": "2.5", "pg_config": {"0": {"desc": "default_pg"}}, "pg_status": whole, "entries": entries}
    )


def of_dumps(rules: RuleSets, folder: Path, dumps: dict[str, str]) -> Diagnosis:
    (folder / "flight_recorder").mkdir()
    for name, text in dumps.items():
        (folder / "flight_recorder" / name).write_text(text)
    with open_bundle(folder, None) as evidence:
        return diagnose(evidence, rules)


@pytest.mark.parametrize("status", [True, False])
def test_the_rank_that_never_came_is_named(shipped: RuleSets, tmp_path: Path, status: bool) -> None:
    dumps = {f"node-0{1 + rank // 2}.rank{rank}.json": dump(42, 41, status=status) for rank in (0, 1, 3)}
    got = of_dumps(shipped, tmp_path, {**dumps, "node-02.rank2.json": dump(41, 41, status=status)})
    assert (got.terminal_state, got.sub_domain) == (T.FAILED, SubDomain.INSUFFICIENT_EVIDENCE)
    assert got.first_failure is not None
    assert (got.first_failure.symptom, got.first_failure.node, got.first_failure.rank) == ("RANK_BEHIND", "node-02", 2)
    shown = next(e for e in got.evidence if e.id == got.first_failure.evidence_id)
    assert shown.text.endswith("group 0 (default_pg): last enqueued 41, last started 41, last completed 41")


def test_the_rank_that_called_something_else_is_named(shipped: RuleSets, tmp_path: Path) -> None:
    dumps = {f"node-01.rank{rank}.json": dump(42, 41) for rank in (0, 1, 3)}
    got = of_dumps(shipped, tmp_path, {**dumps, "node-02.rank2.json": dump(42, 41, "nccl:broadcast")})
    assert [(c.symptom, c.node, c.rank) for c in got.causes] == [("COLLECTIVE_MISMATCH", "node-02", 2)]


def test_dumps_of_any_form_are_survived(shipped: RuleSets, tmp_path: Path) -> None:
    odd = [{"collective_seq_id": 3, "process_group": [], "input_sizes": [["x"]], "state": {}}, {"pg_id": None}, {}]
    body = json.dumps({"version": "2.5", "pg_status": {"0": 7, "1": {"last_enqueued_collective": "x"}}, "entries": odd})
    got = of_dumps(shipped, tmp_path, {"node-01.rank0.json": body, "node-01.rank1.json": dump(42, 41)[:-9]})
    told = {c.stream: c.status for c in got.coverage if c.source is Source.FLIGHT_RECORDER}
    assert told["flight_recorder/node-01.rank1.json"] in {Status.ERROR, Status.PARTIAL}


ODD: list[Any] = [None, True, 7, -1, 2**70, 1.5, "", "x y", "\r\n\0", [], [None], {}, {"a": {}}, [[]], "\ud800"]


def spoilt(rng: random.Random, value: Any) -> Any:
    """The value with something else in one place."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
        return rng.choice(ODD)
    copy = dict(value) if isinstance(value, dict) else list(value)
    place = rng.choice(sorted(copy)) if isinstance(copy, dict) else rng.randrange(len(copy))
    copy[place] = spoilt(rng, copy[place])
    return copy


@pytest.mark.parametrize("seed", range(4))
def test_no_spoilt_record_raises_anything_but_unreadable(seed: int) -> None:
    rng = random.Random(seed)
    jobs = json.loads(r.sacct(r.job_of_22(1, "FAILED", steps=CANCELLED), r.job_of_25(2, "REQUEUED", steps=CANCELLED)))
    things = [thing for _, objects, *_ in OBJECTS for thing in objects]
    recorded = json.loads(dump(42, 41))
    for _ in range(400):
        for tell, value in (
            (slurm.jobs_of_json, jobs),
            (kubernetes.objects_of, {"kind": "List", "items": rng.sample(things, 2)}),
            (flight_recorder.status_of, recorded),
        ):
            with contextlib.suppress(Unreadable):
                for told in tell(json.dumps(spoilt(rng, spoilt(rng, value))).encode()):
                    assert "\n" not in told.text()
        rows = r.table(r.row("812", "FAILED", "1:0"), r.row("812.0", "OUT_OF_MEMORY"))
        at = rng.randrange(len(rows))
        with contextlib.suppress(Unreadable):
            list(slurm.jobs_of_rows((rows[:at] + rng.choice(["|", "\n", "\0", "x", ""]) + rows[at + 1 :]).encode()))
