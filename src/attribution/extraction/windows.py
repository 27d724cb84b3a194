"""A window is the part of a stream that is in memory: whole lines, cleaned for scanning, with their place.

Text is cleaned so that gates and patterns see the same characters: bytes that are no UTF-8 become U+FFFD, ANSI
sequences and NULs are removed, a carriage return ends a line as a newline does (a redrawn progress bar is several
lines of one number; together with a newline it ends one line). What a container runtime logged in pieces (`P`) is one
line in the place of its first piece, and empty lines stand for the others. Offsets count bytes of the decoded text,
before the rest of the cleaning.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

CHUNK = 1 << 20
"""Bytes read at a time, and the longest line that is examined whole. A longer one is cut into pieces of this size."""

KEEP_LINES = 12
"""Lines before the fresh part that stay in memory, so that evidence can be shown with what stood before it."""

MAX_PIECES = 64
"""Pieces of one line of a container's log that are joined."""

KEEP_BYTES = 64 << 10
"""Bytes of them at most."""

_HEAD = 64 << 10
"""Bytes of a window of which one line at least begins in it, if a container runtime wrote it."""

_ANSI = re.compile(rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\r\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_])?")
_PIECE = re.compile(rb"(?m)^\S{19,40} std(?:out|err) P(?::\S{0,32})?(?: |$)")
_OF_CONTAINER = re.compile(rb"\S{19,40} (stdout|stderr) ([FP])(?::\S{0,32})?(?: |$)")
_BREAK = re.compile(rb"\r?\n|\r")
_REPLACEMENT = "\ufffd".encode()


@dataclass(slots=True)
class Tally:
    """What was read of a stream. `damage` says why reading ended early, if it did."""

    bytes: int = 0
    lines: int = 0
    unreadable: int = 0
    long_lines: int = 0
    damage: str | None = None


class Window:
    """Whole lines of a stream; `text` is what is scanned, positions are offsets into it.

    What stands before `fresh` was examined with an earlier window. `closed` says that no line follows that could
    belong to a record of this window. The reader of the window sets `examined` to the position from which the next
    window shall begin; by default everything was examined.
    """

    __slots__ = ("_breaks", "_seen", "_seen_line", "base", "closed", "examined", "fresh", "raw", "text")

    def __init__(self, raw: bytes, base: int, first_line: int, fresh: int, closed: bool) -> None:
        self.raw = raw
        self.text = clean(raw)
        self.base = base
        self.fresh = fresh if self.text is raw else len(clean(raw[:fresh]))
        if _is_of_container(self.text) and _PIECE.search(self.text):
            before = joined(self.text[: self.fresh])  # what was examined with an earlier window gets no longer
            self.text = before + joined(self.text[self.fresh :])
            self.fresh = len(before)
        self.closed = closed
        self.examined = len(self.text)
        self._breaks: tuple[list[int], list[int]] | None = None
        self._seen = 0
        self._seen_line = first_line

    def raw_position(self, position: int) -> int:
        """Where the line that begins at `position` of the text begins in the raw bytes."""
        if self.text is self.raw:
            return position
        if self._breaks is None:
            self._breaks = tuple([m.end() for m in _BREAK.finditer(data)] for data in (self.text, self.raw))  # type: ignore[assignment]
        assert self._breaks is not None
        in_text, in_raw = self._breaks
        index = bisect_right(in_text, position)
        return in_raw[index - 1] if index else 0

    def offset(self, position: int) -> int:
        """Offset in the stream of the line that begins at `position`."""
        return self.base + self.raw_position(position)

    def line_number(self, position: int) -> int:
        """0-based number of the line that begins at `position`. Cheapest when asked in ascending order."""
        return self.line_at(self.raw_position(position))

    def line_at(self, raw_position: int) -> int:
        """0-based number of the line at a position of the raw bytes."""
        if raw_position >= self._seen:
            self._seen_line += self.raw.count(b"\n", self._seen, raw_position)
        else:
            self._seen_line -= self.raw.count(b"\n", raw_position, self._seen)
        self._seen = raw_position
        return self._seen_line


def _is_of_container(text: bytes) -> bool:
    """Whether a container runtime may have written the text: then each of its lines names its stream."""
    return text.find(b" stdout ", 0, _HEAD) >= 0 or text.find(b" stderr ", 0, _HEAD) >= 0


def clean(raw: bytes) -> bytes:
    """The bytes as they are scanned; the same object where there is nothing to clean."""
    if b"\x1b" not in raw and b"\r" not in raw and b"\x00" not in raw:
        return raw
    text = raw.replace(b"\r\n", b"\n")
    text = _ANSI.sub(b"", text) if b"\x1b" in text else text
    return text.replace(b"\x00", b"").replace(b"\r", b"\n")


def joined(text: bytes) -> bytes:
    """The text with each line that a container runtime logged in pieces made whole; there are as many lines as before.

    A line of more than MAX_PIECES, or of which a piece stands in another window, stays in parts.
    """
    lines = text.split(b"\n")
    begun: dict[bytes, list[bytes]] = {}
    wholes: list[tuple[int, list[bytes]]] = []
    for index, line in enumerate(lines):
        header = _OF_CONTAINER.match(line)
        if header is None:
            continue
        pieces = begun.get(header[1])
        if pieces is not None:
            pieces.append(line[header.end() :])
            lines[index] = b""
        elif header[2] == b"P":
            begun[header[1]] = pieces = [line]
            wholes.append((index, pieces))
        if pieces is not None and (header[2] == b"F" or len(pieces) >= MAX_PIECES):
            del begun[header[1]]
    for index, pieces in wholes:
        lines[index] = b"".join(pieces)
    return b"\n".join(lines)


def windows(stream: BinaryIO, offset: int, first_line: int, tally: Tally) -> Iterator[Window]:
    """The windows of one segment, which begins at `offset` and 0-based line `first_line` of its stream."""
    held, fresh, base, line = b"", 0, offset, first_line
    ends_open = False
    for block, closed in _blocks(stream, tally):
        window = Window(held + block, base, line, fresh, closed)
        yield window
        raw = window.raw
        tally.bytes += len(block)
        ends_open = not raw.endswith(b"\n") if raw else ends_open
        start = window.raw_position(window.examined) if window.examined < len(window.text) else len(raw)
        kept = len(raw) if closed else _lines_before(raw, start)
        line = window.line_at(kept)
        held, fresh, base = raw[kept:], start - kept, base + kept
    tally.lines += line - first_line + ends_open


def _lines_before(raw: bytes, start: int) -> int:
    """Where the last KEEP_LINES lines before `start` begin, at most KEEP_BYTES before it."""
    lowest, kept = max(0, start - KEEP_BYTES), start
    for _ in range(KEEP_LINES):
        newline = raw.rfind(b"\n", lowest, max(lowest, kept - 1))
        if newline < 0:
            return kept if lowest else 0
        kept = newline + 1
    return kept


def _blocks(stream: BinaryIO, tally: Tally) -> Iterator[tuple[bytes, bool]]:
    """Runs of whole lines and whether a record ends with them; a line over CHUNK in pieces of that size."""
    pending, in_long_line = b"", False
    for text in _decoded(stream, tally):
        pending = pending + text if pending else text
        while len(pending) >= CHUNK:
            cut = pending.rfind(b"\n", 0, CHUNK) + 1
            is_piece = cut == 0
            tally.long_lines += is_piece and not in_long_line
            in_long_line = is_piece
            cut = cut or CHUNK
            yield pending[:cut], is_piece
            pending = pending[cut:]
    yield pending, True


def _decoded(stream: BinaryIO, tally: Tally) -> Iterator[bytes]:
    """Valid UTF-8 of a stream, in pieces of about CHUNK bytes; what is no UTF-8 becomes U+FFFD and is counted."""
    rest = b""
    while True:
        try:
            block = stream.read(CHUNK)
        except (OSError, EOFError) as error:
            tally.damage = str(error) or type(error).__name__
            block = b""
        if not block:
            break
        block, rest = _whole_characters(rest + block if rest else block)
        yield _valid(block, tally)
    if rest:
        yield _valid(rest, tally)


def _whole_characters(block: bytes) -> tuple[bytes, bytes]:
    """The block up to its last whole character, and the bytes of a character that was cut."""
    if block.isascii():
        return block, b""
    for back in range(1, min(4, len(block)) + 1):
        byte = block[-back]
        if byte >= 0xC0:  # the first byte of a character of 2 to 4 bytes
            size = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return (block[:-back], block[-back:]) if size > back else (block, b"")
        if byte < 0x80:
            break
    return block, b""


def _valid(block: bytes, tally: Tally) -> bytes:
    """The block with U+FFFD for what is no UTF-8, which is counted."""
    if block.isascii():
        return block
    try:
        block.decode()
    except UnicodeDecodeError:
        block = block.decode("utf-8", "replace").encode()
    if block.find(_REPLACEMENT[0]) >= 0:  # a single byte is found ten times faster than three are counted
        tally.unreadable += block.count(_REPLACEMENT)
    return block
