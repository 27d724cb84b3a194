"""File names give node, rank and stream."""

import pytest

from attribution.bundle.names import NodeNames, looks_like_host, parse_name
from attribution.contracts.context import Node

KNOWN = NodeNames(
    [
        Node(name="node-01", aliases=("node-01.example.org", "10.0.0.1")),
        Node(name="node-02.example.org"),
        Node(name="a.b"),
    ]
)


@pytest.mark.parametrize(
    ("name", "node", "certain", "rank", "stream"),
    [
        ("node-01.rank3.stderr.log.zst", "node-01", False, 3, "stderr"),
        ("node-01.s1.log", "node-01", False, None, "s1"),
        ("node-01.log", "node-01", False, None, ""),
        ("node-01", "node-01", False, None, ""),
        ("node-01.gz", "node-01", False, None, ""),
        ("node-01.log.1", "node-01", False, None, "log"),
        ("10.0.0.1.log", "10.0.0.1", False, None, ""),
        ("10.0.0.1", "10.0.0.1", False, None, ""),
        ("10.0.0.1.stderr.log", "10.0.0.1", False, None, "stderr"),
        ("10.0.0.1.rank2.log", "10.0.0.1", False, 2, ""),
        ("rank7.log", None, False, 7, ""),
        ("node-01.example.org.rank0.out", "node-01.example.org", False, 0, ""),
        ("node-01-rank4.log", "node-01", False, 4, ""),
        ("nccl_trace_rank_12", None, False, 12, ""),
        ("node-01.local_rank3.log", "node-01", False, None, "local_rank3"),
        ("node-01.rankings.log", "node-01", False, None, "rankings"),
        ("stderr.log", None, False, None, "stderr"),
        ("slurm-1234.out", None, False, None, "slurm-1234"),
        ("slurm-1234.rank1.out", None, False, 1, ""),
        ("sacct.json", None, False, None, "sacct"),
        ("kubelet.log", None, False, None, "kubelet"),
        ("gpu-017.log", "gpu-017", False, None, ""),
        ("train_v2.log", None, False, None, "train_v2"),
        ("2026-05-04.log", None, False, None, "2026-05-04"),
        (".log", None, False, None, "log"),
    ],
)
def test_without_a_context(name: str, node: str | None, certain: bool, rank: int | None, stream: str) -> None:
    parsed = parse_name(name, NodeNames())
    assert (parsed.node, parsed.certain, parsed.rank, parsed.stream) == (node, certain, rank, stream)


@pytest.mark.parametrize(
    ("name", "node", "rank", "stream"),
    [
        ("node-01.rank3.stderr.log.zst", "node-01", 3, "stderr"),
        ("NODE-01.log", "node-01", None, ""),
        ("node-01.example.org.log", "node-01", None, ""),
        ("node-01.example.org.s1.log", "node-01", None, "s1"),
        ("node-01.example.org", "node-01", None, ""),
        ("10.0.0.1.log", "node-01", None, ""),
        ("node-02.log", "node-02.example.org", None, ""),
        ("node-02.example.org.rank1.log", "node-02.example.org", 1, ""),
        ("a.b.log", "a.b", None, ""),
        ("a.b.rank0.log", "a.b", 0, ""),
    ],
)
def test_names_and_aliases_of_the_context(name: str, node: str, rank: int | None, stream: str) -> None:
    parsed = parse_name(name, KNOWN)
    assert (parsed.node, parsed.certain, parsed.rank, parsed.stream) == (node, True, rank, stream)


def test_lines_confirm_a_name() -> None:
    assert parse_name("node-09.log", KNOWN).certain is False
    assert parse_name("node-09.log", KNOWN, {"node-09"}).certain is True
    assert parse_name("node-09.log", KNOWN, {"node-09.example.org"}).certain is True
    assert parse_name("node-09.log", KNOWN, {"node-08"}).certain is False
    assert parse_name("node-09.s1.log", KNOWN, {"node-09"}).stream == "s1"
    full = parse_name("node-09.example.org.log", KNOWN, {"node-09.example.org"})
    assert (full.node, full.certain, full.stream) == ("node-09.example.org", True, "")
    assert parse_name("10.0.0.7.log", KNOWN, {"10.0.0.8"}).certain is False


def test_a_short_name_of_two_nodes_names_neither() -> None:
    names = NodeNames([Node(name="n1.a.org"), Node(name="n1.b.org")])
    assert names.exact("n1") is None
    assert names.known("n1.a.org") == "n1.a.org"


def test_a_word_is_a_host_only_where_files_are_per_node() -> None:
    assert looks_like_host("alpha", needs_digit=False) and not looks_like_host("alpha")
    assert parse_name("alpha.log", NodeNames(), needs_digit=True).node is None
    assert parse_name("alpha.log", NodeNames(), needs_digit=False).node == "alpha"
    assert not looks_like_host("x" * 300 + "1") and not looks_like_host("a b1") and not looks_like_host("")
