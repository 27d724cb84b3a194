"""Sections are what a reader asks for after the answer: what was set aside, what was examined, how it was decided."""

from collections.abc import Iterator
from dataclasses import dataclass

from attribution.contracts.diagnosis import Alternative, Untestable
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
        Section("Considered", tuple(_alternative(answer, item) for item in answer.diagnosis.alternatives)),
        Section("Could not be tested", tuple(_untestable(answer, item) for item in answer.diagnosis.untestable)),
        Section("Examined", rows=tuple(_coverage(answer))),
        Section("How it was decided", tuple(_trace(answer))),
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


def _alternative(answer: Answer, item: Alternative) -> tuple[int, str]:
    verdict = "ruled out" if item.ruled_out else "still stands"
    where = f" on {answer.node(item.node)}" if item.node else ""
    what = f"{words.symptom(item.symptom)}{where} ({words.SUB_DOMAINS[item.sub_domain]})"
    return 1, f"{what} {verdict}: {item.because}"


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


def _trace(answer: Answer) -> Iterator[tuple[int, str]]:
    for stage, entries in grouped(answer.diagnosis.trace, lambda entry: entry.stage).items():
        yield 1, stage
        for decision in decisions(entries):
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
