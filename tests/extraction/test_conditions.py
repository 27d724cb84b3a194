"""Conditions hold where the samples show it, and nowhere else."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.events.event import Sample
from attribution.extraction.closest import Near, closest, distance
from attribution.extraction.conditions import Above, Below, Blank, Condition, Equal, Increase, Span, find
from attribution.extraction.series import Series, merge

SECOND = 1_000_000
STEP = 15 * SECOND
GPU = {"__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": "gpu02", "job": "dcgm", "instance": "gpu02:9400"}


def _at(*values: float | None, start: int = 0, step: int = STEP, **labels: str) -> Series:
    """A series with one sample a step; None is a blank."""
    return Series.of({**GPU, "gpu": "3", **labels}, [Sample(start + i * step, v) for i, v in enumerate(values)])


def _missing(series: Series, *indices: int) -> Series:
    kept = tuple(sample for i, sample in enumerate(series.samples) if i not in indices)
    return Series(series.name, series.labels, kept)


def _where(spans: tuple[Span, ...]) -> list[tuple[int, int, str]]:
    return [(span.at_us // STEP, span.width_us // STEP, span.value) for span in spans]


# --- counters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "values", "spans"),
    [
        (1, [0, 0, 1, 1], [(2, 1, "1")]),
        (1, [5, 5, 5], []),
        (1, [5], []),
        (1, [], []),
        (1, [0, 1, 2, 4, 4], [(1, 1, "4")]),
        (1, [0, 1, 1, 3, 3], [(1, 1, "1"), (3, 1, "2")]),
        (1, [0, None, None, 2], [(3, 3, "2")]),
        (1, [7, 0, 0], []),
        (1, [7, 2, 2], [(1, 1, "2")]),
        (3, [7, 2, 3], [(2, 2, "3")]),
        (3, [0, 1, 1, 2, 2, 3, 3], [(5, 5, "3")]),
        (3, [0, 1, 1, 1, 4, 4], [(4, 1, "3")]),
        (3, [0, 1, 2, 2, 2], []),
        (3, [0, 9, 9, 10, 10, 12], [(1, 1, "9"), (5, 3, "3")]),
        (1, [0, math.inf, 0], []),
        (0.5, [0.1, 0.4, 0.9], [(2, 1, "0.5")]),
    ],
)
def test_an_increase_is_located(by: float, values: list[float | None], spans: list[tuple[int, int, str]]) -> None:
    assert _where(find(Increase(by), _at(*values))) == spans


def test_an_increase_over_a_gap_is_as_wide_as_the_gap() -> None:
    series = _missing(_at(0, 0, 0, 0, 1, 1), 1, 2, 3)
    assert _where(find(Increase(), series)) == [(4, 4, "1")]


def test_the_samples_of_an_increase_are_the_decisive_ones() -> None:
    (span,) = find(Increase(), _at(*[0.0] * 100, *range(1, 101), *[100.0] * 100))
    assert (span.at_us, span.value) == (100 * STEP, "100")
    assert len(span.samples) <= 20
    shown = [sample.value for sample in span.samples]
    assert shown[:4] == [0.0, 0.0, 0.0, 0.0]
    assert {0.0, 1.0, 100.0} <= set(shown)


# --- thresholds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "values", "spans"),
    [
        (Above(90), [50, 91, 95, 92, 50], [(1, 1, "95")]),
        (Above(90), [90, 90], []),
        (Above(90), [50, 91, 50, 91, 91], [(1, 1, "91"), (3, 1, "91")]),
        (Above(90, 30), [50, 91, 92, 50, 91, 91, 93], [(4, 1, "93")]),
        (Above(90, 15), [50, 91, 50], []),
        (Above(90, 30), [50, 91, None, 92, 50], [(1, 1, "92")]),
        (Above(90), [50, None, None, 91], [(3, 3, "91")]),
        (Above(90), [None, None], []),
        (Above(90), [50, math.inf], [(1, 1, "+Inf")]),
        (Below(4), [4, 4, 1, 2, 4], [(2, 1, "1")]),
        (Below(4, 60), [4, 1, 1, 1, 1], []),
        (Below(4, 45), [4, 1, 1, 1, 1], [(1, 1, "1")]),
        (Below(0), [0, -0.5], [(1, 1, "-0.5")]),
        (Equal(2), [0, 2, 2, 3, 2], [(1, 1, "2"), (4, 1, "2")]),
        (Equal(2, 15), [0, 2, 2, 3, 2], [(1, 1, "2")]),
        (Equal(2, 30), [0, 2, None, 2, 3], [(1, 1, "2")]),
        (Equal(0), [1, -0.0, 1], [(1, 1, "0")]),
        (Equal(0.3), [1, 0.30000001, None], []),
    ],
)
def test_a_threshold_holds_for_a_duration(
    condition: Condition, values: list[float | None], spans: list[tuple[int, int, str]]
) -> None:
    assert _where(find(condition, _at(*values))) == spans


def test_a_run_that_the_series_begins_with_has_no_known_start() -> None:
    first, second = find(Above(90), _at(91, 50, 91))
    assert (first.at_us, first.width_us, first.open_start) == (0, 0, True)
    assert (second.width_us, second.open_start) == (STEP, False)


def test_the_samples_of_a_run_hold_its_start_its_peak_and_its_end() -> None:
    (span,) = find(Above(90), _at(*[50.0] * 20, *[91.0] * 30, 99.0, *[92.0] * 30, *[50.0] * 20))
    assert len(span.samples) <= 20
    assert {20 * STEP, 50 * STEP, 80 * STEP} <= {sample.us for sample in span.samples}


# --- silence ------------------------------------------------------------------------------------------------------

OTHER = _at(*[1.0] * 10, gpu="2")


def test_a_series_that_stops_while_others_go_on_is_blank() -> None:
    (span,) = find(Blank(60), _at(1, 2, 3), [OTHER])
    assert (span.at_us, span.width_us, span.value) == (3 * STEP, STEP, "3")
    assert [sample.value for sample in span.samples[:4]] == [1.0, 2.0, 3.0, None]
    assert span.samples[-1] == Sample(9 * STEP, None)


def test_a_series_that_turns_nan_is_blank_until_it_comes_back() -> None:
    (span,) = find(Blank(60), _at(1, 1, None, None, None, None, None, 1), [OTHER])
    assert (span.at_us, span.width_us) == (2 * STEP, STEP)
    assert span.samples[-1] == Sample(7 * STEP, 1.0)
    assert find(Blank(61), _at(1, 1, None, None, None, None, None, 1), [OTHER]) == ()


def test_a_blank_is_dated_by_the_first_scrape_that_shows_it() -> None:
    (span,) = find(Blank(15), _at(1, 1), [_missing(OTHER, 2, 3, 4)])
    assert (span.at_us, span.width_us) == (5 * STEP, 4 * STEP)


@pytest.mark.parametrize(
    ("reason", "neighbours"),
    [
        ("alone", []),
        ("all stop together", [_at(1, 1, 1, gpu="2")]),
        ("only one more scrape", [_at(1, 1, 1, 1, gpu="2")]),
        ("the others stop earlier", [_at(1, 1, gpu="2")]),
        ("another exporter", [_at(*[1.0] * 10, gpu="2", job="node", instance="gpu02:9100")]),
        ("the others are blank too", [_at(1, 1, 1, *[None] * 7, gpu="2")]),
        ("written by Prometheus while the target is down", [_at(*[0.0] * 10, __name__="up")]),
        ("the same", [_at(*[1.0] * 10, __name__="scrape_duration_seconds")]),
        ("computed, not scraped", [_at(*[1.0] * 10, __name__="node:temp:max")]),
        ("goes on under another pod", [OTHER, _at(*[1.0] * 7, start=3 * STEP, pod="train-0", namespace="ml")]),
        ("goes on with another error", [OTHER, _at(*[79.0] * 7, start=3 * STEP, err_code="79", err_msg="x")]),
    ],
)
def test_what_is_no_blank_series(reason: str, neighbours: list[Series]) -> None:
    series = _at(1, 1, 1)
    assert find(Blank(30), series, [series, *neighbours]) == (), reason


def test_a_series_that_never_had_a_value_is_not_blank() -> None:
    assert find(Blank(0), _at(*[None] * 10), [OTHER]) == ()


def test_a_gap_of_a_thing_is_found_in_the_series_before_it() -> None:
    before, after = _at(1, 1), _at(1, 1, 1, start=6 * STEP, pod="train-0")
    both = [before, after, _at(*[1.0] * 9, gpu="2")]
    assert _where(find(Blank(30), before, both)) == [(2, 1, "1")]
    assert find(Blank(30), after, both) == ()


# --- always -------------------------------------------------------------------------------------------------------


def test_a_condition_that_cannot_be_meant_is_refused() -> None:
    levels = (lambda: Above(1, -1), lambda: Below(1, -1), lambda: Equal(1, -1))
    for build in (lambda: Increase(0), lambda: Increase(math.nan), *levels, lambda: Blank(-1)):
        with pytest.raises(ValueError, match="must"):
            build()


_VALUES = st.lists(st.none() | st.sampled_from([0.0, 1.0, 2.0, 3.5, 90.0, 91.0, math.inf]), max_size=40)
_CONDITIONS = st.one_of(
    st.builds(Increase, st.sampled_from([0.5, 1.0, 5.0])),
    st.builds(Above, st.sampled_from([0.0, 3.0, 90.0]), st.sampled_from([0, 15, 45])),
    st.builds(Below, st.sampled_from([1.0, 3.0, 90.0]), st.sampled_from([0, 15, 45])),
    st.builds(Equal, st.sampled_from([1.0, 3.5, 90.0]), st.sampled_from([0, 15, 45])),
    st.builds(Blank, st.sampled_from([0, 15, 45])),
)


def _shifted(series: Series, by: int) -> Series:
    return Series(series.name, series.labels, tuple(Sample(s.us + by, s.value) for s in series.samples))


@given(_VALUES, _VALUES, _CONDITIONS, st.integers(0, 10**15))
def test_shifting_time_shifts_only_times(
    values: list[float | None], others: list[float | None], condition: Condition, by: int
) -> None:
    series, other = _at(*values), _at(*others, gpu="2")
    moved = find(condition, _shifted(series, by), [_shifted(other, by)])
    assert moved == tuple(
        Span(
            span.at_us + by,
            span.width_us,
            tuple(Sample(sample.us + by, sample.value) for sample in span.samples),
            span.value,
            span.open_start,
        )
        for span in find(condition, series, [other])
    )


@given(_VALUES, _VALUES, _CONDITIONS, st.data())
def test_cutting_and_merging_changes_nothing(
    values: list[float | None], others: list[float | None], condition: Condition, data: st.DataObject
) -> None:
    series, other = _at(*values), _at(*others, gpu="2")
    cuts = data.draw(st.lists(st.integers(0, len(values)), max_size=4).map(sorted))
    pieces = [
        Series(series.name, series.labels, series.samples[max(0, begin - 2) : end])
        for begin, end in zip([0, *cuts], [*cuts, len(values)], strict=True)
    ]
    merged = merge(data.draw(st.permutations([*pieces, other])))
    whole = next(s for s in merged if s.get("gpu") == "3")
    assert find(condition, whole, merged) == find(condition, series, [other, series])


@given(_VALUES, _VALUES, _CONDITIONS)
def test_spans_are_ordered_apart_and_small(
    values: list[float | None], others: list[float | None], condition: Condition
) -> None:
    series = _at(*values)
    spans = find(condition, series, [series, _at(*others, gpu="2")])
    times = [span.at_us for span in spans]
    assert times == sorted(set(times))
    for span in spans:
        shown = [sample.us for sample in span.samples]
        assert shown == sorted(set(shown))
        assert span.at_us in shown
        assert span.width_us >= 0
        assert len(shown) <= 20
        assert span.open_start == (span.width_us == 0)


@given(_VALUES)
def test_a_rise_within_a_series_is_never_missed(values: list[float | None]) -> None:
    numbers = [v for v in values if v is not None and math.isfinite(v)]
    total = sum(b - a if b >= a else b for a, b in pairwise(numbers))
    for by in (1.0, 5.0, 100.0):
        assert bool(find(Increase(by), _at(*values))) == (total >= by)


# --- how close ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "values", "near"),
    [
        (Above(90), [50, 80, 70], Near(80, STEP)),
        (Above(90, 60), [50, 91, 95, 50, 92], Near(91, STEP, STEP)),
        (Below(4), [9, 7, 8], Near(7, STEP)),
        (Equal(3), [9, 2, 5], Near(2, STEP)),
        (Equal(3, 60), [9, 3, 3, 3, 5, 3], Near(3, STEP, 2 * STEP)),
        (Increase(10), [1, 3, 3, 0, 2, 2], Near(4, 4 * STEP)),
        (Increase(10), [5, 5], Near(0, STEP)),
        (Above(90), [None, None], None),
        (Increase(1), [math.inf], None),
    ],
)
def test_how_close_a_series_came(condition: Condition, values: list[float | None], near: Near | None) -> None:
    assert closest(condition, _at(*values)) == near


def test_how_long_a_series_was_silent_while_others_were_not() -> None:
    assert closest(Blank(600), _at(1, 2, 3), (OTHER,)) == Near(3, 3 * STEP, 6 * STEP)
    assert closest(Blank(600), _at(1, 2, 3), ()) == Near(3, 2 * STEP)


def test_what_reached_the_level_is_closer_than_what_did_not() -> None:
    condition = Above(90, 60)
    ladder = [_at(91, 91, 91, 91), _at(91, 91), _at(89), _at(10)]
    found = [near for series in ladder if (near := closest(condition, series))]
    assert [distance(condition, near) for near in found] == sorted(distance(condition, near) for near in found)
    assert distance(Increase(5), Near(4, 0)) < distance(Increase(5), Near(1, 0))


@given(_VALUES, _CONDITIONS)
def test_what_comes_close_is_not_yet_there(values: list[float | None], condition: Condition) -> None:
    series = _at(*values)
    near = closest(condition, series, (series,))
    assert (near is None) == (not [v for v in values if v is not None and (math.isfinite(v) or _is_level(condition))])
    if near and not find(condition, series, (series,)):
        assert distance(condition, near) > (False, 0.0)


def _is_level(condition: Condition) -> bool:
    return not isinstance(condition, Increase)
