"""SXID001: errors of NVSwitches, as the kernel driver and the Fabric Manager print them."""

import re
from collections.abc import Iterator

from attribution.catalog.fabric.tables import sxids
from attribution.contracts.vocabulary import Action, DeviceKind, Role, Source, SubDomain
from attribution.events.event import Device
from attribution.events.symptom import SymptomType
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_SEVERITIES = {"fatal": "fatal", "non-fatal": "non_fatal", "correctable": "non_fatal"}
_TEXT = re.compile(
    r"^(?:(?P<severity>Fatal|Non-fatal|Correctable), )?(?:Link (?P<link>\d{1,3}) )?(?P<text>.*?)(?P<first> \(First\))?$"
)
_DETAIL = ("Severity ", "Data {")
_CODES = {row["code"]: row for row in sxids()["codes"]}
_KINDS = sxids()["kinds"]


def _symptom(
    name: str, role: Role, meaning: str, ends_job: str, tags: tuple[str, ...] = (), actions: tuple[Action, ...] = ()
) -> SymptomType:
    return SymptomType(
        name=name,
        role=role,
        meaning=meaning,
        sub_domain=SubDomain.NVLINK_FABRIC if role is Role.CAUSE else None,
        actions=actions,
        tags=("sxid", *tags),
        ends_job=ends_job,
        node_scoped=role is Role.CAUSE,
        device=DeviceKind.NVSWITCH,
    )


_REPAIR = (Action.RUN_DIAGNOSTICS, Action.RESTART_FABRIC_MANAGER, Action.CONTACT_VENDOR)
SYMPTOMS = (
    _symptom("NVSWITCH_FATAL", Role.CAUSE, "a fatal NVSwitch error", "usually", ("gpu_fault", "nvlink_fault"), _REPAIR),
    _symptom(
        "NVSWITCH_LINK_FAULT",
        Role.CAUSE,
        "an NVSwitch link that went down",
        "usually",
        ("gpu_fault", "nvlink_fault"),
        (Action.INSPECT_LINK, Action.RUN_DIAGNOSTICS),
    ),
    _symptom(
        "NVSWITCH_TRAFFIC_REFUSED",
        Role.CAUSE,
        "NVLink traffic that a switch refused",
        "usually",
        ("gpu_fault",),
        (Action.COLLECT_MORE, Action.RESTART_FABRIC_MANAGER),
    ),
    _symptom(
        "NVSWITCH_OVERHEATED",
        Role.CAUSE,
        "an NVSwitch that shut down for heat",
        "usually",
        ("gpu_fault", "nvlink_fault"),
        (Action.INSPECT_HARDWARE, Action.DRAIN_NODE),
    ),
    _symptom("NVSWITCH_HOT", Role.CAUSE, "an overheated NVSwitch", "sometimes", (), (Action.INSPECT_HARDWARE,)),
    _symptom("NVSWITCH_INTERNAL", Role.CAUSE, "an internal NVSwitch error", "sometimes", (), _REPAIR),
    _symptom(
        "NVSWITCH_CABLE_FAULT", Role.CAUSE, "a faulty NVLink cable module", "sometimes", (), (Action.INSPECT_CABLE,)
    ),
    _symptom("NVSWITCH_NONFATAL", Role.EFFECT, "a non-fatal NVSwitch error", "sometimes"),
    _symptom("NVSWITCH_NOTE", Role.CONTEXT, "a corrected or passing NVSwitch event", "no"),
    _symptom("SXID_UNKNOWN", Role.EFFECT, "an NVSwitch error with a code that this catalog does not know", "sometimes"),
)


@extractor(
    id="SXID001",
    name="nvswitch-sxid",
    since="0.1.0",
    literals=("SXid (PCI:", "detected NVSwitch "),
    pattern=(
        r"(?:nvidia-(?P<switch>\w+): )?SXid \(PCI:(?P<pci>[0-9a-fA-F:.]{7,16})\): (?P<code>\d{4,5}), (?P<text>.*)$",
        r"detected NVSwitch (?P<severity>fatal|non-fatal) error (?P<code>\d{4,5})(?: on fid \d+)? on NVSwitch pci bus id "
        r"(?P<pci>[0-9a-fA-F:.]{7,16})(?: physical id (?P<switch>\d+))?(?: port (?P<port>\d+))?",
    ),
    emits=tuple(symptom.name for symptom in SYMPTOMS),
    printed_by=PrintedBy(
        "NVIDIA NVSwitch driver, Fabric Manager",
        ">=418",
        "src/common/nvswitch/kernel of open-gpu-kernel-modules; FM log",
    ),
    sources=(Source.SYSLOG, Source.FABRIC_MANAGER),
)
def nvswitch_sxid(match: Match) -> Iterator[Finding]:
    """An NVSwitch reported an error; its code and severity say what kind it is.

    Why: a fatal error stops the GPUs on its links, some non-fatal ones hang their traffic, and the rest is wear.
    Misses: NVLink 5 switches, which report through Xids 144 to 150 and the switch's own system.
    Next step: look for a GPU that was lost just before; if there is none, restart the Fabric Manager and run diagnostics.
    """
    text = match["text"] or ""
    if text.startswith(_DETAIL):
        return
    found = _TEXT.match(text)
    said = (match["severity"] or (found["severity"] if found else None) or "").lower()
    code = int(match["code"] or 0)
    row = _CODES.get(code)
    fields = {
        "code": str(code),
        "severity": said or None,
        "link": (found["link"] if found else None) or match["port"],
        "text": (found["text"] if found and text else None),
        "first": "yes" if found and found["first"] else None,
        "name": row["name"] if row else None,
    }
    device = Device.of(DeviceKind.NVSWITCH, pci=match["pci"])
    yield Finding(_name(row, said, code), fields, device, discriminator=str(code))


def _name(row: dict[str, str] | None, said: str, code: int) -> str:
    if row is None:
        return "NVSWITCH_FATAL" if said == "fatal" else "SXID_UNKNOWN"
    severity = _SEVERITIES.get(said, said or "none")
    reads: dict[str, str] = {**_KINDS[row["kind"]], **row.get("reads", {})}  # type: ignore[dict-item]
    if said == "correctable":
        return "NVSWITCH_NOTE"
    return reads[severity]


CASES = """
- name: a link went down, with its details
  given: |
    node-01 +0.0s syslog | nvidia-nvswitch4: SXid (PCI:0000:c6:00.0): 20034, Fatal, Link 21 LTSSM Fault Up
    node-01 +0.0s syslog | nvidia-nvswitch4: SXid (PCI:0000:c6:00.0): 20034, Severity 1 Engine instance 21 Sub-engine instance 00
    node-01 +0.0s syslog | nvidia-nvswitch4: SXid (PCI:0000:c6:00.0): 20034, Data {0x20000000, 0x20000000, 0x00000000, 0x20000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000}
  expect: |
    node-01 +0.0s NVSWITCH_LINK_FAULT nvswitch:pci=0000:c6:00 code=20034 link=21 severity=fatal text="LTSSM Fault Up"
- name: traffic refused
  given: |
    node-01 +0.0s syslog | nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 09 egress non-posted PRIV error (First)
  expect: |
    node-01 +0.0s NVSWITCH_TRAFFIC_REFUSED nvswitch:pci=0000:c4:00 code=12028 link=09 first=yes
- name: the whole switch
  given: |
    node-01 +0.0s syslog | nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 22003, Fatal, Link 08 MINION HALT
  expect: |
    node-01 +0.0s NVSWITCH_FATAL code=22003 name=MINION_HALT
- name: corrected
  given: |
    node-01 +0.0s syslog | nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 11012, Non-fatal, Link 08 ingress header ECC
  expect: |
    node-01 +0.0s NVSWITCH_NOTE code=11012
- name: shut down for heat
  given: |
    node-01 +0.0s syslog | nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 10006, TSENSE OVERT Threshold reached. Shutting Down
  expect: |
    node-01 +0.0s NVSWITCH_OVERHEATED code=10006
- name: as the Fabric Manager prints it
  given: |
    node-01 +0.0s fabric_manager | detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:c5:00.0 physical id 1 port 14
  expect: |
    node-01 +0.0s NVSWITCH_LINK_FAULT nvswitch:pci=0000:c5:00 code=20034 link=14 severity=fatal
- name: a code of the future
  given: |
    node-01 +0.0s syslog | nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 39999, Non-fatal, Link 08 something new
  expect: |
    node-01 +0.0s SXID_UNKNOWN code=39999
- name: details alone
  because: they belong to a line that was cut off
  given: |
    node-01 +0.0s syslog | nvidia-nvswitch4: SXid (PCI:0000:c6:00.0): 20034, Severity 1 Engine instance 21 Sub-engine instance 00
  expect: none
"""
