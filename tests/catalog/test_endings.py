"""How an attempt ended, and that an end which somebody asked for names no hardware."""

from pathlib import Path

import pytest

from attribution.bundle.reader import open_bundle
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.vocabulary import SubDomain, TerminalState
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

T, S = TerminalState, SubDomain

STEPS = "2026-05-04T03:01:00Z step 4 loss 2.31\n"
WATCHDOG = (
    "2026-05-04T{at}Z [rank{rank}]:[E504 {at} ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=1234, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
    "600012 milliseconds before timing out.\n"
)
HANG = "".join(WATCHDOG.format(at="03:06:58", rank=rank) for rank in range(4))
ENDED = "2026-05-04T03:20:00Z slurmstepd: error: *** JOB 812 ON node-01 CANCELLED AT 2026-05-04T03:20:00{} ***\n"
CANCEL, LIMIT, PREEMPTED = ENDED.format(""), ENDED.format(" DUE TO TIME LIMIT"), ENDED.format(" DUE TO PREEMPTION")
TEARDOWN = WATCHDOG.format(at="03:20:04", rank=1) + (
    "2026-05-04T03:20:05Z [rank2]: torch.distributed.DistBackendError: NCCL error, remote process exited or there was "
    "a network error\n"
)
KILLED = "2026-05-04T03:06:59Z ./run.sh: line 12: 4711 Killed                  python train.py\n"
KERNEL = "2026-05-04T{} node-01 kernel: {}\n"
GROUP_MEMORY = KERNEL.format(
    "03:06:58Z",
    "Memory cgroup out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB, "
    "shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0",
)
XID = "NVRM: Xid (PCI:0000:52:00): {}, pid=4711, name=python, Ch 00000008"


def diagnosis(rules: RuleSets, folder: Path, applog: str, syslog: str = "") -> Diagnosis:
    for name, text in (("applog", applog), ("syslog", syslog)):
        if text:
            (folder / name).mkdir()
            (folder / name / "node-01.log").write_text(text)
    with open_bundle(folder, None) as evidence:
        return diagnose(evidence, rules)


ENDINGS = {
    "killed, and nothing says by whom": (KILLED, "", T.FAILED, S.INSUFFICIENT_EVIDENCE),
    "a bare word": (STEPS + "Killed\n", "", T.FAILED, S.INSUFFICIENT_EVIDENCE),
    "killed at the memory limit": (KILLED, GROUP_MEMORY, T.OUT_OF_MEMORY, S.RESOURCE_LIMIT),
    "a hang that the site killed": (HANG + CANCEL, "", T.FAILED, S.INSUFFICIENT_EVIDENCE),
    "a hang into the time limit": (HANG + LIMIT, "", T.TIMED_OUT, S.INSUFFICIENT_EVIDENCE),
    "cancelled": (STEPS + CANCEL, "", T.CANCELLED, S.SCHEDULER),
    "cancelled, with noise after it": (STEPS + CANCEL + TEARDOWN, "", T.CANCELLED, S.SCHEDULER),
    "the time limit, with noise after it": (STEPS + LIMIT + TEARDOWN, "", T.TIMED_OUT, S.SCHEDULER),
    "preempted, with noise after it": (STEPS + PREEMPTED + TEARDOWN, "", T.PREEMPTED, S.SCHEDULER),
    "cancelled; channels stopped with it": (
        STEPS + CANCEL,
        KERNEL.format("03:20:01Z", XID.format(45)) + KERNEL.format("03:20:01Z", XID.format(43)),
        T.CANCELLED,
        S.SCHEDULER,
    ),
    "the time limit; a GPU lost after it": (
        STEPS + LIMIT,
        KERNEL.format("03:24:00Z", XID.format(79)),
        T.TIMED_OUT,
        S.SCHEDULER,
    ),
    "a person pressed Ctrl-C": (
        'Traceback (most recent call last):\n  File "/data/job/train.py", line 3, in <module>\nKeyboardInterrupt\n',
        "",
        T.CANCELLED,
        S.SCHEDULER,
    ),
}


@pytest.mark.parametrize(("applog", "syslog", "ended", "sub_domain"), ENDINGS.values(), ids=ENDINGS.keys())
def test_endings(
    shipped: RuleSets, tmp_path: Path, applog: str, syslog: str, ended: TerminalState, sub_domain: SubDomain
) -> None:
    got = diagnosis(shipped, tmp_path, applog, syslog)
    assert (got.terminal_state, got.sub_domain) == (ended, sub_domain)
    assert got.exclude_nodes == ()
    if sub_domain is S.SCHEDULER:
        assert not any(action.value.startswith(("reset", "drain", "reboot", "replace")) for action in got.actions)


def test_the_host_of_the_batch_script_is_not_in_the_headline(shipped: RuleSets, tmp_path: Path) -> None:
    got = diagnosis(shipped, tmp_path, STEPS + LIMIT)
    assert [(cause.symptom, cause.node, cause.rank) for cause in got.causes] == [("SCHEDULER_TIME_LIMIT", None, None)]
    assert got.affected_nodes == ()
