"""A Series is one metric of one thing over time, however its samples were delivered.

Read are answers of the Prometheus HTTP API and lines of the text exposition format. Bodies are hostile: reading takes
time and memory linear in their size and never raises; what cannot be read is counted.
"""

import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from attribution.events.event import Sample

HOST_LABELS = ("Hostname", "hostname", "host", "node", "kubernetes_node", "exported_instance", "instance")
"""Labels that name the host, the most telling first. The last two carry a port."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_MILLISECONDS_FROM = 10**11
_YEAR_10000 = 253_402_300_800 * 1_000_000
_DEPTH = 4  # answer, data, result, item; a list of answers adds one
_REASON = 300
_DIGITS = 19
_LARGEST = sys.float_info.max

_BLANK = frozenset({"nan", "+nan", "-nan", "stale", "stalenan"})
_INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "+infinity": math.inf}
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_HEAD = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:.]*+)?(?:\s*+\{((?:[^"}]|"(?:[^"\\]|\\.)*+")*+)\}|(?=\s))')
_LABEL = re.compile(r'\s*+([a-zA-Z_][a-zA-Z0-9_:.]*+)\s*+=\s*+"((?:[^"\\]|\\.)*+)"\s*+(?:,\s*+|$)')
_ESCAPE = re.compile(r'\\([\\"n])')

Labels = tuple[tuple[str, str], ...]
Identity = tuple[str, Labels]


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one thing. `labels` are sorted and lack `__name__`; `samples` are sorted by time, one an instant.

    `name` is empty where the query took it away. An empty label is the same as none, so there is none.
    """

    name: str
    labels: Labels
    samples: tuple[Sample, ...]

    @staticmethod
    def of(metric: Mapping[str, str], samples: Iterable[Sample]) -> "Series":
        """A series from labels among which `__name__` may be; the samples may come in any order, several an instant."""
        held: dict[int, float | None] = {}
        _hold(held, samples)
        return Series(*_identity(metric), _released(held))

    def get(self, label: str) -> str | None:
        """One label, or None."""
        for name, value in self.labels:
            if name == label:
                return value
        return None


def _identity(metric: Mapping[str, str]) -> Identity:
    labels = sorted((label, value) for label, value in metric.items() if value and label != "__name__")
    return metric.get("__name__", ""), tuple(labels)


# --- joining ------------------------------------------------------------------------------------------------------


def merge(series: Iterable[Series]) -> tuple[Series, ...]:
    """The same series delivered in pieces, overlapping, twice or in any order is one; the answer is sorted.

    Where two samples of one instant differ, a number beats a blank, and the smaller number beats the larger one.
    """
    held: dict[Identity, dict[int, float | None]] = {}
    for piece in series:
        _hold(held.setdefault((piece.name, piece.labels), {}), piece.samples)
    return tuple(Series(name, labels, _released(held[name, labels])) for name, labels in sorted(held))


def _hold(held: dict[int, float | None], samples: Iterable[Sample]) -> None:
    for sample in samples:
        value = sample.value
        if value is not None:
            value = None if math.isnan(value) else value + 0.0  # of the two zeros, the positive one
        known = held.get(sample.us)
        if known is None or (value is not None and value < known):
            held[sample.us] = value


def _released(held: Mapping[int, float | None]) -> tuple[Sample, ...]:
    return tuple(Sample(us, held[us]) for us in sorted(held))


# --- whose it is --------------------------------------------------------------------------------------------------


def host_of(series: Series, aliases: Mapping[str, str]) -> str | None:
    """The node that a series is about, or None where no label says.

    `aliases` gives the node for every name it goes by, its own included. A label whose value is known there counts
    more than an earlier one whose value is not (an exporter in a pod may say the pod's name); a domain may be absent
    from `aliases`. If none is known, it is the first label that names a host other than the loopback.
    """
    names = [host for label in HOST_LABELS if (host := _host(label, series.get(label)))]
    for name in names:
        short = name if name.replace(".", "").isdigit() else name.partition(".")[0]
        for form in (name, short):
            if form in aliases:
                return aliases[form]
    return next((name for name in names if name not in _LOOPBACK), None)


def _host(label: str, value: str | None) -> str | None:
    if value is None or not label.endswith("instance"):
        return value
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return value.partition(":")[0] if value.count(":") == 1 else value


# --- reading ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    at_us: int | None
    found: dict[Identity, list[Sample]] = field(default_factory=dict)
    heads: dict[str, Identity] = field(default_factory=dict)  # lines repeat them; reading one is dear
    unreadable: int = 0
    refusals: set[str] = field(default_factory=set)


def read_series(body: bytes, at_us: int | None = None) -> tuple[tuple[Series, ...], int]:
    """The series of a body, merged and sorted, and how many answers, items, lines and samples could not be read.

    A body is an answer of the Prometheus API (matrix or vector; whole, or only its `data` or `result`), several of
    them, one a line, or exposition lines. An answer that says `error` is readable and has no series: see `refusal`.
    `at_us` is when exposition lines without a time were read; without it they are unreadable.
    """
    reading = _read(body, at_us)
    series = merge(Series(*identity, tuple(samples)) for identity, samples in reading.found.items())
    return series, reading.unreadable


def refusal(body: bytes) -> str | None:
    """Why the server did not answer, as it says itself, or None. Several reasons are sorted and joined."""
    return "; ".join(sorted(_read(body, None).refusals)) or None


def _read(body: bytes, at_us: int | None) -> _Reading:
    reading = _Reading(at_us)
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    whole = _json(text)
    if whole is not None:
        _read_answer(whole, reading)
        return reading
    for line in text.split("\n"):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        answer = _json(line)
        if answer is not None:
            _read_answer(answer, reading)
        else:
            _read_line(line, reading)
    return reading


def _json(text: str) -> Any:
    """A JSON object or array, or None where the text is neither."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def _read_answer(answer: Any, reading: _Reading, depth: int = 0) -> None:
    if depth > _DEPTH or not isinstance(answer, list | dict):
        reading.unreadable += 1
    elif isinstance(answer, list):
        for part in answer:
            _read_answer(part, reading, depth + 1)
    elif answer.get("status") == "error":
        reading.refusals.add(_reason(answer))
    elif "metric" in answer:
        _read_item(answer, reading)
    elif "data" in answer:
        _read_answer(answer["data"], reading, depth + 1)
    elif "result" in answer and answer.get("resultType") not in ("scalar", "string"):
        _read_answer(answer["result"], reading, depth + 1)
    else:
        reading.unreadable += 1


def _reason(answer: Mapping[str, Any]) -> str:
    kind, words = answer.get("errorType"), answer.get("error")
    return f"{kind if isinstance(kind, str) else 'error'}: {words if isinstance(words, str) else 'no reason'}"[:_REASON]


def _read_item(item: Mapping[str, Any], reading: _Reading) -> None:
    metric = item["metric"]
    pairs = item["values"] if "values" in item else [item["value"]] if "value" in item else None
    if not _is_metric(metric) or not isinstance(pairs, list):
        reading.unreadable += 1
        return
    if "histogram" in item or "histograms" in item:
        reading.unreadable += 1
    samples = []
    for pair in pairs:
        try:
            samples.append(_sample(pair))
        except ValueError:
            reading.unreadable += 1
    if samples:
        reading.found.setdefault(_identity(metric), []).extend(samples)


def _sample(pair: Any) -> Sample:
    if not isinstance(pair, list) or len(pair) != 2:
        raise ValueError("not a time and a value")
    return Sample(_instant(pair[0]), _value(pair[1]))


def _is_metric(metric: Any) -> bool:
    return isinstance(metric, dict) and all(isinstance(value, str) for value in metric.values())


def _read_line(line: str, reading: _Reading) -> None:
    try:
        head = _HEAD.match(line)
        if head is None:
            raise ValueError("no name and no labels")
        identity = reading.heads.get(head[0])
        if identity is None:
            identity = reading.heads[head[0]] = _identity(_labels(head[2] or "", head[1]))
        value, *rest = line[head.end() :].partition(" #")[0].split()
        if len(rest) > 1 or not (rest or reading.at_us is not None):
            raise ValueError("no time, or more than a value and a time")
        sample = Sample(_instant(rest[0]) if rest else reading.at_us or 0, _value(value))
        reading.found.setdefault(identity, []).append(sample)
    except ValueError:
        reading.unreadable += 1


def _labels(text: str, name: str | None) -> dict[str, str]:
    """The labels between the braces of an exposition line. ValueError if they are not labels, or no name is known."""
    metric = {"__name__": name} if name else {}
    position = 0
    while position < len(text):
        match = _LABEL.match(text, position)
        if match is None or match[1] in metric:
            if not text[position:].strip():
                break
            raise ValueError("no label, or one that was there before")
        metric[match[1]] = _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], match[2])
        position = match.end()
    if not metric.get("__name__"):
        raise ValueError("no name")
    return metric


def _instant(raw: Any) -> int:
    """Microseconds since 1970. ValueError if it is no time from 1970 to 9999.

    Seconds, if there is a decimal point or the number is below 100,000,000,000; else milliseconds.
    """
    number = _finite(raw)
    has_point = "." in raw if isinstance(raw, str) else isinstance(raw, float)
    unit = 1_000_000 if has_point or number < _MILLISECONDS_FROM else 1_000
    if not 0 <= number < _YEAR_10000 // unit:
        raise ValueError("not a time")
    return round(number * unit)


def _value(raw: Any) -> float | None:
    """A number, or None for a blank. ValueError if it is neither."""
    if raw is None:
        return None
    if isinstance(raw, str):
        word = raw.lower()
        if word in _BLANK:
            return None
        if word in _INFINITE:
            return _INFINITE[word]
    return float(_finite(raw))


def _finite(raw: Any) -> int | float:
    """A number of JSON, or the text of one. ValueError if it is none, or larger than a server can mean."""
    if isinstance(raw, str):
        if not _NUMBER.fullmatch(raw):
            raise ValueError("not a number")
        raw = int(raw) if raw.isdigit() and len(raw) < _DIGITS else float(raw)
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not abs(raw) <= _LARGEST:
        raise ValueError("not a number")
    return raw
