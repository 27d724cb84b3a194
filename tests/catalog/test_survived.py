"""What the attempt survived is not what ended it: recovered faults, handled errors, noise of a run that ended well."""

import pytest

from attribution.contracts.vocabulary import SubDomain, TerminalState
from attribution.extraction.ruleset import RuleSets

from tests.catalog.evidence import told

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
    "of which 1.10 GiB is free."
)

RECOVERED = {
    "a file server": (
        "01:00:00 node-02 kernel: nfs: server 10.0.0.9 not responding, still trying",
        "01:04:00 node-02 kernel: nfs: server 10.0.0.9 OK",
        "STORAGE_NOT_ANSWERING",
    ),
    "a Lustre server": (
        "01:00:00 node-02 kernel: Lustre: fs1-OST0007-osc: Connection to fs1-OST0007 (at 10.0.0.9@o2ib) was lost; in "
        "progress operations using this service will wait for recovery to complete",
        "01:04:00 node-02 kernel: Lustre: fs1-OST0007-osc: Connection restored to fs1-OST0007 (at 10.0.0.9@o2ib)",
        "STORAGE_NOT_ANSWERING",
    ),
    "a link": (
        "01:00:00 node-02 kernel: mlx5_core 0000:a1:00.0 ens7np1: Link down",
        "01:00:09 node-02 kernel: mlx5_core 0000:a1:00.0 ens7np1: Link up",
        "NET_LINK_DOWN",
    ),
}


@pytest.mark.parametrize("kind", RECOVERED)
def test_a_fault_that_was_over_long_before_the_end_is_not_its_cause(kind: str, shipped: RuleSets) -> None:
    lost, back, symptom = RECOVERED[kind]
    late = {"applog/node-01.rank0": "06:00:00 [rank0]: RuntimeError: NCCL error: unhandled system error"}
    got = told(shipped, {"syslog/node-02": f"{lost}\n{back}", **late})
    assert symptom not in {cause.symptom for cause in got.causes}
    (aside,) = [a for a in got.alternatives if a.symptom == symptom]
    assert aside.ruled_out
    assert "over before the job failed" in aside.because

    lasting = told(shipped, {"syslog/node-02": lost, **late})
    assert symptom in {cause.symptom for cause in lasting.causes}, "without its end it stands"


@pytest.mark.parametrize("kind", RECOVERED)
def test_a_fault_in_whose_time_the_job_failed_stands(kind: str, shipped: RuleSets) -> None:
    lost, back, symptom = RECOVERED[kind]
    soon = "01:02:00 [rank0]: RuntimeError: NCCL error: unhandled system error"
    got = told(shipped, {"syslog/node-02": f"{lost}\n{back}", "applog/node-01.rank0": soon})
    assert symptom in {cause.symptom for cause in got.causes}


def test_an_error_before_hours_of_training_is_not_the_end(shipped: RuleSets) -> None:
    trace = 'Traceback (most recent call last):\n  File "/data/job/train.py", line 3, in step\nValueError: bad shard'
    log = f"01:00:00 {trace}\n01:00:05 step 10 loss 2.5\n05:00:00 step 9000 loss 1.5\n05:01:00 {OOM}"
    got = told(shipped, {"applog/node-01.rank0": log})
    assert [cause.symptom for cause in got.causes] == ["CUDA_OUT_OF_MEMORY"]
    assert "the training went on for 239 minutes" in " ".join(a.because for a in got.alternatives)


def test_a_corrected_device_error_before_hours_of_training_is_not_the_end(shipped: RuleSets) -> None:
    xid = "01:00:00 node-02 kernel: NVRM: Xid (PCI:0000:52:00): 94, pid=1, name=python, Contained ECC error"
    training = "05:00:00 step 9000 loss 1.5"
    got = told(shipped, {"syslog/node-02": xid, "applog/node-01.rank0": training})
    assert (got.sub_domain, got.exclude_nodes) == (SubDomain.INSUFFICIENT_EVIDENCE, ())
    assert told(shipped, {"syslog/node-02": xid}).exclude_nodes == ("node-02",)


def test_a_download_that_succeeded_at_the_next_attempt_is_not_the_cause(shipped: RuleSets) -> None:
    failed = "01:00:00 OSError: We couldn't connect to 'https://hub.example' to load the files"
    again = "01:00:20 download succeeded after 2 retries"
    assert told(shipped, {"applog/node-01.rank0": failed}).sub_domain is SubDomain.EXTERNAL_SERVICE
    got = told(shipped, {"applog/node-01.rank0": f"{failed}\n{again}"})
    assert got.sub_domain is SubDomain.INSUFFICIENT_EVIDENCE


@pytest.mark.parametrize(
    "end",
    [
        "[default] worker group successfully finished. Waiting 300 seconds for other agents to finish.",
        "Job 'raysubmit_aBc123' succeeded",
        "[rank0]:[W504 08:00:00.1 ProcessGroupNCCL.cpp:1538] Warning: WARNING: destroy_process_group() was not called "
        "before program exit, which can leak resources.",
    ],
)
def test_a_good_end_after_survived_errors_is_completed(end: str, shipped: RuleSets) -> None:
    log = f"01:00:00 ModuleNotFoundError: No module named 'fused_ops'\n02:00:00 {end}"
    got = told(shipped, {"applog/node-01.rank0": log}, scheduler_state=None)
    assert (got.terminal_state, got.sub_domain) == (TerminalState.COMPLETED, SubDomain.NONE)


def test_a_log_that_ends_while_the_training_goes_on_shows_nothing_wrong(shipped: RuleSets) -> None:
    log = {"applog/node-01.rank0": "01:00:00 step 10 loss 2.5\n01:00:05 saving"}
    assert told(shipped, log, scheduler_state=None, ended_at=None).sub_domain is SubDomain.NONE
    assert told(shipped, log).sub_domain is SubDomain.INSUFFICIENT_EVIDENCE, "the scheduler says that it failed"
    broken = {"applog/node-01.rank0": "01:00:00 step 10 loss 2.5\n01:00:05 step 11 loss nan"}
    assert told(shipped, broken, scheduler_state=None).sub_domain is SubDomain.INSUFFICIENT_EVIDENCE
