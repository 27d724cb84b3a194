"""A cause that names no rank is given the one that failed on its node, if it is one."""

import pytest

from attribution.bundle.evidence import assemble
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

XID = "2026-05-04T03:00:00Z node-02 kernel: NVRM: Xid (PCI:0000:52:00): 79, pid=1203, GPU has fallen off the bus."
LOST = "2026-05-04T03:00:0{}Z [rank{}]: RuntimeError: CUDA error: unspecified launch failure"
SUMMARY = """Root Cause (first observed failure):
[0]:
  time      : 2026-05-04_03:00:09
  host      : node-02
  rank      : 12 (local_rank: 4)
  exitcode  : 1 (pid: 20414)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================"""


@pytest.mark.parametrize(
    ("lines", "rank"),
    [
        ([LOST.format(2, 11)], 11),
        ([LOST.format(2, 11), LOST.format(3, 12)], None),
        ([LOST.format(2, 11), LOST.format(3, 12), SUMMARY], 12),
        ([SUMMARY], 12),
        (["2026-05-04T03:00:04Z step 7 loss 2.1"], None),
    ],
    ids=["one rank", "two ranks", "two, of which a launcher names one", "the launcher alone", "no rank"],
)
def test_a_fault_names_the_rank_that_failed_of_it(shipped: RuleSets, lines: list[str], rank: int | None) -> None:
    context = ExecutionContext.model_validate(
        {"workload_id": "job-7", "nodes": [{"name": "node-01"}, {"name": "node-02"}]}
    )
    told = [
        {"source": "syslog", "node": "node-02", "body": f"{XID}\n"},
        {"source": "applog", "node": "node-02", "body": "".join(f"{line}\n" for line in lines)},
    ]
    evidence, _ = assemble(context, [Observation.model_validate(one) for one in told])
    found = diagnose(evidence, shipped)
    assert [(cause.symptom, cause.rank) for cause in found.causes] == [("XID_79", rank)]


def test_a_rank_that_failed_before_is_not_of_it(shipped: RuleSets) -> None:
    context = ExecutionContext.model_validate({"workload_id": "job-7", "nodes": [{"name": "node-02"}]})
    early = "2026-05-04T02:50:00Z [rank11]: RuntimeError: CUDA error: unspecified launch failure"
    told = [
        {"source": "syslog", "node": "node-02", "body": f"{XID}\n"},
        {"source": "applog", "node": "node-02", "body": f"{early}\n{LOST.format(2, 12)}\n"},
    ]
    evidence, _ = assemble(context, [Observation.model_validate(one) for one in told])
    assert 11 not in {cause.rank for cause in diagnose(evidence, shipped).causes}
