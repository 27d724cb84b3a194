"""A container's log is read as a stream, in pieces of whole lines, its start and its end if it is too large."""

import codecs
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from attribution.blueprint.connectors.base import DEADLINE, Halted
from attribution.blueprint.connectors.kubernetes.access import explained
from attribution.blueprint.connectors.kubernetes.cluster import Cluster
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why
from attribution.contracts.observation import Observation
from attribution.contracts.vocabulary import Source, Status

_STAMP_CHARS = 40


@dataclass(frozen=True, slots=True)
class Log:
    """Whose log it is."""

    node: str | None
    rank: int | None
    stream: str

    def told(self, status: Status, reason: str) -> Observation:
        """Says of the log what has no text."""
        return self.piece("", 0, 0, status, reason)

    def piece(
        self, body: str, offset: int, first_line: int, status: Status = Status.OK, reason: str | None = None
    ) -> Observation:
        """A piece of the log."""
        return Observation(
            source=Source.APPLOG,
            node=self.node,
            rank=self.rank,
            stream=self.stream,
            offset=offset,
            first_line=first_line,
            body=body,
            status=status,
            reason=reason,
        )


@dataclass(frozen=True, slots=True)
class LogQuery:
    """What is read of it: lines from `since` to `until`, at most so many `bytes`."""

    namespace: str
    pod: str
    container: str
    is_previous: bool
    since: str | None
    until: datetime | None
    bytes: int
    piece_bytes: int


def read(cluster: Cluster, log: Log, query: LogQuery, halted: Halted) -> Iterator[Observation]:
    """The pieces of a log, and what is missing of it. A log that cannot be had is told by its reason."""
    start = _Reading(log, query)
    half = query.bytes // 2
    try:
        pieces = cluster.log(
            query.namespace,
            query.pod,
            query.container,
            previous=query.is_previous,
            since=query.since,
            limit_bytes=half,
            halted=halted,
        )
        yield from start.pieces(pieces, half, halted)
        if start.is_full:
            yield from _end(cluster, log, query, start, halted)
    except ClusterError as error:
        yield _refused(log, cluster.name, error, start.given)
        return
    if not start.given:
        yield log.told(Status.EMPTY, "the container printed nothing in the window")


class _Reading:
    """The pieces of one log as they come, and where it stands."""

    def __init__(self, log: Log, query: LogQuery) -> None:
        self._log = log
        self._query = query
        self.given = False
        self.is_full = False
        self.lines = 0
        self.last = ""
        self.bytes = 0
        self._is_over = False

    def pieces(self, data: Iterator[bytes], limit: int, halted: Halted) -> Iterator[Observation]:
        """Whole lines in pieces. A last line that the limit cut through is left for who reads the end.

        What came before a failure is given before it is raised.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        held, size, received = "", self._query.piece_bytes, 0
        failure: ClusterError | None = None
        while not self._is_over:
            try:
                chunk = next(data, b"")
            except ClusterError as error:
                if error.why is Why.HALTED:
                    raise
                chunk, failure = b"", error
            if not chunk:
                break
            received += len(chunk)
            held += decoder.decode(chunk)
            while len(held) >= size and not self._is_over:
                cut = held.rfind("\n", 0, size) + 1 or size
                yield from self._given(held[:cut])
                held = held[cut:]
                if halted():
                    raise ClusterError(Why.HALTED, "was halted")
        self.is_full = received >= limit
        held += decoder.decode(b"", final=True)
        if self.is_full:
            held = held[: held.rfind("\n") + 1]
        if not self._is_over:
            yield from self._given(held)
        if failure is not None:
            raise failure

    def _given(self, text: str) -> Iterator[Observation]:
        text = self._in_time(text)
        if not text:
            return
        yield self._log.piece(text, self.bytes, self.lines)
        self.given = True
        self.bytes += len(text.encode("utf-8", "replace"))
        self.lines += text.count("\n")
        self.last = _stamp(text.rstrip("\n").rpartition("\n")[2]) or self.last

    def _in_time(self, text: str) -> str:
        """The lines up to the end of the window; those of a log are in the order of their stamps."""
        until = self._query.until
        if until is None:
            return text
        at = _instant(_stamp(text.rstrip("\n").rpartition("\n")[2]))
        if at is None or at <= until:
            return text
        self._is_over = True
        kept = []
        for line in _lines(text):
            at = _instant(_stamp(line))
            if at is not None and at > until:
                break
            kept.append(line)
        return "".join(kept)


def _end(cluster: Cluster, log: Log, query: LogQuery, start: _Reading, halted: Halted) -> Iterator[Observation]:
    """The end of a log whose start was cut off: as many lines as the same bytes hold, without those already read."""
    half = query.bytes // 2
    per_line = max(1, start.bytes // max(1, start.lines))
    pieces = cluster.log(
        query.namespace,
        query.pod,
        query.container,
        previous=query.is_previous,
        since=query.since,
        tail_lines=max(1, half // per_line),
        halted=halted,
    )
    held, was_cut, failure = _last_bytes(pieces, half)
    lines = _lines(held.decode("utf-8", "replace"))[1 if was_cut else 0 :]
    fresh = [line for line in lines if _is_after(_stamp(line), start.last)]
    if len(fresh) == len(lines):
        yield log.told(Status.PARTIAL, f"the log is larger than `log_bytes` ({query.bytes}): its middle was not read")
    end = _Reading(Log(log.node, log.rank, f"{log.stream} (end)"), query)
    yield from end.pieces(iter(["".join(fresh).encode()]), 2 * query.bytes, halted)
    if failure is not None:
        raise failure


def _last_bytes(pieces: Iterator[bytes], size: int) -> tuple[bytes, bool, ClusterError | None]:
    """The last bytes of a stream, whether there were more before them, and how it failed if it did."""
    held: deque[bytes] = deque()
    length, was_cut = 0, False
    try:
        for piece in pieces:
            held.append(piece)
            length += len(piece)
            while length - len(held[0]) >= size:
                length -= len(held.popleft())
                was_cut = True
    except ClusterError as error:
        if error.why is Why.HALTED:
            raise
        return b"".join(held), was_cut, error
    return b"".join(held), was_cut, None


def _is_after(stamp: str, last: str) -> bool:
    """Whether a line comes after the last that was read. Stamps of one log have one zone and so sort as texts."""
    return stamp > last


def _lines(text: str) -> list[str]:
    """The lines with their newlines. Nothing else ends a line: programs print all sorts of characters."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _stamp(line: str) -> str:
    """The stamp before a line, or nothing where there is none."""
    stamp = line[:_STAMP_CHARS].partition(" ")[0]
    return stamp if stamp[:4].isdigit() and "T" in stamp else ""


def _instant(stamp: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
        return at.astimezone(UTC) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _refused(log: Log, at: str, error: ClusterError, was_begun: bool) -> Observation:
    """Why a log could not be had, or not to its end."""
    if error.why is Why.HALTED:
        return log.told(Status.PARTIAL if was_begun else Status.SKIPPED, DEADLINE)
    if was_begun:
        return log.told(Status.PARTIAL, f"broke off: {explained(error, at)}")
    known = (log.told(status, reason(error)) for holds, status, reason in _REFUSALS if holds(error))
    return next(known, None) or log.told(Status.ERROR, explained(error, at))


_Refusal = tuple[Callable[[ClusterError], bool], Status, Callable[[ClusterError], str]]
_REFUSALS: tuple[_Refusal, ...] = (
    (lambda e: "is waiting to start" in e.said, Status.EMPTY, lambda e: e.said),
    (
        lambda e: "previous terminated container" in e.said,
        Status.ERROR,
        lambda e: "the container was restarted, and the log of its run before is not kept any more",
    ),
    (lambda e: e.why is Why.MISSING, Status.ERROR, lambda e: "the pod is gone, and its log with it"),
    (
        lambda e: e.why is Why.UNAVAILABLE and ("containerLogs" in e.said or "dial tcp" in e.said),
        Status.ERROR,
        lambda e: f"the node's kubelet, which keeps the log, did not answer: {e.said}",
    ),
)
"""What a refusal means, the first that holds."""
