"""Lines are had from Loki without loss and without repetition, and what is not had is said."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, strategies
from hypothesis import settings as settings_of_search
from pydantic import ValidationError

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.calls import Refused, Why
from attribution.blueprint.connectors.http import Answer, Call, HttpSource
from attribution.blueprint.connectors.logs import logql
from attribution.blueprint.connectors.logs.loki import Loki, LokiSettings
from attribution.blueprint.connectors.logs.loki_pages import Pages
from attribution.blueprint.connectors.registry import find_connectors
from attribution.blueprint.settings import load_settings
from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.testing import HttpCollectorCompliance, Reply, Request, Server, collected, faulty

from tests.doubles.loki import HOUR_NS, QUERY_RANGE, LokiDouble
from tests.examples import examples

RECORDED = json.loads((Path(__file__).parent.parent / "doubles" / "loki_exchanges.json").read_text())
START = datetime(2026, 5, 4, 3, tzinfo=UTC)
BASE = int(START.timestamp()) * 10**9
TIMES = {"started_at": START, "ended_at": START + timedelta(hours=1)}
PLAN = CollectionPlan(catalog_digest="d", margin_secs=60)
SYSLOG = {"source": "syslog", "query": '{job="syslog", node="{node}"}', "push_down": False}
APPLOG = {"source": "applog", "query": '{job="train"}'}


def attempt(**fields: Any) -> Attempt:
    told = {"workload_id": "job-7", "nodes": [{"name": "node-01"}, {"name": "node-02"}], **TIMES, **fields}
    return Attempt(ExecutionContext.model_validate(told), "test")


def double(**limits: Any) -> LokiDouble:
    """A server with the system logs of two nodes."""
    loki = LokiDouble(BASE + 2 * HOUR_NS, **limits)
    for node in ("node-01", "node-02"):
        loki.push("team-1", {"job": "syslog", "node": node}, lines(node, 10))
    return loki


def lines(words: str, count: int, step_ns: int = 10**9, start: int = BASE) -> list[tuple[object, ...]]:
    return [(str(start + n * step_ns), f"{words} line {n}") for n in range(count)]


def asked(
    loki: Callable[[Request], Reply], of: Attempt, *queries: dict[str, Any], plan: CollectionPlan = PLAN, **more: Any
) -> list[Observation]:
    with Server(loki) as server:
        connector = Loki(settings(server.url, *queries, **more))
        found = collected(connector, of, plan)
        connector.close()
    return found


def settings(url: str, *queries: dict[str, Any], **more: Any) -> LokiSettings:
    return LokiSettings.model_validate(
        {"url": url, "tenant": "team-1", "queries": queries or [SYSLOG], "retry_secs": 0.2, **more}
    )


def texts(found: list[Observation], node: str | None = None) -> list[str]:
    """The lines of a node, as they were pushed."""
    bodies: dict[str, str] = {}
    for item in found:
        if node in {None, item.node} and item.body:
            assert item.offset == len(bodies.get(item.stream, "").encode()), "pieces of a stream do not join"
            bodies[item.stream] = bodies.get(item.stream, "") + item.body
    return [json.loads(line)["message"] for body in bodies.values() for line in body.splitlines()]


def told(found: list[Observation]) -> list[tuple[str | None, str, str | None]]:
    """What is said besides lines."""
    return [(o.node, o.status.value, o.reason) for o in found if not o.body]


# --- the double -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exchange", RECORDED["exchanges"], ids=lambda exchange: exchange["case"])
def test_the_double_answers_as_recorded(exchange: dict[str, Any]) -> None:
    loki = LokiDouble(RECORDED["now_secs"] * 10**9)
    pushed = json.dumps({"streams": RECORDED["push"]}).encode()
    assert (
        loki(Request("POST", "/loki/api/v1/push", {}, {"x-scope-orgid": RECORDED["tenant"]}, pushed, 0.0)).status == 204
    )
    tenant = exchange.get("tenant", RECORDED["tenant"])
    headers = exchange.get("headers", {}) | ({"x-scope-orgid": tenant} if tenant else {})
    reply = loki(Request("GET", exchange.get("path", QUERY_RANGE), exchange["params"], headers, b"", 0.0))
    assert reply.status == exchange["status"]
    if "text" in exchange:
        assert (reply.body, reply.content_type) == (exchange["text"], "text/plain; charset=utf-8")
        return
    answer = json.loads(reply.body)
    assert answer["status"] == "success"
    assert (answer["data"]["result"] if "streams" in exchange else answer["data"]) == exchange.get(
        "streams", exchange.get("data")
    )


# --- the rules of all connectors --------------------------------------------------------------------------------------


@pytest.mark.slow
class TestLoki(HttpCollectorCompliance):
    def connector(self, url: str, timeout_secs: float, retry_secs: float, answer_bytes: int) -> Loki:
        limits = {"timeout_secs": timeout_secs, "retry_secs": retry_secs, "answer_bytes": answer_bytes}
        return Loki(settings(url, SYSLOG, **limits))

    def attempt(self) -> Attempt:
        return attempt()

    def healthy(self, request: Request) -> Reply:
        return double()(request)

    def nothing(self, request: Request) -> Reply:
        return LokiDouble(BASE + 2 * HOUR_NS)(request)

    def long_line(self, request: Request) -> Reply:
        values = [[str(BASE), "x" * (3 << 20)]]
        data = {"resultType": "streams", "result": [{"stream": {"node": "node-01"}, "values": values}]}
        return Reply(body=json.dumps({"status": "success", "data": data}))


# --- paging -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [1, 3, 7, 10, 5000])
def test_pages_lose_nothing_and_repeat_nothing(page: int) -> None:
    loki = double()
    found = asked(loki, attempt(), page_lines=page)
    for node in ("node-01", "node-02"):
        assert texts(found, node) == [f"{node} line {n}" for n in range(10)]


def test_pages_of_thousands_of_lines_with_equal_times() -> None:
    loki = LokiDouble(BASE + 2 * HOUR_NS)
    for node in ("a", "b"):
        loki.push(
            "team-1",
            {"job": "train", "app": node},
            lines(node, 600, step_ns=10**6) + lines(f"again {node}", 600, 10**6),
        )
    found = asked(loki, attempt(), APPLOG, page_lines=50)
    assert sorted(texts(found)) == sorted(
        f"{w}{n} line {k}" for w in ("", "again ") for n in ("a", "b") for k in range(600)
    )
    assert [status for _, status, _ in told(found)] == ["empty", "empty"]


def test_an_instant_with_more_lines_than_a_page_is_told_and_passed() -> None:
    loki = LokiDouble(BASE + 2 * HOUR_NS)
    many = [(str(BASE + 10**9), f"tie {n}") for n in range(13)]
    loki.push(
        "team-1", {"job": "syslog", "node": "node-01"}, [(str(BASE), "before"), *many, (str(BASE + 2 * 10**9), "after")]
    )
    found = asked(loki, attempt(), page_lines=5)
    assert texts(found) == ["before", *(f"tie {n}" for n in range(5)), "after"]
    reason = "at least 5 entries have the time 2026-05-04T03:00:01.000000000Z; if there are more, they were not read"
    assert ("node-01", "partial", reason) in told(found)
    assert texts(asked(loki, attempt(), page_lines=15)) == ["before", *(f"tie {n}" for n in range(13)), "after"]


def test_the_servers_own_limit_of_lines_is_kept() -> None:
    loki = double(most_lines=4)
    found = asked(loki, attempt(), page_lines=5000)
    assert len(texts(found)) == 20 and told(found) == []


def test_answers_that_are_too_large_are_asked_for_in_smaller_pages() -> None:
    loki = LokiDouble(BASE + 2 * HOUR_NS)
    loki.push(
        "team-1", {"job": "syslog", "node": "node-01"}, [(str(BASE + n), "x" * 1000 + str(n)) for n in range(100)]
    )
    found = asked(loki, attempt(), answer_bytes=20_000)
    assert [text[1000:] for text in texts(found)] == [str(n) for n in range(100)]


def test_a_time_that_is_too_long_for_one_query_is_cut() -> None:
    loki = LokiDouble(BASE + 40 * 24 * HOUR_NS, most_hours=48)
    loki.push("team-1", {"job": "syslog", "node": "node-01"}, lines("node-01", 300, HOUR_NS))
    of = attempt(ended_at=START + timedelta(days=14))
    for hours in (24, 7000):
        found = asked(loki, of, slice_hours=hours)
        assert texts(found) == [f"node-01 line {n}" for n in range(300)]


def test_a_query_that_runs_out_of_time_is_cut_in_halves() -> None:
    loki = double()
    loki.slow_hours = 0
    loki.push("team-1", {"job": "syslog", "node": "node-01"}, lines("later", 3, step_ns=20 * 60 * 10**9))
    with Server(loki) as server:
        connector = Loki(settings(server.url, retry_secs=0))
        found = collected(connector, attempt(), PLAN)
        connector.close()
    # Even one second takes too long: that is told, and nothing is made up.
    assert [status for _, status, _ in told(found)] == ["error", "error"]
    loki.slow_hours = 1
    assert len(texts(asked(loki, attempt(ended_at=START + timedelta(minutes=110)), retry_secs=0))) == 22 + 1


def test_of_more_lines_than_the_limit_the_last_are_read_too() -> None:
    found = asked(double(), attempt(), lines=4, end_lines=3)
    assert texts(found, "node-01") == [f"node-01 line {n}" for n in (0, 1, 2, 3, 7, 8, 9)]
    reason = "there are more than 4 lines; of those after them only the last 3 were read"
    assert told(found) == [(node, "partial", reason) for node in ("node-01", "node-02")]
    for end_lines in (6, 7):
        whole = asked(double(), attempt(), lines=4, end_lines=end_lines, page_lines=2)
        assert texts(whole, "node-01") == [f"node-01 line {n}" for n in range(10)] and told(whole) == []


def test_lines_that_are_large_and_of_one_time_are_not_lost() -> None:
    """The pages are made smaller for them, and larger again so as to get past the instant."""
    loki = LokiDouble(BASE + 2 * HOUR_NS)
    values = [(str(BASE), "x" * 3000 + str(n)) for n in range(3)] + [
        (str(BASE + 1 + n), f"line {n}") for n in range(50)
    ]
    loki.push("team-1", {"job": "syslog", "node": "node-01"}, values)
    found = asked(loki, attempt(), answer_bytes=12_000)
    assert [text[-6:] for text in texts(found)] == [
        *("xxxxx" + str(n) for n in range(3)),
        *(f"line {n}"[-6:] for n in range(50)),
    ]
    assert [status for _, status, _ in told(found)] == ["empty"]


@settings_of_search(max_examples=examples(60), deadline=None)
@given(
    times=strategies.lists(strategies.integers(0, 40), max_size=60),
    page=strategies.integers(1, 12),
    slice_ns=strategies.integers(1, 50),
    backward=strategies.booleans(),
    most=strategies.integers(1, 12),
)
def test_pages_of_any_entries(times: list[int], page: int, slice_ns: int, backward: bool, most: int) -> None:
    """All entries come, each once and in order; of an instant with as many entries as a page, at least that page."""
    loki = LokiDouble(BASE + HOUR_NS, most_lines=most)
    for number, at in enumerate(times):
        loki.push("team-1", {"job": "x", "stream": str(number % 3)}, [(str(BASE + at), f"line {number}")])

    class Direct(Call):
        def post(self, path: str, form: Mapping[str, str]) -> Answer:
            reply = loki(Request("POST", path, form, {"x-scope-orgid": "team-1"}, b"", 0.0))
            if reply.status != 200:
                raise Refused(Why.WRONG, "no", reply.status, str(reply.body))
            return Answer(200, reply.data, httpx.Headers())

    pages = Pages(Direct(HttpSource(settings("http://loki")), lambda: False), page, slice_ns)
    found = list(pages.entries('{job="x"}', BASE, BASE + 41, backward))
    stamps = [entry.ns - BASE for entry in found]
    assert stamps == sorted(stamps, reverse=backward) and len(set(found)) == len(found)
    size = min(page, most)
    for at in set(times):
        held, got = times.count(at), stamps.count(at)
        assert got == held or (held >= size and got >= size and pages.notes), (at, held, got)
    assert set(stamps) <= set(times)


# --- queries ----------------------------------------------------------------------------------------------------------


def test_names_of_nodes_are_tried_all() -> None:
    loki = LokiDouble(BASE + 2 * HOUR_NS)
    loki.push("team-1", {"job": "syslog", "node": "node-01.example"}, lines("one", 2))
    loki.push("team-1", {"job": "syslog", "node": "node-01xexample"}, lines("other", 2))
    of = attempt(nodes=[{"name": "node-01", "aliases": ["node-01.example", "10.0.0.1"]}])
    found = asked(loki, of)
    assert {o.node for o in found} == {"node-01"} and texts(found) == ["one line 0", "one line 1"]


def test_many_nodes_are_asked_for_at_once() -> None:
    loki = LokiDouble(BASE + 2 * HOUR_NS)
    for number in range(6):
        loki.push("team-1", {"job": "syslog", "node": f"node-{number}.example"}, lines(f"node-{number}", 2))
    nodes = [{"name": f"node-{number}"} for number in (0, 1, 2, 7)] + [{"name": "x", "aliases": ["node-4.example"]}]
    query = {"source": "syslog", "query": '{job="syslog", node=~"{nodes}([.].*)?"}', "push_down": False}
    with Server(loki) as server:
        connector = Loki(settings(server.url, query, nodes_per_query=3))
        found = collected(connector, attempt(nodes=nodes), PLAN)
        connector.close()
    assert {(o.node, tuple(texts([o]))) for o in found if o.body} == {
        ("x" if number == 4 else f"node-{number}", (f"node-{number} line 0", f"node-{number} line 1"))
        for number in (0, 1, 2, 4)
    }
    assert told(found) == [("node-7", "empty", "no stream is of this node")]
    assert sum(r.path == QUERY_RANGE for r in server.requests) == 2
    with pytest.raises(ValidationError, match="has both"):
        settings(server.url, {"source": "syslog", "query": '{a="{node}", b="{nodes}"}'})


def test_a_query_without_nodes_tells_of_each_by_its_labels() -> None:
    loki = LokiDouble(BASE + 2 * HOUR_NS)
    loki.push("team-1", {"job": "train", "instance": "node-01.example:9080", "rank": "3"}, lines("a", 1))
    loki.push("team-1", {"job": "train", "pod": "train-7-0"}, lines("b", 1))
    loki.push("team-1", {"job": "train", "host": "login-1"}, lines("c", 1))
    nodes = [{"name": "node-01"}, {"name": "node-02", "aliases": ["train-7-0"]}, {"name": "node-03"}]
    found = asked(loki, attempt(nodes=nodes), APPLOG, rank_label="rank")
    assert sorted((o.node or "", o.rank, texts([o])) for o in found if o.body) == [
        ("login-1", None, ["c line 0"]),
        ("node-01", 3, ["a line 0"]),
        ("node-02", None, ["b line 0"]),
    ]
    assert told(found) == [("node-03", "empty", "no stream is of this node")]


def test_lines_keep_their_time_and_the_levels_of_a_stream_are_one() -> None:
    loki = LokiDouble(BASE + 2 * HOUR_NS)
    values = [
        (str(BASE), "level=info a"),
        (str(BASE + 1), "level=error b\nmore", {"trace_id": "x"}),
        (str(BASE + 2), "c"),
    ]
    loki.push("team-1", {"job": "syslog", "node": "node-01"}, values)
    for flag in ("categorize-labels", ""):

        def answer(request: Request, flag: str = flag) -> Reply:
            headers = {**request.headers, "x-loki-response-encoding-flags": flag}
            return loki(Request(request.method, request.path, request.params, headers, request.body, 0.0))

        found = [o for o in asked(answer, attempt()) if o.body]
        records = [json.loads(line) for o in found for line in o.body.splitlines()]
        assert sorted(r["time"] for r in records) == [BASE, BASE + 1, BASE + 2]
        assert {r["host"] for r in records} == {"node-01"} and "level=error b\nmore" in {r["message"] for r in records}
    assert {o.stream for o in found} == {
        "loki/job=syslog,node=node-01,service_name=syslog",
        "loki/job=syslog,node=node-01,service_name=syslog,trace_id=x",
    }


def test_the_diagnosis_reads_what_is_collected(shipped: Any) -> None:
    from attribution.bundle.evidence import assemble
    from attribution.diagnosis.engine import diagnose

    loki = LokiDouble(BASE + 2 * HOUR_NS)
    line = "kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    loki.push("team-1", {"job": "syslog", "node": "node-01"}, [(str(BASE + 10**9), line)])
    of = attempt()
    evidence, _ = assemble(of.context, asked(loki, of))
    found = diagnose(evidence, shipped)
    assert [(s.node, s.symptom, s.first_at) for s in found.symptoms] == [
        ("node-01", found.causes[0].symptom, START + timedelta(seconds=1))
    ]
    assert found.evidence[0].text.startswith("kernel: NVRM: Xid") or "NVRM: Xid" in found.evidence[0].text


@pytest.mark.parametrize(
    ("query", "values", "filled"),
    [
        ('{node="{node}"}', {"node": ["n1"]}, '{node="n1"}'),
        ('{node="{node}"}', {"node": ['a"b\\c\nd']}, r'{node="a\"b\\c\nd"}'),
        ('{node="{node}"}', {"node": ["n1", "n.2"]}, r'{node=~"(?:n1|n\\.2)"}'),
        ('{node!="x.{node}"}', {"node": ["n1", "n2"]}, r'{node!~"x\\.(?:n1|n2)"}'),
        ('{pod=~"{name}-.*"}', {"name": ["a.b"]}, r'{pod=~"a\\.b-.*"}'),
        ('{job="x"} |= "{job_id}"', {"job_id": ["7", "6_1"]}, '{job="x"} |~ "(?:7|6_1)"'),
        ('{job="x"} |= "{job_id}" | json', {"job_id": ["7"]}, '{job="x"} |= "7" | json'),
        ('{job="{"} |= `{{x}}`', {}, '{job="{"} |= `{{x}}`'),
    ],
)
def test_values_are_escaped_for_where_they_stand(query: str, values: dict[str, list[str]], filled: str) -> None:
    assert logql.filled(query, values.__getitem__) == filled


@pytest.mark.parametrize("query", ['{a="}"} |= "x"', '{a="\\"}"} |= "x"', '{a=`}`, b="c"} |= "x"', '{a="b"}'])
def test_the_selector_of_a_query(query: str) -> None:
    assert logql.selector(query) == query.partition(" |= ")[0]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ('{job="{jobs}"}', "has the placeholder `{jobs}`; known: {workload_id}, {job_id}"),
        ("{job={node}}", "has a placeholder outside of double quotes"),
        ("{job=`{node}`}", "has a placeholder outside of double quotes"),
        ('job="x"', "does not begin with a selector"),
    ],
)
def test_queries_that_cannot_be_used(query: str, why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        settings("http://loki", {"source": "syslog", "query": query})
    assert why in str(caught.value)


def test_a_value_that_the_context_lacks_is_an_error() -> None:
    query = {"source": "applog", "query": '{namespace="{namespace}"}'}
    reason = "the context does not say its namespace, which the query asks for"
    assert told(asked(double(), attempt(), query)) == [("node-01", "error", reason), ("node-02", "error", reason)]
    found = asked(double(), attempt(), {"source": "applog", "query": '{job="{job_id}"}'})
    assert [reason for *_, reason in told(found)] == ['no stream has the labels {job="job-7"}'] * 2


def test_an_attempt_without_times_is_not_asked_for() -> None:
    of = attempt(started_at=None, ended_at=None)
    with Server(double()) as server:
        connector = Loki(settings(server.url))
        found = collected(connector, of, PLAN)
        connector.close()
    assert {reason for *_, reason in told(found)} == {
        "the context does not say when the attempt ran, or it has not begun"
    }
    assert server.requests == []


def test_a_job_that_still_runs_is_asked_for_until_now() -> None:
    loki = LokiDouble(int(datetime.now(UTC).timestamp()) * 10**9)
    recent = int(datetime.now(UTC).timestamp() - 5) * 10**9
    loki.push("team-1", {"job": "syslog", "node": "node-01"}, lines("now", 1, start=recent))
    found = asked(loki, attempt(started_at=datetime.now(UTC) - timedelta(hours=1), ended_at=None))
    assert texts(found) == ["now line 0"]


# --- literals ---------------------------------------------------------------------------------------------------------


def plan(*literals: str, source: str = "syslog") -> CollectionPlan:
    parts = [{"source": source, "literals": literals}]
    return CollectionPlan.model_validate({"catalog_digest": "d", "margin_secs": 60, "sources": parts})


PUSHED = {"source": "syslog", "query": '{job="syslog", node="{node}"}'}


@pytest.mark.parametrize("filter_bytes", [100, 60_000])
def test_literals_are_pushed_down(filter_bytes: int) -> None:
    loki = LokiDouble(BASE + 2 * HOUR_NS)
    words = ["NVRM: Xid (PCI", "a.b", 'said "so"', "back\\slash", *(f"word {n} is here" for n in range(40))]
    kept = [f"some {word} text" for word in words] + ["nvrm: xid (pci", '{"body": "said \\"so\\""}']
    dropped = ["NVRM: Xif", "aXb", "said so", "word 40 is"]
    values = [(str(BASE + n), text) for n, text in enumerate([*kept, *dropped])]
    loki.push("team-1", {"job": "syslog", "node": "node-01"}, values)
    found = asked(loki, attempt(), PUSHED, plan=plan(*words), filter_bytes=filter_bytes, page_lines=7)
    assert texts(found) == kept
    assert {o.reason for o in found if o.body} == {"only lines that a rule can use were asked for"}
    assert told(found) == [("node-02", "empty", 'no stream has the labels {job="syslog", node="node-02"}')]


def test_a_stream_without_a_line_of_use_is_told_from_no_stream() -> None:
    found = asked(double(), attempt(), PUSHED, plan=plan("NVRM: Xid"))
    assert {reason for *_, reason in told(found)} == {"its streams hold no line that a rule can use"}


def test_what_is_pushed_down_follows_the_source_and_the_setting() -> None:
    def queries(loki: LokiDouble, query: dict[str, Any], source: str) -> set[bool]:
        with Server(loki) as server:
            connector = Loki(settings(server.url, query))
            collected(connector, attempt(), plan("NVRM: Xid", source=source))
            connector.close()
        return {"|~" in r.params["query"] for r in server.requests if r.path == QUERY_RANGE}

    assert queries(double(), PUSHED, "syslog") == {True}
    assert queries(double(), PUSHED | {"push_down": False}, "syslog") == {False}
    assert queries(double(), APPLOG, "applog") == {False}
    assert queries(double(), APPLOG | {"push_down": True}, "applog") == {True}
    assert queries(double(), PUSHED, "bmc") == {False}


def test_filters_keep_each_line_that_holds_a_literal() -> None:
    literals = ["Xid", "NVRM: Xid", "x" * 300, "(a|b)*", "é", '"', "\\"]
    pieces = logql.filters(literals, 100)
    patterns = [re.compile(json.loads(re.sub(r"^ \|~ ", "", piece))) for piece in pieces]
    assert all(any(p.search(f"a {literal} b") for p in patterns) for literal in literals)
    assert sum("xid" in piece for piece in pieces) == 1 and "nvrm" not in "".join(pieces)
    assert all(len(piece.encode()) < 120 or "xxx" in piece for piece in pieces)


# --- who asks ---------------------------------------------------------------------------------------------------------


def test_credentials_and_tenant_are_sent() -> None:
    for more, expected in (
        ({"token": "t0ken"}, "Bearer t0ken"),
        ({"username": "alice", "password": "pass"}, "Basic YWxpY2U6cGFzcw=="),
        ({}, None),
    ):
        with Server(double()) as server:
            connector = Loki(settings(server.url, **more))
            collected(connector, attempt(), PLAN)
            connector.close()
        assert {r.headers.get("authorization") for r in server.requests} == {expected}
        assert {r.headers.get("x-scope-orgid") for r in server.requests} == {"team-1"}


def test_what_was_sent_in_confidence_comes_back_in_no_report() -> None:
    for more in ({"token": "t0ken-x"}, {"username": "alice", "password": "s3cret-x"}):
        for status, headers in ((400, {}), (401, {}), (302, {"Location": "http://10.0.0.1/in?token=t0ken-x"})):

            def echo(request: Request, status: int = status, headers: dict[str, str] = headers) -> Reply:
                said = f"what is {request.headers.get('authorization')}"
                return Reply(status, said, headers, content_type="text/plain")

            with Server(echo) as server:
                connector = Loki(settings(server.url, **more))
                reasons = [reason or "" for *_, reason in told(collected(connector, attempt(), PLAN))]
                connector.close()
            assert any(str(status) in reason for reason in reasons)
            secrets = ("t0ken-x", "s3cret-x", "YWxpY2U6czNjcmV0LXg=")
            assert not any(secret in reason for secret in secrets for reason in reasons)


def test_the_secrets_of_an_address_come_back_in_no_report() -> None:
    def echo(request: Request) -> Reply:
        return Reply(400, f"{request.headers.get('authorization')} {request.params}", content_type="text/plain")

    with Server(echo) as server:
        for user in ("alice:s3cret%2Dx@", "t0ken-x@"):
            address = server.url.replace("://", f"://{user}")
            connector = Loki(settings(f"{address}?sig=s1gn%3Dx"))
            reasons = [reason or "" for *_, reason in told(collected(connector, attempt(), PLAN))]
            connector.close()
            assert any("400: Basic *** " in reason for reason in reasons)
            assert not any(secret in reason for secret in ("s3cret", "t0ken", "s1gn") for reason in reasons)


def test_the_query_of_an_address_stands_behind_each_path() -> None:
    with Server(double()) as server:
        connector = Loki(settings(f"{server.url}/?gate=open"))
        found = collected(connector, attempt(), PLAN)
        connector.close()
    assert {request.path for request in server.requests} >= {"/loki/api/v1/query_range"}
    assert {request.params.get("gate") for request in server.requests} == {"open"} and texts(found)


def test_a_server_that_wants_a_tenant_says_which_setting_it_is() -> None:
    found = asked(double(), attempt(), tenant=None)
    assert {reason for *_, reason in told(found)} == {"asks for a tenant (401: no org id); set `tenant`"}
    with Server(double()) as server:
        connector = Loki(settings(server.url, tenant=None))
        with pytest.raises(ConnectorError, match="set `tenant`"):
            connector.check()
        connector.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_the_certificates_that_are_given_are_trusted_and_no_others(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    with Server(double(), (certificate, key)) as server:
        for ca_file, trusted in ((certificate, True), (None, False)):
            connector = Loki(settings(server.url, ca_file=ca_file))
            connector.open()
            found = collected(connector, attempt(), PLAN)
            connector.close()
            assert (len(texts(found)) == 20) == trusted
            assert trusted or all("certificate verify failed" in str(reason) for *_, reason in told(found))
    for odd, why in ((tmp_path / "none.pem", "No such file"), (key, "cannot read the certificates")):
        with pytest.raises(ConnectorError, match=why):
            Loki(settings("https://loki", ca_file=odd)).open()


def test_a_token_that_others_renew_is_read_for_each_call(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with Server(double()) as server:
        connector = Loki(settings(server.url, fresh_token_file=file))
        with pytest.raises(ConnectorError, match=r"cannot read the token in .*: No such file"):
            connector.open()
        for token in ("first\n", "second\n"):
            file.write_text(token)
            connector.open()
            collected(connector, attempt(), PLAN)
        assert [r.headers["authorization"] for r in server.requests[::2]] == ["Bearer first", "Bearer second"]
        file.write_text("s3c\nret")
        found = collected(connector, attempt(), PLAN)
        connector.close()
    reason = f"cannot use the token in {file}: it holds characters that no header may hold"
    assert told(found) == [("node-01", "error", reason), ("node-02", "error", reason)]


@pytest.mark.parametrize("odd", ["t0k\nen", "t0k\u20acen", " t0ken", "t0ken\x00"])
def test_a_token_or_tenant_that_cannot_be_sent_is_wrong_and_the_token_not_shown(odd: str) -> None:
    for more in ({"token": odd}, {"tenant": odd}):
        with pytest.raises(ValidationError, match="holds characters that no header may hold"):
            settings("http://loki", **more)
    environ = {"ATTRIBUTION_LOGS_LOKI_URL": "http://loki", "ATTRIBUTION_LOGS_LOKI_TOKEN": odd}
    environ["ATTRIBUTION_LOGS_LOKI_QUERIES"] = json.dumps([SYSLOG])
    with pytest.raises(ConfigurationError) as caught:
        load_settings(find_connectors(), None, environ, {})
    assert str(caught.value) == "environment ATTRIBUTION_LOGS_LOKI_TOKEN: D014 has a wrong `logs.loki.token`"


def test_a_gateway_that_allows_no_post_is_asked_by_get() -> None:
    loki = double()

    def gateway(request: Request) -> Reply:
        return loki(request) if request.method == "GET" else Reply(405, "read only", content_type="text/plain")

    found = asked(gateway, attempt())
    assert len(texts(found)) == 20 and told(found) == []


def test_what_the_server_says_is_told() -> None:
    query = {"source": "syslog", "query": '{job=~".*"}'}
    (reason, _) = (reason for *_, reason in told(asked(double(), attempt(), query)))
    assert reason is not None and reason.startswith("answered 400: parse error : queries require at least one")


def test_numbers_are_no_lines() -> None:
    data = {"resultType": "matrix", "result": []}
    found = asked(lambda request: Reply(body=json.dumps({"status": "success", "data": data})), attempt())
    assert {reason for *_, reason in told(found)} == {
        "answered a question for lines with `matrix`; ask for lines, not numbers"
    }


def test_check_says_which_label_is_missing() -> None:
    loki = double()
    with Server(loki) as server:
        connector = Loki(settings(server.url))
        assert connector.check().endswith("which has 3 labels")
        connector.close()
        wrong = Loki(settings(server.url, {"source": "syslog", "query": '{job="x", nodename="{node}"}'}))
        with pytest.raises(ConnectorError) as caught:
            wrong.check()
        wrong.close()
    assert (
        str(caught.value) == "has no label `nodename`, which a query asks for; the labels are job, node, service_name"
    )


def test_one_busy_answer_between_two_pages_changes_nothing() -> None:
    whole = asked(double(), attempt(), page_lines=3)
    found = asked(
        faulty(double(), Reply(429), Reply(503, headers={"Retry-After": "0"})), attempt(), page_lines=3, retry_secs=30
    )
    assert [o.body for o in found] == [o.body for o in whole]


def test_pages_hold_no_more_than_they_must() -> None:
    """Only what has the time of the last line is remembered from one page to the next."""
    loki = double()
    with Server(loki) as server:
        connector = Loki(settings(server.url))
        pages = Pages(Call(connector.http, lambda: False), 3, 24 * HOUR_NS)
        entries = pages.entries('{job="syslog", node="node-01"}', BASE, BASE + HOUR_NS)
        assert [next(entries).line for _ in range(2)] == ["node-01 line 0", "node-01 line 1"]
        assert len(server.requests) == 1
        connector.close()
