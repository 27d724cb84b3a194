"""The way to the outcome as questions in the order in which they are asked; one answer decides, and says why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from attribution.contracts.diagnosis import Diagnosis, Symptom
from attribution.contracts.vocabulary import Confidence, Role, SubDomain, SymptomStatus, TerminalState
from attribution.presentation import words
from attribution.presentation.answer import Answer
from attribution.presentation.columns import clip

_COLUMNS = 400


@dataclass(frozen=True, slots=True)
class Branch:
    """One question with its answer. `decides` says what follows from it; `hint` why nothing did."""

    question: str
    answer: str
    decides: str
    hint: str
    asked: bool


def decision_tree(answer: Answer) -> tuple[Branch, ...]:
    """The questions of the outcome, those behind the deciding one not asked."""
    branches = list(_branches(answer.diagnosis))
    last = next((n for n, branch in enumerate(branches) if branch.decides), len(branches) - 1)
    unasked = "not asked: the question above decided"
    behind = [replace(b, answer="", decides="", hint=unasked, asked=False) for b in branches[last + 1 :]]
    return (*branches[: last + 1], *behind)


def outcome_reason(diagnosis: Diagnosis) -> str:
    """What the trace says of the outcome, as it was decided last; empty where no trace was kept."""
    told = [entry.reason for entry in diagnosis.trace if entry.rule == "outcome-mapping" and entry.reason]
    return clip(told[-1], _COLUMNS) if told else ""


def _branches(diagnosis: Diagnosis) -> Iterator[Branch]:
    reason, state = outcome_reason(diagnosis), diagnosis.terminal_state
    if state is TerminalState.COMPLETED:
        yield _yes("Did the attempt complete?", "yes", "nothing is to blame, whatever its logs say")
    else:
        yield _no(
            "Did the attempt complete?", f"no: {words.STATES[state]}", "had it completed, nothing would be to blame"
        )
    yield _roots(diagnosis, reason)
    question = "Did the job itself report trouble provably before every cause that is left?"
    if not diagnosis.causes and reason.endswith(_EARLIER):
        yield _yes(question, "yes", f"insufficient evidence: {reason}")
    else:
        yield _no(question, "no", "had it, what is left would not be where it started")
    question = "Does what is left explain how the attempt ended?"
    if not diagnosis.causes and reason.startswith(_SURVIVED):
        yield _yes(question, "no", f"insufficient evidence: {reason}")
    else:
        yield _no(question, "yes, or nothing speaks against it", "were it not so, the evidence would be insufficient")
    yield _kinds(diagnosis, reason)
    question = "Do clocks prove which of them came first?"
    if diagnosis.sub_domain is SubDomain.AMBIGUOUS:
        yield _yes(question, "no", f"ambiguous: {reason or 'their clocks prove no order'}")
    else:
        yield _yes(question, "yes", f"the earliest that ends jobs: {reason or 'it came before the other causes'}")


_EARLIER, _SURVIVED = "came provably before every cause that is left", "jobs often survive "
"""How the engine words two of its reasons, for which a diagnosis has no field; a test holds both together."""


def _yes(question: str, said: str, decides: str) -> Branch:
    return Branch(question, said, decides, "", True)


def _no(question: str, said: str, hint: str) -> Branch:
    return Branch(question, said, "", hint, True)


def _roots(diagnosis: Diagnosis, reason: str) -> Branch:
    """Whether any finding that can be a cause is left."""
    question = "Is a finding left that can be a cause and that no other explains?"
    could = [s for s in diagnosis.symptoms if s.role is Role.CAUSE]
    left = _standing(could)
    aside = len(could) - len(left)
    counted = f"{words.counted(len(could), 'finding')} could be one, {aside:,} set aside"
    decided_later = reason.endswith(_EARLIER) or reason.startswith(_SURVIVED)
    if not diagnosis.causes and not decided_later:
        if diagnosis.sub_domain is SubDomain.NONE:
            return _yes(question, f"no: {counted}", f"nothing is to blame: {reason or 'no failure is shown'}")
        if left:
            counted += f", {len(left):,} of a kind that never ends a job by itself"
        why = reason or "no line of the evidence names a cause"
        return _yes(question, f"no: {counted}", f"insufficient evidence: {why}")
    number = len(diagnosis.causes) or len(left)
    return _no(question, f"yes, {number:,}: {counted}", "without one, there would be no cause to name")


def _standing(found: Sequence[Symptom]) -> list[Symptom]:
    return [s for s in found if s.status is SymptomStatus.ACTIVE]


def _kinds(diagnosis: Diagnosis, reason: str) -> Branch:
    """Whether the causes that are left lie in one place."""
    question = "Do all causes that are left lie in one sub-domain?"
    kinds = list(dict.fromkeys(words.SUB_DOMAINS[cause.sub_domain] for cause in diagnosis.causes))
    if len(kinds) > 1 or any(cause.confidence is Confidence.ONE_OF_SEVERAL for cause in diagnosis.causes):
        return _no(question, f"no: {words.listed(kinds, 4)}", "with causes in several, only their order can decide")
    single = len(diagnosis.causes) == 1
    kind = "single" if single else "compound"
    why = reason or ("one cause is left" if single else "all causes that are left are of one kind")
    return _yes(question, f"yes: {words.listed(kinds)}", f"{kind}: {why}")
