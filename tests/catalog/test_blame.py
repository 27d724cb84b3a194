"""Whom a fault counts against: what the system says of a node of the job, and of a device of the job."""

import pytest

from attribution.contracts.vocabulary import Action
from attribution.extraction.ruleset import RuleSets

from tests.catalog.evidence import told

ECC = "[rank9]: RuntimeError: CUDA error: uncorrectable ECC error encountered"
XID_48 = "node-02 kernel: NVRM: Xid (PCI:0000:52:00): 48, pid=1, name=python, DBE (double bit error) on GPU"


def test_the_kernels_word_behind_what_the_job_told_first_counts(shipped: RuleSets) -> None:
    log = {"applog/node-02.rank9": f"05:00:00 {ECC}"}
    assert told(shipped, log).exclude_nodes == (), "only the job says so"
    assert told(shipped, {**log, "syslog/node-02": f"05:00:03 {XID_48}"}).exclude_nodes == ("node-02",)


def test_a_gpu_of_another_job_is_not_blamed(shipped: RuleSets) -> None:
    other = {"name": "node-02", "gpus": [{"index": 0, "pci": "0000:1b:00"}]}
    own = {"name": "node-02", "gpus": [{"index": 4, "pci": "0000:52:00"}]}
    log = {"syslog/node-02": f"05:00:03 {XID_48}"}
    assert told(shipped, log).causes
    assert not told(shipped, log, nodes_given=[other]).causes
    assert told(shipped, log, nodes_given=[own]).exclude_nodes == ("node-02",)


@pytest.mark.parametrize(
    "line",
    [
        "[2026-05-04T05:00:03] Killing JobId=81234 on failed node node-03",
        "Warning  NodeNotReady  pod/train-3  node/node-03 Node is not ready",
    ],
)
def test_a_lost_node_is_left_out_of_the_next_attempt(line: str, shipped: RuleSets) -> None:
    got = told(shipped, {"scheduler/controller": f"05:00:03 {line}"}, scheduler_state=None)
    assert got.exclude_nodes == ("node-03",)
    assert got.actions[0] is Action.RESTART_ELSEWHERE
    assert Action.RESTART not in got.actions


def test_no_restart_is_advised_on_a_lost_node_that_cannot_be_excluded(shipped: RuleSets) -> None:
    line = "requeue job JobId=81234 due to failure of node node-03"
    got = told(
        shipped, {"scheduler/controller": f"05:00:03 {line}"}, scheduler_state=None, started_at=None, ended_at=None
    )
    assert [cause.node for cause in got.causes] == ["node-03"] and got.exclude_nodes == ()
    assert not {Action.RESTART, Action.RESTART_ELSEWHERE} & set(got.actions)


def test_a_lost_node_that_nobody_names_is_not_guessed(shipped: RuleSets) -> None:
    line = (
        "slurmstepd: error: *** JOB 81234 ON node-01 CANCELLED AT 2026-05-04T05:00:03 DUE TO NODE FAILURE, SEE LOG ***"
    )
    for stream in ("applog/node-01", "scheduler/node-01"):
        got = told(shipped, {stream: f"05:00:03 {line}"})
        assert got.exclude_nodes == ()
        assert Action.RESTART in got.actions
