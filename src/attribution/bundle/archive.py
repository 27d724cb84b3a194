"""An archive from a stranger is unpacked without trusting its names, its sizes or its kinds of members."""

import errno
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from attribution.bundle.compression import open_plain
from attribution.bundle.faults import TAKE_A_LOG, problem, reason
from attribution.contracts.errors import EvidenceError
from attribution.contracts.vocabulary import Status

SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst")
MAX_DEPTH = 64
"""Folders within folders; what lies deeper is left out."""
_MAX_HEADER = 1 << 20
_HEADER_TYPES = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may hold: members of any kind, and bytes of all files once unpacked."""

    members: int = 100_000
    total_bytes: int = 64 << 30


@dataclass(frozen=True, slots=True)
class Note:
    """What is to be said about one member, by its name in the archive."""

    name: str
    status: Status
    reason: str


class _Member(tarfile.TarInfo):
    """A member whose header cannot make the reader hold much in memory, and whose damage is not taken for the end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Member":
        member = super().frombuf(buf, encoding, errors)
        if member.type in _HEADER_TYPES and member.size > _MAX_HEADER:
            raise tarfile.ReadError("a header of a member is too long")
        return member

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "_Member":
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            # tarfile takes a broken header behind the first member for the end of the archive.
            if type(error).__name__ == "EOFHeaderError" or tarfile_.offset == 0:
                raise
            raise tarfile.ReadError("ends early or is damaged") from error

    def _proc_gnusparse_10(self, *_: object) -> None:
        raise tarfile.ReadError("holds a sparse file")


def unpack(archive: Path, folder: Path, limits: ArchiveLimits) -> tuple[Note, ...]:
    """Unpack the regular files of a tar archive into an empty folder, and say what was left out.

    Raises EvidenceError: B006 when nothing can be read of it, B007 when it exceeds the limits or the disk.
    """
    notes: list[Note] = []
    count = 0
    with open_plain(archive) as plain:
        try:
            for member, content in _members(plain, archive, limits):
                count += 1
                if (note := _unpack_member(member, content, folder, archive)) is not None:
                    notes.append(note)
        except (tarfile.TarError, OSError, ValueError, OverflowError, RecursionError) as error:
            why = reason(error)
            if not count:
                raise problem(archive, "B006", f"is not a tar archive: {why}", TAKE_A_LOG) from None
            notes.append(Note(archive.name, Status.ERROR, f"the archive could not be read to its end: {why}"))
    return tuple(notes)


def _members(
    plain: IO[bytes], archive: Path, limits: ArchiveLimits
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """The members with the content of regular files, in order, within the limits."""
    count = total = 0
    with tarfile.open(fileobj=plain, mode="r|", tarinfo=_Member, errorlevel=0) as tar:
        for member in tar:
            tar.members = []  # type: ignore[attr-defined]  # what was read is not needed again
            count += 1
            if count > limits.members:
                raise _beyond(archive, f"holds more than {limits.members} members")
            regular = member.isreg() and not member.issparse()
            total += member.size if regular else 0
            if total > limits.total_bytes:
                raise _beyond(archive, f"holds more than {limits.total_bytes} bytes")
            yield member, tar.extractfile(member) if regular else None


def _beyond(archive: Path, message: str) -> EvidenceError:
    return problem(archive, "B007", message, "unpack it yourself and give the folder")


def _unpack_member(member: tarfile.TarInfo, content: IO[bytes] | None, folder: Path, archive: Path) -> Note | None:
    """Write one member. Links are never made, so no name can lead out of the folder but by its own parts."""
    if member.isdir():
        return None
    path = PurePosixPath(member.name)
    if (why := _why_unsafe(member, path)) is not None:
        return Note(member.name, Status.SKIPPED, why)
    target = folder.joinpath(*path.parts)
    assert content is not None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        file = target.open("wb")
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise _beyond(archive, "does not fit on the disk when unpacked") from None
        return Note(member.name, Status.SKIPPED, f"could not be unpacked: {reason(error)}")
    with file:
        return _copy(content, file, member, archive)


def _copy(content: IO[bytes], file: IO[bytes], member: tarfile.TarInfo, archive: Path) -> Note | None:
    while True:
        try:
            data = content.read(1 << 18)
        except (tarfile.TarError, OSError) as error:
            return Note(
                member.name,
                Status.PARTIAL,
                f"the archive could not be read to the end of this file: {reason(error)}",
            )
        if not data:
            return None
        try:
            file.write(data)
        except OSError as error:
            raise _beyond(archive, f"could not be unpacked: {reason(error)}") from None


def _why_unsafe(member: tarfile.TarInfo, path: PurePosixPath) -> str | None:
    if member.issym() or member.islnk():
        return "is a link in the archive; links are not unpacked"
    if member.issparse():
        return "is a sparse file in the archive; sparse files are not unpacked"
    if not member.isreg():
        return "is no regular file in the archive"
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in member.name:
        return "has a name in the archive that leads out of the folder"
    if len(path.parts) > MAX_DEPTH:
        return f"lies more than {MAX_DEPTH} folders deep in the archive"
    return None
