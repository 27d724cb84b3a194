"""TORCH103: the rank that torchrun saw fail first goes before the other ranks of its node."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.events.moment import Order
from attribution.events.symptom import Symptom
from attribution.rules.api import Decision, Demote, JobView, RefineStage, refiner


@refiner(
    id="TORCH103",
    name="first-failed-rank",
    since="0.1.0",
    stage=RefineStage.JOB,
    needs=("TORCHRUN_ROOT_CAUSE", "tag:app_failure"),
)
def first_failed_rank(job: JobView) -> Iterator[Decision]:
    """On a node, failures of other ranks give way to that of the rank whose process torchrun saw end first.

    Why: ranks that lose a peer raise errors of their own within the same second, which clocks cannot order.
    Misses: a rank that failed first but ended last, and failures on nodes of other launchers.
    Next step: read the log of the rank that is named; the others' errors stay listed.
    """
    named = job.all("TORCHRUN_ROOT_CAUSE")
    ranks = {rank for symptom in named for rank in symptom.ranks}
    failures = [s for s in job.all("tag:app_failure") if s.type.role is Role.CAUSE and s.ranks]
    for summary in named:
        here = [s for s in failures if _one_place(summary, s)]
        own = next((s for s in here if summary.rank in s.ranks), None)
        if own is None:
            continue
        for other in here:
            if not ranks.intersection(other.ranks) and job.order(other, own) is not Order.BEFORE:
                yield Demote(other, own, f"torchrun saw rank {summary.rank} fail first")


def _one_place(summary: Symptom, failure: Symptom) -> bool:
    """Whether both are of one node, as the host in the summary or as the log they stand in."""
    return failure.node is not None and failure.node in {summary.node, summary.first.key.node}


CASES = r"""
- name: two exceptions, of which torchrun names one
  given: |
    node-01.rank3 +0.0s PYTHON_EXCEPTION key=a
    node-01.rank1 +0.0s PYTHON_EXCEPTION key=b
    node-01.rank1 +2.0s TORCHRUN_ROOT_CAUSE
  expect: |
    demote node-01 PYTHON_EXCEPTION by node-01 PYTHON_EXCEPTION
- name: the named rank has no failure of its own
  because: its process was killed; the others' errors may be all there is
  given: |
    node-01.rank3 +0.0s PYTHON_EXCEPTION key=a
    node-01.rank1 +2.0s TORCHRUN_ROOT_CAUSE
  expect: none
- name: the other failure is provably earlier
  because: it ended later, yet it failed first
  given: |
    node-01.rank3 +0.0s PYTHON_EXCEPTION key=a
    node-01.rank1 +30.0s PYTHON_EXCEPTION key=b
    node-01.rank1 +32.0s TORCHRUN_ROOT_CAUSE
  expect: none
- name: a failure on another node
  because: a launcher sees only its own processes
  given: |
    node-02.rank9 +0.0s PYTHON_EXCEPTION key=a
    node-01.rank1 +0.0s PYTHON_EXCEPTION key=b
    node-01.rank1 +2.0s TORCHRUN_ROOT_CAUSE
  expect: none
"""
