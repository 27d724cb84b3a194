"""Refiners decide over one snapshot; the higher priority wins, keep beats demote, losers stand in the trace."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import SubDomain
from attribution.rules.api import Attribute, Decision, Demote, JobView, Keep, Note, RefineStage

from tests.engine.toy import conclude_toy, event, refiner


def demote_bug(job: JobView) -> Iterator[Decision]:
    for symptom in job.all("BUG"):
        yield Demote(symptom, None, "not it")


def keep_bug(job: JobView) -> Iterator[Decision]:
    for symptom in job.all("BUG"):
        yield Keep(symptom, "it is")


def outcomes(diagnosis, rule: str) -> list[str]:  # type: ignore[no-untyped-def]
    return [entry.outcome for entry in diagnosis.trace if entry.rule == rule]


def test_keep_beats_demote_and_the_loser_is_in_the_trace() -> None:
    got = conclude_toy([event("BUG")], refiner("AAA001", demote_bug), refiner("BBB001", keep_bug))
    assert [c.symptom for c in got.causes] == ["BUG"]
    assert outcomes(got, "AAA001") == ["overruled"] and outcomes(got, "BBB001") == ["fired"]


def test_a_higher_priority_beats_keep() -> None:
    got = conclude_toy([event("BUG")], refiner("AAA001", demote_bug, priority=5), refiner("BBB001", keep_bug))
    assert got.causes == ()
    assert outcomes(got, "BBB001") == ["overruled"]


def test_all_rules_of_a_stage_see_the_same_snapshot() -> None:
    seen: list[int] = []

    def look(job: JobView) -> Iterator[Decision]:
        seen.append(len(job.symptoms))
        yield from ()

    conclude_toy([event("BUG")], refiner("AAA001", demote_bug), refiner("BBB001", look))
    conclude_toy([event("BUG")], refiner("AAA001", demote_bug), refiner("BBB001", look, RefineStage.FINAL))
    assert seen == [1, 0]


def test_stages_run_in_order() -> None:
    order: list[str] = []

    def named(name: str):  # type: ignore[no-untyped-def]
        def run(_job: JobView) -> Iterator[Decision]:
            order.append(name)
            yield from ()

        return run

    rules = [refiner(f"AAA00{stage.value}", named(stage.name), stage) for stage in reversed(RefineStage)]
    conclude_toy([event("BUG")], *rules)
    assert order == ["NODE", "JOB", "FINAL", "POST_OUTCOME"]


def test_a_rule_whose_needs_are_absent_is_not_called() -> None:
    def never(_job: JobView) -> Iterator[Decision]:
        raise AssertionError("called")

    got = conclude_toy([event("BUG")], refiner("AAA001", never, needs=["GPU_LOST"]))
    assert outcomes(got, "AAA001") == ["not_applicable"]


def test_a_rule_that_raises_costs_its_own_word_only() -> None:
    def broken(_job: JobView) -> Iterator[Decision]:
        raise ValueError("no such field")

    got = conclude_toy([event("BUG")], refiner("AAA001", broken), refiner("BBB001", demote_bug))
    assert got.causes == ()
    assert outcomes(got, "AAA001") == ["failed"]
    assert [u.reason for u in got.untestable if u.source is None] == ["rule AAA001 broke: ValueError: no such field"]


def test_an_attribution_moves_the_cause() -> None:
    def move(job: JobView) -> Iterator[Decision]:
        for symptom in job.all("BUG"):
            yield Attribute(symptom, "its library did it", sub_domain=SubDomain.FRAMEWORK)

    got = conclude_toy([event("BUG")], refiner("AAA001", move))
    assert got.sub_domain is SubDomain.FRAMEWORK
    assert got.causes[0].sub_domain is SubDomain.FRAMEWORK


def test_a_demotion_after_the_outcome_changes_it() -> None:
    def second_thought(job: JobView) -> Iterator[Decision]:
        assert job.outcome is SubDomain.USER_CODE
        yield Demote(job.all("BUG")[0], None, "on second thought")

    got = conclude_toy([event("BUG")], refiner("AAA001", second_thought, RefineStage.POST_OUTCOME))
    assert got.sub_domain is SubDomain.INSUFFICIENT_EVIDENCE


def test_notes_reach_the_trace() -> None:
    def remark(job: JobView) -> Iterator[Decision]:
        yield Note(None, "rank 3 lags")

    got = conclude_toy([event("BUG")], refiner("AAA001", remark))
    assert ("note", "rank 3 lags") in [(entry.decision, entry.reason) for entry in got.trace]


def test_two_that_set_each_other_aside_leave_the_earlier_standing() -> None:
    def bug_by_gpu(job: JobView) -> Iterator[Decision]:
        yield Demote(job.all("BUG")[0], job.all("GPU_LOST")[0], "the GPU came first")

    def gpu_by_bug(job: JobView) -> Iterator[Decision]:
        yield Demote(job.all("GPU_LOST")[0], job.all("BUG")[0], "the bug came first")

    events = [event("BUG", secs=5), event("GPU_LOST", "node-02", 9)]
    got = conclude_toy(events, refiner("AAA001", bug_by_gpu), refiner("BBB001", gpu_by_bug))
    assert [c.symptom for c in got.causes] == ["BUG"]
    assert "overruled" in outcomes(got, "AAA001")
