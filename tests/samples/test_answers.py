"""Every sample gets the answer that its README promises, and its explanation reads as it was reviewed.

`UPDATE_GOLDEN=1 pytest tests/samples` writes the explanations anew; read them as prose before you commit them.
"""

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from attribution.bundle.reader import open_bundle
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.vocabulary import Role, Source
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets
from attribution.presentation import text

from tests.conftest import SAMPLES

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Answer:
    """What a sample's diagnosis must say."""

    state: str
    domain: str
    sub_domain: str
    causes: tuple[tuple[str, str | None, int | None], ...] = ()
    exclude: tuple[str, ...] = ()
    decisive: str = ""
    aside: frozenset[str] = field(default_factory=frozenset)


ANSWERS = {
    "nvlink-signal-integrity": Answer(
        "failed",
        "hardware",
        "nvlink_fabric",
        (("NVLINK_SIGNAL_INTEGRITY", "node-02", 8),),
        ("node-02",),
        "149, NETIR_LINK_EVT Fatal XC0 i0 Link 08",
        frozenset({"NCCL_WATCHDOG_TIMEOUT", "XID_45"}),
    ),
    "python-exception-one-rank": Answer(
        "failed", "workload", "user_code", (("PYTHON_EXCEPTION", "node-02", 5),), (), "KeyError: 'segment_starts'"
    ),
    "cgroup-oom": Answer("out_of_memory", "workload", "resource_limit", (), (), "oom"),
    "two-suspects": Answer("failed", "unknown", "ambiguous"),
    "timeouts-only": Answer("failed", "unknown", "insufficient_evidence", aside=frozenset({"NCCL_WATCHDOG_TIMEOUT"})),
    "completed-with-noise": Answer("completed", "none", "none"),
}


@cache
def answer_of(sample: Path, rules: RuleSets) -> Diagnosis:
    with open_bundle(sample) as evidence:
        return diagnose(evidence, rules)


def test_every_sample_has_an_answer() -> None:
    assert {sample.name for sample in SAMPLES} == set(ANSWERS)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_answer(sample: Path, shipped: RuleSets) -> None:
    got, expected = answer_of(sample, shipped), ANSWERS[sample.name]
    assert (got.terminal_state, got.domain, got.sub_domain) == (expected.state, expected.domain, expected.sub_domain)
    assert got.exclude_nodes == expected.exclude
    if expected.causes:
        assert tuple((c.symptom, c.node, c.rank) for c in got.causes) == expected.causes
    texts = {item.id: item.text for item in got.evidence}
    if expected.decisive:
        assert expected.decisive.lower() in texts[got.causes[0].evidence_ids[0]].lower()
    seen = {s.symptom for s in got.symptoms if s.role is not Role.CONTEXT}
    assert expected.aside <= seen


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_explanation(sample: Path, shipped: RuleSets) -> None:
    shown = text.render(answer_of(sample, shipped), width=100)
    path = GOLDEN / f"{sample.name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown)
    assert shown == path.read_text()


def test_the_walkthrough_tells_the_whole_story(shipped: RuleSets) -> None:
    """The sample of the design: burst decoded early, echoes set aside with rule and reason, one root, an outcome."""
    got = answer_of(next(s for s in SAMPLES if s.name == "nvlink-signal-integrity"), shipped)
    (cause,) = got.causes
    assert cause.device is not None
    assert (cause.device.ids["pci"], cause.device.ids["link"]) == ("0000:1b:00", "8")
    fired = {(entry.stage, entry.decision) for entry in got.trace if entry.outcome == "fired"}
    assert ("early", "annotate") in fired
    assert {stage for stage, decision in fired if decision == "demote"} >= {"job", "final"}
    assert ("outcome", "nvlink_fabric") in fired
    echoes = [s for s in got.symptoms if s.symptom.startswith(("NCCL_", "CUDA_")) and s.role is not Role.CONTEXT]
    assert {s.node for s in echoes} == {"node-01", "node-02", "node-03"}
    assert all(s.demoted_by and s.demoted_by.rule and s.demoted_by.reason for s in echoes)
    assert len({s.symptom for s in echoes}) >= 3
    assert {u.source for u in got.untestable} >= {Source.NODE_METRICS}
