"""Reads one Xid line of NVIDIA's kernel driver, in the forms of all driver periods.

    NVRM: Xid (PCI:<dom>:<bus>:<dev>[ GPU-I:<n>[ GPU-CI:<n>]]): <code>, [pid=<pid>, [name=<comm>, ]]<text>

Shape: NVIDIA/open-gpu-kernel-modules src/nvidia/src/kernel/gpu/rc/kernel_rc.c (595.45.04); older forms from logs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attribution.events.pci import normal_pci


def pattern(code: str = "[0-9]{1,4}") -> str:
    """The line, for RE2 and `re` alike, with the pattern that its code must match.

    An NVSwitch's `SXid (PCI:…)` is not one: a letter stands before `Xid`.
    """
    return (
        r"(?:^|[^A-Za-z])Xid \((?:PCI:)?(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f])?)"
        r"(?: GPU-I:(?P<gpu_instance>[0-9A-Fa-f]{1,4}))?(?: GPU-CI:(?P<compute_instance>[0-9A-Fa-f]{1,4}))?\): "
        rf"(?P<code>{code})(?:$|[^0-9](?P<rest>.*))"
    )


PATTERN = pattern()

LITERAL = "Xid ("
"""Every line that a `pattern` matches contains it."""

MAX_DETAIL = 400
"""Characters of the message's own text that are kept."""

_LINE = re.compile(PATTERN)
_PROCESS = re.compile(r"^pid=(?P<pid>'?<[^>,]{0,20}>'?|[0-9]{1,10}), ?(?:name=(?P<name>[^,]{0,64}), ?)?")
_PREVIOUS = re.compile(r" ?caused by previous Xid (?P<code>[0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class XidLine:
    """One Xid. `pid` and `process` may name whoever ran at that moment, not the owner; None where none is printed.

    `detail` is the message's own text, `caused_by` the earlier Xid that the driver itself names (only on 45),
    `pieces` what the text of this code says.
    """

    code: int
    pci: str
    gpu_instance: str | None
    compute_instance: str | None
    pid: int | None
    process: str | None
    detail: str
    caused_by: int | None
    pieces: Mapping[str, str]


def parse(text: str) -> XidLine | None:
    """The Xid that a line holds, or None if it holds none. Raises nothing."""
    match = _LINE.search(text)
    return parse_groups(match.groupdict()) if match else None


def parse_groups(groups: Mapping[str, str | None]) -> XidLine | None:
    """The Xid of the named groups of PATTERN."""
    code, pci = groups.get("code"), normal_pci(groups.get("pci") or "")
    if not code or not pci:
        return None
    pid, process, body = _process(groups.get("rest") or "")
    previous = _PREVIOUS.search(body)
    if previous:
        body = body[: previous.start()]
    detail = body.partition('"')[0][:MAX_DETAIL].rstrip("\\ ")  # copies inside JSON end at the quote
    number = int(code)
    return XidLine(
        code=number,
        pci=pci,
        gpu_instance=groups.get("gpu_instance"),
        compute_instance=groups.get("compute_instance"),
        pid=pid,
        process=process,
        detail=detail,
        caused_by=int(previous["code"]) if previous else None,
        pieces=pieces(number, detail),
    )


def _process(rest: str) -> tuple[int | None, str | None, str]:
    rest = rest.lstrip(" ,:")
    match = _PROCESS.match(rest)
    if not match:
        return None, None, rest
    pid, name = match["pid"], match["name"]
    known = name is not None and name.strip() not in {"", "<unknown>", "'<unknown>'", "<n/a>"}
    return int(pid) if pid.isdigit() else None, name.strip() if name and known else None, rest[match.end() :]


# --- what the text of one code says -------------------------------------------------------------------------------

_ANY = r"[^)]{0,60}"
_CHANNEL = re.compile(r"(?:Channel ID|Channel|channel|Ch) (?P<channel>(?:0x)?[0-9A-Fa-f]{1,16})")
_TRAP = re.compile(
    r"Graphics (?:SM )?(?P<kind>Warp Exception|Global Exception|Exception)"
    r"(?: on \(GPC (?P<gpc>[0-9]+), TPC (?P<tpc>[0-9]+)(?:, SM (?P<sm>[0-9]+))?\))?(?:: (?P<exception>.{1,80}))?"
)
_MMU = (
    re.compile(r"(?:ENGINE|engine) (?P<engine>[A-Z0-9_]{1,32})"),
    re.compile(r"(?P<client>(?:HUB|GPC)CLIENT_[A-Z0-9_]{1,32})"),
    re.compile(r"faulted @ (?P<address>0x[0-9A-Fa-f_]{1,24})"),
    re.compile(r"(?P<fault>FAULT_[A-Z_]{1,32})"),
    re.compile(r"ACCESS_TYPE_(?P<access>[A-Z_]{1,32})"),
)
_ECC = (
    re.compile(r"in (?:the )?(?P<memory>[Ff]ramebuffer|SRAM|[A-Z][A-Za-z0-9]{1,15})"),
    re.compile(r"physAddr (?P<address>0x[0-9A-Fa-f]{1,16})"),
    re.compile(r"[^b]partition (?P<partition>[0-9]{1,4})"),
    re.compile(r"subpartition (?P<subpartition>[0-9]{1,4})"),
)
_ROW = (
    re.compile(r"(?P<address>0x[0-9A-Fa-f]{1,16})"),
    re.compile(r"(?P<kind>Row Remapper|DRAM Retirement|Dynamic Page Retirement|Bank Remapper)"),
    re.compile(r"(?:Row Remapper Error: \([^)]{1,40}\) - |failed due to )(?P<reason>[^,.]{1,80})"),
)
_LINK = (
    re.compile(r"on link (?P<link>[0-9]{1,3})"),
    re.compile(r"(?:for|train) link (?P<link>[0-9]{1,3})"),
    re.compile(r"remote (?:device )?PCI:(?P<remote>[0-9A-Fa-f:.]{7,16})"),
    re.compile(r"\((?P<registers>0x[0-9A-Fa-f]{1,8}(?:, ?0x[0-9A-Fa-f]{1,8}){1,9})\)"),
)
_CONTAINED = re.compile(
    rf"(?P<spread>Contained|Uncontained): (?P<unit>[A-Za-z0-9 ]{{1,32}}?) ?\({_ANY}\)"
    r"(?:\. RST: (?P<reset>Yes|No), D-RST: (?P<drain_reset>Yes|No))?"
)
_CTXSW = (re.compile(r"errorString (?P<error>[A-Z][A-Z ]{1,40})"), re.compile(r"Info (?P<info>0x[0-9A-Fa-f]{1,16})"))
_GSP = (
    re.compile(r"after (?P<waited_secs>[0-9]{1,6})s"),
    re.compile(r"from GPU(?P<gpu_index>[0-9]{1,3}) GSP"),
    re.compile(r"[Ff]unction (?P<function>[0-9]{1,5})"),
    re.compile(rf"[Ff]unction [0-9]{{1,5}} \((?P<function_name>{_ANY})\)"),
)
_COUNTS = re.compile(r"(?P<counts>DRAM:.{1,80})")
_RECOVERY = re.compile(
    rf"from (?P<old_value>0x[0-9A-Fa-f]+) \((?P<recovery_old>{_ANY})\) to "
    rf"(?P<recovery_value>0x[0-9A-Fa-f]+) \((?P<recovery>{_ANY})\)"
)
_SPARE = (
    re.compile(r"TPC (?P<tpc>[0-9]{1,3})"),
    re.compile(r"GPC (?P<gpc>[0-9]{1,3})"),
    re.compile(r"Channel (?P<channel>[0-9]{1,3})"),
    re.compile(r"FBPA (?P<fbpa>[0-9]{1,3})"),
)

_BY_CODE: dict[int, Sequence[re.Pattern[str]]] = {
    13: (_TRAP,),
    31: (_CHANNEL, *_MMU),
    48: _ECC,
    63: _ROW,
    64: _ROW,
    74: _LINK,
    94: (_CONTAINED,),
    95: (_CONTAINED,),
    109: (_CHANNEL, *_CTXSW),
    119: _GSP,
    120: _GSP,
    136: _LINK,
    140: (_COUNTS,),
    154: (_RECOVERY,),
    156: _SPARE,
    157: _SPARE,
    160: _SPARE,
    161: _SPARE,
    177: _ROW,
}
_CHANNEL_CODES = frozenset({8, 11, 25, 32, 37, 38, 39, 40, 41, 43, 44, 45, 68, 69, 70, 71, 72, 75, 76, 77, 80, 85})
_CLEAN: dict[str, Callable[[str], str]] = {
    "channel": lambda value: f"0x{int(value, 16):x}",
    "address": lambda value: f"0x{int(value.replace('_', ''), 16):x}" if value.strip("0x_") else "0x0",
    "remote": lambda value: normal_pci(value.rstrip(".:")) or value,
    "recovery_value": lambda value: str(int(value, 16)),
    "memory": str.lower,
    "exception": lambda value: value.strip(),
}
_LINK_CODES = frozenset({74, 136, 155})


def pieces(code: int, detail: str) -> Mapping[str, str]:
    """What the text of this code says: location, address, link, unit and the like. What is not there is left out."""
    patterns = _BY_CODE.get(code, (_CHANNEL,) if code in _CHANNEL_CODES else ())
    found: dict[str, str] = {}
    for pattern in patterns:
        match = pattern.search(detail)
        for name, value in match.groupdict().items() if match else ():
            if value and name not in found:
                found[name] = _CLEAN.get(name, str)(value)
    found.pop("old_value", None)
    if code not in _LINK_CODES and detail.startswith("NVLink:"):
        found["odd_text"] = "nvlink"  # some tools pair a code with another code's text; the code is kept
    return found


# --- the table of codes -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class XidEntry:
    """One code of the table, as it is published and as this product reads it."""

    code: int
    mnemonic: str
    meaning: str
    kind: str
    lean: tuple[str, ...]
    immediate: str | None
    investigatory: str | None
    status: str
    ends_job: str
    position: str
    root_weight: str
    follows: tuple[int, ...]
    leads_to: tuple[int, ...]
    role: str
    sub_domain: str | None
    node_scoped: bool
    actions: tuple[str, ...]
    tags: tuple[str, ...]


def read_table(document: Mapping[str, Any]) -> dict[int, XidEntry]:
    """The entries of an Xid table, by code. Raises KeyError for a document of another form."""
    return {entry.code: entry for entry in map(_entry, document["codes"])}


def _entry(row: Mapping[str, Any]) -> XidEntry:
    published, cascade, symptom = row["published"], row["cascade"], row["symptom"]
    return XidEntry(
        code=row["code"],
        mnemonic=row["mnemonic"],
        meaning=row["meaning"],
        kind=published["class"],
        lean=tuple(published["lean"]),
        immediate=published["immediate"],
        investigatory=published["investigatory"],
        status=published["status"],
        ends_job=cascade["ends_job"],
        position=cascade["position"],
        root_weight=cascade["root_weight"],
        follows=tuple(cascade["follows"]),
        leads_to=tuple(cascade["leads_to"]),
        role=symptom["role"],
        sub_domain=symptom["sub_domain"],
        node_scoped=symptom["node_scoped"],
        actions=tuple(symptom["actions"]),
        tags=tuple(symptom["tags"]),
    )
