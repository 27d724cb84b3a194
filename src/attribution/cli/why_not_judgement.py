"""Why a filter or a refiner decided nothing: what it needs is absent or was set aside before, or it abstained."""

from collections.abc import Iterator

from attribution.bundle.evidence import Evidence
from attribution.cli.findings import MAX_SHOWN, counted, more, named
from attribution.contracts.diagnosis import Diagnosis, TraceEntry
from attribution.diagnosis.engine import conclude, gather
from attribution.diagnosis.trace import ABSTAINED, FAILED, FIRED, OVERRULED
from attribution.extraction.extract import Extraction
from attribution.extraction.ruleset import RuleSets
from attribution.presentation.columns import visible
from attribution.rules.api import expand
from attribution.rules.model import Filter, Refiner


def answer(rules: RuleSets, rule: Filter | Refiner, evidence: Evidence, extraction: Extraction) -> Iterator[str]:
    """The lines of the answer."""
    diagnosis = conclude(evidence, extraction, rules)
    taken = list(decided(diagnosis, rule.info.id))
    if taken:
        yield from taken
        return
    gathered = gather(evidence, extraction, rules)
    seen = {event.symptom for event in gathered.extraction.events}
    for need in rule.needs:
        names = set(expand((need,), rules.catalog.tags))
        if not names & seen:
            yield f"  It needs {need}, and the evidence shows none."
            continue
        standing = [symptom for symptom in gathered.symptoms if symptom.name in names]
        for symptom in standing[:MAX_SHOWN]:
            yield f"  It needs {need}: there is {named(symptom)}{_fate(diagnosis, symptom.name, symptom.node)}."
        yield from more(len(standing))
    entries = [entry for entry in diagnosis.trace if entry.rule == rule.info.id]
    for entry in entries:
        if entry.outcome == FAILED:
            yield f"  It broke: {visible(entry.reason)}"
        elif entry.outcome == ABSTAINED:
            yield "  It was asked, and found nothing to decide."
            yield f"  What it looks for: {rule.info.summary}"
            yield f"  What it misses: {rule.info.misses}"


def decided(diagnosis: Diagnosis, rule: str) -> Iterator[str]:
    """What a rule decided, and where another rule's decision went before its own; nothing if it decided nothing."""
    entries = [entry for entry in diagnosis.trace if entry.rule == rule]
    fired = [entry for entry in entries if entry.outcome == FIRED]
    if fired:
        yield f"  It decided {counted(sum(entry.count for entry in fired), 'time', 'times')}:"
        yield from (f"    {_decision(entry)}: {visible(entry.reason)}" for entry in fired[:MAX_SHOWN])
        yield from more(len(fired))
    overruled = [entry for entry in entries if entry.outcome == OVERRULED]
    if overruled:
        yield f"  It was overruled {counted(sum(entry.count for entry in overruled), 'time', 'times')}:"
        for entry in overruled[:MAX_SHOWN]:
            yield f"    {_decision(entry)}: {_overruler(diagnosis, entry)}"
        yield from more(len(overruled))


def _decision(entry: TraceEntry) -> str:
    return f"{entry.decision} {entry.symptom or 'the job'} on {visible(entry.node or 'no node')}"


def _overruler(diagnosis: Diagnosis, entry: TraceEntry) -> str:
    """Whose decision about the same finding stood."""
    by = [
        other
        for other in diagnosis.trace
        if other.outcome == FIRED
        and other.rule != entry.rule
        and (other.stage, other.symptom, other.node) == (entry.stage, entry.symptom, entry.node)
    ]
    return f"{by[0].rule} decided to {by[0].decision}: {visible(by[0].reason)}" if by else visible(entry.reason)


def _fate(diagnosis: Diagnosis, name: str, node: str | None) -> str:
    found = [s for s in diagnosis.symptoms if s.symptom == name and s.node == node and s.demoted_by]
    return f", set aside by {found[0].demoted_by.rule}" if found and found[0].demoted_by else ""
