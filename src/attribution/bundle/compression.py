"""A compressed file reads as the bytes that were put in, up to the first damage."""

import contextlib
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

inflate: Any = zlib
with contextlib.suppress(ImportError):  # no wheel for some machines: the standard library reads the same, slower
    from isal import isal_zlib as inflate

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 17
"""Bytes of compressed input per step, and the most that one step may give out."""
_GZIP_HEADER = 16 + zlib.MAX_WBITS
_INFLATE_ERRORS: tuple[type[Exception], ...] = (zlib.error, inflate.error)
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)


class DamagedStream(OSError):
    """Compressed data is broken. The message is one sentence that fits after the file's name."""


def open_plain(path: Path) -> BinaryIO:
    """Open the decompressed content of a plain, gzip or zstd file; magic bytes decide, not the name.

    Gives out every byte before the damage, then raises DamagedStream: read until `b""` or the error. Memory stays
    below a few MiB (plus the window of a zstd frame, at most 128 MiB), however far the data expands.
    """
    file = path.open("rb")
    try:
        magic = file.read(4)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    if magic[:2] == GZIP_MAGIC:
        return cast(BinaryIO, _Chunked(file, _gzip_chunks(file)))
    if magic == ZSTD_MAGIC or int.from_bytes(magic, "little") in _SKIPPABLE:
        return cast(BinaryIO, _Chunked(file, _zstd_chunks(file)))
    return file


class _Chunked(io.BufferedIOBase):
    """A stream over an iterator of chunks. An error of the iterator comes after all bytes before it."""

    def __init__(self, file: BinaryIO, chunks: Iterator[bytes]) -> None:
        self._file = file
        self._chunks = chunks
        self._rest = memoryview(b"")
        self._error: DamagedStream | None = None

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def _fill(self) -> bool:
        """Have at least one byte at hand, unless the end or the damage is reached."""
        while not self._rest and self._error is None:
            try:
                self._rest = memoryview(next(self._chunks))
            except StopIteration:
                return False
            except DamagedStream as error:
                self._error = error
        return bool(self._rest)

    def _take(self, size: int) -> memoryview:
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def _give(self, parts: list[memoryview]) -> bytes:
        if not parts and self._error is not None:
            raise self._error
        return b"".join(parts)

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = -1 if size is None else size
        parts: list[memoryview] = []
        while wanted and self._fill():
            part = self._take(wanted if wanted > 0 else len(self._rest))
            parts.append(part)
            wanted -= len(part) if wanted > 0 else 0
        return self._give(parts) if size else b""

    def read1(self, size: int = -1, /) -> bytes:
        if size == 0:
            return b""
        return self._give([self._take(size if size > 0 else len(self._rest))] if self._fill() else [])

    def readinto(self, buffer: object, /) -> int:
        target = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        done = 0
        while done < len(target) and self._fill():
            part = self._take(len(target) - done)
            target[done : done + len(part)] = part
            done += len(part)
        if not done and len(target) and self._error is not None:
            raise self._error
        return done

    def readline(self, size: int | None = -1, /) -> bytes:
        limit = -1 if size is None else size
        parts: list[memoryview] = []
        while limit and self._fill():
            end = bytes(self._rest).find(b"\n") + 1
            length = end or len(self._rest)
            part = self._take(min(length, limit) if limit > 0 else length)
            parts.append(part)
            limit -= len(part) if limit > 0 else 0
            if part[-1] == 10:
                break
        return self._give(parts) if size else b""


def _damaged(kind: str, done: int) -> DamagedStream:
    return DamagedStream(f"compressed data is damaged after {done} bytes" if done else f"is not valid {kind}")


def _ends_early(done: int) -> DamagedStream:
    return DamagedStream(f"compressed data ends early after {done} bytes")


def _gzip_chunks(file: BinaryIO) -> Iterator[bytes]:
    """The content of all members. What follows the last one (padding, garbage) is ignored, as gzip does."""
    data, done = b"", 0
    while True:
        member, member_done = file.tell() - len(data), done
        decoder = inflate.decompressobj(_GZIP_HEADER)
        while not decoder.eof:
            data = data or file.read(_CHUNK)
            at_end = not data
            try:
                out = decoder.decompress(data, _CHUNK)
            except _INFLATE_ERRORS:
                file.seek(member)
                for out in _before_damage(file, done - member_done):
                    done += len(out)
                    yield out
                raise _damaged("gzip", done) from None
            data = decoder.unconsumed_tail
            done += len(out)
            if out:
                yield out
            elif at_end and not decoder.eof:
                raise _ends_early(done)
        data = decoder.unused_data.lstrip(b"\0")
        while len(data) < 2 and (more := file.read(_CHUNK)):
            data = (data + more).lstrip(b"\0")
        if data[:2] != GZIP_MAGIC:
            return


def _before_damage(file: BinaryIO, known: int) -> Iterator[bytes]:
    """What a damaged member still holds after its first `known` bytes.

    A decoder that fails keeps what it made in that step. So the member is decoded again up to the step before, and
    from there byte by byte.
    """
    decoder, skip = zlib.decompressobj(_GZIP_HEADER), known
    data = b""
    while data := data or file.read(_CHUNK):
        saved = decoder.copy()
        try:
            out = decoder.decompress(data, _CHUNK)
        except zlib.error:
            break
        data = decoder.unconsumed_tail
        if fresh := out[skip:]:
            yield fresh
        skip -= min(skip, len(out))
        if decoder.eof:
            return
    else:
        return
    for index in range(len(data)):
        try:
            out = saved.decompress(data[index : index + 1])
        except zlib.error:
            return
        if fresh := out[skip:]:
            yield fresh
        skip -= min(skip, len(out))


def _zstd_chunks(file: BinaryIO) -> Iterator[bytes]:
    """The content of all frames, block by block: a block gives at most 128 KiB, so no step grows without bound."""
    done = 0
    while magic := file.read(4):
        if int.from_bytes(magic, "little") in _SKIPPABLE:
            size = file.read(4)
            if len(size) < 4 or not _skip(file, int.from_bytes(size, "little")):
                raise _ends_early(done)
            continue
        if magic != ZSTD_MAGIC:
            raise _ends_early(done) if ZSTD_MAGIC.startswith(magic) else _damaged("zstd", done)
        decoder = zstandard.ZstdDecompressor().decompressobj()
        try:
            for piece in _zstd_pieces(file):
                out = decoder.decompress(piece)
                done += len(out)
                if out:
                    yield out
        except zstandard.ZstdError as error:
            if "memory" in str(error):
                raise DamagedStream("needs more than 128 MiB of memory to decompress") from None
            raise _damaged("zstd", done) from None
        except _CutShort:
            raise _ends_early(done) from None
        if not decoder.eof:
            raise _damaged("zstd", done)


class _CutShort(Exception):
    """The file ends within a frame."""


def _zstd_pieces(file: BinaryIO) -> Iterator[bytes]:
    """One frame, cut into its header, its blocks and its checksum (RFC 8878, section 3.1.1)."""
    descriptor = _exactly(file, 1)
    flags = descriptor[0]
    single_segment = flags >> 5 & 1
    window = 0 if single_segment else 1
    dictionary = (0, 1, 2, 4)[flags & 3]
    content_size = (single_segment, 2, 4, 8)[flags >> 6]
    yield ZSTD_MAGIC + descriptor + _exactly(file, window + dictionary + content_size)
    last = False
    while not last:
        head = _exactly(file, 3)
        value = int.from_bytes(head, "little")
        last, kind, size = bool(value & 1), value >> 1 & 3, value >> 3
        if kind == 3 or size > 1 << 17:
            raise zstandard.ZstdError("no such block")
        yield head + _exactly(file, 1 if kind == 1 else size)
    if flags >> 2 & 1:
        yield _exactly(file, 4)


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise _CutShort
    return data


def _skip(file: BinaryIO, size: int) -> bool:
    while size:
        data = file.read(min(size, _CHUNK))
        if not data:
            return False
        size -= len(data)
    return True
