"""NVL001: Xids 144 to 150, the NVLink 5 events of Blackwell GPUs, named by what their words say."""

from collections.abc import Iterator

from attribution.catalog.tables import nvlink5 as nvlink5_table
from attribution.contracts.vocabulary import Action, DeviceKind, Role, SubDomain
from attribution.events.event import Device
from attribution.events.symptom import SymptomType
from attribution.extraction.decoders import nvlink5, xid
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_RESET = (Action.RESET_GPU, Action.RUN_DIAGNOSTICS, Action.CONTACT_VENDOR)
_FAULT = ("xid", "gpu_fault", "nvlink_fault")


def _cause(name: str, meaning: str, actions: tuple[Action, ...], ends_job: str = "usually") -> SymptomType:
    return SymptomType(
        name=name,
        role=Role.CAUSE,
        meaning=meaning,
        sub_domain=SubDomain.NVLINK_FABRIC,
        actions=actions,
        tags=_FAULT,
        ends_job=ends_job,
        node_scoped=True,
        device=DeviceKind.NVLINK,
    )


def _other(name: str, role: Role, meaning: str, ends_job: str, tags: tuple[str, ...] = ("xid",)) -> SymptomType:
    return SymptomType(name, role, meaning, tags=tags, ends_job=ends_job, device=DeviceKind.NVLINK)


SYMPTOMS = (
    _cause(
        "NVLINK_SIGNAL_INTEGRITY",
        "loss of NVLink signal integrity (Xid 149)",
        (Action.RESET_GPU, Action.INSPECT_LINK, Action.INSPECT_CABLE, Action.RUN_DIAGNOSTICS),
    ),
    _cause(
        "NVLINK_OPERATOR_DOWN",
        "an NVLink that software or an operator took down (Xid 149)",
        (Action.RESET_GPU, Action.COLLECT_MORE),
    ),
    _cause(
        "NVLINK_LINK_DOWN",
        "an NVLink that went down (Xid 149)",
        (Action.RESET_GPU, Action.INSPECT_LINK, Action.RUN_DIAGNOSTICS),
    ),
    _cause("NVLINK_FATAL", "a fatal fault of a GPU's NVLink logic or firmware (Xids 144 to 150)", _RESET, "yes"),
    _other(
        "NVLINK_PEER_DOWN",
        Role.EFFECT,
        "an NVLink that the device at its far end took down (Xid 149)",
        "usually",
        ("xid", "gpu_fault"),
    ),
    _other("NVLINK_NONFATAL", Role.EFFECT, "a non-fatal NVLink event (Xids 144 to 150)", "sometimes"),
    _other("NVLINK_UNDECODED", Role.EFFECT, "an NVLink event without the words that explain it", "sometimes"),
    _other("NVLINK_BIT_ERRORS", Role.CONTEXT, "a change of an NVLink's bit error rate (Xid 149)", "no"),
)


@extractor(
    id="NVL001",
    name="nvlink5-xid",
    since="0.1.0",
    literals=(xid.LITERAL,),
    pattern=xid.pattern("14[4-9]|150"),
    emits=tuple(symptom.name for symptom in SYMPTOMS),
    printed_by=PrintedBy(
        program="NVIDIA kernel driver",
        versions=">=560",
        source="NVIDIA/open-gpu-kernel-modules src/nvidia/generated/g_os_nvoc.h (df1c9a3d)",
    ),
)
def nvlink5_xid(match: Match) -> Iterator[Finding]:
    """A GPU reported an event of its NVLink 5 logic.

    Why: The bare numbers 144 to 150 cover harmless notes, victims and causes alike; the words behind them tell a bad
    link from one that the far end, or an operator, took down.
    Misses: Sub-codes without a published row, for which only the printed severity is known, and which end of a bad
    path is at fault: cable, cartridge and switch print nothing here.
    Next step: Look at the named link. If many links of many GPUs went down together, suspect a switch or an operator,
    not this GPU; if the far end is to blame, look there first.
    """
    line = xid.parse_groups(match.groups)
    if line is None or line.code not in nvlink5.CODES:
        return
    event = nvlink5.decode(line.code, line.detail, nvlink5_table())
    common = {
        "code": str(line.code),
        "pid": None if line.pid is None else str(line.pid),
        "process": line.process,
    }
    if event is None:
        yield Finding("NVLINK_UNDECODED", common, Device.of(DeviceKind.NVLINK, pci=line.pci))
        return
    device = Device.of(DeviceKind.NVLINK, pci=line.pci, link=event.link)
    yield Finding(symptom_of(event), {**common, **_fields(event)}, device)


def symptom_of(event: nvlink5.NvlinkEvent) -> str:
    """The symptom that an event stands for. The printed severity decides; names of unpublished sub-codes do not."""
    if event.unit == nvlink5.BIT_ERROR_UNIT and not event.fatal:
        return "NVLINK_BIT_ERRORS"
    if not event.fatal:
        return "NVLINK_NONFATAL"
    if event.unit in nvlink5.LINK_UNITS or event.unit in {"NETIR", "NETIR_INT"}:
        if event.group == "peer":  # published or not: blames no one, so may rest on an inferred name
            return "NVLINK_PEER_DOWN"
        if event.published and event.group == "signal_integrity":
            return "NVLINK_SIGNAL_INTEGRITY"
        if event.published and event.group == "operator":
            return "NVLINK_OPERATOR_DOWN"
        return "NVLINK_LINK_DOWN"
    return "NVLINK_FATAL"


def _fields(event: nvlink5.NvlinkEvent) -> dict[str, str | None]:
    return {
        "unit": event.unit,
        "severity": "fatal" if event.fatal else "nonfatal",
        "cross_contain": "yes" if event.cross_contain else None,
        "injected": "yes" if event.injected else None,
        "link": None if event.link is None else str(event.link),
        "layout": event.layout,
        "sub_code": str(event.sub_code) if event.sub_code is not None and event.unit in nvlink5.LINK_UNITS else None,
        "error_status": None if event.error_status is None else f"0x{event.error_status:x}",
        "reason": event.reason,
        "blame": event.blame,
        "immediate": event.immediate,
        "investigatory": event.investigatory,
        "effect": event.effect,
        "published": None if event.published else "no",
    }


CASES = r"""
- name: poor signal, first layout
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 05 (0x0044a5c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)
  expect: |
    node-02 +0.0s NVLINK_SIGNAL_INTEGRITY nvlink:link=5,pci=0008:01:00 code=149 sub_code=4 layout=v1 reason="loss of alignment" immediate=RESET_GPU investigatory=INVESTIGATE_LINK_SI
- name: poor signal, second layout
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0000:1b:00): 149, pid='<unknown>', name=<unknown>, NETIR_LINK_DOWN Fatal XC0 i0 Link 11 (0x00a00091 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)
  expect: |
    node-02 +0.0s NVLINK_SIGNAL_INTEGRITY nvlink:link=11,pci=0000:1b:00 code=149 sub_code=10 layout=v2
- name: taken down by the far end
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 02 (0x021445c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)
  expect: |
    node-02 +0.0s NVLINK_PEER_DOWN nvlink:link=2,pci=0009:01:00 sub_code=33 investigatory=INVESTIGATE_PEER_DEVICE
- name: taken down by a command, injected
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT Fatal XC0 i1 Link 00 (0x016415c6 0x00000000)
  expect: |
    node-02 +0.0s NVLINK_OPERATOR_DOWN nvlink:link=0,pci=0000:1b:00 sub_code=22 injected=yes
- name: a sub-code without a published row
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 07 (0x0b04e5c6 0x00000000)
  expect: |
    node-02 +0.0s NVLINK_LINK_DOWN nvlink:link=7,pci=0000:1b:00 sub_code=48 published=no
- name: no one link
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000)
  expect: |
    node-02 +0.0s NVLINK_LINK_DOWN nvlink:pci=0019:01:00 code=149 investigatory=SYMPATHETIC_REPORT_SOLO
- name: a non-fatal event with a process, and bit errors
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0018:01:00): 145, pid=5120, name=ray::Worker, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001)
    node-02 +1.0s syslog | NVRM: Xid (PCI:0018:01:00): 149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 06 (0x0008c226 0x00000003 0x00000000)
  expect: |
    node-02 +0.0s NVLINK_NONFATAL nvlink:link=13,pci=0018:01:00 code=145 process=ray::Worker effect=none
    node-02 +1.0s NVLINK_BIT_ERRORS nvlink:link=6,pci=0018:01:00 code=149 reason=alarm
- name: a fatal fault of the logic
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0018:01:00): 144, SAW_MVB Fatal XC0 i0 Link 02 (0x00044421 0x00000002)
  expect: |
    node-02 +0.0s NVLINK_FATAL nvlink:link=2,pci=0018:01:00 code=144 effect=uncorrectable immediate=RESET_GPU
- name: the words are cut off
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0018:01:00): 149, pid=<n/a>
  expect: |
    node-02 +0.0s NVLINK_UNDECODED nvlink:pci=0018:01:00 code=149
- name: an Xid of another family
  because: 79 is no NVLink 5 event
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0000:52:00): 79, GPU has fallen off the bus.
  expect: none
- name: an Xid with a longer number
  because: 1490 is not 149
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0000:52:00): 1490, text
  expect: none
"""
