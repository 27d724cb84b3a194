"""From stores to a diagnosis: what Loki and Prometheus hold of an attempt is collected, submitted and read."""

from datetime import UTC, datetime, timedelta

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.logs.loki import Loki, LokiSettings
from attribution.blueprint.connectors.metrics.promql import Promql, PromqlSettings
from attribution.client.client import AttributionClient
from attribution.contracts.context import ExecutionContext
from attribution.contracts.result import AttributionBlueprintResult
from attribution.testing import Handler, Reply, Request, Server, faulty

from tests.blueprint.fakes import Run
from tests.doubles.loki import HOUR_NS, LokiDouble
from tests.doubles.prometheus import PrometheusDouble

START = datetime(2026, 5, 4, 3, tzinfo=UTC)
AT = START.timestamp()
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
NODES = ("node-01", "node-02")
CONTEXT = {
    "workload_id": "job-7",
    "scheduler_ids": {"job": "4711"},
    "started_at": START,
    "ended_at": START + timedelta(hours=1),
    "scheduler_state": "FAILED",
    "exit_code": 1,
    "nodes": [{"name": "node-01", "ranks": [0]}, {"name": "node-02", "ranks": [1]}],
}
QUERIES = [
    {"source": "syslog", "query": '{job="journal", node="{node}"}'},
    {"source": "applog", "query": '{job="output", slurm_job_id="{job_id}"}'},
]


def loki() -> LokiDouble:
    """A GPU of node-02 is lost half an hour in; both ranks report what that did to them."""
    double = LokiDouble(int(AT) * 10**9 + 2 * HOUR_NS)

    def at(minutes: float) -> str:
        return str(int((AT + 60 * minutes) * 1000) * 10**6)

    for node in NODES:
        noise = [(at(minute), f"kernel: usb 1-1: device {minute}") for minute in range(60)]
        double.push("a", {"job": "journal", "node": node}, noise)
        steps = [(at(minute), f"step {minute} loss 0.5") for minute in range(30)]
        double.push("a", {"job": "output", "slurm_job_id": "4711", "node": node}, steps)
    double.push("a", {"job": "journal", "node": "node-02"}, [(at(30), f"kernel: {XID}")])
    words = [
        "Traceback (most recent call last):",
        '  File "/data/job/train.py", line 12, in <module>',
        "    loss.backward()",
        "RuntimeError: CUDA error: unspecified launch failure",
    ]
    failed = [(at(30 + 0.001 * number), text) for number, text in enumerate(words, 1)]
    double.push("a", {"job": "output", "slurm_job_id": "4711", "node": "node-02"}, failed)
    double.push("a", {"job": "output", "slurm_job_id": "9", "node": "node-02"}, [(at(20), "another job's line")])
    return double


def prometheus() -> PrometheusDouble:
    """The exporter of node-02 tells of the Xid."""
    double = PrometheusDouble(now=AT + 3600)
    for node in NODES:
        codes = [(AT + 15 * n, 79.0 if node == "node-02" and n >= 120 else 0.0) for n in range(240)]
        double.add("DCGM_FI_DEV_XID_ERRORS", codes, Hostname=node, gpu="0")
    return double


def run(service: AttributionClient, logs: Handler) -> AttributionBlueprintResult:
    """The result of the attempt."""
    with Server(logs) as log_store, Server(prometheus()) as metric_store:
        told = {"url": log_store.url, "tenant": "a", "retry_secs": 5, "queries": QUERIES}
        collectors = [Loki(LokiSettings.model_validate(told)), Promql(PromqlSettings(url=metric_store.url))]
        attempt = Attempt(ExecutionContext.model_validate(CONTEXT), "test")
        found = Run(service, [attempt], collectors).results["job-7"]
        for collector in collectors:
            collector.close()
    return found


def test_the_cause_is_found(service: AttributionClient) -> None:
    found = run(service, loki())
    (cause,) = found.diagnosis.causes
    assert (found.sub_domain, cause.node, cause.at) == ("gpu_hardware", "node-02", START + timedelta(minutes=30))
    assert found.diagnosis.exclude_nodes == ("node-02",)
    reports = {(r.connector, r.source.value, r.node): r for r in found.connector_reports}
    syslog, applog = reports["logs-0", "syslog", "node-02"], reports["logs-0", "applog", "node-02"]
    assert (syslog.status, syslog.lines, syslog.reason) == ("ok", 1, "only lines that a rule can use were asked for")
    assert (applog.status, applog.lines, applog.retries) == ("ok", 34, 0)
    assert applog.first_at == START and applog.last_at is not None and applog.last_at > START + timedelta(minutes=30)
    assert reports["logs-0", "syslog", "node-01"].status == "empty"
    assert reports["logs-1", "node_metrics", "node-02"].status == "ok"
    assert all(r.rejected == 0 and r.submitted == r.accepted + r.duplicate for r in reports.values())
    assert "another job" not in found.diagnosis.to_json().decode()


def test_a_store_that_is_busy_for_a_while_changes_nothing_but_the_count_of_retries(service: AttributionClient) -> None:
    calm = run(service, loki())
    busy = run(service, faulty(loki(), Reply(429), Reply(503, headers={"Retry-After": "0"}), Reply(200, "{", cut_at=0)))
    assert busy.diagnosis.to_json() == calm.diagnosis.to_json()
    assert sum(r.retries for r in busy.connector_reports) == 3


def test_a_store_that_is_away_is_told_in_the_diagnosis(service: AttributionClient) -> None:
    def refuse(request: Request) -> Reply:
        return Reply(403, "not for you", content_type="text/plain")

    found = run(service, refuse)
    coverage = {(c.source.value, c.node): (c.status.value, c.reason) for c in found.diagnosis.coverage}
    reason = "refuses the credentials (403): not for you"
    assert coverage["syslog", "node-01"] == coverage["applog", "node-02"] == ("error", reason)
    assert found.sub_domain == "insufficient_evidence"
    assert {u.source.value for u in found.diagnosis.untestable if u.source} >= {"syslog", "applog"}
