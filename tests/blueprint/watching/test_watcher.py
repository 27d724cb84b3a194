"""The threads of a watcher: they work side by side, survive what fails, and end when they are asked to."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import Halted, Sink
from attribution.blueprint.orchestrator import Orchestrator, Parts
from attribution.blueprint.progress import Progress
from attribution.blueprint.watching import watcher
from attribution.blueprint.watching.meters import Meters
from attribution.blueprint.watching.settings import WatchSettings
from attribution.blueprint.watching.watcher import Watcher
from attribution.contracts.observation import Observation
from attribution.store.backlog import Backlog
from attribution.store.database import Store, open_store
from attribution.store.faults import told
from attribution.store.outbox import Outbox

from tests.blueprint.conftest import FAST
from tests.blueprint.fakes import FakeCollector, FakeService, FakeSink, attempt, lines, observation, problem
from tests.blueprint.watching.steps import Scripted

SECS = 600


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "watch.db"))) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that have nothing to do look again soon."""
    monkeypatch.setattr(watcher, "_IDLE_SECS", 0.02)


class Running:
    """A watcher in a thread, over fakes."""

    def __init__(
        self,
        store: Store,
        context: Scripted,
        service: FakeService,
        collector: FakeCollector,
        sinks: dict[str, Sink[Any]],
        settings: dict[str, Any],
    ) -> None:
        given = {"interval_secs": 0.05, "settle_secs": 0, "progress_secs": 0.05, "shutdown_secs": SECS, **settings}
        watched = WatchSettings.model_validate(given)
        parts = Parts({"fake": context}, {"logs": collector}, sinks)
        self.meters, progress = Meters(["fake"], list(sinks)), Progress(watched.progress_secs)
        orchestrator = Orchestrator(service.client(), parts, print, retries=FAST, progress=progress)
        self.watcher = Watcher(orchestrator, parts, store, watched, 2, self.meters, progress)
        self.thread = threading.Thread(target=self.watcher.run, daemon=True)
        self.logs: list[Any] = []

    def until(self, done: Callable[[], bool]) -> None:
        give_up = time.monotonic() + SECS
        while not done():
            assert time.monotonic() < give_up, self.logs
            time.sleep(0.01)

    def stop(self) -> None:
        self.watcher.stop()
        self.thread.join(SECS)
        assert not self.thread.is_alive()

    def events(self, name: str) -> list[Any]:
        return [line for line in list(self.logs) if line["event"] == name]


@contextmanager
def running(
    store: Store,
    context: Scripted,
    service: FakeService | None = None,
    collector: FakeCollector | None = None,
    sinks: dict[str, Sink[Any]] | None = None,
    **settings: Any,
) -> Iterator[Running]:
    found = Running(
        store, context, service or FakeService(), collector or FakeCollector(lines(1)),
        {"sink": FakeSink()} if sinks is None else sinks, settings,
    )  # fmt: skip
    with capture_logs() as found.logs:
        found.thread.start()
        try:
            yield found
        finally:
            found.stop()


def ended(name: str) -> Attempt:
    return attempt(name, "node-01", started_at="2026-05-04T02:00:00Z", ended_at="2026-05-04T03:00:00Z")


def test_what_appears_is_diagnosed_and_delivered(store: Store) -> None:
    context, sink = Scripted(ended("a")), FakeSink()
    with running(store, context, sinks={"sink": sink}) as run:
        run.until(lambda: len(sink.results) == 1)
        context.found.append(ended("b"))
        run.until(lambda: len(sink.results) == 2)
        run.until(
            lambda: run.meters.registry.get_sample_value("attribution_watch_attempts", {"state": "diagnosed"}) == 2
        )
    assert [line["given_back"] for line in run.events("stopped")] == [0]
    assert context.observed > 1 and run.watcher.is_healthy()


def test_a_stop_lets_what_is_begun_end(store: Store) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        begun.set()
        go_on.wait(SECS)
        yield observation()

    with running(store, Scripted(ended("a"), ended("b"), ended("c")), collector=FakeCollector(give)) as run:
        assert begun.wait(SECS)
        run.watcher.stop()
        go_on.set()
    counts = Backlog(store).counts(_now())
    assert counts["diagnosed"] in {1, 2} and counts["working"] == 0, "and nothing more is begun"
    assert counts["diagnosed"] + counts["waiting"] == 3


def test_what_does_not_end_in_time_is_given_back_and_its_result_not_taken(store: Store) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        begun.set()
        go_on.wait(SECS)
        yield observation()

    with running(store, Scripted(ended("a")), collector=FakeCollector(give), shutdown_secs=0) as run:
        assert begun.wait(SECS)
    assert [line["given_back"] for line in run.events("stopped")] == [1]
    go_on.set()
    claim = Backlog(store).claim(_now(), 60)
    assert claim is not None and claim.losses == 0
    assert Outbox(store).counts() == {}


def test_a_closed_standard_output_ends_the_watcher_and_keeps_the_result(store: Store) -> None:
    class Closed(FakeSink):
        def write(self, result: object, catalog: object) -> None:
            raise BrokenPipeError

    with running(store, Scripted(ended("a")), sinks={"stdout": Closed()}) as run:
        run.thread.join(SECS)
        assert not run.thread.is_alive()
    assert Outbox(store).claim(["stdout"], _now(), 60) is not None


def test_what_takes_long_says_how_far_it_is(store: Store) -> None:
    go_on = threading.Event()

    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        yield observation()
        go_on.wait(SECS)
        yield observation(offset=5)

    with running(store, Scripted(ended("a")), collector=FakeCollector(give)) as run:
        run.until(lambda: len(run.events("collecting")) > 1)
        go_on.set()
    assert "a, attempt 1: under way for" in run.events("collecting")[0]["progress"]
    assert "1 observations" in run.events("collecting")[1]["progress"]


def test_while_the_service_is_busy_discovery_rests(store: Store) -> None:
    def fault(request: httpx.Request, before: int) -> httpx.Response | None:
        return problem(429, "too many")

    context = Scripted(ended("a"))
    with running(store, context, FakeService(fault)) as run:
        run.until(lambda: bool(run.events("service cannot be had")))
        run.until(lambda: run.meters.registry.get_sample_value("attribution_watch_held") == 1)
        rounds = len(context.queries)
        time.sleep(0.3)  # six rounds' time, of two seconds of rest
        assert len(context.queries) <= rounds + 1
        assert run.watcher.is_healthy()
    assert Backlog(store).counts(_now())["waiting"] == 1, "nothing is dropped"


def test_a_store_that_does_not_answer_is_asked_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "_STORE_WAIT_SECS", 0.01)
    errors: list[Exception] = [told("watch.db", "is locked"), RuntimeError("a slip")]
    claim = Backlog.claim

    def failing(self: Backlog, *given: Any) -> Any:
        if errors:
            raise errors.pop(0)
        return claim(self, *given)

    monkeypatch.setattr(Backlog, "claim", failing)
    sink = FakeSink()
    with running(store, Scripted(ended("a")), sinks={"sink": sink}) as run:
        run.until(lambda: len(sink.results) == 1)
    assert "is locked" in run.events("store cannot be had")[0]["reason"]
    assert run.events("internal error")[0]["reason"] == "a slip"


def test_results_that_no_sink_takes_any_more_are_told_at_the_start(store: Store) -> None:
    with running(store, Scripted(ended("a")), sinks={"old": FakeSink("a")}) as run:
        run.until(lambda: bool(run.events("not delivered")))
    with running(store, Scripted(), sinks={"new": FakeSink()}) as run:
        pass
    (line,) = run.events("results wait for a sink that is not configured")
    assert (line["sink"], line["count"]) == ("old", 1)


def _now() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=1)
