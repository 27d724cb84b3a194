"""How a diagnosis was decided, phase by phase: what went in, what each rule did with it and why, with its lines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from attribution.contracts.diagnosis import Cause, Evidence, Symptom, TraceEntry
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Confidence, Role, SymptomStatus
from attribution.dashboard.views import links
from attribution.dashboard.views.decision import Branch, decision_tree, outcome_reason
from attribution.dashboard.views.evidence import SHOWN_LINES, Cited, Href, cited
from attribution.dashboard.views.tables import SHOWN_NODES, SHOWN_ROWS, Table, made, table
from attribution.presentation import words
from attribution.presentation.answer import Answer
from attribution.presentation.columns import clip
from attribution.presentation.facts import steps as next_steps
from attribution.presentation.groups import NOT_APPLICABLE, Decision, by_source, decisions, grouped

SHOWN_RULES = 12
"""Rules without a decision that a step names."""

_COLUMNS = 400


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that happened in a step. `contributes` is None where the question makes no sense."""

    what: str
    where: str
    outcome: str
    contributes: bool | None
    why: str
    symptom: str
    rule: str
    lines: tuple[Cited, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One phase. `head` names what stands in the column of outcomes; `idle` the rules that changed nothing."""

    number: int
    name: str
    title: str
    lead: str
    head: str
    rows: Table[Row]
    idle: tuple[str, ...]
    branches: tuple[Branch, ...] = ()


def steps(result: AttributionBlueprintResult, key: str, most: int = SHOWN_ROWS) -> tuple[Step, ...]:
    """The seven steps of a result, in the order in which the engine takes them, each with at most so many rows.

    With none, no row is made, and rules that changed nothing are not told.
    """
    told = _Told(Answer(result.diagnosis), lambda item: links.evidence(key, item), most)
    made = (told.read, told.events, told.filters, told.findings, told.refiners, told.outcome, told.answer)
    return tuple(make(number) for number, make in enumerate(made, 1))


_FILTERS = frozenset({"early", "main"})
_REFINERS = frozenset({"node", "job", "final"})
_AFTER = frozenset({"post_outcome"})
"""Stages of the trace."""

_FILTERED = {
    "absorb": "counted with another line that says the same",
    "annotate": "more is known of it",
    "context": "informs only: it is no symptom of this failure",
    "derive": "a new finding that stands for its parts",
}
_REFINED = {
    "demote": "set aside",
    "keep": "left standing",
    "attribute": "belongs elsewhere than its writer says",
    "note": "a remark for the reader",
}
_NAMED = {
    Confidence.SINGLE: "named: the only one",
    Confidence.COMPOUND: "named with others of its kind",
    Confidence.ONE_OF_SEVERAL: "listed: one of several kinds",
}
_OUTCOMES = {"overruled": "overruled", "failed": "the rule broke", "abstained": "changed nothing"}


class _Told:
    """Tells the steps of one diagnosis."""

    def __init__(self, answer: Answer, href: Href, most: int) -> None:
        self._told = answer
        self._diagnosis = answer.diagnosis
        self._href = href
        self._most = most
        self._found: dict[tuple[str, str | None], list[Symptom]] = grouped(
            answer.diagnosis.symptoms, lambda s: (s.symptom, s.node)
        )

    def read(self, number: int) -> Step:
        """Raw lines: what was examined of each source."""
        coverage = self._diagnosis.coverage
        lines = sum(line.lines for line in coverage)
        lead = f"{words.counted(lines, 'line')} and samples of {words.counted(len(coverage), 'stream')} were read."
        return Step(number, "read", "Raw lines", lead, "Read", self._rows(self._sources), ())

    def _sources(self) -> Iterator[Row]:
        for item in by_source(self._diagnosis.coverage):
            lines = words.counted(item.lines, "line")
            yield _row(words.SOURCES[item.source], item.streams, lines, why="; ".join(item.notes))

    def events(self, number: int) -> Step:
        """Events: which rule read which lines."""
        rules = {item.rule for item in self._diagnosis.evidence}
        lead = (
            f"{words.counted(len(rules), 'rule')} found what they look for in lines and samples; at most three lines "
            "of each finding are kept."
        )
        return Step(number, "events", "Events", lead, "Said", self._rows(self._readings), ())

    def _readings(self) -> Iterator[Row]:
        shown: dict[str, list[Symptom]] = {}
        for symptom in self._diagnosis.symptoms:
            for evidence_id in symptom.evidence_ids:
                shown.setdefault(evidence_id, []).append(symptom)
        for rule, items in grouped(self._diagnosis.evidence, lambda item: item.rule).items():
            yield self._read_by(rule, items, shown)
        for entry in self._diagnosis.trace:
            if entry.stage == "extract" and entry.outcome == "failed":
                yield _row("", "", _OUTCOMES["failed"], why=entry.reason, rule=entry.rule)

    def _read_by(self, rule: str, items: Sequence[Evidence], shown: dict[str, list[Symptom]]) -> Row:
        symptoms = {id(s): s for item in items for s in shown.get(item.id, ())}.values()
        names = list(dict.fromkeys(s.symptom for s in symptoms))
        count = sum(s.count for s in symptoms)
        nodes = self._told.nodes(words.natural(item.node for item in items if item.node), SHOWN_NODES)
        said = words.counted(count, "time") if count else "as the first failure"
        what = words.listed([words.sentence(words.symptom(name)) for name in names], 3)
        return _row(
            what,
            nodes,
            said,
            symptom=names[0] if len(names) == 1 else "",
            rule=rule,
            lines=self._lines(item.id for item in items),
        )

    def filters(self, number: int) -> Step:
        """What each filter changed."""
        rows, idle = self._decided(_FILTERS, _FILTERED)
        lead = (
            "Filters fold repetition, decode bursts and set aside what lies outside the attempt; events that no filter "
            "names stay as they are."
        )
        return Step(number, "filters", "What each filter changed", lead, "Became", rows, idle)

    def findings(self, number: int) -> Step:
        """Symptoms per node: whether each contributed to the outcome, and if not why."""
        count = len(self._diagnosis.symptoms)
        lead = f"{words.counted(count, 'finding')}: one for each kind, node and device. The same on several is one row."
        return Step(number, "findings", "Findings on each node", lead, "Contributes", self._rows(self._findings), ())

    def _findings(self) -> list[Row]:
        """A row for each kind of finding, first those that contributed."""
        alike = grouped(self._diagnosis.symptoms, self._kind)
        return sorted((self._finding(members) for members in alike.values()), key=lambda row: not row.contributes)

    def _kind(self, symptom: Symptom) -> tuple[str, Role, SymptomStatus, str, str, bool]:
        by = symptom.demoted_by
        rule, reason = (by.rule, by.reason) if by else ("", "")
        return symptom.symptom, symptom.role, symptom.status, rule, reason, self._cause(symptom) is not None

    def _cause(self, symptom: Symptom) -> Cause | None:
        """The cause that a finding is named as."""
        key = (symptom.symptom, symptom.node, symptom.device)
        return next((c for c in self._diagnosis.causes if (c.symptom, c.node, c.device) == key), None)

    def _finding(self, members: Sequence[Symptom]) -> Row:
        symptom = members[0]
        count = sum(member.count for member in members)
        contributes, outcome, why = self._contribution(symptom)
        cause, by = self._cause(symptom), symptom.demoted_by
        return _row(
            words.sentence(words.symptom(symptom.symptom)) + (f" ×{count:,}" if count > 1 else ""),
            self._told.nodes(words.natural(m.node for m in members if m.node), SHOWN_NODES),
            outcome,
            contributes=contributes,
            why=why,
            symptom=symptom.symptom,
            rule=by.rule if by else cause.rule if cause else "",
            lines=self._lines(item for member in members for item in member.evidence_ids),
        )

    def _contribution(self, symptom: Symptom) -> tuple[bool, str, str]:
        if symptom.status is SymptomStatus.DEMOTED and symptom.demoted_by:
            return False, f"no: {symptom.role.value}, set aside", symptom.demoted_by.reason
        if cause := self._cause(symptom):
            several = sum(item.confidence is Confidence.ONE_OF_SEVERAL for item in self._diagnosis.causes)
            in_doubt = cause.confidence is Confidence.ONE_OF_SEVERAL
            return True, f"may be: one of {several} that fit" if in_doubt else "yes: a root cause", cause.why
        if symptom.role is Role.CONTEXT:
            return False, "no: it informs", "it blames nothing, and nothing is set aside because of it alone"
        if symptom.role is Role.EFFECT:
            return True, "yes: an effect that stands", "an effect tells how it unfolded and is never a cause"
        return False, "no: not named", outcome_reason(self._diagnosis)

    def refiners(self, number: int) -> Step:
        """What each refiner set aside, and why."""
        rows, idle = self._decided(_REFINERS, _REFINED)
        lead = "Relations and refiners look at all findings at once and set aside what another one explains."
        return Step(number, "refiners", "What was set aside, and why", lead, "Decision", rows, idle)

    def outcome(self, number: int) -> Step:
        """The outcome: the questions that led to it, and the causes that it names."""
        tree = decision_tree(self._told)
        lead = self._diagnosis.summary
        return Step(number, "outcome", "Outcome", lead, "Decision", self._rows(self._named), (), tree)

    def _named(self) -> Iterator[Row]:
        for cause in self._diagnosis.causes:
            yield _row(
                words.sentence(cause.meaning),
                self._told.place(cause),
                _NAMED[cause.confidence],
                why=cause.why,
                symptom=cause.symptom,
                rule=cause.rule,
                lines=self._lines(cause.evidence_ids),
            )
        yield from self._decided(_AFTER, _REFINED)[0].rows

    def answer(self, number: int) -> Step:
        """What the outcome means for whoever acts on it."""
        gaps = len(self._diagnosis.untestable)
        lead = f"{words.counted(gaps, 'source')} or part of one could not be tested." if gaps else "All was tested."
        return Step(number, "answer", "Answer", lead, "Status", self._rows(self._proposed), ())

    def _proposed(self) -> Iterator[Row]:
        for step in next_steps(self._told):
            yield _row(words.sentence(step), "", "proposed")
        excluded = words.natural(self._diagnosis.exclude_nodes)
        if excluded:
            names = ", ".join(self._told.node(name) for name in excluded)
            yield _row("Nodes to exclude", clip(names, _COLUMNS), "proposed")
        for entry in self._diagnosis.trace:
            if entry.stage == "report":
                yield _row("Nodes to exclude", "", "none", why=entry.reason)

    def _rows(self, make: Callable[[], Iterable[Row]]) -> Table[Row]:
        return table(make() if self._most else (), self._most)

    # --- decisions of rules ---------------------------------------------------------------------------------------

    def _decided(self, stages: frozenset[str], said: dict[str, str]) -> tuple[Table[Row], tuple[str, ...]]:
        """The decisions of some stages as rows; and, in words, the rules that changed nothing."""
        if not self._most:
            return table(()), ()
        entries = [entry for entry in self._diagnosis.trace if entry.stage in stages and entry.rule != _MAPPING]
        told = [item for item in decisions(entries) if item.symptom or item.decision or item.reason]
        return made(told, lambda item: self._decision(item, said), self._most), tuple(_idle(entries))

    def _decision(self, item: Decision, said: dict[str, str]) -> Row:
        outcome = said.get(item.decision, item.decision)
        if item.outcome != "fired":
            outcome = _OUTCOMES.get(item.outcome, item.outcome) + (f": {outcome}" if outcome else "")
        times = f" ×{item.count:,}" if item.count > max(1, len(item.nodes)) else ""
        return _row(
            (words.sentence(words.symptom(item.symptom)) if item.symptom else "") + times,
            self._told.nodes(item.nodes, SHOWN_NODES),
            outcome,
            why=item.reason,
            symptom=item.symptom,
            rule=item.rule,
            lines=self._of(item.symptom, item.nodes, item.rule),
        )

    def _of(self, symptom: str, nodes: Sequence[str], rule: str) -> tuple[Cited, ...]:
        """Lines of a finding on some nodes; and the line of what it was set aside for, where this rule did so."""
        held = [s for node in (nodes or (None,)) for s in self._found.get((symptom, node), ())][:SHOWN_LINES]
        by = [s.demoted_by for s in held if s.demoted_by and s.demoted_by.rule == rule and s.demoted_by.symptom]
        because = [s for d in by[:1] for s in self._found.get((d.symptom or "", d.node), ())]
        own = [item for s in held for item in s.evidence_ids[:1]]
        return self._lines([*own[: SHOWN_LINES - len(because[:1])], *(i for s in because for i in s.evidence_ids[:1])])

    def _lines(self, ids: Iterable[str]) -> tuple[Cited, ...]:
        return cited(self._told, ids, self._href)


_MAPPING = "outcome-mapping"


def _row(
    what: str,
    where: str,
    outcome: str,
    *,
    contributes: bool | None = None,
    why: str = "",
    symptom: str = "",
    rule: str = "",
    lines: tuple[Cited, ...] = (),
) -> Row:
    """A row whose texts are bounded."""
    what, where, outcome, why = (clip(text, _COLUMNS) for text in (what, where, outcome, why))
    return Row(what, where, outcome, contributes, why, symptom, rule, lines)


def _idle(entries: Sequence[TraceEntry]) -> Iterator[str]:
    silent = sorted({e.rule for e in entries if e.outcome == "abstained" and not e.reason})
    if silent:
        yield f"{words.listed([clip(rule, 60) for rule in silent], SHOWN_RULES)} looked and changed nothing."
    absent = {e.rule for e in entries if e.outcome == NOT_APPLICABLE}
    if absent:
        yield f"{words.counted(len(absent), 'rule')} had nothing to look at."
