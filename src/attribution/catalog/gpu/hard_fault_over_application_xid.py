"""FIN003: an Xid that applications bring about gives way to a fault that only a GPU can have."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.rules.api import Decision, Demote, JobView, RefineStage, refiner


@refiner(
    id="FIN003",
    name="hard-fault-over-application-xid",
    since="0.1.0",
    stage=RefineStage.FINAL,
    needs=("tag:gpu_hard_fault", "tag:xid_application"),
)
def hard_fault_over_application_xid(job: JobView) -> Iterator[Decision]:
    """An application's Xid is set aside where a GPU of the same node has a fault of its own, in whatever order.

    Why: a failing GPU makes programs fault before it is seen to fail, and the process that an application Xid names may
    belong to anyone; the GPU's own fault is sure.
    Misses: a program that is wrong and a GPU that is broken, at the same time on one node.
    Next step: deal with the GPU first; if the application's Xid comes back on a healthy one, debug the program.
    """
    faults = [s for s in job.all("tag:gpu_hard_fault") if s.type.role is Role.CAUSE]
    for symptom in job.all("tag:xid_application"):
        fault = next((f for f in faults if f.node == symptom.node), None)
        if fault is not None and symptom.type.role is Role.CAUSE:
            yield Demote(
                symptom, fault, f"a program or a failing GPU brings it about, and {fault.type.meaning} is sure"
            )


CASES = """
- name: an illegal access, then a halted microcontroller
  given: |
    node-01 +0.0s XID_31 gpu:pci=0000:0a:00
    node-01 +42.0s XID_62 gpu:pci=0000:0a:00
  expect: |
    demote node-01 XID_31 by node-01 XID_62
- name: a fault on another node
  because: it says nothing about this node's GPUs
  given: |
    node-01 +0.0s XID_31 gpu:pci=0000:0a:00
    node-02 +42.0s XID_62 gpu:pci=0000:0a:00
  expect: none
"""
