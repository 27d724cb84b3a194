"""The client tries again where that may help, cuts batches, and tells what went wrong in one sentence."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anyio
import httpx
import pytest
import zstandard
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from attribution.client import retry
from attribution.client.bounded import below
from attribution.client.client import AttributionClient, BatchLimits
from attribution.client.errors import ServiceMisunderstood, ServiceProblem, ServiceUnreachable
from attribution.client.in_process import InProcess
from attribution.client.retry import NO_RETRIES, Retries, retry_after_secs
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.testing import Reply, Server

OPENED = {
    "attributor_id": "a/b",
    "expires_at": "2026-05-05T00:00:00Z",
    "catalog": {"version": "1", "digest": "d"},
}
DIAGNOSIS = {
    "workload_id": "job-7",
    "attempt": 1,
    "terminal_state": "failed",
    "domain": "unknown",
    "sub_domain": "insufficient_evidence",
    "summary": "Nothing.",
    "catalog": {"version": "1", "digest": "d"},
    "input_digest": "e",
}
FAST = Retries(times=4, total_secs=60.0, first_wait_secs=0.0, longest_wait_secs=0.0)
Handler = Callable[[httpx.Request], httpx.Response]


def client(handler: Handler, retries: Retries = FAST, limits: BatchLimits | None = None) -> AttributionClient:
    transport = httpx.MockTransport(handler)
    return AttributionClient(
        "http://service:8000/", "t0ken", transport, retries=retries, limits=limits or BatchLimits()
    )


def lines_of(request: httpx.Request) -> list[dict[str, object]]:
    body = zstandard.ZstdDecompressor().decompressobj().decompress(request.content)
    return [json.loads(line) for line in body.splitlines()]


def observation(body: str, offset: int = 0) -> Observation:
    return Observation.model_validate({"source": "applog", "node": "node-01", "offset": offset, "body": body})


def accepted(lines: list[dict[str, object]]) -> httpx.Response:
    answers = [{"index": index, "digest": "d", "outcome": "accepted"} for index in range(len(lines))]
    return httpx.Response(
        200, json={"accepted": len(lines), "duplicate": 0, "rejected": 0, "observations": answers[::-1]}
    )


class Service:
    """Takes observations, and refuses requests of more than `most` of them, or any with a body it calls poison."""

    def __init__(self, most: int = 1000) -> None:
        self.most = most
        self.requests: list[httpx.Request] = []
        self.taken: list[object] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        lines = lines_of(request)
        if len(lines) > self.most or any(line.get("body") == "huge" for line in lines):
            return problem(413, "too large")
        if any(line.get("body") == "poison" for line in lines):
            return problem(422, "not an observation")
        self.taken += [line["body"] for line in lines]
        return accepted(lines)


def problem(status: int, detail: str, **headers: str) -> httpx.Response:
    details = {"type": "urn:x", "title": "No", "status": status, "detail": detail}
    return httpx.Response(status, json=details, headers={name.replace("_", "-"): v for name, v in headers.items()})


def test_a_session_is_opened_with_the_token() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(201, json=OPENED)

    with client(handler) as service:
        opened = service.open(ExecutionContext(workload_id="job-7", inferred=("workload_id",)))
    assert opened.attributor_id == "a/b"
    assert seen[0].headers["authorization"] == "Bearer t0ken"
    assert str(seen[0].url) == "http://service:8000/v2/attributors"
    assert json.loads(seen[0].content) == {"workload_id": "job-7", "inferred": ["workload_id"]}


# --- batches ----------------------------------------------------------------------------------------------------------


def test_observations_go_in_batches_and_their_answers_come_in_order() -> None:
    service = Service()
    bodies = [f"line {number}" for number in range(7)]
    with client(service, limits=BatchLimits(observations=3)) as sender:
        answer = sender.submit("a/b", [observation(body) for body in bodies])
    assert [len(lines_of(request)) for request in service.requests] == [3, 3, 1]
    assert service.taken == bodies
    assert service.requests[0].url.raw_path == b"/v2/attributors/a%2Fb/observations"
    assert (answer.accepted, [item.index for item in answer.observations]) == (7, list(range(7)))


def test_batches_are_bounded_by_bytes_and_a_larger_observation_goes_alone() -> None:
    service = Service()
    with client(service, limits=BatchLimits(bytes=2000)) as sender:
        sender.submit("a", [observation(size * "x") for size in (700, 700, 700, 5000, 10)])
    assert [len(lines_of(request)) for request in service.requests] == [2, 1, 1, 1]


def test_a_batch_that_is_too_large_is_halved_until_it_fits() -> None:
    service = Service(most=2)
    with client(service) as sender:
        answer = sender.submit("a", [observation(f"line {number}") for number in range(7)])
    assert answer.accepted == 7 and service.taken == [f"line {number}" for number in range(7)]
    assert [item.index for item in answer.observations] == list(range(7))


@pytest.mark.parametrize(("body", "reason"), [("huge", "too large"), ("poison", "not an observation")])
def test_one_that_is_refused_even_alone_is_rejected_and_the_others_are_not(body: str, reason: str) -> None:
    service = Service()
    with client(service) as sender:
        answer = sender.submit("a", [observation(text) for text in ("a", "b", body, "c", "d")])
    assert (answer.accepted, answer.rejected, service.taken) == (4, 1, ["a", "b", "c", "d"])
    assert [(item.index, item.reason) for item in answer.observations if item.outcome == "rejected"] == [(2, reason)]


def test_a_lost_batch_tells_what_was_answered_before_it() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        lines = lines_of(request)
        if lines[0]["body"] == "3":
            raise httpx.ReadError("connection reset")
        return problem(413, "too large") if len(lines) > 2 else accepted(lines)

    with client(handler, limits=BatchLimits(observations=5)) as sender, pytest.raises(ServiceUnreachable) as caught:
        sender.submit("a", [observation(str(number), number) for number in range(12)])
    assert sorted(item.index for item in caught.value.answered) == [0, 1, 2]
    assert str(caught.value) == "the Service at http://service:8000 gave no answer: connection reset (5 tries)"


def test_nothing_to_submit_makes_no_request() -> None:
    service = Service()
    with client(service) as sender:
        assert sender.submit("a", []).observations == ()
    assert service.requests == []


# --- trying again -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", [429, 502, 503, 504, httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError]
)
def test_what_may_pass_is_tried_again(fault: int | type[Exception]) -> None:
    calls: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        if len(calls) < 3:
            if isinstance(fault, int):
                return problem(fault, "not now")
            raise fault("no")
        return httpx.Response(200, json=OPENED)

    with client(handler) as service:
        service.open(ExecutionContext(workload_id="job-7"))
    assert len(calls) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 500])
def test_what_will_not_pass_is_not_tried_again(status: int) -> None:
    calls: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        return problem(status, "it is so")

    with client(handler) as service, pytest.raises(ServiceProblem) as caught:
        service.open(ExecutionContext(workload_id="job-7"))
    assert (len(calls), caught.value.status, caught.value.details.detail) == (1, status, "it is so")
    assert "t0ken" not in str(caught.value)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The waits between tries, none of which is waited for; the clock goes on by them."""
    waited: list[float] = []
    monkeypatch.setattr(retry.time, "sleep", waited.append)
    monkeypatch.setattr(retry.send, "__defaults__", (waited.append, retry.BUSY))
    yield waited


def test_retry_after_is_waited_for(waits: list[float]) -> None:
    answers = iter([problem(429, "busy", Retry_After="7"), problem(503, "busy"), httpx.Response(200, json=OPENED)])
    with client(lambda request: next(answers), Retries(first_wait_secs=1.0)) as service:
        service.open(ExecutionContext(workload_id="job-7"))
    assert waits[0] == 7.0 and 1.0 <= waits[1] <= 2.0


def test_what_asks_to_wait_longer_than_there_is_time_is_given_up_at_once(waits: list[float]) -> None:
    calls: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        return problem(429, "busy", Retry_After="3600")

    with client(handler, Retries(total_secs=60.0)) as service, pytest.raises(ServiceProblem, match="429: busy"):
        service.open(ExecutionContext(workload_id="job-7"))
    assert (len(calls), waits) == (1, [])


def test_waits_grow_up_to_the_longest(waits: list[float]) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    retries = Retries(times=6, total_secs=600.0, first_wait_secs=1.0, longest_wait_secs=8.0)
    with client(handler, retries) as service, pytest.raises(ServiceUnreachable, match="refused \\(7 tries\\)"):
        service.plan()
    longest = [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert len(waits) == 6 and all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True))


def test_no_retries_is_one_try() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    with client(handler, NO_RETRIES) as service, pytest.raises(ServiceUnreachable, match="refused \\(1 try\\)"):
        service.plan()


@pytest.mark.parametrize(("text", "secs"), [("3", 3.0), ("-3", 0.0), ("", None), ("soon", None)])
def test_retry_after_numbers(text: str, secs: float | None) -> None:
    assert retry_after_secs(text) == secs


def test_retry_after_dates() -> None:
    soon = retry_after_secs(format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True))
    assert soon is not None and 20 < soon <= 30
    assert retry_after_secs("Mon, 01 Jan 2024 00:00:00 GMT") == 0.0


# --- answers ----------------------------------------------------------------------------------------------------------


def test_a_known_etag_gives_nothing_new() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if request.headers.get("if-none-match") == '"1"':
            return httpx.Response(304)
        return httpx.Response(200, json={"revision": 1, "diagnosis": DIAGNOSIS}, headers={"etag": '"1"'})

    with client(handler) as service:
        tagged = service.attribution_unless("a", None)
        assert tagged is not None and (tagged.etag, tagged.attribution.revision) == ('"1"', 1)
        assert service.attribution_unless("a", tagged.etag) is None
        assert service.attribution("a") == tagged.attribution


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (httpx.Response(200, text="<html>hello</html>"), "its answer is no CollectionPlan"),
        (httpx.Response(200, json={"sources": []}), "its answer is no CollectionPlan (`catalog_digest`)"),
        (httpx.Response(302, headers={"location": "http://login"}), "it answered with status 302"),
    ],
)
def test_what_is_no_service_is_told_so(response: httpx.Response, told: str) -> None:
    with client(lambda request: response) as service, pytest.raises(ServiceMisunderstood) as caught:
        service.plan()
    start = "what answers at http://service:8000 is no Attribution Service that this client knows: "
    assert str(caught.value) == start + told


def test_an_error_that_is_no_problem_document_is_told_by_its_status() -> None:
    with (
        client(lambda request: httpx.Response(404, text="nothing here")) as service,
        pytest.raises(ServiceProblem, match="answered 404: Not Found"),
    ):
        service.plan()


def test_an_answer_that_leaves_observations_out_is_not_taken() -> None:
    with client(lambda request: accepted(lines_of(request)[1:])) as service, pytest.raises(ServiceMisunderstood):
        service.submit("a", [observation("a"), observation("b")])


def test_problems_name_their_places() -> None:
    details = {
        "type": "urn:x", "title": "No", "status": 422, "detail": "2 fields are wrong",
        "problems": [{"place": "nodes.0.name", "code": "D012", "message": "is missing"}],
    }  # fmt: skip
    with (
        client(lambda request: httpx.Response(422, json=details)) as service,
        pytest.raises(ServiceProblem, match=r"422: 2 fields are wrong \(nodes.0.name: is missing\)"),
    ):
        service.open(ExecutionContext(workload_id="job-7"))


# --- in process -------------------------------------------------------------------------------------------------------


def test_an_application_answers_within_the_process() -> None:
    events: list[str] = []
    threads: set[int] = set()

    @asynccontextmanager
    async def lifespan(app: Starlette):  # type: ignore[no-untyped-def]
        events.append("started")
        yield
        events.append("ended")

    async def opened(request: Request) -> JSONResponse:
        threads.add(threading.get_ident())
        assert (await request.json())["workload_id"].startswith("job-")
        return JSONResponse(OPENED)

    app = Starlette(routes=[Route("/v2/attributors", opened, methods=["POST"])], lifespan=lifespan)
    transport = InProcess(app, app.router.lifespan_context(app))
    with AttributionClient("http://localhost", transport=transport) as service, ThreadPoolExecutor(4) as pool:
        assert events == ["started"]
        contexts = [ExecutionContext(workload_id=f"job-{number}") for number in range(20)]
        assert {opened.attributor_id for opened in pool.map(service.open, contexts)} == {"a/b"}
    assert events == ["started", "ended"]
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_an_application_that_does_not_answer_in_time_is_given_up() -> None:
    cancelled = threading.Event()

    async def slow(request: Request) -> JSONResponse:
        try:
            await anyio.sleep(60)
        finally:
            cancelled.set()
        return JSONResponse({})

    app = Starlette(routes=[Route("/v2/collection-plan", slow)])
    with (
        AttributionClient(
            "http://localhost", transport=InProcess(app), timeout_secs=0.05, retries=NO_RETRIES
        ) as service,
        pytest.raises(ServiceUnreachable, match="no answer within the time allowed"),
    ):
        service.plan()
    assert cancelled.wait(600)


def test_an_application_that_breaks_is_a_problem_of_the_service() -> None:
    async def broken(request: Request) -> JSONResponse:
        raise RuntimeError("broken")

    app = Starlette(routes=[Route("/v2/collection-plan", broken)])
    with (
        AttributionClient("http://localhost", transport=InProcess(app)) as service,
        pytest.raises(ServiceProblem, match="answered 500"),
    ):
        service.plan()


# --- a network that is hostile ----------------------------------------------------------------------------------------


def test_a_path_stands_before_the_query_of_the_address() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json=OPENED)

    transport = httpx.MockTransport(answer)
    with AttributionClient("http://service/base/?team=a%2Fb", transport=transport, retries=FAST) as found:
        found.open(ExecutionContext(workload_id="job-7"))
    assert asked == ["http://service/base/v2/attributors?team=a%2Fb"]
    assert below("http://h/a?b=1", "/c", {"d": "e f"}) == "http://h/a/c?b=1&d=e+f"
    assert below("http://h/", "/c") == "http://h/c"


@pytest.mark.parametrize("reply", [Reply(body="{}" + " " * 500, drip_secs=0.05), Reply(drip_header_secs=0.05)])
def test_a_service_that_drips_is_unreachable_in_time(reply: Reply) -> None:
    with (
        Server(lambda request: reply) as server,
        AttributionClient(server.url, timeout_secs=0.3) as found,
        pytest.raises(ServiceUnreachable, match="no answer within the time allowed"),
    ):
        found.plan(NO_RETRIES)
    with (
        Server(lambda request: reply) as server,
        AttributionClient(server.url) as found,
        pytest.raises(ServiceUnreachable, match="no answer within the time allowed"),
    ):
        found.plan(NO_RETRIES.within(0.3))


def test_what_cannot_be_decompressed_is_no_service() -> None:
    reply = Reply(body="no gzip", headers={"Content-Encoding": "gzip"})
    with (
        Server(lambda request: reply) as server,
        AttributionClient(server.url) as found,
        pytest.raises(ServiceMisunderstood, match="sent what cannot be decompressed"),
    ):
        found.plan(NO_RETRIES)


def test_an_address_is_told_without_its_secrets() -> None:
    with (
        AttributionClient("http://me:hush@127.0.0.1:1/a?token=t0ken") as found,
        pytest.raises(ServiceUnreachable) as raised,
    ):
        found.plan(NO_RETRIES)
    assert str(raised.value).startswith("the Service at http://127.0.0.1:1/a gave no answer")
    with (
        AttributionClient("http://h:port/?token=t0ken") as found,
        pytest.raises(ServiceUnreachable, match="it is no address that can be used") as raised,
    ):
        found.plan(NO_RETRIES)
    assert "t0ken" not in str(raised.value)
