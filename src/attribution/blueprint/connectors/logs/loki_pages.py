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
from attribution.blueprint.connectors.http import Call, Refused, Why

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

    def merged(self, queries: tuple[str, ...], start: int, end: int) -> Iterator[Entry]:
        """The entries that any of the queries gives, each once, in order of their times."""
        if len(queries) == 1:
            yield from self.entries(queries[0], start, end)
            return
        seen: set[Entry] = set()
        now = -1
        for entry in merge(*(self.entries(query, start, end) for query in queries), key=lambda entry: entry.ns):
            if entry.ns != now:
                now, seen = entry.ns, set()
            if entry not in seen:
                seen.add(entry)
                yield entry

    def entries(self, query: str, start: int, end: int) -> Iterator[Entry]:
        """The entries of one query in order of their times."""
        starts = range(start, end, self.slice_ns)
        slices = [(_Reading(at), min(at + self.slice_ns, end)) for at in reversed(starts)]
        while slices:
            reading, until = slices.pop()
            try:
                for page in self._pages(query, reading, until):
                    yield from page
            except Refused as error:
                if not _may_be_halved(error) or until - reading.cursor < 2 * _SHORTEST_NS:
                    raise
                middle = (reading.cursor + until) // 2
                slices += [(_Reading(middle), until), (reading, middle)]

    def _pages(self, query: str, reading: "_Reading", end: int) -> Iterator[list[Entry]]:
        limit = self.limit
        while reading.cursor < end:
            try:
                found = self._page(query, reading.cursor, end, limit)
            except Refused as error:
                smaller = _smaller(error, limit)
                if smaller is None:
                    raise
                limit = smaller
                self.limit = min(self.limit, limit) if error.status is not None else self.limit
                continue
            yield reading.new(found)
            if len(found) < limit:
                return
            last = found[-1].ns
            if last == reading.cursor and found[0].ns == last:
                self.notes.append(
                    f"more than {limit} entries have the time {_written(last)}; those beyond were not read"
                )
                reading.move(last + 1, ())
            else:
                reading.move(last, found)

    def _page(self, query: str, start: int, end: int, limit: int) -> list[Entry]:
        form = {"query": query, "start": str(start), "end": str(end), "limit": str(limit), "direction": "forward"}
        body = self.call.post(QUERY_RANGE, form).body
        try:
            answer = _DECODER.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ConnectorError(f"sent what is no answer of Loki: {error}") from None
        if answer.status != "success" or answer.data.kind != "streams":
            raise ConnectorError(f"answered a question for lines with `{answer.data.kind}`; ask for lines, not numbers")
        return sorted(_entries(answer.data.result), key=lambda entry: entry.ns)


@dataclass(slots=True)
class _Reading:
    """How far a slice is read: entries at `cursor` that were given already are in `seen`."""

    cursor: int
    seen: set[Entry] = field(default_factory=set)

    def new(self, found: list[Entry]) -> list[Entry]:
        """The entries that were not given before."""
        return [entry for entry in found if entry not in self.seen] if self.seen else found

    def move(self, to: int, found: "list[Entry] | tuple[()]") -> None:
        """Go on at another instant; what was found there is not given again."""
        at_last = {entry for entry in found if entry.ns == to}
        self.seen = self.seen | at_last if to == self.cursor else at_last
        self.cursor = to


def _entries(streams: list[_Stream]) -> Iterator[Entry]:
    for stream in streams:
        labels = tuple(sorted(stream.stream.items()))
        for value in stream.values:
            match value:
                case [str() as ns, str() as line, *_] if ns.isascii() and ns.isdigit() and len(ns) < 20:
                    yield Entry(int(ns), labels, line)
                case _:
                    raise ConnectorError("sent an entry that is not a time and a line")


def _smaller(error: Refused, limit: int) -> int | None:
    """The page to ask for instead, if the answer was too large or the server allows only smaller ones."""
    if error.why is Why.TOO_LARGE and limit > 1:
        return max(1, limit // 4)
    allowed = _MOST_ENTRIES.search(error.text)
    return int(allowed[1]) if allowed and 0 < int(allowed[1]) < limit else None


def _may_be_halved(error: Refused) -> bool:
    return error.status in _HALVED_STATUSES or any(words in error.text for words in _TOO_LONG)


def _written(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).isoformat().replace("+00:00", f".{ns % 10**9:09}Z")
