"""A batch is judged against what its session holds: each observation is new, held already, or refused with a reason."""

import bisect
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Connection, Select, String, column, select, values

from attribution.bundle.evidence import LINE_FORMATS
from attribution.contracts.exchange import ObservationAnswer
from attribution.contracts.observation import Observation
from attribution.store.codec import pack, to_json, unpack
from attribution.store.identity import stream_id, stream_key
from attribution.store.schema import observations as table
from attribution.store.statements import portions

_LARGEST_OFFSET = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The most that one session holds. Bytes are those of the bodies, decoded."""

    observations: int
    bytes: int
    observation_bytes: int


@dataclass(frozen=True, slots=True)
class Totals:
    """What a session holds. `largest` is the size of its largest body; `content` names all digests."""

    observations: int
    bytes: int
    largest: int
    content: str


@dataclass(frozen=True, slots=True)
class Piece:
    """One observation of a batch with the row it would become."""

    index: int
    observation: Observation
    row: dict[str, Any]

    @property
    def size(self) -> int:
        """Bytes of the body as the engine reads it."""
        return int(self.row["end"]) - int(self.row["start"])


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Where a body stands in its stream."""

    start: int
    digest: str
    end: int = field(compare=False)
    lines: bool = field(compare=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answers in the order of the batch, the rows to insert, and the totals with them."""

    answers: list[ObservationAnswer]
    rows: list[dict[str, Any]]
    totals: Totals


def as_read(body: str) -> bytes:
    """A body as the engine reads it: half a surrogate pair is a question mark."""
    return body.encode("utf-8", "replace")


def held_digests(connection: Connection, session_id: str, digests: Sequence[str]) -> set[str]:
    """Which of these the session holds."""
    held: set[str] = set()
    for some in portions(digests):
        rows = connection.execute(
            select(table.c.digest).where(table.c.session_id == session_id, table.c.digest.in_(some))
        )
        held.update(row.digest for row in rows)
    return held


def prepare(
    session_id: str, batch: Sequence[tuple[int, Observation]], held: set[str], limits: SessionLimits
) -> list[Piece]:
    """The batch with its rows. Bodies that will not be kept are not compressed."""
    pieces, seen = [], set(held)
    for index, observation in batch:
        body = as_read(observation.body)
        wanted = observation.digest not in seen and len(body) <= limits.observation_bytes
        seen.add(observation.digest)
        pieces.append(Piece(index, observation, _row(session_id, observation, len(body), wanted)))
    return pieces


def _row(session_id: str, observation: Observation, size: int, wanted: bool) -> dict[str, Any]:
    key = stream_key(observation)
    raw = observation.body.encode("utf-8", "surrogatepass") if wanted else b""
    return {
        "session_id": session_id,
        "digest": observation.digest,
        "stream_id": stream_id(key),
        "stream_key": key,
        "start": observation.offset,
        "end": observation.offset + size,
        "format": observation.format.value,
        "description": to_json(observation, exclude={"body"}),
        "raw_size": len(raw),
        "body": pack(raw),
    }


def judge(
    connection: Connection,
    session_id: str,
    pieces: Sequence[Piece],
    held: set[str],
    totals: Totals,
    limits: SessionLimits,
) -> Verdict:
    """Decide about each piece in order, against what is held and what the batch brought before it."""
    streams = _held_spans(connection, session_id, pieces, totals.largest)
    bodies = _Bodies(connection, session_id)
    answers, rows, seen = [], [], set(held)
    for piece in pieces:
        digest = piece.observation.digest
        if digest in seen:
            answers.append(ObservationAnswer(index=piece.index, digest=digest, outcome="duplicate"))
            continue
        spans = streams[piece.row["stream_id"]]
        reason = _beyond(piece, totals, limits) or _conflict(piece, spans, bodies)
        if reason:
            answers.append(ObservationAnswer(index=piece.index, digest=digest, outcome="rejected", reason=reason))
            continue
        answers.append(ObservationAnswer(index=piece.index, digest=digest, outcome="accepted"))
        rows.append(piece.row)
        seen.add(digest)
        spans.add(_span(piece))
        bodies.fresh[digest] = piece.observation
        totals = Totals(
            observations=totals.observations + 1,
            bytes=totals.bytes + piece.size,
            largest=max(totals.largest, piece.size),
            content=hashlib.blake2b((totals.content + digest).encode(), digest_size=16).hexdigest(),
        )
    return Verdict(answers, rows, totals)


def _beyond(piece: Piece, totals: Totals, limits: SessionLimits) -> str | None:
    """Which limit the piece would break, in the words of the answer."""
    if piece.size > limits.observation_bytes:
        return f"limit: its body has {piece.size} bytes, and {limits.observation_bytes} are allowed"
    if piece.row["end"] > _LARGEST_OFFSET:
        return "limit: its offset is beyond 64 bits"
    if totals.observations >= limits.observations:
        return f"limit: the session holds {totals.observations} observations, and no more are allowed"
    if totals.bytes + piece.size > limits.bytes:
        return f"limit: the session would hold {totals.bytes + piece.size} bytes, and {limits.bytes} are allowed"
    return None


@dataclass(slots=True)
class _Spans:
    """Bodies of one stream by where they begin. None is longer than `largest`, so few can reach into another."""

    held: list[Span]
    largest: int

    def add(self, span: Span) -> None:
        bisect.insort(self.held, span)
        self.largest = max(self.largest, span.end - span.start)

    def overlapping(self, span: Span) -> Iterator[Span]:
        """Those that share a byte with `span`, in order."""
        first = bisect.bisect_left(self.held, span.start - self.largest, key=lambda s: s.start)
        for other in self.held[first:]:
            if other.start >= span.end:
                break
            if min(other.end, span.end) > max(other.start, span.start):
                yield other


def _span(piece: Piece) -> Span:
    lines = piece.observation.format in LINE_FORMATS
    return Span(piece.observation.offset, piece.observation.digest, piece.row["end"], lines)


def _held_spans(connection: Connection, session_id: str, pieces: Sequence[Piece], largest: int) -> dict[str, _Spans]:
    """What is held in the reach of the batch, by stream."""
    reach: dict[str, tuple[int, int]] = {}
    for piece in pieces:
        start, end = reach.get(piece.row["stream_id"], (_LARGEST_OFFSET, 0))
        end = min(max(end, piece.row["end"]), _LARGEST_OFFSET)
        reach[piece.row["stream_id"]] = min(start, piece.row["start"]), end
    found: dict[str, list[Span]] = {stream: [] for stream in reach}
    for some in portions([(stream, start, end) for stream, (start, end) in reach.items()]):
        for row in connection.execute(_spans_within(session_id, some, largest)):
            found[row.stream_id].append(Span(row.start, row.digest, row.end, row.format in LINE_FORMATS))
    return {stream: _Spans(sorted(spans), largest) for stream, spans in found.items()}


def _spans_within(session_id: str, reach: Sequence[tuple[str, int, int]], largest: int) -> Select[Any]:
    """The bodies that have a byte within one of these (stream, start, end)."""
    c = table.c
    wanted = values(
        column("stream", String), column("first", BigInteger), column("low", BigInteger), column("high", BigInteger)
    )
    rows = [(stream, max(0, start - largest), start, end) for stream, start, end in reach]
    w = wanted.data(rows).cte("reach").c
    return select(c.stream_id, c.start, c.end, c.digest, c.format).where(
        c.session_id == session_id, c.stream_id == w.stream, c.start >= w.first, c.start < w.high, c.end > w.low
    )


@dataclass(slots=True)
class _Bodies:
    """Bodies as the engine reads them: of this batch, or out of the database."""

    connection: Connection
    session_id: str
    fresh: dict[str, Observation] = field(default_factory=dict)

    def body(self, digest: str) -> bytes:
        if digest in self.fresh:
            return as_read(self.fresh[digest].body)
        query = select(table.c.body, table.c.raw_size)
        row = self.connection.execute(
            query.where(table.c.session_id == self.session_id, table.c.digest == digest)
        ).one()
        raw = unpack(row.body, row.raw_size, f"the body of observation {digest}")
        return as_read(raw.decode("utf-8", "surrogatepass"))


def _conflict(piece: Piece, spans: _Spans, bodies: _Bodies) -> str | None:
    """Which held bytes the piece contradicts, as `bundle.evidence.assemble` would tell it.

    Two documents that begin at different places are two documents; everything else is one text.
    """
    mine = _span(piece)
    own: bytes | None = None
    for other in spans.overlapping(mine):
        later = max(mine, other)
        if not later.lines and mine.start != other.start:
            continue
        own = as_read(piece.observation.body) if own is None else own
        start, end = later.start, min(mine.end, other.end)
        held = bodies.body(other.digest)[start - other.start : end - other.start]
        if own[start - mine.start : end - mine.start] != held:
            return f"conflict: bytes {start} to {end} differ from those held"
    return None
