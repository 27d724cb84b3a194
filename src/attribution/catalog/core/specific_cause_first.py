"""FIN002: an exception that only its class names gives way to a cause that a rule knows."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.events.moment import Order
from attribution.events.symptom import ENDS_JOB, Symptom
from attribution.rules.api import Decision, Demote, JobView, RefineStage, refiner


@refiner(id="FIN002", name="specific-cause-first", since="0.1.0", stage=RefineStage.FINAL, needs=("PYTHON_EXCEPTION",))
def specific_cause_first(job: JobView) -> Iterator[Decision]:
    """An unnamed exception is set aside where a known cause came before it, or stands on its node and came no later.

    Why: when one rank hits a full disk or a lost GPU, others raise whatever their code makes of it.
    Misses: an unrelated bug in the job's own code at the same time as a known cause.
    Next step: nothing; the exception stays listed, with this reason.
    """
    known = [
        s
        for s in job.symptoms
        if s.type.role is Role.CAUSE and s.name != "PYTHON_EXCEPTION" and s.type.ends_job in ENDS_JOB[:2]
    ]
    for symptom in job.all("PYTHON_EXCEPTION"):
        cause = next((other for other in known if _led_to(job, other, symptom)), None)
        if cause is not None:
            yield Demote(symptom, cause, f"{cause.type.meaning} came no later and says more")


def _led_to(job: JobView, cause: Symptom, exception: Symptom) -> bool:
    """Whether the cause came provably before, or on the same node and not provably after."""
    order = job.order(cause, exception)
    return order is Order.BEFORE or (order is Order.UNKNOWN and cause.node == exception.node)


CASES = """
- name: a lost GPU and an exception on another rank
  given: |
    node-02 +0.0s XID_79 gpu:pci=0000:52:00
    node-01 +3.0s PYTHON_EXCEPTION
  expect: |
    demote node-01 PYTHON_EXCEPTION by node-02 XID_79
- name: two nodes within what their clocks may differ
  because: neither explains the other, so both must be named
  given: |
    node-02 +0.0s XID_79 gpu:pci=0000:52:00
    node-01 +1.0s PYTHON_EXCEPTION
  expect: none
- name: the exception came first
  because: what came provably before is no consequence
  given: |
    node-01 +0.0s PYTHON_EXCEPTION
    node-02 +30.0s XID_79 gpu:pci=0000:52:00
  expect: none
"""
