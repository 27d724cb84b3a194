"""A node is excluded only on a line that the system of that node wrote while the attempt ran."""

from pathlib import Path

import pytest

from attribution.bundle.reader import open_bundle
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

XID = "NVRM: Xid (PCI:0000:52:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
CONTEXT = """\
workload_id: job-7
started_at: 2026-05-04T03:00:00Z
ended_at: 2026-05-04T04:00:00Z
nodes: [{name: node-01}, {name: node-02}]
"""
STAMP = "2026-05-04T03:30:00.000000+00:00"


@pytest.mark.parametrize(
    ("file", "line", "context", "excluded"),
    [
        ("syslog/node-01.log", f"{STAMP} node-01 kernel: {XID}", CONTEXT, ("node-01",)),
        ("syslog/node-01.log", f"{STAMP} node-01 train.py[4242]: {XID}", CONTEXT, ()),
        ("syslog/node-01.log", f"{STAMP} node-02 kernel: {XID}", CONTEXT, ()),
        ("syslog/node-01.log", f"{STAMP} node-77 kernel: {XID}", CONTEXT, ()),
        ("syslog/node-99.log", f"{STAMP} node-99 kernel: {XID}", CONTEXT, ()),
        ("applog/node-01.log", f"{STAMP} node-01 kernel: {XID}", CONTEXT, ()),
        ("job-991.out", f"{STAMP} node-01 kernel: {XID}", CONTEXT, ()),
        ("syslog/node-01.log", f"2026-05-01T03:30:00+00:00 node-01 kernel: {XID}", CONTEXT, ()),
        ("syslog/node-01.log", f"May  4 03:30:00 node-01 kernel: {XID}", CONTEXT, ()),
        ("syslog/node-01.log", f"[  102.331] {XID}", CONTEXT, ()),
        ("syslog/node-01.log", f"{STAMP} node-01 kernel: {XID}", "workload_id: job-7\n", ()),
    ],
    ids=[
        "the kernel, during the attempt",
        "another program under its own name",
        "another node's header in this node's log",
        "a header of nobody",
        "no node of the attempt",
        "the job's own log",
        "outside a source folder",
        "three days before",
        "zone unknown",
        "seconds since boot",
        "nothing says when the attempt ran",
    ],
)
def test_what_excludes_a_node(
    tmp_path: Path, shipped: RuleSets, file: str, line: str, context: str, excluded: tuple[str, ...]
) -> None:
    (tmp_path / "context.yaml").write_text(context)
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(line + "\n")
    with open_bundle(tmp_path) as evidence:
        assert diagnose(evidence, shipped).exclude_nodes == excluded


@pytest.mark.parametrize(
    ("stamp", "context", "reason"),
    [
        ("May  4 03:30:00", CONTEXT, "the time of the line is not known well enough to belong to the attempt"),
        (
            STAMP,
            CONTEXT.replace("ended_at: 2026-05-04T04:00:00Z\n", ""),
            "the line was written outside the time in which the attempt is known to have run",
        ),
    ],
    ids=["a line of no zone", "an attempt whose end is not known"],
)
def test_what_holds_a_node_back_is_told(
    tmp_path: Path, shipped: RuleSets, stamp: str, context: str, reason: str
) -> None:
    (tmp_path / "context.yaml").write_text(context)
    (tmp_path / "syslog").mkdir()
    (tmp_path / "syslog" / "node-01.log").write_text(f"{stamp} node-01 kernel: {XID}\n")
    with open_bundle(tmp_path) as evidence:
        trace = diagnose(evidence, shipped).trace
    assert [entry.reason for entry in trace if entry.rule == "exclude-nodes"] == [f"not node-01: {reason}"]
