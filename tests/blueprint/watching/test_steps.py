"""What is found is brought to one result per attempt and sink, whatever fails on the way."""

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from attribution.blueprint.attempt import Attempt, Bundle, Query, Unusable
from attribution.blueprint.connectors.base import ConnectorError, Halted, SinkBusy, SinkRefused
from attribution.blueprint.watching.discovery import Discovery
from attribution.blueprint.watching.documents import from_document, to_document
from attribution.contracts.observation import Observation
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store.backlog import attempt_key
from attribution.store.database import Store, open_store
from attribution.store.outbox import DeliveryState

from tests.blueprint.fakes import FakeCollector, FakeService, FakeSink, attempt, observation, problem
from tests.blueprint.watching.steps import Scripted, Steps, at


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "watch.db"))) as opened:
        yield opened


def ended(workload: str, secs: float = -100.0, **more: object) -> Attempt:
    """An attempt that ended at so many seconds on the clock of the steps."""
    return attempt(workload, "node-01", started_at=at(secs - 3600), ended_at=at(secs), **more)


class Failing(FakeSink):
    """Raises what it is told to, one after the other; then takes results."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = list(errors)

    def write(self, result: AttributionBlueprintResult, catalog: object) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.results.append(result)


# --- discovery --------------------------------------------------------------------------------------------------------


def test_an_attempt_is_diagnosed_once_however_often_it_is_found(store: Store) -> None:
    steps = Steps(store, Scripted(ended("a", -200), ended("b")))
    for _ in range(3):
        steps.round()
        steps.run()
        steps.pass_by(30)
    assert sorted(steps.results) == ["a", "b"]
    assert steps.metric("found_total", outcome="new") == 2 and steps.metric("found_total", outcome="known") == 4
    again = Steps(store, Scripted(ended("a"), ended("b"), ended("c")))  # another process, on the same store
    again.round()
    assert (again.run(), again.results) == (1, ["c"])


def test_nothing_is_begun_before_late_logs_could_arrive(store: Store) -> None:
    steps = Steps(store, Scripted(ended("a", -10), ended("old", -1000)))
    steps.round()
    assert (steps.run(), steps.results) == (1, ["old"])
    assert steps.pass_by(49).run() == 0
    assert steps.pass_by(2).run() == 1


def test_evidence_that_is_being_laid_settles_from_when_it_was_found(store: Store, tmp_path: Path) -> None:
    of = ended("a", -1000)
    steps = Steps(store, Scripted(Attempt(of.context, of.origin, Bundle(tmp_path)), windowed=False))
    steps.round()
    assert steps.pass_by(59).run() == 0
    assert steps.pass_by(2).run() == 1


def test_the_window_moves_on_with_an_overlap_and_stays_where_a_connector_failed(store: Store) -> None:
    context = Scripted()
    steps = Steps(store, context, lookback_secs=1000, overlap_secs=50)
    steps.round()
    steps.pass_by(30).round()
    context.found = [ended("a"), ConnectorError("has no answer")]
    steps.pass_by(30).round()
    steps.pass_by(30).round()
    context.found = []
    steps.pass_by(30).round()
    later = Steps(store, context, overlap_secs=50).pass_by(100_000)  # after a long time without any watcher
    later.round()
    assert context.queries == [
        Query(start=at(-1000), end=at(0)),
        Query(start=at(-50), end=at(30)),
        Query(start=at(-20), end=at(60)),
        Query(start=at(-20), end=at(90)),
        Query(start=at(-20), end=at(120)),
        Query(start=at(70), end=at(100_000)),
    ]
    assert [line["reason"] for line in steps.events("not usable")] == ["has no answer"], "told once"
    assert steps.run() == 1, "what was found before the failure is kept"
    assert steps.metric("rounds_total", connector="fake", outcome="failed") == 2


def test_another_scope_has_a_mark_of_its_own(store: Store) -> None:
    context = Scripted()
    steps = Steps(store, context, lookback_secs=1000)
    steps.round()
    other = Discovery(
        steps.parts, steps.orchestrator, steps.backlog, steps.settings, steps.meters, steps.now, scope="elsewhere"
    )
    steps.pass_by(30)
    other.round(threading.Event())
    assert context.queries[-1] == Query(start=at(-970), end=at(30))


def test_what_is_written_down_is_asked_for_whole(store: Store) -> None:
    context = Scripted(ended("a", -1_000_000), windowed=False)
    steps = Steps(store, context)
    steps.round()
    steps.pass_by(30).round()
    assert context.queries == [Query(), Query()]
    assert steps.run() == 1


def test_what_still_runs_is_left_until_it_ended(store: Store) -> None:
    context = Scripted(attempt("a", scheduler_state="RUNNING"), attempt("b", scheduler_state="FAILED"))
    steps = Steps(store, context, settle_secs=0)
    steps.round()
    assert (steps.run(), steps.results) == (1, ["b"])
    assert steps.metric("found_total", outcome="running") == 1
    context.found = [ended("a", scheduler_state="FAILED")]
    steps.round()
    assert (steps.run(), steps.results) == (1, ["b", "a"])


def test_what_changes_while_it_waits_is_what_is_diagnosed(store: Store) -> None:
    context = Scripted(ended("a", 0, name="early"))
    steps = Steps(store, context)
    steps.round()
    context.found = [ended("a", 0, name="late")]
    steps.pass_by(30).round()
    steps.pass_by(31).run()
    assert [result.context.name for result in steps.sink.results] == ["late"]


def test_two_of_one_identity_are_one_and_that_is_told(store: Store) -> None:
    one, other = ended("a"), ended("a")
    steps = Steps(store, Scripted(one, Attempt(other.context, "another place"), Unusable("rubbish", "is no \x1b log")))
    steps.round()
    steps.pass_by(30).round()
    assert steps.run() == 1
    told = [(line["origin"], line["reason"]) for line in steps.events("not usable")]
    assert told == [
        ("another place", "is the same attempt as found a (a, attempt 1): not looked at"),
        ("rubbish", "is no \\x1b log"),
    ]


def test_a_full_backlog_holds_discovery_up_and_loses_nothing(store: Store) -> None:
    context = Scripted(*(ended(f"job-{number}") for number in range(5)))
    steps = Steps(store, context, backlog=5)
    steps.round()
    context.found.append(ended("late"))
    steps.pass_by(30).round()
    assert (len(context.queries), steps.metric("rounds_total", connector="fake", outcome="held")) == (1, 1)
    assert steps.run() == 5
    steps.pass_by(30).round()
    assert steps.run() == 1


def test_a_connector_keeps_texts_from_round_to_round(store: Store) -> None:
    for expected in ("1", "2"):
        context = Scripted()
        Steps(store, context).round()
        assert context.kept == {"rounds": expected}


def test_what_a_connector_cannot_observe_does_not_stop_discovery(store: Store) -> None:
    class Blind(Scripted):
        def observe(self, memory: object) -> None:
            raise ConnectorError("sees no pod")

    steps = Steps(store, Blind(ended("a")))
    steps.round()
    steps.pass_by(30).round()
    assert steps.run() == 1 and [line["reason"] for line in steps.events("not usable")] == ["sees no pod"]


# --- work -------------------------------------------------------------------------------------------------------------


def broken(times: int, status: int = 500) -> FakeService:
    def fault(request: httpx.Request, before: int) -> httpx.Response | None:
        return problem(status, "broke") if request.url.path.endswith("attribution") and before < times else None

    return FakeService(fault)


def test_an_attempt_that_cannot_be_diagnosed_is_tried_again_and_then_given_up(store: Store) -> None:
    steps = Steps(store, Scripted(ended("a")), broken(99), retries=2, retry_secs=10)
    steps.round()
    assert steps.run() == 1
    assert steps.pass_by(9).run() == 0
    assert steps.pass_by(2).run() == 1
    assert steps.pass_by(19).run() == 0
    assert steps.pass_by(2).run() == 1
    assert steps.pass_by(100_000).run() == 0
    (given_up,) = steps.backlog.given_up(9)
    assert (given_up.label, given_up.reason) == ("a, attempt 1", "the Service answered 500: broke")
    assert [line["tries"] for line in steps.events("attempt given up")] == [3]
    assert steps.metric("diagnoses_total", outcome="retried") == 2
    assert steps.metric("diagnoses_total", outcome="given_up") == 1
    steps.round()
    assert steps.run() == 0, "what is given up is not begun again"


def test_an_attempt_that_breaks_once_ends_with_a_result(store: Store) -> None:
    steps = Steps(store, Scripted(ended("a", -200), ended("b")), broken(1))
    steps.round()
    assert (steps.run(), steps.results) == (2, ["b"])
    assert (steps.pass_by(61).run(), steps.results) == (1, ["b", "a"])


@pytest.mark.parametrize("status", [429, 503, 401])
def test_a_service_that_cannot_be_had_costs_no_attempt_a_try(store: Store, status: int) -> None:
    is_busy = [True]

    def fault(request: httpx.Request, before: int) -> httpx.Response | None:
        return problem(status, "not now") if is_busy[0] else None

    steps = Steps(store, Scripted(ended("a"), ended("b")), FakeService(fault), retries=0)
    steps.round()
    for _ in range(4):
        steps.run()
        steps.pass_by(301)
    assert steps.metric("diagnoses_total", outcome="postponed") == 4
    assert [line["wait_secs"] for line in steps.events("service cannot be had")] == [2, 4, 8, 16]
    assert steps.run() == 1 and steps.run() == 0, "one that was refused stands for all for a while"
    is_busy[0] = False
    assert steps.pass_by(301).run() == 2
    assert sorted(steps.results) == ["a", "b"] and steps.pressure.left_secs() == 0


def test_an_answer_that_cannot_be_read_is_no_fault_of_the_attempt(store: Store) -> None:
    """Something else than the Service answers at its address, such as a proxy with a page of its own."""
    garbled = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b"no gzip"))
    steps = Steps(store, Scripted(ended("a")), FakeService(lambda request, before: garbled), retries=0)
    steps.round()
    steps.run()
    assert steps.metric("diagnoses_total", outcome="postponed") == 1
    assert steps.events("attempt not diagnosed") == [] == steps.events("attempt given up")


def test_a_worker_whose_lease_is_over_ends_nothing(store: Store) -> None:
    """Another watcher takes the attempt over while this one is still at it."""
    others: list[Steps] = []

    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        if not others:
            others.append(Steps(store, Scripted()).pass_by(61))
            assert others[0].run() == 1
        yield observation()

    steps = Steps(store, Scripted(ended("a")), collectors=[FakeCollector(give)])
    steps.round()
    assert steps.run() == 1
    assert (steps.results, others[0].results) == ([], ["a"])
    assert steps.metric("diagnoses_total", outcome="lost") == 1


def test_what_lives_keeps_its_lease(store: Store) -> None:
    """The keeper renews in time, so that nobody takes over what takes long."""
    others = Steps(store, Scripted())

    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        for _ in range(5):
            steps.pass_by(40)
            steps.keeper.renew()
            assert others.pass_by(40).run() == 0
        yield observation()

    steps = Steps(store, Scripted(ended("a")), collectors=[FakeCollector(give)])
    steps.round()
    assert (steps.run(), steps.results) == (1, ["a"])
    assert steps.metric("leases_lost_total") == 0


def test_an_attempt_that_no_worker_survives_is_given_up(store: Store) -> None:
    steps = Steps(store, Scripted(ended("a")), losses=2)
    steps.round()
    for _ in range(3):
        assert steps.backlog.claim(steps.now(), 60) is not None
        steps.pass_by(61)
    assert (steps.run(), steps.results) == (1, [])
    assert [line["reason"] for line in steps.events("attempt given up")] == ["3 workers vanished while they were at it"]


def test_what_is_given_back_is_taken_at_once(store: Store) -> None:
    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        assert steps.work.is_busy() and steps.work.give_back() == 1
        yield observation()

    steps = Steps(store, Scripted(ended("a")), collectors=[FakeCollector(give)])
    steps.round()
    assert steps.work.step() and not steps.work.is_busy()
    heir = Steps(store, Scripted())
    assert (heir.run(), heir.results, steps.outbox.counts()) == (1, ["a"], {("sink", DeliveryState.DONE): 1})
    assert steps.metric("diagnoses_total", outcome="lost") == 1


def test_an_attempt_goes_through_the_store_as_it_was(tmp_path: Path) -> None:
    of = ended("job \x00", name="ü", scheduler_ids={"job": "7"})
    for one in (of, Attempt(of.context, "there", Bundle(tmp_path, of.context)), attempt("plain")):
        assert from_document(to_document(one)) == one
    here = from_document(to_document(Attempt(of.context, "there", Bundle(Path("bundles/a")))))
    assert here.bundle is not None and here.bundle.path == Path.cwd() / "bundles" / "a"


# --- sinks ------------------------------------------------------------------------------------------------------------


def test_a_sink_that_fails_holds_up_no_other_and_gets_the_result_later(store: Store) -> None:
    good, bad = FakeSink(), Failing(RuntimeError("the disk\nis full"), SinkBusy("is busy", 500.0))
    steps = Steps(store, Scripted(ended("a")), sinks={"bad": bad, "good": good}, retry_secs=10)
    steps.round()
    steps.run()
    assert (len(good.results), len(bad.results)) == (1, 0)
    assert [line["reason"] for line in steps.events("not delivered")] == ["the disk is full"]
    steps.pass_by(9).run()
    assert len(bad.errors) == 1
    steps.pass_by(2).run()
    steps.pass_by(499).run()
    assert (bad.errors, bad.results) == ([], []), "it asked to be left alone for so long"
    steps.pass_by(2).run()
    assert (len(bad.results), len(good.results)) == (1, 1)
    assert steps.metric("deliveries_total", sink="bad", outcome="retried") == 2
    assert bad.results == good.results


def test_a_result_that_a_sink_refuses_or_that_is_too_late_is_kept_and_told(store: Store) -> None:
    sinks = {"strict": Failing(SinkRefused("takes no such thing")), "away": Failing(*[RuntimeError("away")] * 9)}
    steps = Steps(store, Scripted(ended("a")), sinks=sinks, delivery_secs=100, retry_secs=60)
    steps.round()
    for _ in range(6):
        steps.run()
        steps.pass_by(61)
    assert len(sinks["away"].errors) == 6
    told = [(line["sink"], line["reason"]) for line in steps.events("delivery failed")]
    assert sorted(told) == [("away", "away"), ("strict", "takes no such thing")]
    assert sorted(one.sink for one in steps.outbox.failed(9)) == ["away", "strict"]


def test_a_sink_that_asks_for_a_day_is_offered_it_again_in_an_hour(store: Store) -> None:
    sink = Failing(SinkBusy("full", 86_400.0))
    steps = Steps(store, Scripted(ended("a")), sinks={"full": sink})
    steps.round()
    steps.run()
    steps.pass_by(3599).run()
    assert steps.outbox.counts() == {("full", DeliveryState.PENDING): 1}
    steps.pass_by(2).run()
    assert steps.outbox.counts() == {("full", DeliveryState.DONE): 1}


def test_a_result_that_waited_for_its_turn_is_offered_before_it_is_too_late(store: Store) -> None:
    slow = Failing(RuntimeError("away"))
    steps = Steps(store, Scripted(ended("a")), sinks={"slow": slow}, delivery_secs=100, retry_secs=60)
    steps.round()
    while steps.work.step():
        pass
    steps.pass_by(500).run()
    steps.pass_by(61).run()
    assert (slow.errors, len(slow.results)) == ([], 1)


def test_a_sink_that_does_not_want_a_result_is_done_with_it(store: Store) -> None:
    class Choosy(FakeSink):
        def wants(self, result: AttributionBlueprintResult) -> bool:
            return result.context.workload_id != "a"

    steps = Steps(store, Scripted(ended("a"), ended("b")), sinks={"choosy": Choosy()})
    steps.round()
    steps.run()
    assert steps.outbox.counts() == {("choosy", DeliveryState.SKIPPED): 1, ("choosy", DeliveryState.DONE): 1}


def test_a_key_is_that_of_the_result(store: Store) -> None:
    """The cluster of the settings is part of it, as it is in the store of results."""
    steps = Steps(store, Scripted(ended("a")))
    steps.round()
    steps.run()
    (result,) = steps.sink.results
    with closing(sqlite3.connect(store.place)) as plain:
        (row,) = plain.execute("SELECT key, state FROM watch_attempts").fetchall()
    assert row == (attempt_key(None, result.context), "diagnosed") and result.context.cluster == "example"


# --- log lines --------------------------------------------------------------------------------------------------------


def test_fields_of_log_lines_mean_the_same_in_all_events(store: Store) -> None:
    """Whoever searches a workload's lines finds all of them, and no field changes its type."""
    sink = Failing(ConnectorError("busy"), SinkRefused("no"))
    broken = problem(500, "broken")
    service = FakeService(lambda request, n: broken if n == 0 and request.url.path.endswith("/attribution") else None)
    steps = Steps(store, Scripted(ended("a")), service, sinks={"one": sink, "two": FakeSink()}, retry_secs=60)
    steps.round()
    for _ in range(4):
        steps.run()
        steps.pass_by(300)
    of_attempts = [line for line in steps.logs if "workload" in line or "attempt" in line]
    told = {line["event"] for line in of_attempts}
    assert told >= {"found", "attempt not diagnosed", "diagnosed", "delivered", "not delivered", "delivery failed"}
    assert {(line["workload"], line["attempt"]) for line in of_attempts} == {("a", 1)}
    times = [line[key] for line in steps.logs for key in ("ready_at", "again_at") if key in line]
    assert len(times) >= 3 and all(re.fullmatch(r"2026-05-04T\d\d:\d\d:\d\dZ", time) for time in times)
