"""How the roots that are left become one answer, and when they must not."""

from datetime import UTC, datetime
from typing import Any

import pytest

from attribution.contracts.vocabulary import Action, Confidence, Source, SubDomain, TerminalState
from attribution.events.event import Event
from attribution.events.moment import Basis

from tests.engine.toy import ECHO_RELATION, conclude_toy, event, relation


def test_one_root_is_single() -> None:
    got = conclude_toy([event("GPU_LOST", secs=0), event("ECHO", "node-02", 5)], ECHO_RELATION)
    assert (got.terminal_state, got.sub_domain) == (TerminalState.FAILED, SubDomain.GPU_HARDWARE)
    assert [(c.symptom, c.node, c.confidence) for c in got.causes] == [("GPU_LOST", "node-01", Confidence.SINGLE)]
    assert got.affected_nodes == ("node-01",)
    assert got.interesting_nodes == ("node-02",)


def test_roots_of_one_kind_are_compound() -> None:
    got = conclude_toy([event("GPU_LOST", "node-01"), event("GPU_LOST", "node-02", 90)])
    assert got.sub_domain is SubDomain.GPU_HARDWARE
    assert {c.confidence for c in got.causes} == {Confidence.COMPOUND}


def test_a_provable_order_names_the_earliest() -> None:
    got = conclude_toy([event("BUG", "node-02", 60), event("GPU_LOST", "node-01", 0)])
    assert got.sub_domain is SubDomain.GPU_HARDWARE
    assert [(c.symptom, c.confidence) for c in got.causes] == [
        ("GPU_LOST", Confidence.SINGLE),
        ("BUG", Confidence.ONE_OF_SEVERAL),
    ]


@pytest.mark.parametrize(
    ("later", "basis"),
    [(1.5, Basis.UTC), (600.0, Basis.LOCAL), (600.0, Basis.BOOT), (600.0, Basis.YEARLESS), (None, Basis.UTC)],
    ids=["within the slack of two clocks", "zone unknown", "seconds since boot", "year unknown", "no time"],
)
def test_an_order_that_clocks_do_not_prove_is_ambiguous(later: float | None, basis: Basis) -> None:
    got = conclude_toy([event("GPU_LOST", "node-01", 0, basis=basis), event("BUG", "node-02", later, basis=basis)])
    assert got.sub_domain is SubDomain.AMBIGUOUS
    assert {c.confidence for c in got.causes} == {Confidence.ONE_OF_SEVERAL}
    assert got.exclude_nodes == ()
    assert got.would_decide is not None
    assert Action.COLLECT_MORE in got.actions
    assert Action.RESET_GPU not in got.actions
    assert {(a.symptom, a.ruled_out) for a in got.alternatives} == {("GPU_LOST", False), ("BUG", False)}


def test_only_effects_are_insufficient() -> None:
    got = conclude_toy([event("ECHO", "node-01", 3), event("ABORT", "node-02", 9)])
    assert got.sub_domain is SubDomain.INSUFFICIENT_EVIDENCE
    assert got.causes == ()
    assert got.first_failure is not None
    assert (got.first_failure.symptom, got.first_failure.node) == ("ECHO", "node-01")
    assert got.would_decide is not None


PEERS_LOST = [event("PEER_LOST", "node-01", 3, rank=0), event("PEER_LOST", "node-02", 3, rank=3)]
LAUNCHER_SAYS = relation("REL001", ["tag:collective_echo"], ["tag:process_end"])


@pytest.mark.parametrize("after", [None, 9.0])
def test_the_one_rank_that_ended_and_lost_no_peer_is_where_trouble_was_first_seen(after: float | None) -> None:
    ends = [event("PROCESS_END", "node-02", after, rank=rank, offset=rank, stream="launcher") for rank in (3, 2, 0)]
    got = conclude_toy([*PEERS_LOST, *ends], LAUNCHER_SAYS)
    first = got.first_failure
    assert first is not None and (first.symptom, first.node, first.rank) == ("PROCESS_END", "node-02", 2)
    assert first.evidence_id in {item.id for item in got.evidence}
    assert got.sub_domain is SubDomain.INSUFFICIENT_EVIDENCE


@pytest.mark.parametrize("ranks", [(0, 3), (0, 1, 2, 3)], ids=["all lost a peer", "two did not"])
def test_where_no_single_rank_is_the_peer_the_first_loss_stands(ranks: tuple[int, ...]) -> None:
    ends = [event("PROCESS_END", "node-02", 9, rank=rank, offset=rank, stream="launcher") for rank in ranks]
    got = conclude_toy([*PEERS_LOST, *ends], LAUNCHER_SAYS)
    assert got.first_failure is not None and got.first_failure.symptom == "PEER_LOST"


def test_a_rank_that_only_some_lines_name_is_the_rank() -> None:
    got = conclude_toy([event("OOM", "node-01", 1), event("OOM", "node-01", 2, rank=1, offset=9)])
    assert got.causes[0].rank == 1


CANCELLED = {"scheduler_state": "CANCELLED by 1007", "ended_at": "2026-05-04T03:01:00Z"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (event("GPU_LOST", secs=30), TerminalState.FAILED),
        (event("GPU_LOST", secs=180), TerminalState.CANCELLED),
        (event("NO_MACHINE", secs=30), TerminalState.LAUNCH_FAILED),
    ],
    ids=["failed, then swept up", "found broken after the end", "never started"],
)
def test_a_cancelled_attempt_failed_only_by_what_came_before_its_end(found: Event, expected: TerminalState) -> None:
    assert conclude_toy([found], context=CANCELLED).terminal_state is expected


@pytest.mark.parametrize(
    ("began", "expected"),
    [({"started_at": None}, TerminalState.LAUNCH_FAILED), ({}, TerminalState.TIMED_OUT)],
)
def test_a_deadline_that_passed_in_the_queue_is_no_time_limit(began: dict[str, Any], expected: TerminalState) -> None:
    context = {"scheduler_state": "DEADLINE", "ended_at": "2026-05-04T03:01:00Z", **began}
    assert conclude_toy([], context=context).terminal_state is expected


def test_nothing_at_all_is_insufficient_and_unknown() -> None:
    got = conclude_toy([])
    assert (got.terminal_state, got.sub_domain) == (TerminalState.UNKNOWN, SubDomain.INSUFFICIENT_EVIDENCE)
    assert got.first_failure is None


def test_what_the_scope_lacks_is_handed_on() -> None:
    context = {"inferred": ("nodes",), "partial": "its pods are gone"}
    told = conclude_toy([], context=context)
    assert (told.inferred, told.partial) == (("nodes",), "its pods are gone")
    assert conclude_toy([]).partial is None


def test_a_completed_attempt_has_no_cause() -> None:
    got = conclude_toy([event("GPU_LOST"), event("ECHO")], context={"scheduler_state": "COMPLETED", "exit_code": 0})
    assert (got.terminal_state, got.sub_domain) == (TerminalState.COMPLETED, SubDomain.NONE)
    assert got.causes == () and got.exclude_nodes == ()
    assert all(s.demoted_by is not None for s in got.symptoms)
    assert got.actions == (Action.NONE,)


ENDED = datetime(2026, 5, 4, 3, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("context", "symptoms", "state"),
    [
        ({"scheduler_state": "PREEMPTED"}, [], TerminalState.PREEMPTED),
        ({"scheduler_state": "NODE_FAIL"}, [], TerminalState.NODE_FAILED),
        ({"scheduler_state": "TIMEOUT"}, ["OOM"], TerminalState.TIMED_OUT),
        ({"scheduler_state": "CANCELLED by 1001"}, [], TerminalState.CANCELLED),
        ({"scheduler_state": "CANCELLED by 1001"}, ["BUG"], TerminalState.FAILED),
        ({"scheduler_state": "CANCELLED+"}, ["ECHO"], TerminalState.CANCELLED),
        ({"scheduler_state": "FAILED", "exit_code": 1}, ["OOM"], TerminalState.OUT_OF_MEMORY),
        ({"scheduler_state": "OUT_OF_MEMORY"}, [], TerminalState.OUT_OF_MEMORY),
        ({"scheduler_state": "RUNNING"}, ["ECHO"], TerminalState.RUNNING),
        ({"exit_code": 0}, [], TerminalState.COMPLETED),
        ({"exit_code": 0}, ["DONE"], TerminalState.COMPLETED),
        ({"exit_code": 1}, [], TerminalState.FAILED),
        ({"signal": 9}, [], TerminalState.FAILED),
        ({}, ["BUG"], TerminalState.FAILED),
        ({}, ["DONE"], TerminalState.COMPLETED),
        ({}, ["WARNING"], TerminalState.UNKNOWN),
        ({}, ["TIME_LIMIT"], TerminalState.TIMED_OUT),
        ({"scheduler_state": "SOMETHING_NEW"}, [], TerminalState.UNKNOWN),
        ({}, ["SAMPLED"], TerminalState.RUNNING),
        ({}, ["SAMPLED", "ECHO"], TerminalState.FAILED),
        ({}, ["NOT_CREATED"], TerminalState.LAUNCH_FAILED),
        ({}, ["NOT_CREATED", "BUG"], TerminalState.FAILED),
        ({"exit_code": 1}, ["NOT_CREATED"], TerminalState.FAILED),
        ({}, ["NODE_LOST"], TerminalState.NODE_FAILED),
    ],
)
def test_the_terminal_state_has_a_written_precedence(
    context: dict[str, object], symptoms: list[str], state: TerminalState
) -> None:
    assert conclude_toy([event(name) for name in symptoms], context=context).terminal_state is state


def test_work_that_failed_after_its_end_marker_did_not_complete() -> None:
    got = conclude_toy([event("DONE", stream="log", offset=1), event("BUG", stream="log", offset=2)])
    assert got.terminal_state is TerminalState.COMPLETED
    got = conclude_toy([event("BUG", stream="log", offset=1), event("DONE", stream="log", offset=2)])
    assert got.terminal_state is TerminalState.FAILED


def test_a_job_that_hung_and_was_then_cancelled_failed() -> None:
    hung = event("ECHO", "node-01", 0, source=Source.APPLOG)
    assert conclude_toy([hung, event("CANCELLED", "node-01", 900)]).terminal_state is TerminalState.FAILED
    assert conclude_toy([hung, event("CANCELLED", "node-01", 5)]).terminal_state is TerminalState.CANCELLED
    assert conclude_toy([hung, event("TIME_LIMIT", "node-01", 900)]).terminal_state is TerminalState.TIMED_OUT
    after = event("ECHO", "node-01", 905, source=Source.APPLOG)
    assert conclude_toy([after, event("CANCELLED", "node-01", 900)]).terminal_state is TerminalState.CANCELLED


def test_an_effect_that_is_explained_still_tells_that_the_attempt_ended() -> None:
    explains = relation("R1", ["WARNING"], ["ECHO"])
    assert conclude_toy([event("WARNING", secs=0)], explains).terminal_state is TerminalState.UNKNOWN
    got = conclude_toy([event("WARNING", secs=0), event("ECHO", secs=5)], explains)
    assert (got.terminal_state, got.sub_domain) == (TerminalState.FAILED, SubDomain.HOST_HARDWARE)


def test_a_node_that_never_came_up_was_not_lost_by_a_running_job() -> None:
    events = [event("NO_MACHINE", "node-01", 0), event("NODE_LOST", "node-02", 5)]
    explained = relation("R1", ["NO_MACHINE"], ["NODE_LOST"])
    assert conclude_toy(events, explained).terminal_state is TerminalState.LAUNCH_FAILED
    assert conclude_toy(events).terminal_state is TerminalState.NODE_FAILED


def test_a_cause_that_came_after_the_trouble_is_not_named() -> None:
    late = [event("ECHO", "node-01", 0, source=Source.APPLOG), event("GPU_LOST", "node-02", 569)]
    got = conclude_toy(late, ECHO_RELATION)
    assert (got.sub_domain, got.causes, got.exclude_nodes) == (SubDomain.INSUFFICIENT_EVIDENCE, (), ())
    assert "came provably before every cause" in got.summary
    near = [event("ECHO", "node-01", 0, source=Source.APPLOG), event("GPU_LOST", "node-02", 30)]
    assert conclude_toy(near, ECHO_RELATION).sub_domain is SubDomain.GPU_HARDWARE


def test_the_scheduler_that_saw_a_good_end_outranks_the_logs() -> None:
    for symptom in ("OOM", "TIME_LIMIT"):
        got = conclude_toy([event(symptom)], context={"scheduler_state": "COMPLETED", "exit_code": 0})
        assert (got.terminal_state, got.sub_domain) == (TerminalState.COMPLETED, SubDomain.NONE)


def test_what_jobs_often_survive_is_not_named_for_an_end_that_it_does_not_explain() -> None:
    events = [event("WARNING", "node-01", 0), event("ABORT", "node-02", 5)]
    got = conclude_toy(events)
    assert (got.sub_domain, got.causes) == (SubDomain.INSUFFICIENT_EVIDENCE, ())
    assert "jobs often survive a warning, and it explains nothing of a abort" in got.summary
    explained = conclude_toy(events, relation("R1", ["WARNING"], ["ABORT"]))
    assert explained.sub_domain is SubDomain.HOST_HARDWARE
    assert conclude_toy(events[:1]).sub_domain is SubDomain.HOST_HARDWARE, "alone it is all there is"
    stronger = conclude_toy([*events, event("GPU_LOST", "node-01", 0)])
    assert stronger.sub_domain is SubDomain.AMBIGUOUS, "what ends jobs is named beside it"


def test_what_ends_no_job_is_named_only_where_nothing_of_the_job_was_examined() -> None:
    harmless = event("HARMLESS", "node-01", 0)
    assert conclude_toy([harmless]).sub_domain is SubDomain.HOST_HARDWARE
    of_job = event("DONE", "node-01", 5, source=Source.APPLOG)
    got = conclude_toy([harmless, of_job], context={"scheduler_state": "FAILED"})
    assert (got.sub_domain, got.causes) == (SubDomain.INSUFFICIENT_EVIDENCE, ())
