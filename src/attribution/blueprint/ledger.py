"""The ledger counts what each connector delivered of each source and node, and what became of it at the Service."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from attribution.blueprint.connectors.base import DEADLINE
from attribution.contracts.coverage import CoverageLine
from attribution.contracts.exchange import ObservationAnswer
from attribution.contracts.observation import Observation, Window
from attribution.contracts.result import ConnectorReport
from attribution.contracts.vocabulary import Source, Status

_SHOWN_REASONS = 3
_TRIES = re.compile(r"\b(1 try|\d+ tries)\b")


@dataclass(frozen=True, slots=True)
class Item:
    """An observation with the connector that delivered it, and how often calls were repeated for it."""

    connector: str
    observation: Observation
    retries: int = 0

    @property
    def row(self) -> tuple[str, Source, str | None]:
        """Where it is counted."""
        return (self.connector, self.observation.source, self.observation.node)


@dataclass(slots=True)
class _Row:
    window: Window | None
    statuses: set[Status] = field(default_factory=set)
    reasons: dict[str, None] = field(default_factory=dict)
    observations: int = 0
    newlines: int = 0
    bytes: int = 0
    retries: int = 0
    streams: set[tuple[int | None, str]] = field(default_factory=set)
    ends: dict[tuple[int | None, str], tuple[int, bool]] = field(default_factory=dict)
    submitted: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    refusals: dict[str, int] = field(default_factory=dict)
    losses: dict[str, int] = field(default_factory=dict)

    def add_body(self, observation: Observation) -> None:
        """Count bytes and newlines, and remember whether the stream, as far as it is known, ends within a line."""
        body = observation.body
        if not body:
            return
        size = len(body.encode("utf-8", "replace"))
        self.newlines += body.count("\n")
        self.bytes += size
        stream, end = (observation.rank, observation.stream), observation.offset + size
        if end > self.ends.get(stream, (0, False))[0]:
            self.ends[stream] = (end, body.endswith("\n"))

    @property
    def lines(self) -> int:
        """The lines of all streams; those that a cut goes through count once."""
        return self.newlines + sum(not is_whole for _, is_whole in self.ends.values())


class Ledger:
    """What came of one attempt. Reports are sorted by connector, source and node."""

    def __init__(self, window: Window | None) -> None:
        self._window = window
        self._rows: dict[tuple[str, Source, str | None], _Row] = {}
        self._damaged: dict[tuple[Source, str | None, int | None, str], Observation] = {}

    def delivered(self, item: Item) -> None:
        """A connector delivered an observation."""
        row = self._rows.setdefault(item.row, _Row(self._window))
        row.observations += 1
        row.retries += item.retries
        row.streams.add((item.observation.rank, item.observation.stream))
        row.add_body(item.observation)
        row.statuses.add(item.observation.status)
        if item.observation.reason:
            row.reasons[item.observation.reason] = None

    def delivered_by(self, connector: str) -> list[tuple[Source, str | None]]:
        """The sources and nodes of which a connector delivered something."""
        return [(source, node) for name, source, node in self._rows if name == connector]

    def knows(self, connector: str, source: Source, node: str | None) -> bool:
        """Whether something was delivered of this source and node."""
        return (connector, source, node) in self._rows

    def submitted(self, items: Iterable[Item]) -> None:
        """These were sent."""
        for item in items:
            self._rows[item.row].submitted += 1

    def answered(self, item: Item, answer: ObservationAnswer) -> None:
        """The Service said what became of one."""
        row = self._rows[item.row]
        if answer.outcome == "accepted":
            row.accepted += 1
        elif answer.outcome == "duplicate":
            row.duplicate += 1
        else:
            row.rejected += 1
            reason = answer.reason or "no reason given"
            row.refusals[reason] = row.refusals.get(reason, 0) + 1
            self._damage(item.observation)

    def lost(self, item: Item, reason: str) -> None:
        """Nobody knows what became of one, or it was not sent at all."""
        row = self._rows[item.row]
        row.losses[reason] = row.losses.get(reason, 0) + 1
        self._damage(item.observation)

    def _damage(self, observation: Observation) -> None:
        key = (observation.source, observation.node, observation.rank, observation.stream)
        self._damaged.setdefault(key, observation)

    def damage(self) -> list[Observation]:
        """One observation without a body for each stream that did not reach the Service whole, which says so."""
        why = "observations of it did not reach the Service"
        changes = {"body": "", "offset": 0, "first_line": 0, "status": Status.PARTIAL, "reason": why}
        # A model's copy would keep the digest that was computed for the body.
        return [Observation.model_validate(item.model_dump() | changes) for item in self._damaged.values()]

    def reports(self, coverage: Iterable[CoverageLine] = ()) -> tuple[ConnectorReport, ...]:
        """One report for each connector, source and node.

        `coverage` is that of the diagnosis: it tells from when to when the streams of each report reach.
        """
        ordered = sorted(self._rows.items(), key=lambda pair: (pair[0][0], pair[0][1].value, pair[0][2] or ""))
        spans: dict[tuple[Source, str | None], list[CoverageLine]] = {}
        for line in coverage:
            spans.setdefault((line.source, line.node), []).append(line)
        return tuple(_report(*key, row, spans.get(key[1:], ())) for key, row in ordered)


def _report(
    connector: str, source: Source, node: str | None, row: _Row, coverage: Iterable[CoverageLine]
) -> ConnectorReport:
    own = [line for line in coverage if (line.rank, line.stream) in row.streams]
    reasons = list(_folded(row.reasons))
    reasons += [f"{_observations(count)} rejected: {reason}" for reason, count in row.refusals.items()]
    reasons += [f"{_observations(count)} lost: {reason}" for reason, count in row.losses.items()]
    shown = sorted(reasons)[:_SHOWN_REASONS]
    if len(reasons) > _SHOWN_REASONS:
        shown.append(f"and {len(reasons) - _SHOWN_REASONS} more")
    return ConnectorReport(
        connector=connector,
        source=source,
        node=node,
        window=row.window,
        status=_status(row),
        reason="; ".join(shown) or None,
        observations=row.observations,
        lines=row.lines,
        bytes=row.bytes,
        first_at=min((line.first_at for line in own if line.first_at), default=None),
        last_at=max((line.last_at for line in own if line.last_at), default=None),
        retries=row.retries,
        submitted=row.submitted,
        accepted=row.accepted,
        duplicate=row.duplicate,
        rejected=row.rejected,
    )


def _folded(reasons: Iterable[str]) -> Iterator[str]:
    """The reasons, of those that differ only in how often something was tried the first."""
    seen: set[str] = set()
    for reason in reasons:
        if (told := _TRIES.sub("", reason)) not in seen:
            seen.add(told)
            yield reason


def _observations(count: int) -> str:
    return f"{count} observation was" if count == 1 else f"{count} observations were"


def _status(row: _Row) -> Status:
    """How the row went as a whole: what was delivered, and what of it arrived."""
    if row.refusals or row.losses:
        return Status.PARTIAL if row.accepted + row.duplicate else Status.ERROR
    if row.statuses <= {Status.OK, Status.EMPTY}:
        return Status.OK if Status.OK in row.statuses else Status.EMPTY
    if row.bytes or Status.PARTIAL in row.statuses or Status.OK in row.statuses:
        return Status.PARTIAL
    if Status.SKIPPED in row.statuses and row.reasons.keys() & {DEADLINE}:
        return Status.PARTIAL
    return Status.ERROR if Status.ERROR in row.statuses else Status.SKIPPED
