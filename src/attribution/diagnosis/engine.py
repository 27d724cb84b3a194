"""The engine: evidence and a catalog in, a diagnosis out. Pure: no clock, no randomness, no environment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from attribution.bundle.evidence import Evidence, StreamKey
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.vocabulary import Role, Source, TerminalState
from attribution.diagnosis.dating import anchored, dated
from attribution.diagnosis.filtering import Filtered, filter_events
from attribution.diagnosis.materialise import materialise
from attribution.diagnosis.outcome import Outcome, Sight, decide_outcome, is_undisturbed, terminal_state
from attribution.diagnosis.refinement import Demotion, Refinement, begin, refine
from attribution.diagnosis.reporting import report
from attribution.diagnosis.scheduler_record import scheduler_events
from attribution.diagnosis.settings import DEFAULTS, Settings
from attribution.diagnosis.trace import FAILED, FIRED, Trace
from attribution.diagnosis.window import with_window
from attribution.events.event import Event
from attribution.events.symptom import Symptom
from attribution.extraction.extract import Extraction, extract
from attribution.extraction.flood import Limits
from attribution.extraction.ruleset import RuleSets
from attribution.rules.api import RefineStage
from attribution.rules.model import Catalog

_OF_JOB = frozenset({Source.APPLOG, Source.SCHEDULER})
_BEFORE_OUTCOME = (RefineStage.NODE, RefineStage.JOB, RefineStage.FINAL)


def diagnose(
    evidence: Evidence, rules: RuleSets, settings: Settings = DEFAULTS, workers: int | None = None
) -> Diagnosis:
    """The diagnosis of one attempt: extract, filter, refine, report."""
    extraction = extract(evidence, rules, Limits(settings.events_per_rule), workers)
    return conclude(evidence, extraction, rules, settings)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What phase 2 leaves: the extraction with the scheduler's own record, its events as they stand, the symptoms."""

    extraction: Extraction
    filtered: Filtered
    symptoms: tuple[Symptom, ...]


def gather(
    evidence: Evidence,
    extraction: Extraction,
    rules: RuleSets,
    settings: Settings = DEFAULTS,
    trace: Trace | None = None,
) -> Gathered:
    """Phase 2 over what phase 1 found."""
    catalog, context = rules.catalog, evidence.context
    trace = Trace() if trace is None else trace
    known = scheduler_events(context, catalog)
    if known:
        extraction = replace(extraction, events=tuple(sorted([*extraction.events, *known], key=Event.sort_key)))
    framed = with_window(context, extraction)
    events = anchored(dated(extraction.events, framed, extraction.reports))
    extraction = replace(extraction, events=tuple(sorted(events, key=Event.sort_key)))
    filtered = filter_events(extraction.events, catalog, framed, settings.margin_us, trace)
    return Gathered(extraction, filtered, tuple(materialise(filtered.events, catalog.symptoms, filtered.context)))


def conclude(evidence: Evidence, extraction: Extraction, rules: RuleSets, settings: Settings = DEFAULTS) -> Diagnosis:
    """Phases 2 to 4 over what phase 1 found."""
    catalog, context, trace = rules.catalog, evidence.context, Trace()
    for (rule, error), count in extraction.failures.items():
        trace.add("extract", rule, FAILED, reason=error, count=count)
    gathered = gather(evidence, extraction, rules, settings, trace)
    extraction, filtered = gathered.extraction, gathered.filtered
    refinement = begin(gathered.symptoms, catalog, context)
    refinement.failures.extend(filtered.failures)
    for stage in _BEFORE_OUTCOME:
        refine(refinement, stage, catalog, context, filtered.events, trace)
    sight = Sight(
        of_job=any(r.stream.key.source in _OF_JOB and r.tally.lines for r in extraction.reports),
        undisturbed=is_undisturbed(context, _signs(filtered.events, catalog), _lines(extraction)),
    )
    state, outcome = _outcome(refinement, evidence, sight, trace)
    refine(refinement, RefineStage.POST_OUTCOME, catalog, context, filtered.events, trace, outcome.sub_domain)
    outcome = _after(outcome, state, refinement, sight, trace)
    return report(evidence, extraction, refinement, outcome, state, filtered, catalog, settings, trace)


def _signs(events: Sequence[Event], catalog: Catalog) -> list[Event]:
    """Events that show that the training goes on."""
    names = set(catalog.tags.get("progress", ()))
    return [event for event in events if event.symptom in names]


def _lines(extraction: Extraction) -> dict[StreamKey, int]:
    return {report.stream.key: report.tally.lines for report in extraction.reports}


def _outcome(refinement: Refinement, evidence: Evidence, sight: Sight, trace: Trace) -> tuple[TerminalState, Outcome]:
    state = terminal_state(evidence.context, _speaking(refinement), refinement.active(), _explained(refinement))
    outcome = decide_outcome(state, refinement.roots(), refinement.active(), sight)
    trace.add("outcome", "terminal-state", FIRED, decision=state.value)
    trace.add("outcome", "outcome-mapping", FIRED, decision=outcome.sub_domain.value, reason=outcome.reason)
    if state is TerminalState.COMPLETED:
        for symptom in refinement.active():
            if symptom.type.role is not Role.CONTEXT:
                refinement.demoted[symptom.id] = Demotion(
                    "outcome-mapping", None, "the attempt completed in spite of it"
                )
    return state, outcome


def _speaking(refinement: Refinement) -> tuple[Symptom, ...]:
    """All symptoms but those of a start that failed: a node that never came up was not lost by a running job."""
    found = []
    for symptom in refinement.symptoms.values():
        demotion = refinement.demoted.get(symptom.id)
        by = demotion.by if demotion else None
        if by is None or by.type.terminal_state is not TerminalState.LAUNCH_FAILED:
            found.append(symptom)
    return tuple(found)


def _explained(refinement: Refinement) -> tuple[Symptom, ...]:
    """The effects that were set aside as consequences of a cause."""
    demoted = ((refinement.symptoms[name], demotion.by) for name, demotion in sorted(refinement.demoted.items()))
    return tuple(s for s, by in demoted if s.type.role is Role.EFFECT and by and by.type.role is Role.CAUSE)


def _after(outcome: Outcome, state: TerminalState, refinement: Refinement, sight: Sight, trace: Trace) -> Outcome:
    """The outcome once more, if a rule of POST_OUTCOME set a root aside or moved it."""
    again = decide_outcome(state, refinement.roots(), refinement.active(), sight)
    if again != outcome:
        trace.add("post_outcome", "outcome-mapping", FIRED, decision=again.sub_domain.value, reason=again.reason)
    return again
