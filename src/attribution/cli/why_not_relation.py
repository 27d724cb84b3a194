"""Why a relation explained nothing: a side is absent, or scope, order or distance does not hold between the two."""

from collections.abc import Iterator, Sequence
from itertools import islice, product

from attribution.bundle.evidence import Evidence
from attribution.cli.findings import MAX_SHOWN, counted, more, named, shown
from attribution.cli.why_not_judgement import decided
from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Role
from attribution.diagnosis.causality import edges, explain, obstacle
from attribution.diagnosis.engine import conclude, gather
from attribution.events.moment import CROSS_NODE_SLACK, SECOND, Basis, Order
from attribution.events.symptom import Symptom, symptom_order
from attribution.extraction.extract import Extraction
from attribution.extraction.ruleset import RuleSets
from attribution.presentation import words
from attribution.presentation.columns import visible
from attribution.rules.api import expand
from attribution.rules.model import Relation

MAX_PAIRS = 20_000
"""Pairs of a cause and an effect that are looked at."""

_NEAREST = ("distance", "order", "scope")
"""Obstacles, the least first."""


def answer(rules: RuleSets, rule: Relation, evidence: Evidence, extraction: Extraction) -> Iterator[str]:
    """The lines of the answer."""
    fired = list(decided(conclude(evidence, extraction, rules), rule.info.id))
    if fired:
        yield from fired
        return
    gathered = gather(evidence, extraction, rules)
    symptoms = gathered.symptoms
    sides = {}
    for side, names in (("cause", rule.causes), ("effect", rule.effects)):
        wanted = set(expand(names, rules.catalog.tags))
        present = [symptom for symptom in symptoms if symptom.name in wanted]
        sides[side] = [symptom for symptom in present if symptom.type.role is not Role.CONTEXT]
        if not sides[side]:
            yield f"  No finding that it takes for {side}: {' or '.join(names)}."
            for symptom in present[:MAX_SHOWN]:
                yield f"    {named(symptom)} only informs"
            outside = [event for event in gathered.filtered.out_of_window if event.symptom in wanted]
            for event in outside[:MAX_SHOWN]:
                yield f"    outside of the attempt's time: {shown(event)}"
    if all(sides.values()):
        yield from _pairs(rules, rule, symptoms, sides["cause"], sides["effect"], evidence.context)


def _pairs(
    rules: RuleSets,
    rule: Relation,
    symptoms: Sequence[Symptom],
    causes: Sequence[Symptom],
    effects: Sequence[Symptom],
    context: ExecutionContext,
) -> Iterator[str]:
    refused: list[tuple[int, str, Symptom, Symptom]] = []
    holds: list[tuple[Symptom, Symptom]] = []
    for cause, effect in islice(product(causes, effects), MAX_PAIRS):
        why = obstacle(rule, cause, effect, context)
        if why is None:
            holds.append((cause, effect))
        elif why != "same finding":
            refused.append((_NEAREST.index(why), why, cause, effect))
    if holds:
        explained = explain(symptoms, edges(symptoms, rules.catalog, context)).by_effect
        yield f"  It holds for {counted(len(holds), 'pair', 'pairs')}, but decided nothing:"
        for cause, effect in holds[:MAX_SHOWN]:
            edge = explained.get(effect.id)
            yield f"    {named(cause)} could explain {named(effect)}"
            if edge and edge.relation.info.id != rule.info.id:
                yield f"      {edge.relation.info.id} explains it already, by {named(edge.cause)}"
            elif edge is None:
                yield "      each explains the other, so neither does, or no cause stands behind it"
        yield from more(len(holds))
        return
    if not refused:
        yield "  Cause and effect are one and the same finding."
        return
    pairs = counted(len(refused), "pair", "pairs")
    yield f"  It holds for none of {pairs} of a cause and an effect; the closest:"
    refused.sort(key=lambda one: (one[0], one[2].sort_key(), one[3].sort_key()))
    for _, hindrance, cause, effect in refused[:MAX_SHOWN]:
        yield f"    {named(cause)} and {named(effect)}"
        yield f"      {hindrance}: {_why(rule, hindrance, cause, effect)}"
    yield from more(len(refused))


def _why(rule: Relation, why: str, cause: Symptom, effect: Symptom) -> str:
    if why == "scope":
        return f"it asks for `{rule.scope}`, and these are {_stands(rule, cause)} and {_stands(rule, effect)}"
    if why == "distance":
        allowed = words.decimal((rule.within_us or 0) / SECOND)
        return f"they are {_apart(cause, effect)} s apart, and it allows {allowed} s"
    if symptom_order(cause, effect) is Order.AFTER:
        return f"the cause provably came later than the effect ({_apart(cause, effect)} s)"
    return f"it asks that the cause provably came first, and {_unproven(cause, effect)}"


def _stands(rule: Relation, symptom: Symptom) -> str:
    node = visible(symptom.node or "no node")
    if rule.scope == "same_gpu":
        return f"GPU {visible((symptom.device.get('pci') if symptom.device else None) or 'unknown')} of {node}"
    if rule.scope == "same_communicator":
        return f"communicator {visible(symptom.get('communicator') or 'unknown')}"
    return node


def _apart(cause: Symptom, effect: Symptom) -> str:
    a, b = cause.first.moment, effect.first.moment
    if a is None or b is None or a.basis is not b.basis:
        return "an unknown number of"
    return words.decimal(round(abs(b.us - a.us) / SECOND, 1))


def _unproven(cause: Symptom, effect: Symptom) -> str:
    a, b = cause.first.moment, effect.first.moment
    if a is None or b is None:
        return f"{'the cause' if a is None else 'the effect'} has no time"
    if a.basis is not b.basis:
        return f"their clocks cannot be compared ({a.basis.value} and {b.basis.value})"
    if a.inherited or b.inherited:
        return f"the line of {'the cause' if a.inherited else 'the effect'} has no time of its own"
    if a.basis is not Basis.UTC and cause.first.key.node != effect.first.key.node:
        return f"clocks without a zone prove nothing between nodes ({a.basis.value})"
    slack = f"clocks of two nodes may differ by {CROSS_NODE_SLACK // SECOND} s"
    return f"they are {_apart(cause, effect)} s apart, less than their clocks prove ({slack})"
