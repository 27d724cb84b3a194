"""Every limit has a clear answer, and a caller is told when to come back."""

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zstandard

from attribution.contracts.context import ExecutionContext
from attribution.service import attributing, payload
from attribution.service.memory import Rooms
from attribution.service.problems import ServiceProblem
from attribution.service.settings import Limits

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


def test_lines_of_a_batch_are_counted_before_they_are_read(shipped, tmp_path, monkeypatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(payload, "parse", lambda text: read.append(text) or {})
    with serving(shipped, tmp_path, {"limits": {"batch_observations": 2}}) as desk:
        session = sessions_id(desk)
        path = f"/v2/attributors/{session}/observations"
        answer = desk.http.post(path, content=b"\n{}" * 1000, headers={"content-type": "application/x-ndjson"})
        assert "more than 2" in problem(answer, 413, "body-too-large")["detail"]
        assert len(read) == 3


def sessions_id(desk: Desk) -> str:
    session = desk.service.sessions.open(ExecutionContext.model_validate(CONTEXT), None, desk.clock(), 3600)
    assert session is not None
    return session.id


MANY = {
    "observations": '{"observations": [' + "{}," * 50_000 + "1]}",
    "lists within one": '{"observations": [{"source": ' + "[" + "[]," * 50_000 + "1]}]}",
    "keys within one": '{"observations": [{' + ",".join(f'"{n}":1' for n in range(50_000)) + "}]}",
    "after an open text": '{"observations": [{"a": "\\"' + '",' * 50_001,
}


@pytest.mark.parametrize("name", MANY)
def test_values_are_counted_before_any_is_made(shipped, tmp_path, monkeypatch, name: str) -> None:
    def parsed(_text: str) -> None:
        raise AssertionError("it was parsed")

    with serving(shipped, tmp_path, {"limits": {"batch_observations": 100}}) as desk:
        session = desk.open()
        monkeypatch.setattr(payload, "parse", parsed)
        body, headers = zstandard.compress(MANY[name].encode()), {**JSON, "content-encoding": "zstd"}
        answer = desk.http.post(f"/v2/attributors/{session}/observations", content=body, headers=headers)
        assert "values" in problem(answer, 413, "body-too-large")["detail"]
        answer = desk.http.post(f"/latest/attributor/{session}/observation", content=body, headers=headers)
        assert "values" in problem(answer, 413, "body-too-large")["detail"]


def test_what_stands_in_a_text_is_no_value(shipped, tmp_path) -> None:
    with serving(shipped, tmp_path, {"limits": {"batch_observations": 100}}) as desk:
        session = desk.open()
        line = {**syslog(0), "body": '[{,"\\' * 50_000}
        assert desk.submit(session, line)["accepted"] == 1


def test_a_context_has_limits(shipped, tmp_path, monkeypatch) -> None:
    limits = {"context_nodes": 3, "context_bytes": 20_000}
    with serving(shipped, tmp_path, {"limits": limits}) as desk:
        nodes = [f"node-{n:02}" for n in range(4)]
        desk.open({**CONTEXT, "nodes": [{"name": name} for name in nodes[:3]]})
        answer = desk.http.post("/v2/attributors", json={**CONTEXT, "nodes": [{"name": name} for name in nodes]})
        assert "limits.context_nodes" in problem(answer, 413, "body-too-large")["detail"]
        old = {"workload": {"id": "a", "nodes": nodes}, "metadata": {"cluster": "example"}}
        answer = desk.http.post("/latest/attributor", json=old)
        assert "limits.context_nodes" in problem(answer, 413, "body-too-large")["detail"]
        large = zstandard.compress(json.dumps({**CONTEXT, "name": "x" * 20_000}).encode())
        for path in ("/v2/attributors", "/latest/attributor"):
            answer = desk.http.post(path, content=large, headers={**JSON, "content-encoding": "zstd"})
            assert "limits.context_bytes" in problem(answer, 413, "body-too-large")["detail"]
        many = json.dumps({**CONTEXT, "aliases": [[]] * 4500})
        answer = desk.http.post("/v2/attributors", content=many, headers=JSON)
        assert "values" in problem(answer, 413, "body-too-large")["detail"]


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


def test_a_damaged_store_is_not_one_to_wait_for(desk: Desk, tmp_path) -> None:
    session = desk.open()
    desk.service.sessions.store.close()
    for name in ("sessions.db-wal", "sessions.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "sessions.db").write_bytes(b"no database at all" * 1000)
    answer = desk.http.get(f"/v2/attributors/{session}")
    problem(answer, 500, "store-damaged")
    assert "retry-after" not in answer.headers


def test_a_body_that_does_not_come_is_given_up(shipped, tmp_path) -> None:
    async def never() -> dict[str, object]:
        await asyncio.sleep(30)
        raise AssertionError("waited for the whole body")

    with serving(shipped, tmp_path, {"limits": {"body_secs": 0.05}}) as desk:
        answers = asyncio.run(raw(desk.app, b"/v2/attributors", never))
        assert answers[0]["status"] == 408
        assert json.loads(answers[1]["body"])["type"].endswith(":body-too-slow")


def test_bodies_that_do_not_come_keep_nobody_from_sending(shipped, tmp_path) -> None:
    async def never() -> dict[str, object]:
        await asyncio.sleep(60)
        raise AssertionError("waited for the whole body")

    async def whole() -> dict[str, object]:
        return {"type": "http.request", "body": json.dumps(CONTEXT).encode(), "more_body": False}

    async def all_at_once() -> None:
        slow = [asyncio.create_task(raw(desk.app, b"/v2/attributors", never)) for _ in range(20)]
        await asyncio.sleep(0.05)
        answers = await asyncio.wait_for(raw(desk.app, b"/v2/attributors", whole), 30)
        assert answers[0]["status"] == 200
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        assert desk.service.rooms.arrived == 0

    with serving(shipped, tmp_path, {"limits": {"bodies": 1, "waiting_bodies": 0}}) as desk:
        asyncio.run(all_at_once())


def test_bodies_that_arrive_together_have_a_limit(shipped, tmp_path) -> None:
    with serving(shipped, tmp_path, {"limits": {"arriving_bytes": 1000}}) as desk:
        answer = desk.http.post("/v2/attributors", json={**CONTEXT, "name": "x" * 1000})
        problem(answer, 503, "busy")
        assert int(answer.headers["retry-after"]) > 0
        desk.open()
        assert desk.service.rooms.arrived == 0


def test_room_is_given_in_turn_and_a_long_queue_is_told() -> None:
    async def turns() -> None:
        rooms = Rooms(Limits(bodies=3, reading_bytes=100, waiting_bodies=2))
        told: list[str] = []

        async def read(name: str, size: int) -> None:
            async with rooms.reading(size):
                told.append(name)

        async with rooms.reading(80) as first:
            waiting = asyncio.create_task(read("large", 70))
            behind = asyncio.create_task(read("small", 10))
            await asyncio.sleep(0)
            with pytest.raises(ServiceProblem, match="2 bodies wait"):
                await read("late", 60)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await behind
            assert told == ["small"]
            after = asyncio.create_task(read("over the whole", 500))
            await asyncio.sleep(0)
            assert not after.done()
            first.shrink(0)
            await asyncio.wait_for(after, 30)
        async with rooms.reading(100):
            pass

    asyncio.run(turns())


async def raw(app, path: bytes, receive, headers: tuple[tuple[bytes, bytes], ...] = ()) -> list[dict[str, Any]]:
    """The messages that an ASGI application answers a POST with."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path.decode(), "raw_path": path, "query_string": b""}
    given = list(headers)
    if all(name != b"host" for name, _ in given):
        given.append((b"host", b"localhost"))
    scope |= {"headers": given, "client": ("127.0.0.1", 1), "server": ("x", 1), "scheme": "http"}
    await app({**scope, "root_path": "", "http_version": "1.1"}, receive, send)
    return sent


@pytest.mark.parametrize("headers", [((b"host", b"[::1"),), ((b"content-length", b"\xb2"),), ((b"host", b"a b\xff"),)])
def test_hostile_headers_are_no_failure(desk: Desk, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    async def empty() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    answers = asyncio.run(raw(desk.app, b"/v2/attributors", empty, headers))
    assert answers[0]["status"] == (421 if headers[0][0] == b"host" else 400)
