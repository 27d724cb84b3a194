"""The words of Xids 144 to 150, in both layouts."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from attribution.catalog.gpu.nvlink5 import SYMPTOMS, symptom_of
from attribution.catalog.tables import nvlink5 as load
from attribution.extraction.decoders import nvlink5, xid
from attribution.extraction.decoders.nvlink5 import NvlinkEvent, decode

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "nvlink5.yaml"


def event(code: int, text: str) -> NvlinkEvent:
    found = decode(code, text, load())
    assert found is not None
    return found


def link_event(sub_code: int, *, layout: str = "v1", severity: str = "Fatal", link: int = 3) -> str:
    """The text of a link that went down."""
    fatal = severity == "Fatal"
    if layout == "v1":
        unit, word = "NETIR_LINK_EVT", 0x1C6 | fatal << 10 | link << 13 | 1 << 18 | sub_code << 20
    else:
        unit, word = "NETIR_LINK_DOWN", 0x11 | fatal << 7 | sub_code << 20
    return f"{unit}  {severity}   XC0 i0 Link {link:02} (0x{word:08x} 0x00000000 0x00000000)"


@pytest.mark.parametrize("layout", ["v1", "v2"])
@pytest.mark.parametrize(
    ("sub_code", "severity", "investigatory", "symptom"),
    [
        (0, "link_fatal", "SYMPATHETIC_REPORT_SOLO", "NVLINK_LINK_DOWN"),
        (2, "link_fatal", "INVESTIGATE_LINK_SI", "NVLINK_SIGNAL_INTEGRITY"),
        (4, "link_fatal", "INVESTIGATE_LINK_SI", "NVLINK_SIGNAL_INTEGRITY"),
        (10, "link_fatal", "INVESTIGATE_LINK_SI", "NVLINK_SIGNAL_INTEGRITY"),
        (15, "link_fatal", "INVESTIGATE_SW_USER", "NVLINK_OPERATOR_DOWN"),
        (16, "link_fatal", "INVESTIGATE_SW_USER_LINK_SI", "NVLINK_LINK_DOWN"),
        (22, "link_fatal", "INVESTIGATE_SW_USER", "NVLINK_OPERATOR_DOWN"),
        (21, "link_fatal", "INVESTIGATE_PEER_DEVICE", "NVLINK_PEER_DOWN"),
        (35, "link_fatal", "INVESTIGATE_PEER_DEVICE", "NVLINK_PEER_DOWN"),
        (38, "link_fatal", "INVESTIGATE_SW_USER", "NVLINK_LINK_DOWN"),
        (40, "fatal", "INVESTIGATE_HOST", "NVLINK_LINK_DOWN"),
        (42, "link_fatal_uncertain", "INVESTIGATE_LINK_SI_AND_CABLES", "NVLINK_SIGNAL_INTEGRITY"),
        (3, None, None, "NVLINK_LINK_DOWN"),  # a signal group by its inferred name only
        (20, None, None, "NVLINK_PEER_DOWN"),
        (63, None, None, "NVLINK_LINK_DOWN"),
    ],
)
def test_links_that_went_down(
    sub_code: int, severity: str | None, investigatory: str | None, symptom: str, layout: str
) -> None:
    found = event(149, link_event(sub_code, layout=layout))
    assert (found.sub_code, found.layout, found.link, found.fatal) == (sub_code, layout, 3, True)
    assert (found.severity, found.investigatory, found.published) == (severity, investigatory, severity is not None)
    assert symptom_of(found) == symptom


OTHERS = [
    (144, "SAW_MVB Fatal XC0 i0 Link 02 (0x00044421 0x00000002)", "v1", "fatal", "RESET_GPU", "NVLINK_FATAL"),
    (144, "SAW_MVB Nonfatal XC0 i0 Link 02 (0x00000001 0x00000001)", "v2", "non_fatal", "IGNORE", "NVLINK_NONFATAL"),
    (145, "RLW_RXPIPE Nonfatal XC0 i0 Link 01 (0x000820c2 0x00000001)", "v1", "non_fatal_promotable", "IGNORE",
     "NVLINK_NONFATAL"),
    (145, "RLW_RXPIPE Fatal XC0 i0 Link 01 (0x000824c2 0x00000001)", "v1", "non_fatal_promotable", "RESET_GPU",
     "NVLINK_FATAL"),
    (145, "RLW_RXPIPE Fatal XC0 i0 Link 01 (0x00000086 0x00000004)", "v2", "non_fatal_promotable", "RESET_GPU",
     "NVLINK_FATAL"),
    (145, "RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x000868e2 0x00000008)", "v1", "non_fatal", "XID_154_EVAL",
     "NVLINK_NONFATAL"),
    (146, "TLW_RX Fatal XC0 i0 Link 03 (0x00046543 0x00000004)", "v1", "fatal", "RESET_GPU", "NVLINK_FATAL"),
    (146, "TLW_RX_PIPE1 Fatal XC0 i0 Link 03 (0x0000008b 0x00000004)", "v2", "fatal", "RESET_GPU", "NVLINK_FATAL"),
    (147, "TREX Nonfatal XC0 i0 Link 00 (0x00080184 0x80000000)", "v1", "non_fatal", "IGNORE", "NVLINK_NONFATAL"),
    (148, "NVLPW Nonfatal XC0 i0 Link 00 (0x0000000f 0x80000000)", "v2", "non_fatal", "IGNORE", "NVLINK_NONFATAL"),
    (149, "NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000)", "v1", "link_fatal", "RESET_GPU", "NVLINK_LINK_DOWN"),
    (149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000002)", "v1", "non_fatal", "IGNORE",
     "NVLINK_BIT_ERRORS"),
    (149, "NETIR_MFDE_EVENT Fatal XC0 i0 Link -1 (0x00000094 0x00000004)", "v2", "fatal_usually", "RESET_GPU",
     "NVLINK_FATAL"),
    (149, "NETIR_MFDE_EVENT Nonfatal XC0 i0 Link -1 (0x000fe246 0x00000003)", "v1", "non_fatal", "IGNORE",
     "NVLINK_NONFATAL"),
    (150, "MSE Degraded Fatal XC0 i0 Link -1 (0x00000000 0xffffffff)", "v1", "fatal", "RESET_GPU", "NVLINK_FATAL"),
    (150, "MSE_WATCHDOG Fatal XC0 i0 Link -1 (0x00000000 0x00000000)", "v1", "fatal", "RESET_GPU", "NVLINK_FATAL"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "layout", "severity", "immediate", "symptom"), OTHERS)
def test_other_units(code: int, text: str, layout: str, severity: str, immediate: str, symptom: str) -> None:
    found = event(code, text)
    assert (found.layout, found.severity, found.immediate) == (layout, severity, immediate)
    assert symptom_of(found) == symptom


@pytest.mark.parametrize(
    "text",
    [
        "SAW_MVB Fatal XC 0 i 0 Link 02 (0x00044421 0x00000002)",
        "SAW_MVB  Fatal  XC 00 i 00 Link 02 [0x00044421 0x00000002]",
        "SAW_MVB Fatal XC0 i0 Link 02 (0x00044421 0x00000002 0x0 0x0 0x0 0x0 0x0)",
    ],
)
def test_spellings(text: str) -> None:
    assert event(144, text).immediate == "RESET_GPU"


def test_missing_words_are_unknown() -> None:
    one, none = event(144, "SAW_MVB Fatal XC0 i0 Link 02 (0x00044421)"), event(144, "SAW_MVB Fatal XC1 i1 Link 02")
    assert (one.layout, one.error_status, one.published) == ("v1", None, False)
    assert (none.layout, none.sub_code, none.published) == (None, None, False)
    assert (none.cross_contain, none.injected) == (True, True)
    assert event(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 02 (0x004445c6)").published  # any status agrees


def test_no_row_means_no_guess() -> None:
    several_bits = event(144, "SAW_MVB Fatal XC0 i0 Link 02 (0x00044421 0x00000006)")
    wrong_unit = event(149, "NETIR_THERMAL_EVENT Fatal XC0 i0 Link 02 (0x00000092 0x00000000)")
    for found in (several_bits, wrong_unit):
        assert (found.severity, found.blame, found.immediate, found.published) == (None, None, None, False)
        assert symptom_of(found) == "NVLINK_FATAL"


def test_other_texts_are_not_decoded() -> None:
    assert decode(149, "Ch 00000001", load()) is None
    assert decode(45, OTHERS[0][1], load()) is None


def test_a_word_fits_one_layout_only() -> None:
    """Within one Xid and unit no word satisfies rows of both layouts; the 150s are alike in both."""
    for (code, _), rows in load().rows.items():
        for row in rows if code != 150 else ():
            word = row.masked.v1_value
            assert word & row.masked.v2_mask != row.masked.v2_value


def test_the_table() -> None:
    table = load()
    assert {code for code, _ in table.rows} == set(nvlink5.CODES)
    assert sum(len({id(row) for row in rows}) for rows in table.rows.values()) > 95
    assert sorted(s for s, r in table.reasons.items() if r.published and r.group == "peer") == [21, *range(32, 38)]
    assert {s for s, r in table.reasons.items() if r.published and r.group == "signal_integrity"} == {2, 4, 10, 42, 43}


UNIT = st.sampled_from([unit for _, unit in load().rows] + ["NETIR_PMPE", "X"])


@given(st.integers(140, 152), UNIT, st.sampled_from(["Fatal", "Nonfatal"]), st.lists(st.integers(0, 2**32), max_size=8))
def test_no_words_raise(code: int, unit: str, severity: str, words: list[int]) -> None:
    text = f"{unit} {severity} XC0 i0 Link 01 ({' '.join(f'0x{word:08x}' for word in words)})"
    found = decode(code, text, load())
    if found:
        assert symptom_of(found) in {symptom.name for symptom in SYMPTOMS}


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    decode(149, text, load())
    decode(149, f"NETIR Fatal XC0 i0 Link 01 ({text})", load())


@pytest.mark.skipif(not FACTS.exists(), reason="the collected facts are not part of the product")
def test_against_the_collected_facts() -> None:
    facts = yaml.load(FACTS.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    assert len(facts["rules"]) == len({id(row) for rows in load().rows.values() for row in rows})
    for example in facts["examples"]:
        line = xid.parse(example["text"])
        assert line is not None
        found, wanted = event(line.code, line.detail), example["decode"]
        assert found.link == (None if wanted["link"] < 0 else wanted["link"])
        for name in ("layout", "fatal", "cross_contain", "injected", "sub_code", "error_status", "immediate",
                     "investigatory"):  # fmt: skip
            assert getattr(found, name) == wanted[name], (example["text"], name)
    for rule in facts["rules"]:
        for layout, unit in (("v1", rule["unit_v1"]), ("v2", rule["unit_v2"])):
            statuses = rule["error_status"]
            status = 0 if statuses is None else statuses[0] if isinstance(statuses, list) else statuses
            found = event(rule["xid"], f"{unit} Fatal XC0 i0 Link 00 (0x{rule[f'{layout}_value']:08x} 0x{status:08x})")
            assert (found.severity, found.blame, found.immediate, found.investigatory) == (
                rule["severity"], rule["blame"], rule["immediate"], rule["investigatory"],
            )  # fmt: skip
