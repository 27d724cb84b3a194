"""HOST105: errors of the PCIe bus, by severity and by the driver of the device that reports them."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import DeviceKind, Source
from attribution.events.event import Device
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_NICS = ("mlx5_core", "mlx4_core", "bnxt_en", "ice", "i40e", "efa", "irdma", "ionic", "cxgb4", "qede", "ena")
_SEVERITY = r"(?P<severity>(?:Corrected|Correctable|Uncorrect(?:ed|able) \((?:Non-)?Fatal\)))"
_PLACE = r"(?P<driver>[A-Za-z][\w-]*) (?P<pci>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): "

_BIT = re.compile(r"^[\w-]+ (?P<pci>[0-9a-f:.]+): +\[ ?\d+\] (?P<error>\w[\w ]*?)(?: {2,}.*)?$")


@extractor(
    id="HOST105",
    name="pcie-error",
    since="0.1.0",
    literals=("PCIe Bus Error: severity=", " error received: ", " error message received from "),
    pattern=(
        _PLACE + r"(?:AER: )?PCIe Bus Error: severity=" + _SEVERITY + r", type=(?P<type>[\w ]+)",
        _PLACE + r"AER: (?P<multiple>Multiple )?" + _SEVERITY + r" error received: (?P<source>\S+)",
        _PLACE + r"AER: (?P<multiple>Multiple )?" + _SEVERITY + r" error message received from (?P<source>\S+)",
    ),
    emits=("PCIE_FATAL", "GPU_PCIE_FATAL", "NIC_PCIE_FATAL", "PCIE_NONFATAL", "PCIE_CORRECTED"),
    printed_by=PrintedBy("Linux kernel", ">=3.0", "drivers/pci/pcie/aer.c"),
    sources=(Source.SYSLOG,),
    follow_lines=4,
)
def pcie_error(match: Match) -> Iterator[Finding]:
    """A PCIe port or device reported an error on its link.

    Why: a fatal error takes the device behind the port away; corrected ones are background unless they flood.
    Misses: which device sits behind a port, and errors on platforms where the firmware keeps them.
    Next step: find the device behind the port; reseat or replace slot, riser or device if it recurs.
    """
    severity, driver, pci = match["severity"] or "", match["driver"] or "", match["pci"] or ""
    bits = [found["error"] for line in match.follow if (found := _BIT.match(line)) and found["pci"] == pci]
    fields = {
        "errors": ", ".join(bits) or None,
        "severity": severity,
        "pci": pci,
        "driver": driver,
        "type": match["type"],
        "source": match["source"],
    }
    if severity.startswith("Correct"):
        yield Finding("PCIE_CORRECTED", fields, discriminator=pci)
    elif "Non-Fatal" in severity:
        yield Finding("PCIE_NONFATAL", fields, discriminator=pci)
    elif driver == "nvidia":
        yield Finding("GPU_PCIE_FATAL", fields, Device.of(DeviceKind.GPU, pci=pci))
    elif driver in _NICS:
        yield Finding("NIC_PCIE_FATAL", fields, Device.of(DeviceKind.NIC, pci=pci))
    else:
        yield Finding("PCIE_FATAL", fields, discriminator=pci)


CASES = """
- name: fatal, at a root port
  given: |
    node-01 +0.0s syslog | pcieport 0000:80:01.1: AER: Multiple Uncorrected (Fatal) error received: 0000:80:01.1
    node-01 +0.0s syslog | pcieport 0000:80:01.1: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)
    node-01 +0.0s syslog | pcieport 0000:80:01.1:   device [1022:14ab] error status/mask=00004020/00000000
    node-01 +0.0s syslog | pcieport 0000:80:01.1:    [ 5] SDES
    node-01 +0.0s syslog | pcieport 0000:80:01.1:    [14] CmpltTO                (First)
  expect: |
    node-01 +0.0s PCIE_FATAL pci=0000:80:01.1 errors="SDES, CmpltTO"
    node-01 +0.0s PCIE_FATAL pci=0000:80:01.1 type="Transaction Layer" errors="SDES, CmpltTO"
- name: fatal, at a GPU, newer words
  given: |
    node-01 +0.0s syslog | nvidia 0000:52:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer, (Receiver ID)
  expect: |
    node-01 +0.0s GPU_PCIE_FATAL gpu:pci=0000:52:00
- name: corrected
  given: |
    node-01 +0.0s syslog | pcieport 0000:00:1c.0: AER: Correctable error message received from 0000:c1:00.0
  expect: |
    node-01 +0.0s PCIE_CORRECTED source=0000:c1:00.0
- name: not fatal
  given: |
    node-01 +0.0s syslog | mlx5_core 0000:a1:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)
  expect: |
    node-01 +0.0s PCIE_NONFATAL pci=0000:a1:00.0
- name: a service
  because: it is no bus
  given: |
    node-01 +0.0s syslog | smtp: error received: 550 mailbox unavailable; 1 error received: yes
  expect: none
"""
