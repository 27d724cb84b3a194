"""A written bundle reads back as the same evidence."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution.bundle.evidence import Evidence, EvidenceStream, Segment, StreamKey, text_segment
from attribution.bundle.reader import open_bundle
from attribution.bundle.writer import write_bundle
from attribution.contracts.context import ExecutionContext, Gpu, Node
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.observation import Clock
from attribution.contracts.vocabulary import Format, Scheduler, Source, Status

from tests.examples import examples

CONTEXT = ExecutionContext(
    workload_id="no",
    attempt=2,
    scheduler=Scheduler.SLURM,
    scheduler_ids={"job_id": "7"},
    launch_command="srun python train.py --name 'a: b' # x\n\tend",
    reason="",
    started_at=datetime(2026, 5, 4, 3, 0, tzinfo=UTC),
    exit_code=1,
    nodes=(Node(name="node-01", ranks=(0, 1), gpus=(Gpu(index=0), Gpu(index=0))), Node(name="node-02", ranks=(0, 1))),
)


def told(evidence: Evidence) -> tuple[object, ...]:
    streams = []
    for stream in evidence.streams:
        segments = []
        for segment in stream.segments:
            with segment.open() as file:
                segments.append((segment.offset, segment.first_line, file.read()))
        more = (stream.format, stream.status, stream.reason, stream.truncated, stream.clock, stream.node_is_guess)
        streams.append((stream.key, *more, segments))
    return (evidence.context, streams)


def round_trip(evidence: Evidence, folder: Path, compress: bool) -> tuple[object, ...]:
    write_bundle(evidence, folder, compress=compress)
    with open_bundle(folder) as back:
        return told(back)


@pytest.mark.parametrize("compress", [False, True])
def test_a_bundle_of_files(tmp_path: Path, compress: bool) -> None:
    files = {
        "context.yaml": b"workload_id: w\nnodes: [{name: node-01}, {name: node-02}]\n",
        "applog/node-01.rank3.stderr.log": b"step \xff 1\n",
        "applog/node-02.log.gz": gzip.compress(b"step 1\n"),
        "applog/node-09.log": b"x",
        "applog/empty1.log": b"",
        "metrics/net.prom": b"ib_errors{} 1\n",
        "README.md": b"notes",
    }
    for name, data in files.items():
        (tmp_path / "a" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "a" / name).write_bytes(data)
    with open_bundle(tmp_path / "a") as evidence:
        assert round_trip(evidence, tmp_path / "b", compress) == told(evidence)
    if not compress:
        listed = (tmp_path / "b" / "streams.yaml").read_text()
        assert "README.md" in listed and "node-01" not in listed  # only what names and contents do not say


@pytest.mark.parametrize("compress", [False, True])
def test_evidence_of_no_files(tmp_path: Path, compress: bool) -> None:
    key = StreamKey(Source.APPLOG, "node-01", 0, "stderr")
    streams = (
        EvidenceStream(key, segments=(text_segment("a\n"), text_segment("b\n", 10, 4)), truncated=True),
        EvidenceStream(StreamKey(Source.APPLOG, "node-01", 1, "stderr"), segments=(text_segment("c"),)),
        EvidenceStream(StreamKey(Source.APPLOG, "node-01", 1, "../../etc/x"), segments=(text_segment("d"),)),
        EvidenceStream(StreamKey(Source.APPLOG, "node-01", None, "applog/a"), segments=(text_segment("e"),)),
        EvidenceStream(StreamKey(Source.APPLOG, "node-01", None, "applog/a/b"), segments=(text_segment("f"),)),
        EvidenceStream(StreamKey(Source.APPLOG, "node-02", None, ""), status=Status.EMPTY, reason="no pods"),
        EvidenceStream(StreamKey(Source.BMC, "node-02", None, "bmc/sel.txt"), status=Status.EMPTY),
        EvidenceStream(StreamKey(Source.SYSLOG, "node-02", None, ""), status=Status.ERROR, reason="HTTP 503"),
        EvidenceStream(
            StreamKey(Source.SYSLOG, "node-01", None, "kern"),
            Format.JOURNAL_JSON,
            (text_segment("{}"),),
            clock=Clock(zone="+02:00", year=2026),
            node_is_guess=True,
        ),
    )
    evidence = Evidence(CONTEXT, tuple(sorted(streams, key=lambda s: s.key.sort_key())))
    assert round_trip(evidence, tmp_path / "b", compress) == told(evidence)
    assert not (tmp_path / "etc").exists()


NAMES = st.text(max_size=12).filter(lambda text: "\0" not in text)
BODIES = st.binary(max_size=9).filter(lambda data: not data.startswith((b"\x1f\x8b", b"(\xb5/\xfd")))
"""Contents that do not begin as compressed data does: what does is read as that."""

KEYS = st.builds(
    StreamKey, st.sampled_from(Source), st.sampled_from([None, "node-01", "n/2"]), st.sampled_from([None, 7]), NAMES
)


@settings(max_examples=examples(60), deadline=None)
@given(streams=st.dictionaries(KEYS, BODIES, max_size=5), compress=st.booleans())
def test_any_streams(tmp_path_factory: pytest.TempPathFactory, streams: dict[StreamKey, bytes], compress: bool) -> None:
    made = [
        EvidenceStream(key, segments=(text_segment(data),)) if data else EvidenceStream(key, status=Status.EMPTY)
        for key, data in streams.items()
    ]
    evidence = Evidence(CONTEXT, tuple(sorted(made, key=lambda s: s.key.sort_key())))
    assert round_trip(evidence, tmp_path_factory.mktemp("w") / "b", compress) == told(evidence)


def test_a_stream_that_breaks_is_kept_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "a" / "applog" / "node-01.log.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(b"step 1 loss 0.5\n" * 90_000)[:-9])
    with open_bundle(tmp_path / "a") as evidence:
        write_bundle(Evidence(CONTEXT, evidence.streams), tmp_path / "b")
    with open_bundle(tmp_path / "b") as back:
        (stream,) = back.streams
        assert stream.status is Status.PARTIAL
        assert str(stream.reason).startswith("compressed data ends early after ")
        assert stream.key.stream == "applog/node-01.log.gz"


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(ConfigurationError) as caught:
        write_bundle(Evidence(CONTEXT, ()), tmp_path)
    assert str(caught.value) == f"{tmp_path}: B010 is not an empty folder (name a new one)"


def test_a_hand_made_listing_is_checked(tmp_path: Path) -> None:
    write_bundle(Evidence(CONTEXT, ()), tmp_path / "b")
    listing = tmp_path / "b" / "streams.yaml"
    listing.write_text("streams:\n- {source: applog, stream: a, segments: [{file: ../../etc/passwd}]}\n")
    with open_bundle(tmp_path / "b") as evidence:
        (stream,) = evidence.streams
    assert (stream.status, stream.segments) == (Status.ERROR, ())
    assert stream.reason == "../../etc/passwd is listed in streams.yaml but is not there"
    listing.write_text("streams:\n- {source: applog, strem: a}\n")
    with pytest.raises(ConfigurationError, match=r"streams\.yaml:2:20: D011"), open_bundle(tmp_path / "b"):
        pass
    listing.write_text("streams:\n- {source: applog}\n- {source: applog}\n")
    with pytest.raises(ConfigurationError, match="B011 lists a stream or a file twice"), open_bundle(tmp_path / "b"):
        pass


def test_segments_open_anew(tmp_path: Path) -> None:
    segment: Segment = text_segment("abc")
    with segment.open() as first, segment.open() as second:
        assert first.read() == second.read() == b"abc"
