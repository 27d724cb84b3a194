"""The answer names no node that the evidence does not speak against, and says what it could not see."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from attribution.contracts.vocabulary import Action, Source
from attribution.events.event import Event
from attribution.events.moment import Basis
from attribution.rules.api import Decision, Demote, JobView, RefineStage

from tests.engine.toy import ECHO_RELATION, conclude_toy, event, refiner


def nodes(count: int) -> dict[str, object]:
    return {"nodes": [{"name": f"node-{n:04}", "ranks": list(range(8 * n, 8 * n + 8))} for n in range(count)]}


@pytest.mark.parametrize(
    ("events", "more", "excluded"),
    [
        ([event("GPU_LOST")], {}, ("node-01",)),
        ([event("BUG")], {}, ()),
        ([event("GPU_LOST", source=Source.APPLOG)], {}, ()),
        ([event("GPU_LOST")], {"guesses": ["node-01"]}, ()),
        ([event("GPU_LOST", node=None)], {}, ()),
        ([event("GPU_LOST", "node-01"), event("GPU_LOST", "node-02")], {}, ()),
        ([event("GPU_LOST", f"node-000{n}") for n in (1, 2)], {"context": nodes(20)}, ("node-0001", "node-0002")),
        ([event("GPU_LOST", "node-99")], {"context": nodes(20)}, ()),
        ([event("GPU_LOST", secs=9000)], {}, ()),
        ([event("GPU_LOST", basis=Basis.LOCAL)], {}, ()),
        ([event("GPU_LOST")], {"context": {"started_at": None, "ended_at": None}}, ()),
        ([replace(event("GPU_LOST"), trusted=False)], {}, ()),
        ([event("GPU_LOST")], {"context": {"scheduler_state": "TIMEOUT"}}, ("node-01",)),
        ([event("TIME_LIMIT"), event("GPU_LOST", secs=60)], {}, ()),
    ],
    ids=["hardware", "a bug is no node's fault", "only the job says so", "the name is a guess", "no node",
         "more than a tenth", "a tenth", "no node of the attempt", "after the attempt", "zone unknown",
         "nothing says when it ran", "under another name",
         "a hang that ran into the time limit", "the time limit itself"],
)  # fmt: skip
def test_exclude_nodes(events: list[Event], more: dict[str, object], excluded: tuple[str, ...]) -> None:
    assert conclude_toy(events, **more).exclude_nodes == excluded


def test_a_held_back_exclusion_says_why() -> None:
    got = conclude_toy([event("GPU_LOST", "node-01"), event("GPU_LOST", "node-02")])
    assert any("looks systemic" in entry.reason for entry in got.trace if entry.rule == "exclude-nodes")


def test_drastic_actions_need_a_sure_cause() -> None:
    sure = conclude_toy([event("GPU_LOST")])
    assert Action.RESET_GPU in sure.actions and Action.RESTART_ELSEWHERE in sure.actions
    unsure = conclude_toy([event("GPU_LOST", "node-01"), event("BUG", "node-02", 1)])
    assert unsure.actions == (Action.COLLECT_MORE,)


def test_what_was_set_aside_is_an_alternative_with_its_reason() -> None:
    from tests.engine.toy import relation

    got = conclude_toy([event("GPU_LOST"), event("BUG", secs=60)], relation("REL009", ["GPU_LOST"], ["BUG"]))
    (alternative,) = got.alternatives
    assert alternative.ruled_out and alternative.because == "a gpu_lost came first"
    assert alternative.evidence_ids == got.causes[0].evidence_ids


def test_what_merely_weighs_less_did_not_follow_from_the_cause() -> None:
    def lighter(job: JobView) -> Iterator[Decision]:
        yield Demote(job.all("BUG")[0], job.all("GPU_LOST")[0], "weighs less")

    events = [event("GPU_LOST", "node-02"), event("ECHO", "node-03", 6), event("BUG", secs=60)]
    got = conclude_toy(events, ECHO_RELATION, refiner("FIN009", lighter, RefineStage.FINAL))
    assert [cause.symptom for cause in got.causes] == ["GPU_LOST"]
    assert "explains 1 other" in got.causes[0].why and "1 finding followed from it" in got.summary


def test_every_id_that_is_cited_is_in_the_evidence() -> None:
    events = [event("GPU_LOST"), event("BUG", "node-02", 1), *(event("ECHO", f"node-{n}", n) for n in range(3, 9))]
    got = conclude_toy(events, ECHO_RELATION)
    known = {item.id for item in got.evidence}
    cited = {i for c in got.causes for i in c.evidence_ids} | {i for s in got.symptoms for i in s.evidence_ids}
    assert cited | {i for a in got.alternatives for i in a.evidence_ids} <= known
    assert got.first_failure is not None and got.first_failure.evidence_id in known


def test_a_diagnosis_of_8192_ranks_stays_small() -> None:
    lines = [
        event("ECHO", f"node-{rank // 8:04}", 5 + rank % 60, rank=rank, source=Source.APPLOG) for rank in range(8192)
    ]
    got = conclude_toy([event("GPU_LOST", "node-0007"), *lines], ECHO_RELATION, context=nodes(1024))
    assert got.exclude_nodes == ("node-0007",)
    assert (got.impact.nodes, got.impact.ranks) == (1024, 8192)
    assert len(got.to_json()) < 5_000_000


def test_broken_extractors_are_untestable() -> None:
    got = conclude_toy([], failures={("TOY001", "ValueError: x"): 3})
    assert [(u.reason, u.source) for u in got.untestable] == [("rule TOY001 broke: ValueError: x", None)]
    assert [(e.outcome, e.count) for e in got.trace if e.rule == "TOY001"] == [("failed", 3)]
