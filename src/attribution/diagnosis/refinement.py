"""Phase 3: relations and refiners set symptoms aside, keep them or move them, until few roots are left.

Refiners yield decisions, they change nothing. All rules of a stage see the same snapshot; then the engine applies:
the higher priority wins, `keep` beats `demote`, then the lower id. Losers stand in the trace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Role, SubDomain
from attribution.diagnosis.causality import Explained, edges, explain
from attribution.diagnosis.trace import ABSTAINED, FAILED, FIRED, NOT_APPLICABLE, OVERRULED, Trace
from attribution.events.event import Event
from attribution.events.symptom import Symptom
from attribution.rules.api import Attribute, Decision, Demote, JobView, Keep, Note, RefineStage
from attribution.rules.guard import RuleFailure, answers
from attribution.rules.model import Catalog, Refiner


@dataclass(frozen=True, slots=True)
class Demotion:
    """Why a symptom was set aside: by which rule, because of which symptom."""

    rule: str
    by: Symptom | None
    reason: str
    stage: RefineStage | None = None
    """The stage that set it aside; None where the outcome did."""


@dataclass(slots=True)
class Refinement:
    """Where the refinement stands. Symptoms are never removed: `demoted` says which were set aside, and why."""

    symptoms: dict[str, Symptom]
    explained: Explained
    demoted: dict[str, Demotion] = field(default_factory=dict)
    notes: list[tuple[str, Note]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)

    def active(self) -> tuple[Symptom, ...]:
        """Symptoms that were not set aside, in total order."""
        return tuple(sorted((s for s in self.symptoms.values() if s.id not in self.demoted), key=_order))

    def roots(self) -> tuple[Symptom, ...]:
        """Active symptoms of role cause, in total order."""
        return tuple(s for s in self.active() if s.type.role is Role.CAUSE)


def _order(symptom: Symptom) -> tuple[object, str]:
    return symptom.sort_key(), symptom.id


@dataclass(frozen=True, slots=True)
class _Ballot:
    """One decision with who made it."""

    rule: str
    priority: int
    decision: Decision


def begin(symptoms: Sequence[Symptom], catalog: Catalog, context: ExecutionContext) -> Refinement:
    """The state before any decision: all symptoms stand, and it is known which explain which."""
    return Refinement({s.id: s for s in symptoms}, explain(symptoms, edges(symptoms, catalog, context)))


def refine(
    state: Refinement,
    stage: RefineStage,
    catalog: Catalog,
    context: ExecutionContext,
    events: Sequence[Event],
    trace: Trace,
    outcome: SubDomain | None = None,
) -> None:
    """Run one stage and apply what it decides to `state`."""
    view = JobView(state.active(), context, catalog.tags, events, outcome)
    ballots: list[_Ballot] = []
    if stage is RefineStage.JOB:
        ballots += _relations(state, trace)
    for rule in catalog.refiners:
        if rule.stage is stage:
            ballots += [_Ballot(rule.info.id, rule.priority, d) for d in _decide(rule, view, state, trace)]
    _apply(state, stage, ballots, trace)


def _relations(state: Refinement, trace: Trace) -> list[_Ballot]:
    for symptom in state.explained.circular:
        reason = (
            "explained only by symptoms that it explains itself; the order of their times does not break the circle"
        )
        trace.add("job", "relations", ABSTAINED, symptom=symptom.name, node=symptom.node, reason=reason)
    return [
        _Ballot(edge.relation.info.id, 0, Demote(edge.effect, edge.cause, edge.reason()))
        for _, edge in sorted(state.explained.by_effect.items())
        if edge.effect.type.role is not Role.CONTEXT
    ]


def decide(rule: Refiner, view: JobView) -> tuple[Decision, ...] | None:
    """What one refiner decides, or None where what it needs is absent. Raises RuleFailure."""
    if not all(view.all(need) for need in rule.needs):
        return None
    return answers(rule, view)


def _decide(rule: Refiner, view: JobView, state: Refinement, trace: Trace) -> tuple[Decision, ...]:
    stage = rule.stage.name.lower()
    try:
        decisions = decide(rule, view)
    except RuleFailure as failure:  # a broken rule must not lose the diagnosis
        state.failures.append((rule.info.id, str(failure)))
        trace.add(stage, rule.info.id, FAILED, reason=str(failure))
        return ()
    if decisions is None:
        trace.add(stage, rule.info.id, NOT_APPLICABLE, reason="no " + " or no ".join(rule.needs))
    elif not decisions:
        trace.add(stage, rule.info.id, ABSTAINED)
    return decisions or ()


def _apply(state: Refinement, stage: RefineStage, ballots: Sequence[_Ballot], trace: Trace) -> None:
    by_symptom: dict[str, list[_Ballot]] = {}
    for ballot in ballots:
        if isinstance(ballot.decision, Note):
            state.notes.append((ballot.rule, ballot.decision))
            _record(trace, stage, ballot, FIRED)
        elif ballot.decision.symptom.id in state.symptoms and ballot.decision.symptom.id not in state.demoted:
            by_symptom.setdefault(ballot.decision.symptom.id, []).append(ballot)
    for symptom_id in sorted(by_symptom):
        _settle(state, stage, by_symptom[symptom_id], trace)
    _break_circles(state, stage, trace)


def _break_circles(state: Refinement, stage: RefineStage, trace: Trace) -> None:
    """Symptoms that were set aside because of each other: the earliest of a circle stands again."""
    for symptom_id in sorted(state.demoted):
        circle = [symptom_id]
        while (demotion := state.demoted.get(circle[-1])) and demotion.by and demotion.by.id not in circle:
            circle.append(demotion.by.id)
        if demotion and demotion.by and demotion.by.id == symptom_id:
            first = min((state.symptoms[member] for member in circle), key=_order)
            demoted = state.demoted.pop(first.id)
            reason = f"would be set aside because of what it sets aside: {demoted.reason}"
            name = stage.name.lower()
            trace.add(
                name, demoted.rule, OVERRULED, decision="demote", symptom=first.name, node=first.node, reason=reason
            )


def _settle(state: Refinement, stage: RefineStage, ballots: Sequence[_Ballot], trace: Trace) -> None:
    """Decide between the decisions about one symptom. Moving it and setting it aside are separate questions."""
    moves = sorted((b for b in ballots if isinstance(b.decision, Attribute)), key=_strength)
    stays = sorted((b for b in ballots if not isinstance(b.decision, Attribute)), key=_strength)
    for candidates in (moves, stays):
        for position, ballot in enumerate(candidates):
            _record(trace, stage, ballot, FIRED if position == 0 else OVERRULED)
    if moves:
        move = moves[0].decision
        assert isinstance(move, Attribute)
        state.symptoms[move.symptom.id] = moved(state.symptoms[move.symptom.id], move)
    if stays and isinstance(stays[0].decision, Demote):
        demote = stays[0].decision
        state.demoted[demote.symptom.id] = Demotion(stays[0].rule, demote.by, demote.reason, stage)


def _strength(ballot: _Ballot) -> tuple[int, bool, str]:
    return -ballot.priority, not isinstance(ballot.decision, Keep), ballot.rule


def moved(symptom: Symptom, decision: Attribute) -> Symptom:
    """The symptom as an attribution sees it."""
    kind = symptom.type if decision.sub_domain is None else replace(symptom.type, sub_domain=decision.sub_domain)
    return replace(symptom, type=kind, node=decision.node or symptom.node)


def _record(trace: Trace, stage: RefineStage, ballot: _Ballot, outcome: str) -> None:
    decision = ballot.decision
    symptom = decision.symptom
    trace.add(
        stage.name.lower(),
        ballot.rule,
        outcome,
        decision=type(decision).__name__.lower(),
        symptom=symptom.name if symptom else None,
        node=symptom.node if symptom else None,
        reason=decision.text if isinstance(decision, Note) else decision.reason,
    )


def explained_count(state: Refinement) -> Mapping[str, int]:
    """Symptom id -> how many others followed from it, directly or through others.

    The final stage chooses between causes: what it sets aside weighs less, and followed from nothing.
    """
    parent = {
        symptom_id: d.by.id
        for symptom_id, d in state.demoted.items()
        if d.by is not None and d.stage is not RefineStage.FINAL
    }
    counts: dict[str, int] = {}
    for symptom_id in parent:
        seen, current = {symptom_id}, parent[symptom_id]
        while current not in seen:
            seen.add(current)
            counts[current] = counts.get(current, 0) + 1
            current = parent.get(current, current)
    return counts
