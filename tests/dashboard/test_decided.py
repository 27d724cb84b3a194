"""How it was decided: the questions, the steps, and each step's rules and lines."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from attribution.contracts.diagnosis import Diagnosis, TraceEntry
from attribution.contracts.vocabulary import Role, Source, SubDomain
from attribution.dashboard.views.decision import Branch, decision_tree
from attribution.dashboard.views.steps import Row, Step, steps
from attribution.dashboard.views.tables import SHOWN_ROWS
from attribution.events.event import Event
from attribution.presentation.answer import Answer

from tests.dashboard.conftest import result_of
from tests.dashboard.markup import promises
from tests.engine.toy import conclude_toy, event
from tests.presentation import builders

KEY = "0" * 32


def deciding(diagnosis: Diagnosis) -> tuple[int, Branch]:
    """The number of the question that decides, and what it says. Only one does, and none behind it is asked."""
    branches = decision_tree(Answer(diagnosis))
    (number,) = [n for n, branch in enumerate(branches, 1) if branch.decides]
    assert all(branch.asked and branch.answer for branch in branches[:number])
    assert all(not branch.asked and branch.hint for branch in branches[number:])
    assert all(bool(branch.hint) != bool(branch.decides) for branch in branches)
    return number, branches[number - 1]


def mapped(diagnosis: Diagnosis, reason: str, **changes: Any) -> Diagnosis:
    """The diagnosis with what the trace says of its outcome."""
    entry = TraceEntry(stage="outcome", rule="outcome-mapping", outcome="fired", reason=reason)
    return diagnosis.model_copy(update={"trace": (*diagnosis.trace, entry), **changes})


# --- the questions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "number", "decides"),
    [
        (builders.single, 5, "single: one cause is left"),
        (builders.compound, 5, "compound: all causes that are left are of one kind"),
        (builders.ambiguous, 6, "ambiguous: their clocks prove no order"),
        (builders.metric, 6, "the earliest that ends jobs: it came before the other causes"),
        (builders.none, 1, "nothing is to blame, whatever its logs say"),
        (builders.insufficient, 2, "insufficient evidence: no line of the evidence names a cause"),
        (builders.bare, 2, "insufficient evidence: no line of the evidence names a cause"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_one_question_decides(shape: Callable[[], Diagnosis], number: int, decides: str) -> None:
    found, branch = deciding(shape())
    assert (found, branch.decides) == (number, decides)


@pytest.mark.parametrize(
    ("reason", "number"),
    [
        ("only effects were seen, no cause", 2),
        ("a time-out on node-03 came provably before every cause that is left", 3),
        ("jobs often survive a full disk, and it explains nothing of a time-out", 4),
    ],
)
def test_evidence_is_insufficient_in_three_ways(reason: str, number: int) -> None:
    found, branch = deciding(mapped(builders.insufficient(), reason))
    assert found == number and branch.decides == f"insufficient evidence: {reason}"


@pytest.mark.parametrize(
    ("events", "number", "question"),
    [
        ([event("ECHO", "node-01", 3)], 2, "Is a finding left that can be a cause"),
        ([event("ECHO", source=Source.APPLOG), event("GPU_LOST", "node-02", 569)], 3, "provably before every cause"),
        ([event("WARNING", "node-01"), event("ABORT", "node-02", 5)], 4, "explain how the attempt ended"),
    ],
    ids=["no cause", "trouble before", "survived"],
)
def test_the_words_of_the_engine_are_those_that_the_questions_know(
    events: list[Event], number: int, question: str
) -> None:
    """The contract has no field for which of the three it is: the reason of the trace tells them apart."""
    found = conclude_toy(events)
    assert found.sub_domain is SubDomain.INSUFFICIENT_EVIDENCE
    got, branch = deciding(found)
    assert got == number and question in branch.question


def test_a_training_that_goes_on_blames_nothing() -> None:
    shape = builders.diagnosis(SubDomain.NONE)
    number, branch = deciding(mapped(shape, "its log ends while the training goes on, and shows no failure"))
    assert number == 2 and branch.decides.startswith("nothing is to blame: its log ends")


def test_what_could_be_a_cause_is_counted() -> None:
    aside = builders.aside("XID_48", "node-02", "NVLINK_SIGNAL_INTEGRITY", "the same error", role=Role.CAUSE)
    shape = builders.single()
    branches = decision_tree(Answer(shape.model_copy(update={"symptoms": (*shape.symptoms, aside)})))
    assert branches[1].answer == "yes, 1: 2 findings could be one, 1 set aside"


# --- the steps ----------------------------------------------------------------------------------------------------


def by_name(diagnosis: Diagnosis) -> dict[str, Step]:
    return {step.name: step for step in steps(result_of(diagnosis), KEY)}


def row_of(step: Step, what: str) -> Row:
    return next(row for row in step.rows.rows if row.what.startswith(what))


@pytest.mark.parametrize("shape", builders.SHAPES, ids=lambda shape: shape.__name__)
def test_the_steps_come_in_the_order_of_the_engine_whether_or_not_their_rows_are_made(
    shape: Callable[[], Diagnosis],
) -> None:
    told, brief = steps(result_of(shape()), KEY), steps(result_of(shape()), KEY, most=0)
    assert [step.name for step in told] == ["read", "events", "filters", "findings", "refiners", "outcome", "answer"]
    assert [(s.number, s.title, s.lead) for s in told] == [(s.number, s.title, s.lead) for s in brief]
    assert not any(step.rows for step in brief)


def test_lines_are_counted_and_events_name_their_rule_and_line() -> None:
    told = by_name(builders.single())
    assert told["read"].lead == "29,470 lines and samples of 7 streams were read."
    assert row_of(told["read"], "application log").outcome == "16,840 lines"
    (row,) = told["events"].rows.rows
    assert (row.what, row.rule, row.outcome) == ("NVLink signal integrity", "NVL001", "3 times")
    assert [(line.href, line.place) for line in row.lines] == [
        (f"/attempts/{KEY}/evidence/e1", "syslog/node-02.log:812")
    ]


def test_each_finding_says_whether_it_contributed_and_if_not_why() -> None:
    rows = by_name(builders.single())["findings"].rows.rows
    assert [row.contributes for row in rows] == sorted((row.contributes for row in rows), reverse=True)
    cause = row_of(by_name(builders.single())["findings"], "NVLink signal integrity")
    assert (cause.outcome, cause.contributes, cause.where) == ("yes: a root cause", True, "node-02")
    echo = row_of(by_name(builders.single())["findings"], "NCCL error")
    assert (echo.outcome, echo.rule, echo.why) == (
        "no: effect, set aside",
        "COL101",
        "the peer on node-02 was lost first",
    )
    assert row_of(by_name(builders.single())["findings"], "NVLink bit errors").outcome == "no: it informs"
    effect = row_of(by_name(builders.insufficient())["findings"], "Process killed")
    assert (effect.contributes, effect.outcome) == (True, "yes: an effect that stands")
    unnamed = row_of(by_name(builders.none())["findings"], "Xid 92")
    assert (unnamed.contributes, unnamed.outcome) == (False, "no: not named")


def test_what_was_set_aside_names_the_rule_with_its_line_and_that_of_the_cause() -> None:
    shape = builders.single()
    echo = next(s for s in shape.symptoms if s.node == "node-03").model_copy(update={"evidence_ids": ("e7",)})
    diagnosis = shape.model_copy(
        update={
            "symptoms": (shape.symptoms[0], echo),
            "evidence": (*shape.evidence, builders.line("e7", "NCCL error", 41, node="node-03", line=9)),
        }
    )
    told = by_name(diagnosis)
    (row,) = told["refiners"].rows.rows
    assert (row.outcome, row.rule, row.symptom) == ("set aside", "COL101", "NCCL_ERROR")
    assert row.where == "node-01, node-03, node-04, node-05 and 4 more"
    assert [line.href.rpartition("/")[2] for line in row.lines] == ["e7", "e1"]
    assert told["filters"].idle == ("1 rule had nothing to look at.",)


def test_what_lost_against_another_rule_and_what_broke_is_told() -> None:
    entries = (
        TraceEntry(
            stage="final", rule="FIN001", outcome="overruled", decision="demote", symptom="XID_48", reason="why"
        ),
        TraceEntry(stage="job", rule="NET004", outcome="failed", reason="ZeroDivisionError"),
        TraceEntry(stage="job", rule="NET005", outcome="abstained"),
        TraceEntry(stage="extract", rule="NET006", outcome="failed", reason="took too long", count=2),
    )
    told = by_name(builders.single().model_copy(update={"trace": entries}))
    assert [(row.rule, row.outcome) for row in told["refiners"].rows.rows] == [
        ("FIN001", "overruled: set aside"),
        ("NET004", "the rule broke"),
    ]
    assert told["refiners"].idle == ("NET005 looked and changed nothing.",)
    assert ("NET006", "the rule broke") in [(row.rule, row.outcome) for row in told["events"].rows.rows]


def test_what_held_an_exclusion_back_stands_in_the_answer() -> None:
    rows = by_name(builders.compound())["answer"].rows.rows
    assert ("Nodes to exclude", "none", "8 nodes carry the cause, more than 1: this looks systemic") in [
        (row.what, row.outcome, row.why) for row in rows
    ]
    assert row_of(by_name(builders.single())["answer"], "Nodes to exclude").where == "node-02"


# --- the page -----------------------------------------------------------------------------------------------------


def address_of(pages: httpx.Client, workload: str) -> str:
    """Where the attempt of a workload is shown."""
    found = pages.get(f"/attempts.json?q={workload}").json()["attempts"]
    return next(str(item["href"]) for item in found if item["workload_id"] == workload)


def test_the_page_shows_all_steps_or_the_one_that_is_asked_for(pages: httpx.Client) -> None:
    address = address_of(pages, "job-single") + "/decided"
    whole = promises(pages.get(address).text)
    assert len(whole.all("section", class_="step")) == 7
    third = promises(pages.get(f"{address}?step=3").text)
    assert [item.text for item in third.all("h2")] == ["3. What each filter changed"]
    around = third.one("nav", **{"aria-label": "Steps before and behind"})
    assert [(a.attributes["rel"], a.attributes["href"]) for a in around.all("a")] == [
        ("prev", f"{address}?step=2"),
        ("next", f"{address}?step=4"),
    ]
    assert third.one("a", **{"aria-current": "step"}).text == "3. What each filter changed"
    rules = {a.attributes["href"] for a in whole.all("a") if a.attributes["href"].startswith("/rules/")}
    assert "/rules/COL101" in rules


def test_the_json_twin_has_the_same_steps(pages: httpx.Client) -> None:
    address = address_of(pages, "job-single") + "/decided.json"
    told = pages.get(address).json()
    assert [step["name"] for step in told["steps"]][-1] == "answer"
    (step,) = pages.get(f"{address}?step=6").json()["steps"]
    assert [branch["decides"] for branch in step["branches"] if branch["decides"]] == ["single: one cause is left"]


def test_a_cause_is_named_with_its_rule_and_its_line() -> None:
    (row,) = by_name(builders.single())["outcome"].rows.rows
    assert (row.what, row.outcome, row.rule) == (
        "NVLink signal integrity (Xid 149, sub-code 4)",
        "named: the only one",
        "NVL001",
    )
    assert row.where == "node-02 · GPU 0000:1b:00 · link 8" and [line.place for line in row.lines] == [
        "syslog/node-02.log:812"
    ]
    rows = by_name(builders.metric())["outcome"].rows.rows
    assert [row.outcome for row in rows] == ["named: the only one", "listed: one of several kinds"]


def test_a_page_bounds_its_rows_and_the_json_does_not() -> None:
    entries = tuple(
        TraceEntry(stage="job", rule=f"NET{n:03}", outcome="fired", decision="demote", symptom="XID_48", reason=f"{n}")
        for n in range(SHOWN_ROWS + 5)
    )
    result = result_of(builders.single().model_copy(update={"trace": entries}))
    shown, whole = (next(s for s in steps(result, KEY, most) if s.name == "refiners") for most in (SHOWN_ROWS, 10**9))
    assert (len(shown.rows.rows), shown.rows.more) == (SHOWN_ROWS, 5)
    assert (len(whole.rows.rows), whole.rows.more) == (SHOWN_ROWS + 5, 0)


@pytest.mark.parametrize("query", ["step=0", "step=8", "step=x", "step=1&step=2", "stepp=1", "step=" + "9" * 500])
def test_a_step_that_is_none_is_told(pages: httpx.Client, query: str) -> None:
    address = address_of(pages, "job-single") + "/decided"
    answer = pages.get(f"{address}?{query}")
    assert answer.status_code == 400 and "step" in promises(answer.text).one("main").text


@pytest.mark.parametrize("shape", builders.SHAPES, ids=lambda shape: shape.__name__)
def test_every_shape_is_told(pages: httpx.Client, shape: Callable[[], Diagnosis]) -> None:
    workload = f"job-{shape.__name__}" if shape is not builders.hostile else shape().workload_id
    found = pages.get("/attempts.json").json()["attempts"]
    address = next(item["href"] for item in found if item["workload_id"] == workload)
    promises(pages.get(f"{address}/decided").text)
    promises(pages.get(address).text)


def test_one_of_several_causes_is_no_sure_one() -> None:
    shape = builders.ambiguous()
    seen = tuple(
        builders.symptom(item.symptom, item.node, role=Role.CAUSE, device=item.device) for item in shape.causes
    )
    rows = by_name(shape.model_copy(update={"symptoms": seen}))["findings"].rows.rows
    assert [row.outcome for row in rows] == ["may be: one of 2 that fit"] * 2
