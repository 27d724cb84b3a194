"""GPU002: the driver's own advice is passed on with the cause."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.rules.api import Decision, JobView, Note, RefineStage, refiner


@refiner(id="GPU002", name="driver-advice", since="0.1.0", stage=RefineStage.POST_OUTCOME, needs=("XID_154",))
def driver_advice(job: JobView) -> Iterator[Decision]:
    """The recovery that Xid 154 asks for is a remark on the cause that stands on the same GPU.

    Why: the driver knows what its GPU needs before it can be used again; a restart before that fails.
    Misses: advice that an earlier job left standing, and advice of a GPU that carries no cause.
    Next step: do what the driver asks for before the GPU gets work again.
    """
    for advice in job.all("XID_154"):
        wanted = advice.last.get("recovery")
        pci = advice.device.get("pci") if advice.device else None
        if not wanted or wanted == "None" or pci is None:
            continue
        for symptom in job.symptoms:
            on_gpu = symptom.device is not None and symptom.device.get("pci") == pci and symptom.node == advice.node
            if symptom.type.role is Role.CAUSE and on_gpu:
                yield Note(symptom, f"the driver asks for: {wanted}")


CASES = """
- name: a lost link, and the driver's advice
  given: |
    node-02 +0.0s NVLINK_SIGNAL_INTEGRITY nvlink:link=8,pci=0000:1b:00
    node-02 +0.4s XID_154 gpu:pci=0000:1b:00 recovery="Drain and Reset"
  expect: |
    note node-02 NVLINK_SIGNAL_INTEGRITY
- name: advice for another GPU
  because: it says nothing about this cause
  given: |
    node-02 +0.0s NVLINK_SIGNAL_INTEGRITY nvlink:link=8,pci=0000:1b:00
    node-02 +0.4s XID_154 gpu:pci=0000:52:00 recovery="Drain and Reset"
  expect: none
"""
