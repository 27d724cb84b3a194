"""Hostile and broken bodies get a clear answer that names the place, never a failure of the Service."""

import gzip
import json

import pytest
import zstandard

from tests.service.helpers import CONTEXT, JSON, Desk, problem, serving, syslog

NDJSON = {"content-type": "application/x-ndjson"}

BROKEN = {
    "no JSON": (b"{'workload_id': 1}", "line 1, column 2", "property name"),
    "cut short": (b'{\n  "workload_id": "job-7",\n', "line 3, column 1", "property name"),
    "nothing": (b"", "line 1, column 1", "expecting value"),
    "NaN": (b'{"workload_id": "w", "exit_code": NaN}', "line 1, column 35", "NaN"),
    "infinity": (b'{"workload_id": "w", "exit_code": -Infinity}', "line 1, column 35", "Infinity"),
    "NaN after a text": (b'{"name": "NaN \\" NaN",\n "exit_code": NaN}', "line 2, column 15", "NaN"),
    "a huge number": (b'{"workload_id": "w", "exit_code": ' + b"9" * 10_000 + b"}", "body", "40 digits"),
    "deep": (b"[" * 200_000, "body", "too deep"),
    "no UTF-8": (b'{\n"workload_id": "\xff"}', "line 2, column 17", "UTF-8"),
    "two values": (b"{} {}", "line 1, column 4", "extra data"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_json_is_told_with_its_place(desk: Desk, name: str) -> None:
    body, place, words = BROKEN[name]
    details = problem(desk.http.post("/v2/attributors", content=body, headers=JSON), 400, "malformed-body")
    assert details["problems"][0]["place"] == place
    assert words.lower() in details["problems"][0]["message"].lower()


INVALID = {
    "unknown key": ({**CONTEXT, "custer": "x"}, "/custer", "unknown-key", "did you mean `cluster`?"),
    "unknown key inside": ({**CONTEXT, "nodes": [{"name": "a", "x": 1}]}, "/nodes/0/x", "unknown-key", "leave it out"),
    "missing key": ({"attempt": 1}, "/workload_id", "missing-key", "add it"),
    "unknown value": ({**CONTEXT, "scheduler": "pbs"}, "/scheduler", "unknown-value", "one of: "),
    "wrong value": ({**CONTEXT, "attempt": 0}, "/attempt", "wrong-value", ""),
    "no time": ({**CONTEXT, "started_at": 1e300}, "/started_at", "wrong-value", ""),
    "no zone": ({**CONTEXT, "started_at": "2026-05-04T03:00:00"}, "/started_at", "wrong-value", ""),
    "too large for a store": ({**CONTEXT, "attempt": 2**53}, "/attempt", "wrong-value", ""),
    "too long": ({**CONTEXT, "workload_id": "x" * 2000}, "/workload_id", "too-long", "shorten it"),
    "no rank": ({**CONTEXT, "nodes": [{"name": "a", "ranks": [0, -1]}]}, "/nodes/0/ranks/1", "wrong-value", ""),
    "a rank too large": (
        {**CONTEXT, "nodes": [{"name": "a", "ranks": [2**31]}]},
        "/nodes/0/ranks/0",
        "wrong-value",
        "",
    ),
    "too many ranks": ({**CONTEXT, "nranks": 10**30}, "/nranks", "wrong-value", ""),
    "too many on a node": ({**CONTEXT, "ranks_per_node": 2**31}, "/ranks_per_node", "wrong-value", ""),
    "no exit code": ({**CONTEXT, "exit_code": 2**32}, "/exit_code", "wrong-value", ""),
    "a node twice": ({**CONTEXT, "nodes": [{"name": "a"}, {"name": "a"}]}, "/", "wrong-value", ""),
    "ends before it starts": ({**CONTEXT, "ended_at": "2026-05-04T01:00:00Z"}, "/", "wrong-value", ""),
    "a list": ([], "/", "wrong-value", ""),
    "null": (None, "/", "wrong-value", ""),
}


@pytest.mark.parametrize("name", INVALID)
def test_what_is_no_context_is_told_with_its_place(desk: Desk, name: str) -> None:
    body, place, code, remedy = INVALID[name]
    answer = desk.http.post("/v2/attributors", content=json.dumps(body), headers=JSON)
    first = problem(answer, 422, "invalid-request")["problems"][0]
    assert (first["place"], first["code"]) == (place, code)
    assert first["remedy"].startswith(remedy)


def test_all_problems_are_told_at_once(desk: Desk) -> None:
    body = {**CONTEXT, "custer": "x", "attempt": 0, "nodes": [{}]}
    details = problem(desk.http.post("/v2/attributors", json=body), 422, "invalid-request")
    assert {item["place"] for item in details["problems"]} == {"/custer", "/attempt", "/nodes/0/name"}
    assert "3 problems" in details["detail"]


def test_a_key_that_stands_twice_is_told(desk: Desk) -> None:
    body = '{"workload_id": "a", "nodes": [{"name": "n", "name": "m"}]}'
    details = problem(desk.http.post("/v2/attributors", content=body, headers=JSON), 422, "invalid-request")
    assert details["problems"][0]["place"] == "/nodes/0"
    assert "`name` twice" in details["problems"][0]["message"]


def test_half_a_surrogate_pair_is_no_text(desk: Desk) -> None:
    session = desk.open()
    body = '{"observations": [{"source": "syslog", "body": "\\ud800"}, {"source": "syslog", "\\udc00": 1}]}'
    answer = desk.http.post(f"/v2/attributors/{session}/observations", content=body, headers=JSON)
    assert [item["outcome"] for item in answer.json()["observations"]] == ["rejected", "rejected"]
    answer = desk.http.post("/v2/attributors", content='{"workload_id": "\\ud800"}', headers=JSON)
    problem(answer, 422, "invalid-request")


def test_a_nul_is_a_character_like_others(desk: Desk) -> None:
    session = desk.open({**CONTEXT, "workload_id": "a\0b", "cluster": "\0"})
    assert desk.submit(session, {**syslog(0), "stream": "a\0"})["accepted"] == 1
    assert desk.http.get(f"/v2/attributors/{session}").json()["workload_id"] == "a\0b"


def test_a_line_of_ndjson_that_is_wrong_is_rejected_alone(desk: Desk) -> None:
    session = desk.open()
    lines = [json.dumps(syslog(0)), "{oops", "", json.dumps(syslog(0))[:-1] + ', "body": ""}', "9" * 99, "[1]"]
    body = "\r\n".join(lines)
    answer = desk.http.post(f"/v2/attributors/{session}/observations", content=body, headers=NDJSON).json()
    assert [item["outcome"] for item in answer["observations"]] == ["accepted", *["rejected"] * 4]
    reasons = [item["reason"] for item in answer["observations"]]
    assert reasons[1].startswith("malformed: line 2, column 2: ")
    assert reasons[2] == "invalid: /: has the key `body` twice (remove one)"
    assert reasons[3].startswith("malformed: line 5: ")
    assert reasons[4] == "invalid: should be an object, not a list"


def test_a_key_twice_in_one_observation_rejects_only_that(desk: Desk) -> None:
    session = desk.open()
    body = '{"observations": [' + json.dumps(syslog(0)) + ', {"source": "syslog", "source": "bmc"}]}'
    answer = desk.http.post(f"/v2/attributors/{session}/observations", content=body, headers=JSON).json()
    assert [item["outcome"] for item in answer["observations"]] == ["accepted", "rejected"]


@pytest.mark.parametrize("body", ["[]", "{}", '{"observations": 1}', '{"observations": [], "x": 1}', "1", "null"])
def test_what_is_no_batch_is_refused_as_a_whole(desk: Desk, body: str) -> None:
    session = desk.open()
    answer = desk.http.post(f"/v2/attributors/{session}/observations", content=body, headers=JSON)
    assert problem(answer, 422, "invalid-request")["problems"]


PACKED = {
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("encoding", PACKED)
def test_compressed_bodies_are_read(desk: Desk, encoding: str) -> None:
    session = desk.open()
    pack = PACKED[encoding]
    body = json.dumps(syslog(0)).encode() + b"\n"
    second = json.dumps(syslog(0, node="node-01")).encode()
    packed = pack(body) + pack(second)  # two members, one after the other
    headers = {**NDJSON, "content-encoding": encoding}
    path = f"/v2/attributors/{session}/observations"
    assert desk.http.post(path, content=packed, headers=headers).json()["accepted"] == 2
    for broken in (packed[:-3], b"no data", packed + b"rest"):
        problem(desk.http.post(path, content=broken, headers=headers), 400, "malformed-body")
    assert desk.http.post(path, content=b"", headers=headers).json()["observations"] == []


@pytest.mark.parametrize("encoding", PACKED)
def test_a_bomb_is_stopped_at_the_limit(shipped, tmp_path, encoding: str) -> None:
    with serving(shipped, tmp_path, {"limits": {"decoded_bytes": 1 << 20}}) as desk:
        session = desk.open()
        bomb = PACKED[encoding](b" " * (64 << 20))
        headers = {**NDJSON, "content-encoding": encoding}
        answer = desk.http.post(f"/v2/attributors/{session}/observations", content=bomb, headers=headers)
        assert "1048576 bytes" in problem(answer, 413, "body-too-large")["detail"]


def test_what_is_not_read_here_is_told(desk: Desk) -> None:
    session = desk.open()
    path = f"/v2/attributors/{session}/observations"
    for headers in ({"content-type": "text/plain"}, {**JSON, "content-encoding": "br"}):
        details = problem(desk.http.post(path, content=b"{}", headers=headers), 415, "unsupported-media-type")
        assert details["problems"][0]["remedy"]


def test_unknown_paths_and_methods_are_problems_too(desk: Desk) -> None:
    problem(desk.http.get("/v3"), 404, "not-found")
    problem(desk.http.get("/v2/attributors/"), 404, "not-found")
    answer = desk.http.put("/v2/attributors")
    problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("name", ["x", "%00", "..%2F..", "%ED%A0%80", "a" * 5000, "'; drop table sessions"])
def test_any_name_of_a_session_is_answered(desk: Desk, name: str) -> None:
    assert desk.http.get(f"/v2/attributors/{name}").status_code == 404


def test_a_request_id_is_answered_and_a_hostile_one_is_not(desk: Desk) -> None:
    assert desk.http.get("/v2/healthz", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert desk.http.get("/v2/healthz", headers={"x-request-id": "a b"}).headers["x-request-id"] != "a b"


def test_a_failure_of_the_service_tells_no_evidence(desk: Desk, monkeypatch, caplog, capsys) -> None:
    session = desk.open()

    def broken(*_: object) -> None:
        raise RuntimeError("secret line")

    monkeypatch.setattr(type(desk.service.sessions), "content", broken)
    answer = desk.http.get(f"/v2/attributors/{session}/attribution")
    details = problem(answer, 500, "internal-error")
    assert answer.headers["x-request-id"] in details["detail"]
    told = answer.text + caplog.text + "".join(capsys.readouterr())
    assert "RuntimeError" in told and "secret line" not in told
