"""Compressed files read as the bytes that were put in, up to the first damage."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution.bundle import compression
from attribution.bundle.compression import DamagedStream, open_plain

from tests.examples import examples

LINES = b"".join(b"step %d loss %d\n" % (i, i * 7919 % 1000) for i in range(40_000))
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    "log": lambda data: data,
}


@pytest.fixture(params=["isal", "standard library"], autouse=True)
def both_decoders(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "standard library":
        monkeypatch.setattr(compression, "inflate", zlib)


def content(path: Path, size: int = 70_001) -> tuple[bytes, str | None]:
    parts = []
    with open_plain(path) as file:
        try:
            while data := file.read(size):
                parts.append(data)
        except DamagedStream as error:
            return b"".join(parts), str(error)
    return b"".join(parts), None


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("data", [b"", b"x", LINES], ids=["empty", "one byte", "large"])
def test_reads_back_whatever_the_name_says(tmp_path: Path, kind: str, data: bytes) -> None:
    path = tmp_path / "node-01.png"
    path.write_bytes(PACK[kind](data))
    assert content(path) == (data, None)
    with open_plain(path) as file:
        assert file.read() == data


@pytest.mark.parametrize("kind", PACK)
def test_every_way_of_reading_gives_the_same(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(PACK[kind](LINES))
    with open_plain(path) as file:
        assert b"".join(file) == LINES
    with open_plain(path) as file:
        assert file.readline(4) == b"step" and file.readline() == b" 0 loss 0\n"
        buffer = bytearray(100_000)
        assert file.readinto(buffer) == len(buffer) and bytes(buffer) == LINES[14:100_014]  # type: ignore[attr-defined]
        assert file.read(0) == b""


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_members_and_frames_are_joined(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"".join(PACK[kind](line) for line in LINES[:20_000].splitlines(keepends=True)))
    assert content(path) == (LINES[:20_000], None)


def test_what_follows_gzip_is_ignored_and_what_follows_zstd_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for tail in (b"\0" * 300_000, b"garbage", b"\0\0garbage", b"\x1f"):
        path.write_bytes(gzip.compress(b"hello") + tail)
        assert content(path) == (b"hello", None)
    path.write_bytes(PACK["zst"](b"hello") + b"garbage")
    assert content(path) == (b"hello", "compressed data is damaged after 5 bytes")


def test_zstd_skippable_frames_are_skipped(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    path = tmp_path / "a"
    path.write_bytes(skippable + PACK["zst"](b"hello") + skippable)
    assert content(path) == (b"hello", None)
    path.write_bytes(PACK["zst"](b"hello") + skippable[:-1])
    assert content(path) == (b"hello", "compressed data ends early after 5 bytes")


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.999])
def test_a_cut_file_gives_what_it_holds_and_says_where_it_ends(tmp_path: Path, kind: str, share: float) -> None:
    packed = PACK[kind](LINES)
    path = tmp_path / "a"
    path.write_bytes(packed[: max(11, int(len(packed) * share))])
    data, damage = content(path)
    assert LINES.startswith(data)
    assert damage == f"compressed data ends early after {len(data)} bytes"
    if kind == "gz":
        assert len(data) >= len(LINES) * share * 0.5


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_flipped_byte_is_found(tmp_path: Path, kind: str) -> None:
    packed = bytearray(PACK[kind](LINES))
    packed[-3] ^= 0xFF  # in the checksum or length at the end
    path = tmp_path / "a"
    path.write_bytes(packed)
    data, damage = content(path)
    assert damage is not None and damage.startswith("compressed data is damaged after ")
    if kind == "gz":
        assert data == LINES


@pytest.mark.parametrize(
    ("start", "kind"), [(b"\x1f\x8b", "gzip"), (b"\x1f\x8b\x08\x00", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd")]
)
def test_a_broken_start_is_named(tmp_path: Path, start: bytes, kind: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(start + b"\xff" * 200)
    data, damage = content(path)
    assert (data, damage) == (b"", f"is not valid {kind}") or kind == "gzip"
    assert damage is not None


def test_the_bytes_before_damage_in_the_middle_come_first(tmp_path: Path) -> None:
    first, second = gzip.compress(LINES[:50_000]), bytearray(gzip.compress(LINES[50_000:]))
    second[len(second) // 2 : len(second) // 2 + 64] = b"\xff" * 64
    path = tmp_path / "a"
    path.write_bytes(first + bytes(second))
    data, damage = content(path)
    assert len(data) > 50_000 + (len(LINES) - 50_000) * 0.4
    assert damage == f"compressed data is damaged after {len(data)} bytes"
    assert data[:300_000] == LINES[: len(data)][:300_000]


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_bomb_does_not_grow_memory(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bomb"
    with path.open("wb") as file:
        piece = PACK[kind](b"\0" * (16 << 20))
        for _ in range(8):
            file.write(piece)
    tracemalloc.start()
    with open_plain(path) as plain:
        total = 0
        while data := plain.read(1 << 16):
            total += len(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == 128 << 20
    assert peak < 8 << 20


@settings(max_examples=examples(150), deadline=None)
@given(kind=st.sampled_from(["gz", "zst"]), data=st.data())
def test_any_damage_is_an_answer(tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject) -> None:
    packed = bytearray(PACK[kind](LINES[:3000]))
    for _ in range(data.draw(st.integers(0, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damage") / "a"
    path.write_bytes(packed[: data.draw(st.integers(0, len(packed)))])
    small, damage_small = content(path, 7)
    large, damage_large = content(path, 1 << 20)
    assert (small, damage_small) == (large, damage_large)
