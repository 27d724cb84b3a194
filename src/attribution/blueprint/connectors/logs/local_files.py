"""Evidence in files that this machine can read: bundles, and files named by patterns."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from pydantic import Field, field_validator

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import DEADLINE, Collector, ConnectorError, Halted
from attribution.blueprint.connectors.logs import patterns
from attribution.blueprint.connectors.logs.patterns import Match, closed, filled, has, is_safe, look, names_job
from attribution.blueprint.connectors.logs.spans import within
from attribution.blueprint.connectors.placeholders import values_of
from attribution.blueprint.connectors.windows import Span
from attribution.bundle.cut import observations
from attribution.bundle.evidence import Evidence, EvidenceStream, StreamKey
from attribution.bundle.faults import reason
from attribution.bundle.reader import open_bundle, read_files
from attribution.bundle.walk import Found, printable
from attribution.contracts.base import Strict
from attribution.contracts.context import ExecutionContext, Node
from attribution.contracts.errors import AttributionError
from attribution.contracts.observation import Clock, Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Format, Source, Status

_SHOWN_RANKS = 10
_MTIME_DOUBT_SECS = 3600
"""How far the clock of a file server may be off."""
_STAMPED = frozenset({Format.TEXT, Format.JOURNAL_JSON})


class FilePattern(Strict):
    """Files of one source."""

    source: Source
    path: str = Field(description="path with `*`, `?` and placeholders such as `{job_id}`, `{node}` and `{rank}`")
    rotated: bool = Field(default=True, description="also what log rotation made of a file: `.1`, `-20260504`, `.gz`")
    clock: Clock | None = Field(default=None, description="how to read stamps that do not say their zone or year")

    @field_validator("path")
    @classmethod
    def _usable(cls, value: str) -> str:
        if why := patterns.why_wrong(value):
            raise ValueError(why)
        return value


class LocalFilesSettings(Strict):
    """Which files hold evidence, besides those of bundles."""

    files: tuple[FilePattern, ...] = Field(
        default=(),
        description="files of each source: `source`, `path` with `*`, `?` and placeholders such as `{job_id}`, "
        "`{node}` and `{rank}`, and optionally `clock` and `rotated`",
    )
    whole_bytes: int = Field(
        default=16 << 20,
        ge=0,
        description="files up to this size are read whole; of larger ones that are not of one job, the attempt's time",
    )
    piece_bytes: int = Field(default=1 << 20, ge=1024, description="bytes of text in one observation")


class LocalFiles(Collector[LocalFilesSettings]):
    """Reads the bundle of an attempt, if it has one, and the files that the patterns name for it."""

    Settings = LocalFilesSettings
    by_default = True

    @property
    def sources(self) -> frozenset[Source]:
        """The sources of the patterns; what a bundle holds is known only when it is opened."""
        return frozenset(pattern.source for pattern in self.settings.files)

    def check(self) -> str:
        """Look whether the folder that each pattern begins with is there."""
        for pattern in self.settings.files:
            start = pattern.path.partition("{")[0].partition("*")[0].partition("?")[0]
            folder = os.path.dirname(start) or "."  # noqa: PTH120  `logs/job-` begins in `logs`
            try:
                os.listdir(folder)  # noqa: PTH208
            except OSError as error:
                raise ConnectorError(f"cannot look into {folder}: {error.strerror or error}") from None
        count = len(self.settings.files)
        if not count:
            return "reads what bundles hold; no other files are named"
        return (
            f"can look into the folders of {count} patterns" if count > 1 else "can look into the folder of its pattern"
        )

    def collect(self, attempt: Attempt, plan: CollectionPlan, halted: Halted) -> Iterator[Observation]:
        """Every stream of the bundle as `attribution diagnose` reads it, then the files of the patterns.

        The plan's literals are not asked for: what stands around a line is read too.
        """
        if attempt.bundle is not None:
            try:
                with open_bundle(attempt.bundle.path, attempt.bundle.given) as evidence:
                    for stream in evidence.streams:
                        yield from self._read(evidence.context, stream, halted)
            except AttributionError as error:
                raise ConnectorError("; ".join(str(problem) for problem in error.problems)) from None
        by_source: dict[Source, list[FilePattern]] = {}
        for pattern in self.settings.files:
            by_source.setdefault(pattern.source, []).append(pattern)
        span = Span.of(attempt.context, plan.margin_secs)
        for source, own in by_source.items():
            for place in _places(attempt.context, own):
                for found in _streams(attempt.context, source, place, span):
                    stream = self._cut(found.stream, span, halted) if found.is_shared else found.stream
                    yield from self._read(attempt.context, stream, halted)

    def _cut(self, stream: EvidenceStream, span: Span, halted: Halted) -> EvidenceStream:
        """The stream with what may belong to the attempt. One that cannot be looked through is left to be read."""
        if len(stream.segments) != 1 or stream.format not in _STAMPED:
            return stream
        try:
            return within(stream, span, self.settings.whole_bytes, halted)
        except OSError:
            return stream

    def _read(self, context: ExecutionContext, stream: EvidenceStream, halted: Halted) -> Iterator[Observation]:
        if halted():
            yield _unread(stream, Status.SKIPPED)
            return
        begun = False
        for piece in observations(Evidence(context, (stream,)), self.settings.piece_bytes):
            if halted():
                yield _unread(stream, Status.PARTIAL if begun else Status.SKIPPED)
                return
            yield piece
            begun = True


def _unread(stream: EvidenceStream, status: Status) -> Observation:
    """Says of a stream that it was not read, or not to its end."""
    key = stream.key
    return Observation(
        source=key.source,
        format=stream.format,
        node=key.node,
        node_is_guess=stream.node_is_guess,
        rank=key.rank,
        stream=key.stream,
        status=status,
        reason=DEADLINE,
    )


# --- patterns ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where to look for one source of one node, or of all nodes together if the patterns name none."""

    node: Node | None
    patterns: tuple[FilePattern, ...]


@dataclass(frozen=True, slots=True)
class _Stream:
    """What a pattern gave; `is_shared` if its file holds lines of other jobs too."""

    stream: EvidenceStream
    is_shared: bool = False


def _places(context: ExecutionContext, own: Sequence[FilePattern]) -> Iterator[_Place]:
    """The patterns with `{node}` once for each node, and those without it once."""
    per_node = tuple(pattern for pattern in own if has(pattern.path, "node"))
    for node in context.nodes if per_node else ():
        yield _Place(node, per_node)
    shared = tuple(pattern for pattern in own if pattern not in per_node or not context.nodes)
    if shared:
        yield _Place(None, shared)


def _streams(context: ExecutionContext, source: Source, place: _Place, span: Span) -> list[_Stream]:
    """The files of one place as streams, and a stream without bytes for each thing that is missing or refused."""
    streams: dict[str, _Stream] = {}
    node = place.node.name if place.node else None
    shown, why_none, old = "", "no file has such a name", 0
    for pattern in place.patterns:
        shown = shown or pattern.path
        lacking = [name for name in closed(pattern.path) if not values_of(context, name)]
        if lacking:
            why_none = f"the context does not say its {lacking[0]}"
            continue
        for values in _values(context, place.node, pattern.path):
            shown = printable(filled(pattern.path, values)) if shown == pattern.path else shown
            unsafe = [name for name, value in values.items() if has(pattern.path, name) and not is_safe(value)]
            if unsafe:
                why = f"the {unsafe[0]} `{printable(values[unsafe[0]])[:80]}` cannot stand in a path"
                streams.setdefault(pattern.path, _Stream(_nothing(source, node, pattern.path, Status.ERROR, why)))
                continue
            looked = look(pattern.path, values, pattern.rotated)
            for path, why in looked.refused.items():
                streams.setdefault(path, _Stream(_nothing(source, node, printable(path), Status.ERROR, why)))
            matches = _own(looked.matches, place.node)
            is_shared = not names_job(pattern.path)
            recent = [match for match in matches if not is_shared or not _is_older(match.path, span)]
            old += len(matches) - len(recent)
            for stream in _found(context, pattern, place.node, recent):
                streams.setdefault(stream.key.stream, _Stream(stream, is_shared))
    if old:
        why_none = f"{_files(old)} passed over, last written before the attempt"
    if not streams:
        return [_Stream(_nothing(source, node, shown, Status.EMPTY, why_none))]
    missing = _missing_ranks(place, [found.stream for found in streams.values()])
    if missing:
        streams[""] = _Stream(_nothing(source, node, shown, Status.PARTIAL, missing))
    first, *rest = streams.values()
    return [_with_reason(first, why_none) if old else first, *rest]


def _files(count: int) -> str:
    return "1 older file was" if count == 1 else f"{count} older files were"


def _with_reason(found: _Stream, why: str) -> _Stream:
    stream = found.stream
    return replace(found, stream=replace(stream, reason="; ".join(filter(None, (stream.reason, why)))))


def _is_older(path: Path, span: Span) -> bool:
    """Whether a file was last written so long before the attempt that nothing in it can belong."""
    if span.start is None:
        return False
    try:
        return path.stat().st_mtime < span.start.timestamp() - _MTIME_DOUBT_SECS
    except OSError:
        return False


def _values(context: ExecutionContext, node: Node | None, pattern: str) -> Iterator[Mapping[str, str]]:
    """What the placeholders stand for: once for each name of the node and each form of the job's id."""
    choices = {name: values_of(context, name) for name in closed(pattern)}
    if node is not None:
        choices["node"] = tuple(dict.fromkeys((node.name, *node.aliases)))
    for chosen in product(*choices.values()):
        yield dict(zip(choices, chosen, strict=True))


def _own(matches: Sequence[Match], node: Node | None) -> list[Match]:
    """The matches whose rank is one of the node's; all of them where its ranks are not known."""
    ranks = set(node.ranks) if node else set()
    return [match for match in matches if match.rank is None or not ranks or match.rank in ranks]


def _found(
    context: ExecutionContext, pattern: FilePattern, node: Node | None, matches: Sequence[Match]
) -> Iterator[EvidenceStream]:
    """The files that were found, with the node and rank that stood in their paths."""
    by_name = {printable(str(match.path)): match for match in matches}
    files = [_file(match, name, pattern.source) for name, match in by_name.items()]
    for stream in read_files(context, files):
        match, key = by_name[stream.key.stream], stream.key
        named = node.name if node else match.node
        rank = key.rank if match.rank is None else match.rank
        key = replace(key, source=pattern.source, node=named or key.node, rank=rank)
        guess = stream.node_is_guess and named is None
        yield replace(stream, key=key, node_is_guess=guess, clock=pattern.clock or stream.clock)


def _file(match: Match, name: str, source: Source) -> Found:
    try:
        is_regular = stat.S_ISREG(match.path.stat().st_mode)
    except OSError as error:
        return Found(match.path, name, source.value, error=reason(error))
    return Found(match.path, name, source.value, skip=None if is_regular else "is no regular file")


def _missing_ranks(place: _Place, streams: Sequence[EvidenceStream]) -> str | None:
    """Which ranks of the node have no file, if the patterns name ranks and the node's are known."""
    if place.node is None or not all(has(pattern.path, "rank") for pattern in place.patterns):
        return None
    missing = sorted(set(place.node.ranks) - {stream.key.rank for stream in streams})
    if not missing:
        return None
    more = f" and {len(missing) - _SHOWN_RANKS} more" if len(missing) > _SHOWN_RANKS else ""
    word = "rank" if len(missing) == 1 else "ranks"
    return f"no file has the name of {word} {', '.join(map(str, missing[:_SHOWN_RANKS]))}{more}"


def _nothing(source: Source, node: str | None, stream: str, status: Status, why: str) -> EvidenceStream:
    return EvidenceStream(StreamKey(source, node, None, stream), status=status, reason=why)
