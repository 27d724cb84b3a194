"""Every ending that Slurm records becomes the attempt that it was, in the records of old and new versions."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from attribution.blueprint.attempt import Attempt, Query, Unusable
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.context.launch_command import shown_command
from attribution.blueprint.connectors.context.slurm import SlurmContexts, SlurmSettings
from attribution.blueprint.connectors.context.slurm_rows import rows as read_rows
from attribution.cli.main import EXIT_EVIDENCE, EXIT_POLICY, EXIT_UNAVAILABLE, main
from attribution.contracts.vocabulary import Format, Source, Status
from attribution.testing import CommandAnswer, FakeCommand, context_connector_complies

from tests.blueprint.slurm.conftest import VERSIONS, Fake, table

NOW = datetime(2026, 5, 4, 4, tzinfo=UTC)
N1, N2, N3, N4 = (f"node-0{number}" for number in range(1, 5))
# What sacct prints as state, then exit code, signal and nodes as they are understood. `a, b`: in 22.05, in 25.11.
ENDINGS: dict[tuple[str, int], tuple[str, Any, int | None, tuple[str, ...]]] = {
    ("101", 1): ("TIMEOUT", None, None, (N1,)),
    ("103", 1): ("FAILED", 3, None, (N1,)),
    ("104", 1): ("FAILED", {"22.05": 11, "25.11": 139}, None, (N1,)),
    ("105", 1): ("FAILED", None, 9, (N2,)),
    ("106", 1): ("FAILED", 2, None, (N2,)),
    ("108", 1): ("FAILED", 1, None, (N3,)),
    ("109", 1): ("FAILED", 1, None, (N3,)),
    ("110", 1): ("OUT_OF_MEMORY", None, None, (N3,)),
    ("111", 1): ("FAILED", 9, None, (N3,)),
    ("112", 1): ("FAILED", {"22.05": 15, "25.11": 143}, None, (N2, N4)),
    ("113", 1): ("CANCELLED by 1007", None, None, (N1,)),
    ("114", 1): ("CANCELLED by 0", None, None, (N2,)),
    ("115", 1): ("CANCELLED by 1008", None, None, ()),
    ("116", 1): ("CANCELLED", None, None, ()),
    ("117", 1): ("DEADLINE", None, None, ()),
    ("118", 1): ("FAILED", None, None, ()),
    ("120_2", 1): ("FAILED", 9, None, (N1,)),
    ("120_[4-5]", 1): ("CANCELLED by 1007", None, None, ()),
    ("130", 1): ("FAILED", 2, None, (N1, N2, N3)),
    ("140", 1): ("PREEMPTED", None, None, (N1, N2, N3, N4)),
    ("141", 1): ("PREEMPTED", None, None, (N1, N2, N3, N4)),
    ("142", 1): ("NODE_FAIL", None, None, (N3, N4)),
    ("143", 1): ("NODE_FAIL", None, None, (N1,)),
    ("144", 1): ("REQUEUED", None, None, (N3,)),
}


def connector(**settings: Any) -> SlurmContexts:
    return SlurmContexts(SlurmSettings(**settings), now=lambda: NOW)


def found(query: Query = Query(), **settings: Any) -> dict[tuple[str, int], Attempt]:  # noqa: B008  frozen
    items = list(connector(**settings).discover(query))
    assert all(isinstance(item, Attempt) for item in items), items
    return {(a.context.workload_id, a.context.attempt): a for a in items if isinstance(a, Attempt)}


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-05-04T{text}+00:00")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_ending_is_read(fake: Fake, version: str) -> None:
    fake(version)
    told = {
        key: (
            attempt.context.scheduler_state,
            attempt.context.exit_code,
            attempt.context.signal,
            tuple(node.name for node in attempt.context.nodes),
        )
        for key, attempt in found().items()
    }
    expected = {
        key: (state, code[version] if isinstance(code, dict) else code, signal, nodes)
        for key, (state, code, signal, nodes) in ENDINGS.items()
        if key != ("111", 1) or version == "22.05"  # a kill by polling, which the newer record does not have
    }
    assert told == expected
    assert list(told) == list(expected), "they come in the order of their ids"


@pytest.mark.parametrize("version", VERSIONS)
def test_it_complies(fake: Fake, version: str) -> None:
    fake(version)
    assert len(context_connector_complies(connector())) > 20


@pytest.mark.parametrize("version", VERSIONS)
def test_times_are_utc_whatever_the_zone_of_the_caller(fake: Fake, version: str) -> None:
    fake(version)
    context = found()[("142", 1)].context
    times = (context.submitted_at, context.started_at, context.ended_at)
    assert times == (at("03:01:50"), at("03:01:50"), at("03:02:20"))
    assert (context.name, context.user, context.cluster) == ("lost", "ada", "c1")
    assert (context.launch_command, context.nranks) == ("sbatch lost.sh", None)
    assert found()[("112", 1)].context.nranks == 4 and found()[("112", 1)].context.ranks_per_node == 2


def test_what_never_ran_has_no_start_and_no_exit_code_of_its_own(fake: Fake) -> None:
    fake("22.05")
    refused = found()[("118", 1)].context
    assert (refused.started_at, refused.ended_at, refused.exit_code) == (None, at("03:00:01"), None)
    assert found()[("116", 1)].context.reason == "Dependency"


# --- ids --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ("102", {("102", 1)}),
        ("120", {("120_0", 1), ("120_1", 1), ("120_2", 1), ("120_3", 1), ("120_[4-5]", 1)}),
        ("120_2", {("120_2", 1)}),
        ("123", {("120_2", 1)}),
        ("123.batch", {("120_2", 1)}),
        ("130", {("130", 1)}),
        ("131", {("130", 1)}),
        ("130+1", {("130", 1)}),
        ("141", {("141", 1), ("141", 2)}),
        ("144", {("144", 1), ("144", 2)}),
        ("150", {("150", 1)}),
        ("999", set()),
        ("2", set()),
        ("no-number", set()),
        ("", set()),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_job_is_found_by_any_of_its_ids_in_any_state(
    fake: Fake, version: str, job: str, expected: set[tuple[str, int]]
) -> None:
    fake(version)
    attempts = found(Query(job=job))
    assert set(attempts) == expected
    if expected == {("130", 1)}:
        assert len(attempts[("130", 1)].context.nodes) == 3, "all components of the job"


def test_the_ids_are_those_that_file_names_carry(fake: Fake) -> None:
    fake()
    assert found()[("103", 1)].context.scheduler_ids == {"job": "103"}
    assert found()[("120_2", 1)].context.scheduler_ids == {"job": "123", "array_job": "120", "array_task": "2"}
    het = {"job": "130", "het_job": "130", "het_job_0": "130", "het_job_1": "131"}
    assert found()[("130", 1)].context.scheduler_ids == het


@pytest.mark.parametrize("version", VERSIONS)
def test_requeues_are_attempts_of_their_own(fake: Fake, version: str) -> None:
    fake(version)
    again = found(Query(job="141"))
    assert [a.context.scheduler_state for a in again.values()] == ["PREEMPTED", "COMPLETED"]
    assert again[("141", 2)].context.previous_attempts == ("attempt 1: PREEMPTED",)
    assert again[("141", 1)].context.ended_at == at("03:00:43")
    held = found(Query(job="144"))[("144", 2)].context
    assert (held.scheduler_state, held.reason, held.ended_at) == ("PENDING", "launch_failed_requeued_held", None)


def test_an_attempt_keeps_its_number_when_older_records_are_purged_where_slurm_counts_restarts(fake: Fake) -> None:
    rows = table("slurm-25.11.txt")
    first = next(row for row in rows if row["JobID"] == "141")["DBIndex"]
    fake("25.11", rows=[row for row in rows if row["DBIndex"] != first])
    assert list(found(Query(job="141"))) == [("141", 2)]


def test_an_id_that_is_used_again_is_another_job(fake: Fake) -> None:
    rows = table("slurm-22.05.txt")
    old = {**rows[0], "JobID": "103", "JobIDRaw": "103", "DBIndex": "1"}
    old |= {"Submit": "2024-05-04T03:00:00", "Start": "2024-05-04T03:00:00", "End": "2024-05-04T03:00:10"}
    fake(rows=[old, *rows])
    assert list(found(Query(job="103"))) == [("103", 1)]
    assert found(Query(job="103"))[("103", 1)].context.scheduler_state == "FAILED"


def test_a_change_of_size_is_no_attempt(fake: Fake) -> None:
    rows = table("slurm-22.05.txt")
    job = next(row for row in rows if row["JobID"] == "103")
    fake(rows=[{**job, "DBIndex": "1", "State": "RESIZING"}, *rows])
    assert list(found(Query(job="103"))) == [("103", 1)]


# --- which jobs -------------------------------------------------------------------------------------------------------


def test_a_span_gives_what_ended_in_it(fake: Fake) -> None:
    fake()
    late = found(Query(start=at("03:01:00"), end=at("03:02:22")))
    assert set(late) == {("101", 1), ("117", 1), ("142", 1)}
    assert not found(Query(start=NOW - timedelta(minutes=5)))
    assert not found(lookback_secs=60)


def test_a_window_and_settings_narrow_what_is_looked_for(fake: Fake) -> None:
    fake()
    assert set(found(states=("NODE_FAIL",))) == {("142", 1), ("143", 1)}
    assert {a.context.user for a in found(users=("lin",)).values()} == {"lin"}
    assert set(found(partitions=("scavenge",))) == {("140", 1)}
    assert {a.context.user for a in found(all_users=False).values()} == {"ada"}
    assert set(found(Query(nodes=("node-04",)))) >= {("112", 1), ("142", 1)}
    assert ("103", 1) not in found(Query(nodes=("node-04",)))
    assert set(found(Query(workload="lost"))) == {("142", 1)}


def test_nothing_found_is_no_failure(fake: Fake) -> None:
    fake()
    assert found(Query(job="4711")) == {}
    assert found(Query(start=at("01:00:00"), end=at("02:00:00"))) == {}


# --- hostile and odd rows ---------------------------------------------------------------------------------------------


def test_names_and_command_lines_may_hold_anything(fake: Fake) -> None:
    rows = table("slurm-22.05.txt")
    job = next(row for row in rows if row["JobID"] == "103")
    job |= {"JobName": "a|b\n104|x|TIMEOUT", "SubmitLine": "sbatch --wrap 'a\nb|c\n" + "x" * 70_000 + "'"}
    fake(rows=rows)
    attempt = found(Query(job="103"))[("103", 1)]
    assert attempt.context.name == "a|b\n104|x|TIMEOUT"
    assert attempt.context.launch_command is not None and len(attempt.context.launch_command) == 4097
    assert attempt.context.scheduler_state == "FAILED"
    assert "TIMEOUT" not in attempt.evidence[0].body
    assert len(found()) == len(ENDINGS)


def test_a_list_of_nodes_that_cannot_be_read_is_said(fake: Fake) -> None:
    rows = table("slurm-22.05.txt")
    next(row for row in rows if row["JobID"] == "103")["NodeList"] = "node-[01-"
    fake(rows=rows)
    context = found(Query(job="103"))[("103", 1)].context
    assert (context.nodes, context.partial) == ((), "the list of nodes has brackets that do not match")


# --- evidence ---------------------------------------------------------------------------------------------------------


def test_records_of_the_attempt_and_its_steps_are_evidence(fake: Fake) -> None:
    fake()
    observation = found()[("109", 1)].evidence[0]
    assert (observation.source, observation.format, observation.node) == (
        Source.SCHEDULER,
        Format.SACCT_PARSABLE2,
        None,
    )
    head, *lines = [line.split("|") for line in observation.body.splitlines()]
    rows = {row["JobID"]: row for row in (dict(zip(head, line, strict=True)) for line in lines)}
    assert list(rows) == ["109", "109.batch", "109.extern", "109.0"]
    assert (rows["109.0"]["State"], rows["109.0"]["MaxRSS"]) == ("OUT_OF_MEMORY", "118300K")
    assert rows["109"]["End"] == "2026-05-04T03:00:06"
    assert observation.clock is not None and observation.clock.zone == "UTC"


def test_records_of_other_attempts_are_not(fake: Fake) -> None:
    fake()
    assert "COMPLETED|0:0|0:15" not in found()[("141", 1)].evidence[0].body
    assert found()[("141", 1)].evidence[0].body.count("\n") == 5


def test_a_job_of_too_many_steps_shows_those_that_failed(fake: Fake) -> None:
    rows = table("slurm-22.05.txt")
    at_step = next(index for index, row in enumerate(rows) if row["JobID"] == "108.0")
    many = [{**rows[at_step], "JobID": f"108.{n}", "State": "COMPLETED", "ExitCode": "0:0"} for n in range(1, 3000)]
    fake(rows=[*rows[: at_step + 1], *many, *rows[at_step + 1 :]])
    observation = found(Query(job="108"))[("108", 1)].evidence[0]
    assert observation.status is Status.PARTIAL
    assert observation.reason == "2000 of 3002 steps are shown, those that did not complete first"
    assert "108.0|108.0||FAILED" in observation.body


def test_what_became_of_the_nodes_is_evidence(fake: Fake) -> None:
    fake()
    bodies = {key: attempt.evidence[1].body for key, attempt in found().items() if len(attempt.evidence) > 1}
    head = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    down = "c1|node-01|2026-05-04T03:02:26|2026-05-04T03:02:27|DOWN|xid 79: GPU has fallen off the bus|root(0)\n"
    drained = "c1|node-03|2026-05-04T03:02:30|2026-05-04T03:02:33|DRAIN|Prolog error|root(0)\n"
    silent = "c1|node-04|2026-05-04T03:02:20|2026-05-04T03:02:23|DOWN*|Not responding|root(0)\n"
    assert bodies[("143", 1)] == head + down
    assert bodies[("142", 1)] == head + silent + drained
    assert bodies[("144", 1)] == head + drained
    quiet = found()[("105", 1)].evidence[1]
    assert (quiet.status, quiet.body) == (Status.OK, head), "it was asked, and there was none"
    assert len(found()[("116", 1)].evidence) == 1, "what never ran had no nodes"


DOWN = {
    "Cluster": "c1",
    "NodeName": "node-03",
    "TimeStart": "2026-05-04T03:02:30",
    "TimeEnd": "Unknown",
    "State": "DOWN",
    "Reason": "not responding",
    "User": "root(0)",
    "StateRaw": "1",
}


def test_a_reason_of_several_lines_stays_with_its_event(fake: Fake) -> None:
    fake(events=[{**DOWN, "Reason": "a|b\nc1|node-02|x"}])
    told = found()[("144", 1)].evidence[1]
    assert told.status is Status.OK
    assert told.body.splitlines()[1:] == ["c1|node-03|2026-05-04T03:02:30|Unknown|DOWN|a/b c1/node-02/x|root(0)"]


@pytest.mark.parametrize(("lost", "told_rows"), [(1, 3), (3, 3), (59, 3), (130, 1)])
def test_node_events_that_break_off_are_said(fake: Fake, lost: int, told_rows: int) -> None:
    """What is whole is told, and that there may be more: also where only the end of the last line is missing."""
    events = [{**DOWN, "TimeStart": f"2026-05-04T03:02:{second}"} for second in (30, 31, 32, 33)]
    fake(events=events)
    whole = found()[("144", 1)].evidence[1]
    size = 4 * len("c1|node-03|1777900000|Unknown|DOWN|root(0)|not responding|1\n")
    fake(events=events, cut_event_chars=size - lost)
    told = found()[("144", 1)].evidence[1]
    assert told.status is Status.PARTIAL
    assert told.reason is not None and told.reason.startswith("what `sacctmgr` printed ends within a row")
    assert whole.status is Status.OK and whole.body.startswith(told.body)
    assert len(told.body.splitlines()) == 1 + told_rows


def test_node_events_over_the_limit_are_cut_and_said(fake: Fake) -> None:
    """Jobs that fit are found with what was read of the events of their nodes."""
    fake(events=[{**DOWN, "TimeStart": "2026-05-04T03:02:30", "Reason": "x" * 90}] * 1000)
    attempt = found(output_bytes=70_000)[("144", 1)]
    told = attempt.evidence[1]
    assert told.status is Status.PARTIAL and "wrote more than 70000 bytes" in (told.reason or "")
    assert len(told.body.splitlines()) > 100


def test_node_events_that_are_refused_are_said_and_the_attempts_found(fake: Fake) -> None:
    fake(stderr={"sacctmgr": "sacctmgr: error: Your user doesn't have privilege to perform this action\n"})
    told = found()[("142", 1)].evidence[1]
    assert told.status is Status.ERROR
    assert told.reason is not None and told.reason.endswith("doesn't have privilege to perform this action")
    assert all(len(attempt.evidence) == 1 for attempt in found(node_events=False).values())
    with pytest.raises(ConnectorError, match="or set `node_events` to false"):
        connector().check()


# --- programs ---------------------------------------------------------------------------------------------------------


def test_the_check_says_what_it_found(fake: Fake) -> None:
    fake()
    told = connector().check()
    assert told == "slurm 22.05.1 tells of 25 jobs of 2 users in the last hour, and of node events"
    assert connector().programs() == ("sacct", "sacctmgr")


def test_no_sacct_is_said(fake: Fake) -> None:
    fake(programs=())
    with pytest.raises(ConnectorError, match="there is no program `sacct`"):
        connector().check()
    with pytest.raises(ConnectorError, match="there is no program `sacct`"):
        list(connector().discover(Query()))


def test_a_sacct_that_hangs_is_ended_with_what_it_started(fake: Fake, tmp_path: Path) -> None:
    folder = fake()
    (folder / "sacct").write_text(f"#!/bin/sh\n/bin/sleep 60 &\necho $! > {tmp_path}/child\nwait\n")
    with pytest.raises(ConnectorError, match=r"`sacct` did not end within 0.5 s .*slurmdbd"):
        connector(timeout_secs=0.5).check()
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or Path(f"/proc/{child}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    os.kill(child, 9)
    pytest.fail("what it started still runs")


def test_what_sacct_complains_of_last_is_told(fake: Fake) -> None:
    fake(stderr={"sacct": "sacct: error: Connection refused\nsacct: error: Problem talking to the database\n\n"})
    with pytest.raises(ConnectorError, match=r"exit code 1: sacct: error: Problem talking to the database$"):
        list(connector().discover(Query()))


def test_a_field_that_is_listed_and_refused_is_left_out(fake: Fake) -> None:
    fake("25.11", hidden_fields=["Restarts", "MaxRSS"])
    assert set(found(Query(job="141"))) == {("141", 1), ("141", 2)}
    fake("25.11", hidden_fields=["State"])
    with pytest.raises(ConnectorError, match='Invalid field requested: "State"'):
        found()


def test_a_program_that_is_no_sacct_is_said(fake: Fake) -> None:
    rows = [{"JobID": "1"}]
    fake(rows=rows)
    with pytest.raises(ConnectorError, match="has no field JobIDRaw"):
        found()


def test_an_output_over_the_limit_is_cut_and_said(fake: Fake) -> None:
    fake()
    items = list(connector(output_bytes=3000).discover(Query()))
    told = [item for item in items if isinstance(item, Unusable)]
    assert ("103", 1) in {item.identity[2:] for item in items if isinstance(item, Attempt)}
    assert told and all(item.is_failure and "wrote more than 3000 bytes" in item.reason for item in told)


# --- output that cannot be read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [{"noise_bytes": 300_000}, {"noise_bytes": 40}, {"cut_chars": 100}])
def test_nonsense_is_not_taken_for_nothing_found(fake: Fake, fault: dict[str, int]) -> None:
    fake(**fault)
    with pytest.raises(ConnectorError, match="ends within a row, or is none of its rows"):
        connector().check()
    with pytest.raises(ConnectorError, match="ends within a row"):
        list(connector().discover(Query(job="103")))
    (told,) = connector().discover(Query())
    assert isinstance(told, Unusable) and told.is_failure
    assert told.reason.startswith("not all jobs of this span were looked at: what `sacct` printed ends within a row")


def test_a_row_that_is_cut_within_its_last_number_is_said(fake: Fake) -> None:
    rows = table("slurm-22.05.txt")
    job = next(row for row in rows if row["JobID"] == "103")
    fields = tuple(job)
    text = "\x1f".join(job[name] for name in fields)
    assert len(list(read_rows([f"{text}\n"], fields, "\x1f"))) == 1
    with pytest.raises(ConnectorError, match="ends within a row"):
        list(read_rows([text], fields, "\x1f"))
    assert list(read_rows([" \n"], fields, "\x1f")) == []


def test_jobs_before_the_place_where_the_rows_break_off_are_found(fake: Fake) -> None:
    fake(cut_chars=4000)
    items = list(connector().discover(Query()))
    assert [item.context.workload_id for item in items if isinstance(item, Attempt)][:1] == ["101"]
    told = [item for item in items if isinstance(item, Unusable)]
    assert all(item.is_failure for item in told)
    assert [item.reason.partition(":")[0] for item in told] == [
        "not all records of these jobs were looked at",
        "not all jobs of this span were looked at",
    ]


def test_rows_of_no_job_are_counted_and_the_others_found(fake: Fake) -> None:
    rows = table("slurm-22.05.txt")
    job = next(row for row in rows if row["JobID"] == "103")
    fake(rows=[*rows, *({**job, "JobID": f"\x1bno-{n}", "DBIndex": f"9999{n}"} for n in range(2))])
    items = list(connector().discover(Query()))
    assert len([item for item in items if isinstance(item, Attempt)]) == len(ENDINGS)
    told = {item.reason for item in items if isinstance(item, Unusable) and item.is_failure}
    said = "2 rows that `sacct` printed are of no job: `\\x1bno-0` is no id of one"
    assert f"not all jobs of this span were looked at: {said}" in told
    with pytest.raises(ConnectorError, match="2 rows that `sacct` printed are of no job"):
        connector().check()


def test_a_run_that_reads_nonsense_ends_as_one_that_failed(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake(noise_bytes=300_000)
    for words, code in ((["run"], EXIT_EVIDENCE), (["run", "--check"], EXIT_POLICY)):
        assert main([*words, "--context-slurm-sacct", "sacct"]) == code
        assert "what `sacct` printed ends within a row" in "".join(capsys.readouterr())


@pytest.mark.slow
def test_an_accounting_that_hangs_keeps_no_run_beyond_its_deadline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hangs = FakeCommand(tmp_path, "sacct", [CommandAnswer(wait_secs=600)])
    words = ("--context-slurm-sacct", str(hangs.path), "--context-slurm-timeout-secs", "500", "--deadline-secs", "3")
    assert main(["run", "--job", "7", *words]) == EXIT_UNAVAILABLE
    assert hangs.calls
    assert "slurm: did not find all attempts before the deadline" in capsys.readouterr().err


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("sbatch --token=s3cr3t job.sh", "sbatch --token=*** job.sh"),
        ("sbatch --export=HF_TOKEN=s3cr3t job.sh", "sbatch --export=HF_TOKEN=*** job.sh"),
        ("sbatch --wrap 'run --api-key \"s3 cr3t\" -n 2'", "sbatch --wrap 'run --api-key *** -n 2'"),
        ('sbatch --wrap "run --password \\"s3 cr3t\\" -n 2"', 'sbatch --wrap "run --password *** -n 2"'),
        ("sbatch job.sh https://ada:s3cr3t@10.0.0.1/x", "sbatch job.sh https://ada:***@10.0.0.1/x"),
        ("sbatch lost.sh --nodes=2", "sbatch lost.sh --nodes=2"),
        (
            "srun train --tokenizer=gpt2 --max-tokens 512 --token s3cr3t",
            "srun train --tokenizer=gpt2 --max-tokens 512 --token ***",
        ),
        (
            "srun train --tokenizer llama --secretary --monkey=1 --keys=2",
            "srun train --tokenizer llama --secretary --monkey=1 --keys=2",
        ),
        ("srun train --token-bucket-rate 5 --num-key-value-heads 8 --sort-key loss --pad-token x", None),
        ("sbatch --export=ALL,PGPASSWORD=s3cr3t job.sh", "sbatch --export=ALL,PGPASSWORD=*** job.sh"),
        (
            "MYPASSWORD=s3cr3t HFTOKEN=s3cr3t DB_PWD=s3cr3t PASSWORDS=s3cr3t PWD=/home x",
            "MYPASSWORD=*** HFTOKEN=*** DB_PWD=*** PASSWORDS=*** PWD=/home x",
        ),
        ("run --hftoken s3cr3t --privatekey s3cr3t -n 2", "run --hftoken *** --privatekey *** -n 2"),
        ('run --config \'{"lr": 1, "api_key": "s3cr3t"}\' -n 2', 'run --config \'{"lr": 1, "api_key": ***\' -n 2'),
        ("run '--token' 's3cr3t' '--lr' '3'", "run '--token' *** '--lr' '3'"),
        ("run --db postgres://u:p@s3cr3t@h/d", "run --db postgres://u:***@h/d"),
        ('run --secret="a\\"s3cr3t" -n 2', "run --secret=*** -n 2"),
        ("API_TOKEN='a s3cr3t's3cr3t run", "API_TOKEN=*** run"),
        ("git clone https://ghp_s3cr3t@git.example/x", "git clone https://***@git.example/x"),
        ("curl -H 'Authorization: Basic czNjcjN0' x", "curl -H 'Authorization: Basic ***' x"),
        ("srun train --wandbApiKey s3cr3t --ssh-key=s3cr3t", "srun train --wandbApiKey *** --ssh-key=***"),
        ("AWS_SECRET_ACCESS_KEY=s3cr3t srun the secret job", "AWS_SECRET_ACCESS_KEY=*** srun the secret job"),
        ("curl -H 'Authorization: Bearer s3cr3t'", "curl -H 'Authorization: Bearer ***'"),
        ("srun train --no-token --nodes 2", None),
    ],
)
def test_the_launch_command_keeps_no_secret(fake: Fake, given: str, shown: str | None) -> None:
    rows = table("slurm-22.05.txt")
    next(row for row in rows if row["JobID"] == "103")["SubmitLine"] = given
    fake(rows=rows)
    assert found(Query(job="103"))[("103", 1)].context.launch_command == (shown or given)


def test_a_secret_at_the_cut_is_masked_before_it(fake: Fake) -> None:
    shown = shown_command("x" * 4080 + " https://ada:s3cr3t@10.0.0.1/x --token=s3cr3t")
    assert shown is not None and "s3c" not in shown and len(shown) == 4097
    assert shown_command(" ") is None


def test_masking_takes_work_in_proportion() -> None:
    for piece in ("token'=", "://a:", "?token=", '"\\', "token", "--token=", "token ", "-", "= ", "a.b-c_d "):
        shown = shown_command(piece * 200_000)
        assert shown is not None and (len(shown) == 4097 or shown.endswith("***"))
