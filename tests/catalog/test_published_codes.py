"""The package's tables hold every published code, row and bit: no more, no less, and with the published action."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from attribution.catalog.fabric.tables import sxids
from attribution.catalog.tables import nvlink5, table, xid74, xids
from attribution.extraction.decoders.nvlink_xid74 import decode as decode_registers

PUBLISHED: Mapping[str, Any] = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))


def numbers(ranges: str | Iterable[str]) -> list[int]:
    """The numbers of `1-3 7`."""
    parts = ranges.split() if isinstance(ranges, str) else ranges
    ends = [[int(end) for end in part.split("-")] for part in parts]
    return [number for first, *last in ends for number in range(first, (last or [first])[0] + 1)]


@pytest.mark.parametrize("field", ["immediate", "investigatory"])
def test_every_xid_has_its_published_action(field: str) -> None:
    wanted = {code: bucket for bucket, codes in PUBLISHED["xid"][field].items() for code in numbers(codes)}
    assert {code: getattr(entry, field) or "none published" for code, entry in xids().items()} == wanted


def test_every_xid_is_described_in_other_words_than_its_name() -> None:
    assert len(xids()) == 178
    for entry in xids().values():
        words = entry.mnemonic.lower().removeprefix("robust_channel_").replace("_", " ")
        assert entry.meaning and entry.meaning.lower() != words


def test_every_row_of_nvlink5() -> None:
    rows = [_shown(row) for row in table("nvlink5")["rows"]]
    assert len(rows) == 95
    assert sorted(rows) == sorted(PUBLISHED["nvlink5"])
    read = {row for found in nvlink5().rows.values() for row in found}
    assert len(read) == len(rows)


def _shown(row: Mapping[str, Any]) -> str:
    statuses = row["status"] if isinstance(row["status"], list) else [row["status"]]
    words = [",".join(_hex(status) for status in statuses)]
    for layout in ("v1", "v2"):
        words += [_hex(word) for word in row[layout] or (None, None)]
    units = "/".join(row["units"])
    return f"{row['xid']} {units} {' '.join(words)} {row['severity']} | {row['immediate']} | {row['investigatory']}"


def _hex(word: str | None) -> str:
    return "-" if word is None else f"{int(word, 16):08x}"


def test_every_reason_of_a_link_that_went_down() -> None:
    reasons = nvlink5().reasons.values()
    published = PUBLISHED["link_down_reasons"]
    assert sorted(r.sub_code for r in reasons if r.published) == numbers(published["published"])
    assert sorted(r.sub_code for r in reasons if not r.published) == numbers(published["read_from_header"])


def test_every_register_bit_of_xid_74() -> None:
    rows = [f"{r['register']} {','.join(map(str, r['bits']))} {r['class']}" for r in table("xid74")["rows"]]
    assert sorted(rows) == sorted(PUBLISHED["xid74"])


def test_every_register_bit_of_xid_74_is_decoded() -> None:
    for register, bits, kind in (row.split() for row in PUBLISHED["xid74"]):
        for bit in bits.split(","):
            words = ["0x0"] * 7
            words[int(register) - 1] = hex(1 << int(bit))
            decoded = decode_registers(", ".join(words), xid74())
            assert decoded is not None
            assert decoded.kinds == (kind,)


def test_every_sxid() -> None:
    codes = [row["code"] for row in sxids()["codes"]]
    assert len(codes) == len(set(codes)) == 399
    assert sorted(codes) == numbers(PUBLISHED["sxid"])


@pytest.mark.parametrize("name", ["xid", "nvlink5", "xid74"])
def test_a_table_names_where_it_is_from(name: str) -> None:
    assert any("NVIDIA" in line for line in table(name)["about"])


def test_the_table_of_switch_errors_names_where_it_is_from() -> None:
    assert any("NVIDIA/open-gpu-kernel-modules" in line for line in sxids()["about"])
