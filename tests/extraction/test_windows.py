"""The windows of a stream hold its cleaned text once, with true places, and tell exactly what was read."""

import gzip
import io
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution.bundle.compression import DamagedStream, open_plain
from attribution.extraction import windows as module
from attribution.extraction.windows import MAX_PIECES, Tally, clean, joined, windows

from tests.examples import examples

BREAKS = [b"\n", b"\n", b"\r", b"\r\n"]
REMOVED = [b"\0", b"\x1b[31m", b"\x1b", b"\x1b]0;t\x07", b"\x1b]x\ry\x07"]
WIDE = [b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xef\xbf\xbd"]
BROKEN = [b"\xff", b"\xe2\x82", b"\x80", b"\xed\xa0\x80"]
PARTS = [b"a", b"bcd ", *BREAKS, *REMOVED, *WIDE, *BROKEN]
bodies = st.lists(st.one_of(st.sampled_from(PARTS), st.binary(max_size=3)), max_size=60).map(b"".join)


@dataclass
class Read:
    """What the windows of a stream gave: fresh text, and of each line its offset, its number and its text."""

    text: bytes
    lines: list[tuple[int, int, bytes]]
    tally: Tally


def read(body: bytes, chunk: int, seed: int = 0, offset: int = 0, first_line: int = 0) -> Read:
    """All fresh lines of a stream. Sometimes a window is left early, so that its rest comes again."""
    rng = random.Random(seed)
    tally, texts, lines = Tally(), [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        for window in windows(io.BytesIO(body), offset, first_line, tally):
            starts = [window.fresh, *(m.end() for m in re.finditer(b"\n", window.text) if m.end() > window.fresh)]
            starts = [start for start in starts if start < len(window.text)]
            if starts and not window.closed and rng.random() < 0.4:
                window.examined = rng.choice(starts)
                starts = [start for start in starts if start < window.examined]
            texts.append(window.text[window.fresh : window.examined])
            for start in starts:
                text = window.text[start : window.examined].partition(b"\n")[0]
                lines.append((window.offset(start), window.line_number(start), text))
    return Read(b"".join(texts), lines, tally)


def decoded(body: bytes) -> bytes:
    return body.decode("utf-8", "replace").encode()


def lines_of(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Offset, number and cleaned text of each line of a decoded text."""
    start = number = 0
    for match in re.finditer(rb"\r?\n|\r|\Z", text):
        yield start, number, clean(text[start : match.start()])
        start, number = match.end(), number + match[0].count(b"\n")


@settings(max_examples=examples(400), deadline=None)
@given(bodies, st.integers(64, 400), st.integers(0, 5), st.sampled_from([(0, 0), (1000, 7)]))
def test_fresh_parts_join_to_the_cleaned_text(body: bytes, spare: int, seed: int, place: tuple[int, int]) -> None:
    text = decoded(body)
    longest = max((len(line) for line in text.split(b"\n")), default=0)
    found = read(body, longest + spare // 4, seed, *place)
    assert found.text == clean(text)
    lines = [line for line in lines_of(text) if len(clean(text[: line[0]])) < len(clean(text))]
    assert found.lines == [(start + place[0], number + place[1], line) for start, number, line in lines]
    tally = found.tally
    counted = text.count(b"\n") + (bool(text) and not text.endswith(b"\n"))
    assert (tally.bytes, tally.lines, tally.unreadable) == (len(text), counted, text.count("\ufffd".encode()))
    assert (tally.long_lines, tally.damage) == (0, None)


@settings(max_examples=examples(200), deadline=None)
@given(bodies, st.integers(1, 30))
def test_bytes_are_decoded_as_if_read_at_once(body: bytes, chunk: int) -> None:
    """Also where a read ends within a character, or a line is cut into pieces."""
    tally, plain = Tally(), re.sub(rb"[\x1b\r\0]", b"", body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        raw = b"".join(window.raw[window.fresh :] for window in windows(io.BytesIO(plain), 0, 0, tally))
    assert raw == decoded(plain)
    assert tally.bytes == len(raw)


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        (b"plain", b"plain"),
        (b"\x1b[31mred\x1b[0m", b"red"),
        (b"\x1b]0;title\x07text", b"text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", b"link"),
        (b"a\x00b\x00", b"ab"),
        (b" 10%\r 20%\r\n", b" 10%\n 20%\n"),
        (b"one\r\ntwo\r\n", b"one\ntwo\n"),
        (b"\x1b]never closed\rBOOM\n", b"]never closed\nBOOM\n"),
        (b"\x1b[" + b"1;" * 100 + b"m", b"[" + b"1;" * 100 + b"m"),
    ],
)
def test_what_is_cleaned(raw: bytes, cleaned: bytes) -> None:
    assert clean(raw) == cleaned


def test_lines_before_the_fresh_part_stay_in_memory() -> None:
    body = b"".join(b"line %03d\n" % number for number in range(100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", 90)
        held = [window.text[: window.fresh].count(b"\n") for window in windows(io.BytesIO(body), 0, 0, Tally())]
    assert held[0] == 0 and set(held[2:-1]) == {module.KEEP_LINES}


@pytest.mark.parametrize(
    ("sizes", "long_lines"),
    [((1 << 20,), 1), ((3 << 20,), 1), ((10, 3 << 20, 10, 2 << 20, 5), 2), (((1 << 20) - 1,), 0), ((10, 10), 0)],
)
def test_a_line_over_a_mebibyte_is_counted_once(sizes: tuple[int, ...], long_lines: int) -> None:
    body = b"".join(b"x" * size + b"\n" for size in sizes)
    tally = Tally()
    text = b"".join(window.text[window.fresh :] for window in windows(io.BytesIO(body), 0, 0, tally))
    assert text == body
    assert (tally.long_lines, tally.lines, tally.bytes) == (long_lines, len(sizes), len(body))


class Breaking(io.BytesIO):
    """A stream that fails after its bytes."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if not data:
            raise DamagedStream("compressed data ends early after 9 bytes")
        return data


def test_a_damaged_stream_keeps_what_came_before() -> None:
    tally = Tally()
    text = b"".join(window.text for window in windows(Breaking(b"one\ntwo\nth\xc3"), 0, 0, tally))
    assert text == "one\ntwo\nth\ufffd".encode()
    assert (tally.lines, tally.damage) == (3, "compressed data ends early after 9 bytes")


def test_a_gzip_cut_short_keeps_what_came_before(tmp_path: Path) -> None:
    body = b"".join(b"line %d of many\n" % number for number in range(20_000))
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(body)[:-2000])
    tally = Tally()
    with open_plain(path) as stream:
        text = b"".join(window.text[window.fresh :] for window in windows(stream, 0, 0, tally))
    assert body.startswith(text) and len(text) > len(body) // 2
    assert tally.damage == f"compressed data ends early after {len(text)} bytes"


AT = b"2026-05-04T03:06:58.112345678Z "


def test_lines_that_a_container_runtime_logged_in_pieces_are_whole() -> None:
    pieces = [
        b"stderr P Trace",
        b"stdout F step 3",
        b"stderr P back (most ",
        b"stderr F recent call last):",
        b"stderr F end",
    ]
    body = b"".join(AT + piece + b"\n" for piece in pieces)
    got = read(body, chunk=1 << 16)
    assert [text.removeprefix(AT) for _, _, text in got.lines] == [
        b"stderr P Traceback (most recent call last):", b"stdout F step 3", b"", b"", b"stderr F end"
    ]  # fmt: skip
    assert [(offset, number) for offset, number, _ in got.lines] == [
        (offset, number) for offset, number, _ in lines_of(body) if offset < len(body)
    ]
    assert (got.tally.lines, got.tally.bytes) == (5, len(body))


def test_pieces_without_an_end_and_lines_about_pieces_stay() -> None:
    many = b"".join(AT + b"stdout P x\n" for _ in range(2 * MAX_PIECES))
    assert joined(many).count(b"\n") == 2 * MAX_PIECES
    assert [len(line) for line in joined(many).split(b"\n") if line][1:] == [len(AT) + 9 + MAX_PIECES]
    for line in (b"the flag stdout P is set", b"2026-05-04 stdout Pieces", AT + b"stdout F P"):
        assert joined(line) == line


@pytest.mark.parametrize("chunk", [64, 100, 1000])
def test_pieces_keep_places_wherever_windows_end(chunk: int) -> None:
    rng = random.Random(chunk)
    body = b"".join(AT + rng.choice([b"stdout P ", b"stdout F ", b"stderr F "]) + b"word%d\n" % n for n in range(60))
    got = read(body, chunk=chunk, seed=chunk)
    assert [(offset, number) for offset, number, _ in got.lines] == [
        (o, n) for o, n, _ in lines_of(body) if o < len(body)
    ]
    assert set(re.findall(rb"word\d+", got.text)) == set(re.findall(rb"word\d+", body))
