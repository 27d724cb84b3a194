"""The sentences of a diagnosis: what a good colleague would say in one line."""

from collections.abc import Mapping, Sequence

from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Device as DeviceModel
from attribution.contracts.diagnosis import Untestable
from attribution.contracts.vocabulary import Confidence, Role, SubDomain, TerminalState
from attribution.diagnosis.outcome import Outcome
from attribution.diagnosis.refinement import Refinement
from attribution.events.symptom import ENDS_JOB, Symptom
from attribution.presentation import words

_ENDINGS = {
    TerminalState.COMPLETED: "The attempt completed",
    TerminalState.FAILED: "The attempt failed",
    TerminalState.CANCELLED: "The attempt was cancelled",
    TerminalState.TIMED_OUT: "The attempt ran into its time limit",
    TerminalState.PREEMPTED: "The attempt was preempted",
    TerminalState.NODE_FAILED: "The attempt lost a node",
    TerminalState.OUT_OF_MEMORY: "The attempt ran out of memory",
    TerminalState.LAUNCH_FAILED: "The attempt never reached user code",
    TerminalState.RUNNING: "The attempt is still running",
    TerminalState.UNKNOWN: "How the attempt ended is not in the evidence",
}


def place_of(symptom: Symptom) -> str:
    """Where a symptom was seen, such as `node-02 (GPU 0000:1b:00 · link 8)`; empty where nothing says."""
    parts = [symptom.node] if symptom.node else []
    if symptom.device:
        parts.append(words.device(DeviceModel(kind=symptom.device.kind, ids=dict(symptom.device.ids))))
    elif symptom.rank is not None and len(symptom.ranks) == 1:
        parts.append(f"rank {symptom.rank}")
    return f"{parts[0]} ({', '.join(parts[1:])})" if symptom.node and len(parts) > 1 else ", ".join(parts)


def summary(state: TerminalState, outcome: Outcome, refinement: Refinement, explained: Mapping[str, int]) -> str:
    """The verdict in one sentence."""
    ending = _ENDINGS[state]
    if outcome.sub_domain is SubDomain.NONE:
        if state is not TerminalState.COMPLETED:
            return f"{ending}; {outcome.reason}."
        noise = [s for s in refinement.symptoms.values() if s.type.role is not Role.CONTEXT]
        return (
            f"{ending}; {words.counted(len(noise), 'finding')} in its logs did not end it." if noise else f"{ending}."
        )
    if outcome.sub_domain is SubDomain.INSUFFICIENT_EVIDENCE:
        return f"{ending}; {outcome.reason}."
    if outcome.sub_domain is SubDomain.AMBIGUOUS:
        kinds = list(dict.fromkeys(symptom.type.meaning for symptom, _ in outcome.causes))
        listed = "; ".join(kinds[:3]) + (f"; and {len(kinds) - 3} more" if len(kinds) > 3 else "")
        return f"{ending}; {words.counted(len(kinds), 'cause')} fit the evidence equally: {listed}."
    lead = next(symptom for symptom, _ in outcome.causes if symptom.type.sub_domain is outcome.sub_domain)
    kin = [s for s, c in outcome.causes if c is not Confidence.ONE_OF_SEVERAL]
    places = list(dict.fromkeys(place for s in [lead, *kin] if (place := place_of(s))))
    where = f" on {words.listed(places)}" if places else ""
    echoes = sum(explained.get(symptom.id, 0) for symptom in kin)
    tail = f"; {words.counted(echoes, 'finding')} followed from it" if echoes else ""
    return f"{ending}: {lead.type.meaning}{where}{_led_to(lead, refinement)}{tail}."


def _led_to(lead: Symptom, refinement: Refinement) -> str:
    """What a cause brought about that would else be named itself; empty where there is none."""
    for effect_id, edge in sorted(refinement.explained.by_effect.items()):
        demotion = refinement.demoted.get(effect_id)
        by_relation = demotion is not None and demotion.rule == edge.relation.info.id
        is_cause = edge.effect.type.role is Role.CAUSE and edge.effect.type.ends_job in ENDS_JOB[:2]
        if by_relation and is_cause and edge.cause.id == lead.id and edge.effect.type.meaning != lead.type.meaning:
            return f", and so {edge.effect.type.meaning}"
    return ""


def why(symptom: Symptom, confidence: Confidence, outcome: Outcome, explained: int) -> str:
    """Why a symptom is held to be a cause."""
    text = "No other finding explains it"
    if explained:
        text += f", and it explains {words.counted(explained, 'other')}"
    if confidence is Confidence.ONE_OF_SEVERAL:
        text += f"; but {outcome.reason}"
    ranks = len(symptom.ranks)
    if symptom.count > 1 or ranks > 1:
        text += f". Seen {words.counted(symptom.count, 'time')}" + (f" on {ranks} ranks" if ranks > 1 else "")
    return text + "."


def would_decide(
    outcome: Outcome, gaps: Sequence[Untestable], first: Symptom | None, context: ExecutionContext
) -> str | None:
    """The observation that would settle an ambiguity, or None where there is none to settle."""
    if outcome.sub_domain not in {SubDomain.AMBIGUOUS, SubDomain.INSUFFICIENT_EVIDENCE}:
        return None
    when = ""
    if first is not None and (node := first.node):
        when = f" around the first failure on {node}"
    missing = [gap for gap in gaps if gap.source is not None]
    if missing:
        parts = []
        for gap in missing[:3]:
            assert gap.source is not None
            where = f" of {words.listed(gap.nodes)}" if gap.nodes else ""
            parts.append(f"the {words.SOURCES[gap.source]}{where}")
        return f"{words.listed(parts, 3, 'or')}{when}"
    if outcome.sub_domain is SubDomain.AMBIGUOUS:
        return "time stamps that order the causes: logs with an offset from UTC, or clocks known to agree"
    return f"more of the job's own log{when}: the lines before the first of these"
