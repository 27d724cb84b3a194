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
from attribution.contracts.vocabulary import Role, Source, SubDomain
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
    device: tuple[tuple[str, str], ...] = ()


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
    "gpu-memory-uncorrectable": Answer(
        "failed",
        "hardware",
        "gpu_hardware",
        (("XID_48", "node-01", 4),),
        ("node-01",),
        "48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error",
        frozenset({"XID_94", "GPU_ECC_UNCORRECTED", "GPU_ROWS_LOST", "CUDA_UNCORRECTABLE_ECC", "NCCL_ERROR"}),
        (("pci", "0000:9d:00"),),
    ),
    "switch-fatal": Answer(
        "failed",
        "hardware",
        "nvlink_fabric",
        (("NVSWITCH_FATAL", "node-02", None),),
        ("node-02",),
        "22003, Fatal, Link 12 MINION HALT",
        frozenset({"NVSWITCH_LINK_FAULT", "XID_74", "CUDA_NVLINK_UNCORRECTABLE"}),
        (("pci", "0000:06:00"),),
    ),
    "cable-overheated": Answer(
        "failed",
        "hardware",
        "network_fabric",
        (("NIC_CABLE_FAULT", "node-03", None),),
        ("node-03",),
        "Cable error, High Temperature",
        frozenset({"NET_LINK_DOWN", "IB_LINK_DOWNED", "NCCL_IB_RETRY_EXCEEDED", "XID_45"}),
        (("pci", "0000:5c:00"),),
    ),
    "memory-module-failed": Answer(
        "failed",
        "hardware",
        "host_hardware",
        (
            ("NODE_MEMORY_UNCORRECTED", "node-02", None),
            ("NODE_MEMORY_UNCORRECTED", "node-02", None),
            ("BMC_HARDWARE_FAULT", "node-02", None),
        ),
        ("node-02",),
        "1 UE memory read error on CPU_SrcID#1_MC#1_Chan#1_DIMM#0",
        frozenset({"NODE_MEMORY_CORRECTED"}),
    ),
    "driver-updated-under-job": Answer(
        "failed",
        "platform",
        "gpu_driver",
        (("DRIVER_API_MISMATCH", "node-03", 8),),
        ("node-03",),
        "API mismatch: the client has the version 570.133.20",
        frozenset({"CUDA_DRIVER_MISMATCH", "TORCH_RANKS_MISSING"}),
    ),
    "firmware-unresponsive": Answer(
        "failed",
        "platform",
        "gpu_driver",
        (("XID_119", "node-02", 13),),
        ("node-02",),
        "119, pid=3310, name=nvidia-smi, Timeout after 6s",
        frozenset({"HUNG_TASK", "NCCL_WATCHDOG_TIMEOUT", "GSP_HALTED"}),
        (("pci", "0000:c3:00"),),
    ),
    "mount-source-missing": Answer(
        "launch_failed",
        "platform",
        "container_runtime",
        (("CONTAINER_MOUNT_FAILED", "node-01", 0),),
        (),
        "failed to mount: /scratch/corpus",
        frozenset({"CONTAINER_LAUNCH_ABORTED"}),
    ),
    "shared-memory-small": Answer(
        "failed",
        "workload",
        "resource_limit",
        (("SHARED_MEMORY_FULL", "node-01", 2),),
        (),
        "unable to write to file </torch_1187_2871930455_9>",
        frozenset({"NCCL_WATCHDOG_TIMEOUT"}),
    ),
    "kernel-panic": Answer(
        "node_failed",
        "platform",
        "host_os",
        (("KERNEL_OOPS", "node-02", None),),
        ("node-02",),
        "BUG: kernel NULL pointer dereference",
        frozenset({"KERNEL_PANIC", "NODE_BOOTED", "SCHEDULER_NODE_FAILED", "NCCL_PEER_CLOSED"}),
    ),
    "file-server-evicts-clients": Answer(
        "failed",
        "platform",
        "storage",
        tuple(("STORAGE_CLIENT_LOST", f"node-0{n}", 8 * (n - 1)) for n in (1, 2, 3)),
        (),
        "This client was evicted by work-OST0011",
        frozenset({"STORAGE_NOT_ANSWERING", "STORAGE_MOUNT_DEAD", "HUNG_TASK"}),
    ),
    "node-lost": Answer(
        "node_failed",
        "platform",
        "scheduler",
        (("SCHEDULER_NODE_FAILED", "node-04", None),),
        (),
        "due to failure of node node-04",
        frozenset({"SLURM_NODE_DOWN"}),
    ),
    "time-limit": Answer(
        "timed_out",
        "platform",
        "scheduler",
        (("SCHEDULER_TIME_LIMIT", None, None),),
        (),
        "scheduler_state: TIMEOUT",
        frozenset({"NCCL_PEER_CLOSED", "PROCESS_EXIT_CODE"}),
    ),
    "preempted-by-queue": Answer(
        "preempted",
        "platform",
        "scheduler",
        (("SCHEDULER_PREEMPTED", None, None),),
        (),
        "scheduler_state: Evicted, reason: Preempted",
        frozenset({"TORCHRUN_TERMINATED"}),
    ),
    "image-pull-denied": Answer(
        "launch_failed",
        "platform",
        "container_runtime",
        (("IMAGE_PULL_FAILED", "node-03", None),),
        (),
        "403 Forbidden",
        frozenset({"TORCH_RANKS_MISSING"}),
    ),
    "model-hub-unreachable": Answer(
        "failed",
        "platform",
        "external_service",
        (("NAME_NOT_RESOLVED", "node-01", 0), ("NAME_NOT_RESOLVED", "node-02", 4)),
        (),
        "Temporary failure in name resolution",
        frozenset({"HUB_UNREACHABLE", "PROCESS_EXIT_CODE"}),
    ),
    "gpu-memory-exceeded": Answer(
        "failed",
        "workload",
        "resource_limit",
        (("CUDA_OUT_OF_MEMORY", "node-01", 6),),
        (),
        "CUDA out of memory. Tried to allocate 6.25 GiB",
        frozenset({"NCCL_WATCHDOG_TIMEOUT"}),
    ),
    "internal-assert": Answer(
        "failed",
        "workload",
        "framework",
        (("TORCH_INTERNAL_ERROR", "node-02", 6),),
        (),
        "INTERNAL ASSERT FAILED",
        frozenset({"NCCL_WATCHDOG_TIMEOUT"}),
    ),
    "layout-does-not-fit": Answer(
        "failed",
        "workload",
        "user_config",
        tuple(("PARALLEL_LAYOUT_INVALID", f"node-0{n}", r) for n, r in ((2, 4), (1, 0), (3, 8))),
        (),
        "world size (12) is not divisible",
    ),
    "corrupt-shard": Answer(
        "failed",
        "workload",
        "data",
        (("FILE_CORRUPT", "node-02", 7),),
        (),
        "Parquet magic bytes not found in footer",
        frozenset({"NCCL_WATCHDOG_TIMEOUT"}),
    ),
    "collective-order-differs": Answer(
        "failed",
        "workload",
        "user_code",
        (("COLLECTIVE_MISMATCH", "node-01", 0),),
        (),
        "OpType=ALLREDUCE, NumelIn=1",
        frozenset({"NCCL_WATCHDOG_TIMEOUT"}),
    ),
}


@cache
def answer_of(sample: Path, rules: RuleSets) -> Diagnosis:
    with open_bundle(sample) as evidence:
        return diagnose(evidence, rules)


def test_every_sample_has_an_answer() -> None:
    assert {sample.name for sample in SAMPLES} == set(ANSWERS)


def test_every_answer_is_shown_by_a_sample() -> None:
    assert {answer.sub_domain for answer in ANSWERS.values()} == {item.value for item in SubDomain}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_answer(sample: Path, shipped: RuleSets) -> None:
    got, expected = answer_of(sample, shipped), ANSWERS[sample.name]
    assert (got.terminal_state, got.domain, got.sub_domain) == (expected.state, expected.domain, expected.sub_domain)
    assert got.exclude_nodes == expected.exclude
    if expected.causes:
        assert tuple((c.symptom, c.node, c.rank) for c in got.causes) == expected.causes
    for name, value in expected.device:
        assert got.causes[0].device is not None
        assert got.causes[0].device.ids[name] == value
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
