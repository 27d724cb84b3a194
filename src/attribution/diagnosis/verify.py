"""Runs the cases of a catalog's rules through the real phases, and says where they differ from what they expect."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from attribution.bundle.evidence import Evidence, EvidenceStream, StreamKey, text_segment
from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import Problem
from attribution.contracts.vocabulary import METRIC_SOURCES, Format, Source
from attribution.diagnosis import filtering, refinement
from attribution.diagnosis.causality import edges, explain
from attribution.diagnosis.materialise import materialise
from attribution.events.event import Event, event_id
from attribution.events.moment import SECOND, Basis, Moment
from attribution.events.symptom import Symptom
from attribution.extraction.extract import extract
from attribution.extraction.ruleset import RuleSets
from attribution.rules import notation
from attribution.rules.api import (
    Absorb,
    Annotate,
    Attribute,
    Decision,
    Demote,
    Derive,
    EventDecision,
    EventView,
    JobView,
    Keep,
    Note,
    SetContext,
)
from attribution.rules.guard import RuleFailure
from attribution.rules.model import Extractor, Filter, MetricExtractor, Refiner, Relation, Rule, RuleInfo
from attribution.rules.notation import CASE_EPOCH_US, DecisionLine, EventDecisionLine, Fact, RawLine
from attribution.rules.schema import CaseModel

_EPOCH = datetime.fromtimestamp(CASE_EPOCH_US // SECOND, tz=UTC)


def verify(rules: RuleSets, only: Rule | None = None) -> tuple[Problem, ...]:
    """The cases that do not hold, in the order of the rules; of one rule if `only` is given.

    R035: the rule says something else than the case expects. R022, R023: another rule says something too, and `also`
    does not say so, or says so in vain.
    """
    chosen = (only,) if only else rules.catalog.rules
    return tuple(problem for rule in chosen for problem in verify_rule(rules, rule))


def verify_rule(rules: RuleSets, rule: Rule) -> Iterator[Problem]:
    """The cases of one rule that do not hold."""
    for number, case in enumerate(rule.info.cases):
        place = rule.info.at("cases", number)
        try:
            context = case_context(case)
            events = case_events(rules, notation.parse_given(case.given), context)
            lines = tuple(_differences(rules, rule, case, events, context))
            if isinstance(rule, Extractor | MetricExtractor):
                yield from _others(rules, rule, number, events, context)
        except ValidationError as error:
            lines = tuple(f"cannot be run: `context` has {_wrong(item)}" for item in error.errors())
        except notation.NotationError as error:
            lines = (f"cannot be run: {error}",)
        except RuleFailure as failure:  # a rule that raises fails its case
            lines = (f"failed: {failure}",)
        if lines:
            told = "".join(f"\n    {line}" for line in lines)
            yield Problem(place, "R035", f"has a case `{case.name}` of {rule.info.id} that does not hold:{told}")


def _wrong(item: ErrorDetails) -> str:
    name, message = ".".join(map(str, item["loc"])), item["msg"]
    return f"`{name}`: {message[:1].lower()}{message[1:]}"


def _differences(
    rules: RuleSets, rule: Rule, case: CaseModel, events: Sequence[Event], context: ExecutionContext
) -> Iterable[str]:
    if isinstance(rule, Extractor | MetricExtractor):
        found = [notation.fact_of(event) for event in events if event.rule == rule.info.id]
        return notation.differences(notation.parse_facts(case.expect), found)
    if isinstance(rule, Filter):
        view = EventView(events, context, rules.catalog.tags, types=rules.catalog.symptoms)
        decisions = filtering.decide(rule, view, rules.catalog.tags) or ()
        return _compare_events(case, [_event_line(rule, decision) for decision in decisions])
    symptoms = materialise(events, rules.catalog.symptoms)
    return _compare(case, _symptom_decisions(rules, rule, symptoms, events, context))


def case_context(case: CaseModel) -> ExecutionContext:
    """The context that a case plays in."""
    return ExecutionContext.model_validate({"workload_id": "case", **case.context})


def case_events(rules: RuleSets, given: Sequence[RawLine | Fact], context: ExecutionContext) -> tuple[Event, ...]:
    """The events of `given`: raw lines go through extraction, facts become events as they stand."""
    raw = [line for line in given if isinstance(line, RawLine)]
    extraction = extract(Evidence(context, tuple(_streams(raw))), rules)
    if extraction.failures:
        raise RuleFailure("; ".join(f"{rule} {error}" for rule, error in extraction.failures))
    facts = [_event(number, fact) for number, fact in enumerate(given) if isinstance(fact, Fact)]
    return tuple(sorted([*extraction.events, *facts], key=Event.sort_key))


def _streams(lines: Sequence[RawLine]) -> Iterator[EvidenceStream]:
    groups: dict[StreamKey, list[RawLine]] = {}
    for line in lines:
        groups.setdefault(StreamKey(line.source, line.node, line.rank, line.stream or "case"), []).append(line)
    for key, members in sorted(groups.items(), key=lambda item: item[0].sort_key()):
        body = "".join(stamped(line) + "\n" for line in members)
        kind = Format.PROMETHEUS_METRICS if key.source in METRIC_SOURCES else Format.TEXT
        yield EvidenceStream(key, kind, (text_segment(body),))


def stamped(line: RawLine) -> str:
    """The line with the time that the case gives it, as its program's log would carry it."""
    if line.source in METRIC_SOURCES:
        return f"{line.text} {(CASE_EPOCH_US + line.us) // 1000}"
    return f"{(_EPOCH + timedelta(microseconds=line.us)).isoformat(timespec='milliseconds')} {line.text}"


def _event(number: int, fact: Fact) -> Event:
    """A fact as an event of its own stream, so that only its time orders it."""
    key = StreamKey(Source.APPLOG, fact.node, fact.rank, f"given-{number:03}")
    moment = Moment(CASE_EPOCH_US + fact.us, 1000, Basis.UTC)
    text = str(fact)
    return Event(
        id=event_id(key, text.encode(), 0),
        symptom=fact.symptom,
        rule="case",
        key=key,
        node=fact.node,
        rank=fact.rank,
        moment=moment,
        line=1,
        offset=0,
        text=text,
        device=fact.device,
        fields=fact.fields,
        discriminator=dict(fact.fields).get("key", ""),
    )


# --- what other rules say of the same lines -----------------------------------------------------------------------


def _others(
    rules: RuleSets,
    rule: Extractor | MetricExtractor,
    number: int,
    events: Sequence[Event],
    context: ExecutionContext,
) -> Iterator[Problem]:
    """Where the lines of a case that fires make other rules fire otherwise than its `also` says."""
    case, info = rule.info.cases[number], rule.info
    own = [event for event in events if event.rule == info.id]
    if case.negative or not own:
        return
    others = [event for event in events if event.rule not in {info.id, "case"}]
    for id in sorted({event.rule for event in others}):
        theirs = [event for event in others if event.rule == id]
        if not _is_declared(rules, info, id) and not _is_settled(rules, own, theirs, context):
            names = ", ".join(sorted({event.symptom for event in theirs}))
            message = f"has a case `{case.name}` of {info.id} whose lines make {id} find {names} too"
            remedy = f"make one of the two narrower, relate their symptoms, or say `also: {id}` in the case"
            yield Problem(info.at("cases", number), "R022", message, remedy)
    for id in sorted(set(case.also) - {event.rule for event in others}):
        message = (
            f"has a case `{case.name}` of {info.id} that names {id} under `also`, which does not fire on its lines"
        )
        yield Problem(info.at("cases", number, "also"), "R023", message, "remove it")


def _is_declared(rules: RuleSets, info: RuleInfo, id: str) -> bool:
    """Whether a case of either rule names the other under `also`; an operator's rule thus speaks for a shipped one."""
    other = rules.catalog.rule(id)
    back = other is not None and any(info.id in case.also for case in other.info.cases)
    return back or any(id in case.also for case in info.cases)


def _is_settled(rules: RuleSets, own: Sequence[Event], theirs: Sequence[Event], context: ExecutionContext) -> bool:
    """Whether the catalog says which of two rules on the same lines is heard: one is generic, or explains the other."""
    if all(event.generic for event in theirs) or all(event.generic for event in own):
        return True
    symptoms = materialise([*own, *theirs], rules.catalog.symptoms)
    ours, others = {event.symptom for event in own}, {event.symptom for event in theirs}
    related = {frozenset((edge.cause.name, edge.effect.name)) for edge in edges(symptoms, rules.catalog, context)}
    return all(any(frozenset((one, other)) in related for one in ours) for other in others)


# --- filters ------------------------------------------------------------------------------------------------------


def _event_line(rule: Filter, decision: EventDecision) -> EventDecisionLine:
    if isinstance(decision, Derive):
        return EventDecisionLine("derive", notation.fact_of(filtering.derived(rule, decision)))
    fact = notation.fact_of(decision.event)
    if isinstance(decision, Absorb):
        return EventDecisionLine("absorb", fact, notation.fact_of(decision.into))
    if isinstance(decision, SetContext):
        return EventDecisionLine("context", fact)
    assert isinstance(decision, Annotate)
    return EventDecisionLine("annotate", notation.fact_of(filtering.annotated(decision.event, decision)))


def _compare_events(case: CaseModel, found: Sequence[EventDecisionLine]) -> Iterator[str]:
    left = list(found)
    for expected in notation.parse_event_decisions(case.expect):
        match = next((line for line in left if _agree(expected, line)), None)
        if match is None:
            yield f"missing: {expected}"
        else:
            left.remove(match)
    yield from (f"extra:   {line}" for line in left)


def _agree(expected: EventDecisionLine, found: EventDecisionLine) -> bool:
    if expected.verb != found.verb or (expected.into is None) != (found.into is None):
        return False
    into = expected.into is None or (found.into is not None and notation.agrees(expected.into, found.into))
    return into and notation.agrees(expected.fact, found.fact)


# --- relations and refiners ---------------------------------------------------------------------------------------


def _symptom_decisions(
    rules: RuleSets,
    rule: Relation | Refiner,
    symptoms: Sequence[Symptom],
    events: Sequence[Event],
    context: ExecutionContext,
) -> list[DecisionLine]:
    if isinstance(rule, Relation):
        alone = replace(rules.catalog, relations=(rule,))
        found = explain(symptoms, edges(symptoms, alone, context)).by_effect.values()
        return [_decision_line(Demote(edge.effect, edge.cause, edge.reason())) for edge in found]
    view = JobView(symptoms, context, rules.catalog.tags, events)
    return [_decision_line(decision) for decision in refinement.decide(rule, view) or ()]


def _decision_line(decision: Decision) -> DecisionLine:
    symptom = decision.symptom
    node, name = (symptom.node or "-", symptom.name) if symptom else ("-", "JOB")
    if isinstance(decision, Demote):
        by = decision.by
        return DecisionLine("demote", node, name, (by.node or "-") if by else None, by.name if by else None)
    if isinstance(decision, Keep):
        return DecisionLine("keep", node, name)
    if isinstance(decision, Note):
        return DecisionLine("note", node, name)
    assert isinstance(decision, Attribute)
    moved = {"sub_domain": decision.sub_domain and decision.sub_domain.value, "node": decision.node}
    fields = tuple(sorted((key, value) for key, value in moved.items() if value))
    return DecisionLine("attribute", node, name, fields=fields)


def _compare(case: CaseModel, found: Sequence[DecisionLine]) -> Iterator[str]:
    left = list(found)
    for expected in notation.parse_decisions(case.expect):
        if expected in left:
            left.remove(expected)
        else:
            yield f"missing: {expected}"
    yield from (f"extra:   {line}" for line in left)
