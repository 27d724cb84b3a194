"""The parts of a log that may belong to a span of time are found by the stamps at the beginnings of its lines.

A part is left out only if it has stamps and none of them can lie within the span: in any zone and any year, where a
stamp does not say them. What has no stamps goes with the part before it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import BinaryIO
from zoneinfo import ZoneInfo

from attribution.blueprint.connectors.base import Halted
from attribution.blueprint.connectors.windows import Span
from attribution.bundle.evidence import EvidenceStream, Segment
from attribution.contracts.observation import Clock

_BLOCK_BYTES = 1 << 18
_LONGEST_LINE_BYTES = 1 << 20
_KNOWN_STAMPS = 100_000
_ANY_ZONE = timedelta(hours=14)
_MINUTE = timedelta(minutes=1)
_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_STAMP = re.compile(
    rb"^(?:<\d{1,3}>\d? ?|\d{1,6}: |\[|\{\"(?:time|timestamp|ts)\": ?\")?(?:"
    rb"(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(?::\d\d(?:[.,]\d{1,9})?)?(?P<zone> ?(?:Z|[+-]\d\d:?\d\d))?"
    rb"|(?:[A-Z][a-z]{2} )?(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<time>\d\d:\d\d):\d\d"
    rb"(?:\.\d+)?(?: (?P<year>\d{4}))?"
    rb")",
    re.MULTILINE,
)
_JOURNAL = re.compile(rb"\"__REALTIME_TIMESTAMP\" ?: ?\"(\d{10})\d{6}\"")

Key = tuple[bytes | None, ...]
"""The groups of a stamp, or the second of a journal's record."""


def _keys(block: bytes) -> Iterator[tuple[int, Key]]:
    """Where each stamp of a block stands, and what it says."""
    for match in _STAMP.finditer(block):
        yield match.start(), match.groups()
    if b"__REALTIME_TIMESTAMP" in block:
        for match in _JOURNAL.finditer(block):
            yield match.start(), (None, None, None, None, None, None, match[1])


@dataclass(slots=True)
class Run:
    """A part of the decompressed content that is kept, with the number of the line that it begins with."""

    offset: int
    first_line: int
    size: int = 0


@dataclass(slots=True)
class Kept:
    """What of a log may belong to the span, of how many bytes."""

    runs: list[Run] = field(default_factory=list)
    total: int = 0

    @property
    def size(self) -> int:
        """The bytes that are kept."""
        return sum(run.size for run in self.runs)


def within(stream: EvidenceStream, span: Span, small_bytes: int, halted: Halted) -> EvidenceStream:
    """The stream with only the parts that may belong to the span; one of up to `small_bytes` is left whole.

    What is left out is said in the stream's reason. Raises OSError if it cannot be read.
    """
    (segment,) = stream.segments
    if segment.size is not None and segment.size <= small_bytes:
        return stream
    found = kept(segment.open, span, stream.clock, halted)
    if found.total <= small_bytes or found.size == found.total:
        return stream
    segments = tuple(
        Segment(run.offset, run.first_line, partial(_opened, segment.open, run.offset, run.size), run.size)
        for run in found.runs
    )
    left = found.total - found.size
    why = f"{left} of {found.total} bytes are of other times than the attempt's and were not read"
    return replace(stream, segments=segments, reason="; ".join(filter(None, (stream.reason, why))))


def kept(
    open_log: Callable[[], BinaryIO], span: Span, clock: Clock | None = None, halted: Halted = lambda: False
) -> Kept:
    """The parts that may belong to the span. Reads the log once from beginning to end, or until it is halted."""
    stamps, found = _Stamps(span, clock), Kept()
    line, is_kept = 0, True
    with open_log() as file:
        for block in _blocks(file):
            if halted():
                break
            is_kept = stamps.belongs(block, is_kept)
            last = found.runs[-1] if found.runs else None
            if is_kept and last is not None and last.offset + last.size == found.total:
                last.size += len(block)
            elif is_kept:
                found.runs.append(Run(found.total, line, len(block)))
            found.total += len(block)
            line += block.count(b"\n")
    return found


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The content in blocks that end with a line, but for lines that are too long."""
    while data := file.read(_BLOCK_BYTES):
        yield data if data.endswith(b"\n") else data + file.readline(_LONGEST_LINE_BYTES)


@dataclass(slots=True)
class _Stamps:
    """Which stamps may lie within the span; each minute is thought about once."""

    span: Span
    clock: Clock | None
    known: dict[Key, bool] = field(default_factory=dict)

    def belongs(self, block: bytes, before: bool) -> bool:
        """Whether some line of a block may belong; `before` is the answer for the block before it.

        The lines before the first stamp are the rest of what that block ends with.
        """
        found = before
        for place, key in _keys(block):
            if before and found and place > block.find(b"\n"):
                return True
            answer = self.known.get(key)
            if answer is None:
                if len(self.known) >= _KNOWN_STAMPS:
                    self.known.clear()
                answer = self.known[key] = self._may_belong(*key)
            if answer:
                return True
            found = False
        return found

    def _may_belong(
        self,
        iso: bytes | None,
        zone: bytes | None,
        month: bytes | None,
        day: bytes | None,
        time: bytes | None,
        year: bytes | None,
        epoch: bytes | None = None,
    ) -> bool:
        try:
            if epoch is not None:
                return self._is_near(datetime.fromtimestamp(int(epoch), UTC), timedelta(0))
            if iso is not None:
                local = datetime.fromisoformat(iso.decode().replace(" ", "T"))
                return self._is_local(local, zone.decode().strip() if zone else None)
            if month not in _MONTHS or day is None or time is None:
                return True
            hour, minute = map(int, time.split(b":"))
            number = _MONTHS.index(month) + 1
            return any(
                self._is_local(datetime(candidate, number, int(day), hour, minute), None)
                for candidate in self._years(year)
                if number != 2 or int(day) != 29 or _is_leap(candidate)
            )
        except (ValueError, OverflowError):
            return True  # no time that there is, so nothing is known

    def _years(self, year: bytes | None) -> tuple[int, ...]:
        if year is not None:
            return (int(year),)
        known = {at.year for at in (self.span.start, self.span.end) if at is not None}
        return tuple(sorted({near for each in known for near in (each - 1, each, each + 1)}))

    def _is_local(self, local: datetime, zone: str | None) -> bool:
        if zone is None and self.clock is not None and self.clock.zone is not None:
            zone = self.clock.zone
        if zone is None:
            return self._is_near(local.replace(tzinfo=UTC), _ANY_ZONE)
        return self._is_near(local.replace(tzinfo=_zone(zone)).astimezone(UTC), timedelta(0))

    def _is_near(self, at: datetime, doubt: timedelta) -> bool:
        starts = self.span.start is None or at + doubt + _MINUTE >= self.span.start
        return starts and (self.span.end is None or at - doubt <= self.span.end)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _zone(name: str) -> timezone | ZoneInfo:
    """A zone by its offset or its name. ValueError if there is none."""
    if name in {"Z", "UTC"}:
        return UTC
    if name[0] in "+-":
        hours, minutes = int(name[1:3]), int(name[-2:])
        offset = timedelta(hours=hours, minutes=minutes)
        return timezone(offset if name[0] == "+" else -offset)
    try:
        return ZoneInfo(name)
    except (OSError, KeyError):
        raise ValueError("no such zone") from None


def _opened(open_log: Callable[[], BinaryIO], offset: int, size: int) -> BinaryIO:
    """A part of a log as a file of its own."""
    return _Part(open_log(), offset, size)  # type: ignore[return-value]


class _Part:
    """Reads `size` bytes of a file from `offset` on."""

    def __init__(self, file: BinaryIO, offset: int, size: int) -> None:
        self._file = file
        self._left = size
        try:
            if file.seekable():
                file.seek(offset)
            else:
                while offset and (data := file.read(min(offset, _BLOCK_BYTES))):
                    offset -= len(data)
        except BaseException:
            file.close()
            raise

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes."""
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "_Part":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
