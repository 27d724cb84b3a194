"""Stamps are read in every form that logs print, and nothing else is taken for one."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.observation import Clock
from attribution.events.moment import SECOND, Basis, Moment
from attribution.extraction.clock import ClockRules, from_epoch, parse_zone, read_stamp, stamp_at

HOUR = 3600 * SECOND
NO_RULES = ClockRules()


def us(*parts: int) -> int:
    """Microseconds since 1970 of year, month, day, hour, minute, second, microsecond in UTC."""
    return (datetime(*parts, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)  # type: ignore[arg-type]


UTC_FORMS = [
    ("2025-01-21T04:41:44.283302+00:00 gpu-017 kernel: x", us(2025, 1, 21, 4, 41, 44, 283302), 1, 32),
    ("2025-01-21T04:41:44+0000 node-01 kernel: x", us(2025, 1, 21, 4, 41, 44), SECOND, 24),
    ("2025-01-21T04:41:44Z x", us(2025, 1, 21, 4, 41, 44), SECOND, 20),
    ("2025-01-21T04:41:44.5Z x", us(2025, 1, 21, 4, 41, 44, 500000), 100_000, 22),
    ("2025-01-21T04:41:44.123456789Z x", us(2025, 1, 21, 4, 41, 44, 123456), 1, 30),
    ("2025-01-21T04:41:44,283302+00:00 x", us(2025, 1, 21, 4, 41, 44, 283302), 1, 32),
    ("2022-07-26_13:59:55.090-0400: [E] x", us(2022, 7, 26, 17, 59, 55, 90000), 1000, 28),
    ("2025-11-09 15:39:31.043 +08:00 x", us(2025, 11, 9, 7, 39, 31, 43000), 1000, 30),
    ("2025-01-21 04:41:44.283302 +0000 UTC x", us(2025, 1, 21, 4, 41, 44, 283302), 1, 36),
    ("2025-01-21 04:41:44 UTC x", us(2025, 1, 21, 4, 41, 44), SECOND, 23),
    ("Tue 2025-01-21 04:41:44 UTC node-01 kernel: x", us(2025, 1, 21, 4, 41, 44), SECOND, 27),
    ("Sun Feb 23 16:24:24 UTC 2025 x", us(2025, 2, 23, 16, 24, 24), SECOND, 28),
    ("<4>1 2025-01-21T04:41:44.283302+00:00 node-01 app 1 - - x", us(2025, 1, 21, 4, 41, 44, 283302), 1, 37),
    ("kern  :warn  : 2025-01-21T04:41:44,283302+00:00 x", us(2025, 1, 21, 4, 41, 44, 283302), 1, 47),
    ("[2025-01-21T04:41:44.283Z] x", us(2025, 1, 21, 4, 41, 44, 283000), 1000, 26),
    ("2016-12-31T23:59:60Z leap second", us(2017, 1, 1), SECOND, 20),
    ("2024-02-29T00:00:00Z leap day", us(2024, 2, 29), SECOND, 20),
]


@pytest.mark.parametrize(("text", "at", "width", "end"), UTC_FORMS)
def test_a_stamp_with_an_offset_is_utc_whatever_the_rules(text: str, at: int, width: int, end: int) -> None:
    for rules in (NO_RULES, ClockRules(zone=5 * HOUR, year=1999, boot_us=7)):
        assert read_stamp(text, rules) == (Moment(at, width, Basis.UTC), end)


LOCAL_FORMS = [
    ("2026-06-08 19:04:36,139 x", us(2026, 6, 8, 19, 4, 36, 139000), 1000, 23),
    ("2026-06-08 19:04:36 x", us(2026, 6, 8, 19, 4, 36), SECOND, 19),
    ("2026/06/08 19:04:36 x", us(2026, 6, 8, 19, 4, 36), SECOND, 19),
    ("2026-06-08_19:04:45", us(2026, 6, 8, 19, 4, 45), SECOND, 19),
    ("  time      : 2026-06-08_19:04:45", us(2026, 6, 8, 19, 4, 45), SECOND, 33),
    ("time      : 2026-06-08_19:04:45", us(2026, 6, 8, 19, 4, 45), SECOND, 31),
    ("[2026-06-08 19:04:36,139] [INFO] x", us(2026, 6, 8, 19, 4, 36, 139000), 1000, 25),
    ("[2026-05-01T03:04:05.123] x", us(2026, 5, 1, 3, 4, 5, 123000), 1000, 25),
    ("[Jul 23 2024 07:53:55] [ERROR] [tid 841] x", us(2024, 7, 23, 7, 53, 55), SECOND, 22),
    ("[Sun Feb 23 16:24:24 2025] x", us(2025, 2, 23, 16, 24, 24), SECOND, 26),
    ("Sun Feb 23 16:24:24 2025 x", us(2025, 2, 23, 16, 24, 24), SECOND, 24),
    ("[2025-03-04 19:28:30,101 E 27110 27110] x", us(2025, 3, 4, 19, 28, 30, 101000), 1000, 39),
    ("2019-04-05 18:59:27.754252: E x", us(2019, 4, 5, 18, 59, 27, 754252), 1, 26),
]


@pytest.mark.parametrize(("text", "at", "width", "end"), LOCAL_FORMS)
def test_a_stamp_without_an_offset_is_local_until_a_zone_is_known(text: str, at: int, width: int, end: int) -> None:
    assert read_stamp(text, NO_RULES) == (Moment(at, width, Basis.LOCAL), end)
    assert read_stamp(text, ClockRules(zone=2 * HOUR)) == (Moment(at - 2 * HOUR, width, Basis.UTC), end)


YEARLESS_FORMS = [
    ("Mar  4 10:08:05 node-01 kernel: x", (3, 4, 10, 8, 5), SECOND, 15),
    ("Apr 28 13:48:01 localhost kernel: [36020.497806] x", (4, 28, 13, 48, 1), SECOND, 15),
    ("<4>Mar  4 10:08:05 node-01 kernel: x", (3, 4, 10, 8, 5), SECOND, 18),
    ("Mar  4 10:08:05.250 node-01 kernel: x", (3, 4, 10, 8, 5, 250000), 1000, 19),
    ("I0121 04:41:44.283302       1 a.go:162] x", (1, 21, 4, 41, 44, 283302), 1, 21),
    ("W0608 19:04:45.351000 102926 path.py:897] x", (6, 8, 19, 4, 45, 351000), 1, 21),
    ("[E1120 12:34:56.789 file.cpp:607] x", (11, 20, 12, 34, 56, 789000), 1000, 19),
    ("[E616 13:41:10.909476913 ProcessGroupNCCL.cpp:565] x", (6, 16, 13, 41, 10), SECOND, 24),
    ("ERROR 06-05 06:18:13 [executor.py:470] x", (6, 5, 6, 18, 13), SECOND, 20),
    ("[Feb23 16:24] x", (2, 23, 16, 24, 0), 60 * SECOND, 13),
]


@pytest.mark.parametrize(("text", "parts", "width", "end"), YEARLESS_FORMS)
def test_a_stamp_without_a_year_needs_a_window_or_a_hint(
    text: str, parts: tuple[int, ...], width: int, end: int
) -> None:
    assert read_stamp(text, NO_RULES) == (Moment(us(1970, *parts), width, Basis.YEARLESS), end)
    assert read_stamp(text, ClockRules(year=2025)) == (Moment(us(2025, *parts), width, Basis.LOCAL), end)
    window = (us(2024, 5, 1), us(2024, 8, 15))
    known = ClockRules(zone=0, year=1999, window=window)
    assert read_stamp(text, known) == (Moment(us(2024, *parts), width, Basis.UTC), end)


BOOT_FORMS = [
    ("[430954.509105] NVRM: x", 430954_509105, 15),
    ("<0>[ 3098.275469] Kernel panic", 3098_275469, 17),
    ("[    0.000000] Linux version", 0, 14),
    ("kern  :warn  : [430954.509105] x", 430954_509105, 30),
    ("6,3964,206764307,-;text; more", 206_764307, 19),
    ("4,3964,206764307,-,caller=T12;text", 206_764307, 30),
]


@pytest.mark.parametrize(("text", "since_boot", "end"), BOOT_FORMS)
def test_a_kernel_stamp_counts_from_boot_until_the_boot_is_known(text: str, since_boot: int, end: int) -> None:
    assert read_stamp(text, NO_RULES) == (Moment(since_boot, 1, Basis.BOOT), end)
    boot = us(2025, 1, 1)
    assert read_stamp(text, ClockRules(boot_us=boot)) == (Moment(boot + since_boot, 1, Basis.UTC), end)
    stamp = stamp_at(text, 0, NO_RULES)
    assert stamp is not None
    assert stamp.boot_us == since_boot


NO_STAMPS = [
    "",
    "x",
    "2025-13-21T04:41:44Z x",
    "2025-02-30T04:41:44Z x",
    "2025-01-21T25:41:44Z x",
    "2025-01-21T04:60:44Z x",
    "2025-01-21T04:41:61Z x",
    "2025-01-21T04:41:44+25:00 x",
    "2025-01-21T04:41:44.1234567890Z x",
    "2025-01-21 4:41:44 x",
    "0025-01-21T04:41:44Z x",
    "٢025-01-21T04:41:44Z x",
    "Mar 32 10:08:05 node-01 x",
    "Foo  4 10:08:05 node-01 x",
    "Feb 30 10:08:05 node-01 x",
    "[Jul 23 2024 07:53:55 no end",
    "[E ProcessGroupNCCL.cpp:474] [Rank 2] x",
    "I1321 04:41:44.283302 1 a.go:162] x",
    "[440575.0] x",
    "[12.5] x",
    "[  +1.050439] pcieport x",
    "1737434504.283302 epoch seconds",
    "1737434504",
    "6,3964,x,-;text",
    "19:04:45 x",
    "time: 5",
    " 2025-01-21T04:41:44Z x",
    "<4>",
    "[",
]


@pytest.mark.parametrize("text", NO_STAMPS)
def test_what_names_no_instant_is_no_stamp(text: str) -> None:
    assert read_stamp(text, ClockRules(zone=0, year=2025, boot_us=0, window=(us(2025, 1, 1), us(2025, 2, 1)))) is None


TURNS = [
    ("Dec 31 23:59:59 n k: x", (us(2025, 1, 1), us(2025, 1, 2)), us(2024, 12, 31, 23, 59, 59)),
    ("Jan  1 00:00:01 n k: x", (us(2024, 12, 30), us(2024, 12, 31, 23)), us(2025, 1, 1, 0, 0, 1)),
    ("Jun 30 00:00:00 n k: x", (us(2025, 1, 1), us(2025, 1, 2)), us(2025, 6, 30)),
    ("Feb 29 01:00:00 n k: x", (us(2024, 3, 1), us(2024, 3, 2)), us(2024, 2, 29, 1)),
    ("Feb 29 01:00:00 n k: x", (us(2027, 3, 1), us(2027, 3, 2)), us(2028, 2, 29, 1)),
    ("Feb 29 01:00:00 n k: x", (us(2025, 3, 1), us(2025, 3, 2)), us(2024, 2, 29, 1)),
]


@pytest.mark.parametrize(("text", "window", "at"), TURNS)
def test_the_year_is_that_nearest_to_the_window(text: str, window: tuple[int, int], at: int) -> None:
    found = read_stamp(text, ClockRules(zone=0, window=window))
    assert found is not None
    assert found[0] == Moment(at, SECOND)


@pytest.mark.parametrize("year", [None, 2025])
def test_february_29_is_read_as_1972_without_a_year_that_has_it(year: int | None) -> None:
    found = read_stamp("Feb 29 01:00:00 n k: x", ClockRules(year=year))
    assert found is not None
    assert found[0] == Moment(us(1972, 2, 29, 1), SECOND, Basis.YEARLESS)


BERLIN = [
    ("2025-01-21 12:00:00", us(2025, 1, 21, 11), SECOND),
    ("2025-07-21 12:00:00", us(2025, 7, 21, 10), SECOND),
    ("2025-10-26 01:59:59", us(2025, 10, 25, 23, 59, 59), SECOND),
    ("2025-10-26 02:30:00", us(2025, 10, 26, 0, 30), SECOND + HOUR),  # occurs twice
    ("2025-10-26 03:00:00", us(2025, 10, 26, 2), SECOND),
]


@pytest.mark.parametrize(("text", "at", "width"), BERLIN)
def test_a_named_zone_has_the_offset_of_the_day(text: str, at: int, width: int) -> None:
    assert read_stamp(text, ClockRules(zone=ZoneInfo("Europe/Berlin"))) == (Moment(at, width), 19)


ZONES = [("+05:30", 5 * HOUR + HOUR // 2), ("-08:00", -8 * HOUR), ("+0200", 2 * HOUR), ("Z", 0), ("UTC", 0)]


@pytest.mark.parametrize(("name", "offset"), ZONES)
def test_an_offset_is_a_zone(name: str, offset: int) -> None:
    assert parse_zone(name) == offset


@pytest.mark.parametrize("name", ["Europe/Atlantis", "", "../etc/passwd", "+25:00", "America", "\0"])
def test_an_unknown_zone_is_one_clear_problem(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ClockRules.of(Clock(zone=name), ExecutionContext(workload_id="1"))
    assert len(caught.value.problems) == 1
    assert f"`{name}`" in caught.value.problems[0].message
    assert caught.value.problems[0].remedy


def test_rules_come_from_the_clock_and_the_context() -> None:
    start, end = datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 2, tzinfo=UTC)
    context = ExecutionContext(workload_id="1", submitted_at=datetime(2024, 1, 1, tzinfo=UTC), started_at=start)
    assert ClockRules.of(None, context) == ClockRules(window=(us(2025, 1, 1), us(2025, 1, 1)))
    clock = Clock(zone="+01:00", year=2024, boot_time=end)
    context = context.model_copy(update={"ended_at": end})
    window = (us(2025, 1, 1), us(2025, 1, 2))
    assert ClockRules.of(clock, context) == ClockRules(HOUR, 2024, window, us(2025, 1, 2))
    assert ClockRules.of(None, ExecutionContext(workload_id="1")) == NO_RULES


LEVELS = [
    ("<3>[ 3098.275469] x", "error"),
    ("kern  :warn  : [430954.509105] x", "warning"),
    ("6,3964,206764307,-;x", "info"),
    ("W0608 19:04:45.351000 1 a.py:8] x", "warning"),
    ("[430954.509105] x", None),
]


@pytest.mark.parametrize(("text", "level"), LEVELS)
def test_a_stamp_keeps_the_level_that_goes_with_it(text: str, level: str | None) -> None:
    stamp = stamp_at(text, 0, NO_RULES)
    assert stamp is not None
    assert stamp.level == level


EPOCHS = [
    (1737434504, us(2025, 1, 21, 4, 41, 44), SECOND),
    ("1737434504.283", us(2025, 1, 21, 4, 41, 44, 283000), 1000),
    (1737434504.25, us(2025, 1, 21, 4, 41, 44, 250000), 10_000),
    (1737434504283, us(2025, 1, 21, 4, 41, 44, 283000), 1000),
    (1737434504283302, us(2025, 1, 21, 4, 41, 44, 283302), 1),
    ("1737434504283302999", us(2025, 1, 21, 4, 41, 44, 283302), 1),
]


@pytest.mark.parametrize(("value", "at", "width"), EPOCHS)
def test_a_count_since_1970_tells_its_unit_by_its_size(value: object, at: int, width: int) -> None:
    assert from_epoch(value) == Moment(at, width)


@pytest.mark.parametrize("value", [None, "", "x", -1, "-1", float("nan"), float("inf"), 10**30, True, [], "1e9"])
def test_anything_else_is_no_count(value: object) -> None:
    assert from_epoch(value) is None


@given(st.text(), st.integers(0, 5))
def test_any_text_is_a_stamp_or_none(text: str, pos: int) -> None:
    stamp = stamp_at(text, pos, NO_RULES)
    assert stamp is None or pos < stamp.end <= len(text)


@given(st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 30)), st.sampled_from("T _"), st.sampled_from(".,"))
def test_every_instant_is_read_back(instant: datetime, separator: str, point: str) -> None:
    text = instant.strftime(f"%Y-%m-%d{separator}%H:%M:%S{point}%f") + "Z rest"
    found = read_stamp(text, NO_RULES)
    assert found is not None
    assert found[0] == Moment((instant - datetime(1970, 1, 1)) // timedelta(microseconds=1), 1)
    assert text[found[1] :] == " rest"
