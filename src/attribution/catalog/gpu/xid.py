"""XID001: the Xid lines of NVIDIA's kernel driver, except those of NVLink 5 (NVL001)."""

from collections.abc import Iterator

from attribution.catalog.tables import table, xid74, xids
from attribution.contracts.vocabulary import Action, DeviceKind, Role, SubDomain
from attribution.events.event import Device
from attribution.events.symptom import ENDS_JOB, SymptomType
from attribution.extraction.decoders import nvlink5, nvlink_xid74, xid
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_LINK_CODES = frozenset({74, 136})
_ADVICE = {str(row["value"]): ",".join(row["actions"]) for row in table("xid")["recovery_actions"]}
_ENTRIES = tuple(entry for code, entry in sorted(xids().items()) if code not in nvlink5.CODES)

UNKNOWN = SymptomType(
    name="XID_UNKNOWN",
    role=Role.CONTEXT,
    meaning="an Xid with a code that this catalog does not know",
    tags=("xid",),
    ends_job="sometimes",
    device=DeviceKind.GPU,
)
"""Context, not cause: newer drivers give codes to plain records too, and nothing is known of where to look."""

CORRECTED = SymptomType(
    name="NVLINK_CORRECTED",
    role=Role.CONTEXT,
    meaning="an NVLink report (Xid 74) of nothing but corrected or harmless events",
    tags=("xid",),
    ends_job="no",
    device=DeviceKind.NVLINK,
)


def symptom_type(entry: xid.XidEntry) -> SymptomType:
    """The registry entry of one code."""
    return SymptomType(
        name=f"XID_{entry.code}",
        role=Role(entry.role),
        meaning=f"{entry.meaning} (Xid {entry.code})",
        sub_domain=SubDomain(entry.sub_domain) if entry.sub_domain else None,
        actions=tuple(Action(action) for action in entry.actions),
        tags=entry.tags,
        ends_job=entry.ends_job if entry.ends_job in ENDS_JOB else "sometimes",
        node_scoped=entry.node_scoped,
        device=DeviceKind.NVLINK if entry.code in _LINK_CODES else DeviceKind.GPU,
    )


SYMPTOMS = (*(symptom_type(entry) for entry in _ENTRIES), CORRECTED, UNKNOWN)


@extractor(
    id="XID001",
    name="nvidia-xid",
    since="0.1.0",
    literals=(xid.LITERAL,),
    pattern=xid.PATTERN,
    emits=tuple(symptom.name for symptom in SYMPTOMS),
    printed_by=PrintedBy(
        program="NVIDIA kernel driver",
        versions="all up to 595",
        source="NVIDIA/open-gpu-kernel-modules src/nvidia/src/kernel/gpu/rc/kernel_rc.c (df1c9a3d)",
    ),
)
def nvidia_xid(match: Match) -> Iterator[Finding]:
    """The driver reported an Xid on a GPU.

    Why: An Xid is the driver's own record of a fault on one GPU, and often the first trace of a failure that every
    rank then sees only as a time-out.
    Misses: Xids of a host whose kernel log was not collected, and lines that the kernel dropped under a flood. The
    process named may be a bystander: the driver prints whoever ran at that moment.
    Next step: Follow the action of the code; for 13 and 31 debug the application first, and suspect the GPU only if
    other jobs show the same on the same GPU.
    """
    line = xid.parse_groups(match.groups)
    if line is None or line.code in nvlink5.CODES:
        return
    known = line.code in xids()
    name = f"XID_{line.code}" if known else UNKNOWN.name
    fields = {**line.pieces, **_common(line)}
    if line.code == 154:
        fields["advice"] = _ADVICE.get(line.pieces.get("recovery_value", ""))
    device = Device.of(DeviceKind.GPU, pci=line.pci)
    if line.code in _LINK_CODES:
        link = line.pieces.get("link")
        device = Device.of(DeviceKind.NVLINK, pci=line.pci, link=link)
        registers = nvlink_xid74.decode(line.pieces.get("registers", ""), xid74())
        fields.pop("registers", None)
        if line.code == 74 and registers:
            fields["bits"] = ",".join(f"{bit.register}.{bit.bit}" for bit in registers.bits) or "none"
            fields["classes"] = ",".join(registers.kinds) or "none"
            name = CORRECTED.name if registers.harmless else name
    yield Finding(name, fields, device, discriminator="" if known else str(line.code))


def _common(line: xid.XidLine) -> dict[str, str | None]:
    return {
        "code": str(line.code),
        "pid": None if line.pid is None else str(line.pid),
        "process": line.process,
        "caused_by": None if line.caused_by is None else str(line.caused_by),
        "gpu_instance": line.gpu_instance,
        "compute_instance": line.compute_instance,
    }


CASES = r"""
- name: gpu lost, process unknown
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:52:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
  expect: |
    node-01 +0.0s XID_79 gpu:pci=0000:52:00 code=79
- name: oldest form, no PCI word
  given: |
    node-01 +0.0s syslog | NVRM: Xid (0000:03:00): 13, Graphics Exception: ESR 0x504648=0x100000e
  expect: |
    node-01 +0.0s XID_13 gpu:pci=0000:03:00 code=13 kind=Exception
- name: trap with its place
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:3B:00): 13, pid=41277, name=python3, Graphics SM Warp Exception on (GPC 3, TPC 2, SM 1): Out Of Range Address
  expect: |
    node-01 +0.0s XID_13 gpu:pci=0000:3b:00 code=13 pid=41277 process=python3 gpc=3 tpc=2 sm=1 exception="Out Of Range Address"
- name: memory fault
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:66:00): 31, pid=51200, name=train.3, Ch 0000000b, intr 00000000. MMU Fault: ENGINE CE2 HUBCLIENT_CE0 faulted @ 0x7f2c_40000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE
  expect: |
    node-01 +0.0s XID_31 gpu:pci=0000:66:00 code=31 pid=51200 process=train.3 engine=CE2 client=HUBCLIENT_CE0 fault=FAULT_PDE access=VIRT_WRITE address=0x7f2c40000000 channel=0xb
- name: pid without a name
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row (0x00000000001f2d40) marked for remapping, reset gpu to activate.
  expect: |
    node-01 +0.0s XID_63 gpu:pci=0000:10:1c code=63 pid=1896 address=0x1f2d40 kind="Row Remapper"
- name: pid not available
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:9b:00): 109, pid=<n/a>, name=<unknown>, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005
  expect: |
    node-01 +0.0s XID_109 gpu:pci=0000:9b:00 code=109 channel=0x8 error="CTX SWITCH TIMEOUT" info=0x58005
- name: channel removal that names the earlier Xid
  given: |
    node-02 +0.0s syslog | NVRM: Xid (PCI:0018:01:00): 45, pid=7001, name=pt_main_thread, channel 0x00000010 caused by previous Xid 149
  expect: |
    node-02 +0.0s XID_45 gpu:pci=0018:01:00 code=45 caused_by=149 channel=0x10 process=pt_main_thread
- name: the errors of one memory fault
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:52:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x2a0f31c0 partition 12, subpartition 1.
    node-01 +0.1s syslog | NVRM: Xid (PCI:0000:52:00): 94, pid='<unknown>', name=<unknown>, Contained: SM (0x1). RST: No, D-RST: No
    node-01 +0.2s syslog | NVRM: Xid (PCI:0000:52:00): 64, pid='<unknown>', name=<unknown>, Row Remapper Error: (0x000000002a0f31c0) - All reserved rows for bank are remapped
  expect: |
    node-01 +0.0s XID_48 gpu:pci=0000:52:00 code=48 memory=framebuffer address=0x2a0f31c0 partition=12 subpartition=1
    node-01 +0.1s XID_94 gpu:pci=0000:52:00 code=94 spread=Contained unit=SM reset=No drain_reset=No
    node-01 +0.2s XID_64 gpu:pci=0000:52:00 code=64 address=0x2a0f31c0 reason="All reserved rows for bank are remapped"
- name: silent system processor
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:9b:00): 119, pid=3311, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4).
  expect: |
    node-01 +0.0s XID_119 gpu:pci=0000:9b:00 code=119 waited_secs=6 gpu_index=4 function=103 function_name=GSP_RM_ALLOC
- name: advice of the driver
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:9b:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)
  expect: |
    node-01 +0.0s XID_154 gpu:pci=0000:9b:00 code=154 recovery_old=None recovery="Drain and Reset" recovery_value=4 advice=drain_node,reset_gpu
- name: NVLink registers, a fault
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 12(0x200000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)
  expect: |
    node-01 +0.0s XID_74 nvlink:link=12,pci=0003:00:00 code=74 link=12 bits=1.21 classes=signal_integrity
- name: NVLink registers, corrected errors only
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 4(0x0, 0x0, 0x0, 0x0, 0x100000, 0x0, 0x0)
  expect: |
    node-01 +0.0s NVLINK_CORRECTED nvlink:link=4,pci=0003:00:00 code=74 bits=5.20 classes=corrected_threshold
- name: multi-instance GPU
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:52:00 GPU-I:05 GPU-CI:00): 43, pid=900, name=python, Ch 00000008
  expect: |
    node-01 +0.0s XID_43 gpu:pci=0000:52:00 code=43 gpu_instance=05 compute_instance=00
- name: copied without the driver's prefix, text of another code
  given: |
    node-01 +0.0s syslog | reason XidHardwareFailure, message Xid (PCI:0000:b9:00): 71, NVLink: fatal error detected on link 6
  expect: |
    node-01 +0.0s XID_71 gpu:pci=0000:b9:00 code=71 odd_text=nvlink
- name: a code of the future
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0000:52:00): 391, something new
  expect: |
    node-01 +0.0s XID_UNKNOWN gpu:pci=0000:52:00 code=391
- name: a text about Xids
  because: it names the mechanism, no code was raised
  given: |
    node-01 +0.0s applog | see the documentation of Xid (PCI bus errors) for details
  expect: none
- name: an NVSwitch error
  because: SXids are of the switch, whose codes mean other things
  given: |
    node-01 +0.0s syslog | nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up
  expect: none
- name: an NVLink 5 event
  because: its words decide what it means; NVL001 reads them
  given: |
    node-01 +0.0s syslog | NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 03 (0x004465c6 0x00000000)
  expect: none
"""
