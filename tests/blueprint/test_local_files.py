"""Files are found by patterns, only those of the attempt, and what is missing or refused is said."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from attribution.blueprint.attempt import Attempt, Bundle
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.logs.local_files import LocalFiles, LocalFilesSettings
from attribution.blueprint.connectors.logs.patterns import look
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan

Write = Callable[..., Path]
PLAN = CollectionPlan(catalog_digest="d")


def attempt(workload_id: str = "job-7", nodes: dict[str, list[int]] | None = None, **fields: object) -> Attempt:
    named = {"node-01": [], "node-02": []} if nodes is None else nodes
    listed = [{"name": name, "ranks": ranks} for name, ranks in named.items()]
    context = ExecutionContext.model_validate({"workload_id": workload_id, "nodes": listed, **fields})
    return Attempt(context, "test")


def collected(tmp_path: Path, of: Attempt, *patterns: str, **settings: object) -> list[Observation]:
    files = [dict(zip(("source", "path"), pattern.split(" ", 1), strict=True)) for pattern in patterns]
    files = [{**file, "path": f"{tmp_path}/{file['path']}"} for file in files]
    collector = LocalFiles(LocalFilesSettings.model_validate({"files": files, **settings}))
    return list(collector.collect(of, PLAN, lambda: False))


def told(tmp_path: Path, found: list[Observation]) -> list[tuple[object, ...]]:
    """What matters of observations, without the test's folder."""
    return [
        (o.source.value, o.node, o.rank, o.stream.replace(f"{tmp_path}/", ""), o.body, o.status.value, o.reason)
        for o in found
    ]


def test_each_node_has_its_own_files(tmp_path: Path, write: Write) -> None:
    write("node-01/messages", "one\n")
    write("node-02/messages", "two\n")
    write("node-03/messages", "three\n")
    assert told(tmp_path, collected(tmp_path, attempt(), "syslog {node}/messages")) == [
        ("syslog", "node-01", None, "node-01/messages", "one\n", "ok", None),
        ("syslog", "node-02", None, "node-02/messages", "two\n", "ok", None),
    ]


def test_a_missing_file_is_said_for_each_source_and_node(tmp_path: Path, write: Write) -> None:
    write("node-01/messages", "one\n")
    found = collected(tmp_path, attempt(), "syslog {node}/messages*", "bmc {node}/sel", "scheduler slurm/{workload_id}")
    assert told(tmp_path, found)[1:] == [
        ("syslog", "node-02", None, "node-02/messages*", "", "empty", "no file has such a name"),
        ("bmc", "node-01", None, "node-01/sel", "", "empty", "no file has such a name"),
        ("bmc", "node-02", None, "node-02/sel", "", "empty", "no file has such a name"),
        ("scheduler", None, None, "slurm/job-7", "", "empty", "no file has such a name"),
    ]


def test_several_patterns_of_one_source_are_one_question(tmp_path: Path, write: Write) -> None:
    write("node-01/kern.log", "k\n")
    found = collected(tmp_path, attempt(nodes={"node-01": []}), "syslog {node}/messages", "syslog {node}/kern.log")
    assert [o.status.value for o in found] == ["ok"]


def test_only_files_of_the_attempt_are_read(tmp_path: Path, write: Write) -> None:
    for name in ("job-7.1.log", "job-7.2.log", "job-70.1.log", "job-6.1.log", "[ab].1.log"):
        write(name, name)
    of = attempt(attempt=2)
    assert [o.body for o in collected(tmp_path, of, "applog {workload_id}.{attempt}.log")] == ["job-7.2.log"]
    # A workload's name is a name, not a pattern.
    assert [o.body for o in collected(tmp_path, attempt("[ab]"), "applog {workload_id}.1.log")] == ["[ab].1.log"]
    assert [o.status.value for o in collected(tmp_path, attempt("*"), "applog {workload_id}.1.log")] == ["empty"]


@pytest.mark.parametrize("name", ["../secret", "..", "a/b", "/etc/passwd", "a\0b"])
def test_a_name_that_leads_elsewhere_is_not_followed(tmp_path: Path, write: Write, name: str) -> None:
    write("secret/log", "secret\n")
    (tmp_path / "jobs").mkdir()
    (found,) = collected(tmp_path, attempt(name), "applog jobs/{workload_id}/log")
    assert (found.body, found.status.value) == ("", "error")
    assert found.reason is not None and "cannot stand in a path" in found.reason


def test_ranks_are_read_from_the_names(tmp_path: Path, write: Write) -> None:
    for rank in (0, 1, 3, 10):
        write(f"node-01.rank{rank}.log", f"rank {rank}\n")
    pattern = "applog {node}.rank{rank}.log"
    known = collected(tmp_path, attempt(nodes={"node-01": [0, 1, 2, 3, 5]}), pattern)
    assert [(o.rank, o.body) for o in known] == [(0, "rank 0\n"), (1, "rank 1\n"), (3, "rank 3\n"), (None, "")]
    assert (known[-1].status.value, known[-1].reason) == ("partial", "no file has the name of ranks 2, 5")
    unknown = collected(tmp_path, attempt(nodes={"node-01": []}), pattern)
    assert sorted(o.rank or 0 for o in unknown) == [0, 1, 3, 10]
    assert {o.status.value for o in unknown} == {"ok"}


def test_many_missing_ranks_are_counted(tmp_path: Path, write: Write) -> None:
    write("node-01.rank0.log", "rank 0\n")
    *_, last = collected(tmp_path, attempt(nodes={"node-01": list(range(100))}), "applog {node}.rank{rank}.log")
    assert last.reason == "no file has the name of ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 89 more"


def test_a_node_is_also_looked_for_by_its_aliases(tmp_path: Path, write: Write) -> None:
    write("10.0.0.1/messages", "one\n")
    context = {"workload_id": "job-7", "nodes": [{"name": "node-01", "aliases": ["node-01.example", "10.0.0.1"]}]}
    of = Attempt(ExecutionContext.model_validate(context), "test")
    (found,) = collected(tmp_path, of, "syslog {node}/messages")
    assert (found.node, found.body) == ("node-01", "one\n")


def test_without_nodes_the_names_of_folders_are_those_of_nodes(tmp_path: Path, write: Write) -> None:
    write("logs/alpha/job-7.log", "a\n")
    write("logs/beta/job-7.log", "b\n")
    write("logs/.hidden/job-7.log", "no\n")
    found = collected(tmp_path, attempt(nodes={}), "applog logs/{node}/{workload_id}.log")
    assert [(o.node, o.node_is_guess, o.body) for o in found] == [("alpha", False, "a\n"), ("beta", False, "b\n")]


def test_what_cannot_be_read_is_an_error_and_no_file_is_not_silent(tmp_path: Path, write: Write) -> None:
    (tmp_path / "node-01").mkdir()
    loop = tmp_path / "node-01" / "messages"
    loop.symlink_to(loop)
    (tmp_path / "node-02").symlink_to(tmp_path / "node-02")
    found = told(tmp_path, collected(tmp_path, attempt(), "syslog {node}/messages"))
    assert [(node, status) for _, node, _, _, _, status, _ in found] == [("node-01", "error"), ("node-02", "error")]
    assert "symbolic links" in str(found[0][-1])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_an_error(tmp_path: Path, write: Write) -> None:
    write("node-01/messages", "one\n").parent.chmod(0)
    try:
        (found,) = collected(tmp_path, attempt(nodes={"node-01": []}), "syslog {node}/mess*")
    finally:
        (tmp_path / "node-01").chmod(0o700)
    assert (found.status.value, found.reason) == ("error", "Permission denied")


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, write: Write) -> None:
    os.mkfifo(tmp_path / "node-01.log")
    (found,) = collected(tmp_path, attempt(nodes={"node-01": []}), "syslog {node}.log")
    assert (found.node, found.status.value, found.reason) == ("node-01", "skipped", "is no regular file")


def test_a_damaged_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    import gzip

    data = gzip.compress(b"".join(b"line %d\n" % number for number in range(20_000)))
    (tmp_path / "node-01.log.gz").write_bytes(data[: len(data) // 2])
    found = collected(tmp_path, attempt(nodes={"node-01": []}), "syslog {node}.log*")
    assert found[-1].status.value == "partial" and "ends early" in str(found[-1].reason)
    assert found[0].body.startswith("line 0\n")


def test_stamps_are_read_as_the_pattern_says(tmp_path: Path, write: Write) -> None:
    write("node-01.log", "one\n")
    files = [{"source": "syslog", "path": f"{tmp_path}/{{node}}.log", "clock": {"zone": "+02:00", "year": 2026}}]
    collector = LocalFiles(LocalFilesSettings.model_validate({"files": files}))
    (found,) = collector.collect(attempt(nodes={"node-01": []}), PLAN, lambda: False)
    assert found.clock is not None and (found.clock.zone, found.clock.year) == ("+02:00", 2026)


def test_observations_are_bounded(tmp_path: Path, write: Write) -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    write("node-01.log", text)
    found = collected(tmp_path, attempt(nodes={"node-01": []}), "syslog {node}.log", piece_bytes=1024)
    assert len(found) > 5 and max(len(o.body) for o in found) <= 1024
    assert "".join(o.body for o in found) == text


def test_a_bundle_that_is_gone_is_an_error_of_the_connector(tmp_path: Path) -> None:
    collector = LocalFiles(LocalFilesSettings())
    of = Attempt(attempt().context, "test", Bundle(tmp_path / "gone"))
    with pytest.raises(ConnectorError, match="gone: B001 does not exist"):
        list(collector.collect(of, PLAN, lambda: False))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/logs/{nod}/a", "has the placeholder `{nod}`; known: {workload_id}, {attempt}, {node}, {rank}"),
        ("/logs/**/a", "has `**`"),
        ("/logs/{node", "has a brace that does not match"),
        ("/logs/{node}/{node}", "has the same placeholder twice"),
        ("/", "names no file"),
        ("", "names no file"),
    ],
)
def test_patterns_that_cannot_be_used(path: str, why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        LocalFilesSettings.model_validate({"files": [{"source": "syslog", "path": path}]})
    assert why in str(caught.value)


def test_looking_does_not_depend_on_the_order_of_a_folder(tmp_path: Path, write: Write) -> None:
    for name in ("b/2.log", "a/9.log", "a/10.log", "c/x.txt", "d.log/1.log"):
        write(name)
    found = look(f"{tmp_path}/*/*.log", {})
    assert [str(match.path.relative_to(tmp_path)) for match in found.matches] == [
        "a/10.log", "a/9.log", "b/2.log", "d.log/1.log",
    ]  # fmt: skip


def test_a_relative_pattern_begins_where_the_command_runs(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("logs/node-01.log", "one\n")
    monkeypatch.chdir(tmp_path)
    assert [str(match.path) for match in look("logs/*.log", {}).matches] == ["logs/node-01.log"]
    assert [str(match.path) for match in look("*/node-01.log", {}).matches] == ["logs/node-01.log"]
