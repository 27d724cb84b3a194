"""The compact notation of cases: one line of text per raw line, event, symptom or decision."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from attribution.contracts.vocabulary import DeviceKind, Source
from attribution.events.event import Device, Event
from attribution.events.moment import SECOND

CASE_EPOCH_US = 1_767_225_600 * SECOND
"""2026-01-01T00:00:00Z: second 0 of every case."""

MAX_SECS = 1_000_000_000
"""How far from second 0 a line of a case may be: some thirty years."""

_SOURCES = frozenset(source.value for source in Source)
_KINDS = frozenset(kind.value for kind in DeviceKind)
_RAW = re.compile(r"^(?P<who>\S+) \+(?P<secs>\d+(?:\.\d+)?)s (?P<source>[a-z_]+) \|(?: (?P<line>.*))?$")
_FACT = re.compile(r"^(?P<who>\S+) \+(?P<secs>\d+(?:\.\d+)?)s (?P<symptom>[A-Z][A-Z0-9_]*)(?P<rest>(?: .*)?)$")
_WHO = re.compile(r"^(?P<node>[^/]+?)(?:\.rank(?P<rank>\d{1,8}))?(?:/(?P<stream>.+))?$")
_FIELD = re.compile(r' (?P<name>[a-z_0-9]+)=(?:"(?P<quoted>[^"]*)"|(?P<plain>\S*))')
_DEVICE = re.compile(r"^ (?P<kind>[a-z_]+):(?P<ids>\S+)")
_DECISION = re.compile(
    r"^(?P<verb>demote|keep|attribute|note) (?P<node>\S+) (?P<symptom>[A-Z][A-Z0-9_]*)"
    r"(?: by (?P<by_node>\S+) (?P<by>[A-Z][A-Z0-9_]*))?(?P<rest>(?: \S+=\S+)*)$"
)
_EVENT_DECISION = re.compile(r"^(?P<verb>absorb|context|annotate|derive) (?P<fact>.+)$")


class NotationError(ValueError):
    """A line of a case that is none of the known forms."""

    def __init__(self, number: int, line: str, forms: str) -> None:
        super().__init__(f"line {number} `{line}` is not {forms}")
        self.number = number


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of evidence as some program wrote it."""

    node: str | None
    rank: int | None
    stream: str
    us: int
    source: Source
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """An event or a symptom. `device` and `fields` hold only what the line names."""

    node: str | None
    rank: int | None
    us: int
    symptom: str
    device: Device | None = None
    fields: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.text(with_time=True)

    def text(self, *, with_time: bool) -> str:
        """The line that reads as this fact."""
        who = (self.node or "-") + (f".rank{self.rank}" if self.rank is not None else "")
        parts = [who, *([f"+{self.us / SECOND:.1f}s"] if with_time else []), self.symptom]
        if self.device:
            ids = ",".join(f"{name}={value}" for name, value in self.device.ids)
            parts.append(f"{self.device.kind.value}:{ids}")
        parts += [f'{k}="{v}"' if not v or any(map(str.isspace, v)) else f"{k}={v}" for k, v in self.fields]
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """A decision of a refiner or relation."""

    verb: str
    node: str
    symptom: str
    by_node: str | None = None
    by: str | None = None
    fields: tuple[tuple[str, str], ...] = field(default=())

    def __str__(self) -> str:
        by = f" by {self.by_node} {self.by}" if self.by else ""
        return f"{self.verb} {self.node} {self.symptom}{by}" + "".join(f" {k}={v}" for k, v in self.fields)


@dataclass(frozen=True, slots=True)
class EventDecisionLine:
    """A decision of a filter."""

    verb: str
    fact: Fact
    into: Fact | None = None

    def __str__(self) -> str:
        return f"{self.verb} {self.fact}" + (f" into {self.into}" if self.into else "")


def parse_given(text: str) -> tuple[RawLine | Fact, ...]:
    """The lines of `given`. Raises NotationError."""

    def one(number: int, line: str) -> RawLine | Fact:
        match = _RAW.match(line)
        if match and match["source"] in _SOURCES:
            node, rank, stream = _who(match["who"])
            return RawLine(
                node, rank, stream, _us(number, line, match["secs"]), Source(match["source"]), match["line"] or ""
            )
        if _FACT.match(line):
            return parse_fact(number, line)
        raise NotationError(number, line, "`node-01 +0.0s applog | text` or `node-01 +0.0s SYMPTOM field=value`")

    return _lines(text, one)


def parse_facts(text: str) -> tuple[Fact, ...]:
    """The lines of an extractor's `expect`; `none` is no line. Raises NotationError."""
    return () if text.strip() == "none" else _lines(text, parse_fact)


def parse_fact(number: int, line: str) -> Fact:
    """One event or symptom. Raises NotationError."""
    match = _FACT.match(line)
    if not match:
        raise NotationError(number, line, "`node-01 +0.0s SYMPTOM kind:id=value field=value`")
    node, rank, _ = _who(match["who"])
    device, rest = None, match["rest"]
    named = _DEVICE.match(rest)
    if named and named["kind"] in _KINDS:
        ids = {name: value for name, _, value in (pair.partition("=") for pair in named["ids"].split(","))}
        if "kind" in ids:
            raise NotationError(number, line, "a device whose ids are named otherwise than `kind`")
        device = Device.of(named["kind"], **ids)
        rest = rest[named.end() :]
    fields = [(m["name"], m["quoted"] if m["quoted"] is not None else m["plain"]) for m in _FIELD.finditer(rest)]
    if _FIELD.sub("", rest).strip():
        raise NotationError(number, line, "`node-01 +0.0s SYMPTOM kind:id=value field=value`")
    return Fact(node, rank, _us(number, line, match["secs"]), match["symptom"], device, tuple(sorted(fields)))


def parse_decisions(text: str) -> tuple[DecisionLine, ...]:
    """The lines of a refiner's or relation's `expect`. Raises NotationError."""

    def one(number: int, line: str) -> DecisionLine:
        match = _DECISION.match(line)
        if not match:
            raise NotationError(
                number, line, "`demote NODE SYMPTOM by NODE SYMPTOM`, `keep …`, `attribute …`, `note …`"
            )
        pairs = [pair.partition("=") for pair in match["rest"].split()]
        fields = tuple(sorted((name, value) for name, _, value in pairs))
        return DecisionLine(match["verb"], match["node"], match["symptom"], match["by_node"], match["by"], fields)

    return () if text.strip() == "none" else _lines(text, one)


def parse_event_decisions(text: str) -> tuple[EventDecisionLine, ...]:
    """The lines of a filter's `expect`. Raises NotationError."""

    def one(number: int, line: str) -> EventDecisionLine:
        match = _EVENT_DECISION.match(line)
        if not match:
            raise NotationError(
                number, line, "`absorb FACT into FACT`, `context FACT`, `annotate FACT` or `derive FACT`"
            )
        fact, _, into = match["fact"].partition(" into ")
        return EventDecisionLine(match["verb"], parse_fact(number, fact), parse_fact(number, into) if into else None)

    return () if text.strip() == "none" else _lines(text, one)


def fact_of(event: Event) -> Fact:
    """An event in the notation; its time counts from second 0 of the case."""
    us = event.moment.us - CASE_EPOCH_US if event.moment else 0
    return Fact(event.node, event.rank, us, event.symptom, event.device, event.fields)


def agrees(expected: Fact, actual: Fact) -> bool:
    """Whether an actual fact is the expected one: what the expectation does not name is not compared."""
    return (
        (expected.node, expected.symptom) == (actual.node, actual.symptom)
        and abs(expected.us - actual.us) < SECOND // 20
        and (expected.rank is None or expected.rank == actual.rank)
        and (expected.device is None or expected.device == actual.device)
        and set(expected.fields) <= set(actual.fields)
    )


def differences(expected: Sequence[Fact], actual: Sequence[Fact]) -> list[str]:
    """What is missing and what is extra, both ways; empty if they agree."""
    left = list(actual)
    lines = []
    for fact in expected:
        found = next((item for item in left if agrees(fact, item)), None)
        if found is None:
            lines.append(f"missing: {fact}")
        else:
            left.remove(found)
    return lines + [f"extra:   {fact}" for fact in left]


def _lines(text: str, one: Callable[[int, str], object]) -> tuple:  # type: ignore[type-arg]
    rows = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return tuple(one(number, line) for number, line in rows)


def _who(text: str) -> tuple[str | None, int | None, str]:
    match = _WHO.match(text)
    if not match:
        return None, None, ""
    node = None if match["node"] == "-" else match["node"]
    return node, int(match["rank"]) if match["rank"] else None, match["stream"] or ""


def _us(number: int, line: str, secs: str) -> int:
    if float(secs) > MAX_SECS:
        raise NotationError(number, line, f"within {MAX_SECS} seconds of the case's start")
    return round(float(secs) * SECOND)
