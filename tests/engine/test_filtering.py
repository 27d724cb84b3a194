"""Filters rewrite the event stream without losing anything: counts stay exact, what is set aside says why."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from attribution.rules.api import Absorb, Annotate, Derive, EventDecision, EventView, FilterStage, SetContext

from tests.engine.toy import conclude_toy, event, event_filter


def test_absorbed_events_count_for_the_one_that_stands() -> None:
    def fold(view: EventView) -> Iterator[EventDecision]:
        first, *rest = view.of("ECHO")
        for before, this in zip([first, *rest], rest, strict=False):
            yield Absorb(this, before, "again")

    got = conclude_toy([event("ECHO", secs=n) for n in range(5)], event_filter("AAA001", fold))
    (symptom,) = got.symptoms
    assert symptom.count == 5
    assert symptom.last_at is not None and symptom.first_at is not None
    assert (symptom.last_at - symptom.first_at).total_seconds() == 4


def test_events_outside_the_window_are_counted_in_coverage() -> None:
    def outside(view: EventView) -> Iterator[EventDecision]:
        yield SetContext(view.of("GPU_LOST")[0], "too old", out_of_window=True)

    got = conclude_toy([event("GPU_LOST")], event_filter("AAA001", outside))
    assert got.causes == () and got.symptoms == ()
    assert sum(line.out_of_window for line in got.coverage) == 1


def test_context_is_listed_and_never_a_root() -> None:
    def harmless(view: EventView) -> Iterator[EventDecision]:
        yield SetContext(view.of("GPU_LOST")[0], "a drill")

    got = conclude_toy([event("GPU_LOST")], event_filter("AAA001", harmless))
    assert got.causes == ()
    assert [(s.symptom, s.role.value) for s in got.symptoms] == [("GPU_LOST", "context")]


def test_a_derived_event_stands_for_its_parts() -> None:
    def burst(view: EventView) -> Iterator[EventDecision]:
        yield Derive("LINK_DOWN", view.of("GPU_LOST"), "a burst", fields={"size": "2"})

    got = conclude_toy(
        [event("GPU_LOST"), event("GPU_LOST", secs=2)], event_filter("AAA001", burst, emits=["LINK_DOWN"])
    )
    assert [(s.symptom, s.count) for s in got.symptoms] == [("LINK_DOWN", 2)]
    assert got.evidence[0].fields["size"] == "2"
    assert got.evidence[0].rule == "AAA001"


def test_main_sees_what_early_left() -> None:
    def note(view: EventView) -> Iterator[EventDecision]:
        yield Annotate(view.events[0], "known", fields={"seen": "yes"}, rank=7)

    def check(view: EventView) -> Iterator[EventDecision]:
        assert view.events[0].get("seen") == "yes"
        yield from ()

    rules = [event_filter("AAA001", note), event_filter("BBB001", check, FilterStage.MAIN)]
    got = conclude_toy([event("BUG")], *rules)
    assert got.causes[0].rank == 7
    assert not [entry for entry in got.trace if entry.outcome == "failed"]


def test_of_two_that_set_an_event_aside_the_first_wins() -> None:
    def context(view: EventView) -> Iterator[EventDecision]:
        yield SetContext(view.of("ECHO")[0], "first")

    def absorb(view: EventView) -> Iterator[EventDecision]:
        yield Absorb(view.of("ECHO")[0], view.of("BUG")[0], "second")

    got = conclude_toy([event("ECHO"), event("BUG")], event_filter("AAA001", context), event_filter("BBB001", absorb))
    assert [e.outcome for e in got.trace if e.rule == "BBB001"] == ["overruled"]
    assert {s.symptom: s.count for s in got.symptoms} == {"ECHO": 1, "BUG": 1}


def test_absorbing_in_a_circle_loses_nothing() -> None:
    def circle(view: EventView) -> Iterator[EventDecision]:
        a, b = view.of("ECHO")
        yield Absorb(a, b, "a into b")
        yield Absorb(b, a, "b into a")

    got = conclude_toy([event("ECHO"), event("ECHO", secs=1)], event_filter("AAA001", circle))
    assert sum(s.count for s in got.symptoms) == 2


@pytest.mark.parametrize("error", [KeyError("gone"), SystemExit(0), GeneratorExit()], ids=repr)
def test_a_filter_that_raises_is_recorded(error: BaseException) -> None:
    def broken(_view: EventView) -> Iterator[EventDecision]:
        raise error

    got = conclude_toy([event("BUG")], event_filter("AAA001", broken))
    assert [c.symptom for c in got.causes] == ["BUG"]
    assert any("AAA001 broke" in u.reason for u in got.untestable)


def test_a_user_can_stop_a_rule() -> None:
    def stopped(_view: EventView) -> Iterator[EventDecision]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conclude_toy([event("BUG")], event_filter("AAA001", stopped))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda bug: "BUG", "answered a str instead of Absorb or SetContext or Derive or Annotate"),
        (lambda bug: SetContext(None, "x"), "answered a SetContext whose `event` is a NoneType"),
        (lambda bug: Annotate(bug, "x", fields={"seen": 1}), "answered a Annotate whose `fields` are not all text"),
        (lambda bug: Derive("LINK_DOWN", (), "x"), "answered a Derive whose `parts` are not events"),
        (lambda bug: Derive("ECHO", (bug,), "x"), "found `ECHO`, which it does not name under `emits`"),
    ],
)
def test_an_answer_that_is_none_costs_the_rules_own_word_only(answer: Callable[[Any], Any], told: str) -> None:
    rule = event_filter("AAA001", lambda view: [answer(view.events[0])], emits=["LINK_DOWN"])
    got = conclude_toy([event("BUG")], rule)
    assert [c.symptom for c in got.causes] == ["BUG"]
    assert [entry.reason for entry in got.trace if entry.outcome == "failed"] == [told]
