"""Files are found by patterns, only those of the attempt, and what is missing or refused is said."""

import gzip
import io
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest
import zstandard
from hypothesis import example, given, strategies
from hypothesis import settings as settings_of_search
from pydantic import ValidationError

from attribution.blueprint.attempt import Attempt, Bundle
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.logs import spans
from attribution.blueprint.connectors.logs.local_files import LocalFiles, LocalFilesSettings
from attribution.blueprint.connectors.logs.patterns import look
from attribution.blueprint.connectors.logs.spans import kept
from attribution.blueprint.connectors.windows import Span
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Clock, Observation
from attribution.contracts.plan import CollectionPlan

from tests.examples import examples

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
        ("/logs/{nod}/a", "has the placeholder `{nod}`; known: {workload_id}, {job_id}, {array_job_id}, "),
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


# --- names of jobs ----------------------------------------------------------------------------------------------------


def slurm(tmp_path: Path, ids: dict[str, str], *patterns: str, **fields: object) -> list[str]:
    """The bodies that are found of a job with these ids."""
    found = collected(tmp_path, attempt("any", {}, scheduler_ids=ids, **fields), *patterns)
    return [o.body or f"{o.status.value}: {o.reason}" for o in found]


def test_a_job_is_known_by_each_of_its_ids(tmp_path: Path, write: Write) -> None:
    for name in ("slurm-13.out", "slurm-11_2.out", "slurm-11.out", "slurm-24.out", "slurm-112.out", "slurm-any.out"):
        write(name, name)
    pattern = "applog slurm-{job_id}.out"
    assert slurm(tmp_path, {"job": "13"}, pattern) == ["slurm-13.out"]
    assert slurm(tmp_path, {"job": "13", "array_job": "11", "array_task": "2"}, pattern) == [
        "slurm-13.out",
        "slurm-11_2.out",
    ]
    assert slurm(tmp_path, {"job": "25", "het_job": "24"}, pattern) == ["slurm-24.out"]
    assert slurm(tmp_path, {}, pattern) == ["slurm-any.out"]
    of_array = "applog slurm-{array_job_id}_{array_task_id}.out"
    assert slurm(tmp_path, {"job": "13", "array_job": "11", "array_task": "2"}, of_array) == ["slurm-11_2.out"]
    assert slurm(tmp_path, {"job": "13"}, of_array) == ["empty: the context does not say its array_job_id"]


def test_names_and_users_of_jobs_stand_in_paths(tmp_path: Path, write: Write) -> None:
    write("alice/train-13.err", "one")
    pattern = "applog {user}/{name}-{job_id}.{stream}"
    assert slurm(tmp_path, {"job": "13"}, pattern, user="alice", name="train") == ["one"]
    assert slurm(tmp_path, {"job": "13"}, pattern, user="alice") == ["empty: the context does not say its name"]
    assert slurm(tmp_path, {"job": "13"}, pattern, user="..", name="train")[0].startswith("error: the user")


def test_steps_are_any(tmp_path: Path, write: Write) -> None:
    for name in ("13.0.log", "13.batch.log", "13.interactive.log", "13.other.log", "130.0.log"):
        write(name, name)
    assert slurm(tmp_path, {"job": "13"}, "applog {job_id}.{step}.log") == [
        "13.0.log",
        "13.batch.log",
        "13.interactive.log",
    ]


# --- rotation ---------------------------------------------------------------------------------------------------------

TIMES = {"started_at": "2026-05-04T03:00:00Z", "ended_at": "2026-05-04T04:00:00Z"}
START = datetime(2026, 5, 4, 3, tzinfo=UTC)


def touched(path: Path, at: datetime) -> Path:
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def test_rotated_and_compressed_files_are_found_by_the_name_they_had(tmp_path: Path, write: Write) -> None:
    names = ["messages", "messages.1", "messages-20260504", "messages-20260503.gz", "messages.2.zst", "messages.old"]
    names += ["messages-20260504T031500", "messages.1.swp", "messages2", "other.1"]
    for name in names:
        if name.endswith(".gz"):
            (tmp_path / name).write_bytes(gzip.compress(name.encode()))
        elif name.endswith(".zst"):
            (tmp_path / name).write_bytes(zstandard.compress(name.encode()))
        else:
            write(name, name)
    of = attempt(nodes={})
    assert sorted(o.body for o in collected(tmp_path, of, "syslog messages")) == sorted(
        name for name in names[:5] + names[6:7]
    )
    files = [{"source": "syslog", "path": f"{tmp_path}/messages", "rotated": False}]
    collector = LocalFiles(LocalFilesSettings.model_validate({"files": files}))
    assert [o.body for o in collector.collect(of, PLAN, lambda: False)] == ["messages"]


def test_a_number_behind_a_placeholder_is_no_rotation(tmp_path: Path, write: Write) -> None:
    for name in ("out.rank1", "out.rank1.1", "out.rank11"):
        write(name, name)
    found = collected(tmp_path, attempt(nodes={}), "applog out.rank{rank}")
    assert [(o.rank, o.body) for o in found] == [(1, "out.rank1"), (11, "out.rank11")]


def test_files_that_were_last_written_before_the_attempt_are_counted_and_not_read(tmp_path: Path, write: Write) -> None:
    write("messages", "now\n")
    touched(write("messages.1", "yesterday\n"), START - timedelta(hours=2))
    touched(write("messages.2", "last week\n"), START - timedelta(days=7))
    touched(write("messages.3", "just before\n"), START - timedelta(minutes=30))
    found = collected(tmp_path, attempt(nodes={}, **TIMES), "syslog messages")
    assert [(o.body, o.status.value, o.reason) for o in found] == [
        ("now\n", "ok", "2 older files were passed over, last written before the attempt"),
        ("just before\n", "ok", None),
    ]
    (tmp_path / "messages").unlink(), (tmp_path / "messages.3").unlink()
    (nothing,) = collected(tmp_path, attempt(nodes={}, **TIMES), "syslog messages")
    assert (nothing.status.value, str(nothing.reason)[:7]) == ("empty", "2 older")


def test_an_old_file_of_the_job_itself_is_read(tmp_path: Path, write: Write) -> None:
    touched(write("job-7.log", "of the job\n"), START - timedelta(days=7))
    assert [o.body for o in collected(tmp_path, attempt(nodes={}, **TIMES), "applog {job_id}.log")] == ["of the job\n"]


# --- the attempt's time ---------------------------------------------------------------------------------------------


def a_week(form: Callable[[datetime], str]) -> str:
    """A log of a week around the attempt, a line every ten seconds."""
    first = START - timedelta(days=5)
    return "".join(f"{form(first + timedelta(seconds=10 * n))} node-01 line {n}\n" for n in range(60_480))


FORMS: dict[str, Callable[[datetime], str]] = {
    "iso": lambda at: at.isoformat(),
    "no zone": lambda at: f"[{at:%Y-%m-%d %H:%M:%S},123]",
    "syslog": lambda at: f"{at:%b} {at.day:2} {at:%H:%M:%S}",
    "priority": lambda at: f"<6>{at:%b} {at.day:2} {at:%H:%M:%S}",
    "dmesg": lambda at: f"[{at:%a %b} {at.day:2} {at:%H:%M:%S %Y}]",
    "journal": lambda at: f'{{"__REALTIME_TIMESTAMP": "{int(at.timestamp())}000000", "MESSAGE": "x"}}',
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_of_a_large_shared_log_the_attempts_time_is_read(tmp_path: Path, form: str, compressed: bool) -> None:
    text = a_week(FORMS[form])
    (tmp_path / "messages").write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    found = collected(tmp_path, attempt(nodes={}, **TIMES), "syslog messages", whole_bytes=0)
    joined = "".join(o.body for o in found)
    wanted = [line for line in text.splitlines() if "line 43" in line and 43_200 <= int(line.split()[-1]) <= 43_560]
    assert all(line in joined for line in wanted) and len(wanted) == 361
    assert len(joined) < len(text) / 2, "what is of other days is read"
    offset, line = found[0].offset, found[0].first_line
    assert text.encode()[offset : offset + len(joined.encode())].decode() == joined
    assert text[:offset].count("\n") == line > 0
    left = len(text) - len(joined)
    assert found[0].reason == f"{left} of {len(text)} bytes are of other times than the attempt's and were not read"


def test_a_log_that_cannot_be_cut_by_its_stamps_is_read_whole(tmp_path: Path, write: Write) -> None:
    texts = {
        "none": "no stamp at all\n" * 30_000,
        "no date": "2026-99-99T99:99:99Z what is that\n" * 20_000,
        "no month": "Foo 12 10:00:00 what is that\n" * 20_000,
    }
    for name, text in texts.items():
        write(name, text)
        found = collected(tmp_path, attempt(nodes={}, **TIMES), f"syslog {name}", whole_bytes=0)
        assert "".join(o.body for o in found) == text, name


def test_logs_of_the_job_and_small_logs_are_read_whole(tmp_path: Path, write: Write) -> None:
    text = a_week(FORMS["iso"])
    write("job-7.log", text), write("messages", text)
    of = attempt(nodes={}, **TIMES)
    assert "".join(o.body for o in collected(tmp_path, of, "applog {job_id}.log", whole_bytes=0)) == text
    assert "".join(o.body for o in collected(tmp_path, of, "syslog messages")) == text
    unknown = attempt(nodes={})
    assert "".join(o.body for o in collected(tmp_path, unknown, "syslog messages", whole_bytes=0)) == text


def test_lines_out_of_order_are_not_lost(tmp_path: Path, write: Write) -> None:
    old = "".join(f"2026-04-01T00:00:00Z old {n}\n" for n in range(40_000))
    late = "2026-05-04T03:30:00Z the line that matters\n"
    write("messages", old + late + old)
    found = collected(tmp_path, attempt(nodes={}, **TIMES), "syslog messages", whole_bytes=0)
    assert late in "".join(o.body for o in found) and sum(len(o.body) for o in found) < len(old)


def test_a_clock_that_is_given_narrows_the_time() -> None:
    text = a_week(FORMS["no zone"]).encode()
    span = Span(START, START + timedelta(minutes=1))
    known = kept(lambda: io.BytesIO(text), span, Clock(zone="Europe/Berlin"))
    unknown = kept(lambda: io.BytesIO(text), span)
    assert known.size < unknown.size < known.total == unknown.total == len(text)
    (run,) = known.runs
    assert f"{START + timedelta(hours=2):%Y-%m-%d %H:%M}".encode() in text[run.offset : run.offset + run.size]


def test_a_large_log_is_not_looked_through_once_the_time_is_over(tmp_path: Path, write: Write) -> None:
    write("messages", a_week(FORMS["iso"]))
    files = [{"source": "syslog", "path": f"{tmp_path}/messages"}]
    collector = LocalFiles(LocalFilesSettings.model_validate({"files": files, "whole_bytes": 0}))
    asked: list[int] = []

    def halted() -> bool:
        asked.append(1)
        return len(asked) > 2

    (found,) = collector.collect(attempt(nodes={}, **TIMES), PLAN, halted)
    assert (found.status.value, found.reason, len(asked)) == ("skipped", "deadline", 4)


# --- any log ----------------------------------------------------------------------------------------------------------

ZONES = {"iso": None, "no zone": "Asia/Tokyo", "syslog": None, "dmesg": None, "journal": None}


@settings_of_search(max_examples=examples(80), deadline=None)
@example("iso", [0, 0, -2], 1)  # a block that begins with the rest of a record of the attempt's time
@given(
    form=strategies.sampled_from(sorted(ZONES)),
    minutes=strategies.lists(strategies.integers(-5000, 5000), min_size=1, max_size=60),
    bare=strategies.integers(0, 3),
)
def test_no_line_of_the_attempts_time_is_left_out(form: str, minutes: list[int], bare: int) -> None:
    """In any order, and with any lines without a stamp between them."""
    span = Span(START, START + timedelta(hours=1))
    zone = ZONES[form]
    text, wanted = "", []
    for number, minute in enumerate(minutes):
        at = START + timedelta(minutes=minute)
        shown = at.astimezone(ZoneInfo(zone)) if zone else at
        line = f"{FORMS[form](shown)} line {number}\n" + "  more\n" * bare
        if 0 <= minute <= 60:
            wanted.append((len(text), len(line)))
        text += line
    with patch.object(spans, "_BLOCK_BYTES", 64):
        found = kept(lambda: io.BytesIO(text.encode()), span, Clock(zone=zone) if zone else None)
    held = {byte for run in found.runs for byte in range(run.offset, run.offset + run.size)}
    for offset, size in wanted:
        assert held.issuperset(range(offset, offset + size)), text[offset : offset + size]
    assert all(text.encode()[: run.offset].count(b"\n") == run.first_line for run in found.runs)
    if zone and all(abs(minute) > 600 for minute in minutes) and len(minutes) > 1:
        assert found.size == 0


def test_a_check_says_what_is_looked_at(tmp_path: Path) -> None:
    for count, said in ((0, "reads what bundles hold"), (1, "the folder of its pattern"), (2, "folders of 2 patterns")):
        files = [{"source": "syslog", "path": f"{tmp_path}/{{node}}.{n}"} for n in range(count)]
        assert said in LocalFiles(LocalFilesSettings.model_validate({"files": files})).check()
