"""Series are had as they were scraped, of the right node, and what is not had is said."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.metrics.promql import Promql, PromqlSettings
from attribution.bundle.evidence import assemble
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets
from attribution.testing import Handler, HttpCollectorCompliance, Reply, Request, Server, collected

from tests.doubles.prometheus import QUERY_RANGE, PrometheusDouble

START = datetime(2026, 5, 4, 3, tzinfo=UTC)
AT = START.timestamp()
TIMES = {"started_at": START, "ended_at": START + timedelta(hours=1)}
XID, TEMP, DOWNED = "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_GPU_TEMP", "node_infiniband_link_downed_total"


def plan(
    node: tuple[str, ...] = (XID, TEMP, DOWNED), network: tuple[str, ...] = (DOWNED,), margin: int = 60
) -> CollectionPlan:
    sources = [{"source": "node_metrics", "metrics": node}, {"source": "network_metrics", "metrics": network}]
    return CollectionPlan.model_validate({"catalog_digest": "d", "margin_secs": margin, "sources": sources})


def attempt(**fields: Any) -> Attempt:
    told = {"workload_id": "job-7", "nodes": [{"name": "node-01"}, {"name": "node-02"}], **TIMES, **fields}
    return Attempt(ExecutionContext.model_validate(told), "test")


def scraped(*values: float, step: float = 15.0) -> list[tuple[float, float]]:
    return [(AT + step * index, value) for index, value in enumerate(values)]


def double(**limits: Any) -> PrometheusDouble:
    """GPUs and ports of two nodes, a moment after they were scraped last."""
    server = PrometheusDouble(now=AT + 40, **limits)
    for number in (1, 2):
        server.add(XID, scraped(0, 0, 0), Hostname=f"node-0{number}", gpu="0", instance=f"10.0.0.{number}:9400")
        server.add(TEMP, scraped(50, 51, 52), Hostname=f"node-0{number}", gpu="0", instance=f"10.0.0.{number}:9400")
        server.add(DOWNED, scraped(0, 0, 1), instance=f"node-0{number}:9100", device="mlx5_0", port="1")
    return server


def asked(
    server: Handler, of: Attempt | None = None, wanted: CollectionPlan | None = None, **more: Any
) -> list[Observation]:
    with Server(server) as running:
        connector = Promql(settings(running.url, **more))
        found = collected(connector, of or attempt(), wanted or plan())
        connector.close()
    return found


def settings(url: str, **more: Any) -> PromqlSettings:
    return PromqlSettings.model_validate({"url": url, "retry_secs": 0.2, **more})


def series(found: list[Observation]) -> dict[tuple[str | None, str, str], list[list[Any]]]:
    """The samples by node, source and metric."""
    held: dict[tuple[str | None, str, str], list[list[Any]]] = {}
    for item in found:
        for part in json.loads(item.body)["result"] if item.body else []:
            held.setdefault((item.node, item.source.value, part["metric"]["__name__"]), []).extend(part["values"])
    return held


def told(found: list[Observation]) -> list[tuple[str | None, str, str, str | None]]:
    return [(o.node, o.stream, o.status.value, o.reason) for o in found if not o.body]


@pytest.mark.slow
class TestPromql(HttpCollectorCompliance):
    def connector(self, url: str, timeout_secs: float, retry_secs: float, answer_bytes: int) -> Promql:
        limits = {"timeout_secs": timeout_secs, "retry_secs": retry_secs, "answer_bytes": answer_bytes}
        return Promql(settings(url, **limits))

    def attempt(self) -> Attempt:
        return attempt()

    def plan(self) -> CollectionPlan:
        return plan()

    def healthy(self, request: Request) -> Reply:
        return double()(request)

    def nothing(self, request: Request) -> Reply:
        return PrometheusDouble(now=AT + 3600)(request)

    def long_line(self, request: Request) -> Reply:
        values = [[AT + index, "1"] for index in range(150_000)]
        result = [{"metric": {"__name__": TEMP, "Hostname": "node-01"}, "values": values}]
        return Reply(body=json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}))


# --- whose series -----------------------------------------------------------------------------------------------------


def test_series_are_asked_for_by_node_and_source() -> None:
    found = asked(double())
    samples = [[AT, "0"], [AT + 15, "0"], [AT + 30, "1"]]
    held = series(found)
    assert held["node-01", "network_metrics", DOWNED] == held["node-02", "network_metrics", DOWNED] == samples
    assert held["node-01", "node_metrics", TEMP] == [[AT, "50"], [AT + 15, "51"], [AT + 30, "52"]]
    assert len(held) == 6 and told(found) == []
    assert {o.format.value for o in found} == {"prometheus_metrics"}
    assert {o.stream for o in found} == {"promql/gpu", "promql/infiniband"}


@pytest.mark.parametrize(
    "labels",
    [
        {"Hostname": "node-01"},
        {"hostname": "node-01"},
        {"hostname": "NODE-01.cluster.example"},
        {"instance": "node-01:9400"},
        {"instance": "node-01.cluster.example:9400"},
        {"kubernetes_node": "node-01", "Hostname": "dcgm-exporter-x7k2p"},
        {"exported_instance": "10.0.0.1:9400", "instance": "gateway:80"},
        {"node": "node-01-mgmt"},
    ],
)
def test_a_node_is_found_by_any_of_its_names_and_labels(labels: dict[str, str]) -> None:
    server = PrometheusDouble(now=AT + 3600)
    server.add(TEMP, scraped(50), gpu="0", **labels)
    server.add(TEMP, scraped(60), gpu="0", Hostname="node-011")
    server.add(TEMP, scraped(60), gpu="0", instance="10.0.0.11:9400")
    of = attempt(nodes=[{"name": "node-01.cluster.example", "aliases": ["10.0.0.1", "node-01-mgmt"]}])
    found = asked(server, of, plan((TEMP,), ()))
    assert series(found) == {("node-01.cluster.example", "node_metrics", TEMP): [[AT, "50"]]}


def test_the_label_that_found_one_node_is_tried_first_for_the_next() -> None:
    server = PrometheusDouble(now=AT + 3600)
    nodes = [{"name": f"node-{number}"} for number in range(5)]
    for node in nodes:
        server.add(TEMP, scraped(50), gpu="0", instance=f"{node['name']}:9400")
    with Server(server) as running:
        connector = Promql(settings(running.url, nodes_per_query=1))
        found = collected(connector, attempt(nodes=nodes), plan((TEMP,), ()))
        connector.close()
    assert len(series(found)) == 5
    gpu = [r for r in running.requests if TEMP in r.params["query"]]
    assert len(gpu) == 7 + 4  # seven labels until `instance`, then one each


def test_many_nodes_are_asked_for_at_once_and_told_apart() -> None:
    server = PrometheusDouble(now=AT + 3600)
    nodes = [{"name": f"node-{number}", "aliases": [f"10.0.0.{number}"]} for number in range(10)]
    for number in range(8):
        labels = {"Hostname": f"NODE-{number}.example"} if number % 2 else {"instance": f"10.0.0.{number}:9400"}
        server.add(TEMP, scraped(number), gpu="0", **labels)
    with Server(server) as running:
        connector = Promql(settings(running.url, nodes_per_query=4))
        found = collected(connector, attempt(nodes=nodes), plan((TEMP,), ()))
        connector.close()
    temperatures = {node: values for (node, _, _), values in series(found).items()}
    assert temperatures == {f"node-{number}": [[AT, str(number)]] for number in range(8)}
    silent = {node for node, stream, status, _ in told(found) if (stream, status) == ("promql/gpu", "empty")}
    assert silent == {"node-8", "node-9"}
    # Two groups take seven labels each until `instance` found the last, and the third, with nobody, all eight.
    assert (
        len([r for r in running.requests if f"{TEMP}" in r.params["query"] and "count" not in r.params["query"]])
        <= 3 * 8
    )


def test_without_nodes_all_that_fits_the_matchers_is_asked_for() -> None:
    found = asked(double(), attempt(nodes=[]), plan((TEMP,), ()), matchers='Hostname!="node-02"')
    assert series(found) == {(None, "node_metrics", TEMP): [[AT, "50"], [AT + 15, "51"], [AT + 30, "52"]]}


def test_metrics_of_other_names_come_back_under_those_that_rules_know() -> None:
    server = PrometheusDouble(now=AT + 3600)
    server.add("gpu:temp", scraped(50), node="node-01")
    found = asked(server, None, plan((TEMP,), ()), metric_names={TEMP: "gpu:temp"})
    assert series(found) == {("node-01", "node_metrics", TEMP): [[AT, "50"]]}


# --- samples ----------------------------------------------------------------------------------------------------------


def test_samples_come_as_they_were_scraped() -> None:
    """No interpolation, so a series that stops is seen to stop, and a reset is a reset."""
    server = PrometheusDouble(now=AT + 3600)
    values = [(AT + 0.25, 7.0), (AT + 15.5, 9.0), (AT + 30.75, 0.0)]
    server.add(TEMP, values, Hostname="node-01")
    assert series(asked(server, None, plan((TEMP,), ()))) == {
        ("node-01", "node_metrics", TEMP): [[AT + 0.25, "7"], [AT + 15.5, "9"], [AT + 30.75, "0"]]
    }


def test_with_steps_the_server_interpolates() -> None:
    found = asked(double(), None, plan((TEMP,), ()), step_secs=30)
    (first, *_) = series(found).values()
    assert first[:4] == [[AT, "50"], [AT + 30, "52"], [AT + 60, "52"], [AT + 90, "52"]]
    assert first[-1][0] == AT + 300  # looked back to for five minutes


@pytest.mark.parametrize(
    "more", [{"slice_hours": 0.1}, {"step_secs": 15, "points": 50}, {"step_secs": 15, "points": 11_000}]
)
def test_long_times_are_cut_and_nothing_is_lost(more: dict[str, Any]) -> None:
    server = PrometheusDouble(now=AT + 8000, points=more.get("points", 11_000))
    server.add(TEMP, scraped(*range(240)), Hostname="node-01")
    of = attempt(nodes=[{"name": "node-01"}])
    (samples,) = series(asked(server, of, plan((TEMP,), (), margin=0), **more)).values()
    values = dict(map(tuple, samples))
    assert [values[AT + 15 * n] for n in range(240)] == [str(n) for n in range(240)]


@pytest.mark.parametrize("more", [{}, {"step_secs": 1.0}, {"answer_bytes": 2000}])
def test_what_is_too_much_for_the_server_or_for_us_is_asked_for_in_halves(more: dict[str, Any]) -> None:
    server = PrometheusDouble(now=AT + 8000, most_samples=1000, points=600)
    server.add(TEMP, scraped(*range(240)), Hostname="node-01")
    of = attempt(nodes=[{"name": "node-01"}])
    (samples,) = series(asked(server, of, plan((TEMP,), (), margin=0), **more)).values()
    assert {str(n) for n in range(240)} <= {value for _, value in samples}


def test_observations_are_bounded() -> None:
    server = PrometheusDouble(now=AT + 3600)
    for gpu in range(40):
        server.add(TEMP, scraped(*range(3600), step=1), Hostname="node-01", gpu=str(gpu))
    found = asked(server, attempt(nodes=[{"name": "node-01"}]), plan((TEMP,), ()))
    assert len(found) > 2 and max(len(o.body) for o in found) < 2 << 20
    assert [o.offset for o in found if o.stream == "promql/gpu"] == list(range(len(found) - 1))
    assert sum(len(samples) for samples in series(found).values()) == 40 * 3600


# --- what is not there ------------------------------------------------------------------------------------------------


def test_no_exporter_is_told_from_no_such_node() -> None:
    server = PrometheusDouble(now=AT + 3600)
    server.add(TEMP, [(AT + 3590, 50)], Hostname="node-09")
    of = attempt(nodes=[{"name": "node-01"}])
    labels = "Hostname, hostname, node, kubernetes_node, nodename, host, instance, exported_instance"
    assert told(asked(server, of)) == [
        (
            "node-01",
            "promql/gpu",
            "empty",
            f"the server has 1 such series, none of this node by one of the labels {labels}",
        ),
        (
            "node-01",
            "promql/infiniband",
            "empty",
            "the server has no series of the family infiniband: is its exporter scraped?",
        ),
    ]


def test_a_catalog_without_metrics_asks_for_none() -> None:
    found = asked(double(), None, plan((), ()))
    assert {(source, reason) for source, _, _, reason in told(found)} == {
        (node, "no rule reads metrics of this source") for node in ("node-01", "node-02")
    }


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"warnings": ["a store is away"]}, "the server says that this is not all: a store is away"),
        ({"is_partial": True}, "the server says that this is not all: a part of its storage did not answer"),
    ],
)
def test_an_answer_that_is_not_whole_is_told(more: dict[str, Any], reason: str) -> None:
    found = asked(double(**more))
    assert len(series(found)) == 6
    assert {(status, why) for _, _, status, why in told(found)} == {("partial", reason)}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(400, '{"status":"error","errorType":"bad_data","error":"1:5: parse error"}'),
         "answered 400 (bad_data): 1:5: parse error"),
        (Reply(422, '{"status":"error","errorType":"422","error":"unsupported"}'), "answered 422 (422): unsupported"),
        (Reply(404, "404 page not found", content_type="text/plain"), "answered 404: 404 page not found"),
        (Reply(200, '{"status":"success","data":{"resultType":"string","result":[]}}'),
         "answered with `success` and `string`, not with series"),
    ],
)  # fmt: skip
def test_what_the_server_says_is_told(reply: Reply, reason: str) -> None:
    assert {why for *_, why in told(asked(lambda request: reply))} == {reason}


def test_an_attempt_without_times_is_not_asked_for() -> None:
    found = asked(double(), attempt(started_at=None, ended_at=None))
    assert {why for *_, why in told(found)} == {"the context does not say when the attempt ran, or it has not begun"}


# --- the engine -------------------------------------------------------------------------------------------------------


def symptoms(found: list[Observation], of: Attempt, rules: RuleSets) -> set[tuple[str | None, str]]:
    evidence, rejected = assemble(of.context, found)
    assert rejected == ()
    return {(symptom.node, symptom.symptom) for symptom in diagnose(evidence, rules).symptoms}


def test_rules_read_what_is_collected(shipped: RuleSets) -> None:
    of = attempt()
    assert symptoms(asked(double()), of, shipped) == {("node-01", "IB_LINK_DOWNED"), ("node-02", "IB_LINK_DOWNED")}


def test_a_gpu_that_falls_silent_after_an_xid_is_evidence(shipped: RuleSets) -> None:
    server = PrometheusDouble(now=AT + 3600)
    for gpu, count in (("0", 20), ("1", 5)):
        server.add(TEMP, scraped(*([50] * count)), Hostname="node-01", gpu=gpu)
    for code, values in (("0", scraped(0, 0, 0, 0)), ("79", [(AT + 60, 79.0)])):
        server.add(XID, values, Hostname="node-01", gpu="1", err_code=code)
    found = symptoms(asked(server), attempt(), shipped)
    assert {("node-01", "GPU_METRICS_SILENT"), ("node-01", "GPU_LAST_XID")} <= found


def test_the_name_that_node_exporter_gives_is_asked_for(shipped: RuleSets) -> None:
    wanted = shipped.catalog.plan(60_000_000)
    names = {name for source in wanted.sources for name in source.metrics}
    assert "node_infiniband_port_errors_received_total" in names
    server = PrometheusDouble(now=AT + 3600)
    server.add(
        "node_infiniband_port_errors_received_total",
        scraped(2, 900),
        instance="node-01:9100",
        device="mlx5_0",
        port="1",
    )
    assert ("node-01", "IB_LINK_ERRORS") in symptoms(asked(server, None, wanted), attempt(), shipped)


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"matchers": 'a="b"} or {x="y"'}, "is no list of matchers"),
        ({"matchers": 'a="b'}, "is no list of matchers"),
        ({"node_labels": ["a b"]}, "has `a b`, which is no name of a label"),
        ({"token": "a", "username": "b", "password": "c"}, "has both `token` and `username`"),
        ({"username": "b"}, "has one of `username` and `password`"),
        ({"url": "prometheus:9090"}, "is no address"),
    ],
)
def test_settings_that_cannot_be_used(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        PromqlSettings.model_validate({"url": "http://prometheus", **more})
    assert why in str(caught.value)


def test_matchers_and_tenant_are_sent() -> None:
    with Server(double()) as running:
        connector = Promql(settings(running.url, matchers='cluster="a"', tenant="team-1", step_secs=15))
        collected(connector, attempt(), plan())
        connector.close()
    assert all('cluster="a"' in r.params["query"] for r in running.requests)
    assert {r.headers["x-scope-orgid"] for r in running.requests} == {"team-1"}
    assert QUERY_RANGE in {r.path for r in running.requests}


def test_check_says_whether_an_exporter_is_scraped() -> None:
    server = PrometheusDouble(now=AT + 40)
    with Server(server) as running:
        connector = Promql(settings(running.url))
        with pytest.raises(ConnectorError, match="has no series of a GPU or node exporter"):
            connector.check()
        server.add(TEMP, scraped(50, 50), Hostname="node-01")
        assert connector.check().endswith(f"which has series of {TEMP}")
        connector.close()
