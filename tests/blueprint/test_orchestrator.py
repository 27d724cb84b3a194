"""Whatever fails, the run goes on, and what failed stands in the results or is told."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from attribution.blueprint.attempt import Attempt, Found, Query, Unusable
from attribution.blueprint.connectors.base import DEADLINE, Collected, ConnectorError, Halted
from attribution.blueprint.deadline import Deadline
from attribution.blueprint.orchestrator import Failed, Orchestrator, Parts
from attribution.client.client import AttributionClient, BatchLimits
from attribution.contracts.observation import Observation
from attribution.contracts.vocabulary import Format, Source, Status

from tests.blueprint.conftest import FAST
from tests.blueprint.fakes import (
    Clock,
    FakeCollector,
    FakeContexts,
    FakeService,
    FakeSink,
    Run,
    attempt,
    lines,
    observation,
    observations_of,
    problem,
)

ONE = BatchLimits(observations=1)


def test_an_attempt_goes_all_the_way() -> None:
    service = FakeService()
    of = attempt("a", "node-01", started_at="2026-05-04T03:00:00Z", ended_at="2026-05-04T04:00:00Z")
    run = Run(service.client(), [of], [FakeCollector(lines(3))])
    assert service.calls == ["collection-plan", "attributors", "observations", "attribution", "snapshot"]
    (report,) = run.results["a"].connector_reports
    assert (report.connector, report.source, report.node, report.status) == ("logs-0", "syslog", "node-01", "ok")
    assert (report.observations, report.lines, report.bytes) == (3, 3, 15)
    assert (report.submitted, report.accepted, report.duplicate, report.rejected) == (3, 3, 0, 0)
    assert report.window is not None and report.window.start.isoformat() == "2026-05-04T02:45:00+00:00"
    assert (run.told, run.summary.diagnosed, run.summary.failures) == ([], 1, [])


def test_results_come_in_the_order_of_discovery_whatever_takes_long() -> None:
    running, most, lock = [0], [0], threading.Lock()

    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.05 if of.context.workload_id in "aceg" else 0.0)
        with lock:
            running[0] -= 1
        yield observation()

    run = Run(FakeService().client(), [attempt(name) for name in "abcdefgh"], [FakeCollector(give)], workers=3)
    assert [result.context.workload_id for result in run.sink.results] == list("abcdefgh")
    assert 1 < most[0] <= 3


def test_cluster_and_tenant_are_added_where_a_context_lacks_them() -> None:
    found = [attempt("a"), attempt("b", cluster="own", tenant="theirs")]
    service = FakeService()
    run = Run(service.client(), found, [], cluster="example", tenant="team-1")
    assert [(r.context.cluster, r.context.tenant) for r in run.sink.results] == [
        ("example", "team-1"),
        ("own", "theirs"),
    ]
    assert [c["cluster"] for c in service.contexts] == ["example", "own"]


def test_nodes_are_read_off_the_evidence_where_the_context_names_none() -> None:
    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        yield observation(node="node-02", rank=5)
        yield observation(node="node-01")

    service = FakeService()
    run = Run(service.client(), [attempt("a")], [FakeCollector(give)])
    assert service.contexts[-1]["nodes"] == [{"name": "node-01"}, {"name": "node-02", "ranks": [5]}]
    assert service.contexts[-1]["inferred"] == ["nodes"] and run.results["a"].context.inferred == ("nodes",)


# --- discovery --------------------------------------------------------------------------------------------------------


def test_what_the_finder_was_told_is_submitted_first_and_reported_as_its_own() -> None:
    service = FakeService()
    record = Observation(source=Source.SCHEDULER, format=Format.SACCT_PARSABLE2, stream="sacct", body="JobID|State\n")
    run = Run(service.client(), [replace(attempt("a", "node-01"), evidence=(record,))], [FakeCollector(lines(1))])
    assert [held["source"] for held in service.held] == ["scheduler", "syslog"]
    reports = [(report.connector, report.source, report.accepted) for report in run.results["a"].connector_reports]
    assert reports == [("logs-0", Source.SYSLOG, 1), ("static", Source.SCHEDULER, 1)]


def test_what_is_no_attempt_is_told_and_the_others_are_diagnosed() -> None:
    found = [
        attempt("a"),
        Unusable("bad", "is broken"),
        Unusable("readme", "is passed over", is_failure=False),
        attempt("b"),
        RuntimeError("the scheduler is away"),
    ]
    run = Run(FakeService().client(), found, [])
    assert list(run.results) == ["a", "b"]
    assert run.told == ["bad: is broken", "readme: is passed over", "static: failed: the scheduler is away"]
    assert run.summary.failures == [Failed.EVIDENCE, Failed.EVIDENCE]


def test_an_attempt_that_is_found_twice_is_diagnosed_once() -> None:
    again = Attempt(attempt("a").context, "elsewhere")
    run = Run(FakeService().client(), [attempt("a"), again, attempt("a"), attempt("a", attempt=2)], [])
    assert [result.context.attempt for result in run.sink.results] == [1, 2]
    assert run.told == [
        f"{where}: is the same attempt as found a (a, attempt 1); it is not looked at"
        for where in ("elsewhere", "found a")
    ]
    assert run.summary.failures == [Failed.EVIDENCE] * 2


# --- connectors -------------------------------------------------------------------------------------------------------


def test_a_connector_that_fails_is_reported_for_each_source_and_node() -> None:
    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        yield observation()
        raise RuntimeError("the log store\nhas gone")

    service = FakeService()
    broken = FakeCollector(give, (Source.SYSLOG, Source.BMC))
    run = Run(service.client(), [attempt("a", "node-01", "node-02")], [broken, FakeCollector(lines(1))])
    reports = {
        (r.connector, r.source.value, r.node): (r.status.value, r.reason) for r in run.results["a"].connector_reports
    }
    assert reports == {
        ("logs-0", "syslog", "node-01"): ("partial", "the log store has gone"),
        ("logs-0", "syslog", "node-02"): ("error", "the log store has gone"),
        ("logs-0", "bmc", "node-01"): ("error", "the log store has gone"),
        ("logs-0", "bmc", "node-02"): ("error", "the log store has gone"),
        ("logs-1", "syslog", "node-01"): ("ok", None),
    }
    # The Service knows as well, so that the diagnosis says what was not examined.
    assert sorted((o["source"], o["node"]) for o in service.held if o.get("status") == "error") == [
        ("bmc", "node-01"), ("bmc", "node-02"), ("syslog", "node-02"),
    ]  # fmt: skip


def test_an_attempt_without_any_evidence_because_its_bundle_broke_is_not_diagnosed() -> None:
    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        if of.context.workload_id == "a":
            raise RuntimeError("B001 does not exist")
        yield observation()

    run = Run(FakeService().client(), [attempt("a"), attempt("b")], [FakeCollector(give, ())])
    assert list(run.results) == ["b"]
    assert run.told == ["a, attempt 1 (found a): no diagnosis: logs-0: B001 does not exist"]
    assert run.summary.failures == [Failed.EVIDENCE]


def test_the_statuses_of_observations_become_that_of_the_report() -> None:
    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        yield observation("", node="node-01", status="empty", reason="nothing there")
        yield observation("", node="node-02", status="error", reason="refused")
        yield observation("x", node="node-03")
        yield observation("", node="node-03", stream="b", status="error", reason="refused")
        yield observation("", node="node-04", status="skipped", reason="is hidden")
        yield observation("x", node="node-05")
        yield observation("", node="node-05", stream="b", status="empty")

    run = Run(FakeService().client(), [attempt("a", "node-01")], [FakeCollector(give)])
    assert [(r.node, r.status.value, r.reason) for r in run.results["a"].connector_reports] == [
        ("node-01", "empty", "nothing there"),
        ("node-02", "error", "refused"),
        ("node-03", "partial", "refused"),
        ("node-04", "skipped", "is hidden"),
        ("node-05", "ok", None),
    ]


def test_lines_are_counted_once_however_they_are_cut() -> None:
    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        text = "one\ntwo é\nthree"
        for cut in range(len(text)):
            yield observation(text[cut], offset=len(text[:cut].encode()))
        yield observation("four\nfive\n", stream="b")
        yield observation("", stream="c", status="empty")

    run = Run(FakeService().client(), [attempt("a", "node-01")], [FakeCollector(give)])
    (report,) = run.results["a"].connector_reports
    assert (report.lines, report.bytes) == (5, 26)


# --- submission -------------------------------------------------------------------------------------------------------


def test_what_is_rejected_stands_in_the_report_and_the_service_is_told() -> None:
    def fault(request: httpx.Request, count: int) -> httpx.Response | None:
        if not request.url.path.endswith("observations") or count:
            return None
        answers = [
            {"index": index, "outcome": outcome, "reason": "conflict: bytes differ" if outcome == "rejected" else None}
            for index, outcome in enumerate(("accepted", "duplicate", "rejected", "rejected"))
        ]
        return httpx.Response(200, json={"accepted": 1, "duplicate": 1, "rejected": 2, "observations": answers})

    service = FakeService(fault)
    run = Run(service.client(), [attempt("a", "node-01")], [FakeCollector(lines(4))])
    (report,) = run.results["a"].connector_reports
    assert (report.submitted, report.accepted, report.duplicate, report.rejected) == (4, 1, 1, 2)
    assert (report.status, report.reason) == ("partial", "2 observations were rejected: conflict: bytes differ")
    (marked,) = service.held
    assert (marked["stream"], marked["status"], marked.get("body")) == ("messages", "partial", None)
    assert marked["reason"] == "observations of it did not reach the Service"


def test_a_batch_that_is_lost_after_all_retries_stands_in_the_report_and_the_run_goes_on() -> None:
    def fault(request: httpx.Request, count: int) -> httpx.Response | None:
        if request.url.path.endswith("observations") and observations_of(request)[0].get("offset") == 5:
            return problem(503, "the store is away")
        return None

    service = FakeService(fault)
    run = Run(service.client(), [attempt("a", "node-01"), attempt("b")], [FakeCollector(lines(3))], limits=ONE)
    (report,) = run.results["a"].connector_reports
    assert (report.submitted, report.accepted, report.rejected) == (3, 2, 0)
    assert report.status == "partial"
    assert report.reason == "1 observation was lost: the Service answered 503: the store is away"
    assert list(run.results) == ["a", "b"] and run.told == []


def test_when_all_is_lost_the_report_is_an_error_and_no_more_is_tried() -> None:
    def fault(request: httpx.Request, count: int) -> httpx.Response | None:
        if request.url.path.endswith("observations"):
            raise httpx.ConnectError("refused")
        return None

    service = FakeService(fault)
    run = Run(service.client(), [attempt("a", "node-01")], [FakeCollector(lines(9))], limits=ONE)
    (report,) = run.results["a"].connector_reports
    assert (report.status, report.observations, report.submitted, report.accepted) == ("error", 9, 3, 0)
    assert "were lost: not sent" in str(report.reason) and "gave no answer: refused" in str(report.reason)
    # The first batch is tried three times, the next ones once, and so is what tells the Service of it.
    assert service.calls.count("observations") == 3 + 1 + 1 + 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_service_that_does_not_allow_it_is_told_for_each_attempt(status: int) -> None:
    service = FakeService(lambda request, count: problem(status, "the token is not known"))
    run = Run(service.client(), [attempt("a"), attempt("b")], [FakeCollector(lines(1))])
    assert run.told == [
        f"{name}, attempt 1 (found {name}): no diagnosis: the Service answered {status}: the token is not known"
        for name in "ab"
    ]
    assert run.summary.failures == [Failed.UNAVAILABLE] * 2


def test_a_service_that_is_away_is_told_for_each_attempt_and_waited_for_once() -> None:
    def fault(request: httpx.Request, count: int) -> httpx.Response | None:
        raise httpx.ConnectError("connection refused")

    service = FakeService(fault)
    run = Run(service.client(), [attempt("a"), attempt("b"), attempt("c")], [])
    start = "the Service at http://service gave no answer: connection refused"
    assert run.told == [
        f"a, attempt 1 (found a): no diagnosis: {start} (3 tries)",
        f"b, attempt 1 (found b): no diagnosis: {start} (1 try)",
        f"c, attempt 1 (found c): no diagnosis: {start} (1 try)",
    ]
    assert service.calls == ["collection-plan"] * 5


def test_a_service_that_goes_away_for_one_attempt_is_asked_again_for_the_next() -> None:
    def fault(request: httpx.Request, count: int) -> httpx.Response | None:
        if "/a/" in request.url.path:
            raise httpx.ReadError("connection reset")
        return None

    run = Run(FakeService(fault).client(), [attempt("a"), attempt("b")], [FakeCollector(lines(1))])
    assert list(run.results) == ["b"] and len(run.told) == 1 and "connection reset" in run.told[0]


def test_a_session_that_somebody_ended_is_opened_again_and_all_is_submitted_again() -> None:
    def fault(request: httpx.Request, count: int) -> httpx.Response | None:
        is_first_answer = request.url.path.endswith("attribution") and count == 0
        return problem(404, "there is no session `a`") if is_first_answer else None

    service = FakeService(fault)
    run = Run(service.client(), [attempt("a", "node-01")], [FakeCollector(lines(2))])
    assert service.calls.count("attributors") == 2 and len(service.held) == 4
    assert run.results["a"].connector_reports[0].submitted == 2

    always = FakeService(lambda request, count: problem(404, "no") if "/a/" in request.url.path else None)
    run = Run(always.client(), [attempt("a", "node-01")], [FakeCollector(lines(2))])
    assert run.results == {} and always.calls.count("attributors") == 2


# --- sinks ------------------------------------------------------------------------------------------------------------


def test_a_sink_that_fails_keeps_nothing_from_the_others() -> None:
    broken, whole = FakeSink("a"), FakeSink()
    run = Run(FakeService().client(), [attempt("a"), attempt("b")], [], [broken, whole])
    assert [result.context.workload_id for result in whole.results] == ["a", "b"]
    assert [result.context.workload_id for result in broken.results] == ["b"]
    assert run.told == ["a, attempt 1: sink-0 did not take the result: the disk is full"]
    assert run.summary.failures == [Failed.UNAVAILABLE]


def test_the_catalog_is_fetched_once_for_all_sinks_and_attempts() -> None:
    service = FakeService()
    Run(service.client(), [attempt("a"), attempt("b")], [], [FakeSink(), FakeSink()])
    assert service.calls.count("snapshot") == 1


# --- the deadline -----------------------------------------------------------------------------------------------------


def test_at_the_deadline_what_is_there_is_diagnosed_and_the_rest_is_told() -> None:
    clock = Clock()

    def slow(of: Attempt, halted: Halted) -> Iterator[Observation]:
        yield observation()
        assert not halted()
        clock.now += 80  # what is left is kept for the diagnosis
        assert halted()
        yield observation("", status="partial", reason=DEADLINE)
        yield observation("", node="node-02", status="skipped", reason=DEADLINE)

    service = FakeService()
    of = attempt("a", "node-01", "node-02")
    run = Run(service.client(), [of], [FakeCollector(slow)], deadline=Deadline.after(100, clock))
    assert [(r.node, r.status.value, r.reason) for r in run.results["a"].connector_reports] == [
        ("node-01", "partial", DEADLINE),
        ("node-02", "partial", DEADLINE),
    ]
    assert [o.get("body") for o in service.held] == ["line\n", None, None]


class HangingContexts(FakeContexts):
    """Finds one attempt, and then looks on for ever, or breaks because its time is over."""

    def __init__(self, clock: Clock, breaks: bool) -> None:
        super().__init__(attempt("a", "node-01"))
        self.clock, self.breaks, self.free = clock, breaks, threading.Event()

    def discover(self, query: Query) -> Iterator[Found]:
        yield from self.found
        self.clock.now += 80
        if self.breaks:
            raise ConnectorError("did not answer within 3 s")
        self.free.wait()


@pytest.mark.parametrize("breaks", [False, True])
def test_a_search_for_attempts_that_hangs_is_left_behind_at_the_deadline(breaks: bool) -> None:
    clock, told = Clock(), list[str]()
    context, sink = HangingContexts(clock, breaks), FakeSink()
    parts = Parts({"fake": context}, {}, {"sink": sink})
    orchestrator = Orchestrator(FakeService().client(), parts, told.append, retries=FAST)
    summary = orchestrator.run(Query(), Deadline.after(100, clock))
    context.free.set()
    late = "fake: did not find all attempts before the deadline (give more time with --deadline-secs, or ask for fewer"
    assert [line for line in told if line.startswith("fake")] == [f"{late} attempts)"]
    assert (summary.found, summary.failures[0]) == (1, Failed.UNAVAILABLE)


def test_a_connector_that_hangs_is_left_behind_at_the_deadline() -> None:
    clock, other_began, free = Clock(), threading.Event(), threading.Event()

    def hangs(of: Attempt, halted: Halted) -> Iterator[Observation]:
        yield observation()
        while "collect-logs-1" in {thread.name for thread in threading.enumerate()} or not other_began.is_set():
            time.sleep(0.001)
        clock.now += 86
        free.wait(60)
        yield observation(offset=5)

    def other(of: Attempt, halted: Halted) -> Iterator[Observation]:
        other_began.set()
        yield observation()

    of = attempt("a", "node-01", "node-02")
    collectors = [FakeCollector(hangs), FakeCollector(other)]
    run = Run(FakeService().client(), [of], collectors, deadline=Deadline.after(100, clock))
    assert not free.is_set(), "the run waited for the connector"
    free.set()
    assert [(r.connector, r.node, r.status.value, r.reason) for r in run.results["a"].connector_reports] == [
        ("logs-0", "node-01", "partial", DEADLINE),
        ("logs-0", "node-02", "partial", DEADLINE),
        ("logs-1", "node-01", "ok", None),
    ]


def test_a_connector_that_does_not_listen_is_left_behind_as_well() -> None:
    clock = Clock()

    def goes_on(of: Attempt, halted: Halted) -> Iterator[Observation]:
        offset = 0
        while True:
            yield observation(offset=offset)
            clock.now += 1
            offset += 5

    run = Run(
        FakeService().client(),
        [attempt("a", "node-01")],
        [FakeCollector(goes_on)],
        deadline=Deadline.after(1000, clock),
    )
    (report,) = run.results["a"].connector_reports
    assert (report.status, report.reason) == ("partial", DEADLINE) and report.observations >= 900


def test_attempts_that_were_not_begun_by_the_deadline_are_told() -> None:
    clock = Clock()

    def slow(of: Attempt, halted: Halted) -> Iterator[Observation]:
        clock.now += 80
        yield observation("", status="skipped", reason=DEADLINE)

    found = [attempt(name, "node-01") for name in "ab"]
    run = Run(FakeService().client(), found, [FakeCollector(slow)], deadline=Deadline.after(100, clock))
    assert list(run.results) == ["a"]
    assert run.told == [
        "b, attempt 1 (found b): no diagnosis: was not begun before the deadline (give more time with --deadline-secs, "
        "or ask for fewer attempts)"
    ]
    assert run.summary.failures == [Failed.UNAVAILABLE]


def test_no_call_of_the_service_takes_longer_than_there_is_time() -> None:
    clock, timeouts = Clock(), dict[str, float]()

    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        clock.now += 88
        yield observation("", status="skipped", reason=DEADLINE)

    def fault(request: httpx.Request, count: int) -> httpx.Response | None:
        timeouts[request.url.path.rsplit("/", 1)[-1]] = request.extensions["timeout"]["read"]
        if request.url.path.endswith("attribution"):
            raise httpx.ReadTimeout("timed out")
        return None

    run = Run(
        FakeService(fault).client(),
        [attempt("a", "node-01")],
        [FakeCollector(give)],
        deadline=Deadline.after(100, clock),
    )
    assert timeouts == {"collection-plan": 30, "attributors": 30, "observations": 6, "attribution": 12}
    assert run.results == {} and "no answer within the time allowed" in run.told[0]


def test_a_deadline_keeps_a_reserve() -> None:
    clock = Clock()
    short, long, none = Deadline.after(10, clock), Deadline.after(600, clock), Deadline.after(None, clock)
    assert (short.collecting_secs(), long.collecting_secs(), none.collecting_secs()) == (7, 580, None)
    clock.now += 7
    assert short.halted() and not long.halted() and not none.halted() and short.left_secs() == 3


# --- the real Service -------------------------------------------------------------------------------------------------


def test_what_could_not_be_examined_stands_in_the_diagnosis(service: AttributionClient) -> None:
    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        yield observation()
        raise RuntimeError("the log store has gone")

    run = Run(service, [attempt("a", "node-01", "node-02")], [FakeCollector(give)])
    coverage = {(c.node, c.stream): (c.status, c.reason) for c in run.results["a"].diagnosis.coverage}
    assert coverage["node-02", "(logs-0)"] == (Status.ERROR, "the log store has gone")
    assert coverage["node-01", "(logs-0)"] == (Status.PARTIAL, "the log store has gone")


def test_reports_say_how_often_calls_were_repeated_and_what_time_the_lines_reach(service: AttributionClient) -> None:
    lines = [
        "2026-05-04T03:10:00Z node-01 kernel: usb 1-1: new device",
        "2026-05-04T03:20:00Z node-01 kernel: eth0: up",
    ]

    def give(of: Attempt, halted: Halted) -> Iterator[Observation | Collected]:
        first, second = (f"{line}\n" for line in lines)
        yield Collected(Observation(source=Source.SYSLOG, node="node-01", stream="a", body=first), retries=2)
        yield Collected(Observation(source=Source.SYSLOG, node="node-01", stream="b", body=second), retries=1)
        yield Observation(source=Source.SYSLOG, node="node-02", stream="a", status=Status.EMPTY)

    run = Run(service, [attempt("a", "node-01", "node-02")], [FakeCollector(give)])
    first, second = run.results["a"].connector_reports
    assert (first.node, first.retries, second.node, second.retries) == ("node-01", 3, "node-02", 0)
    assert first.first_at is not None and first.last_at is not None
    assert (f"{first.first_at:%H:%M}", f"{first.last_at:%H:%M}") == ("03:10", "03:20")
    assert second.first_at is None and second.last_at is None


def test_reasons_that_differ_only_in_the_number_of_tries_are_told_once() -> None:
    """After it gave no answer a server is tried once: that is the same reason again."""
    reasons = ("did not answer within 1 s (3 tries)", "did not answer within 1 s (1 try)", "answered 503 after 2 tries",
               "answered 503 after 1 try", "refuses the credentials (401)")  # fmt: skip
    items = [
        Observation(source=Source.SYSLOG, node="node-01", stream=f"s{n}", status=Status.ERROR, reason=reason)
        for n, reason in enumerate(reasons)
    ]
    run = Run(FakeService().client(), [attempt("a", "node-01")], [FakeCollector(lambda of, halted: iter(items))])
    (report,) = run.results["a"].connector_reports
    assert report.reason == (
        "answered 503 after 2 tries; did not answer within 1 s (3 tries); refuses the credentials (401)"
    )
