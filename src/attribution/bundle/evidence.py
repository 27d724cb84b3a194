"""Evidence is what the engine reads: a context and the streams of one attempt, however they were delivered."""

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Clock, Observation
from attribution.contracts.vocabulary import Format, Source, Status


@dataclass(frozen=True, slots=True)
class StreamKey:
    """Names one stream: what one writer wrote in order."""

    source: Source
    node: str | None
    rank: int | None
    stream: str

    def sort_key(self) -> tuple[str, str, int, str]:
        """A total order over keys; a missing node or rank comes first."""
        return (self.source.value, self.node or "", -1 if self.rank is None else self.rank, self.stream)


@dataclass(frozen=True, slots=True)
class Segment:
    """A contiguous run of a stream. `open` gives its bytes anew each time; the caller closes them."""

    offset: int
    first_line: int
    open: Callable[[], BinaryIO]
    size: int | None = None


@dataclass(frozen=True, slots=True)
class EvidenceStream:
    """One stream with what is known of it. Segments are sorted, do not overlap and do not touch."""

    key: StreamKey
    format: Format = Format.TEXT
    segments: tuple[Segment, ...] = ()
    status: Status = Status.OK
    reason: str | None = None
    truncated: bool = False
    clock: Clock | None = None
    node_is_guess: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """One attempt: its context and its streams, sorted by key."""

    context: ExecutionContext
    streams: tuple[EvidenceStream, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """An observation that contradicts what is already held."""

    digest: str
    reason: str


def text_segment(text: str | bytes, offset: int = 0, first_line: int = 0) -> Segment:
    """A segment over text that is already in memory."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return Segment(offset, first_line, lambda: io.BytesIO(data), len(data))


LINE_FORMATS = frozenset({Format.TEXT, Format.JOURNAL_JSON, Format.KUBERNETES_JSON, Format.SACCT_PARSABLE2})
"""Formats made of lines, whose pieces can be joined; any other body is a whole document."""


@dataclass(slots=True)
class _Run:
    offset: int
    first_line: int
    data: bytearray

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


@dataclass(slots=True)
class _Held:
    observations: list[Observation] = field(default_factory=list)


def assemble(context: ExecutionContext, observations: Iterable[Observation]) -> tuple[Evidence, tuple[Rejected, ...]]:
    """Join observations into streams, whatever their order, cut and repetition.

    Overlapping ranges of one stream are merged; a range whose bytes differ from those held is rejected as `conflict`.
    Formats other than text are whole documents each: they are kept apart, not joined.
    """
    groups: dict[StreamKey, _Held] = {}
    for item in observations:
        key = StreamKey(item.source, item.node, item.rank, item.stream)
        groups.setdefault(key, _Held()).observations.append(item)
    streams, rejected = [], []
    for key in sorted(groups, key=StreamKey.sort_key):
        stream, refused = _join(key, groups[key].observations)
        streams.append(stream)
        rejected.extend(refused)
    return Evidence(context, tuple(streams)), tuple(sorted(rejected, key=lambda r: r.digest))


def _join(key: StreamKey, observations: Sequence[Observation]) -> tuple[EvidenceStream, list[Rejected]]:
    unique = {item.digest: item for item in observations}
    ordered = sorted(unique.values(), key=lambda o: (o.offset, o.digest))
    rejected: list[Rejected] = []
    runs: list[_Run] = []
    for item in ordered:
        body = item.body.encode("utf-8", "replace")
        if not body:
            continue
        last = runs[-1] if runs else None
        if last is None or item.offset > last.end or (item.format not in LINE_FORMATS and item.offset != last.offset):
            runs.append(_Run(item.offset, item.first_line, bytearray(body)))
            continue
        overlap = last.end - item.offset
        if last.data[len(last.data) - overlap :][: len(body)] != body[:overlap]:
            reason = f"conflict: bytes {item.offset} to {min(last.end, item.offset + len(body))} differ from those held"
            rejected.append(Rejected(item.digest, reason))
            continue
        last.data += body[overlap:]
    statuses = sorted(ordered, key=lambda o: (_SEVERITY[o.status], o.reason or "", o.digest))
    worst = statuses[-1]
    status = worst.status
    if runs and status in {Status.ERROR, Status.SKIPPED, Status.EMPTY}:
        status = Status.PARTIAL if status is not Status.EMPTY else Status.OK
    elif not runs and status is Status.OK:
        status = Status.EMPTY
    return (
        EvidenceStream(
            key=key,
            format=min(o.format for o in ordered),
            segments=tuple(text_segment(bytes(run.data), run.offset, run.first_line) for run in runs),
            status=status,
            reason=worst.reason,
            truncated=any(o.truncated for o in ordered),
            node_is_guess=all(o.node_is_guess for o in ordered),
            clock=min((o.clock for o in ordered if o.clock), key=lambda c: c.model_dump_json(), default=None),
        ),
        rejected,
    )


_SEVERITY = {Status.EMPTY: 0, Status.OK: 1, Status.PARTIAL: 2, Status.SKIPPED: 3, Status.ERROR: 4}
