"""The manual pages of codes that GPUs and switches print: Xids, sub-codes of NVLink 5, SXids."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attribution.catalog.fabric.tables import sxids
from attribution.catalog.gpu.nvlink5 import symptom_of
from attribution.catalog.tables import nvlink5, table, xids
from attribution.cli.manual import entries, paragraph
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.extraction.decoders import nvlink5 as decoder
from attribution.rules.model import Catalog

_SXID = re.compile(r"s[ _-]?xid[ _:-]{0,2}(\d{1,9})|(\d{5})", re.IGNORECASE | re.ASCII)
_XID = re.compile(r"xid[ _:-]{0,2}(\d{1,9})|(\d{1,4})", re.IGNORECASE | re.ASCII)
_SUB_CODE = re.compile(r"(?:xid[ _-]?)?(\d{3})[ ]?[/.:][ ]?(\d{1,2})", re.IGNORECASE)
_FIRST_SUB_CODE_BIT, _LINK_EVENT = 20, 0x1C6
"""Where the sub-code begins in the first word, and the bits that say that a link went down, in the first layout."""

_POSITIONS = {
    "primary": "mostly comes first",
    "secondary": "mostly follows another",
    "either": "comes first or follows",
}

Found = tuple[Iterable[str], Sequence[str]]


def code_page(catalog: Catalog, word: str) -> Found | None:
    """The page of a code, and the symptoms to tell after it; None for a word that is no code.

    Raises ConfigurationError for a code that is not known.
    """
    for form, page in ((_SUB_CODE, _sub_code), (_SXID, _sxid), (_XID, _xid)):
        match = form.fullmatch(word.strip())
        if match:
            lines, symptoms = page([int(group) for group in match.groups() if group])
            return lines, [name for name in symptoms if name in catalog.symptoms]
    return None


def code_behind(rule_id: str) -> str:
    """The Xid that a rule's id could be taken for, and how to ask for it; nothing for most rules."""
    code = rule_id.removeprefix("XID")
    if code == rule_id or not code.isdecimal() or code.startswith("0") or int(code) not in xids():
        return ""
    return f"attribution explain {code}, for the Xid of that number"


def _unknown(what: str, remedy: str) -> ConfigurationError:
    return ConfigurationError([Problem(Place("explain"), "C003", f"knows no {what}", remedy)])


# --- Xids -------------------------------------------------------------------------------------------------------------


def _xid(numbers: Sequence[int]) -> Found:
    (code,) = numbers
    entry = xids().get(code)
    if entry is None:
        raise _unknown(f"Xid {code}", "see: attribution explain XID001")
    return _xid_lines(code), [f"XID_{code}"]


def _xid_lines(code: int) -> Iterator[str]:
    entry = xids()[code]
    yield f"Xid {code} {entry.mnemonic}"
    yield from paragraph("", entry.meaning)
    hints = [hint["name"] for hint in table("xid")["cuda_error_hints"] if code in hint["xids"]]
    for heading, text in (
        ("Class", entry.kind + (f" (lean: {', '.join(entry.lean)})" if entry.lean else "")),
        ("Published action", entry.immediate or ""),
        ("Then", entry.investigatory or ""),
        ("Status", entry.status if entry.status != "active" else ""),
        ("Ends a job", entry.ends_job),
        ("In a cascade", _POSITIONS.get(entry.position, "")),
        ("Follows Xids", ", ".join(map(str, entry.follows))),
        ("Leads to Xids", ", ".join(map(str, entry.leads_to))),
        ("CUDA errors beside it", ", ".join(hints)),
    ):
        yield from paragraph(heading, text)
    if code in decoder.CODES:
        yield from _units(code)


def _units(code: int) -> Iterator[str]:
    """What the words of an NVLink 5 Xid may name, and the reasons that its sub-codes stand for."""
    rows = [row for (xid, _), found in sorted(nvlink5().rows.items()) if xid == code for row in found]
    units = sorted({" or ".join(sorted(row.units)) for row in rows})
    yield from paragraph("Units that print it", ", ".join(units))
    subs = sorted({(_sub_code_of(row), row.immediate) for row in rows if row.units & decoder.LINK_UNITS})
    reasons = nvlink5().reasons
    named = [(f"{code}/{sub}", f"{reasons[sub].name}: {action}") for sub, action in subs if sub in reasons]
    yield from entries("Sub-codes with a published row", named)


def _sub_code_of(row: decoder.Row) -> int:
    return row.masked.v1_value >> _FIRST_SUB_CODE_BIT & 0x3F


# --- sub-codes of NVLink 5 --------------------------------------------------------------------------------------------


def _sub_code(numbers: Sequence[int]) -> Found:
    code, sub = numbers
    known = f"sub-codes are those of Xids {min(decoder.CODES)} to {max(decoder.CODES)}, such as 149/4"
    if code not in decoder.CODES:
        raise _unknown(f"sub-codes of Xid {code}", known)
    reason = nvlink5().reasons.get(sub)
    rows = _published(code, sub)
    if reason is None and not rows:
        raise _unknown(f"sub-code {sub} of Xid {code}", f"see: attribution explain {code}")
    return _sub_code_lines(code, sub, rows), _symptoms_of_sub_code(code, sub, rows)


def _published(code: int, sub: int) -> list[decoder.Row]:
    """The published rows of a sub-code; each stands once, whatever its units are called."""
    found: list[decoder.Row] = []
    for (xid, _), rows in sorted(nvlink5().rows.items()):
        found += [row for row in rows if xid == code and _sub_code_of(row) == sub and row not in found]
    return found


def _sub_code_lines(code: int, sub: int, rows: Sequence[decoder.Row]) -> Iterator[str]:
    reason = nvlink5().reasons.get(sub)
    yield f"Xid {code}, sub-code {sub}  (NVLink 5)"
    if reason and (not rows or any(row.units & decoder.LINK_UNITS for row in rows)):
        yield from paragraph("", f"Why a link went down: {reason.name}")
        yield from paragraph("Group", reason.group.replace("_", " "))
    if not rows:
        yield from paragraph("", "No published row has it: only the printed severity is known.")
    for row in rows:
        status = "" if row.statuses is None else f", error status {', '.join(f'0x{s:x}' for s in sorted(row.statuses))}"
        yield from paragraph(" or ".join(sorted(row.units)) + status, _row(row))


def _row(row: decoder.Row) -> str:
    effects = table("nvlink5")["effects"]
    effect = effects.get(row.effect, row.effect)
    return f"{row.severity.replace('_', ' ')}; {effect}; now {row.immediate}, then {row.investigatory}"


def _symptoms_of_sub_code(code: int, sub: int, rows: Sequence[decoder.Row]) -> list[str]:
    """What the rule for NVLink 5 makes of lines with this sub-code; without a row, of a link that went down."""
    unnamed = ("NETIR_LINK_EVT", "Fatal", sub << _FIRST_SUB_CODE_BIT | _LINK_EVENT, 0)
    lines = [(min(row.units), _printed(row), row.masked.v1_value, min(row.statuses or {0})) for row in rows] or [
        unnamed
    ]
    found = []
    for unit, severity, word, status in lines:
        text = f"{unit} {severity} XC0 i0 Link 00 (0x{word:08x} 0x{status:08x})"
        event = decoder.decode(code, text, nvlink5())
        if event and symptom_of(event) not in found:
            found.append(symptom_of(event))
    return found


def _printed(row: decoder.Row) -> str:
    """The severity that a line of this row mostly prints."""
    return "Nonfatal" if row.severity.startswith("non_fatal") else "Fatal"


# --- SXids ------------------------------------------------------------------------------------------------------------


def _sxid(numbers: Sequence[int]) -> Found:
    (code,) = numbers
    row = next((row for row in sxids()["codes"] if row["code"] == code), None)
    if row is None:
        raise _unknown(f"SXid {code}", "see: attribution explain SXID001")
    reads = _reads(row)
    return _sxid_lines(row, reads), [reads.get(row["severity"], "")]


def _reads(row: dict[str, Any]) -> dict[str, str]:
    kind = sxids()["kinds"][row["kind"]]
    return {**{severity: kind[severity] for severity in ("fatal", "non_fatal", "none")}, **row.get("reads", {})}


def _sxid_lines(row: dict[str, Any], reads: dict[str, str]) -> Iterator[str]:
    yield f"SXid {row['code']} {row['name']}"
    yield from paragraph("", f"{sxids()['kinds'][row['kind']]['means']}, told by the {row['unit']} unit of an NVSwitch")
    severity = {"none": "as the line says"}.get(row["severity"], row["severity"].replace("_", "-"))
    yield from paragraph("Severity", severity + ("; takes the whole switch down" if row.get("whole_switch") else ""))
    names = {"fatal": "fatal", "non_fatal": "non-fatal", "none": "(no word)"}
    yield from entries("Read as", ((names[word], reads[word]) for word in ("fatal", "non_fatal", "none")))
