"""The timeline shows each node once, the cause first, and never a doubtful time as a point."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.contracts.context import Node
from attribution.contracts.diagnosis import Diagnosis, Evidence, FirstFailure, Symptom
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Role, SubDomain, SymptomStatus
from attribution.dashboard import rendering
from attribution.dashboard.views.diagnosis import diagnosis_view
from attribution.dashboard.views.scale import MOST_TICKS, Scale
from attribution.dashboard.views.sightings import Kind
from attribution.dashboard.views.timeline import OWN_LANES, SHOWN_LANES, Mark, Timeline, timeline

from tests.dashboard.conftest import result_of
from tests.dashboard.markup import Element, promises
from tests.presentation import builders
from tests.presentation.builders import START, at

KEY = "0" * 32


def of(diagnosis: Diagnosis, **context: Any) -> Timeline:
    """The timeline of a diagnosis; a mark leads to `/` and the id of its line."""
    found = timeline(result_of(diagnosis, **context), lambda item: f"/{item}")
    assert found is not None
    return found


def marks(found: Timeline) -> list[Mark]:
    """All marks, in the order of the lanes."""
    return [mark for lane in found.lanes for mark in lane.marks]


def seen(
    name: str, node: str, secs: float, role: Role = Role.EFFECT, **doubt: Any
) -> tuple[Symptom, tuple[Evidence, ...]]:
    """A finding with its line."""
    line = builders.line(f"{name}-{node}", name, secs, node=node, **doubt)
    known = line.at_uncertainty_secs is None or line.at_uncertainty_secs < 43_200
    first = line.at if known else None
    return builders.symptom(name, node, role, evidence_ids=(line.id,), first_at=first), (line,)


def holding(*found: tuple[Symptom, tuple[Evidence, ...]]) -> Diagnosis:
    """A diagnosis that names no cause and has these findings."""
    symptoms = tuple(symptom for symptom, _ in found)
    lines = tuple(line for _, lines in found for line in lines)
    return builders.diagnosis(SubDomain.INSUFFICIENT_EVIDENCE, symptoms=symptoms, evidence=lines)


def crowd(nodes: int) -> AttributionBlueprintResult:
    """A cause on one node, its echo on many, and a second kind of echo on some of them."""
    cause, lines = seen("NVLINK_SIGNAL_INTEGRITY", "node-0007", 0, Role.CAUSE)
    symptoms, evidence = [cause.model_copy(update={"device": builders.LINK})], list(lines)
    for number in range(nodes):
        kinds = ["NCCL_WATCHDOG_TIMEOUT"] + (["NCCL_ERROR"] if number % 5 == 0 else [])
        for kind in kinds:
            echo, line = seen(kind, f"node-{number:04}", 600 + number / 100)
            symptoms.append(
                builders.aside(
                    kind,
                    f"node-{number:04}",
                    cause.symptom,
                    "an echo",
                    evidence_ids=echo.evidence_ids,
                    first_at=echo.first_at,
                )
            )
            evidence += line
    single = builders.single()
    named = single.causes[0].model_copy(update={"node": "node-0007"})
    diagnosis = single.model_copy(
        update={"causes": (named,), "symptoms": tuple(symptoms), "evidence": tuple(evidence), "first_failure": None}
    )
    return result_of(diagnosis, nodes=tuple(Node(name=f"node-{n:04}") for n in range(nodes + 3)))


# --- lanes --------------------------------------------------------------------------------------------------------


def test_the_node_with_the_cause_comes_first_and_its_mark_leads_to_the_decisive_line() -> None:
    found = of(builders.single())
    assert found.lanes[0].name == "node-02"
    cause = next(mark for mark in found.lanes[0].marks if mark.kind is Kind.CAUSE)
    assert cause.first and cause.exact and cause.href == "/e1"
    assert cause.title.startswith(
        "NVLink signal integrity (GPU 0000:1b:00 · link 8) ×3 on node-02; cause; first failure; "
    )
    aside = [mark for mark in marks(found) if mark.kind is Kind.FOLLOWED]
    assert len(aside) == 9 and all("(COL101)" in mark.title or "(XID101)" in mark.title for mark in aside)


def test_the_node_of_the_first_failure_comes_before_the_others() -> None:
    found = of(
        builders.insufficient().model_copy(
            update={
                "symptoms": (
                    builders.symptom("NCCL_ERROR", "node-01", first_at=at(1)),
                    builders.symptom("NCCL_WATCHDOG_TIMEOUT", "node-05", evidence_ids=("e1",), first_at=at(5)),
                )
            }
        )
    )
    assert [lane.name for lane in found.lanes] == ["node-05", "node-01"]
    assert [mark.first for mark in marks(found)] == [True, False]


def test_a_first_failure_that_no_finding_tells_has_a_mark_of_its_own() -> None:
    shape = builders.insufficient().model_copy(update={"symptoms": ()})
    (mark,) = marks(of(shape))
    assert mark.first and mark.title.startswith("NCCL watchdog timeout on node-05; impact; first failure")


def test_of_causes_whose_order_is_not_proven_none_is_the_first() -> None:
    shape = builders.ambiguous()
    assert any(mark.first for mark in marks(of(shape)))
    unknown = FirstFailure(symptom="XID_48", node="node-02", at=None, evidence_id="e1")
    assert not any(mark.first for mark in marks(of(shape.model_copy(update={"first_failure": unknown}))))


def test_where_no_cause_is_known_the_first_of_several_nodes_is_told_only_if_clocks_prove_it() -> None:
    both = tuple(builders.symptom("NCCL_WATCHDOG_TIMEOUT", f"node-0{n}", evidence_ids=(f"e{n}",)) for n in (1, 5))
    for symptoms, when, is_told in ((both, None, False), (both, builders.START, True), (both[:1], None, True)):
        first = FirstFailure(symptom="NCCL_WATCHDOG_TIMEOUT", node="node-01", at=when, evidence_id="e1")
        shape = builders.insufficient().model_copy(update={"symptoms": symptoms, "first_failure": first})
        assert any(mark.first for mark in marks(of(shape))) is is_told


def test_causes_that_no_finding_tells_are_drawn_and_a_completed_attempt_has_no_first_failure() -> None:
    found = of(builders.compound())
    assert [lane.name for lane in found.lanes] == [f"node-{n:02}" for n in range(2, 10)]
    assert [mark.first for mark in marks(found)] == [True, *[False] * 7]
    assert {mark.kind for mark in marks(found)} == {Kind.CAUSE}
    assert not of(builders.none()).flagged


def test_thousands_of_nodes_that_show_the_same_share_a_lane() -> None:
    found = timeline(crowd(1024), lambda item: item)
    assert found is not None
    own, echo, both = found.lanes
    assert own.name == "node-0007"
    assert echo.label == "node-0001, node-0002 and 816 more"
    assert echo.note == "818 nodes with the same: NCCL watchdog timeout"
    assert both.note == "205 nodes with the same: NCCL watchdog timeout and NCCL error"
    assert [mark.kind for mark in echo.marks] == [Kind.FOLLOWED]
    assert (
        "on 818 nodes; impact, set aside; from 2026-05-04 03:16:58.122Z to 2026-05-04 03:17:08.342Z"
        in echo.marks[0].title
    )
    assert found.left_out == "3 nodes of the attempt show no failure."


def test_up_to_a_dozen_nodes_have_a_lane_each() -> None:
    found = timeline(crowd(OWN_LANES), lambda item: item)
    assert found is not None and sorted(lane.name for lane in found.lanes) == [f"node-{n:04}" for n in range(OWN_LANES)]


def test_mixtures_without_room_are_counted() -> None:
    kinds = [seen(f"KIND_{number}", f"node-{number:03}", number) for number in range(SHOWN_LANES + 30)]
    found = of(holding(*kinds))
    assert len(found.lanes) == SHOWN_LANES
    assert found.left_out == "Not drawn: 30 nodes that show one of 30 other mixtures of findings."


def test_marks_of_one_moment_lie_in_rows_and_what_finds_no_room_is_counted() -> None:
    found = of(holding(*(seen(f"KIND_{number}", "node-01", 0) for number in range(9)), seen("LATE", "node-01", 60)))
    (lane,) = found.lanes
    assert sorted(mark.row for mark in lane.marks if mark.x < 50) == [0, 1, 2, 3]
    assert lane.hidden == 5 and len(found.table.rows) == 10
    assert lane.height == lane.rows * 15 + 10


# --- doubt --------------------------------------------------------------------------------------------------------


def test_a_clock_within_some_seconds_is_a_span_and_an_exact_one_a_point() -> None:
    doubtful = seen("A", "node-01", 0, at_uncertainty_secs=30.0)
    first, second = marks(of(holding(doubtful, seen("B", "node-02", 100))))
    assert not first.exact and first.high is not None and first.low < first.x < first.high
    assert second.exact
    found = of(holding(doubtful, seen("B", "node-02", 100)))
    assert found.unproven and not found.open_ended


def test_a_time_that_is_only_a_lower_bound_is_open() -> None:
    open_ended, _ = marks(of(holding(seen("A", "node-01", 0, at_uncertainty_secs=None), seen("B", "node-02", 60))))
    assert open_ended.high is None and not open_ended.exact and "at or after" in open_ended.title


def test_a_clock_of_unknown_zone_proves_nothing() -> None:
    local, _ = marks(of(holding(seen("A", "node-01", 5, at_uncertainty_secs=50_400.0), seen("B", "node-02", 60))))
    assert (local.low, local.high, local.exact) == (0.0, 100.0, False)
    assert "zone unknown" in local.title


def test_a_cause_without_any_time_lies_anywhere_and_other_findings_are_counted() -> None:
    found = of(builders.ambiguous().model_copy(update={"symptoms": _both_of_ambiguous()}))
    untimed = next(mark for mark in marks(found) if mark.title.startswith("Python exception"))
    assert untimed.kind is Kind.FITS and (untimed.low, untimed.high, untimed.exact) == (0.0, 100.0, False)
    assert next(lane for lane in found.lanes if lane.name == "node-07").note == "1 finding without a time"


def _both_of_ambiguous() -> tuple[Symptom, ...]:
    gpu = builders.ambiguous().causes[0].device
    return (
        builders.symptom("XID_48", "node-02", Role.CAUSE, device=gpu, evidence_ids=("e1",), first_at=START),
        builders.symptom("PYTHON_EXCEPTION", "node-07", Role.CAUSE, evidence_ids=("e2",), first_at=None),
    )


def test_nothing_timed_has_no_timeline() -> None:
    assert timeline(result_of(builders.bare()), lambda item: item) is None


@pytest.mark.parametrize("doubt", [0.0, 0.5, 5.0, 60.0, 43_200.0, None])
@given(st.lists(st.floats(-1e5, 1e5, allow_nan=False), min_size=1, max_size=12))
def test_a_mark_is_exact_only_where_its_clock_is(doubt: float | None, secs: list[float]) -> None:
    found = of(holding(*(seen(f"K{n}", f"node-{n % 3}", s, at_uncertainty_secs=doubt) for n, s in enumerate(secs))))
    for mark in marks(found):
        assert 0 <= mark.low <= 100 and 0 <= mark.x <= 100
        if doubt is None or doubt >= 43_200:
            assert not mark.exact
        assert mark.high is None or mark.low <= mark.x <= mark.high or mark.beyond


# --- the stretch of time ------------------------------------------------------------------------------------------


def test_the_attempt_ends_in_the_drawing_or_it_is_told() -> None:
    shape = holding(seen("A", "node-01", 0), seen("B", "node-02", 100))
    found = of(shape, started_at=at(-7200), ended_at=at(120))
    assert [bound.word for bound in found.bounds] == ["ended"]
    assert found.outside == (f"The attempt began {words_of(-7200)}, 119 min 55 s before what is drawn.",)


def words_of(secs: float) -> str:
    return f"{at(secs):%Y-%m-%d %H:%M:%S}.112Z"


def test_what_informs_of_yesterday_does_not_squeeze_what_failed() -> None:
    old = seen("OLD", "node-01", -86_400, Role.CONTEXT)
    found = of(holding(old, seen("A", "node-01", 0), seen("B", "node-01", 10)))
    assert found.scale.end - found.scale.start < timedelta(minutes=1)
    assert found.lanes[0].hidden == 1 and any(row.what == "Old" for row in found.table.rows)


@given(st.integers(1, 10**10), st.integers(0, 10**12))
def test_ticks_are_few_and_within(micros: int, since: int) -> None:
    start = START + timedelta(microseconds=since)
    scale = Scale(start, start + timedelta(microseconds=micros))
    assert len(scale.ticks) <= MOST_TICKS
    assert all(0 <= tick.x <= 100 for tick in scale.ticks)
    assert [tick.x for tick in scale.ticks] == sorted({tick.x for tick in scale.ticks})


@pytest.mark.parametrize(
    ("span", "labels"),
    [
        (timedelta(minutes=14), ["03:10", "03:15", "03:20"]),
        (timedelta(seconds=5), ["03:06:59", "03:07:00", "03:07:01", "03:07:02", "03:07:03"]),
        (timedelta(milliseconds=40), ["03:06:58.120", "03:06:58.130", "03:06:58.140", "03:06:58.150"]),
        (timedelta(days=2), ["05-04 12:00", "05-05 00:00", "05-05 12:00", "05-06 00:00"]),
        (timedelta(days=5), ["2026-05-05", "2026-05-06", "2026-05-07", "2026-05-08", "2026-05-09"]),
    ],
)
def test_ticks_stand_at_round_moments(span: timedelta, labels: Sequence[str]) -> None:
    assert [tick.label for tick in Scale(START, START + span).ticks] == labels


# --- as a page ----------------------------------------------------------------------------------------------------


def page_of(result: AttributionBlueprintResult) -> Element:
    """The page, after checking what holds for every page."""
    return promises(rendering.page("diagnosis.html", view=diagnosis_view(result, KEY)))


@pytest.mark.parametrize("shape", builders.SHAPES, ids=lambda shape: shape.__name__)
def test_every_mark_has_a_name_and_stands_in_the_table(shape: Callable[[], Diagnosis]) -> None:
    page = page_of(result_of(shape()))
    if not page.all("figure", class_="timeline"):
        return
    figure = page.one("figure", class_="timeline")
    drawn = [
        item for lane in figure.all("svg", role="group") for item in lane.walk() if "aria-labelledby" in item.attributes
    ]
    assert drawn and all(item.text for item in drawn if item.tag in {"a", "g"})
    for item in figure.all("a", class_="mark"):
        assert item.attributes["href"].startswith(f"/attempts/{KEY}/evidence/")
    twin = next(item for item in page.all("details") if item.one("summary").text.startswith("The timeline"))
    assert twin.one("tbody").all("tr")


def test_the_page_of_a_thousand_nodes_is_small() -> None:
    html = rendering.page("diagnosis.html", view=diagnosis_view(crowd(1024), KEY))
    promises(html)
    assert len(html.encode()) < 200_000


def test_hostile_names_bound_the_drawing() -> None:
    evil = "<svg onload=x>\u202e\x1b[2J" * 40_000
    symptoms = tuple(
        builders.symptom(evil + str(n), evil + str(n), status=SymptomStatus.ACTIVE, first_at=at(n)) for n in range(5)
    )
    shape = builders.insufficient().model_copy(update={"symptoms": symptoms, "evidence": (), "first_failure": None})
    html = rendering.page("diagnosis.html", view=diagnosis_view(result_of(shape), KEY))
    page = promises(html)
    assert len(html) < 400_000
    assert not [item for item in page.walk() if "onload" in item.attributes]
