"""The words that people read for the values of the closed vocabularies, for devices, times and counts."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from attribution.contracts.diagnosis import Device
from attribution.contracts.vocabulary import Action, DeviceKind, Source, Status, SubDomain, TerminalState

STATES: Mapping[TerminalState, str] = {
    TerminalState.COMPLETED: "completed",
    TerminalState.FAILED: "failed",
    TerminalState.CANCELLED: "cancelled",
    TerminalState.TIMED_OUT: "timed out",
    TerminalState.PREEMPTED: "preempted",
    TerminalState.NODE_FAILED: "node failed",
    TerminalState.OUT_OF_MEMORY: "out of memory",
    TerminalState.LAUNCH_FAILED: "never started",
    TerminalState.RUNNING: "still running",
    TerminalState.UNKNOWN: "end unknown",
}
"""How the attempt ended, as the first words of the answer."""

SUB_DOMAINS: Mapping[SubDomain, str] = {
    SubDomain.GPU_HARDWARE: "GPU hardware",
    SubDomain.NVLINK_FABRIC: "NVLink fabric",
    SubDomain.NETWORK_FABRIC: "network",
    SubDomain.HOST_HARDWARE: "host hardware",
    SubDomain.GPU_DRIVER: "GPU driver",
    SubDomain.HOST_OS: "operating system",
    SubDomain.STORAGE: "storage",
    SubDomain.SCHEDULER: "scheduler",
    SubDomain.CONTAINER_RUNTIME: "container runtime",
    SubDomain.EXTERNAL_SERVICE: "external service",
    SubDomain.RESOURCE_LIMIT: "resource limit",
    SubDomain.FRAMEWORK: "framework",
    SubDomain.USER_CODE: "the job's code",
    SubDomain.USER_CONFIG: "the job's configuration",
    SubDomain.DATA: "data",
    SubDomain.NONE: "nothing wrong",
    SubDomain.AMBIGUOUS: "several causes fit",
    SubDomain.INSUFFICIENT_EVIDENCE: "no cause is in the evidence",
}

ACTIONS: Mapping[Action, str] = {
    Action.NONE: "nothing to do",
    Action.RESTART: "restart on the same nodes",
    Action.RESTART_ELSEWHERE: "restart without the excluded nodes",
    Action.RETRY_LATER: "try again once the service or quota has recovered",
    Action.FIX_USER_CODE: "fix the job's code before restarting",
    Action.FIX_USER_CONFIG: "fix the job's configuration before restarting",
    Action.FIX_DATA: "repair or replace the data before restarting",
    Action.RAISE_LIMIT: "ask for more of what ran out",
    Action.RESET_GPU: "reset the GPU",
    Action.DRAIN_NODE: "drain the node",
    Action.REBOOT_NODE: "reboot the node",
    Action.RESTART_FABRIC_MANAGER: "restart the Fabric Manager",
    Action.UPDATE_DRIVER: "update the GPU driver",
    Action.INSPECT_LINK: "check the link's signal path",
    Action.INSPECT_CABLE: "check the cable",
    Action.INSPECT_HARDWARE: "inspect the hardware",
    Action.REPLACE_PART: "replace the part",
    Action.RUN_DIAGNOSTICS: "run the vendor's diagnostics",
    Action.CONTACT_VENDOR: "open a case with the vendor",
    Action.COLLECT_MORE: "collect the missing evidence",
}
"""What to do, said to the reader."""

SOURCES: Mapping[Source, str] = {
    Source.APPLOG: "application log",
    Source.SYSLOG: "system log",
    Source.SCHEDULER: "scheduler record",
    Source.NODE_METRICS: "node metrics",
    Source.NETWORK_METRICS: "network metrics",
    Source.FABRIC_MANAGER: "Fabric Manager log",
    Source.BMC: "BMC event log",
    Source.FLIGHT_RECORDER: "NCCL flight recorder",
}

STATUSES: Mapping[Status, str] = {
    Status.OK: "ok",
    Status.EMPTY: "empty",
    Status.PARTIAL: "partial",
    Status.ERROR: "error",
    Status.SKIPPED: "skipped",
}

DEVICES: Mapping[DeviceKind, str] = {
    DeviceKind.GPU: "GPU",
    DeviceKind.NVLINK: "GPU",
    DeviceKind.NVSWITCH: "NVSwitch",
    DeviceKind.NIC: "NIC",
    DeviceKind.SWITCH_PORT: "switch",
    DeviceKind.DISK: "disk",
    DeviceKind.CPU: "CPU",
    DeviceKind.DIMM: "DIMM",
    DeviceKind.FILESYSTEM: "file system",
}
"""What stands before a device's own name; an NVLink is named by its GPU."""

_AS_WRITTEN = """
API BMC CPU CUDA DCGM DDP DIMM DNS ECC EDAC FSDP GPU GSP HCA HTTP IMEX JAX MCE MPI NaN NCCL NFS NIC NUMA NVLink NVML
NVSwitch OOM PCI PCIe PSU Python PyTorch RDMA RoCE S3 SIGKILL SIGSEGV SIGTERM Slurm SSH SXid TCP TLS UCX vLLM Xid
"""
_SPELLINGS = {word.lower(): word for word in _AS_WRITTEN.split()} | {"ib": "InfiniBand", "io": "I/O"}

ZONE_UNKNOWN_SECS = 12 * 3600
"""A time that may be off by as much comes from a line whose zone is not known."""

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def symptom(name: str) -> str:
    """The name of a symptom as words: `NCCL_WATCHDOG_TIMEOUT` -> `NCCL watchdog timeout`, `XID_79` -> `Xid 79`."""
    return " ".join(_SPELLINGS.get(word, word) for word in name.lower().split("_") if word) or name


def device(item: Device) -> str:
    """A device as logs call it: `GPU 0000:1b:00 · link 8`, `NIC mlx5_0 · port 1`. The PCI address is name enough."""
    ids = dict(item.ids)
    kind = DEVICES[item.kind]
    own: str | None = next((name for name in ("pci", "name", "index", "uuid") if name in ids), None)
    if own is None and item.kind is DeviceKind.NVLINK:
        kind, own = "NVLink", "link" if "link" in ids else None
    parts = [f"{kind} {ids.pop(own)}" if own else kind]
    named_by_more = {"index", "uuid", "serial"} if own == "pci" else set()
    return " · ".join(parts + [f"{name} {ids[name]}" for name in sorted(ids.keys() - named_by_more)])


def time(at: datetime, uncertainty_secs: float | None = 0.0) -> str:
    """A time in UTC, with how far it may be off where that is a second or more; None: it is only a lower bound."""
    if uncertainty_secs is None:
        return f"at or after {_stamp(at)}Z"
    if uncertainty_secs >= ZONE_UNKNOWN_SECS:
        return f"{_stamp(at, 'milliseconds' if at.microsecond else 'seconds')} (zone unknown)"
    if uncertainty_secs >= 1:
        return f"{_stamp(at, 'seconds')}Z ±{uncertainty_secs:.4g} s"
    return f"{_stamp(at)}Z"


def _stamp(at: datetime, precision: str = "milliseconds") -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", precision)


def relative(span: timedelta, uncertainty_secs: float = 0.0) -> str:
    """A signed span: `+41.2 s`, `-12 min 5 s`, `+5 h 12 min`; with how far it may be off where that is a second."""
    secs = span.total_seconds()
    sign, secs = ("-", -secs) if secs < 0 else ("+", secs)
    if secs < 600:
        if uncertainty_secs >= 1:
            return f"{sign}{secs:.0f} s ±{uncertainty_secs:.4g} s"
        return f"{sign}{secs:.1f} s"
    minutes, rest = divmod(round(secs), 60)
    if minutes < 120:
        return f"{sign}{minutes} min {rest} s"
    return f"{sign}{minutes // 60:,} h {minutes % 60} min"


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 node`, `24 ranks`, `1,024 GPUs`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def number(value: int) -> str:
    """A small number as a word: `two`; from ten on as digits."""
    return _NUMBERS[value] if 0 <= value < len(_NUMBERS) else f"{value:,}"


def decimal(value: float) -> str:
    """A number as it is measured: no `.0`, no noise of binary fractions, infinities as Prometheus writes them."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.15g}"


def listed(names: Sequence[str], shown: int = 2, joined: str = "and") -> str:
    """Names as a list: `a`, `a and b`, `a, b and 6 more`. Never `1 more`: its name is as short."""
    if len(names) > shown + 1:
        return f"{', '.join(names[:shown])} {joined} {len(names) - shown:,} more"
    return ", ".join(names[:-1]) + f" {joined} {names[-1]}" if len(names) > 1 else "".join(names)


def natural(names: Iterable[str]) -> list[str]:
    """Names in the order in which people count: node-2 before node-10."""
    return sorted(set(names), key=_counting)


@lru_cache(maxsize=1 << 14)
def _counting(name: str) -> tuple[list[tuple[int, str]], str]:
    return [_piece(part) for part in re.split(r"([0-9]+)", name)], name


def _piece(text: str) -> tuple[int, str]:
    digits = text.lstrip("0")
    return (len(digits), digits) if text.isdecimal() else (0, text)


def sentence(text: str) -> str:
    """The text with a capital at its start, if that is a plain lower-case word and not a name."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isascii() and first.isalpha() and first.islower() else text
