"""Tables of a diagnosis: what was set aside, considered, not tested, examined, and what the connectors did."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from attribution.contracts.coverage import CoverageLine
from attribution.contracts.diagnosis import Alternative, Symptom
from attribution.contracts.result import ConnectorReport
from attribution.contracts.vocabulary import Status, SubDomain, SymptomStatus
from attribution.dashboard.views.evidence import Cited, Href, RawLine, cited, raw
from attribution.presentation import words
from attribution.presentation.answer import Answer, place_of_line
from attribution.presentation.groups import Group, by_source, grouped, losses, noticed, set_aside

SHOWN_ROWS = 100
"""Rows of one table; how many more there are is told below it."""

SHOWN_NODES = 4
"""Nodes that a cell names."""

EXAMPLE_COLUMNS = 400
"""Columns of the line that stands for a group of findings."""

Item = TypeVar("Item")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """The first rows of a table, and how many more there are."""

    rows: tuple[Row, ...]
    more: int

    def __bool__(self) -> bool:
        return bool(self.rows)


def table(rows: Iterable[Row], most: int = SHOWN_ROWS) -> Table[Row]:
    """The rows, bounded."""
    return made(tuple(rows), lambda row: row, most)


def made(items: Sequence[Item], make: Callable[[Item], Row], most: int = SHOWN_ROWS) -> Table[Row]:
    """A row of each item, bounded; what is not shown is not made."""
    return Table(tuple(make(item) for item in items[:most]), max(0, len(items) - most))


# --- findings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Findings of one kind, with one line that stands for them."""

    what: str
    symptom: str
    nodes: str
    first_at: str
    reason: str
    rule: str
    example: RawLine | None
    place: str
    href: str


SymptomsOf = Mapping[tuple[str, str | None], Sequence[Symptom]]
"""Findings by their kind and node."""


def symptoms_of(answer: Answer) -> SymptomsOf:
    """All findings."""
    return grouped(answer.diagnosis.symptoms, lambda symptom: (symptom.symptom, symptom.node))


def aside_rows(answer: Answer, href: Href) -> Table[GroupRow]:
    """What was set aside, by which rule and why."""
    return _groups(answer, set_aside(answer), href)


def noticed_rows(answer: Answer, href: Href) -> Table[GroupRow]:
    """What informs and blames nothing."""
    return _groups(answer, noticed(answer), href)


def _groups(answer: Answer, groups: Sequence[Group], href: Href) -> Table[GroupRow]:
    members, found = grouped(answer.diagnosis.symptoms, _kind), symptoms_of(answer)

    def row(group: Group) -> GroupRow:
        kin = members[group.symptom, group.rule, group.reason]
        return _group(answer, group, kin, _in_turn(answer, kin[0], found), href)

    return made(groups, row)


def _group(answer: Answer, group: Group, members: Sequence[Symptom], in_turn: str, href: Href) -> GroupRow:
    item = next((answer.evidence[e] for s in members for e in s.evidence_ids if e in answer.evidence), None)
    return GroupRow(
        what=words.sentence(group.what),
        symptom=group.symptom,
        nodes=answer.nodes(group.nodes, SHOWN_NODES),
        first_at=words.time(group.first_at) if group.first_at else "",
        reason=group.reason + in_turn,
        rule=group.rule,
        example=raw(item, EXAMPLE_COLUMNS) if item else None,
        place=place_of_line(item) if item else "",
        href=href(item.id) if item else "",
    )


def _in_turn(answer: Answer, symptom: Symptom, found: SymptomsOf) -> str:
    """What became of the finding for which this one was set aside, where it is no cause itself."""
    by = symptom.demoted_by
    if by is None or by.symptom is None or (by.symptom, by.node) in {(c.symptom, c.node) for c in answer.causes}:
        return ""
    kin = found.get((by.symptom, by.node), ())
    further = next((s.demoted_by for s in kin if s.demoted_by and s.demoted_by.symptom), None)
    if further is None or any(s.status is SymptomStatus.ACTIVE for s in kin):
        return ""
    on = f" on {answer.node(further.node)}" if further.node else ""
    return f"; that gave way in turn to {words.symptom(further.symptom or '')}{on}"


def _kind(symptom: Symptom) -> tuple[str, str, str]:
    by = symptom.demoted_by if symptom.status is SymptomStatus.DEMOTED else None
    return symptom.symptom, by.rule if by else "", by.reason if by else ""


@dataclass(frozen=True, slots=True)
class AlternativeRow:
    """A cause that was considered."""

    what: str
    symptom: str
    blame: str
    nodes: str
    ruled_out: bool
    because: str
    own: tuple[Cited, ...]
    against: tuple[Cited, ...]


def alternative_rows(answer: Answer, href: Href) -> Table[AlternativeRow]:
    """Causes that were considered; those that differ only in their node are one row."""
    found = symptoms_of(answer)
    alike = grouped(answer.diagnosis.alternatives, lambda a: (a.ruled_out, a.symptom, a.sub_domain, a.because))
    return table(
        AlternativeRow(
            what=words.sentence(words.symptom(symptom)),
            symptom=symptom,
            blame=words.SUB_DOMAINS[sub_domain],
            nodes=answer.nodes([item.node for item in items if item.node], SHOWN_NODES),
            ruled_out=ruled_out,
            because=because,
            own=cited(answer, (e for item in items for e in lines_of(item, found).own), href),
            against=cited(answer, (e for item in items for e in lines_of(item, found).against), href),
        )
        for (ruled_out, symptom, sub_domain, because), items in alike.items()
    )


class AlternativeLines(NamedTuple):
    """Ids of lines: those that show a cause that was considered, and those that rule it out."""

    own: tuple[str, ...]
    against: tuple[str, ...]


def lines_of(item: Alternative, found: SymptomsOf) -> AlternativeLines:
    """A finding that another one explains is cited with the line of that other one: its own are kept with itself."""
    kin = found.get((item.symptom, item.node), ())
    aside = [s for s in kin if s.demoted_by and s.demoted_by.reason == item.because]
    own = {e: None for s in aside or kin for e in s.evidence_ids}
    if not item.ruled_out:
        return AlternativeLines(tuple(own | dict.fromkeys(item.evidence_ids)), ())
    explained = any(s.demoted_by and s.demoted_by.symptom for s in aside)
    return AlternativeLines(tuple(own), tuple(e for e in item.evidence_ids if explained or e not in own))


# --- what was not seen --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UntestableRow:
    """Causes that could not be tested, for lack of which source."""

    source: str
    nodes: str
    reason: str
    causes: str


def untestable_rows(answer: Answer) -> Table[UntestableRow]:
    """What could not be tested."""
    return table(
        UntestableRow(
            source=words.SOURCES[item.source] if item.source else "a rule",
            nodes=answer.nodes(item.nodes, SHOWN_NODES),
            reason=item.reason,
            causes=words.listed([words.SUB_DOMAINS[s] for s in item.sub_domains], len(SubDomain)),
        )
        for item in answer.diagnosis.untestable
    )


@dataclass(frozen=True, slots=True)
class SourceRow:
    """What was examined of one source."""

    source: str
    streams: str
    lines: str
    notes: str


def source_rows(answer: Answer) -> Table[SourceRow]:
    """Coverage, one row a source."""
    return table(
        SourceRow(words.SOURCES[item.source], item.streams, f"{item.lines:,}", "; ".join(item.notes))
        for item in by_source(answer.diagnosis.coverage)
    )


@dataclass(frozen=True, slots=True)
class StreamRow:
    """What was examined of one stream."""

    source: str
    node: str
    stream: str
    status: str
    fine: bool
    lines: str
    first_at: str
    last_at: str
    notes: str


def stream_rows(answer: Answer) -> Table[StreamRow]:
    """Coverage, one row a stream: those that were not read whole come first."""
    ordered = sorted(answer.diagnosis.coverage, key=lambda line: line.status is Status.OK and not line.truncated)
    return made(ordered, lambda line: _stream(answer, line))


def _stream(answer: Answer, line: CoverageLine) -> StreamRow:
    rank = f"rank {line.rank}" if line.rank is not None else ""
    return StreamRow(
        source=words.SOURCES[line.source],
        node=answer.node(line.node) if line.node else "",
        stream=" · ".join(part for part in (rank, line.stream) if part),
        status=words.STATUSES[line.status],
        fine=line.status is Status.OK,
        lines=f"{line.lines:,}",
        first_at=words.time(line.first_at) if line.first_at else "",
        last_at=words.time(line.last_at) if line.last_at else "",
        notes="; ".join([*losses([line]), *([line.reason] if line.reason else [])]),
    )


# --- connectors ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReportRow:
    """What one connector did. `trouble` says in words what went wrong, empty where nothing did."""

    connector: str
    source: str
    node: str
    status: str
    fine: bool
    window: str
    observations: str
    lines: str
    submitted: str
    accepted: str
    duplicate: str
    rejected: str
    trouble: str


def report_rows(reports: Sequence[ConnectorReport]) -> Table[ReportRow]:
    """What the connectors did: first where something went wrong."""
    ordered = sorted(reports, key=lambda item: item.status in _FINE and not any(_trouble(item)))
    return made(ordered, _report)


_FINE = frozenset({Status.OK, Status.EMPTY})


def _report(item: ConnectorReport) -> ReportRow:
    window = f"{words.time(item.window.start)} to {words.time(item.window.end)}" if item.window else ""
    return ReportRow(
        connector=item.connector,
        source=words.SOURCES[item.source],
        node=item.node or "",
        status=words.STATUSES[item.status],
        fine=item.status in _FINE,
        window=window,
        observations=f"{item.observations:,}",
        lines=f"{item.lines:,}",
        submitted=f"{item.submitted:,}",
        accepted=f"{item.accepted:,}",
        duplicate=f"{item.duplicate:,}",
        rejected=f"{item.rejected:,}",
        trouble="; ".join(_trouble(item)),
    )


def _trouble(item: ConnectorReport) -> Iterable[str]:
    """What was lost on the way: not sent, not answered or refused; and how often it was tried again."""
    if item.reason:
        yield item.reason
    if unsent := item.observations - item.submitted:
        yield f"{unsent:,} never submitted"
    if unanswered := item.submitted - item.accepted - item.duplicate - item.rejected:
        yield f"{unanswered:,} lost on the way to the Service"
    if item.rejected:
        yield f"{item.rejected:,} rejected by the Service"
    if item.retries:
        yield f"tried again {words.counted(item.retries, 'time')}"
