"""Streams are cut into observations, and `evidence.assemble` joins them again to the same bytes."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

from attribution.bundle.evidence import LINE_FORMATS, Evidence, EvidenceStream, Segment
from attribution.contracts.observation import Observation
from attribution.contracts.vocabulary import Status

_READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text of a stream with its place, and what broke behind it."""

    offset: int
    first_line: int
    text: str
    damage: str | None = None


def observations(evidence: Evidence, max_bytes: int = 1 << 20) -> Iterator[Observation]:
    """The streams as observations of at most `max_bytes` bytes of decoded text, or one character if that is longer.

    Invalid UTF-8 becomes U+FFFD; offsets and lines count the decoded text. Documents that are not made of lines stay
    whole. A stream without bytes is one observation with an empty body. A stream that breaks while it is read gives
    what came before, and its last observation says why it is `partial`.
    """
    if max_bytes < 1:
        raise ValueError("max_bytes must be at least 1")
    for stream in evidence.streams:
        yield from _cut_stream(stream, max_bytes if stream.format in LINE_FORMATS else None)


def _cut_stream(stream: EvidenceStream, max_bytes: int | None) -> Iterator[Observation]:
    grown = 0  # how many bytes replacement characters have added so far
    given = False
    for segment in stream.segments:
        end = segment.offset + grown
        for piece in _cut_segment(segment, segment.offset + grown, max_bytes):
            end = piece.offset + len(piece.text.encode())
            if piece.text or piece.damage:
                given = True
                yield _observation(stream, piece)
        if segment.size is not None:
            grown += max(0, end - (segment.offset + grown) - segment.size)
    if not given:
        yield _observation(stream, _Piece(0, 0, ""))


def _observation(stream: EvidenceStream, piece: _Piece) -> Observation:
    status, reason = stream.status, stream.reason
    if piece.damage is not None:
        reason = piece.damage
        status = Status.PARTIAL if piece.text or piece.offset else Status.ERROR
    elif not piece.text and status is Status.OK:
        status = Status.EMPTY
    key = stream.key
    return Observation(
        source=key.source,
        format=stream.format,
        node=key.node,
        node_is_guess=stream.node_is_guess,
        rank=key.rank,
        stream=key.stream,
        offset=piece.offset,
        first_line=piece.first_line,
        clock=stream.clock,
        body=piece.text,
        truncated=stream.truncated,
        status=status,
        reason=reason,
    )


def _cut_segment(segment: Segment, offset: int, max_bytes: int | None) -> Iterator[_Piece]:
    """The decoded text of one segment in pieces; the last one carries the damage, if there was any."""
    line, held = segment.first_line, bytearray()
    damages: list[str] = []
    for data in _decoded(segment, damages):
        held += data
        start = 0
        while max_bytes is not None and len(held) - start > max_bytes:
            size = _whole_characters(held, start, max_bytes)
            if start + size == len(held):
                break
            text = held[start : start + size].decode()
            yield _Piece(offset, line, text)
            start, offset, line = start + size, offset + size, line + text.count("\n")
        del held[:start]
    yield _Piece(offset, line, held.decode(), damages[0] if damages else None)


def _whole_characters(data: bytearray, start: int, size: int) -> int:
    """The most bytes up to `size` that end between characters; at least one character."""
    end = start + size
    while end > start and end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    if end == start:
        end += 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
    return end - start


def _decoded(segment: Segment, damages: list[str]) -> Iterator[bytes]:
    """The bytes of a segment as valid UTF-8. A read that fails ends them and is noted in `damages`."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        with segment.open() as file:
            while data := file.read(_READ_BYTES):
                yield decoder.decode(data).encode()
    except OSError as error:
        damages.append(error.strerror or str(error))
    yield decoder.decode(b"", final=True).encode()
