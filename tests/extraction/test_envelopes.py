"""Records are unwrapped to the lines that programs wrote, and JSON that is a program's own stays text."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.contracts.errors import EvidenceError
from attribution.events.moment import SECOND, Basis, Moment
from attribution.extraction.clock import ClockRules
from attribution.extraction.envelopes import MAX_DEPTH, MAX_LINES, MAX_RECORD, explode_loki, unwrap
from attribution.extraction.lines import Line

from tests.work import calls

RULES = ClockRules()
AT = 1737434504 * SECOND
"""2025-01-21T04:41:44Z."""
STAMP = "2025-01-21T04:41:44Z"
MOMENT = Moment(AT, SECOND)

JOURNAL = {
    "__REALTIME_TIMESTAMP": "1737434504000000",
    "__MONOTONIC_TIMESTAMP": "430954509105",
    "_BOOT_ID": "0f3c",
    "PRIORITY": "3",
    "SYSLOG_IDENTIFIER": "kernel",
    "_HOSTNAME": "node-01",
    "MESSAGE": "NVRM: Xid",
}
FROM_JOURNAL = Line("NVRM: Xid", Moment(AT, 1), 430954509105, "node-01", None, "kernel", "node-01 kernel", "error")

RECORDS = [
    (
        {"log": "[rank0]: Traceback\n", "stream": "stderr", "time": "2025-01-21T04:41:44.5Z"},
        Line("Traceback", Moment(AT + 500_000, 100_000), rank=0, writer="stderr rank0"),
    ),
    ({"log": "  indented\n", "stream": "stdout", "time": STAMP}, Line("  indented", MOMENT, writer="stdout")),
    (JOURNAL, FROM_JOURNAL),
    ({**JOURNAL, "MESSAGE": list(b"NVRM: Xid")}, FROM_JOURNAL),
    ({**JOURNAL, "_HOSTNAME": ["node-01", "node-02"]}, FROM_JOURNAL),
    (
        {**JOURNAL, "PRIORITY": "x", "MESSAGE": ""},
        Line("", *[getattr(FROM_JOURNAL, name) for name in ("moment", "boot_us", "host", "rank", "program", "writer")]),
    ),
    (
        {"msg": "NPD caught event", "details": {"severity": "warn", "reason": "X", "message": "NVRM: Xid"}},
        Line("NVRM: Xid", level="warning"),
    ),
    (
        {
            "body": "NVRM: Xid",
            "severity": "ERROR",
            "attributes": {"hostname": "node-01", "appname": "kernel", "facility": "kern"},
            "resources": {},
        },
        Line("NVRM: Xid", host="node-01", program="kernel", writer="node-01 kernel", level="error"),
    ),
    ({"body": {"stringValue": "x"}, "resource": {"attributes": {"host": "n1"}}}, Line("x", host="n1")),
    ({"message": "x", "@timestamp": STAMP, "hostname": "node-01"}, Line("x", MOMENT, host="node-01")),
    ({"msg": "x", "ts": 1737434504.25, "level": "warn"}, Line("x", Moment(AT + 250_000, 10_000), level="warning")),
    ({"msg": "x", "ts": 1737434504000, "level": 4}, Line("x", Moment(AT, 1000), level="warning")),
    ({"message": "x", "time": "1737434504", "rank": 3}, Line("x", MOMENT, rank=3)),
    ({"message": "x", "time": "Mar  4 10:08:05"}, Line("x", Moment(5393285 * SECOND, SECOND, Basis.YEARLESS))),
    (
        {"log": "x\n", "kubernetes": {"host": "node-01", "pod_name": "w-0", "container_name": "c"}},
        Line("x", host="node-01", writer="pod/w-0/c"),
    ),
    ({"log": "x", "kubernetes": {"pod_name": "w-0"}}, Line("x", host="w-0", writer="pod/w-0")),
    ({"message": "x"}, Line("x")),
    ({"message": "x", "host": None, "level": True, "time": [], "rank": True}, Line("x", level="fatal")),
    (
        {"message": "Jan 21 04:41:44 node-02 kernel: x", "time": STAMP},
        Line("x", MOMENT, None, "node-02", None, "kernel", "node-02 kernel"),
    ),
]


@pytest.mark.parametrize(("record", "line"), RECORDS)
def test_a_record_is_unwrapped(record: dict[str, object], line: Line) -> None:
    assert unwrap(json.dumps(record), RULES) == (line,)


NO_RECORDS = [
    "",
    "plain",
    "{",
    "[]",
    "1",
    "null",
    "{}",
    "[1]",
    "{'loss': 2.0}",
    '{"loss": 2.0}',
    '{"text": "a sentence"}',
    '{"body": "a sentence"}',
    '{"message": "x", "step": 3}',
    '{"message": 5, "time": 1}',
    '{"message": null, "time": 1}',
    '{"MESSAGE": "x"}',
    '{"MESSAGE": [300], "PRIORITY": "3"}',
    '{"MESSAGE": null, "PRIORITY": "3"}',
    '{"message": "x", "time": "2025"} trailing',
    '{"message": "x", "time": "2025"',
    '{"a":' * 5000,
    '{"message": "x", "time": 1, "pad": "' + "x" * MAX_RECORD + '"}',
]


@pytest.mark.parametrize("text", NO_RECORDS)
def test_other_text_is_no_record(text: str) -> None:
    assert unwrap(text, RULES) is None


def test_each_line_of_a_record_is_a_line_at_its_time() -> None:
    text = 'Traceback (most recent call last):\n  File "x.py", line 3\n[rank2]: ValueError: x\r\n'
    lines = unwrap(json.dumps({"log": text, "time": STAMP, "host": "node-01"}), RULES)
    assert lines == (
        Line("Traceback (most recent call last):", MOMENT, host="node-01"),
        Line('  File "x.py", line 3', MOMENT, host="node-01"),
        Line("ValueError: x", MOMENT, host="node-01", rank=2, writer="rank2"),
    )


def test_the_error_beside_a_text_is_a_line_of_its_own() -> None:
    lines = unwrap(json.dumps({"level": "error", "msg": "failed", "error": "NCCL error\nmore"}), RULES)
    assert lines is not None
    assert [line.message for line in lines] == ["failed", "NCCL error", "more"]
    assert {line.level for line in lines} == {"error"}


def test_prefixes_outside_a_record_are_kept() -> None:
    text = f"[pod/w-0/c] {STAMP} stderr F " + json.dumps({"level": "info", "msg": "x", "time": "2020-01-01T00:00:00Z"})
    assert unwrap(text, RULES) == (Line("x", MOMENT, host="w-0", writer="pod/w-0/c stderr", level="info"),)


def test_the_outermost_utc_time_wins() -> None:
    local = "2020-01-01 00:00:00"
    for outer, inner in ((local, STAMP), (STAMP, "2020-01-01T00:00:00Z"), (STAMP, local)):
        lines = unwrap(json.dumps({"log": f"{inner} x", "time": outer}), RULES)
        assert lines == (Line("x", MOMENT),)


def test_a_record_knows_its_host_better_and_a_program_its_level() -> None:
    record = {"log": "[ERROR] x", "level": "info", "kubernetes": {"host": "node-01"}}
    lines = unwrap("[pod/w-0/c] " + json.dumps(record), RULES)
    assert lines == (Line("x", host="node-01", writer="pod/w-0/c", level="error"),)


def _nested(depth: int) -> str:
    text = "x"
    for _ in range(depth):
        text = json.dumps({"message": text})
    return text


def test_records_within_records_are_unwrapped_to_a_depth() -> None:
    assert unwrap(_nested(MAX_DEPTH), RULES) == (Line("x"),)
    assert unwrap(_nested(MAX_DEPTH + 1), RULES) == (Line('{"message": "x"}'),)


def test_no_line_of_a_record_is_lost() -> None:
    lines = unwrap(json.dumps({"message": "x\n" * (MAX_LINES + 5)}), RULES)
    assert lines is not None
    assert len(lines) == MAX_LINES
    assert "\n".join(line.message for line in lines).count("x") == MAX_LINES + 5


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "message",
                    "msg",
                    "log",
                    "MESSAGE",
                    "time",
                    "ts",
                    "level",
                    "host",
                    "kubernetes",
                    "attributes",
                    "rank",
                    "PRIORITY",
                    "_HOSTNAME",
                    "__REALTIME_TIMESTAMP",
                    "details",
                    "error",
                    "stream",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
)


@given(st.text() | st.builds(json.dumps, JSON))
def test_any_text_is_unwrapped_or_none(text: str) -> None:
    lines = unwrap(text, RULES)
    assert lines is None or len(lines) > 0


@pytest.mark.parametrize("digits", [20, 400, 5000, 100_000])
def test_a_huge_number_is_no_time(digits: int) -> None:
    lines = unwrap('{"message": "x", "rank": 1, "time": ' + "9" * digits + "}", RULES)
    assert lines is None or lines == (Line("x", rank=1),)


# --- Loki -----------------------------------------------------------------------------------------------------------

STREAM = {"stream": {"node": "node-01"}, "values": [["1737434504283302123", "a"], ["2", "b"]]}
ENTRIES = [(1737434504283302123, {"node": "node-01"}, "a"), (2, {"node": "node-01"}, "b")]
LOKI = [
    ([STREAM], ENTRIES),
    ({"status": "success", "data": {"resultType": "streams", "result": [STREAM], "stats": {"x": 1}}}, ENTRIES),
    ({"streams": [STREAM]}, ENTRIES),
    ([{"stream": {}, "values": [[5, "a"]]}], [(5, {}, "a")]),
    ([{"stream": {"a": "1"}, "values": [["5", "x", {"a": "2", "b": "3"}]]}], [(5, {"a": "1", "b": "3"}, "x")]),
    (
        [{"stream": {"a": "1"}, "values": [["5", "x", {"structuredMetadata": {"b": "3"}, "parsed": {"c": "4"}}]]}],
        [(5, {"a": "1", "b": "3", "c": "4"}, "x")],
    ),
    ([{"stream": {}, "values": []}], []),
    ([], []),
]


@pytest.mark.parametrize(("body", "entries"), LOKI)
def test_loki_streams_are_exploded(body: object, entries: list[object]) -> None:
    assert list(explode_loki(json.dumps(body).encode())) == entries


def test_an_empty_body_has_no_entries() -> None:
    assert list(explode_loki(b"")) == []
    assert list(explode_loki(b" \n" * 500)) == []


NO_LOKI = [
    b"plain text",
    b"{}",
    b"\xff",
    b"null",
    b"[" * 100_000,
    b'[{"stream": {}, "values": [["5", "x"',
    b'[{"stream": {}}]',
    b'[{"stream": {}, "values": [["x", "y"]]}]',
    b'[{"stream": {}, "values": [["-5", "y"]]}]',
    b'[{"stream": {}, "values": [["5"]]}]',
    b'[{"stream": {}, "values": [["5", 6]]}]',
    b'{"status": "success", "data": {"resultType": "matrix", "result": []}}',
    b'{"status": "error", "error": "too many outstanding requests"}',
]


@pytest.mark.parametrize("body", NO_LOKI)
def test_another_body_is_one_clear_problem(body: bytes) -> None:
    with pytest.raises(EvidenceError) as caught:
        list(explode_loki(body))
    assert len(caught.value.problems) == 1


@given(st.binary() | JSON.map(lambda value: msgspec.json.encode(value)))
def test_any_body_is_exploded_or_refused(body: bytes) -> None:
    try:
        list(explode_loki(body))
    except EvidenceError as error:
        assert error.problems


def test_a_large_record_takes_work_in_proportion() -> None:
    small, large = (json.dumps({"message": "[rank1]: x\n" * n, "time": STAMP}) for n in (5_000, 20_000))
    assert unwrap(large, RULES) is not None
    work = [calls(lambda text=text: unwrap(text, RULES)) for text in (small, large)]  # type: ignore[misc]
    assert work[1] < 6 * work[0], work
