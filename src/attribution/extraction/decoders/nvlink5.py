"""Decodes the words that Xids 144 to 150 (NVLink 5) print, in the layouts before (v1) and since (v2) driver R575.

    <unit> <Fatal|Nonfatal> XC<0|1> i<0|1> Link <nn> (<intrinfo> <errorstatus> <five words of debug data>)

Bits of intrinfo: v1 has the family in 4:0, the unit in 9:5, the fatal flag in 10 and the link in 17:13; v2 has the unit
code in 6:0 and the fatal flag in 7; both have the sub-code of a link event in 25:20. Where no published row agrees, the
printed severity is all that is said.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CODES = frozenset(range(144, 151))
"""The Xids of NVLink 5."""

LINK_UNITS = frozenset({"NETIR_LINK_EVT", "NETIR_LINK_DOWN"})
"""Units whose sub-code is the reason of a link that went down."""

BIT_ERROR_UNIT = "NETIR_BER_EVENT"
"""The unit that reports changes of a link's bit error rate."""

_SUB_CODE = 0x03F00000
_TEXT = re.compile(
    r"(?P<unit>MSE Degraded|[A-Z][A-Z0-9_/]{1,31}) +(?P<severity>Fatal|Nonfatal|Non-fatal) +"
    r"XC *(?P<contain>[0-9]{1,2}) +i *(?P<injected>[0-9]{1,2}) +Link +(?P<link>-?[0-9]{1,3})"
    r"(?: *[(\[](?P<words>[0-9A-Fa-fx ]{1,120})[)\]])?"
)


@dataclass(frozen=True, slots=True)
class Masked:
    """What intrinfo must be under a mask, in each layout."""

    v1_mask: int
    v1_value: int
    v2_mask: int
    v2_value: int

    def layout(self, word: int) -> str | None:
        """The layout in which a word agrees, if any."""
        if word & self.v1_mask == self.v1_value:
            return "v1"
        return "v2" if word & self.v2_mask == self.v2_value else None

    def layout_of_unit(self, word: int) -> str | None:
        """As `layout`, whatever the sub-code and the fatal flag."""
        if (word ^ self.v1_value) & self.v1_mask & 0x3FF == 0:
            return "v1"
        return "v2" if (word ^ self.v2_value) & self.v2_mask & 0x7F == 0 else None


@dataclass(frozen=True, slots=True)
class Row:
    """One published row. `statuses` is None where any error status agrees."""

    xid: int
    units: frozenset[str]
    statuses: frozenset[int] | None
    masked: Masked
    severity: str
    blame: str
    immediate: str
    investigatory: str
    effect: str
    fatal_masked: Masked | None = None
    fatal_immediate: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a link went down. Names are inferred from the vendor's port registers, not published beside the rows."""

    sub_code: int
    name: str
    group: str
    published: bool


@dataclass(frozen=True, slots=True)
class Table:
    """All that decoding needs."""

    rows: Mapping[tuple[int, str], tuple[Row, ...]]
    reasons: Mapping[int, Reason]
    bit_error_states: Mapping[int, str]
    firmware_events: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class NvlinkEvent:
    """What one NVLink 5 Xid says.

    `fatal` is as printed. `link` is None for -1 (no one link). `layout`, `sub_code` and `error_status` are None where
    the words that hold them are missing: a missing word is unknown, not zero. From `severity` on, None if no published
    row agrees; `reason` and `group` are those of the sub-code all the same.
    """

    xid: int
    unit: str
    fatal: bool
    cross_contain: bool
    injected: bool
    link: int | None
    words: tuple[int, ...]
    layout: str | None
    sub_code: int | None
    error_status: int | None
    severity: str | None
    blame: str | None
    immediate: str | None
    investigatory: str | None
    effect: str | None
    reason: str | None
    group: str | None

    @property
    def published(self) -> bool:
        """Whether a published row agrees."""
        return self.severity is not None


def decode(xid: int, text: str, table: Table) -> NvlinkEvent | None:
    """What the text of an Xid 144 to 150 says, or None if it has another form. Raises nothing."""
    match = _TEXT.search(text)
    if not match or xid not in CODES:
        return None
    words = _words(match["words"] or "")
    intrinfo, status = words[0] if words else None, words[1] if len(words) > 1 else None
    unit, link = match["unit"], int(match["link"])
    rows = table.rows.get((xid, unit), ())
    row = _row(rows, intrinfo, status)
    sub_code = None if intrinfo is None else (intrinfo & _SUB_CODE) >> 20
    reason, group = _reason(unit, sub_code, status, table)
    return NvlinkEvent(
        xid=xid,
        unit=unit,
        fatal=match["severity"] == "Fatal",
        cross_contain=int(match["contain"]) > 0,
        injected=int(match["injected"]) > 0,
        link=link if link >= 0 else None,
        words=words,
        layout=_layout(rows, row, intrinfo),
        sub_code=sub_code,
        error_status=status,
        severity=row.severity if row else None,
        blame=row.blame if row else None,
        immediate=_immediate(row, intrinfo) if row else None,
        investigatory=row.investigatory if row else None,
        effect=row.effect if row else None,
        reason=reason,
        group=group,
    )


def _words(text: str) -> tuple[int, ...]:
    """The words up to the first that is not a number of 32 bits."""
    found = []
    for word in text.split():
        digits = word[2:] if word.startswith("0x") else word
        if not digits or len(digits) > 8 or not all(c in "0123456789abcdefABCDEF" for c in digits):
            break
        found.append(int(digits, 16))
    return tuple(found)


def _row(rows: tuple[Row, ...], intrinfo: int | None, status: int | None) -> Row | None:
    if intrinfo is None:
        return None
    for row in rows:
        agrees = row.statuses is None or (status is not None and status in row.statuses)
        if agrees and (_fatal_agrees(row, intrinfo) or row.masked.layout(intrinfo)):
            return row
    return None


def _fatal_agrees(row: Row, intrinfo: int) -> bool:
    return row.fatal_masked is not None and row.fatal_masked.layout(intrinfo) is not None


def _immediate(row: Row, intrinfo: int | None) -> str:
    promoted = intrinfo is not None and row.fatal_immediate is not None and _fatal_agrees(row, intrinfo)
    return row.fatal_immediate if promoted and row.fatal_immediate else row.immediate


def _layout(rows: tuple[Row, ...], row: Row | None, intrinfo: int | None) -> str | None:
    if intrinfo is None:
        return None
    for candidate in (row,) if row else rows:
        layout = candidate.masked.layout_of_unit(intrinfo)
        if layout:
            return layout
    return None


def _reason(unit: str, sub_code: int | None, status: int | None, table: Table) -> tuple[str | None, str | None]:
    reason = table.reasons.get(sub_code) if unit in LINK_UNITS and sub_code is not None else None
    if reason:
        return reason.name, reason.group
    if unit == BIT_ERROR_UNIT and status is not None and status in table.bit_error_states:
        return table.bit_error_states[status], "bit_errors"
    if unit == "NETIR_MFDE_EVENT" and status is not None and status in table.firmware_events:
        return table.firmware_events[status], "firmware"
    return None, None


# --- the table ----------------------------------------------------------------------------------------------------


def read_table(document: Mapping[str, Any]) -> Table:
    """The rows by (Xid, printed unit), and the names of sub-codes and states. Raises KeyError for another form."""
    rows: dict[tuple[int, str], list[Row]] = {}
    for raw in document["rows"]:
        row = _read_row(raw)
        for unit in sorted(row.units):
            rows.setdefault((row.xid, unit), []).append(row)
    reasons = {r["sub_code"]: Reason(r["sub_code"], r["name"], r["group"], r["published"]) for r in document["reasons"]}
    return Table(
        rows={key: tuple(found) for key, found in rows.items()},
        reasons=reasons,
        bit_error_states={int(state): name for state, name in document["bit_error_states"].items()},
        firmware_events={int(event): name for event, name in document["firmware_events"].items()},
    )


def _hex(word: str) -> int:
    return int(word, 16)


def _masked(raw: Mapping[str, Any]) -> Masked:
    return Masked(*map(_hex, raw["v1"]), *map(_hex, raw["v2"]))


def _read_row(raw: Mapping[str, Any]) -> Row:
    status, fatal = raw["status"], raw.get("if_fatal")
    statuses = None if status is None else frozenset(map(_hex, status if isinstance(status, list) else [status]))
    return Row(
        xid=raw["xid"],
        units=frozenset(raw["units"]),
        statuses=statuses,
        masked=_masked(raw),
        severity=raw["severity"],
        blame=raw["blame"],
        immediate=raw["immediate"],
        investigatory=raw["investigatory"],
        effect=raw["effect"],
        fatal_masked=_masked(fatal) if fatal else None,
        fatal_immediate=fatal["immediate"] if fatal else None,
    )
