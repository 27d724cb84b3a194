"""A V1 client, written from the exchange it knows, gets exactly the nodes to exclude."""

import json
from typing import Any

import pytest

from tests.service.helpers import JSON, Desk, problem

NODES = ["node-01", "node-02", "node-03"]
WORKLOAD = {
    "id": 418201,
    "type": "Slurm",
    "srun_cmd": "srun python train.py",
    "job_start_time": "2026-05-04T02:31:00Z",
    "job_end_time": 1777864646,
    "status": "FAILED",
    "nranks": 24,
    "ranks_per_node": "8",
    "nodes": NODES,
    "name": "train",
    "username": "user-1",
    "framework": "pytorch",
    "exit_code_signal": "1:0",
}
METADATA = {"cluster": "example", "agent": "recovery", "ruleset": "default"}
XID_79 = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
FAULT_NS = 1777864018112000000  # 2026-05-04T03:06:58.112Z

Entry = tuple[str, int, str]
"""(node, nanoseconds, text)"""


class Client:
    """What a V1 client does, and no more."""

    def __init__(self, desk: Desk) -> None:
        self.http = desk.http

    def open(self, workload: dict[str, Any] = WORKLOAD, metadata: dict[str, Any] = METADATA) -> str:
        answer = self.http.post("/latest/attributor", json={"workload": workload, "metadata": metadata})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["attributor_id"])

    def observe(self, session: str, source: str, form: str, body: str) -> str:
        interval = {"start": "2026-05-04T02:31:00Z", "end": "2026-05-04T03:17:26Z"}
        context = {"time_interval": interval, "resources": "AllJobResources", "source": source, "format": form}
        answer = self.http.post(f"/latest/attributor/{session}/observation", json={"context": context, "body": body})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["observation_id"])

    def nodes(self, session: str) -> dict[str, list[Any]]:
        answer = self.http.get(f"/latest/attributor/{session}/attribution")
        assert answer.status_code == 200, answer.text
        found = answer.json()["attributions"]
        assert {item["type"] for item in found} <= {"NodeAttribution"}
        nodes = [item["node"] for item in found]
        assert len(set(nodes)) == len(nodes)
        return {item["node"]: item["attributions"] for item in found}


def loki(*entries: Entry, appname: str = "kernel", labels: dict[str, str] | None = None) -> str:
    """Streams as Loki answers them: each line is JSON again, and tells its host."""
    streams = []
    for node, ns, text in entries:
        attributes = {"hostname": node, "appname": appname, "facility": "kern"}
        line = {"body": text, "severity": "ERROR", "attributes": attributes, "resources": {"job": "syslog"}}
        streams.append({"stream": labels or {"job": "syslog"}, "values": [[str(ns), json.dumps(line)]]})
    return json.dumps(streams)


@pytest.fixture
def client(desk: Desk) -> Client:
    return Client(desk)


def test_a_broken_gpu_excludes_its_node_and_no_other(client: Client, desk: Desk) -> None:
    session = client.open()
    quiet = ("node-01", FAULT_NS - 10**9, "usb 1-1: new high-speed USB device")
    client.observe(session, "syslog", "raw_loki_streams", loki(quiet, ("node-02", FAULT_NS, XID_79)))
    found = client.nodes(session)
    assert list(found) == NODES
    assert {node for node, inner in found.items() if inner} == {"node-02"}
    assert desk.attribution(session)["diagnosis"]["exclude_nodes"] == ["node-02"]
    assert found["node-02"][0]["sub_domain"] == "gpu_hardware"


def test_a_fault_of_the_job_excludes_nobody(client: Client) -> None:
    session = client.open()
    lines = [
        "Traceback (most recent call last):",
        '  File "/data/job/train.py", line 40, in <module>',
        "ValueError: batch size must be positive",
    ]
    entries = [("node-03", FAULT_NS + n, line) for n, line in enumerate(lines)]
    client.observe(session, "applog", "raw_loki_streams", loki(*entries, appname="python"))
    assert client.nodes(session) == {node: [] for node in NODES}


def test_nothing_seen_excludes_nobody(client: Client) -> None:
    session = client.open()
    assert client.nodes(session) == {node: [] for node in NODES}
    client.observe(session, "syslog", "raw_loki_streams", "[]")
    client.observe(session, "node_metrics", "prometheus_metrics", "[]")
    assert client.nodes(session) == {node: [] for node in NODES}


def samples(node: str, values: list[tuple[int, str]], **labels: str) -> dict[str, Any]:
    metric = {"__name__": "DCGM_FI_DEV_XID_ERRORS", "Hostname": node, "gpu": "0", **labels}
    return {"metric": metric, "values": [list(value) for value in values]}


def test_metrics_are_read(client: Client, desk: Desk) -> None:
    session = client.open()
    at = FAULT_NS // 10**9
    body = json.dumps(
        [samples("node-02", [(at - 60, "0"), (at, "79"), (at + 60, "79")]), samples("node-01", [(at, "0")])]
    )
    client.observe(session, "node_metrics", "prometheus_metrics", body)
    diagnosis = desk.attribution(session)["diagnosis"]
    assert [symptom["node"] for symptom in diagnosis["symptoms"]] == ["node-02"]
    assert {(line["source"], line["node"]) for line in diagnosis["coverage"]} == {
        ("node_metrics", "node-01"),
        ("node_metrics", "node-02"),
    }
    nodes = client.nodes(session)
    assert {node for node, inner in nodes.items() if inner} == set(diagnosis["exclude_nodes"])


def test_order_cut_and_repetition_do_not_matter(desk: Desk) -> None:
    client = Client(desk)
    entries = [("node-02", FAULT_NS + n * 10**9, XID_79 if n == 3 else f"usb 1-{n}: reset") for n in range(8)]
    at = FAULT_NS // 10**9
    points = [(at + 15 * n, "79" if n > 2 else "0") for n in range(6)]
    cuts = [[entries], [entries[5:], entries[:6], entries[2:4]], [[entry] for entry in reversed(entries)]]
    metrics = [[points], [points[3:], points[:4]], [[point] for point in reversed(points)]]
    answers = []
    for logs, series in zip(cuts, metrics, strict=True):
        session = client.open()
        for part in logs + logs[:1]:
            client.observe(session, "syslog", "raw_loki_streams", loki(*part))
        for part in series:
            client.observe(session, "node_metrics", "prometheus_metrics", json.dumps([samples("node-02", part)]))
        diagnosis = desk.attribution(session)["diagnosis"]
        answers.append(diagnosis)
        assert {node for node, inner in client.nodes(session).items() if inner} == {"node-02"}
        desk.http.delete(f"/v2/attributors/{session}")
    assert answers[0] == answers[1] == answers[2]
    (evidence,) = [item for item in answers[0]["evidence"] if item["source"] == "syslog"]
    assert evidence["node"] == "node-02" and evidence["at"].startswith("2026-05-04T03:07:01.112")


def test_the_same_observation_counts_once(client: Client, desk: Desk) -> None:
    session = client.open()
    body = loki(("node-02", FAULT_NS, XID_79))
    ids = {client.observe(session, "syslog", "raw_loki_streams", body) for _ in range(3)}
    assert len(ids) == 1
    assert desk.http.get(f"/v2/attributors/{session}").json()["observations"] == 1
    assert desk.attribution(session)["diagnosis"]["symptoms"][0]["count"] == 1


def test_labels_name_the_host_and_aliases_are_known(client: Client, desk: Desk) -> None:
    session = client.open()
    line = json.dumps({"body": XID_79, "attributes": {"appname": "kernel"}})
    labels = {"hostname": "node-02.cluster.example", "level": "error"}
    body = json.dumps([{"stream": labels, "values": [[str(FAULT_NS), line], [FAULT_NS, "plain text"]]}])
    client.observe(session, "syslog", "raw_loki_streams", body)
    (coverage,) = desk.attribution(session)["diagnosis"]["coverage"]
    assert (coverage["node"], coverage["lines"], coverage["stream"]) == (
        "node-02",
        2,
        "loki/hostname=node-02.cluster.example",
    )
    assert {node for node, inner in client.nodes(session).items() if inner} == {"node-02"}


def test_sessions_are_shared_with_version_2(client: Client, desk: Desk) -> None:
    session = client.open()
    assert desk.open({"workload_id": "418201", "cluster": "example"}) == session
    state = desk.http.get(f"/v2/attributors/{session}").json()
    assert (state["workload_id"], state["cluster"]) == ("418201", "example")


def test_the_workload_becomes_the_context(client: Client, desk: Desk) -> None:
    session = client.open()
    found = desk.service.sessions.context(session)
    context = json.loads(found.model_dump_json(exclude_defaults=True))
    assert context == {
        "workload_id": "418201",
        "scheduler": "slurm",
        "cluster": "example",
        "name": "train",
        "user": "user-1",
        "framework": "pytorch",
        "launch_command": "srun python train.py",
        "started_at": "2026-05-04T02:31:00Z",
        "ended_at": "2026-05-04T03:17:26Z",
        "scheduler_state": "FAILED",
        "exit_code": 1,
        "nodes": [{"name": node} for node in NODES],
        "nranks": 24,
        "ranks_per_node": 8,
    }


TIMES = {
    "2026-05-04T03:17:26Z": "2026-05-04T03:17:26Z",
    "2026-05-04T05:17:26+02:00": "2026-05-04T03:17:26Z",
    "2026-05-04T03:17:26": "2026-05-04T03:17:26Z",
    "2026-05-04 03:17:26.5": "2026-05-04T03:17:26.500000Z",
    "1777864646": "2026-05-04T03:17:26Z",
    1777864646.5: "2026-05-04T03:17:26.500000Z",
    1777864646000: "2026-05-04T03:17:26Z",
    "1777864646000000": "2026-05-04T03:17:26Z",
    1777864646000000000: "2026-05-04T03:17:26Z",
    "Unknown": None,
    "None": None,
    "": None,
    0: None,
}


@pytest.mark.parametrize("time", TIMES)
def test_times_are_read_as_clients_write_them(client: Client, desk: Desk, time: str | float) -> None:
    session = client.open({**WORKLOAD, "job_end_time": time})
    found = desk.service.sessions.context(session)
    assert json.loads(found.model_dump_json())["ended_at"] == TIMES[time]


EXITS = {"1:0": (1, None), "0:9": (0, 9), "137": (137, None), "0:125": (0, None), "": (None, None), 3: (3, None)}


@pytest.mark.parametrize("text", EXITS)
def test_the_exit_is_read_as_the_scheduler_prints_it(client: Client, desk: Desk, text: str | int) -> None:
    session = client.open({**WORKLOAD, "exit_code_signal": text})
    found = desk.service.sessions.context(session)
    assert (found.exit_code, found.signal) == EXITS[text]


def test_unknown_keys_are_ignored_and_counted(client: Client, desk: Desk) -> None:
    client.open({**WORKLOAD, "partition": "a", "qos": "b"}, {**METADATA, "site": "x"})
    assert desk.metric("attribution_v1_ignored_keys_total", part="workload") == 2
    assert desk.metric("attribution_v1_ignored_keys_total", part="metadata") == 1
    session = client.open()
    context = {"source": "syslog", "format": "text", "time_interval": {"step": 1}, "x": 1}
    body = {"context": context, "body": "", "y": 1}
    assert desk.http.post(f"/latest/attributor/{session}/observation", json=body).status_code == 200
    for part in ("request", "context", "time_interval"):
        assert desk.metric("attribution_v1_ignored_keys_total", part=part) == 1


WRONG_WORKLOADS = {
    "/workload/job_end_time": {"job_end_time": "yesterday"},
    "/workload/job_start_time": {"job_start_time": 1e30},
    "/workload/exit_code_signal": {"exit_code_signal": "killed"},
    "/workload/nranks": {"nranks": "many"},
    "/workload/ranks_per_node": {"ranks_per_node": False},
    "/workload/nodes": {"nodes": "node-01"},
    "/workload/nodes/0": {"nodes": [1]},
    "/workload": {"job_start_time": 1777864647},  # after its end
    "/workload_id": {"id": "x" * 2000},
}


@pytest.mark.parametrize("place", WRONG_WORKLOADS)
def test_a_wrong_workload_is_told_with_its_place(desk: Desk, place: str) -> None:
    body = {"workload": {**WORKLOAD, **WRONG_WORKLOADS[place]}, "metadata": METADATA}
    details = problem(desk.http.post("/latest/attributor", json=body), 422, "invalid-request")
    assert details["problems"][0]["place"].rstrip("/") == place


WRONG_OBSERVATIONS = {
    "source": ({"source": "nowhere"}, "", "/context/source"),
    "format": ({"format": "csv"}, "", "/context/format"),
    "interval": ({"time_interval": {"start": "x", "end": 1}}, "", "/context/time_interval/start"),
    "no Loki": ({"format": "raw_loki_streams"}, '{"a": 1}', "body"),
    "Loki cut short": ({"format": "raw_loki_streams"}, '[{"stream": {}, "values": [', "body"),
    "no metrics": ({"source": "node_metrics", "format": "prometheus_metrics"}, '{"a": 1}', "body"),
    "metrics of a log": ({"format": "prometheus_metrics"}, "[]", "body"),
}


@pytest.mark.parametrize("name", WRONG_OBSERVATIONS)
def test_a_wrong_observation_is_told_with_its_place(client: Client, desk: Desk, name: str) -> None:
    session = client.open()
    change, body, place = WRONG_OBSERVATIONS[name]
    request = {"context": {"source": "syslog", "format": "text", **change}, "body": body}
    answer = desk.http.post(f"/latest/attributor/{session}/observation", json=request)
    details = problem(answer, 422, "invalid-request")
    assert details["problems"][0]["place"] == place


def test_a_body_that_is_no_text_is_told(client: Client, desk: Desk) -> None:
    session = client.open()
    request = {"context": {"source": "syslog", "format": "raw_loki_streams"}, "body": []}
    details = problem(desk.http.post(f"/latest/attributor/{session}/observation", json=request), 422, "invalid-request")
    assert details["problems"][0]["place"] == "/body"
    raw = '{"context": {"source": "syslog", "format": "text"}, "body": "\\ud800"}'
    answer = desk.http.post(f"/latest/attributor/{session}/observation", content=raw, headers=JSON)
    problem(answer, 422, "invalid-request")


def test_a_refusal_of_the_metric_server_is_kept_as_coverage(client: Client, desk: Desk) -> None:
    session = client.open()
    body = json.dumps({"status": "error", "errorType": "timeout", "error": "query timed out"})
    client.observe(session, "node_metrics", "prometheus_metrics", body)
    (coverage,) = desk.attribution(session)["diagnosis"]["coverage"]
    assert (coverage["status"], coverage["reason"]) == ("error", "timeout: query timed out")
