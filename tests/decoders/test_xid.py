"""The Xid line in all its forms, and the registers of Xid 74."""

import re

import pytest
import re2
from hypothesis import example, given
from hypothesis import strategies as st

from attribution.catalog.tables import xid74
from attribution.extraction.decoders import nvlink_xid74, xid

HEAD = "NVRM: Xid (PCI:0000:1B:00)"

FORMS = [
    ("NVRM: Xid (0000:03:00): 14, Channel 00000001", ("0000:03:00", 14, None, None, "Channel 00000001")),
    (f"{HEAD}: 79, pid='<unknown>', name=<unknown>, GPU lost.", ("0000:1b:00", 79, None, None, "GPU lost.")),
    (f"{HEAD}: 63, pid=1896, Row Remapper: x", ("0000:1b:00", 63, 1896, None, "Row Remapper: x")),
    (f"{HEAD}: 32, pid=77, name=train.3, Channel ID 0d", ("0000:1b:00", 32, 77, "train.3", "Channel ID 0d")),
    (f"{HEAD}: 32, pid=77, name=my job::a, text, more", ("0000:1b:00", 32, 77, "my job::a", "text, more")),
    (f"{HEAD}: 43, pid=<n/a>, name=<unknown>, Ch 08", ("0000:1b:00", 43, None, None, "Ch 08")),
    (f"{HEAD}: 79, GPU has fallen off", ("0000:1b:00", 79, None, None, "GPU has fallen off")),
    (f"{HEAD}: 45", ("0000:1b:00", 45, None, None, "")),
    ("Xid (PCI:00000018:01:00.0): 79, text", ("0018:01:00", 79, None, None, "text")),
    ('{"message":"NVRM: Xid (PCI:0000:1b:00): 71, a text"},"x":1', ("0000:1b:00", 71, None, None, "a text")),
]


@pytest.mark.parametrize(("text", "expected"), FORMS)
def test_forms(text: str, expected: tuple[object, ...]) -> None:
    line = xid.parse(text)
    assert line is not None
    assert (line.pci, line.code, line.pid, line.process, line.detail) == expected


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal",
        "NVRM: Xid (PCI:0000:06:00): 20034, five digits are no Xid",
        "see Xid (PCI bus errors)",
        "Xid (PCI:0000:06): 79",
        "",
    ],
)
def test_no_xid(text: str) -> None:
    assert xid.parse(text) is None


def test_instances_of_a_divided_gpu() -> None:
    both = xid.parse("NVRM: Xid (PCI:0000:52:00 GPU-I:05 GPU-CI:02): 43, Ch 1")
    one = xid.parse("NVRM: Xid (PCI:0000:52:00 GPU-I:05): 43, Ch 1")
    assert both and (both.gpu_instance, both.compute_instance) == ("05", "02")
    assert one and (one.gpu_instance, one.compute_instance) == ("05", None)


PIECES = [
    (13, "Graphics SM Warp Exception on (GPC 7, TPC 6, SM 1): Illegal X", {"gpc": "7", "tpc": "6", "sm": "1"}),
    (13, "Graphics SM Global Exception on (GPC 8, TPC 5, SM 1): Multiple Warp Errors", {"kind": "Global Exception"}),
    (13, "Graphics Exception: ESR 0x57c7=0xc0 0x1=0x2", {"kind": "Exception", "exception": "ESR 0x57c7=0xc0 0x1=0x2"}),
    (31, "channel 0x0000000b, intr 0. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f_00000010. "
         "Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_READ",
     {"channel": "0xb", "engine": "GRAPHICS", "client": "GPCCLIENT_T1_0", "address": "0x7f00000010",
      "fault": "FAULT_PTE", "access": "VIRT_READ"}),
    (32, "Channel ID 0000000d intr0 00040000", {"channel": "0xd"}),
    (45, "Ch 00000001", {"channel": "0x1"}),
    (63, "Row Remapper: New row marked for remapping, reset gpu to activate.", {"kind": "Row Remapper"}),
    (64, "Row Remapper Error: (0x0000000018) - Remapping table is full", {"address": "0x18",
                                                                         "reason": "Remapping table is full"}),
    (74, "NVLink: failed to train link 3 to remote PCI:0000:9B:00", {"link": "3", "remote": "0000:9b:00"}),
    (94, "Contained: CE User Channel (0x9). RST: No, D-RST: Yes", {"unit": "CE User Channel", "drain_reset": "Yes"}),
    (95, "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No", {"spread": "Uncontained", "unit": "LTC TAG"}),
    (119, "Timeout waiting for RPC from GSP!", {}),
    (120, "GSP task panic: something", {}),
    (136, "NVLink: Link training failed for link 4(0x1, 0x2)", {"link": "4"}),
    (140, "An uncorrectable ECC error DRAM:1, LTC:0, MMU:0, PCIE:0", {"counts": "DRAM:1, LTC:0, MMU:0, PCIE:0"}),
    (154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
     {"recovery_old": "None", "recovery": "GPU Reset Required", "recovery_value": "1"}),
    (156, "Retiring TPC 4 from GPC 2 with a spare from the same GPC.", {"tpc": "4", "gpc": "2"}),
    (160, "Marking Channel 3 in FBPA 2 along with its pair for repair.", {"channel": "0x3", "fbpa": "2"}),
    (71, "NVLink: fatal error detected on link 6", {"odd_text": "nvlink"}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "detail", "expected"), PIECES)
def test_pieces(code: int, detail: str, expected: dict[str, str]) -> None:
    assert expected.items() <= xid.pieces(code, detail).items()


def test_the_driver_names_the_earlier_xid() -> None:
    line = xid.parse(f"{HEAD}: 45, pid=9, name=a, channel 0x00000010 caused by previous Xid 149")
    assert line and line.caused_by == 149
    assert line.detail == "channel 0x00000010"


def test_both_pattern_engines_agree() -> None:
    fast = re2.compile(xid.PATTERN)
    for text, _ in FORMS:
        found, wanted = fast.search(text), re.search(xid.PATTERN, text)
        assert found and wanted and found.groupdict() == wanted.groupdict()


BODY = st.text(alphabet=st.sampled_from("0123456789abcdefxX_()[]{},.:;'\"\\ =-<>@pidnameGPCTMULink"), max_size=200)


@given(st.integers(0, 9999), BODY)
@example(31, "faulted @ 0x_")
@example(154, "changed from 0x0 (None) to 0x" + "f" * 390 + " (x)")
def test_no_text_of_a_code_raises(code: int, body: str) -> None:
    line = xid.parse(f"{HEAD}: {code}, {body}")
    assert line is None or line.code == code
    xid.pieces(code, body)


@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    xid.parse(text)
    nvlink_xid74.decode(text, xid74())


# --- the registers of Xid 74 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "bits", "kinds", "harmless"),
    [
        ("0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0", ((3, 16),), ("repeat_diag",), False),
        ("0x30, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", ((1, 4), (1, 5)), ("hardware",), False),
        ("0x00600000,0x0,0x0,0x0,0x0,0x0,0x0", ((1, 21), (1, 22)), ("signal_integrity",), False),
        ("0x1, 0x0, 0x0, 0x0, 0x100000, 0x0, 0x0", ((1, 0), (5, 20)), ("corrected_threshold", "ignore"), True),
        ("0x0, 0x0, 0x0, 0x20000, 0x0, 0x0, 0x0", ((4, 17),), ("secondary",), False),
        ("0x0, 0x1, 0x0, 0x0, 0x0, 0x0, 0x0", ((2, 0),), ("unlisted",), False),
        ("0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", (), (), False),
    ],
)
def test_registers(words: str, bits: tuple[tuple[int, int], ...], kinds: tuple[str, ...], harmless: bool) -> None:
    found = nvlink_xid74.decode(words, xid74())
    assert found is not None
    assert tuple((bit.register, bit.bit) for bit in found.bits) == bits
    assert (found.kinds, found.harmless) == (kinds, harmless)


def test_registers_are_seven_or_nothing() -> None:
    assert nvlink_xid74.decode("0x1, 0x2", xid74()) is None
    assert nvlink_xid74.decode("", xid74()) is None
