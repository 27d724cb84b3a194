"""Evidence on disk becomes Evidence: a bundle, an archive of one, a folder of logs, or a single log."""

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from attribution.bundle import listing, origin, sniff
from attribution.bundle.archive import SUFFIXES, ArchiveLimits, Note, unpack
from attribution.bundle.compression import DamagedStream, open_plain
from attribution.bundle.context import infer_nodes, load_context, text_of
from attribution.bundle.evidence import Evidence, EvidenceStream, Segment, StreamKey
from attribution.bundle.faults import CHECK_PERMISSIONS, TAKE_A_LOG, must_exist, problem, reason
from attribution.bundle.listing import Listing
from attribution.bundle.names import FileName, NodeNames, looks_like_host, names_host, parse_name
from attribution.bundle.walk import METRICS, README, SOURCE_FOLDERS, Found, printable, walk
from attribution.contracts import documents
from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.contracts.vocabulary import METRIC_SOURCES, Format, Source, Status

_PER_NODE = frozenset({Source.SYSLOG, Source.FABRIC_MANAGER, Source.BMC})
"""Sources whose files are written by one node each, so that their names are more likely to be those of nodes."""
_ONE_WRITER = frozenset({Format.TEXT, Format.JOURNAL_JSON, Format.KUBERNETES_JSON})
"""Formats that one node writes line by line; the others are answers about many nodes."""


@contextmanager
def open_bundle(
    path: Path, context: Path | ExecutionContext | None = None, *, limits: ArchiveLimits | None = None
) -> Iterator[Evidence]:
    """The evidence at `path`; its bytes can be read until the block ends, and no file is held open for it.

    `context`, or the file of that name, takes the place of the bundle's own `context.yaml`. Raises EvidenceError (B001
    to B009) when there is nothing to read, ConfigurationError (D...) when the context is wrong. One bad file among
    others is no error: its stream says so.
    """
    with ExitStack() as stack:
        must_exist(path)
        if path.is_dir():
            yield _read_folder(path, path, context, ())
        elif _is_archive(path):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attribution-")))
            notes = unpack(path, folder, limits or ArchiveLimits())
            root = _only_folder(folder)
            if root != folder:
                notes = tuple(replace(note, name=note.name.removeprefix(f"{root.name}/")) for note in notes)
            yield _read_folder(root, path, context, notes)
        else:
            yield _read_file(path, context)


def read_files(context: ExecutionContext, files: Sequence[Found]) -> tuple[EvidenceStream, ...]:
    """Files from anywhere as streams; the `folder` of each says its source, its `name` becomes the stream's."""
    return _evidence(context, files, ()).streams


def _is_archive(path: Path) -> bool:
    if path.name.lower().endswith(SUFFIXES):
        return True
    try:
        return sniff.is_tar(_read_head(path)[0])
    except OSError:
        return False


def _only_folder(folder: Path) -> Path:
    """The single folder that an archive was made of, or the archive's root."""
    listed = list(folder.iterdir())
    if len(listed) == 1 and listed[0].is_dir() and listed[0].name not in SOURCE_FOLDERS:
        return listed[0]
    return folder


# --- one look at each file ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one look at a file tells. `head` is kept only until the file's node is known."""

    found: Found
    source: Source
    format: Format = Format.TEXT
    status: Status = Status.OK
    reason: str | None = None
    size: int | None = None
    head: bytes = b""


def _look_at(found: Found) -> _Seen:
    folder_source = Source(found.folder) if found.folder and found.folder != METRICS else None
    default = folder_source or (Source.NODE_METRICS if found.folder else Source.APPLOG)
    if found.skip or found.error:
        status = Status.SKIPPED if found.skip else Status.ERROR
        return _Seen(found, default, status=status, reason=found.skip or found.error)
    try:
        head, damage = _read_head(found.path)
        size = None if _is_compressed(found.path) else found.path.stat().st_size
    except OSError as error:
        return _Seen(found, default, status=Status.ERROR, reason=reason(error))
    if damage and not head:
        return _Seen(found, default, status=Status.ERROR, reason=damage)
    if (why := sniff.why_no_log(head)) is not None:
        return _Seen(found, default, status=Status.SKIPPED, reason=why)
    form = sniff.find_format(head)
    if found.folder == METRICS:
        source = origin.metric_source(head)
    else:
        source = folder_source or origin.find_source(head, form)
    status = Status.PARTIAL if damage else Status.OK if head else Status.EMPTY
    return _Seen(found, source, form, status, damage, size, head)


def _read_head(path: Path) -> tuple[bytes, str | None]:
    """The first bytes of the decompressed content, and how it is damaged within them."""
    with open_plain(path) as file:
        parts: list[bytes] = []
        wanted = sniff.HEAD_BYTES
        try:
            while wanted and (data := file.read(wanted)):
                parts.append(data)
                wanted -= len(data)
        except DamagedStream as error:
            return b"".join(parts), str(error)
        return b"".join(parts), None


def _is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))


def _is_damaged(path: Path) -> bool:
    try:
        return _read_head(path)[1] is not None
    except OSError:
        return False


def _open(path: Path) -> BinaryIO:
    return open_plain(path)


# --- from files to streams ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Placed:
    """A stream, and by which names its node was called in its own lines."""

    stream: EvidenceStream
    aliases: frozenset[str] = frozenset()


def _place(found: Found, known: NodeNames, several_nodes: bool) -> _Placed:
    """The stream of one file, with its node and rank."""
    seen = _look_at(found)
    if seen.status is Status.SKIPPED:
        key = StreamKey(seen.source, None, None, found.name)
        return _Placed(EvidenceStream(key, seen.format, status=seen.status, reason=seen.reason))
    name, hosts = _name_of(seen, known)
    node, guess = name.node, not name.certain
    aliases = frozenset(host for host in hosts.all() if node and host != node and names_host(node, host))
    if node is None:
        node, guess = _node_of_lines(seen, hosts, known, several_nodes), False
    # A system log that only its content tells may have been written by the job itself.
    guess = guess or (found.folder is None and seen.source is not Source.APPLOG)
    rank = name.rank
    if rank is None and seen.source is Source.APPLOG:
        rank = origin.find_rank(seen.head)
    stream = EvidenceStream(
        key=StreamKey(seen.source, node, rank, found.name),
        format=seen.format,
        segments=(Segment(0, 0, partial(_open, found.path), seen.size),) if seen.head else (),
        status=seen.status,
        reason=seen.reason,
        node_is_guess=guess and node is not None,
    )
    return _Placed(stream, aliases)


def _name_of(seen: _Seen, known: NodeNames) -> tuple[FileName, origin.Hosts]:
    """What the names of the file and of the folders around it say, and the hosts that were read to confirm it."""
    *folders, file_name = seen.found.name.split("/")
    needs_digit = seen.source not in _PER_NODE or seen.found.folder is None
    name = parse_name(file_name, known, guess=not _tells_of_many(seen), needs_digit=needs_digit)
    if name.certain:
        return name, origin.Hosts()
    hosts = origin.find_hosts(seen.head)
    if hosts.all():
        name = parse_name(file_name, known, hosts.all(), guess=not _tells_of_many(seen), needs_digit=needs_digit)
    if name.node is None and not _tells_of_many(seen):
        inner = [folder for folder in reversed(folders) if folder.lower() not in SOURCE_FOLDERS]
        name = _name_of_folder(inner, name, known, hosts.all())
    return name, hosts


def _tells_of_many(seen: _Seen) -> bool:
    """Whether these are records of a scheduler, which are of no node, whatever their file is called."""
    return seen.source is Source.SCHEDULER and seen.format not in _ONE_WRITER


def _name_of_folder(folders: Sequence[str], name: FileName, known: NodeNames, hosts: Collection[str]) -> FileName:
    for folder in folders:
        if (node := known.exact(folder)) is not None:
            return replace(name, node=node, certain=True)
        if any(names_host(folder, host) for host in hosts):
            return replace(name, node=folder, certain=True)
    guess = next((folder for folder in folders[:1] if looks_like_host(folder)), None)
    return replace(name, node=guess, certain=False)


def _node_of_lines(seen: _Seen, hosts: origin.Hosts, known: NodeNames, several_nodes: bool) -> str | None:
    """The node that the lines themselves name as their writer, if it is one and the same."""
    if seen.source is Source.SCHEDULER or seen.source in METRIC_SOURCES or seen.format not in _ONE_WRITER:
        return None  # these tell of other nodes than the one that wrote them
    named = hosts.writers or (frozenset() if several_nodes else hosts.speakers)
    resolved = {known.resolve(host) or host for host in named}
    if len(resolved) != 1 or (not hosts.writers and len(hosts.all()) != 1):
        return None
    return resolved.pop()


# --- the three kinds of evidence ---------------------------------------------------------------------------------


def _read_file(path: Path, given: Path | ExecutionContext | None) -> Evidence:
    context, _ = load_context(None, path, given)
    found = Found(path, printable(path.name), path.parent.name if path.parent.name in SOURCE_FOLDERS else None)
    evidence = _evidence(context, (found,), ())
    (stream,) = evidence.streams
    if stream.status is Status.SKIPPED:
        raise problem(path, "B008", f"is no log: it {stream.reason}", TAKE_A_LOG)
    if stream.status is Status.ERROR:
        if _is_damaged(path):
            raise problem(path, "B004", f"cannot be decompressed: {stream.reason}", "copy the file again")
        raise problem(path, "B003", f"cannot be read: {stream.reason}", CHECK_PERMISSIONS)
    return evidence


def _read_folder(root: Path, shown: Path, given: Path | ExecutionContext | None, notes: Sequence[Note]) -> Evidence:
    context, reserved = load_context(root, shown, given)
    listed = _load_listing(root, shown)
    found = list(walk(root, reserved | {listing.FILE_NAME, README}))
    if len(found) == 1 and found[0].error and found[0].path == root:
        raise problem(shown, "B003", f"cannot be read: {found[0].error}", "check its permissions")
    evidence = _evidence(context, found, listed, notes)
    is_given = given is not None or bool(reserved) or bool(listed)
    if not is_given and all(stream.status is Status.SKIPPED for stream in evidence.streams):
        count = len(evidence.streams)
        message = "holds no evidence" + (f": all {count} files were passed over" if count else "")
        raise problem(shown, "B005", message, "put logs into it, such as applog/node-01.log or syslog/node-01.log")
    return evidence


def _evidence(
    context: ExecutionContext,
    found: Sequence[Found],
    listed: Sequence[listing.ListedStream],
    notes: Sequence[Note] = (),
) -> Evidence:
    known = NodeNames(context.nodes)
    files = {item.name: item for item in found}
    claimed = {segment.file for entry in listed for segment in entry.segments} | {entry.stream for entry in listed}
    placed = [_place(item, known, len(context.nodes) > 1) for item in found if item.name not in claimed]
    written = [_Placed(_listed_stream(entry, files)) for entry in listed]
    if not context.nodes:
        aliases: dict[str, set[str]] = {}
        ranks: list[tuple[str, int]] = []
        for item in placed + written:
            if (node := item.stream.key.node) is not None:
                aliases.setdefault(node, set()).update(item.aliases)
                ranks += [] if item.stream.key.rank is None else [(node, item.stream.key.rank)]
        context, final = infer_nodes(context, aliases, ranks)
        placed = [_Placed(_renamed(item.stream, final)) for item in placed]
    streams = [item.stream for item in placed + written]
    streams = _with_notes(streams, notes)
    return Evidence(context, tuple(sorted(streams, key=lambda stream: stream.key.sort_key())))


def _renamed(stream: EvidenceStream, final: Mapping[str, str]) -> EvidenceStream:
    key = stream.key
    if key.node is None or final[key.node] == key.node:
        return stream
    return replace(stream, key=replace(key, node=final[key.node]))


def _with_notes(streams: Sequence[EvidenceStream], notes: Sequence[Note]) -> list[EvidenceStream]:
    """What unpacking had to say: of a file that is there, its state; of one that is not, a stream of its own."""
    result = list(streams)
    places = {stream.key.stream: index for index, stream in enumerate(result)}
    for note in notes:
        name = printable(note.name)
        place = places.get(name)
        if place is not None and note.status is Status.PARTIAL:
            result[place] = replace(result[place], status=note.status, reason=note.reason)
            continue
        if place is not None and note.status is Status.ERROR:
            name += " (the archive)"
        elif place is not None:
            continue
        places[name] = len(result)
        key = StreamKey(Source.APPLOG, None, None, name)
        result.append(EvidenceStream(key, status=note.status, reason=note.reason))
    return result


# --- streams.yaml ------------------------------------------------------------------------------------------------


def _load_listing(root: Path, shown: Path) -> tuple[listing.ListedStream, ...]:
    file = root / listing.FILE_NAME
    if not file.is_file():
        return ()
    place = f"{shown}/{listing.FILE_NAME}"
    streams = documents.load(text_of(file, place), place, Listing).streams
    keys = [entry.key() for entry in streams]
    files = [segment.file for entry in streams for segment in entry.segments]
    if len(set(keys)) < len(keys) or len(set(files)) < len(files):
        raise ConfigurationError([Problem(Place(place), "B011", "lists a stream or a file twice", "remove one")])
    return streams


def _listed_stream(entry: listing.ListedStream, files: Mapping[str, Found]) -> EvidenceStream:
    """A stream as the listing tells it, over those of its files that can be read."""
    segments: list[Segment] = []
    fault: str | None = None
    for part in sorted(entry.segments, key=lambda segment: segment.offset):
        found = files.get(part.file)
        if found is None or found.skip:
            fault = f"{printable(part.file)} is listed in {listing.FILE_NAME} but is not there"
            continue
        try:
            _, damage = _read_head(found.path)
            size = None if _is_compressed(found.path) else found.path.stat().st_size
        except OSError as error:
            fault = f"{found.name}: {reason(error)}"
            continue
        fault = damage or fault
        segments.append(Segment(part.offset, part.first_line, partial(_open, found.path), size))
    status, why = entry.status, entry.reason
    if fault is not None:
        status, why = (Status.PARTIAL if segments else Status.ERROR), fault
    return EvidenceStream(
        entry.key(), entry.format, tuple(segments), status, why, entry.truncated, entry.clock, entry.node_is_guess
    )
