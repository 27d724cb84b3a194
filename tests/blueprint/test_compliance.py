"""The rules for connectors find those that break them; the server and the command of tests do as they are told."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import DEADLINE, Collector, Halted
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Source, Status
from attribution.testing import (
    CommandAnswer,
    FakeCommand,
    HttpCollectorCompliance,
    Reply,
    Request,
    Server,
    collector_complies,
    comply,
    faulty,
)

from tests.blueprint.fakes import Nothing

ATTEMPT = Attempt(ExecutionContext.model_validate({"workload_id": "a", "nodes": [{"name": "n1"}, {"name": "n2"}]}), "x")


class Naive(Collector[Nothing]):
    """Asks as people do who were never on call: no limits, no retries, and errors taken for nothing."""

    Settings = Nothing
    sources = frozenset({Source.SYSLOG})

    def __init__(self, url: str) -> None:
        super().__init__(Nothing())
        self.url = url

    def check(self) -> str:
        return "fine"

    def collect(self, attempt: Attempt, plan: CollectionPlan, halted: Halted) -> Iterator[Observation]:
        for node in attempt.context.nodes:
            try:
                answer = httpx.get(self.url, follow_redirects=True, timeout=0.5)
                body = answer.text if answer.status_code == 200 else ""
            except httpx.HTTPError:
                body = ""
            status = Status.OK if body else Status.EMPTY
            yield Observation(source=Source.SYSLOG, node=node.name, body=body, status=status)


class NaiveCompliance(HttpCollectorCompliance):
    def connector(self, url: str, timeout_secs: float, retry_secs: float, answer_bytes: int) -> Collector[Any]:
        return Naive(url)

    def healthy(self, request: Request) -> Reply:
        return Reply(body="line\n")

    def nothing(self, request: Request) -> Reply:
        return Reply(body="")

    def long_line(self, request: Request) -> Reply:
        return Reply(body="x" * (3 << 20))

    def attempt(self) -> Attempt:
        return ATTEMPT


KEPT_BY_CHANCE = {"an_empty_window_is_empty", "a_long_line_is_cut_into_bounded_observations"}
ENDLESS = {"an_answer_without_end_is_cut_off", "it_stops_while_it_reads", "a_server_that_drips_is_left"}
RULES = sorted(name for name in dir(HttpCollectorCompliance) if name.startswith("test_"))


@pytest.mark.slow
@pytest.mark.parametrize("rule", [name for name in RULES if name.removeprefix("test_") not in KEPT_BY_CHANCE | ENDLESS])
def test_each_rule_finds_a_naive_connector(rule: str) -> None:
    with pytest.raises(AssertionError):
        getattr(NaiveCompliance(), rule)()


def obliging(*given: Observation, stops: bool = True) -> Collector[Nothing]:
    """A collector that delivers what it is given."""

    class Obliging(Collector[Nothing]):
        """Delivers what it is given."""

        Settings = Nothing
        sources = frozenset({Source.SYSLOG})

        def check(self) -> str:
            return "fine"

        def collect(self, attempt: Attempt, plan: CollectionPlan, halted: Halted) -> Iterator[Observation]:
            for item in given:
                if stops and halted():
                    told = {"body": "", "status": Status.SKIPPED, "reason": DEADLINE}
                    yield Observation.model_validate(item.model_dump() | told)
                else:
                    yield item

    return Obliging(Nothing())


def seen(node: str, **fields: object) -> Observation:
    return Observation.model_validate({"source": "syslog", "node": node, "body": "line\n", **fields})


def test_a_good_collector_complies() -> None:
    collector_complies(obliging(seen("n1"), seen("n2")), ATTEMPT, CollectionPlan(catalog_digest="d"))


@pytest.mark.parametrize(
    ("collector", "why"),
    [
        (obliging(seen("n1")), "nothing is said of syslog of n2"),
        (obliging(seen("n1"), seen("n2", source="bmc")), "nothing is said of syslog of n2"),
        (obliging(seen("n1"), seen("n2", body="")), "is empty and said to be ok"),
        (obliging(seen("n1"), seen("n2", body="", status="error")), "is error for no reason"),
        (obliging(seen("n1"), seen("n2", body="x" * (9 << 20))), "holds 9437184 bytes"),
        (obliging(seen("n1"), seen("n2"), stops=False), "reads although it is halted"),
    ],
)
def test_a_bad_collector_does_not_comply(collector: Collector[Nothing], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        collector_complies(collector, ATTEMPT, CollectionPlan(catalog_digest="d"))


def test_settings_must_say_what_they_mean() -> None:
    comply(Naive)
    Naive.__doc__, kept = None, Naive.__doc__
    try:
        with pytest.raises(AssertionError, match="does not say what it does"):
            comply(Naive)
    finally:
        Naive.__doc__ = kept


# --- the server -------------------------------------------------------------------------------------------------------


def test_a_server_tells_what_it_was_asked() -> None:
    with Server(lambda request: Reply(body=json.dumps(dict(request.params)))) as server:
        assert httpx.get(f"{server.url}/a/b?x=1&y=a%20b").json() == {"x": "1", "y": "a b"}
        assert httpx.post(f"{server.url}/c?z=3", data={"x": "2"}, headers={"X-Scope": "team"}).json() == {
            "x": "2",
            "z": "3",
        }
    first, second = server.requests
    assert (first.method, first.path, second.method, second.headers["x-scope"]) == ("GET", "/a/b", "POST", "team")
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(body="x" * 100, cut_at=50), httpx.RemoteProtocolError),
        (Reply(wait_secs=5), httpx.ReadTimeout),
        (Reply(body="x", compressed=True), None),
        (Reply(503, "no", {"Retry-After": "7"}), None),
    ],
)
def test_a_server_fails_as_it_is_told(reply: Reply, error: type[Exception] | None) -> None:
    with Server(lambda request: reply) as server:
        if error is not None:
            with pytest.raises(error):
                httpx.get(server.url, timeout=0.2)
            return
        answer = httpx.get(server.url)
        assert (answer.status_code, answer.text) == (reply.status, reply.body)
        assert all(answer.headers[name] == value for name, value in reply.headers.items())


def test_a_server_that_never_ends_is_ended() -> None:
    with (
        Server(lambda request: Reply(body="x" * 1000, endless=True)) as server,
        httpx.stream("GET", server.url) as answer,
    ):
        assert sum(len(chunk) for chunk, _ in zip(answer.iter_raw(), range(100), strict=False)) > 1000


def test_faults_come_first() -> None:
    with Server(faulty(lambda request: Reply(body="well"), Reply(500), Reply(503))) as server:
        assert [httpx.get(server.url).status_code for _ in range(3)] == [500, 503, 200]


# --- the command ------------------------------------------------------------------------------------------------------


def test_a_command_answers_by_its_arguments(tmp_path: Path) -> None:
    answers = [
        CommandAnswer("--helpformat", "JobID State\n"),
        CommandAnswer("-j 7", stderr="slow down\n", exit_code=1, times=1),
        CommandAnswer("-j 7", "7|FAILED\n"),
    ]
    command = FakeCommand(tmp_path, "sacct", answers)

    def ran(*arguments: str) -> tuple[int, str, str]:
        done = subprocess.run([command.path, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert ran("--helpformat") == (0, "JobID State\n", "")
    assert ran("-j", "7") == (1, "", "slow down\n")
    assert ran("-j", "7") == (0, "7|FAILED\n", "")
    assert ran("-x")[0] == 64
    assert command.calls == [["--helpformat"], ["-j", "7"], ["-j", "7"], ["-x"]]


def test_a_command_can_hang_and_never_stop(tmp_path: Path) -> None:
    command = FakeCommand(tmp_path, "kubectl", [CommandAnswer("get", wait_secs=60)])
    started = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([command.path, "get"], timeout=0.5, check=False)
    assert time.monotonic() - started < 50
    command.answer_with([CommandAnswer("get", "x" * 1000, endless=True)])
    with subprocess.Popen([command.path, "get"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None and len(process.stdout.read(100_000)) == 100_000
        process.kill()
