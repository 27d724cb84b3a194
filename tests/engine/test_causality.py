"""Relations explain symptoms within their scope and order; a root is a cause that no other cause reaches."""

from dataclasses import replace

import pytest

from attribution.events.moment import SECOND, Basis

from tests.engine.toy import conclude_toy, event, relation


def demoted(diagnosis) -> dict[tuple[str, str | None], str]:  # type: ignore[no-untyped-def]
    return {(s.symptom, s.node): s.demoted_by.symptom for s in diagnosis.symptoms if s.demoted_by}


@pytest.mark.parametrize(
    ("scope", "cause", "effect", "explained"),
    [
        ("job", event("GPU_LOST", "node-01"), event("ECHO", "node-02", 5), True),
        ("same_node", event("GPU_LOST", "node-01"), event("ECHO", "node-01", 5), True),
        ("same_node", event("GPU_LOST", "node-01"), event("ECHO", "node-02", 5), False),
        ("same_node", event("GPU_LOST", "node-01"), event("ECHO", None, 5), True),
        ("same_node", event("GPU_LOST", None), event("ECHO", "node-01", 5), False),
        ("same_gpu", event("GPU_LOST", pci="0000:1b:00"), event("ECHO", secs=5, pci="0000:1B:00.0"), True),
        ("same_gpu", event("GPU_LOST", pci="0000:1b:00"), event("ECHO", secs=5, pci="0000:52:00"), False),
        ("same_gpu", event("GPU_LOST"), event("ECHO", secs=5), False),
        ("same_nvlink_domain", event("GPU_LOST", "node-01"), event("ECHO", "node-02", 5), True),
        ("same_nvlink_domain", event("GPU_LOST", "node-01"), event("ECHO", "node-03", 5), False),
        ("same_communicator", event("BUG", communicator="0x1"), event("ECHO", "node-02", 5, communicator="0x1"), True),
        ("same_communicator", event("BUG", communicator="0x1"), event("ECHO", "node-02", 5, communicator="0x2"), False),
    ],
)  # fmt: skip
def test_a_relation_holds_within_its_scope(scope: str, cause: object, effect: object, explained: bool) -> None:
    nodes = [{"name": f"node-0{n}", "nvlink_domain": "rack-1" if n < 3 else "rack-2"} for n in (1, 2, 3)]
    got = conclude_toy([cause, effect], relation("REL001", ["tag:fault"], ["ECHO"], scope), context={"nodes": nodes})
    assert bool(demoted(got)) is explained


@pytest.mark.parametrize(
    ("order", "secs", "explained"),
    [
        ("not_later", 60.0, True),
        ("not_later", 1.0, True),
        ("not_later", -1.0, True),
        ("not_later", -60.0, False),
        ("earlier", 60.0, True),
        ("earlier", 1.0, False),
        ("any", -60.0, True),
    ],
)
def test_order_counts_only_where_clocks_prove_it(order: str, secs: float, explained: bool) -> None:
    events = [event("GPU_LOST", "node-01", 100), event("ECHO", "node-02", 100 + secs)]
    assert bool(demoted(conclude_toy(events, relation("REL001", ["GPU_LOST"], ["ECHO"], "job", order)))) is explained


def test_a_distance_is_checked_only_where_both_times_are_known() -> None:
    near = relation("REL001", ["GPU_LOST"], ["ECHO"], within=60)
    assert demoted(conclude_toy([event("GPU_LOST"), event("ECHO", secs=50)], near))
    assert not demoted(conclude_toy([event("GPU_LOST"), event("ECHO", secs=90)], near))
    assert demoted(conclude_toy([event("GPU_LOST"), event("ECHO", secs=None)], near))
    lasting = [event("GPU_LOST"), event("GPU_LOST", secs=80), event("ECHO", secs=90)]
    assert demoted(conclude_toy(lasting, near)), "a cause that goes on explains what comes soon after its last sight"
    echo = event("ECHO", "node-02", secs=-3600)
    assert echo.moment is not None
    wide = replace(echo, moment=replace(echo.moment, width_us=4000 * SECOND))
    job = relation("REL001", ["GPU_LOST"], ["ECHO"], within=60)
    assert demoted(conclude_toy([event("GPU_LOST"), wide], job)), "it was some time between an hour before and now"
    assert not demoted(conclude_toy([event("GPU_LOST", secs=600), wide], job)), "whenever it was, it was long before"


def test_a_chain_leads_to_its_first_cause() -> None:
    rules = [relation("REL001", ["GPU_LOST"], ["ECHO"]), relation("REL002", ["ECHO"], ["BUG"])]
    got = conclude_toy([event("GPU_LOST"), event("ECHO", secs=5), event("BUG", secs=9)], *rules)
    assert [c.symptom for c in got.causes] == ["GPU_LOST"]
    assert demoted(got) == {("ECHO", "node-01"): "GPU_LOST", ("BUG", "node-01"): "ECHO"}
    assert "2 findings followed" in got.summary


def test_causes_that_explain_each_other_stay_and_the_trace_says_so() -> None:
    rules = [relation("REL001", ["GPU_LOST"], ["LINK_DOWN"]), relation("REL002", ["LINK_DOWN"], ["GPU_LOST"])]
    got = conclude_toy([event("GPU_LOST", secs=0), event("LINK_DOWN", "node-02", 0)], *rules)
    assert {c.symptom for c in got.causes} == {"GPU_LOST", "LINK_DOWN"}
    assert any("circle" in entry.reason for entry in got.trace)


def test_a_proven_order_breaks_the_circle() -> None:
    rules = [relation("REL001", ["GPU_LOST"], ["LINK_DOWN"]), relation("REL002", ["LINK_DOWN"], ["GPU_LOST"])]
    got = conclude_toy([event("GPU_LOST", secs=0), event("LINK_DOWN", "node-02", 60)], *rules)
    assert [c.symptom for c in got.causes] == ["GPU_LOST"]


def test_an_effect_explains_other_effects_but_is_never_a_root() -> None:
    got = conclude_toy([event("ECHO"), event("ABORT", secs=5)], relation("REL001", ["ECHO"], ["ABORT"]))
    assert demoted(got) == {("ABORT", "node-01"): "ECHO"}
    assert got.causes == ()


def test_position_orders_one_stream_without_clocks() -> None:
    rule = relation("REL001", ["BUG"], ["ECHO"], order="earlier")
    first = [event("BUG", secs=None, stream="log", offset=1), event("ECHO", secs=None, stream="log", offset=2)]
    last = [event("BUG", secs=None, stream="log", offset=2), event("ECHO", secs=None, stream="log", offset=1)]
    assert demoted(conclude_toy(first, rule)) and not demoted(conclude_toy(last, rule))


def test_one_clock_orders_to_its_resolution() -> None:
    rule = relation("REL001", ["BUG"], ["ECHO"], order="earlier")
    events = [event("BUG", secs=0, basis=Basis.BOOT), event("ECHO", secs=0.01, basis=Basis.BOOT)]
    assert demoted(conclude_toy(events, rule)), "seconds since boot are one clock on one node"
    apart = [event("BUG", "node-01", 0, basis=Basis.BOOT), event("ECHO", "node-02", 50, basis=Basis.BOOT)]
    assert not demoted(conclude_toy(apart, rule)), "and no clock at all between nodes"
