"""Whatever valid evidence says, it is answered: no text, time or number makes the Service fail."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attribution.contracts.vocabulary import Format, Scheduler, Source, Status
from attribution.extraction.ruleset import RuleSets

from tests.examples import examples
from tests.property.test_determinism import APP_LINES, KERNEL_LINES
from tests.service.helpers import JSON, Desk, serving

NAMES = st.sampled_from(
    ["node-01", "node-02", "NODE-01.example", "10.0.0.1", "", " ", "a\0b", "\u202e", "é" * 200, "\x1a0000"]
)
TIMES = st.sampled_from(
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "1969-12-31T23:59:59Z",
        "2026-05-04T03:00:00+14:00",
        "9999-12-31T23:59:59.999999Z",
        "9999-12-31T23:59:59-14:00",
        0,
        -1,
        253402300799,
        1e308,
        None,
    ]
)
WHOLE = st.sampled_from([0, 1, 7, 2**31 - 1, 2**31, 2**53 - 1, 2**53, 2**63, 10**39, -1])
ZONES = st.sampled_from([None, "UTC", "+14:00", "+25:00", "Europe/Paris", "../../etc/passwd", "", "Z", "\0"])
DOCUMENTS = (
    '[{"stream": {"host": "node-01"}, "values": [["1777864018000000000", "NVRM: Xid (PCI:0000:1b:00): 79"]]}]',
    '[{"stream": {}, "values": [["9223372036854775807", "x"], ["0", "\\ud83d\\ude00"]]}]',
    '{"status": "error", "errorType": "x", "error": "y"}',
    '[{"metric": {"__name__": "DCGM_FI_DEV_XID_ERRORS", "Hostname": "node-01"}, "values": [[1777864018, "79"]]}]',
    '{"jobs": [{"job_id": 1}]}',
    "[" * 5000,
    '{"MESSAGE": [1, 2], "__REALTIME_TIMESTAMP": "99999999999999999"}',
)
BODIES = st.one_of(
    st.sampled_from((*KERNEL_LINES, *APP_LINES, *DOCUMENTS)),
    st.lists(st.sampled_from((*KERNEL_LINES, *APP_LINES, "", "\x00", "\r")), max_size=4).map("\n".join),
    st.text(max_size=40),
)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


OBSERVATIONS = st.fixed_dictionaries(
    {"source": st.sampled_from(Source)},
    optional={
        "format": st.sampled_from(Format),
        "node": NAMES,
        "node_is_guess": st.booleans(),
        "rank": WHOLE,
        "stream": NAMES,
        "offset": WHOLE,
        "first_line": WHOLE,
        "window": some(start=TIMES, end=TIMES),
        "clock": some(zone=ZONES, year=st.sampled_from([1970, 9999, 2026]), boot_time=TIMES),
        "body": BODIES,
        "truncated": st.booleans(),
        "status": st.sampled_from(Status),
        "reason": st.text(max_size=10),
    },
)
NODES = some(aliases=st.lists(NAMES, max_size=2), ranks=st.lists(st.sampled_from([0, 3, -1, 10**30]), max_size=2))
CONTEXTS = st.fixed_dictionaries(
    {"workload_id": st.sampled_from(["job-7", "é\0", "x" * 1024])},
    optional={
        "attempt": WHOLE,
        "scheduler": st.sampled_from(Scheduler),
        "cluster": NAMES,
        "submitted_at": TIMES,
        "started_at": TIMES,
        "ended_at": TIMES,
        "scheduler_state": st.sampled_from(["FAILED", "NODE_FAIL", "COMPLETED", "RUNNING", "\0", ""]),
        "exit_code": WHOLE,
        "signal": st.sampled_from([1, 9, 64]),
        "reason": st.text(max_size=10),
        "nodes": st.lists(
            st.tuples(NAMES.filter(bool), NODES).map(lambda pair: {"name": pair[0], **pair[1]}),
            max_size=3,
            unique_by=lambda node: node["name"],
        ),
        "nranks": WHOLE,
        "ranks_per_node": WHOLE,
    },
)


@pytest.fixture(scope="module")
def desk(shipped: RuleSets, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One Service for all examples."""
    with serving(shipped, tmp_path_factory.mktemp("store")) as found:
        yield found


@pytest.mark.slow
@settings(
    max_examples=examples(120),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(context=CONTEXTS, observations=st.lists(OBSERVATIONS, max_size=5))
def test_valid_evidence_is_always_answered(
    desk: Desk, context: dict[str, Any], observations: list[dict[str, Any]]
) -> None:
    opened = desk.http.post("/v2/attributors", content=json.dumps(context), headers=JSON)
    assert opened.status_code in {200, 422}, opened.text
    if opened.status_code == 422:
        opened = desk.http.post("/v2/attributors", json={"workload_id": "job-7"})
    path = f"/v2/attributors/{opened.json()['attributor_id']}"
    body = json.dumps({"observations": observations})
    taken = desk.http.post(f"{path}/observations", content=body, headers=JSON)
    assert taken.status_code == 200, taken.text
    asked = desk.http.get(f"{path}/attribution")
    assert asked.status_code == 200, (taken.text, asked.text)
    assert asked.json()["diagnosis"]["coverage"] or not taken.json()["accepted"]
    assert desk.http.get(path).status_code == 200
    desk.http.delete(path)


@settings(
    max_examples=examples(60),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    parts=st.lists(
        st.tuples(st.sampled_from([*Source, "SYSLOG", "metrics", "x"]), st.sampled_from([*Format, "x"]), BODIES),
        max_size=5,
    ),
    start=TIMES,
)
def test_valid_evidence_of_version_1_is_always_answered(
    desk: Desk, parts: list[tuple[str, str, str]], start: Any
) -> None:
    workload = {"id": "v1", "nodes": ["node-01", "node-02"], "job_start_time": start}
    opened = desk.http.post("/latest/attributor", content=json.dumps({"workload": workload}), headers=JSON)
    assert opened.status_code in {200, 422}, opened.text
    if opened.status_code == 422:
        return
    path = f"/latest/attributor/{opened.json()['attributor_id']}"
    for source, form, body in parts:
        request = {"context": {"source": source, "format": form, "time_interval": {"start": start}}, "body": body}
        taken = desk.http.post(f"{path}/observation", content=json.dumps(request), headers=JSON)
        assert taken.status_code in {200, 422}, taken.text
    asked = desk.http.get(f"{path}/attribution")
    assert asked.status_code == 200, asked.text
    assert {item["node"] for item in asked.json()["attributions"]} == {"node-01", "node-02"}
    desk.http.delete(path.replace("latest/attributor", "v2/attributors"))
