"""HOST106: a fatal PCIe error of a port is of the GPU whose address it names, or that is gone right after."""

from collections.abc import Iterator, Sequence

from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import DeviceKind
from attribution.events.event import Device, Event, event_order
from attribution.events.moment import SECOND, Order
from attribution.events.pci import normal_pci
from attribution.rules.api import Annotate, EventDecision, EventView, FilterStage, event_filter

_SOON_US = 60 * SECOND
_LOST = ("XID_79", "XID_154", "GPU_UNREACHABLE", "GPU_PCIE_FATAL")


@event_filter(
    id="HOST106",
    name="lost-gpu",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("tag:pcie_fault",),
)
def lost_gpu(view: EventView) -> Iterator[EventDecision]:
    """A port that reports a fatal error of a GPU's address, or cuts its device off as one GPU is lost, names that GPU.

    Why: who opens the machine must know which GPU it is, and the port's own address is that of a bridge.
    Misses: GPUs that neither the context lists nor another line names, and ports of which several GPUs are lost.
    Next step: look at slot, riser and power of this GPU.
    """
    known = _listed(view.context)
    gpus = [event for event in view.events if event.device and event.device.kind is DeviceKind.GPU]
    known |= {(event.node, pci) for event in gpus if event.device and (pci := event.device.get("pci"))}
    lost = [event for event in gpus if event.symptom in _LOST]
    for event in view.of("PCIE_FATAL", "PCIE_DEVICE_LOST", "PCIE_NONFATAL"):
        source = normal_pci(event.get("source") or "")
        if source and (event.node, source) in known:
            yield Annotate(event, "it names the address of this GPU", device=Device.of(DeviceKind.GPU, pci=source))
        elif _of_port(event) and (gpu := _lost_then(event, lost)):
            yield Annotate(event, "this GPU was lost right after", device=Device.of(DeviceKind.GPU, pci=gpu))


def _of_port(event: Event) -> bool:
    """Whether it is told of a port, and of no device behind it."""
    source = event.get("source") or ""
    is_own = not normal_pci(source) or source == event.get("pci")
    return event.symptom == "PCIE_DEVICE_LOST" or (event.symptom == "PCIE_FATAL" and is_own)


def _listed(context: ExecutionContext) -> set[tuple[str | None, str]]:
    return {(node.name, normal_pci(gpu.pci) or gpu.pci) for node in context.nodes for gpu in node.gpus if gpu.pci}


def _lost_then(port: Event, lost: Sequence[Event]) -> str | None:
    """The address of the one GPU that its node lost within a minute."""
    named = {e.device.get("pci") for e in lost if e.device and e.node == port.node and _soon(port, e)}
    return named.pop() if len(named) == 1 else None


def _soon(port: Event, gpu: Event) -> bool:
    a, b = port.moment, gpu.moment
    near = a is not None and b is not None and a.basis is b.basis and abs(b.us - a.us) <= _SOON_US
    return near and event_order(port, gpu) is not Order.AFTER


CASES = """
- name: a root port names a GPU of the context
  context: {nodes: [{name: node-01, gpus: [{index: 3, pci: '0000:52:00'}]}]}
  given: |
    node-01 +0.0s syslog | pcieport 0000:50:01.0: AER: Uncorrected (Fatal) error received: 0000:52:00.0
  expect: |
    annotate node-01 +0.0s PCIE_FATAL gpu:pci=0000:52:00
- name: a port that cuts off a GPU
  given: |
    node-01 +0.0s syslog | pcieport 0000:50:01.0: DPC: containment event, status:0x1f01 source:0x0000
    node-01 +0.5s XID_79 gpu:pci=0000:52:00
  expect: |
    annotate node-01 +0.0s PCIE_DEVICE_LOST gpu:pci=0000:52:00
- name: a root port that reports itself
  given: |
    node-01 +0.0s syslog | pcieport 0000:00:02.0: AER: Uncorrected (Fatal) error received: id=0010
    node-01 +0.5s XID_79 gpu:pci=0000:52:00
  expect: |
    annotate node-01 +0.0s PCIE_FATAL gpu:pci=0000:52:00
- name: an address that is no GPU's
  because: it may be an adapter or a disk
  context: {nodes: [{name: node-01, gpus: [{index: 3, pci: '0000:52:00'}]}]}
  given: |
    node-01 +0.0s syslog | pcieport 0000:50:01.0: AER: Uncorrected (Fatal) error received: 0000:53:00.0
  expect: none
- name: two GPUs are lost
  because: the port has one device, and nothing says which
  given: |
    node-01 +0.0s syslog | pcieport 0000:50:01.0: DPC: containment event, status:0x1f01 source:0x0000
    node-01 +0.5s XID_79 gpu:pci=0000:52:00
    node-01 +0.6s XID_79 gpu:pci=0000:53:00
  expect: none
"""
