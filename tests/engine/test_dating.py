"""When an attempt ran, and when a line was written, as far as the evidence tells it where stamps do not."""

import json

import pytest

from attribution.bundle.evidence import Evidence, StreamKey, assemble
from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.observation import Observation
from attribution.contracts.vocabulary import Source, SubDomain, TerminalState
from attribution.diagnosis.dating import anchored
from attribution.diagnosis.engine import diagnose
from attribution.events.event import Event
from attribution.events.moment import SECOND, Basis, Moment
from attribution.extraction.extract import extract
from attribution.extraction.ruleset import RuleSets

XID = "NVRM: Xid (PCI:0000:52:00): 79, pid=1203, name=python3, GPU has fallen off the bus."
SACCT = "JobID|State|ExitCode|Start|End|NodeList\n81234|FAILED|1:0|{}|{}|node-02\n"
CRASH = "Traceback (most recent call last):\n  File \"/data/job/train.py\", line 40, in step\nKeyError: 'labels'\n"


def evidence(*observations: dict[str, object]) -> Evidence:
    context = ExecutionContext.model_validate({"workload_id": "job-7", "nodes": [{"name": "node-02"}]})
    found, _ = assemble(context, [Observation.model_validate({"node": "node-02", **one}) for one in observations])
    return found


def answer(rules: RuleSets, *observations: dict[str, object]) -> Diagnosis:
    return diagnose(evidence(*observations), rules)


def syslog(*lines: str, stream: str = "messages") -> dict[str, object]:
    return {"source": "syslog", "stream": stream, "body": "".join(f"{line}\n" for line in lines)}


def app(body: str = CRASH) -> dict[str, object]:
    return {"source": "applog", "body": body}


def record(start: str, end: str) -> dict[str, object]:
    return {"source": "scheduler", "format": "sacct_parsable2", "stream": "sacct", "body": SACCT.format(start, end)}


@pytest.mark.parametrize(
    "stamp", ["2026-04-27T09:00:00Z", "2026-04-27T09:00:00", "Apr 27 09:00:00"], ids=["utc", "zone-less", "year-less"]
)
def test_a_fault_of_before_the_recorded_start_is_none_of_the_attempt(shipped: RuleSets, stamp: str) -> None:
    told = syslog(f"{stamp} node-02 kernel: {XID}")
    found = answer(shipped, told, app(), record("2026-05-04T03:00:00", "2026-05-04T04:00:00"))
    assert found.sub_domain is SubDomain.USER_CODE
    assert [cause.symptom for cause in found.causes] == ["PYTHON_EXCEPTION"]


def test_a_fault_of_after_the_recorded_start_is_of_the_attempt(shipped: RuleSets) -> None:
    told = syslog(f"2026-05-04T03:30:00Z node-02 kernel: {XID}")
    found = answer(shipped, told, app(), record("2026-05-04T03:00:00", "2026-05-04T04:00:00"))
    assert [cause.symptom for cause in found.causes] == ["XID_79"]


def test_records_of_two_attempts_tell_no_start(shipped: RuleSets) -> None:
    told = syslog(f"2026-04-27T09:00:00Z node-02 kernel: {XID}")
    two = record("2026-05-04T03:00:00", "2026-05-04T04:00:00")
    two["body"] = f"{two['body']}81234|FAILED|1:0|2026-04-27T08:00:00|2026-04-27T09:10:00|node-02\n"
    assert "XID_79" in {cause.symptom for cause in answer(shipped, told, app(), two).causes}


def test_a_record_that_begins_after_the_jobs_own_log_is_of_another_attempt(shipped: RuleSets) -> None:
    told = syslog(f"2026-04-27T09:00:00Z node-02 kernel: {XID}")
    own = app(f"2026-04-27T08:59:00Z step 1\n{CRASH}2026-04-27T09:00:01Z end\n")
    found = answer(shipped, told, own, record("2026-05-04T03:00:00", "2026-05-04T04:00:00"))
    assert "XID_79" in {cause.symptom for cause in found.causes}


def test_pods_tell_when_the_attempt_began(shipped: RuleSets) -> None:
    pod = {
        "kind": "Pod",
        "metadata": {"name": "train-0"},
        "spec": {"nodeName": "node-02"},
        "status": {"startTime": "2026-05-04T03:00:00Z", "phase": "Failed", "conditions": [{"type": "Ready"}]},
    }
    objects = {"source": "scheduler", "format": "kubernetes_objects", "stream": "pods", "body": json.dumps(pod)}
    told = syslog(f"2026-04-27T09:00:00Z node-02 kernel: {XID}")
    assert answer(shipped, told, app(), objects).sub_domain is SubDomain.USER_CODE


def test_metrics_tell_the_time_of_an_attempt_whose_logs_have_no_dates(shipped: RuleSets) -> None:
    body = "# TYPE node_load1 gauge\n" + "".join(f"node_load1{{}} 1.0 {1777863600000 + 60000 * n}\n" for n in range(9))
    metrics = {"source": "node_metrics", "format": "prometheus_metrics", "stream": "node", "body": body}
    old, new = (syslog(f"{day} 09:00:00 node-02 kernel: {XID}") for day in ("Apr 27", "May  4"))
    assert answer(shipped, old, app(), metrics).sub_domain is SubDomain.USER_CODE
    assert "XID_79" in {cause.symptom for cause in answer(shipped, new, app(), metrics).causes}


NEWER = "2026-05-04T03:12:00Z node-02 systemd[1]: Started Session 7 of User root."
YEARLESS = f"W0504 03:00:00.000000 71 run.py:793] step 1\n{CRASH}W0504 03:10:00.000000 71 api.py:897] end\n"


@pytest.mark.parametrize("lines", [(NEWER,), (NEWER.replace("2026-05-04", "2026-05-05"),)], ids=["same", "next day"])
def test_logs_of_the_nodes_tell_the_year_of_the_jobs_own_log(shipped: RuleSets, lines: tuple[str, ...]) -> None:
    found = answer(shipped, syslog(f"2026-04-27T09:00:00Z node-02 kernel: {XID}", *lines), app(YEARLESS))
    assert found.sub_domain is SubDomain.USER_CODE
    assert [cause.symptom for cause in found.causes] == ["PYTHON_EXCEPTION"]


def test_a_fault_of_the_day_before_may_be_of_an_attempt_whose_log_has_no_year(shipped: RuleSets) -> None:
    found = answer(shipped, syslog(f"2026-05-03T09:00:00Z node-02 kernel: {XID}", NEWER), app(YEARLESS))
    assert "XID_79" in {cause.symptom for cause in found.causes}


def test_a_log_whose_first_and_last_stamps_leave_the_year_out_tells_it_between_them(shipped: RuleSets) -> None:
    first, *others, last = YEARLESS.splitlines(keepends=True)
    dated = "2026-05-04T03:00:07Z INFO step 2\n", "2026-05-04T03:09:58Z INFO step 900\n"
    body = "".join([first, dated[0], *others, dated[1], last])
    old, new = (syslog(f"{stamp} 09:00:00 node-02 kernel: {XID}") for stamp in ("Apr 27", "May  3"))
    assert [cause.symptom for cause in answer(shipped, old, app(body)).causes] == ["PYTHON_EXCEPTION"]
    assert "XID_79" in {cause.symptom for cause in answer(shipped, new, app(body)).causes}


def test_logs_that_end_long_before_tell_no_year(shipped: RuleSets) -> None:
    old = NEWER.replace("2026-05-04", "2026-05-01")
    found = answer(shipped, syslog(f"2026-04-27T09:00:00Z node-02 kernel: {XID}", old), app(YEARLESS))
    assert "XID_79" in {cause.symptom for cause in found.causes}


def test_logs_that_cover_two_such_dates_tell_no_year(shipped: RuleSets) -> None:
    told = syslog(NEWER.replace("2026", "2025"), f"2026-04-27T09:00:00Z node-02 kernel: {XID}", NEWER)
    assert "XID_79" in {cause.symptom for cause in answer(shipped, told, app(YEARLESS)).causes}


def test_an_attempt_over_new_year_whose_log_has_no_year(shipped: RuleSets) -> None:
    own = f"W1231 23:00:00.000000 71 run.py:793] step 1\n{CRASH}W0101 03:10:00.000000 71 api.py:897] end\n"
    newer = NEWER.replace("2026-05-04", "2026-01-01")
    old, new = (syslog(f"2025-12-{day}T09:00:00Z node-02 kernel: {XID}", newer) for day in ("20", "31"))
    assert answer(shipped, old, app(own)).sub_domain is SubDomain.USER_CODE
    assert "XID_79" in {cause.symptom for cause in answer(shipped, new, app(own)).causes}


def test_a_line_since_boot_is_dated_by_its_twin(shipped: RuleSets) -> None:
    own = app(f"2026-05-04T03:00:00Z step 1\n{CRASH}2026-05-04T03:10:00Z end\n")
    found = answer(
        shipped,
        syslog(f"2026-04-27T09:00:00Z node-02 kernel: {XID}"),
        syslog(f"[ 4711.000000] {XID}", stream="dmesg"),
        own,
    )
    assert found.sub_domain is SubDomain.USER_CODE


def test_a_line_since_boot_without_a_twin_keeps_its_clock(shipped: RuleSets) -> None:
    own = app(f"2026-05-04T03:00:00Z step 1\n{CRASH}2026-05-04T03:10:00Z end\n")
    found = answer(shipped, syslog(f"[ 4711.000000] {XID}", stream="dmesg"), own)
    assert "XID_79" in {cause.symptom for cause in found.causes}


def event(us: int, basis: Basis, stream: str, text: str = "a") -> Event:
    key = StreamKey(Source.SYSLOG, "node-02", None, stream)
    moment = Moment(us, SECOND, basis)
    return Event(f"{stream}{us}", text, "R", key, "node-02", None, moment, 1, 0, text)


def test_twins_that_tell_two_times_of_the_boot_date_nothing() -> None:
    events = [
        event(10 * SECOND, Basis.BOOT, "dmesg", "a"),
        event(20 * SECOND, Basis.BOOT, "dmesg", "b"),
        event(1010 * SECOND, Basis.UTC, "messages", "a"),
        event(9020 * SECOND, Basis.UTC, "messages", "b"),
    ]
    assert anchored(events) == tuple(events)


def test_lines_that_one_log_holds_more_often_date_nothing() -> None:
    events = [
        event(10 * SECOND, Basis.BOOT, "dmesg"),
        event(1010 * SECOND, Basis.UTC, "messages"),
        event(2010 * SECOND, Basis.UTC, "messages"),
    ]
    assert anchored(events) == tuple(events)


def test_a_twin_dates_the_other_lines_since_boot_too() -> None:
    events = [
        event(10 * SECOND, Basis.BOOT, "dmesg", "a"),
        event(25 * SECOND, Basis.BOOT, "dmesg", "b"),
        event(1010 * SECOND, Basis.UTC, "messages", "a"),
    ]
    other = anchored(events)[1].moment
    assert other is not None and other.basis is Basis.UTC
    assert other.us <= 1025 * SECOND < other.us + other.width_us


def test_entries_of_loki_tell_their_span_whatever_their_order(shipped: RuleSets) -> None:
    late, early = "1777863600000000000", "1777863000000000000"
    streams = [
        {"stream": {"rank": "0"}, "values": [[late, "KeyError"]]},
        {"stream": {"rank": "1"}, "values": [[early, "x"]]},
    ]
    body = json.dumps(streams)
    found = extract(evidence({"source": "applog", "format": "raw_loki_streams", "body": body}), shipped)
    assert [(r.first and r.first.us, r.last and r.last.us) for r in found.reports] == [
        (1777863000 * SECOND, 1777863600 * SECOND)
    ]


def test_what_came_last_is_not_after_the_end_of_a_log_of_loki(shipped: RuleSets) -> None:
    late, early = 1777863600, 1777860000
    crash = [[f"{late}00000000{n}", line] for n, line in enumerate(CRASH.splitlines())]
    streams = [
        {"stream": {"rank": "0"}, "values": crash},
        {"stream": {"rank": "1"}, "values": [[f"{early}000000000", "started"]]},
    ]
    found = answer(shipped, {"source": "applog", "format": "raw_loki_streams", "body": json.dumps(streams)})
    assert found.sub_domain is SubDomain.USER_CODE
    assert found.terminal_state is TerminalState.FAILED
