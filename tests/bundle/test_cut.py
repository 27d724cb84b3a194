"""Streams are cut and joined again without a change."""

import io
import random
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution.bundle.compression import DamagedStream
from attribution.bundle.cut import observations
from attribution.bundle.evidence import Evidence, EvidenceStream, Segment, StreamKey, assemble, text_segment
from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Format, Source, Status

from tests.examples import examples

CONTEXT = ExecutionContext(workload_id="job-1")
KEY = StreamKey(Source.APPLOG, "node-01", 0, "applog/node-01.log")
HARD_BYTES = st.lists(
    st.one_of(
        st.binary(max_size=6),
        st.sampled_from(
            [b"\n", "é".encode(), "字".encode(), "😀".encode(), b"\xe5\xad", b"\xf0\x9f", b"\xed\xa0\x80", b"\0"]
        ),
    ),
    max_size=30,
).map(b"".join)


def evidence(*streams: EvidenceStream) -> Evidence:
    return Evidence(CONTEXT, streams)


def stream(data: bytes, **more: object) -> EvidenceStream:
    return EvidenceStream(KEY, segments=(text_segment(data),), **more)  # type: ignore[arg-type]


def held(stream: EvidenceStream) -> list[tuple[int, int, bytes]]:
    result = []
    for segment in stream.segments:
        with segment.open() as file:
            result.append((segment.offset, segment.first_line, file.read()))
    return result


@settings(max_examples=examples(300), deadline=None)
@given(data=HARD_BYTES, size=st.integers(1, 40), seed=st.integers(0, 99))
def test_round_trip_at_any_size_in_any_order_with_repetition(data: bytes, size: int, seed: int) -> None:
    cut = list(observations(evidence(stream(data)), size))
    decoded = data.decode("utf-8", "replace").encode()
    assert all(len(item.body.encode()) <= size or len(item.body) == 1 for item in cut)
    assert "".join(item.body for item in cut).encode() == decoded
    mixed = cut + cut[: seed % 7]
    random.Random(seed).shuffle(mixed)
    whole, rejected = assemble(CONTEXT, mixed)
    assert rejected == ()
    assert whole.context == CONTEXT
    (joined,) = whole.streams
    assert joined.key == KEY
    assert held(joined) == ([(0, 0, decoded)] if decoded else [])
    assert joined.status is (Status.OK if decoded else Status.EMPTY)


@given(data=HARD_BYTES, size=st.integers(1, 40))
@settings(deadline=None)
def test_lines_and_offsets_are_those_of_the_decoded_text(data: bytes, size: int) -> None:
    decoded = data.decode("utf-8", "replace").encode()
    for item in observations(evidence(stream(data)), size):
        assert decoded[item.offset :].startswith(item.body.encode())
        assert item.first_line == decoded[: item.offset].count(b"\n")


@given(
    parts=st.lists(st.tuples(st.integers(1, 9), st.text(min_size=1, max_size=9)), max_size=4), size=st.integers(1, 9)
)
def test_gaps_stay_gaps(parts: list[tuple[int, str]], size: int) -> None:
    segments, end = [], 0
    for gap, text in parts:
        data = text.encode("utf-8", "replace")
        segments.append(text_segment(data, end + gap, end))
        end += gap + len(data)
    given_stream = EvidenceStream(KEY, segments=tuple(segments))
    whole, _ = assemble(CONTEXT, observations(evidence(given_stream), size))
    assert held(whole.streams[0]) == held(given_stream)


def test_a_stream_without_bytes_is_still_one_observation() -> None:
    broken = EvidenceStream(KEY, status=Status.ERROR, reason="permission denied")
    (item,) = observations(evidence(broken))
    assert (item.body, item.status, item.reason) == ("", Status.ERROR, "permission denied")
    (item,) = observations(evidence(EvidenceStream(KEY)))
    assert item.status is Status.EMPTY


def test_documents_stay_whole() -> None:
    document = EvidenceStream(KEY, Format.SACCT_JSON, (text_segment('{"jobs": []}' * 100),))
    assert len(list(observations(evidence(document), 10))) == 1


class _Breaks(io.RawIOBase):
    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, size: int = -1, /) -> bytes:
        if not self.data:
            raise DamagedStream("compressed data ends early after 6 bytes")
        taken, self.data = self.data[:size], self.data[size:]
        return taken


@pytest.mark.parametrize(("data", "status"), [(b"a\nb\nc\n", Status.PARTIAL), (b"", Status.ERROR)])
def test_a_stream_that_breaks_gives_what_came_before(data: bytes, status: Status) -> None:
    def opened() -> BinaryIO:
        return _Breaks(data)  # type: ignore[return-value]

    broken = EvidenceStream(KEY, segments=(Segment(0, 0, opened),))
    cut = list(observations(evidence(broken), 2))
    assert "".join(item.body for item in cut).encode() == data
    assert (cut[-1].status, cut[-1].reason) == (status, "compressed data ends early after 6 bytes")
    assert all(item.status is Status.OK for item in cut[:-1])


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        list(observations(evidence(), 0))
