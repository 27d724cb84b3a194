"""Evidence on disk is opened whatever form it has, and what cannot be read is told."""

import gzip
import os
import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest
import zstandard

from attribution.bundle import reader
from attribution.bundle.compression import DamagedStream, open_plain
from attribution.bundle.evidence import Evidence, EvidenceStream
from attribution.bundle.reader import open_bundle
from attribution.contracts.errors import ConfigurationError, EvidenceError
from attribution.contracts.vocabulary import Format, Source, Status

KERNEL = b"May  4 03:06:58 node-02 kernel: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
NCCL = b"node-03:12:34 [0] NCCL INFO Bootstrap\n"


def make(root: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def read(path: Path, context: Path | None = None) -> Evidence:
    with open_bundle(path, context) as evidence:
        return evidence


def by_name(evidence: Evidence) -> dict[str, EvidenceStream]:
    return {stream.key.stream: stream for stream in evidence.streams}


def data_of(stream: EvidenceStream) -> bytes:
    (segment,) = stream.segments
    with segment.open() as file:
        return file.read()


def test_a_bundle_with_all_sources(tmp_path: Path) -> None:
    root = make(
        tmp_path / "train 7!",
        {
            "applog/node-01.rank3.stderr.log.zst": zstandard.compress(b"step 1\n"),
            "applog/node-02.rank8.log.gz": gzip.compress(b"step 1\n"),
            "applog/rank9.log": b"step 1\n",
            "syslog/node-02.log": KERNEL,
            "scheduler/sacct.json": b'{"jobs": [{"association": {}}]}',
            "metrics/gpu.json": b'[{"metric":{"__name__":"DCGM_FI_DEV_XID_ERRORS"},"value":[1,"79"]}]',
            "metrics/net.prom": b'node_infiniband_link_downed_total{port="1"} 1\n',
            "fabric_manager/alpha.log": b"[Jul 23 2026 07:53:55] [ERROR] [tid 1] text\n",
            "bmc/node-01.txt": b"",
            "flight_recorder/nccl_trace_rank_3": pickle.dumps({"entries": []}, 2),
            "flight_recorder/node-01.rank4.json": b'{"version":"2.4","entries":[]}',
        },
    )
    with open_bundle(root) as evidence:
        streams = by_name(evidence)
        assert [s.key for s in evidence.streams] == sorted(
            (s.key for s in evidence.streams), key=lambda k: k.sort_key()
        )
        told = {
            name: (s.key.source.value, s.key.node, s.key.rank, s.format.value, s.status.value, s.node_is_guess)
            for name, s in streams.items()
        }
        assert told == {
            "applog/node-01.rank3.stderr.log.zst": ("applog", "node-01", 3, "text", "ok", True),
            "applog/node-02.rank8.log.gz": ("applog", "node-02", 8, "text", "ok", True),
            "applog/rank9.log": ("applog", None, 9, "text", "ok", False),
            "syslog/node-02.log": ("syslog", "node-02", None, "text", "ok", False),
            "scheduler/sacct.json": ("scheduler", None, None, "sacct_json", "ok", False),
            "metrics/gpu.json": ("node_metrics", None, None, "prometheus_metrics", "ok", False),
            "metrics/net.prom": ("network_metrics", None, None, "prometheus_metrics", "ok", False),
            "fabric_manager/alpha.log": ("fabric_manager", "alpha", None, "text", "ok", True),
            "bmc/node-01.txt": ("bmc", "node-01", None, "text", "empty", True),
            "flight_recorder/nccl_trace_rank_3": ("flight_recorder", None, None, "text", "skipped", False),
            "flight_recorder/node-01.rank4.json": ("flight_recorder", "node-01", 4, "nccl_flight_recorder", "ok", True),
        }
        assert data_of(streams["applog/node-01.rank3.stderr.log.zst"]) == b"step 1\n"
        assert data_of(streams["syslog/node-02.log"]) == KERNEL
        assert "never unpickled" in str(streams["flight_recorder/nccl_trace_rank_3"].reason)
    context = evidence.context
    assert context.workload_id == "train-7"
    assert [(node.name, node.ranks) for node in context.nodes] == [
        ("alpha", ()),
        ("node-01", (3, 4)),
        ("node-02", (8,)),
    ]
    assert context.inferred == ("workload_id", "nodes")


def test_the_context_names_nodes_by_name_and_alias(tmp_path: Path) -> None:
    context = (
        b"workload_id: job-7\nnodes: [{name: node-01, aliases: [node-01.example.org, 10.0.0.1]}, {name: node-02}]\n"
    )
    root = make(
        tmp_path / "b",
        {
            "context.yaml": context,
            "applog/node-01.example.org.rank0.out": b"x",
            "applog/10.0.0.1.s1.log": b"x",
            "applog/node-02/stderr.log": b"x",
            "applog/node-09.log": b"x",
            "applog/job.log": NCCL,
        },
    )
    evidence = read(root)
    nodes = {name: (s.key.node, s.node_is_guess) for name, s in by_name(evidence).items()}
    assert nodes == {
        "applog/node-01.example.org.rank0.out": ("node-01", False),
        "applog/10.0.0.1.s1.log": ("node-01", False),
        "applog/node-02/stderr.log": ("node-02", False),
        "applog/node-09.log": ("node-09", True),
        "applog/job.log": (None, False),  # two nodes share this log: one NCCL line does not make it node-03's
    }
    assert evidence.context.inferred == ()
    assert evidence.context.workload_id == "job-7"


def test_what_a_context_lacks_is_inferred(tmp_path: Path) -> None:
    root = make(tmp_path / "b", {"context.yaml": b"attempt: 2\n", "syslog/node-02.log": KERNEL})
    context = read(root).context
    assert (context.workload_id, context.attempt, context.inferred) == ("b", 2, ("workload_id", "nodes"))
    assert [node.name for node in context.nodes] == ["node-02"]
    (root / "context.yaml").write_text("workload_id: w\n")
    assert read(root).context.inferred == ("nodes",)
    (root / "context.yaml").write_text("")
    assert read(root).context.inferred == ("workload_id", "nodes")


def test_a_full_name_and_its_short_form_are_one_node(tmp_path: Path) -> None:
    full = KERNEL.replace(b"node-02", b"node-02.example.org")
    root = make(tmp_path / "b", {"syslog/messages": full, "applog/node-02.rank1.log": b"x", "syslog/node-02.log": full})
    evidence = read(root)
    assert {stream.key.node for stream in evidence.streams} == {"node-02"}
    (node,) = evidence.context.nodes
    assert (node.name, node.aliases, node.ranks) == ("node-02", ("node-02.example.org",), (1,))


def test_a_folder_of_other_logs(tmp_path: Path) -> None:
    root = make(
        tmp_path / "logs",
        {
            "dmesg.txt": b"[430954.509105] NVRM: Xid (PCI:0000:1b:00): 48, text\n",
            "var/messages": KERNEL,
            "out/worker.log": NCCL,
            "out/train_rank_5.log": b"step\n",
            "out/merged.log": b"[rank1]: a\n[rank2]: b\nsrun: error: node-09: task 1: Killed\n",
            "README.md": b"# notes",
            "run.sh": b"srun",
            ".git/config": b"[core]",
            ".hidden": b"x",
            "model.bin": b"PK\x03\x04",
            "old.tar": b"\0" * 257 + b"ustar\0" + b"\0" * 300,
        },
    )
    streams = by_name(read(root))
    told = {name: (s.key.source.value, s.key.node, s.key.rank, s.status.value) for name, s in streams.items()}
    assert told == {
        "dmesg.txt": ("syslog", None, None, "ok"),
        "var/messages": ("syslog", "node-02", None, "ok"),
        "out/worker.log": ("applog", "node-03", None, "ok"),
        "out/train_rank_5.log": ("applog", None, 5, "ok"),
        "out/merged.log": ("applog", None, None, "ok"),
        "README.md": ("applog", None, None, "skipped"),
        "run.sh": ("applog", None, None, "skipped"),
        ".git": ("applog", None, None, "skipped"),
        ".hidden": ("applog", None, None, "skipped"),
        "model.bin": ("applog", None, None, "skipped"),
        "old.tar": ("applog", None, None, "skipped"),
    }
    assert streams["README.md"].reason == "is not evidence, by its name"
    assert streams[".git"].reason == "is hidden"


def test_links_are_followed_once(tmp_path: Path) -> None:
    outside = make(tmp_path / "pods", {"node-05.log": b"x"})
    root = make(tmp_path / "logs", {"a/node-01.log": b"x"})
    (root / "a" / "loop").symlink_to(root)
    (root / "latest.log").symlink_to(root / "a" / "node-01.log")
    (root / "pods").symlink_to(outside)
    (outside / "back").symlink_to(outside)
    (root / "gone.log").symlink_to(root / "nowhere" / "x")
    (root / "self.log").symlink_to(root / "self.log")
    told = {name: s.status.value for name, s in by_name(read(root)).items()}
    assert told == {
        "a/node-01.log": "ok",
        "a/loop": "skipped",
        "latest.log": "skipped",
        "pods/node-05.log": "ok",
        "pods/back": "skipped",
        "gone.log": "error",
        "self.log": "error",
    }


def test_devices_and_pipes_are_not_opened(tmp_path: Path) -> None:
    root = make(tmp_path / "logs", {"node-01.log": b"x"})
    os.mkfifo(root / "pipe.log")
    assert by_name(read(root))["pipe.log"].reason == "is no regular file"


@pytest.mark.parametrize("folder", ["", "applog/"])
def test_names_of_any_bytes_can_be_shown(tmp_path: Path, folder: str) -> None:
    root = make(tmp_path / "logs", {folder + "a\x1b[31m\n.log": b"x"})
    with (root / folder / os.fsdecode(b"b\xff.log")).open("wb") as file:
        file.write(b"y")
    names = [stream.key.stream for stream in read(root).streams]
    assert names == [folder + "a?[31m?.log", folder + "b?.log"]


def test_damage_is_told_and_the_bundle_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(os.urandom(300_000).hex().encode())
    root = make(
        tmp_path / "b",
        {
            "applog/node-01.log.gz": b"\x1f\x8b" + b"\xff" * 90,
            "applog/node-02.log.gz": packed[:2000],
            "applog/node-03.log.gz": packed[:-1000],
            "applog/node-04.log": b"x",
            "syslog/node-05.log": KERNEL,
        },
    )
    real = open_plain

    def refused(path: Path) -> object:
        if path.name == "node-04.log":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(reader, "open_plain", refused)
    streams = by_name(read(root))
    broken = streams["applog/node-01.log.gz"]
    assert (broken.status, broken.reason, broken.segments) == (Status.ERROR, "is not valid gzip", ())
    cut = streams["applog/node-02.log.gz"]
    assert cut.status is Status.PARTIAL and str(cut.reason).startswith("compressed data ends early after ")
    assert (streams["applog/node-04.log"].status, streams["applog/node-04.log"].reason) == (
        Status.ERROR,
        "Permission denied",
    )
    late = streams["applog/node-03.log.gz"]  # the damage lies behind the start: whoever reads it meets it
    assert late.status is Status.OK
    with late.segments[0].open() as file, pytest.raises(DamagedStream):
        while file.read(1 << 16):
            pass


def test_a_single_file(tmp_path: Path) -> None:
    make(
        tmp_path, {"node-02.log.gz": gzip.compress(KERNEL), "job.out": NCCL + b"[rank4]: x\n", "syslog/x1.log": b"text"}
    )
    (stream,) = read(tmp_path / "node-02.log.gz").streams
    assert (stream.key.source, stream.key.node, stream.key.stream) == (Source.SYSLOG, "node-02", "node-02.log.gz")
    assert stream.node_is_guess, "outside a source folder, the job itself may have written it"
    evidence = read(tmp_path / "job.out")
    (stream,) = evidence.streams
    assert (stream.key.source, stream.key.node, stream.key.rank) == (Source.APPLOG, "node-03", 4)
    assert evidence.context.workload_id == "job"
    assert read(tmp_path / "syslog" / "x1.log").streams[0].key.source is Source.SYSLOG


def test_an_empty_file_is_empty_evidence(tmp_path: Path) -> None:
    path = make(tmp_path, {"node-01.log": b""}) / "node-01.log"
    (stream,) = read(path).streams
    assert (stream.status, stream.segments) == (Status.EMPTY, ())


def test_another_context_can_be_given(tmp_path: Path) -> None:
    make(tmp_path, {"node-01.log": b"x", "ctx.yaml": b"workload_id: other\nnodes: [{name: node-01}]"})
    evidence = read(tmp_path / "node-01.log", tmp_path / "ctx.yaml")
    assert evidence.context.workload_id == "other" and not evidence.streams[0].node_is_guess


def test_errors_say_what_where_and_what_to_do(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "broken.log.gz": b"\x1f\x8b" + b"\xff" * 90,
            "cut.log.gz": gzip.compress(b"hello")[:11],
            "no.tar.gz": b"hello",
            "no.tgz": b"\x1f\x8b" + b"\xff" * 90,
            "core": b"\x7fELF",
            "skipped/README.md": b"x",
            "latin/context.yaml": b"workload_id: caf\xe9",
            "latin/applog/node-01.log": b"x",
        },
    )
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    remedy = "(give a folder, a log file, or a .tar, .tar.gz or .tar.zst archive)"
    expected = {
        "nowhere": "B001 does not exist (check the path)",
        "core/x": "B001 does not exist (check the path)",
        "pipe": f"B002 is neither a file nor a folder {remedy}",
        "broken.log.gz": "B004 cannot be decompressed: is not valid gzip (copy the file again)",
        "cut.log.gz": "B004 cannot be decompressed: compressed data ends early after 0 bytes (copy the file again)",
        "empty": "B005 holds no evidence (put logs into it, such as applog/node-01.log or syslog/node-01.log)",
        "skipped": "B005 holds no evidence: all 1 files were passed over "
        "(put logs into it, such as applog/node-01.log or syslog/node-01.log)",
        "no.tar.gz": f"B006 is not a tar archive: truncated header {remedy}",
        "no.tgz": f"B006 is not a tar archive: is not valid gzip {remedy}",
        "core": f"B008 is no log: it is a program or core dump (ELF) {remedy}",
    }
    for name, message in expected.items():
        with pytest.raises(EvidenceError) as caught:
            read(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: {message}"
        assert caught.value.exit_code == 3
    with pytest.raises(EvidenceError) as caught:
        read(tmp_path / "latin")
    assert str(caught.value) == f"{tmp_path / 'latin'}/context.yaml: B009 is not UTF-8 text (save it as UTF-8)"
    with pytest.raises(EvidenceError, match="B001 does not exist"):
        read(tmp_path / "latin", tmp_path / "no-context.yaml")
    with pytest.raises(EvidenceError, match="B003 cannot be read: File name too long"):
        read(tmp_path / ("x" * 300))


def test_an_unreadable_single_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path, {"node-01.log": b"x"}) / "node-01.log"

    def refused(self: Path, *_: object) -> object:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(EvidenceError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: B003 cannot be read: Permission denied (check the path and its permissions)"


def test_a_wrong_context_is_a_coded_error_with_its_place(tmp_path: Path) -> None:
    root = make(tmp_path / "b", {"context.yaml": b"workload_id: w\nnods: []\n", "applog/node-01.log": b"x"})
    with pytest.raises(ConfigurationError) as caught:
        read(root)
    assert str(caught.value) == f"{root}/context.yaml:2:1: D011 has the unknown key `nods` (did you mean `nodes`?)"


def test_wide_bundles_hold_no_file_open(tmp_path: Path) -> None:
    root = make(
        tmp_path / "wide", {f"applog/node-{i // 8:04}.rank{i}.log": b"[rank%d]: step 1\n" % i for i in range(8000)}
    )
    before = len(list(Path("/proc/self/fd").iterdir()))
    with open_bundle(root) as evidence:
        assert len(evidence.streams) == 8000
        assert len(evidence.context.nodes) == 1000
        assert len(list(Path("/proc/self/fd").iterdir())) <= before
        assert data_of(evidence.streams[-1]) == b"[rank7999]: step 1\n"


def test_formats_are_sniffed_inside_source_folders(tmp_path: Path) -> None:
    root = make(tmp_path / "b", {"syslog/node-01.json": b'{"__REALTIME_TIMESTAMP":"1","_HOSTNAME":"node-01"}\n'})
    (stream,) = read(root).streams
    assert (stream.format, stream.key.node, stream.node_is_guess) == (Format.JOURNAL_JSON, "node-01", False)
