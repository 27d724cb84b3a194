"""XID003: an Xid that only the driver's pointer tells of is a finding too."""

from collections.abc import Iterator

from attribution.catalog.tables import xids
from attribution.events.event import Event
from attribution.rules.api import Derive, EventDecision, EventView, FilterStage, event_filter

_NVLINK_CODES = frozenset(str(code) for code in range(144, 151))


@event_filter(
    id="XID003",
    name="named-earlier-xid",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("XID_45",),
    emits=(
        "NVLINK_LINK_DOWN",
        "NVLINK_NONFATAL",
        *(f"XID_{code}" for code in sorted(xids()) if str(code) not in _NVLINK_CODES),
    ),
)
def named_earlier_xid(view: EventView) -> Iterator[EventDecision]:
    """The driver says that it tore channels down for an earlier Xid whose own line is not in the evidence.

    Why: kernel logs rotate and excerpts are cut, and the pointer is as sure as the line it points to.
    Misses: what the earlier line said beyond its code, such as the sub-code of an NVLink event.
    Next step: get the kernel log from before the first of these lines, to read the fault itself.
    """
    seen = {(e.node, _pci(e), e.get("code")) for e in view.of("tag:xid")}
    told: set[tuple[str | None, str | None, str]] = set()
    for event in view.of("XID_45"):
        code, pci = event.get("caused_by"), _pci(event)
        if code is None or pci is None or (event.node, pci, code) in seen | told:
            continue
        symptom = _symptom(code)
        if symptom is not None:
            told.add((event.node, pci, code))
            fields = {"code": code, "inferred": "yes", "caused_by": None}
            yield Derive(symptom, (event,), f"the driver names Xid {code} as the earlier one", fields, absorbs=False)


def _pci(event: Event) -> str | None:
    return event.device.get("pci") if event.device else None


def _symptom(code: str) -> str | None:
    """What the earlier code alone proves: of an NVLink event, that a link went down, or that something passed by."""
    if code in _NVLINK_CODES:
        return "NVLINK_LINK_DOWN" if code == "149" else "NVLINK_NONFATAL"
    return f"XID_{code}" if int(code) in xids() else None


CASES = """
- name: only the clean-up of a link event is left of the log
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:dc:00): 45, pid=7181, name=python3, Ch 00000001 caused by previous Xid 149
    node-01 +0.1s syslog | NVRM: Xid (PCI:0000:dc:00): 45, pid=7181, name=python3, Ch 00000002 caused by previous Xid 149
    node-01 +0.2s syslog | NVRM: Xid (PCI:0000:ed:00): 45, pid=7182, name=python3, Ch 00000001 caused by previous Xid 145
  expect: |
    derive node-01 +0.0s NVLINK_LINK_DOWN gpu:pci=0000:dc:00 code=149 inferred=yes
    derive node-01 +0.2s NVLINK_NONFATAL gpu:pci=0000:ed:00 code=145
- name: the line itself is there
  because: it says more than the pointer
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:dc:00): 48, pid=7181, name=python3, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x18f31d80 partition 16, subpartition 3.
    node-01 +0.1s syslog | NVRM: Xid (PCI:0000:dc:00): 45, pid=7181, name=python3, Ch 00000001 caused by previous Xid 48
  expect: none
"""
