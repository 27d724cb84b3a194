"""Every limit has a clear answer, and a caller is told when to come back."""

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from attribution.service import attributing

from tests.service.helpers import CONTEXT, JSON, Desk, problem, serving, syslog


def test_a_body_over_the_limit_is_refused_declared_or_not(shipped, tmp_path) -> None:
    with serving(shipped, tmp_path, {"limits": {"body_bytes": 1000}}) as desk:
        body = json.dumps({**CONTEXT, "name": "x" * 1000}).encode()
        problem(desk.http.post("/v2/attributors", content=body, headers=JSON), 413, "body-too-large")
        headers = {**JSON, "content-encoding": "gzip"}
        assert desk.http.post("/v2/attributors", content=gzip.compress(body), headers=headers).status_code == 200
        honest = desk.http.post("/v2/attributors", content=body, headers={**JSON, "content-length": "5"})
        problem(honest, 413, "body-too-large")


def test_a_batch_has_a_limit(shipped, tmp_path) -> None:
    with serving(shipped, tmp_path, {"limits": {"batch_observations": 2}}) as desk:
        session = desk.open()
        body = {"observations": [syslog(n, node=f"n{n}") for n in range(3)]}
        answer = desk.http.post(f"/v2/attributors/{session}/observations", json=body)
        assert "3 observations, more than 2" in problem(answer, 413, "body-too-large")["detail"]
        assert desk.http.get(f"/v2/attributors/{session}").json()["observations"] == 0


def test_a_session_has_limits_of_its_own(shipped, tmp_path) -> None:
    limits = {"session_observations": 3, "session_bytes": 1000, "observation_bytes": 500}
    with serving(shipped, tmp_path, {"limits": limits}) as desk:
        session = desk.open()
        large, wide = {**syslog(0), "body": "x" * 501}, {**syslog(0), "stream": "b", "body": "x" * 480}
        answer = desk.submit(session, large, wide, {**wide, "stream": "c"}, {**wide, "stream": "d"})
        assert [item["outcome"] for item in answer["observations"]] == ["rejected", "accepted", "accepted", "rejected"]
        reasons = [item["reason"] or "" for item in answer["observations"]]
        assert reasons[0].startswith("limit: its body has 501 bytes")
        assert reasons[3].startswith("limit: the session would hold 1440 bytes")
        more = desk.submit(session, {**wide, "stream": "e", "body": ""}, {**wide, "stream": "f", "body": ""})
        assert [item["outcome"] for item in more["observations"]] == ["accepted", "rejected"]


def test_a_tenant_has_so_many_sessions(shipped, tmp_path) -> None:
    with serving(shipped, tmp_path, {"limits": {"tenant_sessions": 2}}) as desk:
        first = desk.open()
        desk.open({**CONTEXT, "attempt": 2})
        answer = desk.http.post("/v2/attributors", json={**CONTEXT, "attempt": 3})
        problem(answer, 429, "too-many-sessions")
        assert int(answer.headers["retry-after"]) > 0
        assert desk.open() == first
        desk.open({**CONTEXT, "tenant": "other"})
        desk.http.delete(f"/v2/attributors/{first}")
        desk.open({**CONTEXT, "attempt": 3})


class Gate:
    """Holds the engine until it is let go."""

    def __init__(self) -> None:
        self.go, self.entered = threading.Event(), threading.Semaphore(0)

    def __call__(self, *arguments):
        self.entered.release()
        assert self.go.wait(600)
        return _diagnose(*arguments)


_diagnose = attributing.diagnose


@pytest.fixture
def gate(monkeypatch) -> Iterator[Gate]:
    found = Gate()
    monkeypatch.setattr(attributing, "diagnose", found)
    yield found
    found.go.set()


def test_only_so_many_attributions_run_and_wait(shipped, tmp_path, gate: Gate) -> None:
    limits = {"attributions": 1, "waiting_attributions": 1}
    with serving(shipped, tmp_path, {"limits": limits}) as desk, ThreadPoolExecutor() as pool:
        paths = [f"/v2/attributors/{desk.open({**CONTEXT, 'attempt': n})}/attribution" for n in (1, 2, 3)]
        running = pool.submit(desk.http.get, paths[0])
        assert gate.entered.acquire(timeout=600)
        waiting = pool.submit(desk.http.get, paths[1])
        until_waits(desk, 2)
        answer = desk.http.get(paths[2])
        problem(answer, 503, "busy")
        assert int(answer.headers["retry-after"]) > 0
        assert desk.http.get("/v2/healthz").status_code == 200  # the event loop is free
        gate.go.set()
        assert running.result().status_code == waiting.result().status_code == 200
        assert desk.http.get(paths[2]).status_code == 200


def until_waits(desk: Desk, count: int) -> None:
    for _ in range(3000):
        if len(desk.service.attributing._tasks) == count:
            return
        threading.Event().wait(0.01)
    raise AssertionError("nobody waits")


def test_an_attribution_that_takes_too_long_is_there_later(shipped, tmp_path, gate: Gate) -> None:
    with serving(shipped, tmp_path, {"limits": {"attribution_secs": 0.05}}) as desk:
        session = desk.open()
        answer = desk.http.get(f"/v2/attributors/{session}/attribution")
        problem(answer, 503, "attribution-not-ready")
        assert int(answer.headers["retry-after"]) > 0
        gate.go.set()
        until_waits(desk, 0)
        assert desk.attribution(session)["revision"] == 1
        assert desk.metric("attribution_attribution_seconds_count") == 1


def test_a_session_that_changes_while_it_is_diagnosed_is_diagnosed_again(shipped, tmp_path, gate: Gate) -> None:
    with serving(shipped, tmp_path) as desk, ThreadPoolExecutor() as pool:
        session = desk.open()
        first = pool.submit(desk.attribution, session)
        assert gate.entered.acquire(timeout=600)
        desk.submit(session, syslog(0))
        second = pool.submit(desk.attribution, session)
        gate.go.set()
        assert first.result()["diagnosis"]["sub_domain"] == "insufficient_evidence"
        assert second.result()["diagnosis"]["sub_domain"] == "gpu_hardware"
        assert (first.result()["revision"], second.result()["revision"]) == (1, 2)


def test_a_store_that_does_not_answer_is_told(desk: Desk, tmp_path) -> None:
    session = desk.open()
    desk.service.sessions.store.close()
    path = tmp_path / "sessions.db"
    path.unlink()
    path.mkdir()
    for method, where in (("GET", f"/v2/attributors/{session}"), ("GET", "/v2/readyz"), ("GET", "/metrics")):
        answer = desk.http.request(method, where)
        problem(answer, 503, "store-unavailable")
        assert int(answer.headers["retry-after"]) > 0
    assert desk.http.get("/v2/healthz").status_code == 200
    path.rmdir()


def test_a_body_that_does_not_come_is_given_up(shipped, tmp_path) -> None:
    async def never() -> dict[str, object]:
        await asyncio.sleep(30)
        raise AssertionError("waited for the whole body")

    with serving(shipped, tmp_path, {"limits": {"body_secs": 0.05}}) as desk:
        answers = asyncio.run(raw(desk.app, b"/v2/attributors", never))
        assert answers[0]["status"] == 408
        assert json.loads(answers[1]["body"])["type"].endswith(":body-too-slow")


async def raw(app, path: bytes, receive, headers: tuple[tuple[bytes, bytes], ...] = ()) -> list[dict[str, Any]]:
    """The messages that an ASGI application answers a POST with."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path.decode(), "raw_path": path, "query_string": b""}
    scope |= {"headers": list(headers), "client": ("127.0.0.1", 1), "server": ("x", 1), "scheme": "http"}
    await app({**scope, "root_path": "", "http_version": "1.1"}, receive, send)
    return sent


@pytest.mark.parametrize("headers", [((b"host", b"[::1"),), ((b"content-length", b"\xb2"),), ((b"host", b"a b\xff"),)])
def test_hostile_headers_are_no_failure(desk: Desk, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    async def empty() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    answers = asyncio.run(raw(desk.app, b"/v2/attributors", empty, headers))
    assert answers[0]["status"] == 400
