"""HOST104: a hardware error that the firmware recorded (APEI, CPER), by severity and section."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_SECTION = re.compile(r"section_type: (?P<section>[\w /()-]+)")
_MEMORY, _PCIE = "memory", "PCIe"


@extractor(
    id="HOST104",
    name="firmware-error",
    since="0.1.0",
    literals=("event severity: ",),
    pattern=r"\[Hardware Error\]: event severity: (?P<severity>corrected|recoverable|fatal|info)",
    emits=(
        "HARDWARE_ERROR_FATAL",
        "HARDWARE_ERROR_RECOVERABLE",
        "HARDWARE_ERROR_CORRECTED",
        "NODE_MEMORY_UNCORRECTED",
        "NODE_MEMORY_CORRECTED",
        "PCIE_FATAL",
        "PCIE_NONFATAL",
        "PCIE_CORRECTED",
    ),
    printed_by=PrintedBy("Linux kernel", ">=3.0", "drivers/firmware/efi/cper.c and drivers/acpi/apei/ghes.c"),
    sources=(Source.SYSLOG, Source.BMC),
    follow_lines=12,
)
def firmware_error(match: Match) -> Iterator[Finding]:
    """The firmware recorded a hardware error; its severity and section say how bad it is and where.

    Why: on Arm nodes, and on servers that handle errors in firmware first, this record is all the kernel prints.
    Misses: records whose section stands more than a few lines below, which then count without a part.
    Next step: fatal and recoverable memory errors: drain the node; PCIe: look at the device that the record names.
    """
    severity = match["severity"] or ""
    found = _SECTION.search("\n".join(match.follow))
    section = found["section"].strip() if found else ""
    if severity == "info":
        return
    if _MEMORY in section.lower():
        symptom = "NODE_MEMORY_CORRECTED" if severity == "corrected" else "NODE_MEMORY_UNCORRECTED"
    elif _PCIE in section:
        symptom = {"corrected": "PCIE_CORRECTED", "recoverable": "PCIE_NONFATAL"}.get(severity, "PCIE_FATAL")
    else:
        symptom = "HARDWARE_ERROR_" + severity.upper()
    yield Finding(symptom, {"severity": severity, "section": section or None})


CASES = """
- name: memory, recoverable
  given: |
    node-01 +0.0s syslog | {1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 0
    node-01 +0.0s syslog | {1}[Hardware Error]: event severity: recoverable
    node-01 +0.0s syslog | {1}[Hardware Error]:  Error 0, type: recoverable
    node-01 +0.0s syslog | {1}[Hardware Error]:   section_type: memory error
  expect: |
    node-01 +0.0s NODE_MEMORY_UNCORRECTED severity=recoverable section="memory error"
- name: PCIe, corrected
  given: |
    node-01 +0.0s syslog | {2}[Hardware Error]: event severity: corrected
    node-01 +0.0s syslog | {2}[Hardware Error]:   section_type: PCIe error
  expect: |
    node-01 +0.0s PCIE_CORRECTED section="PCIe error"
- name: fatal, part unknown
  given: |
    node-01 +0.0s syslog | {3}[Hardware Error]: event severity: fatal
  expect: |
    node-01 +0.0s HARDWARE_ERROR_FATAL severity=fatal
- name: for information
  because: nothing went wrong
  given: |
    node-01 +0.0s syslog | {4}[Hardware Error]: event severity: info
  expect: none
"""
