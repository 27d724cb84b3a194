"""Every value of a closed vocabulary has words, and the small forms read well."""

import math
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum

import pytest

from attribution.contracts.diagnosis import Device
from attribution.contracts.vocabulary import Action, DeviceKind, Source, Status, SubDomain, TerminalState
from attribution.presentation import words

AT = datetime(2026, 5, 4, 3, 6, 58, 112_345, tzinfo=UTC)


@pytest.mark.parametrize(
    ("table", "vocabulary"),
    [
        (words.ACTIONS, Action),
        (words.STATES, TerminalState),
        (words.SUB_DOMAINS, SubDomain),
        (words.SOURCES, Source),
        (words.STATUSES, Status),
        (words.DEVICES, DeviceKind),
    ],
)
def test_every_value_has_words(table: dict[StrEnum, str], vocabulary: type[StrEnum]) -> None:
    assert set(table) == set(vocabulary)
    assert all(text and "_" not in text for text in table.values())


@pytest.mark.parametrize("table", [words.ACTIONS, words.STATES, words.SUB_DOMAINS, words.SOURCES])
def test_different_values_have_different_words(table: dict[StrEnum, str]) -> None:
    assert len(set(table.values())) == len(table)


@pytest.mark.parametrize(
    ("kind", "ids", "shown"),
    [
        ("gpu", {"pci": "0000:1b:00"}, "GPU 0000:1b:00"),
        ("gpu", {"pci": "0000:1b:00", "index": "3", "uuid": "GPU-5d41"}, "GPU 0000:1b:00"),
        ("gpu", {"index": "3", "uuid": "GPU-5d41"}, "GPU 3 · uuid GPU-5d41"),
        ("nvlink", {"pci": "0000:1b:00", "link": "8"}, "GPU 0000:1b:00 · link 8"),
        ("nvlink", {"link": "8"}, "NVLink 8"),
        ("nic", {"name": "mlx5_0", "port": "1"}, "NIC mlx5_0 · port 1"),
        ("switch_port", {"name": "leaf-3", "port": "12"}, "switch leaf-3 · port 12"),
        ("dimm", {"slot": "A1"}, "DIMM · slot A1"),
        ("cpu", {}, "CPU"),
    ],
)
def test_devices_are_called_as_in_logs(kind: str, ids: dict[str, str], shown: str) -> None:
    assert words.device(Device(kind=DeviceKind(kind), ids=ids)) == shown


def test_a_time_says_how_sure_it_is() -> None:
    assert words.time(AT) == "2026-05-04 03:06:58.112Z"
    assert words.time(AT, 0.9) == "2026-05-04 03:06:58.112Z"
    assert words.time(AT, 1.0) == "2026-05-04 03:06:58Z ±1 s"
    assert words.time(AT, 14 * 3600 + 1) == "2026-05-04 03:06:58.112 (zone unknown)"
    assert words.time(AT, None) == "at or after 2026-05-04 03:06:58.112Z"
    assert words.time(AT.astimezone(timezone(timedelta(hours=2)))) == "2026-05-04 03:06:58.112Z"


@pytest.mark.parametrize(
    ("secs", "shown"),
    [
        (0, "+0.0 s"),
        (41.2, "+41.2 s"),
        (-0.4, "-0.4 s"),
        (-725, "-12 min 5 s"),
        (18_720, "+5 h 12 min"),
    ],
)
def test_spans_are_signed(secs: float, shown: str) -> None:
    assert words.relative(timedelta(seconds=secs)) == shown


def test_a_span_of_coarse_clocks_has_no_decimals() -> None:
    assert words.relative(timedelta(seconds=41), 1.0) == "+41 s ±1 s"


def test_counts_and_lists() -> None:
    assert words.counted(1, "node") == "1 node"
    assert words.counted(1024, "rank") == "1,024 ranks"
    assert words.number(2) == "two"
    assert words.number(12) == "12"
    assert words.listed([]) == ""
    assert words.listed(["a", "b"]) == "a and b"
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.listed(["a", "b", "c", "d"]) == "a, b and 2 more"
    assert words.natural(["node-10", "node-2", "node-2", "²"]) == ["node-2", "node-10", "²"]


def test_symptoms_are_read_as_words() -> None:
    assert words.symptom("NCCL_WATCHDOG_TIMEOUT") == "NCCL watchdog timeout"
    assert words.symptom("XID_79") == "Xid 79"
    assert words.symptom("NVLINK_SIGNAL_INTEGRITY") == "NVLink signal integrity"
    assert words.symptom("") == ""


def test_only_plain_words_get_a_capital() -> None:
    assert words.sentence("a full file system") == "A full file system"
    assert words.sentence("vLLM stopped") == "vLLM stopped"
    assert words.sentence("nvidia-smi hangs") == "nvidia-smi hangs"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3.0, "3"),
        (0.1 + 0.2, "0.3"),
        (-0.0, "0"),
        (1e20, "1e+20"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (73.2, "73.2"),
    ],
)
def test_numbers_are_shown_without_noise(number: float, text: str) -> None:
    assert words.decimal(number) == text
