"""CORE009: a fault of a GPU that the job does not have is not the job's."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import DeviceKind
from attribution.events.pci import normal_pci
from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_OF_GPUS = frozenset({DeviceKind.GPU, DeviceKind.NVLINK})


@event_filter(id="CORE009", name="other-gpu", since="0.1.0", stage=FilterStage.EARLY)
def other_gpu(view: EventView) -> Iterator[EventDecision]:
    """Where the context lists the GPUs that the job has on a node by address, findings of another GPU only inform.

    Why: jobs share nodes; a kernel log tells of the GPUs of all of them.
    Misses: contexts that list no addresses, and a GPU whose fault took the whole node with it.
    Next step: if the list of GPUs is not whole, correct the context and diagnose again.
    """
    listed = {
        node.name: {normal_pci(gpu.pci) or gpu.pci for gpu in node.gpus if gpu.pci}
        for node in view.context.nodes
        if node.gpus and all(gpu.pci for gpu in node.gpus)
    }
    for event in view.events:
        own = listed.get(event.node or "")
        pci = event.device.get("pci") if event.device and event.device.kind in _OF_GPUS else None
        if own and pci and pci not in own:
            yield SetContext(event, "a GPU that is not of this job")


CASES = """
- name: a lost GPU of another job
  context: {nodes: [{name: node-01, gpus: [{index: 0, pci: '0000:1b:00'}, {index: 1, pci: '0000:52:00'}]}]}
  given: |
    node-01 +0.0s XID_79 gpu:pci=0000:e1:00
    node-01 +0.0s XID_31 gpu:pci=0000:52:00
  expect: |
    context node-01 +0.0s XID_79
- name: a node whose GPUs are not listed
  because: nothing says whose GPU it is
  context: {nodes: [{name: node-01, gpus: [{index: 0}]}, {name: node-02, gpus: [{index: 0, pci: '0000:1b:00'}]}]}
  given: |
    node-01 +0.0s XID_79 gpu:pci=0000:e1:00
  expect: none
"""
