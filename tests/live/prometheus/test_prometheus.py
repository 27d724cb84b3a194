"""The PromQL connector on a real Prometheus and a real VictoriaMetrics."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.metrics.promql import Promql, PromqlSettings
from attribution.bundle.evidence import assemble
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets
from attribution.testing import collected

from tests.live.prometheus.servers import STEP_SECS, MetricServers

pytestmark = pytest.mark.live

END = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=10)
START = END - timedelta(hours=2)
TIMES = [START.timestamp() + STEP_SECS * index for index in range(480)]
GPU_LOST_AT = 360
"""The sample at which the GPU 3 of node-02 falls off the bus: its last Xid is told, and then nothing."""

ATTEMPT = Attempt(
    ExecutionContext.model_validate(
        {
            "workload_id": "job-7",
            "started_at": START,
            "ended_at": END,
            "nodes": [{"name": "node-01"}, {"name": "node-02", "aliases": ["10.0.0.2"]}, {"name": "node-03"}],
        }
    ),
    "test",
)


def history() -> list[tuple[str, dict[str, str], list[tuple[float, float]]]]:
    """GPUs of two nodes, one of which dies, and a port whose link goes down and whose counter is reset."""
    series = []
    for node in ("node-01", "node-02"):
        for gpu in range(4):
            is_lost = (node, gpu) == ("node-02", 3)
            times = TIMES[:GPU_LOST_AT] if is_lost else TIMES
            labels = {"Hostname": node, "gpu": str(gpu), "instance": "10.1.0.9:9400"}
            series.append(("DCGM_FI_DEV_GPU_TEMP", labels, [(at, 50.0 + gpu) for at in times]))
            codes = [(at, 79.0 if is_lost and at == times[-1] else 0.0) for at in times]
            series.append(("DCGM_FI_DEV_XID_ERRORS", labels, codes))
    port = {"instance": "10.0.0.2:9100", "device": "mlx5_0", "port": "1"}
    downs = [(at, 5.0 if n < 100 else 6.0 if n < 200 else 0.0) for n, at in enumerate(TIMES)]
    series.append(("node_infiniband_link_downed_total", port, downs))
    return series


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetricServers]:
    if why := MetricServers.why_not():
        pytest.skip(why)
    servers = MetricServers(tmp_path_factory.mktemp("metrics"))
    try:
        servers.start(history())
        yield servers
    finally:
        servers.stop()


@pytest.fixture(params=["prometheus", "victoria"])
def url(servers: MetricServers, request: pytest.FixtureRequest) -> str:
    return str(getattr(servers, request.param))


def asked(url: str, plan: CollectionPlan, **settings: Any) -> list[Observation]:
    connector = Promql(PromqlSettings.model_validate({"url": url, "retry_secs": 5, **settings}))
    found = collected(connector, ATTEMPT, plan)
    connector.close()
    return found


def plan(*metrics: str) -> CollectionPlan:
    sources = [{"source": "node_metrics", "metrics": metrics}]
    return CollectionPlan.model_validate({"catalog_digest": "d", "margin_secs": 60, "sources": sources})


def samples(found: list[Observation], **labels: str) -> dict[float, str]:
    held = (part for item in found if item.body for part in json.loads(item.body)["result"])
    return {at: v for part in held if labels.items() <= part["metric"].items() for at, v in part["values"]}


def test_samples_come_as_they_were_scraped(url: str) -> None:
    found = asked(url, plan("DCGM_FI_DEV_GPU_TEMP"), slice_hours=0.5)
    assert samples(found, Hostname="node-01", gpu="2") == dict.fromkeys(TIMES, "52")
    assert samples(found, Hostname="node-02", gpu="3") == dict.fromkeys(TIMES[:GPU_LOST_AT], "53")
    assert {o.node for o in found if o.body} == {"node-01", "node-02"}
    (silent,) = (o for o in found if o.node == "node-03" and o.source.value == "node_metrics")
    assert (silent.status.value, "none of this node" in str(silent.reason)) == ("empty", True)


def test_counters_and_their_resets(url: str) -> None:
    found = asked(url, plan("node_infiniband_link_downed_total"))
    values = samples(found, device="mlx5_0")
    assert [values[at] for at in TIMES[99:101]] == ["5", "6"] and [values[at] for at in TIMES[199:201]] == ["6", "0"]
    assert {o.node for o in found if o.body} == {"node-02"}


def test_more_points_than_the_server_gives_are_asked_for_in_halves(url: str) -> None:
    """7,200 s in steps of 0.2 s are 36,000 points: more than either server gives at once."""
    found = asked(url, plan("DCGM_FI_DEV_GPU_TEMP"), step_secs=0.2, points=1_000_000, matchers='gpu="0"')
    values = samples(found, Hostname="node-01")
    assert len(values) > 36_000 and set(values.values()) == {"50"}
    assert not [o for o in found if o.status.value == "error"]


def test_what_the_server_refuses_is_told(url: str) -> None:
    found = asked(url, plan("DCGM_FI_DEV_GPU_TEMP"), matchers='a=~"("')
    reasons = {o.reason or "" for o in found if o.source.value == "node_metrics"}
    assert all(reason.startswith(("answered 400 (bad_data): ", "answered 422 (422): ")) for reason in reasons), reasons


def test_check(url: str) -> None:
    connector = Promql(PromqlSettings(url=url))
    try:
        # Neither looks back far enough to see what ended ten minutes ago.
        with pytest.raises(ConnectorError, match="has no series of a GPU or node exporter"):
            connector.check()
    finally:
        connector.close()


def test_the_diagnosis_reads_it(url: str, shipped: RuleSets) -> None:
    found = asked(url, shipped.catalog.plan(60_000_000))
    evidence, rejected = assemble(ATTEMPT.context, found)
    assert rejected == ()
    symptoms = {(symptom.node, symptom.symptom) for symptom in diagnose(evidence, shipped).symptoms}
    assert {("node-02", "GPU_METRICS_SILENT"), ("node-02", "GPU_LAST_XID"), ("node-02", "IB_LINK_DOWNED")} <= symptoms
    assert "node-01" not in {node for node, _ in symptoms}
