"""Evidence is written as a bundle that reads back as the same evidence."""

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import yaml
import zstandard
from pydantic import BaseModel

from attribution.bundle import listing
from attribution.bundle.context import CONTEXT_NAMES
from attribution.bundle.evidence import Evidence, EvidenceStream
from attribution.bundle.listing import ListedSegment, ListedStream, Listing
from attribution.bundle.reader import open_bundle
from attribution.bundle.walk import METRICS
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.contracts.vocabulary import METRIC_SOURCES, Status

_COPY_BYTES = 1 << 18


def write_bundle(evidence: Evidence, folder: Path, *, compress: bool = False) -> None:
    """Write the context and all streams into `folder`, which must be new or empty (else B010).

    A stream goes to the path that names it when that is one in its source's folder, else to a name made for it. What
    names and contents do not say is listed in `streams.yaml`. With `compress` files are zstd. A stream that breaks
    while it is copied is written up to there and listed as `partial`.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError([Problem(Place(str(folder)), "B010", "is not an empty folder", "name a new one")])
    folder.mkdir(parents=True, exist_ok=True)
    _write_yaml(folder / CONTEXT_NAMES[0], evidence.context)
    taken: set[str] = set()
    streams = [_write_stream(stream, folder, compress, taken) for stream in evidence.streams]
    with open_bundle(folder, evidence.context) as back:
        inferred = {_told(stream): stream for stream in back.streams}
    listed = [item for item in streams if _listed(item) not in inferred]
    if listed:
        _write_yaml(folder / listing.FILE_NAME, Listing(streams=tuple(listed)))


def _told(stream: EvidenceStream) -> tuple[object, ...]:
    """What a reader knows of a stream of one file, or of none."""
    places = tuple((stream.key.stream, segment.offset, segment.first_line) for segment in stream.segments)
    clock = stream.clock.model_dump_json() if stream.clock else None
    return (
        stream.key,
        stream.format,
        stream.status,
        stream.reason,
        stream.truncated,
        clock,
        stream.node_is_guess,
        places,
    )


def _listed(item: ListedStream) -> tuple[object, ...]:
    places = tuple((segment.file, segment.offset, segment.first_line) for segment in item.segments)
    clock = item.clock.model_dump_json() if item.clock else None
    return (item.key(), item.format, item.status, item.reason, item.truncated, clock, item.node_is_guess, places)


def _write_stream(stream: EvidenceStream, folder: Path, compress: bool, taken: set[str]) -> ListedStream:
    segments: list[ListedSegment] = []
    status, reason = stream.status, stream.reason
    for segment in stream.segments:
        name = _file_name(stream, compress, taken)
        segments.append(ListedSegment(file=name, offset=segment.offset, first_line=segment.first_line))
        with _writing(folder, name) as target:
            try:
                with segment.open() as source:
                    while data := source.read(_COPY_BYTES):
                        target.write(data)
            except OSError as error:
                status, reason = Status.PARTIAL, error.strerror or str(error)
    if stream.status is Status.EMPTY and not segments and _own_path(stream, taken):
        with _writing(folder, _file_name(stream, False, taken)):
            pass
    key = stream.key
    return ListedStream(
        source=key.source,
        node=key.node,
        rank=key.rank,
        stream=key.stream,
        format=stream.format,
        status=status,
        reason=reason,
        truncated=stream.truncated,
        clock=stream.clock,
        node_is_guess=stream.node_is_guess,
        segments=tuple(segments),
    )


def _file_name(stream: EvidenceStream, compress: bool, taken: set[str]) -> str:
    """A path in the bundle that no other stream has: the stream's own, or one made of its key."""
    key = stream.key
    rank = "" if key.rank is None else f"rank{key.rank}"
    label = PurePosixPath(key.stream).name.removesuffix(".log")
    words = (word for word in (_clean(key.node or ""), rank, _clean(label)) if word)
    name = _own_path(stream, taken) or f"{_folder(stream)}/{'.'.join(words) or 'stream'}.log"
    if compress and not name.endswith(".zst"):
        name += ".zst"
    start, dot, end = name.partition(".") if "." in name else (name, "", "")
    count = 1
    while not _is_free(name, taken):
        count += 1
        name = f"{start}-{count}{dot}{end}"
    taken.add(name.lower())
    taken.update(f"{parent}/".lower() for parent in PurePosixPath(name).parents)
    return name


def _own_path(stream: EvidenceStream, taken: set[str]) -> str | None:
    """The stream's name, if a file of that name in its source's folder can be made."""
    name = stream.key.stream
    parts = name.split("/")
    clean = all(_clean(part) == part for part in parts)
    return name if len(parts) > 1 and parts[0] == _folder(stream) and clean and _is_free(name, taken) else None


def _is_free(name: str, taken: set[str]) -> bool:
    lower = name.lower()
    parents = (str(parent) for parent in PurePosixPath(lower).parents)
    return lower not in taken and f"{lower}/" not in taken and not any(parent in taken for parent in parents)


def _folder(stream: EvidenceStream) -> str:
    return METRICS if stream.key.source in METRIC_SOURCES else stream.key.source.value


def _clean(word: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.@=+-]+", "-", word).lstrip(".")[:120]


@contextmanager
def _writing(folder: Path, name: str) -> Iterator[IO[bytes]]:
    """A new file of the bundle, compressed as its name says."""
    path = folder.joinpath(*name.split("/"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        if name.lower().endswith(".zst"):
            with zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as writer:
                yield cast(IO[bytes], writer)
        elif name.lower().endswith(".gz"):
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        else:
            yield file


_SafeDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_SafeDumper):  # type: ignore[misc]
    """Writes each value where it stands: documents with anchors are refused when they are read."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_yaml(path: Path, model: BaseModel) -> None:
    value = model.model_dump(mode="json", exclude_defaults=True)
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=120)  # ASCII: YAML folds some others
    path.write_text(text, encoding="utf-8", newline="\n")
