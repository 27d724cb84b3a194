"""DRV101: an Xid as the Kubernetes device plug-in and GPU monitors repeat it."""

from collections.abc import Iterator

from attribution.catalog.tables import xids
from attribution.contracts.vocabulary import DeviceKind, Source
from attribution.events.event import Device
from attribution.extraction.decoders import nvlink5
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_UNCLEAR = "GPU_MARKED_UNHEALTHY"
"""For codes that applications mostly bring about: without the kernel's text nothing tells whose fault it was."""

_NAMES = {
    code: _UNCLEAR if "xid_application" in entry.tags else f"XID_{code}"
    for code, entry in xids().items()
    if code not in nvlink5.CODES
}


@extractor(
    id="DRV101",
    name="device-plugin-xid",
    since="0.1.0",
    literals=("XidCriticalError: Xid=",),
    pattern=r"XidCriticalError: Xid=(?P<code>\d{1,4}) on Device=(?P<uuid>[\w/-]+)",
    emits=tuple(sorted(set(_NAMES.values()))),
    printed_by=PrintedBy("NVIDIA k8s-device-plugin", "any", "health.go: checkHealth"),
    sources=(Source.SCHEDULER, Source.SYSLOG, Source.APPLOG),
)
def device_plugin_xid(match: Match) -> Iterator[Finding]:
    """The device plug-in saw an Xid that it counts as critical.

    Why: where the kernel log is not at hand, this line is the only trace of the Xid.
    Misses: the text of the Xid, and codes that the plug-in ignores (13, 31, 43, 45, 68).
    Next step: read the kernel log of the node for the whole line.
    """
    code = int(match["code"] or 0)
    name = _NAMES.get(code)
    if name is not None:
        yield Finding(name, {"code": str(code)}, Device.of(DeviceKind.GPU, uuid=match["uuid"]))


CASES = """
- name: critical
  given: |
    node-01 +0.0s scheduler | XidCriticalError: Xid=79 on Device=GPU-1, the device will go unhealthy.
  expect: |
    node-01 +0.0s XID_79 gpu:uuid=GPU-1 code=79
- name: a code of applications
  given: |
    node-01 +0.0s scheduler | XidCriticalError: Xid=69 on Device=GPU-1, the device will go unhealthy.
  expect: |
    node-01 +0.0s GPU_MARKED_UNHEALTHY gpu:uuid=GPU-1 code=69
- name: no code
  because: it does not say which one
  given: |
    node-01 +0.0s scheduler | XidCriticalError: Xid=unknown on Device=GPU-1
  expect: none
"""
