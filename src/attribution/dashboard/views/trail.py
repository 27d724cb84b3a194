"""One piece of evidence with everything that rests on it, and its neighbours in the order of time."""

from collections.abc import Iterator
from dataclasses import dataclass

from attribution.contracts.diagnosis import Evidence
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import SymptomStatus
from attribution.dashboard.views import links
from attribution.dashboard.views.evidence import EvidenceView, evidence
from attribution.dashboard.views.tables import Table, lines_of, symptoms_of, table
from attribution.presentation import words
from attribution.presentation.answer import Answer
from attribution.presentation.columns import clip
from attribution.presentation.facts import is_order_known

SHOWN_COLUMNS = 400
"""Columns of a place, a field or a reason."""


@dataclass(frozen=True, slots=True)
class Use:
    """What rests on a line: the part that it plays, which finding that is, where, and a remark."""

    part: str
    what: str
    symptom: str
    where: str
    remark: str
    rule: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The line before or behind this one in the trail."""

    href: str
    place: str


@dataclass(frozen=True, slots=True)
class TrailView:
    """The page of one piece of evidence."""

    attempt: str
    title: str
    line: EvidenceView
    place: tuple[tuple[str, str], ...]
    uses: Table[Use]
    number: int
    total: int
    previous: Neighbour | None
    next: Neighbour | None


def trail_view(result: AttributionBlueprintResult, key: str, evidence_id: str) -> TrailView | None:
    """The page of a piece of evidence; None where the diagnosis has none of that id."""
    trail = result.diagnosis.evidence
    number = next((place for place, item in enumerate(trail) if item.id == evidence_id), None)
    if number is None:
        return None
    answer = Answer(result.diagnosis)

    def href(item: str) -> str:
        return links.evidence(key, item)

    line = evidence(trail[number], href)
    neighbours = [
        Neighbour(href(trail[n].id), evidence(trail[n], href).place) if 0 <= n < len(trail) else None
        for n in (number - 1, number + 1)
    ]
    return TrailView(
        attempt=answer.attempt,
        title=line.place,
        line=line,
        place=tuple(_place(answer, trail[number])),
        uses=table(uses(answer, evidence_id)),
        number=number + 1,
        total=len(trail),
        previous=neighbours[0],
        next=neighbours[1],
    )


def _place(answer: Answer, item: Evidence) -> Iterator[tuple[str, str]]:
    """Where the line stands, and what reads it. For a metric, line and offset are no places in a file."""
    yield "Source", words.SOURCES[item.source]
    if item.node:
        yield "Node", clip(answer.node(item.node), SHOWN_COLUMNS)
    if item.rank is not None:
        yield "Rank", str(item.rank)
    if item.stream:
        yield "Stream", clip(item.stream, SHOWN_COLUMNS)
    if item.samples:
        yield "Samples", f"{len(item.samples):,}, the first is number {item.line:,} of the series"
    else:
        yield "Line", f"{item.line:,}"
        yield "Byte offset", f"{item.offset:,}"
    yield "Time", words.time(item.at, item.at_uncertainty_secs) if item.at else "the line carries none"
    if item.at and item.at_uncertainty_secs is None:
        yield "Clock", "the line has no time of its own: it was written at or after the stamped line before it"
    elif item.at and item.at_uncertainty_secs is not None:
        yield "Clock", _clock(item.at_uncertainty_secs)


def _clock(secs: float) -> str:
    if secs >= words.ZONE_UNKNOWN_SECS:
        return "a local clock whose zone is not known: it orders only lines of this node and source"
    return f"UTC, within ±{secs:.4g} s" if secs >= 0.001 else f"UTC, within ±{secs * 1e6:.4g} µs"


def uses(answer: Answer, evidence_id: str) -> Iterator[Use]:
    """What rests on a line: causes first, then the first failure, findings, alternatives."""
    diagnosis = answer.diagnosis
    for cause in diagnosis.causes:
        if evidence_id in cause.evidence_ids:
            part = "shows a cause" if cause.evidence_ids[0] != evidence_id else "the decisive line of a cause"
            yield Use(part, cause.meaning, cause.symptom, _cut(answer.place(cause)), _cut(cause.why), cause.rule)
    first = diagnosis.first_failure
    if first and first.evidence_id == evidence_id and is_order_known(answer):
        where = answer.where_of(first.node, None, first.rank)
        remark = "where trouble was first seen; not a claim about its cause"
        yield Use("first failure", words.symptom(first.symptom), first.symptom, _cut(where), remark, "")
    for symptom in diagnosis.symptoms:
        if evidence_id in symptom.evidence_ids:
            by = symptom.demoted_by if symptom.status is SymptomStatus.DEMOTED else None
            part = f"finding ({symptom.role.value}), " + ("set aside" if by else "stands")
            where = answer.where_of(symptom.node, symptom.device, symptom.rank, symptom.ranks)
            times = f" ×{symptom.count:,}" if symptom.count > 1 else ""
            yield Use(
                part,
                words.symptom(symptom.symptom) + times,
                symptom.symptom,
                _cut(where),
                _cut(by.reason) if by else "",
                by.rule if by else "",
            )
    found = symptoms_of(answer)
    for item in diagnosis.alternatives:
        lines = lines_of(item, found)
        if evidence_id in (*lines.own, *lines.against):
            state = "was ruled out" if item.ruled_out else "still stands"
            part = "rules out an alternative" if evidence_id in lines.against else f"an alternative that {state}"
            where = answer.node(item.node) if item.node else ""
            yield Use(part, words.symptom(item.symptom), item.symptom, _cut(where), _cut(item.because), "")


def _cut(text: str) -> str:
    return clip(text, SHOWN_COLUMNS)
