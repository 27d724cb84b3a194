"""A record is told as a sentence of its decisive fields, with its place in the document."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

MAX_SENTENCES = 100_000
"""Sentences of one document; the rest is counted as damage."""

MAX_WORDS = 600
"""Characters of a message that a sentence repeats."""

_NEVER = 4_294_967_294
"""From this number of seconds on, Slurm means that there is no time."""


class Unreadable(ValueError):
    """The document is not what its format says; the message ends a sentence about it."""


@dataclass(frozen=True, slots=True)
class Told:
    """One sentence. `at` is its time as the record has it; `until` and `count` where it happened several times.

    `offset` and `line` (0-based) say where the record begins in the document. `attempt` names what ran, from `began` to
    `ended`, where the record tells that.
    """

    words: str
    offset: int = 0
    line: int = 0
    at: str | None = None
    until: str | None = None
    count: int = 1
    node: str | None = None
    attempt: str | None = None
    began: str | None = None
    ended: str | None = None

    def text(self) -> str:
        """The sentence as it is scanned and shown: time, place, words."""
        place = f"on node {self.node}:" if self.node else None
        return " ".join(filter(None, (self.at, place, self.words)))


@dataclass(frozen=True, slots=True)
class Placed:
    """A record of a document: its raw JSON and where it begins."""

    raw: bytes
    offset: int
    line: int

    def decode(self) -> Mapping[str, Any]:
        """The record, empty where it is no object."""
        try:
            found = msgspec.json.decode(self.raw)
        except (msgspec.DecodeError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(slots=True)
class Places:
    """Finds where records begin, in the order in which they stand."""

    body: bytes
    _offset: int = 0
    _line: int = field(default=0)

    def place(self, raws: Iterable[msgspec.Raw]) -> Iterator[Placed]:
        """Each record with its place."""
        for raw in raws:
            data = bytes(raw)
            offset = max(self.body.find(data, self._offset), self._offset)
            self._line += self.body.count(b"\n", self._offset, offset)
            self._offset = offset
            yield Placed(data, offset, self._line)


def plain(text: Any, limit: int = MAX_WORDS) -> str:
    """A text on one line, cut where it is long; empty where there is none."""
    words = " ".join(text.split()) if isinstance(text, str) else ""
    return words if len(words) <= limit else words[: limit - 1] + "…"


def stamp(seconds: Any) -> str | None:
    """Seconds since 1970 as a time in UTC; None where there is no time."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < _NEVER:
        return None
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> Sequence[Mapping[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
