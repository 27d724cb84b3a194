"""The sentences of a diagnosis: what a good colleague would say in one line."""

from collections.abc import Mapping, Sequence

from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Untestable
from attribution.contracts.vocabulary import Confidence, Role, SubDomain, TerminalState
from attribution.diagnosis.outcome import Outcome
from attribution.diagnosis.refinement import Refinement
from attribution.events.symptom import Symptom

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
    """Where a symptom was seen, such as `node-02, GPU 0000:1b:00, link 8`."""
    parts = [symptom.node] if symptom.node else []
    if symptom.device:
        ids = dict(symptom.device.ids)
        if "pci" in ids:
            parts.append(f"GPU {ids.pop('pci')}" if symptom.device.kind.value in {"gpu", "nvlink"} else ids.pop("pci"))
        parts += [f"{name} {value}" for name, value in ids.items()]
    if symptom.rank is not None and len(symptom.ranks) == 1:
        parts.append(f"rank {symptom.rank}")
    return ", ".join(parts) or "an unnamed node"


def summary(state: TerminalState, outcome: Outcome, refinement: Refinement, explained: Mapping[str, int]) -> str:
    """The verdict in one sentence."""
    ending = _ENDINGS[state]
    if outcome.sub_domain is SubDomain.NONE:
        noise = [s for s in refinement.symptoms.values() if s.type.role is not Role.CONTEXT]
        return f"{ending}; {_counted(len(noise), 'finding')} in its logs did not end it." if noise else f"{ending}."
    if outcome.sub_domain is SubDomain.INSUFFICIENT_EVIDENCE:
        return f"{ending}; {outcome.reason}."
    if outcome.sub_domain is SubDomain.AMBIGUOUS:
        kinds = list(dict.fromkeys(symptom.type.meaning for symptom, _ in outcome.causes))
        listed = "; ".join(kinds[:3]) + (f"; and {len(kinds) - 3} more" if len(kinds) > 3 else "")
        return f"{ending}; {_counted(len(kinds), 'cause')} fit the evidence equally: {listed}."
    lead = next(symptom for symptom, _ in outcome.causes if symptom.type.sub_domain is outcome.sub_domain)
    kin = [s for s, c in outcome.causes if c is not Confidence.ONE_OF_SEVERAL]
    where = place_of(lead) if len(kin) == 1 else f"{place_of(lead)} and {len(kin) - 1} more"
    echoes = sum(explained.get(symptom.id, 0) for symptom in kin)
    tail = f"; {_counted(echoes, 'finding')} followed from it" if echoes else ""
    return f"{ending}: {lead.type.meaning} on {where}{tail}."


def why(symptom: Symptom, confidence: Confidence, outcome: Outcome, explained: int) -> str:
    """Why a symptom is held to be a cause."""
    first = f"Nothing else in the evidence explains it, and {outcome.reason}."
    if confidence is Confidence.ONE_OF_SEVERAL:
        first = f"Nothing else in the evidence explains it, but {outcome.reason}."
    tail = f" It explains {_counted(explained, 'other finding')}." if explained else ""
    ranks = len(symptom.ranks)
    seen = f" Seen {_counted(symptom.count, 'time')}" + (f" on {ranks} ranks" if ranks > 1 else "")
    return first + tail + (seen + "." if symptom.count > 1 or ranks > 1 else "")


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
            where = f" of {_names(gap.nodes)}" if gap.nodes else ""
            parts.append(f"the {_SOURCE_WORDS[gap.source.value]}{where}")
        return f"{_listed(parts)}{when}"
    if outcome.sub_domain is SubDomain.AMBIGUOUS:
        return "time stamps that order the causes: logs with an offset from UTC, or clocks known to agree"
    return f"more of the job's own log{when}: the lines before the first of these"


_SOURCE_WORDS = {
    "applog": "application logs",
    "syslog": "system logs",
    "scheduler": "scheduler's record",
    "node_metrics": "node metrics",
    "network_metrics": "network metrics",
    "fabric_manager": "Fabric Manager log",
    "bmc": "BMC event log",
    "flight_recorder": "NCCL flight recorder dumps",
}


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more nodes"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " or " + parts[-1]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
