"""A stamp is the time that a line prints of itself; the rules of its stream say what it leaves out.

A stamp without an offset is UTC only under a zone, a stamp without a year gets one only from a window or a hint, and
seconds since boot need the time of the boot. What is missing is never guessed: it shows in the basis of the Moment.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.contracts.observation import Clock
from attribution.events.moment import SECOND, Basis, Moment

DAY = 86_400 * SECOND
_QUARTER = 900 * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"([+-])(0\d|1[0-4]):?([0-5]\d)", re.ASCII)

SYSLOG_LEVELS = ("fatal", "fatal", "critical", "error", "warning", "notice", "info", "debug")
"""Levels by syslog severity; a priority is facility * 8 + severity."""

LETTER_LEVELS = {
    "D": "debug",
    "V": "debug",
    "I": "info",
    "N": "notice",
    "W": "warning",
    "E": "error",
    "C": "critical",
    "F": "fatal",
}
"""Levels by the letter that glog, torch, Ray and TensorFlow print."""


@dataclass(frozen=True, slots=True)
class ClockRules:
    """How stamps of one stream are read where they do not say it themselves.

    `zone` is a fixed offset from UTC in microseconds or a named zone, `window` the attempt's start and end and
    `boot_us` the instant of second 0 of kernel stamps, both in microseconds since 1970. None means unknown.
    """

    zone: int | ZoneInfo | None = None
    year: int | None = None
    window: tuple[int, int] | None = None
    boot_us: int | None = None

    @classmethod
    def of(cls, clock: Clock | None, context: ExecutionContext) -> "ClockRules":
        """The rules of a stream with this clock in an attempt. Raises ConfigurationError for an unknown zone."""
        start = context.started_at or context.submitted_at or context.ended_at
        window = (_since_1970(start), _since_1970(context.ended_at or start)) if start else None
        if clock is None:
            return cls(window=window)
        zone = None if clock.zone is None else parse_zone(clock.zone)
        boot_us = None if clock.boot_time is None else _since_1970(clock.boot_time)
        return cls(zone, clock.year, window, boot_us)


def parse_zone(name: str) -> int | ZoneInfo:
    """The offset in microseconds of `±HH:MM`, `Z` or `UTC`, else the zone of that IANA name.

    Raises ConfigurationError for anything else.
    """
    if name in {"Z", "UTC"}:
        return 0
    if _OFFSET.fullmatch(name):
        return _offset_us(name)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        message = f"`{name}` is no time zone that this machine knows"
        remedy = "give an IANA name such as Europe/Berlin, or an offset such as +02:00"
        raise ConfigurationError([Problem(Place("clock.zone"), "E001", message, remedy)]) from None


class Stamp(NamedTuple):
    """One stamp read off a text: what it says, and where it ends.

    `form` names its shape, `prefix` what stood before it (`priority`, `rfc5424`, `facility`, `reported`). `boot_us` is
    the kernel's own reading where it printed one. A stamp that names no instant, such as the elapsed time of
    `dmesg -d`, has no moment.
    """

    form: str
    end: int
    moment: Moment | None
    boot_us: int | None = None
    level: str | None = None
    prefix: str | None = None


def read_stamp(text: str, rules: ClockRules) -> tuple[Moment, int] | None:
    """The moment that `text` begins with and the position after it, or None if it begins with none."""
    stamp = stamp_at(text, 0, rules)
    return None if stamp is None or stamp.moment is None else (stamp.moment, stamp.end)


def stamp_at(text: str, pos: int, rules: ClockRules) -> Stamp | None:
    """The stamp at `pos` of `text`, with its priority or facility if it has one, or None. Never raises."""
    level, prefix = None, None
    if text[pos : pos + 1] in _PREFIXED:
        found = _PREFIX.match(text, pos)
        if found:
            pos, level, prefix = found.end(), _prefix_level(found), found.lastgroup
    first = text[pos : pos + 1]
    forms = _BRACKETED.get(text[pos + 1 : pos + 2], ()) if first == "[" else _BARE.get(first, ())
    for form in forms:
        match = form.pattern.match(text, pos)
        if match:
            reading = form.read(match, rules)
            if reading is None:
                return None
            moment, boot_us, own_level = reading
            return Stamp(form.name, match.end(), moment, boot_us, own_level or level, prefix)
    return None


def from_epoch(value: object) -> Moment | None:
    """The moment of a count since 1970, only for fields that are known to hold one.

    Takes a number or its digits, as seconds, or as milli-, micro- or nanoseconds where it is too large for the unit
    before. The resolution is that of the digits given. Anything else is None.
    """
    if isinstance(value, int | float) and 0 <= value < 10**19:
        value = str(value)
    match = _EPOCH_DIGITS.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    whole, fraction = match.groups()
    if len(whole) > 11:
        scale = 1_000 if len(whole) <= 14 else 1 if len(whole) <= 17 else 0
        return Moment(int(whole) * scale if scale else int(whole) // 1_000, scale or 1)
    return Moment(int(whole) * SECOND + _fraction_us(fraction), _width(fraction))


# --- arithmetic -----------------------------------------------------------------------------------------------------


def _since_1970(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=1024)
def _offset_us(text: str) -> int:
    """Offset of `+HH:MM`, `+HHMM` or a name of UTC, blanks ignored."""
    match = _OFFSET.search(text)
    if match is None:
        return 0
    size = (int(match[2]) * 60 + int(match[3])) * 60 * SECOND
    return -size if match[1] == "-" else size


@lru_cache(maxsize=4096)
def _days(year: int, month: int, day: int) -> int | None:
    """Days from 1970 to that date, or None if there is no such date."""
    try:
        return date(year, month, day).toordinal() - 719_163
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _date_us(text: str) -> int | None:
    """Microseconds from 1970 to the start of `YYYY-MM-DD`, whatever its separators."""
    days = _days(int(text[:4]), int(text[5:7]), int(text[8:10]))
    return None if days is None else days * DAY


def _time_us(hour: str, minute: str, second: str) -> int | None:
    """Microseconds since midnight, or None if there is no such time. A leap second is the next second."""
    h, m, s = int(hour), int(minute), int(second)
    return ((h * 60 + m) * 60 + s) * SECOND if h < 24 and m < 60 and s <= 60 else None


_WIDTHS = (SECOND, 100_000, 10_000, 1_000, 100, 10, 1)


def _width(fraction: str | None) -> int:
    return _WIDTHS[min(len(fraction), 6)] if fraction else SECOND


def _fraction_us(fraction: str | None) -> int:
    return int(fraction[:6].ljust(6, "0")) if fraction else 0


@lru_cache(maxsize=4096)
def _zone_at(zone: ZoneInfo, quarter: int) -> tuple[int, int]:
    """Offset of a zone in a quarter of an hour of its wall clock, and by how much a change of clocks blurs it."""
    wall = datetime(1970, 1, 1, tzinfo=zone) + timedelta(minutes=15 * quarter)
    offsets = [wall.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1)]
    low, high = (offset // timedelta(microseconds=1) for offset in sorted(offsets))
    return high, high - low


def _zoned(wall_us: int, width_us: int, rules: ClockRules) -> Moment:
    """The moment of a wall clock reading. An hour that occurs twice is read as both: it is that much wider."""
    zone = rules.zone
    if zone is None:
        return Moment(wall_us, width_us, Basis.LOCAL)
    if isinstance(zone, int):
        return Moment(wall_us - zone, width_us)
    offset, blur = _zone_at(zone, wall_us // _QUARTER)
    return Moment(wall_us - offset, width_us + blur)


@lru_cache(maxsize=4096)
def _nearest_days(window: tuple[int, int], month: int, day: int) -> int | None:
    """Days from 1970 to that date in the year that puts it nearest to the window; the earlier of two as near."""
    start, end = window
    year = 1970 + start // (365 * DAY)
    dates = [days for y in range(year - 9, year + 10) if y > 0 and (days := _days(y, month, day)) is not None]
    return min(dates, key=lambda days: max(start - (days + 1) * DAY, days * DAY - end, 0), default=None)


def _yearless(month: int, day: int, time_us: int, width_us: int, rules: ClockRules) -> Moment | None:
    """The moment of a date without a year: that nearest to the window, else of the year given.

    Without either its basis is YEARLESS and its year 1970, or 1972 for February 29.
    """
    days = _nearest_days(rules.window, month, day) if rules.window else None
    if days is None and rules.year is not None:
        days = _days(rules.year, month, day)
    if days is not None:
        return _zoned(days * DAY + time_us, width_us, rules)
    days = _days(1972 if (month, day) == (2, 29) else 1970, month, day)
    return None if days is None else Moment(days * DAY + time_us, width_us, Basis.YEARLESS)


def with_year(moment: Moment, rules: ClockRules) -> Moment:
    """A moment without a year as it is read under rules that give one; any other as it is."""
    if moment.basis is not Basis.YEARLESS:
        return moment
    wall = _EPOCH + timedelta(microseconds=moment.us)
    found = _yearless(wall.month, wall.day, moment.us % DAY, moment.width_us, rules)
    return moment if found is None else replace(found, inherited=moment.inherited)


# --- forms ----------------------------------------------------------------------------------------------------------

_Reading = tuple[Moment | None, int | None, str | None]
"""Moment, reading of the kernel's clock, level."""


class _Form(NamedTuple):
    name: str
    starts: str
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], ClockRules], _Reading | None]


def _read_iso(match: re.Match[str], rules: ClockRules) -> _Reading | None:
    groups = match.groups()
    day, hour, minute, second, fraction, offset = groups[:6]
    date_us, time_us = _date_us(day), _time_us(hour, minute, second)
    if date_us is None or time_us is None:
        return None
    wall_us, width_us = date_us + time_us + _fraction_us(fraction), _width(fraction)
    moment = Moment(wall_us - _offset_us(offset), width_us) if offset else _zoned(wall_us, width_us, rules)
    return moment, None, LETTER_LEVELS[groups[6]] if len(groups) > 6 else None


_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}


def _read_named(match: re.Match[str], rules: ClockRules) -> _Reading | None:
    month, day, year, hour, minute, second, fraction, zone, late_year = match.groups()
    time_us = _time_us(hour, minute, second)
    if time_us is None:
        return None
    time_us += _fraction_us(fraction)
    year = year or late_year
    if not year:
        moment = _yearless(_MONTHS[month], int(day), time_us, _width(fraction), rules)
        return None if moment is None else (moment, None, None)
    days = _days(int(year), _MONTHS[month], int(day))
    if days is None:
        return None
    wall_us, width_us = days * DAY + time_us, _width(fraction)
    return (Moment(wall_us, width_us) if zone in {" UTC", " GMT"} else _zoned(wall_us, width_us, rules)), None, None


def _read_glog(match: re.Match[str], rules: ClockRules) -> _Reading | None:
    letter, month, day, hour, minute, second, fraction = match.groups()
    time_us = _time_us(hour, minute, second)
    if time_us is None:
        return None
    if fraction and len(fraction) == 9:
        # torch's own logger prints the nanoseconds of another clock (CLOCK_MONOTONIC) after the second
        fraction = None
    moment = _yearless(int(month), int(day), time_us + _fraction_us(fraction), _width(fraction), rules)
    return None if moment is None else (moment, None, LETTER_LEVELS[letter])


def _read_level_first(match: re.Match[str], rules: ClockRules) -> _Reading | None:
    word, month, day, hour, minute, second, fraction = match.groups()
    time_us = _time_us(hour, minute, second)
    if time_us is None:
        return None
    moment = _yearless(int(month), int(day), time_us + _fraction_us(fraction), _width(fraction), rules)
    return None if moment is None else (moment, None, word.lower())


def _read_minute(match: re.Match[str], rules: ClockRules) -> _Reading | None:
    month, day, hour, minute = match.groups()
    time_us = _time_us(hour, minute, "00")
    moment = None if time_us is None else _yearless(_MONTHS[month], int(day), time_us, 60 * SECOND, rules)
    return None if moment is None else (moment, None, None)


def _since_boot(boot_us: int, rules: ClockRules) -> Moment:
    return Moment(boot_us, 1, Basis.BOOT) if rules.boot_us is None else Moment(rules.boot_us + boot_us, 1)


def _read_dmesg(match: re.Match[str], rules: ClockRules) -> _Reading:
    boot_us = int(match[1]) * SECOND + int(match[2])
    return _since_boot(boot_us, rules), boot_us, None


def _read_kmsg(match: re.Match[str], rules: ClockRules) -> _Reading:
    boot_us = int(match[2])
    return _since_boot(boot_us, rules), boot_us, SYSLOG_LEVELS[int(match[1]) & 7]


def _read_elapsed(match: re.Match[str], rules: ClockRules) -> _Reading:
    return None, None, None


_YEAR = r"(?:19[7-9]\d|20\d\d|21\d\d)"
_CLOCK = r"(\d\d):(\d\d):(\d\d)"
_ZONE = r"(Z|(?: UTC| GMT)(?![\w+-])| ?[+-](?:0\d|1[0-4]):?[0-5]\d(?: UTC)?)?"
_ISO = rf"({_YEAR}[-/]\d\d[-/]\d\d)[T _]{_CLOCK}(?:[.,](\d{{1,9}}))?{_ZONE}"
_END = r"(?![.,]?\d|[+-]\d\d)"
_MONTH = rf"({'|'.join(_MONTHS)})"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
# groups: month, day, year before the time, hour, minute, second, fraction, zone, year after the time
_NAMED = rf"{_MONTH} {{1,2}}(\d{{1,2}})(?: ({_YEAR}))? {_CLOCK}(?:[.,](\d{{1,9}}))?()()(?![.,]?\d)"
_CTIME = rf"{_WEEKDAY} {_MONTH} {{1,2}}(\d{{1,2}})() {_CLOCK}(?:[.,](\d{{1,9}}))?( [A-Z]{{3,4}})? ({_YEAR})(?!\d)"
_GLOG = rf"([DVINWECF])(\d{{1,2}})(\d\d) {_CLOCK}(?:\.(\d{{1,9}}))?(?![.,]?\d)"
_LEVEL_FIRST = rf"(DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) {_CLOCK}(?:[.,](\d{{1,9}}))?(?![.,]?\d)"
_WEEKDAY_ISO = rf"{_WEEKDAY} {_ISO}{_END}"
_DIGITS = "0123456789"
_MONTH_STARTS, _WEEKDAY_STARTS, _GLOG_STARTS = "JFMASOND", "MTWFS", "DVINWECF"


def _form(name: str, starts: str, pattern: str, read: Callable[[re.Match[str], ClockRules], _Reading | None]) -> _Form:
    return _Form(name, starts, re.compile(pattern, re.ASCII), read)


_BARE_FORMS = (
    _form("iso", _DIGITS, _ISO + _END, _read_iso),
    _form("kmsg", _DIGITS, r"(\d{1,4}),\d{1,20},(\d{1,18}),[^;,\s]{1,8}(?:,[^;\s]{1,64})?;", _read_kmsg),
    _form("named", _MONTH_STARTS, _NAMED, _read_named),
    _form("ctime", _WEEKDAY_STARTS, _CTIME, _read_named),
    _form("iso", _WEEKDAY_STARTS, _WEEKDAY_ISO, _read_iso),
    _form("glog", _GLOG_STARTS, _GLOG, _read_glog),
    _form("level_first", "DIWEC", _LEVEL_FIRST, _read_level_first),
)
_BRACKETED_FORMS = (
    _form("bracketed", _DIGITS, rf"\[{_ISO}\]", _read_iso),
    _form("bracketed", _DIGITS, rf"\[{_ISO}(?: [A-Z]{{2}}\d{{1,4}}){{1,4}}\]", _read_iso),
    _form("dmesg", _DIGITS + " ", r"\[ {0,8}(\d{1,10})\.(\d{6})\]", _read_dmesg),
    _form("ray", _DIGITS, rf"\[{_ISO} ([DIWECF]) \d{{1,10}} \d{{1,10}}\]", _read_iso),
    _form("elapsed", " +<", r"\[ {0,8}(?:\+\d{1,10}\.\d{6}|< {0,8}\d{1,10}\.\d{6}>)\]", _read_elapsed),
    _form("bracketed", _MONTH_STARTS, rf"\[{_NAMED}\]", _read_named),
    _form("wall dmesg", _WEEKDAY_STARTS, rf"\[{_CTIME}\]", _read_named),
    _form("wall dmesg", _MONTH_STARTS, rf"\[{_MONTH} ?(\d\d?) (\d\d):(\d\d)\]", _read_minute),
    _form("glog", _GLOG_STARTS, rf"\[{_GLOG}", _read_glog),
)


def _by_start(forms: tuple[_Form, ...]) -> dict[str, tuple[_Form, ...]]:
    starts = sorted({start for form in forms for start in form.starts})
    return {start: tuple(form for form in forms if start in form.starts) for start in starts}


_BARE, _BRACKETED = _by_start(_BARE_FORMS), _by_start(_BRACKETED_FORMS)
_FACILITIES = "kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local[0-7]"
_FACILITY_LEVELS = {"emerg": 0, "alert": 1, "crit": 2, "err": 3, "warn": 4, "notice": 5, "info": 6, "debug": 7}
_PREFIX = re.compile(
    r"(?P<rfc5424><(?P<pri>\d{1,3})>1 )|(?P<priority><(?P<severity>\d{1,3})>)"
    rf"|(?P<facility>(?:{_FACILITIES}) {{0,5}}:(?P<word>{'|'.join(_FACILITY_LEVELS)}) {{0,4}}: )"
    r"|(?P<reported> {0,8}time {1,10}: )",
    re.ASCII,
)
_PREFIXED = frozenset("<kumdaslnctf ")
_EPOCH_DIGITS = re.compile(r"(\d{1,19})(?:\.(\d{1,9}))?", re.ASCII)


def _prefix_level(prefix: re.Match[str]) -> str | None:
    """The level that a priority or a facility carries."""
    number = prefix["pri"] or prefix["severity"]
    if number is not None:
        return SYSLOG_LEVELS[int(number) & 7]
    return SYSLOG_LEVELS[_FACILITY_LEVELS[prefix["word"]]] if prefix["word"] else None
