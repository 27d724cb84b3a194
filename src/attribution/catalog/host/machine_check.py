"""HOST103: a machine check, whose status word says whether the error was corrected."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import DeviceKind, Source
from attribution.events.event import Device
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_UNCORRECTED, _CORRUPT, _ACTION = 1 << 61, 1 << 57, 1 << 55
"""Bits of the status word: UC, PCC and AR."""


@extractor(
    id="HOST103",
    name="machine-check",
    since="0.1.0",
    literals=("Machine Check",),
    pattern=r"CPU (?P<cpu>\d+): Machine Check(?P<exception> Exception)?(?: Event)?: (?P<mcg>[0-9a-f]+) Bank (?P<bank>\d+): (?P<status>[0-9a-f]{16})",
    emits=("MACHINE_CHECK", "MACHINE_CHECK_CORRECTED", "HARDWARE_ERROR_RECOVERABLE"),
    printed_by=PrintedBy("Linux kernel", ">=3.0", "arch/x86/kernel/cpu/mce/core.c: print_mce; drivers/edac"),
    sources=(Source.SYSLOG, Source.BMC),
)
def machine_check(match: Match) -> Iterator[Finding]:
    """A processor reported an error of itself, its caches, its memory or its buses.

    Why: the status word tells whether data was lost; corrected errors are wear, the others end processes or nodes.
    Misses: Arm nodes, which report the same through the firmware.
    Next step: decode the bank with the vendor's tool; drain the node if the error was not corrected.
    """
    status = int(match["status"] or "0", 16)
    if not status & _UNCORRECTED:
        symptom = "MACHINE_CHECK_CORRECTED"
    elif match["exception"] or status & (_CORRUPT | _ACTION):
        symptom = "MACHINE_CHECK"
    else:
        symptom = "HARDWARE_ERROR_RECOVERABLE"
    fields = {"bank": match["bank"], "status": match["status"]}
    device = Device.of(DeviceKind.CPU, cpu=match["cpu"]) if symptom != "HARDWARE_ERROR_RECOVERABLE" else None
    yield Finding(symptom, fields, device)


CASES = """
- name: uncorrected, context corrupt
  given: |
    node-01 +0.0s syslog | mce: [Hardware Error]: CPU 40: Machine Check: 0 Bank 6: fe00000000800400
  expect: |
    node-01 +0.0s MACHINE_CHECK cpu:cpu=40 bank=6
- name: corrected
  given: |
    node-01 +0.0s syslog | EDAC skx MC3: CPU 9: Machine Check Event: 0 Bank 13: 8c000042000800c1
  expect: |
    node-01 +0.0s MACHINE_CHECK_CORRECTED cpu:cpu=9 bank=13
- name: uncorrected, no action needed yet
  given: |
    node-01 +0.0s syslog | mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 7: ac00000000010090
  expect: |
    node-01 +0.0s HARDWARE_ERROR_RECOVERABLE bank=7
- name: only a notice
  because: its severity stands elsewhere
  given: |
    node-01 +0.0s syslog | mce: [Hardware Error]: Machine check events logged; see Machine Check log
  expect: none
"""
