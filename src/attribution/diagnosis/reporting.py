"""Phase 4: plain functions assemble the answer from what the phases before it left."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from attribution.bundle.evidence import Evidence, StreamKey
from attribution.contracts.diagnosis import (
    Alternative,
    CatalogIdentity,
    Cause,
    DemotedBy,
    Diagnosis,
    FirstFailure,
    Impact,
)
from attribution.contracts.diagnosis import Device as DeviceModel
from attribution.contracts.diagnosis import Evidence as EvidenceModel
from attribution.contracts.diagnosis import Sample as SampleModel
from attribution.contracts.diagnosis import Symptom as SymptomModel
from attribution.contracts.vocabulary import (
    GATED_ACTIONS,
    Action,
    Confidence,
    DeviceKind,
    Role,
    Source,
    SubDomain,
    SymptomStatus,
    TerminalState,
    domain_of,
)
from attribution.diagnosis.coverage import coverage, untestable
from attribution.diagnosis.filtering import Filtered
from attribution.diagnosis.first_rank import FirstRanks
from attribution.diagnosis.outcome import Outcome
from attribution.diagnosis.refinement import Refinement, explained_count
from attribution.diagnosis.settings import Settings
from attribution.diagnosis.trace import Trace
from attribution.diagnosis.window import attempt_window
from attribution.diagnosis.wording import place_of, summary, why, would_decide
from attribution.events.event import Device, Event
from attribution.events.moment import SECOND, Basis, Moment, Order, at_us
from attribution.events.symptom import ENDS_JOB, Symptom, symptom_order
from attribution.extraction.extract import Extraction
from attribution.extraction.masking import mask
from attribution.rules.model import Catalog

_MAX_EVIDENCE = 3
_ECHO, _END = "collective_echo", "process_end"
"""Tags of what ranks report of a peer that is gone, and of what is reported of processes that ended."""
_GPUS = frozenset({DeviceKind.GPU, DeviceKind.NVLINK})
_UNTRUSTED = frozenset({Source.APPLOG, Source.FLIGHT_RECORDER})
"""Sources that the job itself writes: a line in them proves nothing against a node."""


def report(
    evidence: Evidence,
    extraction: Extraction,
    refinement: Refinement,
    outcome: Outcome,
    state: TerminalState,
    filtered: Filtered,
    catalog: Catalog,
    settings: Settings,
    trace: Trace,
) -> Diagnosis:
    """The diagnosis of one attempt."""
    covered = coverage(extraction, filtered.out_of_window)
    gaps = untestable(covered, evidence.context, catalog, refinement, extraction)
    attempt = attempt_window(evidence.context, extraction)
    excluded, held_back = exclude_nodes(outcome, refinement, state, evidence, attempt, settings)
    if held_back:
        trace.add("report", "exclude-nodes", "abstained", reason=held_back)
    explained = explained_count(refinement)
    ranks = FirstRanks(refinement, catalog)
    causes = tuple(_cause(s, c, outcome, explained, state, excluded, ranks) for s, c in _sorted_causes(outcome))
    symptoms = tuple(_symptom(s, refinement) for s in _listed(refinement))
    cited = [event for s in refinement.symptoms.values() for event in _cited(s, refinement)]
    first = _first_failure(refinement)
    cited += [first.first] if first else []
    settled = would_decide(outcome, gaps, first if is_first(first, refinement) else None, evidence.context)
    return Diagnosis(
        workload_id=evidence.context.workload_id,
        attempt=evidence.context.attempt,
        terminal_state=state,
        domain=domain_of(outcome.sub_domain),
        sub_domain=outcome.sub_domain,
        summary=summary(state, outcome, refinement, explained),
        causes=causes,
        affected_nodes=_nodes(s for s, _ in outcome.causes),
        interesting_nodes=_interesting(outcome, refinement),
        exclude_nodes=excluded,
        first_failure=first and _first_failure_model(first),
        impact=_impact(refinement),
        symptoms=symptoms,
        evidence=_evidence(cited),
        alternatives=_alternatives(outcome, refinement, filtered.reasons, catalog, settings.alternatives),
        untestable=gaps,
        notes=_notes(refinement),
        would_decide=settled,
        actions=_actions(outcome, causes, excluded),
        inferred=evidence.context.inferred,
        partial=evidence.context.partial,
        coverage=covered,
        trace=trace.entries(),
        catalog=CatalogIdentity(version=catalog.version, digest=catalog.digest),
        input_digest=input_digest(evidence, extraction),
    )


# --- causes -------------------------------------------------------------------------------------------------------


def _sorted_causes(outcome: Outcome) -> list[tuple[Symptom, Confidence]]:
    """Those of the named sub_domain first, then by whether they end jobs, time, id."""

    def key(item: tuple[Symptom, Confidence]) -> tuple[bool, bool, object, str]:
        symptom, _ = item
        ends = symptom.type.ends_job in ENDS_JOB[:2]
        return symptom.type.sub_domain is not outcome.sub_domain, not ends, symptom.sort_key(), symptom.id

    return sorted(outcome.causes, key=key)


def _cause(
    symptom: Symptom,
    confidence: Confidence,
    outcome: Outcome,
    explained: Mapping[str, int],
    state: TerminalState,
    excluded: Sequence[str],
    ranks: FirstRanks,
) -> Cause:
    assert symptom.type.sub_domain is not None
    only_told = symptom.type.node_scoped and all(e.key.source in _UNTRUSTED for e in symptom.events)
    gated = confidence is Confidence.ONE_OF_SEVERAL or outcome.blames_nobody(state) or only_told
    return Cause(
        symptom=symptom.name,
        meaning=symptom.type.meaning,
        sub_domain=symptom.type.sub_domain,
        node=symptom.node,
        device=_device(symptom.device),
        rank=ranks.of(symptom),
        at=_instant(symptom.first.moment),
        confidence=confidence,
        why=why(symptom, confidence, outcome, explained.get(symptom.id, 0)),
        rule=symptom.first.rule,
        evidence_ids=tuple(event.id for event in decisive_events(symptom)),
        actions=_allowed(symptom, gated, symptom.node in excluded),
    )


def _allowed(symptom: Symptom, gated: bool, excluded: bool) -> tuple[Action, ...]:
    """The actions that the evidence carries: nothing drastic where it is one of several, or only the job says so.

    `restart` means on the same nodes: it is no advice where a node is lost, known by name, and not excluded.
    """
    found = [a for a in symptom.type.actions if not (gated and a in GATED_ACTIONS)]
    lost = symptom.node is not None and _names_node(symptom) and Action.RESTART_ELSEWHERE in symptom.type.actions
    out = {Action.RESTART} if excluded else {Action.RESTART_ELSEWHERE, *([Action.RESTART] if lost else ())}
    return tuple(a for a in found if a not in out)


def _actions(outcome: Outcome, causes: Sequence[Cause], excluded: Sequence[str]) -> tuple[Action, ...]:
    """What to do about the attempt as a whole, most direct first."""
    if outcome.sub_domain is SubDomain.NONE:
        return (Action.NONE,)
    named = [c for c in causes if c.sub_domain is outcome.sub_domain] or list(causes)
    found = [Action.RESTART_ELSEWHERE] if excluded else []
    found += [action for cause in named for action in cause.actions]
    if outcome.sub_domain in {SubDomain.AMBIGUOUS, SubDomain.INSUFFICIENT_EVIDENCE}:
        found = [Action.COLLECT_MORE, *(a for a in found if a in {Action.RUN_DIAGNOSTICS, Action.RETRY_LATER})]
    return tuple(dict.fromkeys(found))


def exclude_nodes(
    outcome: Outcome,
    refinement: Refinement,
    state: TerminalState,
    evidence: Evidence,
    attempt: tuple[int, int] | None,
    settings: Settings,
) -> tuple[tuple[str, ...], str]:
    """The nodes that a recovery system may avoid, and why more are not named, if any were held back.

    `attempt` is when the attempt ran, in microseconds since 1970; None where nothing says.
    """
    guessed = {s.key for s in evidence.streams if s.node_is_guess}
    listed = {node.name for node in evidence.context.nodes}
    found: set[str] = set()
    doubts: dict[str, str] = {}
    followers = _followers(refinement)
    for symptom, confidence in outcome.causes:
        if symptom.node is None or confidence is Confidence.ONE_OF_SEVERAL:
            continue
        # What a job tells of a fault may come first, and the system's own word for it follow.
        alike = [f for f in followers.get(symptom.id, ()) if f.node == symptom.node and _one_kind(f, symptom)]
        for told in (symptom, *alike):
            if told.type.node_scoped and _names_node(told):
                doubt = _doubt(told, guessed, listed, attempt, settings.margin_us)
                if doubt is None:
                    found.add(symptom.node)
                elif told is symptom:
                    doubts[symptom.node] = doubt
    if outcome.blames_nobody(state) and found:
        return (), f"an attempt that ended {state.value} excludes no node"
    limit = max(1, math.floor(len(evidence.context.nodes) * settings.exclude_share))
    if len(found) > limit:
        return (), f"{len(found)} nodes carry the cause, more than {limit}: this looks systemic"
    held = "; ".join(f"not {node}: {doubt}" for node, doubt in sorted(doubts.items()) if node not in found)
    return tuple(sorted(found)), held


def _followers(refinement: Refinement) -> Mapping[str, Sequence[Symptom]]:
    """Root id -> the faults of nodes that were set aside because of it, directly or through others."""
    found: dict[str, list[Symptom]] = {}
    for symptom in _listed(refinement):
        if symptom.type.node_scoped and symptom.type.role is Role.CAUSE and symptom.id in refinement.demoted:
            found.setdefault(_root_of(symptom, refinement).id, []).append(symptom)
    return found


def _names_node(symptom: Symptom) -> bool:
    """Whether the node is that of the fault: a scheduler's line that names none only tells where its program ran."""
    return symptom.type.sub_domain is not SubDomain.SCHEDULER or any(e.node != e.key.node for e in symptom.events)


def _one_kind(a: Symptom, b: Symptom) -> bool:
    return a.type.sub_domain is b.type.sub_domain


def _root_of(symptom: Symptom, refinement: Refinement) -> Symptom:
    seen = {symptom.id}
    while (demotion := refinement.demoted.get(symptom.id)) and demotion.by and demotion.by.id not in seen:
        symptom = demotion.by
        seen.add(symptom.id)
    return symptom


def _doubt(
    symptom: Symptom, guessed: set[StreamKey], listed: set[str], attempt: tuple[int, int] | None, margin_us: int
) -> str | None:
    """Why a cause does not count against its node, or None where some line of it does."""
    if listed and symptom.node not in listed:
        return "it is no node of this attempt"
    events = [event for event in symptom.events if event.key.source not in _UNTRUSTED]
    if not events:
        return "only the job's own log speaks against it"
    events = [event for event in events if event.trusted]
    if not events:
        return "the line was written under another program's or node's name"
    if symptom.type.sub_domain is not SubDomain.SCHEDULER:  # whose line names the node itself
        events = [event for event in events if event.key not in guessed]
    if not events:
        return "whose log it is, is a guess; put it into a source folder under the node's name"
    if attempt is None:
        return "nothing says when the attempt ran; give started_at and ended_at in the context"
    moments = [e.moment for e in events if e.moment is not None and e.moment.basis is Basis.UTC]
    if not moments:
        return "the time of the line is not known well enough to belong to the attempt"
    if not any(_within(moment, attempt, margin_us) for moment in moments):
        return "the line was written outside the time in which the attempt is known to have run"
    return None


def _within(moment: Moment, attempt: tuple[int, int], margin_us: int) -> bool:
    return attempt[0] - margin_us <= moment.us and moment.us + moment.width_us <= attempt[1] + margin_us


# --- symptoms and evidence ----------------------------------------------------------------------------------------


def decisive_events(symptom: Symptom) -> tuple[Event, ...]:
    """At most three events that stand for a symptom: the first, then the next ones of other streams, then the last."""
    chosen = [symptom.first]
    for event in symptom.events[1:]:
        if len(chosen) == _MAX_EVIDENCE - 1:
            break
        if event.key not in {c.key for c in chosen}:
            chosen.append(event)
    if symptom.last.id not in {c.id for c in chosen}:
        chosen.append(symptom.last)
    return tuple(chosen)


def _cited(symptom: Symptom, refinement: Refinement) -> tuple[Event, ...]:
    """The events that the report shows: of what was set aside one, or a job of thousands of ranks drowns in echoes."""
    return (symptom.first,) if symptom.id in refinement.demoted else decisive_events(symptom)


def _listed(refinement: Refinement) -> list[Symptom]:
    return sorted(refinement.symptoms.values(), key=lambda s: (s.sort_key(), s.id))


def _symptom(symptom: Symptom, refinement: Refinement) -> SymptomModel:
    demotion = refinement.demoted.get(symptom.id)
    demoted_by = None
    if demotion:
        by = demotion.by
        demoted_by = DemotedBy(rule=demotion.rule, symptom=by and by.name, node=by and by.node, reason=demotion.reason)
    last = max((m.us for e in symptom.events if (m := e.until or e.moment) and m.basis is Basis.UTC), default=None)
    ranks = symptom.ranks
    return SymptomModel(
        symptom=symptom.name,
        role=symptom.type.role,
        node=symptom.node,
        device=_device(symptom.device),
        rank=symptom.rank,
        ranks=len(ranks),
        status=SymptomStatus.DEMOTED if demotion else SymptomStatus.ACTIVE,
        demoted_by=demoted_by,
        count=symptom.count,
        first_at=_instant(symptom.first.moment),
        last_at=_instant_us(last, symptom.first.moment),
        evidence_ids=tuple(event.id for event in _cited(symptom, refinement)),
    )


def _evidence(events: Iterable[Event]) -> tuple[EvidenceModel, ...]:
    unique = {event.id: event for event in events}
    return tuple(_evidence_item(event) for event in sorted(unique.values(), key=Event.sort_key))


def _evidence_item(event: Event) -> EvidenceModel:
    uncertainty = event.moment.uncertainty_us() if event.moment else None
    return EvidenceModel(
        id=event.id,
        source=event.key.source,
        node=event.key.node,
        rank=event.rank,
        stream=event.key.stream,
        line=event.line,
        offset=event.offset,
        at=_shown_at(event.moment),
        at_uncertainty_secs=None if uncertainty is None else uncertainty / SECOND,
        text=event.text,
        before=tuple(_context_line(line) for line in event.before[-10:]),
        after=tuple(_context_line(line) for line in event.after[:10]),
        fields=dict(event.fields),
        rule=event.rule,
        samples=tuple(SampleModel(at=at_us(sample.us), value=sample.value) for sample in event.samples),
    )


def _context_line(raw: bytes) -> str:
    text, _ = mask(raw[:1200].decode("utf-8", "replace"))
    return text if len(text) <= 300 else text[:299] + "…"


def _first_failure(refinement: Refinement) -> Symptom | None:
    """The earliest symptom that jobs seldom survive; the earliest of any kind where there is none.

    What was set aside as the consequence of another is first only if it provably came before that. Where all ranks but
    one lost a peer, it is how that one ended.
    """
    seen = [s for s in refinement.symptoms.values() if s.type.role is not Role.CONTEXT and not _followed(s, refinement)]

    def key(symptom: Symptom) -> tuple[bool, bool, object, str]:
        moment = symptom.first.moment
        only_after = moment is None or moment.inherited
        return symptom.type.ends_job not in ENDS_JOB[:2], only_after, symptom.sort_key(), symptom.id

    first = min(seen, key=key, default=None)
    return _lost_peer(first, refinement) or first


def _lost_peer(first: Symptom | None, refinement: Refinement) -> Symptom | None:
    """The end of the only rank that ended without having lost a peer: it is the peer that the others lost."""
    if first is None or _ECHO not in first.type.tags:
        return None
    symptoms = refinement.symptoms.values()
    echoing = {rank for s in symptoms if _ECHO in s.type.tags for rank in s.ranks}
    ends = [(s, e) for s in symptoms if _END in s.type.tags for e in s.events if e.rank not in {None, *echoing}]
    if not echoing or len({event.rank for _, event in ends}) != 1:
        return None
    symptom, event = min(ends, key=lambda end: end[1].sort_key())
    return replace(symptom, node=event.node, events=(event,))


def _followed(symptom: Symptom, refinement: Refinement) -> bool:
    demotion = refinement.demoted.get(symptom.id)
    if demotion is None or demotion.by is None:
        return False
    return symptom_order(symptom, demotion.by) is not Order.BEFORE


def is_first(first: Symptom | None, refinement: Refinement) -> bool:
    """Whether a first failure is known to be the first: by a time in UTC, or since all was seen on its node."""
    if first is None:
        return False
    told = {s.node for s in refinement.symptoms.values() if s.type.role is not Role.CONTEXT}
    return _instant(first.first.moment) is not None or told == {first.node}


def _first_failure_model(first: Symptom) -> FirstFailure:
    return FirstFailure(
        symptom=first.name,
        node=first.node,
        rank=first.rank,
        at=_instant(first.first.moment),
        evidence_id=first.first.id,
    )


def _impact(refinement: Refinement) -> Impact:
    shown = [s for s in refinement.symptoms.values() if s.type.role is not Role.CONTEXT]
    ranks = {rank for s in shown for rank in s.ranks}
    gpus = {(s.node, pci) for s in shown if s.device and s.device.kind in _GPUS and (pci := s.device.get("pci"))}
    return Impact(nodes=len(_nodes(shown)), ranks=len(ranks), gpus=len(gpus))


def _nodes(symptoms: Iterable[Symptom]) -> tuple[str, ...]:
    return tuple(sorted({s.node for s in symptoms if s.node}))


def _interesting(outcome: Outcome, refinement: Refinement) -> tuple[str, ...]:
    bad = set(_nodes(s for s, _ in outcome.causes))
    aside = [s for s in refinement.symptoms.values() if s.id in refinement.demoted]
    return tuple(node for node in _nodes(aside) if node not in bad)


def _alternatives(
    outcome: Outcome, refinement: Refinement, reasons: Mapping[str, str], catalog: Catalog, limit: int
) -> tuple[Alternative, ...]:
    """Causes that were considered and are not named, those first seen first: set aside, survived, or rivals that stand.

    `reasons` are those of filters, by event id.
    """
    named = {symptom.id for symptom, _ in outcome.causes}
    found: list[Alternative] = []
    for symptom in _listed(refinement):
        if catalog.symptoms[symptom.name].role is not Role.CAUSE or symptom.type.sub_domain is None:
            continue
        demotion = refinement.demoted.get(symptom.id)
        survived = reasons.get(symptom.first.id)
        rival = symptom.id in named and outcome.sub_domain is SubDomain.AMBIGUOUS
        if demotion is None and survived is None and not rival:
            continue
        because = demotion.reason if demotion else survived or f"nothing in the evidence rules it out{_on(symptom)}"
        ids = _cited(demotion.by if demotion and demotion.by else symptom, refinement)
        found.append(
            Alternative(
                symptom=symptom.name,
                sub_domain=symptom.type.sub_domain,
                node=symptom.node,
                ruled_out=not rival,
                because=because,
                evidence_ids=tuple(event.id for event in ids),
            )
        )
    return tuple(found[:limit])


def _on(symptom: Symptom) -> str:
    place = place_of(symptom)
    return f" on {place}" if place else ""


def _notes(refinement: Refinement) -> tuple[str, ...]:
    """What rules remark, each once, with the place it is about."""
    remarks = [(n.symptom and place_of(n.symptom), n.text) for _, n in refinement.notes]
    return tuple(dict.fromkeys(f"{place}: {text}" if place else text for place, text in remarks))


# --- small help ---------------------------------------------------------------------------------------------------


def _shown_at(moment: Moment | None) -> datetime | None:
    """The reading as evidence shows it, beside its uncertainty: a zone-less one as if it were UTC."""
    return at_us(moment.us) if moment is not None and moment.basis in {Basis.UTC, Basis.LOCAL} else None


def _instant_us(us: int | None, like: Moment | None) -> datetime | None:
    return at_us(us) if us is not None and like is not None and like.basis is Basis.UTC else None


def _instant(moment: Moment | None) -> datetime | None:
    return moment.instant() if moment is not None else None


def _device(device: Device | None) -> DeviceModel | None:
    return None if device is None else DeviceModel(kind=device.kind, ids=dict(device.ids))


def input_digest(evidence: Evidence, extraction: Extraction) -> str:
    """Names the evidence: the context, the ids of its events, and how many bytes each stream held."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(evidence.context.model_dump_json().encode())
    for event_id in sorted(event.id for event in extraction.events):
        digest.update(event_id.encode())
    for item in extraction.reports:
        digest.update(repr((item.stream.key.sort_key(), item.status.value, item.tally.bytes)).encode())
    return digest.hexdigest()
