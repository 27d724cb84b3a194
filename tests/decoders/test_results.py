"""The names of result codes, and how processes end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.extraction.decoders import results


def test_known_codes() -> None:
    assert sorted(results.IBV_STATUS) == list(range(23))
    assert results.IBV_STATUS[12].name == "IBV_WC_RETRY_EXC_ERR"
    assert results.MLX5_VENDOR_ERROR[129].name == "TRANSPORT_RETRY_EXCEEDED"
    assert [code.name for _, code in sorted(results.NCCL.items())] == [
        "ncclSuccess", "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalidArgument",
        "ncclInvalidUsage", "ncclRemoteError", "ncclInProgress",
    ]  # fmt: skip
    wanted = {2, 46, 100, 101, 214, 220, 226, 700, 702, 710, *range(715, 720), 802, 803, 999}
    assert wanted <= set(results.CUDA)
    assert results.CUDA[700].name == "cudaErrorIllegalAddress"


@pytest.mark.parametrize("table", [results.IBV_STATUS, results.MLX5_VENDOR_ERROR, results.CUDA, results.NCCL])
def test_tables_are_whole(table: dict[int, results.Code]) -> None:
    assert all(number == code.number and code.meaning for number, code in table.items())
    assert len({code.name for code in table.values()}) == len(table)


@pytest.mark.parametrize(
    ("code", "signal", "expected"),
    [
        (0, None, (0, None, None, False)),
        (1, None, (1, None, None, True)),
        (127, None, (127, None, None, True)),
        (128, None, (128, None, None, True)),
        (134, None, (None, 6, "SIGABRT", True)),
        (137, None, (None, 9, "SIGKILL", True)),
        (139, None, (None, 11, "SIGSEGV", True)),
        (143, None, (None, 15, "SIGTERM", True)),
        (-9, None, (None, 9, "SIGKILL", True)),
        (-6, None, (None, 6, "SIGABRT", True)),
        (0, 9, (None, 9, "SIGKILL", True)),
        (1, 0, (1, None, None, True)),
        (192, None, (None, 64, None, True)),
        (193, None, (193, None, None, True)),
        (255, None, (255, None, None, True)),
    ],
)
def test_endings(code: int, signal: int | None, expected: tuple[object, ...]) -> None:
    ending = results.ending(code, signal)
    assert (ending.exit_code, ending.signal, ending.name, ending.failed) == expected


@given(st.integers(), st.none() | st.integers())
def test_an_ending_is_a_code_or_a_signal(code: int, signal: int | None) -> None:
    ending = results.ending(code, signal)
    assert (ending.exit_code is None) != (ending.signal is None)
