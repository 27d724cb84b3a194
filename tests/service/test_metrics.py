"""What happens is counted, with labels of closed sets only."""

import json

from prometheus_client.parser import text_string_to_metric_families

from tests.service.helpers import Desk, syslog


def test_metrics_are_told_in_the_text_format(desk: Desk) -> None:
    session = desk.open()
    desk.submit(session, syslog(0))
    desk.attribution(session)
    desk.http.get("/v2/attributors/nobody/attribution")
    desk.http.get("/no/such/path")
    desk.http.request("BREW", "/v2/catalog")
    answer = desk.http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    samples = {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families.values() for s in f.samples}

    def value(name: str, **labels: str) -> float:
        return samples[name, tuple(sorted(labels.items()))]

    route = "/v2/attributors/{attributor_id}/attribution"
    assert value("attribution_requests_total", method="GET", route=route, status="200") == 1
    assert value("attribution_requests_total", method="GET", route=route, status="404") == 1
    assert value("attribution_requests_total", method="GET", route="unmatched", status="404") == 1
    assert value("attribution_requests_total", method="other", route="/v2/catalog", status="405") == 1
    assert value("attribution_request_seconds_count", route=route) == 2
    assert value("attribution_sessions_open") == 1
    assert value("attribution_observations_total", outcome="accepted") == 1
    assert value("attribution_attributions_total", sub_domain="gpu_hardware", terminal_state="failed") == 1
    identity = desk.service.rulebook.rules.identity
    assert value("attribution_catalog_info", version=identity.version, digest=identity.digest) == 1
    assert value("attribution_catalog_reloads_total", outcome="failed") == 0
    assert "node-02" not in answer.text and session not in answer.text


def test_clients_cannot_make_series_without_end(desk: Desk) -> None:
    for number in range(20):
        desk.http.get(f"/path-{number}")
        desk.http.request(f"METHOD{number}", "/v2/healthz")
        body = {"workload": {"id": "w", f"key-{number}": 1}}
        assert desk.http.post("/latest/attributor", content=json.dumps(body)).status_code == 200
    text = desk.http.get("/metrics").text
    assert not any(word in text for word in ("path-", "METHOD1", "key-"))
    assert desk.metric("attribution_v1_ignored_keys_total", part="workload") == 20
