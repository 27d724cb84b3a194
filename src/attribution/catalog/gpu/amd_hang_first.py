"""AMD101: an AMD GPU that hung first explains that its firmware and its reset failed afterwards."""

from collections.abc import Iterator

from attribution.events.moment import Order
from attribution.events.symptom import Symptom
from attribution.rules.api import Decision, Demote, JobView, RefineStage, refiner


@refiner(id="AMD101", name="amd-hang-first", since="0.1.0", stage=RefineStage.FINAL, needs=("AMD_GPU_HUNG",))
def amd_hang_first(job: JobView) -> Iterator[Decision]:
    """Silent firmware and a failed reset are set aside where work on a GPU of the same node hung provably before.

    Why: a hung GPU answers neither its firmware nor a reset, and a kernel of the job may have brought the hang about.
    Misses: firmware that made the work hang without a word of its own.
    Next step: find out what hung; run the job once more on another node.
    """
    for symptom in (*job.all("AMD_FIRMWARE_SILENT"), *job.all("AMD_GPU_NOT_RECOVERED")):
        hung = next((h for h in job.all("AMD_GPU_HUNG") if _led_to(job, h, symptom)), None)
        if hung is not None:
            yield Demote(symptom, hung, "work on a GPU of the node hung before, whoever brought that about")


def _led_to(job: JobView, hung: Symptom, symptom: Symptom) -> bool:
    return hung.node == symptom.node and job.order(hung, symptom) is Order.BEFORE


CASES = """
- name: a ring, then the firmware and the reset
  given: |
    node-01 +0.0s AMD_GPU_HUNG gpu:pci=0000:c1:00
    node-01 +3.0s AMD_FIRMWARE_SILENT gpu:pci=0000:c1:00
    node-01 +9.0s AMD_GPU_NOT_RECOVERED
  expect: |
    demote node-01 AMD_FIRMWARE_SILENT by node-01 AMD_GPU_HUNG
    demote node-01 AMD_GPU_NOT_RECOVERED by node-01 AMD_GPU_HUNG
- name: the firmware came first
  because: what comes later explains nothing
  given: |
    node-01 +0.0s AMD_FIRMWARE_SILENT gpu:pci=0000:c1:00
    node-01 +3.0s AMD_GPU_HUNG gpu:pci=0000:c1:00
  expect: none
"""
