"""FIN001: what seldom ends a job gives way to what usually does."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.events.symptom import ENDS_JOB
from attribution.rules.api import Decision, Demote, JobView, RefineStage, refiner


@refiner(id="FIN001", name="what-ends-jobs", since="0.1.0", stage=RefineStage.FINAL, needs=())
def what_ends_jobs(job: JobView) -> Iterator[Decision]:
    """A cause that jobs often survive is set aside where one stands that jobs seldom survive.

    Why: a node shows warnings every day; on the day a job fails, the warning is not why.
    Misses: the rare case in which the warning was the reason, and the other cause its unlinked consequence.
    Next step: nothing; the finding stays listed, with this reason.
    """
    causes = [s for s in job.symptoms if s.type.role is Role.CAUSE]
    strong = [s for s in causes if s.type.ends_job in ENDS_JOB[:2]]
    if not strong:
        return
    for symptom in causes:
        if symptom.type.ends_job not in ENDS_JOB[:2]:
            yield Demote(symptom, strong[0], f"jobs often survive it, and seldom {strong[0].type.meaning}")


CASES = """
- name: a warning beside a lost GPU
  given: |
    node-01 +0.0s NODE_MEMORY_CORRECTED
    node-02 +5.0s XID_79 gpu:pci=0000:52:00
  expect: |
    demote node-01 NODE_MEMORY_CORRECTED by node-02 XID_79
- name: the warning alone
  because: nothing stronger stands beside it
  given: |
    node-01 +0.0s NODE_MEMORY_CORRECTED
  expect: none
"""
