"""The start of a file tells its format, its source, the hosts and the rank."""

import gzip
import io
import json
import pickle
import random
import tarfile

import pytest

from attribution.bundle.origin import find_hosts, find_rank, find_source, metric_source
from attribution.bundle.sniff import HEAD_BYTES, find_format, why_no_log
from attribution.contracts.vocabulary import Format, Source

from tests.work import ends

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker-0"}}
MATRIX = {"resultType": "matrix", "result": [{"metric": {"__name__": "DCGM_FI_DEV_XID_ERRORS"}, "values": [[1, "79"]]}]}
SACCT = {"meta": {"Slurm": {"release": "25.11"}}, "errors": [], "jobs": [{"association": {}, "job_id": 7}]}
LOKI = [{"stream": {"job": "train"}, "values": [["1777863998000000000", "step 1"]]}]
RECORDER = {"version": "2.4", "pg_config": {}, "entries": [{"collective_seq_id": 1}]}
JOURNAL = {"__REALTIME_TIMESTAMP": "1777863998000000", "_HOSTNAME": "node-01", "MESSAGE": "NVRM: Xid"}
DOCKER = {"log": "step 1\n", "stream": "stdout", "time": "2026-05-04T03:06:58Z"}
FORMATS = [
    (POD, Format.KUBERNETES_OBJECTS),
    ({"apiVersion": "v1", "kind": "List", "items": [POD]}, Format.KUBERNETES_OBJECTS),
    ([POD], Format.KUBERNETES_OBJECTS),
    ({"status": "success", "data": MATRIX}, Format.PROMETHEUS_METRICS),
    (MATRIX["result"], Format.PROMETHEUS_METRICS),
    (SACCT, Format.SACCT_JSON),
    ({"meta": {}, "jobs": []}, Format.SACCT_JSON),
    (LOKI, Format.RAW_LOKI_STREAMS),
    ({"streams": LOKI}, Format.RAW_LOKI_STREAMS),
    ({"status": "success", "data": {"resultType": "streams", "result": LOKI}}, Format.RAW_LOKI_STREAMS),
    (RECORDER, Format.NCCL_FLIGHT_RECORDER),
    (JOURNAL, Format.JOURNAL_JSON),
    (DOCKER, Format.KUBERNETES_JSON),
    ({"message": "step 1", "kubernetes": {"host": "node-01"}}, Format.KUBERNETES_JSON),
    ({"level": "info", "msg": '"apiVersion": "kind":'}, Format.TEXT),
    ([1, 2], Format.TEXT),
    ([], Format.TEXT),
]


@pytest.mark.parametrize(("value", "form"), FORMATS)
def test_json_formats_compact_indented_and_cut(value: object, form: Format) -> None:
    assert find_format(json.dumps(value).encode()) is form
    assert find_format(b"\xef\xbb\xbf\n" + json.dumps(value, indent=2).encode()) is form
    assert find_format((json.dumps(value) + "\n").encode() * 3) is form


@pytest.mark.parametrize("value", [MATRIX, {**SACCT, "jobs": SACCT["jobs"] * 9000}, [POD] * 9000, LOKI * 9000])  # type: ignore[operator]
def test_json_longer_than_the_head(value: object) -> None:
    text = json.dumps(value, indent=1).encode()
    assert find_format(text[:HEAD_BYTES]) is find_format(text)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("", Format.TEXT),
        ("step 1 loss 0.5\n", Format.TEXT),
        ("[2026-05-04 03:06:58] step 1\n", Format.TEXT),
        ('[rank0]: {"apiVersion": 1, "kind": 2}\n', Format.TEXT),
        ("2026-05-04T03:06:58.112Z stdout F step 1\n", Format.TEXT),
        ("loss 0.5\n", Format.TEXT),
        ("JobID|State|ExitCode|NodeList\n7|FAILED|1:0|node-01\n", Format.SACCT_PARSABLE2),
        ("JobIDRaw|JobName|State|\n", Format.SACCT_PARSABLE2),
        ("Account|JobID|State\n", Format.SACCT_PARSABLE2),
        ("# HELP up Whether it is up.\n# TYPE up gauge\nup 1\n", Format.PROMETHEUS_METRICS),
        ('DCGM_FI_DEV_XID_ERRORS{gpu="0"} 79 1777863998000\n', Format.PROMETHEUS_METRICS),
        ('a{b="c"} 1\nTraceback (most recent call last):\n', Format.TEXT),
        ("[" * 70_000, Format.TEXT),
        ('{"a":' * 20_000, Format.TEXT),
    ],
)
def test_text_formats(text: str, form: Format) -> None:
    assert find_format(text.encode()[:HEAD_BYTES]) is form


def test_what_is_no_log() -> None:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    binary = random.Random(1).randbytes(5000)
    reasons = {
        b"\x7fELF\x02": "is a program or core dump (ELF)",
        b"\x89PNG\r\n": "is an image (PNG)",
        b"PK\x03\x04": "is a zip file, such as a checkpoint",
        b"SQLite format 3\0": "is an SQLite database",
        pickle.dumps({"entries": [1, 2]}, 2): "is a pickle dump, which is never unpickled; write the dump as JSON",
        pickle.dumps({"entries": [1, 2]}, 5): "is a pickle dump, which is never unpickled; write the dump as JSON",
        "step 1".encode("utf-16"): "is UTF-16 text; convert it to UTF-8",
        "step 1 and more".encode("utf-16-le"): "is binary data or UTF-16 text without a mark",
        tar.getvalue(): "is an archive; unpack it first",
        gzip.compress(b"x"): "is compressed twice; decompress it once",
        b"." + binary: "is binary data",
        b'{"schema_version":"1.0","workload_id":"a","terminal_state":"failed"}': "is a diagnosis, not evidence",
    }
    assert {data: why_no_log(data) for data in reasons} == reasons


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 60_000,
        b"\0" * 60_000 + b"step 1\n",
        b"step 1\0\0\0\0\n" * 9,
        b"\x1b[31mred\x1b[0m\r 10%\r 20%\b\b\n" * 50,
        b"caf\xe9 \xff\xfe\xfd " * 50,
        "训练开始\n".encode() * 50,
        b"\x01\x02",
    ],
)
def test_a_damaged_log_is_still_a_log(data: bytes) -> None:
    assert why_no_log(data) is None


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("May  4 03:06:58 node-01 kernel: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.", Source.SYSLOG),
        ("2026-05-04T03:06:58.1+00:00 node-01 systemd[1]: Started.", Source.SYSLOG),
        ("<4>1 2026-05-04T03:06:58Z node-01 app 1 - - text", Source.SYSLOG),
        ("[430954.509105] NVRM: Xid (PCI:0000:1b:00): 48, text", Source.SYSLOG),
        ("[  +0.000844] nvidia 0000:03:00.0: AER: can't recover", Source.SYSLOG),
        ("[Mon May 4 03:06:58 2026] nvidia-nvswitch1: SXid", Source.SYSLOG),
        ("6,3964,206764307,-;NVRM: text", Source.SYSLOG),
        ("kern  :warn  : 2026-05-04T03:06:58,283302+00:00 NVRM: text", Source.SYSLOG),
        ("[Jul 23 2026 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034", Source.FABRIC_MANAGER),
        ("slurmctld: error: Nodes node-01 not responding", Source.SCHEDULER),
        ("[2026-05-04T03:06:58.112] error: Nodes node-01 not responding, setting DOWN", Source.SCHEDULER),
        ("JobId=7 JobName=train\n   UserId=alice(1000)", Source.SCHEDULER),
        ("1 | 05/04/2026 | 03:06:58 | Memory #0x53 | Uncorrectable ECC | Asserted", Source.BMC),
        ("step 1 loss 0.5", Source.APPLOG),
        ("2026-05-04T03:06:58Z INFO worker[12]: step", Source.APPLOG),
        ("", Source.APPLOG),
    ],
)
def test_sources_of_text(text: str, source: Source) -> None:
    assert find_source(text.encode(), Format.TEXT) is source


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (json.dumps(MATRIX), Source.NODE_METRICS),
        (
            '# TYPE node_infiniband_link_downed_total counter\nnode_infiniband_link_downed_total{port="1"} 1',
            Source.NETWORK_METRICS,
        ),
        ('# TYPE up gauge\nup 1\nDCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{gpu="0"} 1', Source.NODE_METRICS),
        ('[{"metric":{"device":"mlx5_0","port":"1"},"value":[1,"1"]}]', Source.NETWORK_METRICS),
        ("no metrics here", Source.NODE_METRICS),
    ],
)
def test_metrics_are_told_apart_by_their_names(text: str, source: Source) -> None:
    assert metric_source(text.encode()) is source


def test_hosts_by_who_names_them() -> None:
    hosts = find_hosts(
        b"May  4 03:06:58 node-01 kernel: text\n"
        b"node-02:12:34 [0] NCCL INFO Bootstrap\n"
        b"[2026-05-04 03:06:58] node-03:12:34 [1] transport.cc:12 NCCL WARN text\n"
        b"[0]: node-03:12:34 [1] NCCL INFO x\n"
        b"  host      : node-04.example.org\n"
        b"srun: error: node-05: task 0: Exited with exit code 1\n"
        b"srun: error: node-06: tasks 0-7: Killed\n"
        b"10.0.0.1:12:34 [0] NCCL INFO x\n"
    )
    assert hosts.writers == {"node-01"}
    assert hosts.speakers == {"node-02", "node-03", "node-04.example.org", "10.0.0.1"}
    assert hosts.mentioned == {"node-05", "node-06"}
    assert find_hosts(json.dumps(JOURNAL).encode()).writers == {"node-01"}


def test_a_rank_only_if_all_tags_agree() -> None:
    assert find_rank(b"[rank3]: a\nno tag\n[rank3]:[W] b") == 3
    assert find_rank(b"[Rank 3] Watchdog") == 3
    assert find_rank(b"[1,2]<stderr>: a") == 2
    assert find_rank(b"[rank3]: a\n[rank4]: b") is None
    assert find_rank(b"[default3]: local rank") is None
    assert find_rank(b"") is None


@pytest.mark.parametrize(
    "unit", [b"a", b"a:", b"[", b"{", b'"', b" host ", b" NCCL ", b"a.", b"1:1:", b"\n", b"a|", b'a{"} ']
)
def test_hostile_heads_make_nothing_backtrack(unit: bytes) -> None:
    head = (unit * HEAD_BYTES)[:HEAD_BYTES]
    with ends():
        why_no_log(head)
        form = find_format(head)
        find_source(head, form)
        find_hosts(head)
        find_rank(head)
        metric_source(head)
