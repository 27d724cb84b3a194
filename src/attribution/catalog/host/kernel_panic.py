"""HOST101: the kernel of a node stopped, for a reason that its hardware gave or for another one."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_HARDWARE = (
    "fatal machine check",
    "fatal local machine check",
    "machine check",
    "fatal hardware error",
    "uncorrected hardware",
    "uncorrected memory",
    "memory failure",
    "timeout: not all cpus entered",
    "nmi: pci system error",
    "nmi: iock error",
    "nmi: memory parity",
    "asynchronous serror",
    "pcie aer",
)


@extractor(
    id="HOST101",
    name="kernel-panic",
    since="0.1.0",
    literals=("Kernel panic - not syncing",),
    pattern=r"(?P<end>end )?Kernel panic - not syncing: (?P<reason>.+)$",
    emits=("KERNEL_PANIC", "KERNEL_PANIC_HARDWARE"),
    printed_by=PrintedBy("Linux kernel", ">=3.0", "kernel/panic.c"),
    sources=(Source.SYSLOG, Source.BMC),
)
def kernel_panic(match: Match) -> Iterator[Finding]:
    """The kernel of a node stopped, and with it everything on the node.

    Why: the text after it is the reason; where it names a machine check or a memory error, the hardware is at fault.
    Misses: panics that reached no log: look in the panic store and on the console of the management controller.
    Next step: read the reason and the lines before it; drain the node if hardware is named.
    """
    if match["end"]:
        return
    reason = match["reason"] or ""
    hardware = reason.lower().startswith(_HARDWARE)
    yield Finding("KERNEL_PANIC_HARDWARE" if hardware else "KERNEL_PANIC", {"reason": reason.strip()})


CASES = """
- name: hung tasks
  given: |
    node-01 +0.0s syslog | Kernel panic - not syncing: hung_task: blocked tasks
  expect: |
    node-01 +0.0s KERNEL_PANIC reason="hung_task: blocked tasks"
- name: machine check, on the console
  given: |
    node-01 +0.0s bmc | [ 8811.402113] Kernel panic - not syncing: Fatal local machine check
  expect: |
    node-01 +0.0s KERNEL_PANIC_HARDWARE reason="Fatal local machine check"
- name: the last line of a panic
  because: it closes the record that the first line opened
  given: |
    node-01 +0.0s syslog | ---[ end Kernel panic - not syncing: Fatal exception in interrupt ]---
  expect: none
"""
