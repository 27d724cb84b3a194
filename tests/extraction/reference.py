"""The reference extractor: what a scan must find, written to be obviously right and not to be fast.

Plain `re`, no gate, no windows, no memory of what was seen: the whole text is cut into lines, and every pattern of
every rule is tried on every line.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from attribution.bundle.evidence import StreamKey
from attribution.bundle.names import NodeNames
from attribution.events.event import freeze
from attribution.extraction.clock import ClockRules
from attribution.extraction.envelopes import unwrap
from attribution.extraction.lines import Line, peel
from attribution.extraction.masking import mask
from attribution.extraction.scanner import MAX_FIELD, Scan
from attribution.rules.api import NOWHERE, Finding, Match
from attribution.rules.model import Extractor

ANSI = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\r\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_])?")
EXCEPTION = re.compile(r"(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80}(?:\(\w{1,80}\))?(?::|$)")
GUTTER = re.compile(r"( {0,80})(?:\+ Exception Group |\| )Traceback \(most recent call last\)")
TRACEBACK_LINES = 400
LOOKAHEAD_BYTES = 64 << 10

Found = tuple[Any, ...]
"""Rule id, number of the decisive line, symptom, fields, node, rank."""


@dataclass(frozen=True)
class Row:
    """One line of the text: its number, where it begins in the cleaned text, and what it says."""

    number: int
    start: int
    lines: tuple[Line, ...]


def rows_of(body: bytes, clock: ClockRules) -> list[Row]:
    """All lines. A carriage return ends one as a newline does, but only a newline counts."""
    rows, start = [], 0
    for number, counted in enumerate(body.decode("utf-8", "replace").replace("\r\n", "\n").split("\n"), 1):
        for text in ANSI.sub("", counted).replace("\0", "").split("\r"):
            rows.append(Row(number, start, read(text, clock)))
            start += len(text.encode()) + 1
    return rows


def read(text: str, clock: ClockRules) -> tuple[Line, ...]:
    """What a line says: itself, or the lines inside its record."""
    return unwrap(text, clock) or (peel(text, clock),)


class Reference:
    """Finds what the rules of one source find in a stream."""

    def __init__(self, rules: Sequence[Extractor], key: StreamKey, clock: ClockRules, names: NodeNames) -> None:
        self.rules = [(rule, [re.compile(p.replace(r"\z", r"\Z"), re.ASCII) for p in rule.patterns]) for rule in rules]
        self.key, self.clock, self.names = key, clock, names

    def find(self, body: bytes) -> Counter[Found]:
        """All findings, each with how often it was found."""
        rows = rows_of(body, self.clock)
        found = [
            (rule, index, self._found(rule, finding, node, rank, number))
            for index, row in enumerate(rows)
            for inner, line in enumerate(row.lines)
            for rule, patterns in self.rules
            for finding, node, rank, number in self._findings(rows, index, inner, line, rule, patterns)
        ]
        last = {rule.info.id: index for rule, index, _ in found if rule.last}
        return Counter(what for rule, index, what in found if last.get(rule.info.id, index) == index)

    def _findings(
        self, rows: list[Row], index: int, inner: int, line: Line, rule: Extractor, patterns: Sequence[re.Pattern[str]]
    ) -> Iterator[tuple[Finding, str | None, int | None, int]]:
        pattern = next((p for p in patterns if p.search(line.message)), None)
        if pattern is None:
            return
        message = mask(line.message)[0]
        found = pattern.search(message) or pattern.search(line.message)
        assert found is not None
        groups = {name: text and mask(text)[0] for name, text in found.groupdict().items()}
        joined = self._joined(rows, index, inner, line, rule)
        follow = tuple(mask(other.message)[0] for _, other in joined)
        if rule.follow_pattern is not None:
            further = re.search(rule.follow_pattern.replace(r"\z", r"\Z"), "\n".join(follow), re.ASCII)
            if further is None:
                return
            groups |= further.groupdict()
        node = self.names.known(line.host) or self.key.node or self.names.resolve(line.host)
        rank = line.rank if line.rank is not None else self.key.rank
        decisive = joined[-1][0] if rule.traceback and joined else rows[index]
        for finding in rule.find(Match(groups, message, self.key.source, node, rank, follow)):
            yield finding, node, rank, decisive.number

    def _joined(self, rows: list[Row], index: int, inner: int, line: Line, rule: Extractor) -> list[tuple[Row, Line]]:
        """The lines that belong to the record: of the same writer, up to the exception or as many as the rule wants."""
        if not (rule.traceback or rule.follow_lines):
            return []
        if rows[index].lines[inner + 1 :]:
            following = [(rows[index], other) for other in rows[index].lines[inner + 1 :]]
        else:
            limit = TRACEBACK_LINES if rule.traceback else 4 * rule.follow_lines
            last = rows[index + 1].start - 1 + LOOKAHEAD_BYTES if index + 1 < len(rows) else 0
            following = [
                (row, other)
                for row in rows[index + 1 : index + 1 + limit]
                if row.start < last
                for other in row.lines
                if other.writer == line.writer
            ]
        if not rule.traceback:
            return following[: rule.follow_lines]
        begun = "Traceback (most recent call last)" in line.message
        gutter = GUTTER.match(line.message)
        bar = f"{gutter[1]}| " if gutter else ""
        told = list(takewhile(lambda item: item[1].message.startswith(bar), following))
        following = [(row, replace(other, message=other.message[len(bar) :])) for row, other in told]
        for count, (_, other) in enumerate(following, 1):
            is_first = not begun and count == 1
            is_header = other.message.startswith("Traceback (most recent call last)")
            if is_header != is_first and not (is_first and other.message.startswith('  File "')):
                return []
            if not other.message[:1].isspace() and EXCEPTION.match(other.message):
                return following[:count]
        return []

    def _found(self, rule: Extractor, finding: Finding, node: str | None, rank: int | None, number: int) -> Found:
        fields = freeze({name: value and value[:MAX_FIELD] for name, value in finding.fields.items()})
        if finding.node == NOWHERE:
            return (rule.info.id, number, finding.symptom, fields, finding.device, None, finding.rank)
        node = self.names.resolve(finding.node) or node
        rank = finding.rank if finding.rank is not None else rank
        return (rule.info.id, number, finding.symptom, fields, finding.device, node, rank)


def found_by(scan: Scan) -> Counter[Found]:
    """The events of a scan in the same form."""
    return Counter((e.rule, e.line, e.symptom, e.fields, e.device, e.node, e.rank) for e in scan.events)
