"""Diagnoses labelled attempts as `attribution diagnose` does, and judges the answers."""

from collections.abc import Callable, Sequence
from functools import partial

from attribution.accuracy.judge import Verdict, crashed, judged
from attribution.accuracy.truth import Subject
from attribution.accuracy.workers import Failed, spread
from attribution.bundle.reader import open_bundle
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets


def measure(
    subjects: Sequence[Subject],
    load: Callable[[], RuleSets],
    *,
    workers: int,
    timeout_secs: float,
    told: Callable[[int], None] = lambda done: None,
) -> list[Verdict]:
    """A verdict on each subject, in their order. `told` hears how many are done; `load` runs once in each worker."""
    found: dict[int, Verdict] = {}
    work = spread(list(subjects), partial(_prepared, load), workers=workers, timeout_secs=timeout_secs)
    for number, answer in work:
        truth = subjects[number].truth
        found[number] = crashed(truth, answer.reason) if isinstance(answer, Failed) else answer
        told(len(found))
    return [found[number] for number in sorted(found)]


def _prepared(load: Callable[[], RuleSets]) -> Callable[[Subject], Verdict]:
    return partial(verdict_on, rules=load())


def verdict_on(subject: Subject, rules: RuleSets) -> Verdict:
    """Diagnose one attempt and judge it. Raises EvidenceError where its bundle cannot be read."""
    with subject.bundle() as path, open_bundle(path) as evidence:
        return judged(subject.truth, diagnose(evidence, rules))
