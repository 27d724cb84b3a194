"""An envelope is a JSON record around a line: the line is unwrapped, and what the record knows of it is kept.

Known records are those of container runtimes, journald, log shippers, node-problem-detector and Loki. A line that is
JSON but none of these is a program's own text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from attribution.contracts.errors import EvidenceError, Place, Problem
from attribution.events.moment import Basis, Moment
from attribution.extraction.clock import SYSLOG_LEVELS, ClockRules, from_epoch, read_stamp
from attribution.extraction.lines import LEVELS, Line, peel

MAX_RECORD = 1 << 20
"""Characters of a record that are decoded; a longer one is plain text."""

MAX_LINES = 4096
"""Lines of one record that are told apart; the rest stays joined to the last."""

MAX_DEPTH = 4
"""Records within records that are unwrapped."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a record says: the text that was written, and where, when and by whom."""

    text: str
    moment: Moment | None = None
    boot_us: int | None = None
    host: str | None = None
    program: str | None = None
    writer: str = ""
    level: str | None = None
    rank: int | None = None


def unwrap(text: str, rules: ClockRules) -> tuple[Line, ...] | None:
    """The lines inside the JSON record that `text` carries, or None if it carries none. Never raises.

    Prefixes before the record and within its text are peeled. Where several tell the same thing the outermost UTC time
    wins, the record's host, and of rank, program and level the innermost.
    """
    outer = peel(text, rules)
    lines = _unwrap(outer, rules, MAX_DEPTH)
    return None if lines == (outer,) else lines


def decode(text: str, rules: ClockRules) -> Record | None:
    """The record that `text` is, or None if it is none that is known."""
    if len(text) > MAX_RECORD or not text.startswith("{"):
        return None
    try:
        found = _DECODER.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return _journal(found) if "MESSAGE" in found else _shipped(found, rules)


def _unwrap(outer: Line, rules: ClockRules, depth: int) -> tuple[Line, ...]:
    record = decode(outer.message, rules) if depth else None
    if record is None:
        return (outer,)
    found: list[Line] = []
    for text in record.text.removesuffix("\n").split("\n", MAX_LINES - 1):
        inner = _within(outer, record, peel(text.removesuffix("\r"), rules))
        found += _unwrap(inner, rules, depth - 1)
    return tuple(found)


def _within(outer: Line, record: Record, inner: Line) -> Line:
    return replace(
        inner,
        moment=_best(outer.moment, record.moment, inner.moment),
        boot_us=_first(record.boot_us, inner.boot_us, outer.boot_us),
        host=_first(record.host, outer.host, inner.host),
        rank=_first(inner.rank, record.rank, outer.rank),
        program=_first(inner.program, record.program, outer.program),
        writer=" ".join(filter(None, (outer.writer, record.writer, inner.writer))),
        level=_first(inner.level, record.level, outer.level),
    )


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _best(*moments: Moment | None) -> Moment | None:
    """The first UTC moment, else the first of any basis."""
    known = [moment for moment in moments if moment is not None]
    return next((moment for moment in known if moment.basis is Basis.UTC), known[0] if known else None)


# --- journald -------------------------------------------------------------------------------------------------------


def _journal(record: Mapping[str, Any]) -> Record | None:
    """A record of `journalctl -o json`. Values are strings, arrays of bytes, or arrays of either if a field repeats."""
    text = _journal_text(record.get("MESSAGE"))
    if text is None or not ("__REALTIME_TIMESTAMP" in record or "_HOSTNAME" in record or "PRIORITY" in record):
        return None
    host, program = (_journal_text(record.get(name)) for name in ("_HOSTNAME", "SYSLOG_IDENTIFIER"))
    program = program or _journal_text(record.get("_COMM"))
    boot = _journal_text(record.get("_SOURCE_MONOTONIC_TIMESTAMP") or record.get("__MONOTONIC_TIMESTAMP"))
    return Record(
        text=text,
        moment=_microseconds(_journal_text(record.get("__REALTIME_TIMESTAMP"))),
        boot_us=int(boot) if boot and _is_count(boot) else None,
        host=host or None,
        program=program or None,
        writer=" ".join(filter(None, (host, program))),
        level=_severity(_journal_text(record.get("PRIORITY"))),
    )


def _journal_text(value: Any) -> str | None:
    if isinstance(value, list) and value:
        if all(isinstance(item, int) and 0 <= item <= 255 for item in value):
            return bytes(value).decode("utf-8", "replace")
        value = value[0] if isinstance(value[0], str) else None
    return value if isinstance(value, str) else None


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _microseconds(text: str | None) -> Moment | None:
    return Moment(int(text), 1) if text and _is_count(text) else None


# --- container runtimes and log shippers ----------------------------------------------------------------------------

_TEXTS = ("message", "msg", "log", "body", "text")
_TIMES = ("time", "timestamp", "@timestamp", "ts", "asctime", "observed_timestamp", "date")
_HOSTS = ("host", "hostname", "node", "nodename", "node_name")
_LEVELS = ("level", "severity", "levelname", "severity_text", "priority")
_PROGRAMS = ("appname", "program", "ident", "SYSLOG_IDENTIFIER")
_RANKS = ("rank", "global_rank")
_GROUPS = ("attributes", "resources", "resource", "labels", "kubernetes")
_ERRORS = ("error", "err", "exception", "exc_info", "exc_text", "traceback", "stack_trace", "stacktrace", "stack")
_MARKS = frozenset((*_TIMES, *_HOSTS, *_LEVELS, "stream"))
_PLAIN_TEXTS = frozenset(_TEXTS[:3])
_NPD_EVENT = "NPD caught event"


def _shipped(record: Mapping[str, Any], rules: ClockRules) -> Record | None:
    """A record whose keys say that it was written around a line; a lone text may do if no data set calls it so."""
    name = next((name for name in _TEXTS if _text(record.get(name)) is not None), None)
    groups = [record, *(group for key in _GROUPS if isinstance(group := record.get(key), dict))]
    details = record.get("details")
    npd = record.get("msg") == _NPD_EVENT and isinstance(details, dict) and isinstance(details.get("message"), str)
    lone = len(record) == 1 and name in _PLAIN_TEXTS
    if name is None or not (npd or lone or len(groups) > 1 or _MARKS.intersection(record)):
        return None
    groups += [group["attributes"] for group in groups[1:] if isinstance(group.get("attributes"), dict)]
    if npd and details:
        text, level = details["message"], _level(details) or _level(record)
    else:
        text, level = _whole_text(record, name), _level(record)
    host, program = _named(groups, _HOSTS), _named(groups, _PROGRAMS)
    pod, container = _named(groups, ("pod_name", "pod")), _named(groups, ("container_name", "container"))
    place = f"pod/{pod}/{container}" if pod and container else f"pod/{pod}" if pod else None
    tags = (host if program else None, program, place, _text(record.get("stream")))
    moment = next((moment for key in _TIMES if (moment := _moment(record.get(key), rules)) is not None), None)
    rank = next((n for key in _RANKS if type(n := record.get(key)) is int and 0 <= n < 10**6), None)
    return Record(text, moment, None, host or pod, program, " ".join(filter(None, tags)), level, rank)


def _whole_text(record: Mapping[str, Any], name: str) -> str:
    """The text under that name, and on lines of their own the errors that structured loggers keep beside it."""
    text = (_text(record[name]) or "").removesuffix("\n")
    errors = [error for key in _ERRORS if isinstance(error := record.get(key), str) and error and error not in text]
    return "\n".join([text, *errors])


def _text(value: Any) -> str | None:
    """A text, as it is or as OpenTelemetry wraps it."""
    if isinstance(value, dict):
        value = value.get("stringValue")
    return value if isinstance(value, str) else None


def _named(groups: list[Any], names: tuple[str, ...]) -> str | None:
    """The first non-empty text under one of the names, in the order of the groups."""
    found = (value for group in groups for name in names if isinstance(value := group.get(name), str) and value)
    host = next(found, None)
    return host if host is None or len(host) <= 253 else None


def _moment(value: Any, rules: ClockRules) -> Moment | None:
    if isinstance(value, str):
        stamp = read_stamp(value, rules)
        return stamp[0] if stamp else from_epoch(value)
    return from_epoch(value)


def _level(record: Mapping[str, Any]) -> str | None:
    found = next((value for name in _LEVELS if isinstance(value := record.get(name), str | int)), None)
    if isinstance(found, int):
        return SYSLOG_LEVELS[found] if 0 <= found < len(SYSLOG_LEVELS) else None
    word = (found or "").lower()
    return LEVELS.get(word) or _severity(word)


def _severity(digit: str | None) -> str | None:
    return SYSLOG_LEVELS[int(digit)] if digit and digit in "01234567" and len(digit) == 1 else None


def _digits(number: str) -> str:
    return number


# floats stay the digits that were printed: they tell the resolution of a time
_DECODER = msgspec.json.Decoder(float_hook=_digits)


# --- Loki -----------------------------------------------------------------------------------------------------------


class _Stream(msgspec.Struct):
    stream: dict[str, str]
    values: list[list[str | int | dict[str, Any]]]


class _Result(msgspec.Struct, rename={"kind": "resultType"}):
    result: list[_Stream]
    kind: str = "streams"


class _Answer(msgspec.Struct):
    data: _Result | None = None
    streams: list[_Stream] | None = None


_STREAMS, _ANSWER = msgspec.json.Decoder(list[_Stream]), msgspec.json.Decoder(_Answer)


def explode_loki(body: bytes) -> Iterator[tuple[int, dict[str, str], str]]:
    """Entries of Loki streams in the order given: nanoseconds since 1970, labels, line.

    `body` is an array of streams, the answer of Loki's query API, or what its push API takes. Structured metadata of an
    entry is added to its labels where they do not say it. An empty body has no entries. Raises EvidenceError when the
    first entry is asked for, if the body is anything else or was cut short.
    """
    for stream in _streams(body):
        for value in stream.values:
            match value:
                case [str() | int() as ns, str() as line, *rest]:
                    yield _nanoseconds(ns), _labels(stream.stream, rest), line
                case _:
                    raise _no_loki("holds an entry that is not a time and a line")


def _streams(body: bytes) -> list[_Stream]:
    start = body[:256].lstrip()[:1]
    if not start and not body.strip():
        return []
    try:
        if start == b"[":
            return _STREAMS.decode(body)
        answer = _ANSWER.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _no_loki(f"cannot be read as Loki streams: {error}") from None
    if answer.data is not None and answer.data.kind == "streams":
        return answer.data.result
    if answer.streams is None:
        raise _no_loki("holds no log streams")
    return answer.streams


def _nanoseconds(ns: str | int) -> int:
    text = str(ns) if isinstance(ns, int) and abs(ns) < 10**19 else ns
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 19:
        return int(text)
    raise _no_loki("holds an entry whose time is no count of nanoseconds")


def _labels(labels: dict[str, str], rest: list[str | int | dict[str, Any]]) -> dict[str, str]:
    metadata = rest[0] if rest else None
    if not isinstance(metadata, dict):
        return labels
    groups = [metadata, *(group for group in metadata.values() if isinstance(group, dict))]
    added = {name: value for group in groups for name, value in group.items() if isinstance(value, str)}
    return {**added, **labels}


def _no_loki(message: str) -> EvidenceError:
    remedy = "give a whole answer of Loki's query API, or send the lines as text"
    return EvidenceError([Problem(Place("body"), "E002", message, remedy)])
