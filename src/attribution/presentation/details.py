"""Sections are what a reader asks for after the answer: what was set aside, what was examined, how it was decided."""

from collections.abc import Iterator
from dataclasses import dataclass

from attribution.contracts.diagnosis import Untestable
from attribution.contracts.vocabulary import SubDomain
from attribution.presentation import words
from attribution.presentation.answer import Answer
from attribution.presentation.groups import (
    NOT_APPLICABLE,
    Decision,
    Group,
    by_source,
    decisions,
    grouped,
    noticed,
    set_aside,
)

SHOWN_NODES = 8
"""Nodes that a line of a section names."""

SHOWN_RULES = 12
"""Rules that a line of a section names."""


@dataclass(frozen=True, slots=True)
class Section:
    """A title with lines (depth and text), or with the rows of a table, all of one length."""

    title: str
    lines: tuple[tuple[int, str], ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def sections(answer: Answer) -> list[Section]:
    """All sections that have something to say."""
    found = [
        Section("Set aside", tuple(_groups(answer, set_aside(answer)))),
        Section("Noticed, blames nothing", tuple(_groups(answer, noticed(answer)))),
        Section("Considered", tuple(_alternatives(answer))),
        Section("Could not be tested", tuple(_untestable(answer, item) for item in answer.diagnosis.untestable)),
        Section("Examined", rows=tuple(_coverage(answer))),
        Section("How it was decided", tuple(trace(answer))),
        Section("Identity", tuple(_identity(answer))),
    ]
    return [section for section in found if section.lines or section.rows]


def _groups(answer: Answer, groups: list[Group]) -> Iterator[tuple[int, str]]:
    for group in groups:
        nodes = answer.nodes(group.nodes, SHOWN_NODES)
        since = f", first {words.time(group.first_at)}" if group.first_at else ""
        yield 1, group.what + (f" on {nodes}" if nodes else "") + since
        if group.reason:
            yield 2, f"{group.reason} ({group.rule})"


def _alternatives(answer: Answer) -> Iterator[tuple[int, str]]:
    alike = grouped(answer.diagnosis.alternatives, lambda a: (a.symptom, a.sub_domain, a.ruled_out, a.because))
    for (symptom, sub_domain, ruled_out, because), items in alike.items():
        nodes = answer.nodes([item.node for item in items if item.node], SHOWN_NODES)
        what = f"{words.sentence(words.symptom(symptom))}{f' on {nodes}' if nodes else ''}"
        verdict = "ruled out" if ruled_out else "still stands"
        yield 1, f"{what} ({words.SUB_DOMAINS[sub_domain]}) {verdict}: {because}"


def _untestable(answer: Answer, item: Untestable) -> tuple[int, str]:
    causes = words.listed([words.SUB_DOMAINS[sub_domain] for sub_domain in item.sub_domains], len(SubDomain))
    if item.source is None:
        return 1, item.reason + (f": {causes}" if causes else "")
    nodes = answer.nodes(item.nodes, SHOWN_NODES)
    return 1, f"{words.SOURCES[item.source]}{f' of {nodes}' if nodes else ''} ({item.reason}): {causes}"


def _coverage(answer: Answer) -> Iterator[tuple[str, ...]]:
    held = by_source(answer.diagnosis.coverage)
    sizes = [f"{item.lines:,}" for item in held]
    for item, size in zip(held, sizes, strict=True):
        lines = f"{size:>{max(map(len, sizes))}} {'line' if item.lines == 1 else 'lines'}"
        yield words.SOURCES[item.source], item.streams, lines, ", ".join(item.notes)


def trace(answer: Answer) -> Iterator[tuple[int, str]]:
    """How it was decided, as lines with their depth: stages, what rules decided in them, and why."""
    for stage, entries in grouped(answer.diagnosis.trace, lambda entry: entry.stage).items():
        yield 1, stage
        told = decisions(entries)
        silent = [item for item in told if not (item.symptom or item.decision or item.reason)]
        for outcome, alike in grouped(silent, lambda item: item.outcome).items():
            yield 2, f"{words.listed([item.rule for item in alike], SHOWN_RULES)} {outcome}"
        for decision in (item for item in told if item not in silent):
            yield 2, _decision(answer, decision)
            if decision.reason:
                yield 3, decision.reason
        idle = {entry.rule for entry in entries if entry.outcome == NOT_APPLICABLE}
        if idle:
            yield 2, f"{words.counted(len(idle), 'rule')} had nothing to look at"


def _decision(answer: Answer, item: Decision) -> str:
    what = " ".join(part for part in (item.decision, item.symptom and words.symptom(item.symptom)) if part)
    times = f" ×{item.count:,}" if item.count > 1 else ""
    nodes = answer.nodes(item.nodes, SHOWN_NODES)
    return f"{item.rule} {item.outcome}" + (f": {what}" if what else "") + times + (f" on {nodes}" if nodes else "")


def _identity(answer: Answer) -> Iterator[tuple[int, str]]:
    catalog = answer.diagnosis.catalog
    yield 1, f"workload {answer.attempt}"
    yield 1, f"catalog {catalog.version}, digest {catalog.digest}"
    yield 1, f"input {answer.diagnosis.input_digest}"
