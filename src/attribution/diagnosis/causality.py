"""Causality: which symptom explains which, and which of them are roots.

Edges come from the catalog's relations and are computed over all symptoms before any is set aside. A root is a cause
that cannot be reached from another cause.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Role
from attribution.events.moment import CROSS_NODE_SLACK, Moment, Order
from attribution.events.symptom import Symptom, symptom_order
from attribution.rules.api import expand
from attribution.rules.model import Catalog, Relation

_SCOPES = ("same_gpu", "same_communicator", "same_node", "same_nvlink_domain", "job")
"""Scopes from narrow to wide: of several relations that explain a symptom, the narrowest gives the reason."""

MAX_LOOKED_AT = 512
"""Causes looked at per effect and relation, earliest first."""

MAX_TRIED = 64
"""Causes kept per effect and relation, earliest first, so that thousands of alike symptoms stay cheap."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`cause` explains `effect`, says `relation`."""

    cause: Symptom
    effect: Symptom
    relation: Relation

    def reason(self) -> str:
        """The relation's reason, with the meaning of the cause filled in."""
        return self.relation.reason.replace("{cause}", self.cause.type.meaning)


@dataclass(frozen=True, slots=True)
class Explained:
    """The edges that explain symptoms (effect id -> edge, the best one), and causes that only explain each other."""

    by_effect: Mapping[str, Edge]
    circular: tuple[Symptom, ...] = ()


def edges(symptoms: Sequence[Symptom], catalog: Catalog, context: ExecutionContext) -> tuple[Edge, ...]:
    """All edges between the symptoms, in total order of relation, effect and cause."""
    standing = [symptom for symptom in symptoms if symptom.type.role is not Role.CONTEXT]
    by_name: dict[str, list[Symptom]] = {}
    for symptom in standing:
        by_name.setdefault(symptom.name, []).append(symptom)
    domains = {node.name: node.nvlink_domain for node in context.nodes}
    found: list[Edge] = []
    for relation in catalog.relations:
        causes = _named(relation.causes, by_name, catalog)
        effects = _named(relation.effects, by_name, catalog)
        if causes and effects:
            found += _edges_of(relation, causes, effects, domains)
    return tuple(found)


def _named(names: Iterable[str], by_name: Mapping[str, list[Symptom]], catalog: Catalog) -> list[Symptom]:
    found = [symptom for name in expand(names, catalog.tags) for symptom in by_name.get(name, ())]
    return sorted(found, key=Symptom.sort_key)


def _edges_of(
    relation: Relation, causes: Sequence[Symptom], effects: Sequence[Symptom], domains: Mapping[str, str | None]
) -> Iterable[Edge]:
    place = _places(relation.scope, domains)
    near: dict[object, list[Symptom]] = {}
    for cause in causes:
        for where in place(cause):
            near.setdefault(where, []).append(cause)
    for effect in effects:
        tried: dict[str, Symptom] = {}
        candidates = [causes] if _is_anywhere(relation, effect) else [near.get(where, []) for where in place(effect)]
        for standing in candidates:
            fitting = (
                c
                for c in standing[:MAX_LOOKED_AT]
                if c.id != effect.id and _in_order(relation, c, effect) and _is_near(relation, c, effect)
            )
            tried.update((cause.id, cause) for cause in islice(fitting, MAX_TRIED))
        for cause in sorted(tried.values(), key=Symptom.sort_key):
            yield Edge(cause, effect, relation)


def _is_anywhere(relation: Relation, effect: Symptom) -> bool:
    """Whether an effect has no known node, as in one output of a whole job: then no node is ruled out."""
    return effect.node is None and relation.scope in {"same_node", "same_nvlink_domain"}


def _places(scope: str, domains: Mapping[str, str | None]) -> Callable[[Symptom], tuple[object, ...]]:
    """Where a symptom stands under a scope: a cause explains an effect if they share a place."""
    if scope == "same_node":
        return lambda symptom: (symptom.node,)
    if scope == "same_gpu":
        return lambda symptom: ((symptom.node, pci),) if (pci := _gpu(symptom)) else ()
    if scope == "same_nvlink_domain":

        def domain(symptom: Symptom) -> tuple[object, ...]:
            known = domains.get(symptom.node or "")
            return (symptom.node, ("domain", known)) if known else (symptom.node,)

        return domain
    if scope == "same_communicator":
        return lambda symptom: tuple(
            sorted({value for event in symptom.events if (value := event.get("communicator"))})
        )
    return lambda _symptom: ("job",)


def _gpu(symptom: Symptom) -> str | None:
    return symptom.device.get("pci") if symptom.device else None


Obstacle = Literal["same finding", "scope", "order", "distance"]
"""What keeps a relation from explaining an effect by a cause."""


def obstacle(relation: Relation, cause: Symptom, effect: Symptom, context: ExecutionContext) -> Obstacle | None:
    """Why a relation does not hold between two symptoms that it names, or None if it does."""
    if cause.id == effect.id:
        return "same finding"
    place = _places(relation.scope, {node.name: node.nvlink_domain for node in context.nodes})
    if not _is_anywhere(relation, effect) and set(place(cause)).isdisjoint(place(effect)):
        return "scope"
    if not _in_order(relation, cause, effect):
        return "order"
    return None if _is_near(relation, cause, effect) else "distance"


def _in_order(relation: Relation, cause: Symptom, effect: Symptom) -> bool:
    proven = symptom_order(cause, effect)
    if relation.order == "earlier":
        return proven is Order.BEFORE
    return relation.order == "any" or proven is not Order.AFTER


def _is_near(relation: Relation, cause: Symptom, effect: Symptom) -> bool:
    if relation.within_us is None:
        return True
    a, b = cause.first.moment, effect.first.moment
    if a is None or b is None or a.basis is not b.basis or a.inherited or b.inherited:
        return True
    # The effect may come long after the first sight of a cause that goes on: what counts is the last sight before.
    seen = [m for e in cause.events if (m := e.moment) and m.basis is b.basis and m.us < b.us + b.width_us]
    nearest = min((_gap_us(m, b) for m in seen), default=_gap_us(a, b))
    return nearest <= relation.within_us + CROSS_NODE_SLACK


def _gap_us(a: Moment, b: Moment) -> int:
    """The least that may lie between two readings."""
    return max(b.us - a.us - a.width_us, a.us - b.us - b.width_us, 0)


def explain(symptoms: Sequence[Symptom], found: Sequence[Edge]) -> Explained:
    """Which symptoms a cause reaches, and over which edge; causes that only reach each other stay unexplained."""
    outgoing: dict[str, list[Edge]] = {}
    incoming: set[str] = set()
    for edge in sorted(found, key=lambda edge: _SCOPES.index(edge.relation.scope)):
        outgoing.setdefault(edge.cause.id, []).append(edge)
        incoming.add(edge.effect.id)
    causes = [s for s in symptoms if s.type.role is Role.CAUSE]
    cause_ids = {s.id for s in causes}
    behind = _behind(causes, outgoing)
    by_effect = _reach([s for s in causes if s.id not in behind], outgoing)
    circular = [s for s in causes if s.id in behind and s.id not in by_effect]
    for start in (circular, [s for s in symptoms if s.type.role is Role.EFFECT and s.id not in incoming]):
        beyond = _reach(start, outgoing)
        by_effect = {**{i: e for i, e in beyond.items() if i not in cause_ids}, **by_effect}
    return Explained(by_effect, tuple(circular))


def _behind(causes: Sequence[Symptom], outgoing: Mapping[str, list[Edge]]) -> set[str]:
    """Ids of symptoms that lie behind at least one edge from a cause."""
    reached: set[str] = set()
    frontier = [cause.id for cause in causes]
    while frontier:
        for edge in outgoing.get(frontier.pop(), ()):
            if edge.effect.id not in reached:
                reached.add(edge.effect.id)
                frontier.append(edge.effect.id)
    return reached


def _reach(starts: Sequence[Symptom], outgoing: Mapping[str, list[Edge]]) -> dict[str, Edge]:
    """Effect id -> the edge over which it is reached, breadth first and in total order."""
    found: dict[str, Edge] = {}
    ids = {start.id for start in starts}
    frontier = sorted(starts, key=Symptom.sort_key)
    while frontier:
        following: dict[str, Symptom] = {}
        for symptom in frontier:
            for edge in outgoing.get(symptom.id, ()):
                if edge.effect.id not in found and edge.effect.id not in ids:
                    found[edge.effect.id] = edge
                    following[edge.effect.id] = edge.effect
        frontier = sorted(following.values(), key=Symptom.sort_key)
    return found
