"""Findings that say the same are told once, with how often and on which nodes."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from attribution.contracts.coverage import CoverageLine
from attribution.contracts.diagnosis import Cause, Symptom, TraceEntry
from attribution.contracts.vocabulary import Role, Source, Status, SubDomain, SymptomStatus
from attribution.presentation import words
from attribution.presentation.answer import Answer

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Group:
    """Findings of one kind. `rule` and `reason` say who set them aside and why; empty where they still stand."""

    symptom: str
    rule: str
    reason: str
    findings: int
    count: int
    nodes: tuple[str, ...]
    first_at: datetime | None

    @property
    def what(self) -> str:
        """The kind in words, with how many lines say so if they are more than one: `NCCL error ×412`."""
        return words.symptom(self.symptom) + (f" ×{self.count:,}" if self.count > 1 else "")


def set_aside(answer: Answer) -> list[Group]:
    """Findings that were set aside: what might have been the cause first, then as they were first seen."""
    aside = [s for s in answer.diagnosis.symptoms if s.status is SymptomStatus.DEMOTED]
    return _grouped(sorted(aside, key=lambda s: s.role is not Role.CAUSE))


def standing(answer: Answer) -> list[Group]:
    """Findings that still stand and are told nowhere else."""
    told = {_thing(cause) for cause in answer.diagnosis.causes}
    first = answer.diagnosis.first_failure
    if first and answer.diagnosis.sub_domain is not SubDomain.NONE:
        told |= {_thing(s) for s in answer.diagnosis.symptoms if first.evidence_id in s.evidence_ids}
    active = (s for s in answer.diagnosis.symptoms if s.status is SymptomStatus.ACTIVE and s.role is not Role.CONTEXT)
    return _grouped(s for s in active if _thing(s) not in told)


def _thing(item: Symptom | Cause) -> tuple[str, str | None, str]:
    return item.symptom, item.node, words.device(item.device) if item.device else ""


def noticed(answer: Answer) -> list[Group]:
    """Findings that inform and blame nothing."""
    return _grouped(s for s in answer.diagnosis.symptoms if s.role is Role.CONTEXT and s.status is SymptomStatus.ACTIVE)


def _grouped(symptoms: Iterable[Symptom]) -> list[Group]:
    return [_group(members) for members in grouped(symptoms, _kind).values()]


def _kind(symptom: Symptom) -> tuple[str, str, str]:
    by = symptom.demoted_by
    return (symptom.symptom, by.rule, by.reason) if by else (symptom.symptom, "", "")


def _group(members: list[Symptom]) -> Group:
    symptom, rule, reason = _kind(members[0])
    return Group(
        symptom=symptom,
        rule=rule,
        reason=reason,
        findings=len(members),
        count=sum(member.count for member in members),
        nodes=tuple(words.natural(member.node for member in members if member.node)),
        first_at=min((member.first_at for member in members if member.first_at), default=None),
    )


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Items by a key, in the order in which the keys first come."""
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def rivals(answer: Answer) -> list[tuple[Cause, tuple[str, ...]]]:
    """Causes that came after the named one, each kind with its nodes."""
    kinds = grouped(answer.rivals, lambda cause: cause.meaning)
    return [(kin[0], tuple(words.natural(c.node for c in kin if c.node))) for kin in kinds.values()]


# --- coverage -----------------------------------------------------------------------------------------------------


SHOWN_REASONS = 3
"""Reasons of one source that are told."""


@dataclass(frozen=True, slots=True)
class SourceCoverage:
    """What was examined of one source. `streams` and `notes` are in words."""

    source: Source
    streams: str
    lines: int
    notes: tuple[str, ...]


def by_source(lines: Iterable[CoverageLine]) -> list[SourceCoverage]:
    """Coverage by source, in the order of the vocabulary."""
    found = grouped(lines, lambda line: line.source)
    return [_source(source, found[source]) for source in Source if source in found]


def _source(source: Source, lines: list[CoverageLine]) -> SourceCoverage:
    by_status = grouped(lines, lambda line: line.status)
    streams = [f"{len(by_status[status]):,} {words.STATUSES[status]}" for status in Status if status in by_status]
    reasons = list(dict.fromkeys(line.reason for line in lines if line.reason))
    notes = (*losses(lines), *reasons[:SHOWN_REASONS])
    return SourceCoverage(source, ", ".join(streams), sum(line.lines for line in lines), notes)


def losses(lines: Iterable[CoverageLine]) -> list[str]:
    """What of the streams was not read as it stood, or not used, in words."""
    held = list(lines)
    counts = (
        (sum(line.truncated for line in held), "cut short"),
        (sum(bool(line.gaps) for line in held), "with gaps"),
        (sum(line.masked for line in held), "masked"),
        (sum(line.out_of_window for line in held), "out of time"),
        (sum(line.long_lines for line in held), "over-long"),
        (sum(line.unreadable for line in held), "unreadable"),
    )
    return [f"{count:,} {word}" for count, word in counts if count]


# --- trace --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """What a rule decided about one kind of finding, and on which nodes."""

    rule: str
    outcome: str
    decision: str
    symptom: str
    reason: str
    count: int
    nodes: tuple[str, ...]


def decisions(entries: Iterable[TraceEntry]) -> list[Decision]:
    """Trace entries of one stage without those that had nothing to look at; the same on several nodes is one."""
    alike = grouped(
        (e for e in entries if e.outcome != NOT_APPLICABLE),
        lambda e: (e.rule, e.outcome, e.decision or "", e.symptom or "", e.reason),
    )
    return [
        Decision(*key, sum(e.count for e in found), tuple(words.natural(e.node for e in found if e.node)))
        for key, found in alike.items()
    ]


NOT_APPLICABLE = "not_applicable"
"""The outcome of a rule that found nothing of the kind it needs."""
