"""Entries are read from Loki in pages, in order of their times, none lost and none twice.

A page may end within one instant. The next one begins at that instant again, and what was seen is left out: entries of
a stream with the same time and text are one. An instant with more entries than a page holds cannot be passed so; what
lies there beyond the page is noted as lost. A range that the server will not look through at once is halved.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import merge

import msgspec

from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.calls import Refused, Why
from attribution.blueprint.connectors.http import Call

QUERY_RANGE = "/loki/api/v1/query_range"
_SHORTEST_NS = 10**9
_MOST_ENTRIES = re.compile(r"max_entries_limit_per_query \(\d+ > (\d+)\)")
_TOO_LONG = ("query time range exceeds", "request timed out", "context deadline exceeded", "too many chunks")
_HALVED_STATUSES = {504}

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One entry of one stream: nanoseconds since 1970, the stream's labels sorted by name, and the text."""

    ns: int
    labels: Labels
    line: str


class _Stream(msgspec.Struct):
    stream: dict[str, str]
    values: list[list[str | dict[str, object]]]


class _Data(msgspec.Struct, rename={"kind": "resultType"}):
    result: list[_Stream]
    kind: str


class _Answer(msgspec.Struct):
    status: str
    data: _Data


_DECODER = msgspec.json.Decoder(_Answer)


@dataclass(slots=True)
class Pages:
    """Reads the entries of queries from `start` to before `end`, nanoseconds, in pages of at most `limit`.

    `notes` are the reasons why not all of them were read.
    """

    call: Call
    limit: int
    slice_ns: int
    notes: list[str] = field(default_factory=list)

    def merged(self, queries: tuple[str, ...], start: int, end: int, backward: bool = False) -> Iterator[Entry]:
        """The entries that any of the queries gives, each once, in order of their times, or the latest first."""
        if len(queries) == 1:
            yield from self.entries(queries[0], start, end, backward)
            return
        seen: set[Entry] = set()
        now = -1
        each = (self.entries(query, start, end, backward) for query in queries)
        for entry in merge(*each, key=lambda entry: entry.ns, reverse=backward):
            if entry.ns != now:
                now, seen = entry.ns, set()
            if entry not in seen:
                seen.add(entry)
                yield entry

    def entries(self, query: str, start: int, end: int, backward: bool = False) -> Iterator[Entry]:
        """The entries of one query in order of their times, or the latest first."""
        starts = range(start, end, self.slice_ns)
        slices = [_Slice(at, min(at + self.slice_ns, end), backward) for at in (starts if backward else starts[::-1])]
        while slices:
            own = slices.pop()
            try:
                for page in self._pages(query, own):
                    yield from page
            except Refused as error:
                if not _may_be_halved(error) or own.end - own.start < 2 * _SHORTEST_NS:
                    raise
                slices += [own.split_off(), own]

    def _pages(self, query: str, own: "_Slice") -> Iterator[list[Entry]]:
        """The entries of a slice. Pages shrink where answers are too large, and grow again."""
        limit = ceiling = self.limit
        while own.start < own.end:
            try:
                found = self._page(query, own, limit)
            except Refused as error:
                allowed = _MOST_ENTRIES.search(error.text)
                if allowed and 0 < int(allowed[1]) < limit:
                    limit = ceiling = self.limit = int(allowed[1])
                elif error.why is Why.TOO_LARGE and limit > 1:
                    limit, ceiling = max(1, limit // 4), limit - 1
                else:
                    raise
                continue
            new = own.new(found)
            yield new
            if len(found) < limit:
                return
            if new or own.moves(found):
                own.move(found)
                ceiling = self.limit
            elif limit >= ceiling:
                at = _written(found[-1].ns)
                self.notes.append(f"at least {limit} entries have the time {at}; if there are more, they were not read")
                own.pass_by(found[-1].ns)
                ceiling = self.limit
            limit = min(ceiling, 2 * limit)

    def _page(self, query: str, own: "_Slice", limit: int) -> list[Entry]:
        direction = "backward" if own.backward else "forward"
        span = {"start": str(own.start), "end": str(own.end)}
        body = self.call.post(QUERY_RANGE, {"query": query, **span, "limit": str(limit), "direction": direction}).body
        try:
            answer = _DECODER.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ConnectorError(f"sent what is no answer of Loki: {error}") from None
        if answer.status != "success" or answer.data.kind != "streams":
            raise ConnectorError(f"answered a question for lines with `{answer.data.kind}`; ask for lines, not numbers")
        return sorted(_entries(answer.data.result), key=lambda entry: entry.ns, reverse=own.backward)


@dataclass(slots=True)
class _Slice:
    """A range of time of which less is left with each page; `seen` are entries at its edge that were given already."""

    start: int
    end: int
    backward: bool
    seen: set[Entry] = field(default_factory=set)

    def new(self, found: list[Entry]) -> list[Entry]:
        """The entries that were not given before."""
        return [entry for entry in found if entry not in self.seen] if self.seen else found

    def moves(self, found: list[Entry]) -> bool:
        """Whether the next page would begin elsewhere."""
        return found[-1].ns != (self.end - 1 if self.backward else self.start)

    def move(self, found: list[Entry]) -> None:
        """Go on at the instant of the last entry; what has its time is not given again."""
        last = found[-1].ns
        at_last = {entry for entry in found if entry.ns == last}
        self.seen = at_last if self.moves(found) else self.seen | at_last
        if self.backward:
            self.end = last + 1
        else:
            self.start = last

    def pass_by(self, ns: int) -> None:
        """Go on behind an instant."""
        self.seen = set()
        if self.backward:
            self.end = ns
        else:
            self.start = ns + 1

    def split_off(self) -> "_Slice":
        """The half that is read later; the other is left."""
        middle = (self.start + self.end) // 2
        if self.backward:
            later = _Slice(self.start, middle, True)
            self.start = middle
        else:
            later = _Slice(middle, self.end, False)
            self.end = middle
        return later


def _entries(streams: list[_Stream]) -> Iterator[Entry]:
    for stream in streams:
        labels = tuple(sorted(stream.stream.items()))
        for value in stream.values:
            match value:
                case [str() as ns, str() as line, *_] if ns.isascii() and ns.isdigit() and len(ns) < 20:
                    yield Entry(int(ns), labels, line)
                case _:
                    raise ConnectorError("sent an entry that is not a time and a line")


def _may_be_halved(error: Refused) -> bool:
    return error.status in _HALVED_STATUSES or any(words in error.text for words in _TOO_LONG)


def _written(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).isoformat().replace("+00:00", f".{ns % 10**9:09}Z")
