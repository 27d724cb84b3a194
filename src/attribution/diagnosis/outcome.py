"""Outcome mapping: how the attempt ended, and which roots, if any, are named as its cause."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from attribution.bundle.evidence import StreamKey
from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Confidence, Role, Source, SubDomain, TerminalState
from attribution.events.event import Event
from attribution.events.moment import SECOND, Basis, Order
from attribution.events.symptom import ENDS_JOB, Symptom, symptom_order

_SCHEDULER_STATES = {
    # Slurm job states (sacct, long form), the first word of what the scheduler prints
    "BOOT_FAIL": TerminalState.NODE_FAILED,
    "CANCELLED": TerminalState.CANCELLED,
    "COMPLETED": TerminalState.COMPLETED,
    "COMPLETING": TerminalState.RUNNING,
    "CONFIGURING": TerminalState.RUNNING,
    "DEADLINE": TerminalState.TIMED_OUT,
    "FAILED": TerminalState.FAILED,
    "LAUNCH_FAILED": TerminalState.LAUNCH_FAILED,
    "NODE_FAIL": TerminalState.NODE_FAILED,
    "OUT_OF_MEMORY": TerminalState.OUT_OF_MEMORY,
    "PREEMPTED": TerminalState.PREEMPTED,
    "RECONFIG_FAIL": TerminalState.LAUNCH_FAILED,
    "REVOKED": TerminalState.CANCELLED,
    "RUNNING": TerminalState.RUNNING,
    "SUSPENDED": TerminalState.RUNNING,
    "TIMEOUT": TerminalState.TIMED_OUT,
    # Kubernetes phases and conditions
    "DEADLINEEXCEEDED": TerminalState.TIMED_OUT,
    "EVICTED": TerminalState.PREEMPTED,
    "OOMKILLED": TerminalState.OUT_OF_MEMORY,
    "SUCCEEDED": TerminalState.COMPLETED,
    "COMPLETE": TerminalState.COMPLETED,
}

_TAKEN_BY_SCHEDULER = (
    TerminalState.PREEMPTED,
    TerminalState.NODE_FAILED,
    TerminalState.TIMED_OUT,
    TerminalState.CANCELLED,
)
"""States that the scheduler brings about, in the order in which they count."""

_FROM_EVIDENCE = (TerminalState.OUT_OF_MEMORY, TerminalState.LAUNCH_FAILED)

_CLAIMS = (TerminalState.LAUNCH_FAILED, TerminalState.FAILED, TerminalState.RUNNING)
"""What a log that shows no end may still say, in the order in which it counts."""

_MINUTE = 60 * SECOND
_END_SLACK = 5 * SECOND
"""How far the end that a scheduler records may lie before what ended the attempt is told elsewhere."""

_LAST_LINES = 5
"""A log ends with what stands in so many last lines."""

STATES_WITHOUT_BLAME = frozenset({TerminalState.CANCELLED, TerminalState.TIMED_OUT, TerminalState.PREEMPTED})
"""Endings for which no node is excluded and no hardware action proposed, unless deeper evidence explains them."""


def scheduler_state(context: ExecutionContext) -> TerminalState | None:
    """What the scheduler's own word for the end means, or None where it gave none that is known."""
    words = (context.scheduler_state or "").replace("+", "").split()
    if words and words[0].upper() == "DEADLINE" and context.ended_at and not (context.started_at or context.nodes):
        return TerminalState.LAUNCH_FAILED  # its deadline passed while it waited
    return _SCHEDULER_STATES.get(words[0].upper()) if words else None


def terminal_state(
    context: ExecutionContext,
    symptoms: Sequence[Symptom],
    active: Sequence[Symptom],
    explained: Sequence[Symptom] = (),
) -> TerminalState:
    """How the attempt ended, by the written order of precedence of the taxonomy.

    `explained` are effects that a cause stands for: they are set aside, but what they tell of the end did happen.
    """
    said = scheduler_state(context) or _recorded(symptoms)
    if said is TerminalState.COMPLETED and not context.exit_code and not context.signal:
        return said  # an attempt that the scheduler saw end well did so, whatever its logs say
    proven = {s.type.terminal_state for s in symptoms if s.type.terminal_state and _proves(s)}
    claimed = {s.type.terminal_state for s in symptoms if s.type.terminal_state}
    ending = [s for s in active if s.type.ends_job in ENDS_JOB[:2] and s.type.role is Role.CAUSE and not _taken(s)]
    own = [s for s in ending if not _came_after(s, context.ended_at)]
    taken = [s for s in active if _taken(s)]
    swept_up = bool(own) or (bool(taken) and _trouble_before(taken, active) is not None)
    for state in _TAKEN_BY_SCHEDULER:
        if said is state or state in proven:
            # A job that failed and was then swept up by the site's cancel is `failed`, or never started.
            return _own_end(own) if swept_up and state is TerminalState.CANCELLED else state
    for state in _FROM_EVIDENCE:
        if said is state or state in proven:
            return state
    if said in {TerminalState.COMPLETED, TerminalState.RUNNING}:
        return said
    if said is TerminalState.FAILED or context.signal or context.exit_code:
        return TerminalState.FAILED
    if context.exit_code == 0:
        return TerminalState.COMPLETED
    state = _from_logs(active, claimed, proven)
    ended = any(s.type.ends_job in ENDS_JOB[:2] for s in explained)
    return TerminalState.FAILED if ended and state in {TerminalState.UNKNOWN, *_CLAIMS} else state


def _came_after(symptom: Symptom, ended: datetime | None) -> bool:
    """Whether a symptom was provably first seen when the attempt had ended: what was found then did not end it."""
    moment = symptom.first.moment
    if ended is None or moment is None or moment.basis is not Basis.UTC:
        return False
    return moment.us > int(ended.timestamp()) * SECOND + _END_SLACK


def _own_end(own: Sequence[Symptom]) -> TerminalState:
    """How an attempt ended by its own failures: those that kept it from starting leave it without a start."""
    never_began = bool(own) and all(s.type.terminal_state is TerminalState.LAUNCH_FAILED for s in own)
    return TerminalState.LAUNCH_FAILED if never_began else TerminalState.FAILED


def _recorded(symptoms: Sequence[Symptom]) -> TerminalState | None:
    """A good end that the scheduler's own records tell, where none of them tells of another."""
    recorded = [s for s in symptoms if any(event.key.source is Source.SCHEDULER for event in s.events)]
    states = {s.type.terminal_state for s in recorded} - {None, TerminalState.RUNNING}
    return TerminalState.COMPLETED if states == {TerminalState.COMPLETED} else None


def _proves(symptom: Symptom) -> bool:
    """Whether a symptom shows by itself how the attempt ended.

    That a start failed, or that something still ran, is only a claim where jobs survive it: see `_from_logs`.
    """
    is_claim = symptom.type.terminal_state in _CLAIMS and symptom.type.ends_job not in ENDS_JOB[:2]
    return symptom.type.role is not Role.CONTEXT and not is_claim


def _taken(symptom: Symptom) -> bool:
    return symptom.type.terminal_state in _TAKEN_BY_SCHEDULER


def _from_logs(active: Sequence[Symptom], claimed: set[TerminalState], proven: set[TerminalState]) -> TerminalState:
    ending = [s for s in active if s.type.role is not Role.CONTEXT and s.type.ends_job in ENDS_JOB[:2]]
    if TerminalState.COMPLETED in claimed and TerminalState.FAILED not in proven:
        finished = [s for s in active if s.type.terminal_state is TerminalState.COMPLETED]
        if all(symptom_order(done, s) is Order.BEFORE for done in finished for s in ending):
            return TerminalState.COMPLETED
    if TerminalState.FAILED in proven or ending:
        return TerminalState.FAILED
    return next((state for state in _CLAIMS if state in claimed), TerminalState.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the roots come to. `causes` pairs each named root with its confidence, the one that counts first."""

    sub_domain: SubDomain
    causes: tuple[tuple[Symptom, Confidence], ...]
    reason: str

    def blames_nobody(self, state: TerminalState) -> bool:
        """Whether the scheduler ended the attempt for a reason of its own; deeper evidence makes it another's."""
        return state in STATES_WITHOUT_BLAME and self.sub_domain is SubDomain.SCHEDULER


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen of the run itself, beside its symptoms.

    `of_job`: something of the job was examined; where only a node was, its troubles are all there is to name.
    `undisturbed`: nothing claims a failure, and a log ends while the training goes on.
    """

    of_job: bool = True
    undisturbed: bool = False


def decide_outcome(
    state: TerminalState,
    roots: Sequence[Symptom],
    active: Sequence[Symptom],
    sight: Sight = Sight(),
) -> Outcome:
    """All of one sub_domain: that one. A provable order: the earliest that ended the job. Else ambiguous."""
    if state is TerminalState.COMPLETED:
        return Outcome(SubDomain.NONE, (), "the attempt completed")
    # What never ends a job by itself can explain something else, but is not named.
    roots = [root for root in roots if root.type.ends_job != "no" or not sight.of_job]
    if not roots:
        seen = any(s.type.role is Role.EFFECT for s in active)
        if sight.undisturbed and not seen:
            return Outcome(SubDomain.NONE, (), "its log ends while the training goes on, and shows no failure")
        reason = "only effects were seen, no cause" if seen else "no line of the evidence names a cause"
        return Outcome(SubDomain.INSUFFICIENT_EVIDENCE, (), reason)
    earlier = _trouble_before(roots, active)
    if earlier is not None:
        where = f" on {earlier.node}" if earlier.node else ""
        reason = f"{earlier.type.meaning}{where} came provably before every cause that is left"
        return Outcome(SubDomain.INSUFFICIENT_EVIDENCE, (), reason)
    ending = _unexplained_end(roots, active)
    if ending is not None:
        reason = f"jobs often survive {roots[0].type.meaning}, and it explains nothing of {ending.type.meaning}"
        return Outcome(SubDomain.INSUFFICIENT_EVIDENCE, (), reason)
    places = {_sub_domain(root) for root in roots}
    if len(places) == 1:
        confidence = Confidence.SINGLE if len(roots) == 1 else Confidence.COMPOUND
        reason = "one cause is left" if len(roots) == 1 else f"{len(roots)} causes are left, all of one kind"
        return Outcome(places.pop(), tuple((root, confidence) for root in roots), reason)
    return _of_several(roots)


def _unexplained_end(roots: Sequence[Symptom], active: Sequence[Symptom]) -> Symptom | None:
    """What usually ends a job and nothing explains, where all roots are such as jobs often survive."""
    if any(root.type.ends_job in ENDS_JOB[:2] for root in roots):
        return None
    return next((s for s in active if s.type.role is Role.EFFECT and s.type.ends_job in ENDS_JOB[:2]), None)


def is_undisturbed(context: ExecutionContext, signs: Sequence[Event], lines: Mapping[StreamKey, int]) -> bool:
    """Whether nothing says that the attempt failed, and a log ends with `signs` that the training goes on.

    `lines` is how many lines each stream has.
    """
    told = (context.scheduler_state, context.exit_code, context.signal, context.reason)
    near_end = any(lines.get(sign.key, 0) - sign.line <= _LAST_LINES for sign in signs)
    return near_end and all(value is None for value in told)


def _trouble_before(roots: Sequence[Symptom], active: Sequence[Symptom]) -> Symptom | None:
    """What the job itself reported, nothing explains, and came provably, by over a minute, before every root."""
    reported = [s for s in active if s.first.key.source is Source.APPLOG and s.type.role is Role.EFFECT]
    effects = [s for s in reported if s.type.ends_job in ENDS_JOB[:2]]
    for effect in effects:
        if all(symptom_order(effect, root) is Order.BEFORE and _apart(effect, root) for root in roots):
            return effect
    return None


def _apart(first: Symptom, then: Symptom) -> bool:
    a, b = first.first.moment, then.first.moment
    return a is not None and b is not None and a.basis is b.basis and b.us - a.us > _MINUTE


def _of_several(roots: Sequence[Symptom]) -> Outcome:
    ending = [root for root in roots if root.type.ends_job in ENDS_JOB[:2]]
    for root in ending:
        rivals = [other for other in roots if _sub_domain(other) is not _sub_domain(root)]
        if all(symptom_order(root, other) is Order.BEFORE for other in rivals):
            kin = [other for other in roots if _sub_domain(other) is _sub_domain(root)]
            confidence = Confidence.SINGLE if len(kin) == 1 else Confidence.COMPOUND
            named = [(item, confidence) for item in kin] + [(item, Confidence.ONE_OF_SEVERAL) for item in rivals]
            return Outcome(_sub_domain(root), tuple(named), "it came provably before the other causes")
    reason = f"{len(roots)} causes of different kinds are left, and their clocks prove no order"
    return Outcome(SubDomain.AMBIGUOUS, tuple((root, Confidence.ONE_OF_SEVERAL) for root in roots), reason)


def _sub_domain(symptom: Symptom) -> SubDomain:
    assert symptom.type.sub_domain is not None, f"cause {symptom.name} has no sub_domain"
    return symptom.type.sub_domain
