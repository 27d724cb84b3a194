"""How `why-not` shows events and symptoms: each in a line, made harmless for a terminal."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from attribution.bundle.evidence import Evidence
from attribution.contracts.diagnosis import Diagnosis
from attribution.diagnosis.engine import conclude, gather
from attribution.diagnosis.settings import DEFAULTS
from attribution.diagnosis.trace import FIRED
from attribution.events.event import Event
from attribution.events.symptom import Symptom
from attribution.extraction.extract import Extraction
from attribution.extraction.ruleset import RuleSets
from attribution.presentation import words
from attribution.presentation.columns import clip, visible

MAX_SHOWN = 5
"""Of a list of things alike, how many are shown."""

MAX_COLUMNS = 160


def place_of(event: Event) -> str:
    """The stream and line of an event."""
    return visible(f"{event.key.stream or event.key.source.value}:{event.line}")


def shown(event: Event) -> str:
    """An event with its place and the start of its line."""
    return f"{place_of(event)}  {clip(event.text, MAX_COLUMNS)}"


def named(symptom: Symptom) -> str:
    """A symptom with where it was first seen."""
    return f"{symptom.name} on {visible(symptom.node or 'no node')} ({place_of(symptom.first)})"


def more(count: int, noun: str = "more") -> Iterator[str]:
    """A line for what is not shown of `count` things."""
    if count > MAX_SHOWN:
        yield f"    and {count - MAX_SHOWN} {noun}"


def counted(number: int, one: str, several: str) -> str:
    """`1 line`, `3 lines`."""
    return f"{number} {one if number == 1 else several}"


def what_became(rules: RuleSets, evidence: Evidence, extraction: Extraction, found: Sequence[Event]) -> Iterator[str]:
    """What later phases made of a rule's events: what filters took away, and how each symptom stands in the end."""
    ids, names = {event.id for event in found}, {event.symptom for event in found}
    outside = [event for event in gather(evidence, extraction, rules).filtered.out_of_window if event.id in ids]
    if outside:
        yield f"  Outside of the attempt's time ({_window(evidence)}), so only context: {len(outside)} of them."
        yield from (f"    {shown(event)}" for event in outside[:MAX_SHOWN])
        yield from more(len(outside))
    diagnosis = conclude(evidence, extraction, rules)
    yield from _filtered(diagnosis, names)
    yield from _standing(diagnosis, names)


def _window(evidence: Evidence) -> str:
    """When the attempt ran, as its context says, with the margin that is allowed."""
    start, end = evidence.context.started_at, evidence.context.ended_at
    margin = timedelta(microseconds=DEFAULTS.margin_us)
    said = [words.time(start - margin) if start else "", words.time(end + margin) if end else ""]
    return " to ".join(filter(None, said)) or "read off its own logs"


def _filtered(diagnosis: Diagnosis, names: set[str]) -> Iterator[str]:
    taken = [e for e in diagnosis.trace if e.decision == "absorb" and e.symptom in names and e.outcome == FIRED]
    for entry in taken[:MAX_SHOWN]:
        yield f"  {entry.rule} folded {entry.count} of them on {entry.node or 'no node'} into another: {entry.reason}"


def _standing(diagnosis: Diagnosis, names: set[str]) -> Iterator[str]:
    causes = {(cause.symptom, cause.node) for cause in diagnosis.causes}
    symptoms = [symptom for symptom in diagnosis.symptoms if symptom.symptom in names]
    for symptom in symptoms[:MAX_SHOWN]:
        where = f"{symptom.symptom} on {visible(symptom.node or 'no node')}"
        if symptom.demoted_by:
            by = symptom.demoted_by
            because = f" because of {by.symptom} on {visible(by.node or 'no node')}" if by.symptom else ""
            yield f"  {where} was set aside by {by.rule}{because}: {visible(by.reason)}"
        elif (symptom.symptom, symptom.node) in causes:
            yield f"  {where} stands, and is given as the cause."
        else:
            yield f"  {where} stands as {symptom.role.value}."
    yield from more(len(symptoms))
