"""Phase 2: filter rules read and rewrite the event stream; what they set aside says why, and into what."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attribution.contracts.context import ExecutionContext
from attribution.diagnosis.trace import ABSTAINED, FAILED, FIRED, NOT_APPLICABLE, OVERRULED, Trace
from attribution.events.event import Event, event_id, freeze
from attribution.rules.api import (
    Absorb,
    Annotate,
    Derive,
    EventDecision,
    EventView,
    FilterStage,
    SetContext,
    expand,
)
from attribution.rules.guard import RuleFailure, answers
from attribution.rules.model import Catalog, Filter


@dataclass(frozen=True, slots=True)
class Filtered:
    """The events that stand, and those that only inform. `failures` are (rule id, error) of rules that raised.

    `reasons` says of each event that a filter set aside as one that only informs, by its id, why.
    """

    events: tuple[Event, ...]
    context: tuple[Event, ...] = ()
    out_of_window: tuple[Event, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Stage:
    """The events of one stage by id, and what was decided about them."""

    events: dict[str, Event]
    set_aside: set[str] = field(default_factory=set)
    context: list[str] = field(default_factory=list)
    out_of_window: list[str] = field(default_factory=list)
    derived: bool = False
    same_lines: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)


def filter_events(
    events: Sequence[Event], catalog: Catalog, execution: ExecutionContext, margin_us: int, trace: Trace
) -> Filtered:
    """Run the filters of both stages over events in total order. All filters of a stage see the same snapshot."""
    standing = list(events)
    informing: list[Event] = []
    outside: list[Event] = []
    failures: list[tuple[str, str]] = []
    reasons: dict[str, str] = {}
    for stage in FilterStage:
        filters = [rule for rule in catalog.filters if rule.stage is stage]
        view = EventView(standing, execution, catalog.tags, margin_us, catalog.symptoms)
        decided = [(rule, _decide(rule, view, catalog, trace, failures)) for rule in filters]
        result = _apply(standing, decided, stage, trace)
        standing = [event for event in result.events.values() if event.id not in result.set_aside]
        if result.derived:  # all others stand in the order in which they came
            standing.sort(key=Event.sort_key)
        informing += [result.events[event_id] for event_id in result.context]
        reasons |= result.reasons
        outside += [result.events[event_id] for event_id in result.out_of_window]
    return Filtered(
        events=tuple(standing),
        context=tuple(sorted(informing, key=Event.sort_key)),
        out_of_window=tuple(sorted(outside, key=Event.sort_key)),
        failures=tuple(failures),
        reasons=reasons,
    )


def decide(rule: Filter, view: EventView, tags: Mapping[str, tuple[str, ...]]) -> tuple[EventDecision, ...] | None:
    """What one filter decides, or None where what it needs is absent. Raises RuleFailure."""
    if not all(any(view.of(name) for name in expand((need,), tags)) for need in rule.needs):
        return None
    return answers(rule, view)


def _decide(
    rule: Filter, view: EventView, catalog: Catalog, trace: Trace, failures: list[tuple[str, str]]
) -> tuple[EventDecision, ...]:
    stage = rule.stage.name.lower()
    try:
        decisions = decide(rule, view, catalog.tags)
    except RuleFailure as failure:  # a broken rule must not lose the diagnosis
        failures.append((rule.info.id, str(failure)))
        trace.add(stage, rule.info.id, FAILED, reason=str(failure))
        return ()
    if decisions is None:
        trace.add(stage, rule.info.id, NOT_APPLICABLE, reason="no event of " + ", ".join(rule.needs))
        return ()
    if not decisions:
        trace.add(stage, rule.info.id, ABSTAINED)
    return decisions


def _apply(
    events: Iterable[Event],
    decided: Sequence[tuple[Filter, tuple[EventDecision, ...]]],
    stage: FilterStage,
    trace: Trace,
) -> _Stage:
    """Annotations first, then derivations, then what sets events aside; within each, by rule id."""
    state = _Stage({event.id: event for event in events})
    kinds: tuple[type, ...] = (Annotate, Derive, SetContext, Absorb)
    absorbed: dict[str, str] = {}
    for kind in kinds:
        for rule, decisions in decided:
            for decision in decisions:
                if isinstance(decision, kind):
                    fired = _one(state, rule, decision, absorbed)
                    event = decision.parts[0] if isinstance(decision, Derive) else decision.event
                    trace.add(
                        stage.name.lower(),
                        rule.info.id,
                        FIRED if fired else OVERRULED,
                        decision=type(decision).__name__.lower().replace("setcontext", "context"),
                        symptom=decision.symptom if isinstance(decision, Derive) else event.symptom,
                        node=event.node,
                        reason=decision.reason,
                    )
    _add_counts(state, absorbed)
    return state


def _one(state: _Stage, rule: Filter, decision: EventDecision, absorbed: dict[str, str]) -> bool:
    if isinstance(decision, Derive):
        event = derived(rule, decision)
        state.events[event.id] = event
        state.derived = True
        if decision.absorbs:
            for part in decision.parts:
                state.set_aside.add(part.id)
        return True
    if decision.event.id in state.set_aside or decision.event.id not in state.events:
        return False
    if isinstance(decision, Annotate):
        state.events[decision.event.id] = annotated(state.events[decision.event.id], decision)
        return True
    if isinstance(decision, SetContext):
        (state.out_of_window if decision.out_of_window else state.context).append(decision.event.id)
        if not decision.out_of_window:
            state.reasons[decision.event.id] = decision.reason
    elif decision.into.id not in state.events or _stands_for(decision.into.id, absorbed) == decision.event.id:
        return False
    else:
        absorbed[decision.event.id] = decision.into.id
        if decision.same_lines:
            state.same_lines.add(decision.event.id)
    state.set_aside.add(decision.event.id)
    return True


def derived(rule: Filter, decision: Derive) -> Event:
    """The event that a derivation stands for: placed where its first part is, counting all of them."""
    first = min(decision.parts, key=Event.sort_key)
    last = max(decision.parts, key=Event.sort_key)
    return replace(
        first,
        id=event_id(first.key, "".join(sorted(part.id for part in decision.parts)).encode(), 0, decision.symptom),
        symptom=decision.symptom,
        rule=rule.info.id,
        fields=freeze({**dict(first.fields), **decision.fields}),
        device=decision.device or first.device,
        discriminator=decision.discriminator,
        count=sum(part.count for part in decision.parts) if decision.absorbs else 1,
        until=last.until or last.moment,
    )


def annotated(event: Event, decision: Annotate) -> Event:
    """The event with what the annotation adds."""
    rank = None if decision.no_rank else event.rank
    return replace(
        event,
        fields=freeze({**dict(event.fields), **decision.fields}),
        device=decision.device or event.device,
        node=decision.node or event.node,
        rank=decision.rank if decision.rank is not None else rank,
    )


def _stands_for(event_id: str, absorbed: Mapping[str, str]) -> str:
    """The event that stands for another in the end. Circles are never entered: see `_one`."""
    while event_id in absorbed:
        event_id = absorbed[event_id]
    return event_id


def _add_counts(state: _Stage, absorbed: Mapping[str, str]) -> None:
    """Every absorbed event counts for the one that stands for it in the end."""
    for source in sorted(absorbed):
        target = _stands_for(source, absorbed)
        part, whole = state.events[source], state.events[target]
        later = part.until or part.moment
        keeps = later is None or (whole.until is not None and whole.until.us >= later.us)
        until = whole.until if keeps else later
        count = whole.count + (0 if source in state.same_lines else part.count)
        state.events[target] = replace(whole, count=count, until=until)
