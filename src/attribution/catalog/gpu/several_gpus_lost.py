"""GPU001: several GPUs that leave the bus together point at what they share."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import SubDomain
from attribution.events.symptom import Symptom
from attribution.rules.api import Attribute, Decision, JobView, RefineStage, refiner

TOGETHER_US = 10_000_000
FEWEST = 3


@refiner(id="GPU001", name="several-gpus-lost", since="0.1.0", stage=RefineStage.NODE, needs=("XID_79",))
def several_gpus_lost(job: JobView) -> Iterator[Decision]:
    """Three or more GPUs of one node that fall off the bus within ten seconds are held against the host.

    Why: GPUs do not fail in company; a PCIe switch, a riser, a baseboard or its power does.
    Misses: two GPUs behind one switch, and losses that the driver noticed minutes apart.
    Next step: look at the PCIe switch and the power of the node before any GPU is replaced.
    """
    for symptoms in job.by_node("XID_79").values():
        together = _together(symptoms)
        if len(together) >= FEWEST:
            reason = f"{len(together)} GPUs of the node were lost within ten seconds"
            for symptom in together:
                yield Attribute(symptom, reason, sub_domain=SubDomain.HOST_HARDWARE)


def _together(symptoms: tuple[Symptom, ...]) -> list[Symptom]:
    """The largest group of symptoms whose times are known and lie within the span."""
    timed = [s for s in symptoms if s.first.moment is not None]
    groups = [[s for s in timed if 0 <= _us(s) - _us(first) <= TOGETHER_US] for first in timed]
    return max(groups, key=len, default=[])


def _us(symptom: Symptom) -> int:
    moment = symptom.first.moment
    return moment.us if moment else 0


CASES = """
- name: four GPUs behind one switch
  given: |
    node-01 +0.0s XID_79 gpu:pci=0000:1b:00
    node-01 +0.2s XID_79 gpu:pci=0000:1c:00
    node-01 +0.3s XID_79 gpu:pci=0000:1d:00
    node-02 +0.0s XID_79 gpu:pci=0000:1b:00
  expect: |
    attribute node-01 XID_79 sub_domain=host_hardware
    attribute node-01 XID_79 sub_domain=host_hardware
    attribute node-01 XID_79 sub_domain=host_hardware
- name: three GPUs over an hour
  because: nothing says that they share a reason
  given: |
    node-01 +0.0s XID_79 gpu:pci=0000:1b:00
    node-01 +1200.0s XID_79 gpu:pci=0000:1c:00
    node-01 +3000.0s XID_79 gpu:pci=0000:1d:00
  expect: none
"""
