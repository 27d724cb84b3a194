"""CORE005: a finding about a GPU of the context also says which index and rank that is."""

from collections.abc import Iterator

from attribution.contracts.context import ExecutionContext
from attribution.events.event import Device
from attribution.events.pci import normal_pci
from attribution.rules.api import Annotate, EventDecision, EventView, FilterStage, event_filter


@event_filter(id="CORE005", name="device-ranks", since="0.1.0", stage=FilterStage.MAIN)
def device_ranks(view: EventView) -> Iterator[EventDecision]:
    """A PCI address that the context knows is given its GPU index, and its rank where one rank owns one GPU.

    Why: kernel lines speak of addresses, operators of GPU 3, training teams of rank 11.
    Misses: jobs that map ranks to GPUs in another order than by index; no rank is claimed for a node with fewer GPUs
    than ranks.
    Next step: nothing; give `gpus` and `ranks` in the context to have this.
    """
    known = _known(view.context)
    for event in view.events:
        pci = event.device.get("pci") if event.device else None
        place = known.get((event.node, pci))
        if event.device is None or place is None or event.device.get("index"):
            continue
        index, rank = place
        device = Device.of(event.device.kind, index=index, **dict(event.device.ids))
        yield Annotate(
            event, "the context lists this GPU", device=device, rank=event.rank if event.rank is not None else rank
        )


def _known(context: ExecutionContext) -> dict[tuple[str | None, str | None], tuple[int, int | None]]:
    """(node, PCI address) -> GPU index and rank."""
    found: dict[tuple[str | None, str | None], tuple[int, int | None]] = {}
    for node in context.nodes:
        gpus = sorted(node.gpus, key=lambda gpu: gpu.index)
        owners = sorted(node.ranks) if len(node.ranks) == len(gpus) else []
        for position, gpu in enumerate(gpus):
            if gpu.pci:
                found[node.name, normal_pci(gpu.pci) or gpu.pci] = (gpu.index, owners[position] if owners else None)
    return found


CASES = """
- name: a lost GPU of a known node
  context: {nodes: [{name: node-01, ranks: [8, 9], gpus: [{index: 0, pci: '0000:1b:00'}, {index: 1, pci: '0000:52:00'}]}]}
  given: |
    node-01 +0.0s XID_79 gpu:pci=0000:52:00
  expect: |
    annotate node-01.rank9 +0.0s XID_79 gpu:index=1,pci=0000:52:00
- name: a GPU that the context does not list
  because: no index is guessed
  context: {nodes: [{name: node-01, ranks: [8], gpus: [{index: 0, pci: '0000:1b:00'}]}]}
  given: |
    node-01 +0.0s XID_79 gpu:pci=0000:52:00
  expect: none
"""
