"""Every connector that is installed complies; a broken one does not keep the others away."""

import json
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import func, select

from attribution.blueprint.attempt import Attempt, Bundle, Query, Unusable
from attribution.blueprint.connectors.base import Connector, Kind
from attribution.blueprint.connectors.context import static
from attribution.blueprint.connectors.context.ad_hoc import AdHoc, AdHocSettings
from attribution.blueprint.connectors.context.static import StaticContexts, StaticSettings
from attribution.blueprint.connectors.logs.local_files import LocalFiles, LocalFilesSettings
from attribution.blueprint.connectors.registry import GROUP, find_connectors
from attribution.blueprint.connectors.sinks.database import Database, DatabaseSettings
from attribution.blueprint.connectors.sinks.stdout import Stdout, StdoutSettings
from attribution.contracts.context import ExecutionContext
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store import schema
from attribution.store.catalogs import snapshot
from attribution.store.database import open_store
from attribution.store.queries import get_result
from attribution.store.results import result_key
from attribution.testing.compliance import collector_complies, comply, context_connector_complies, sink_complies

from tests.blueprint.results import SNAPSHOT, report, result
from tests.conftest import ROOT, SAMPLES

Write = Callable[..., Path]
PLAN = CollectionPlan(catalog_digest="d")
SHIPPED = {
    (kind, name): connector for kind, found in find_connectors().known.items() for name, connector in found.items()
}


def test_the_shipped_connectors_are_found() -> None:
    """Each of them has a test of its kind below."""
    assert sorted(name for _, name in SHIPPED) == [
        "database", "kubernetes_event", "kubernetes_pods", "kueue", "local_files", "loki", "promql", "slack", "slurm",
        "static", "stdout", "webhook",
    ]  # fmt: skip
    assert find_connectors().broken == {}


@pytest.mark.parametrize("connector", [*SHIPPED.values(), AdHoc], ids=lambda found: found.__name__)
def test_a_connector_says_what_it_is(connector: type[Connector[Any]]) -> None:
    comply(connector)


# --- context ----------------------------------------------------------------------------------------------------------


def test_static_contexts_comply(write: Write) -> None:
    write("bundles/a/applog/node-01.log", "step 1\n")
    file = write("list.yaml", "attempts:\n  - {workload_id: job-8, evidence: bundles/a}\n  - {workload_id: job-9}\n")
    settings = StaticSettings(bundles=(str(ROOT / "samples" / "*"),), contexts=(file,))
    attempts = context_connector_complies(StaticContexts(settings))
    assert len(attempts) == len(SAMPLES) + 2


def test_a_listed_context_takes_the_place_of_the_bundles_own(write: Write) -> None:
    write("a/context.yaml", "workload_id: wrong\n")
    write("a/applog/node-01.log", "step 1\n")
    file = write("list.json", json.dumps({"attempts": [{"workload_id": "right", "attempt": 3, "evidence": "a"}]}))
    (found,) = StaticContexts(StaticSettings(contexts=(file,))).discover(Query())
    assert isinstance(found, Attempt) and found.label == "right, attempt 3"
    assert found.context.inferred == ("nodes",) and found.context.nodes[0].name == "node-01"


def test_a_bundle_is_read_again_only_when_it_changed(write: Write) -> None:
    log = write("a/applog/node-01.log", "step 1\n")
    write("a/context.yaml", "workload_id: one\n")
    gone = write("b/context.yaml", "workload_id: b\n")
    write("b/applog/node-01.log", "step 1\n")
    contexts = StaticContexts(StaticSettings(bundles=(f"{log.parents[2]}/*",)))

    def found() -> tuple[list[str], int]:
        with patch.object(static, "open_bundle", wraps=static.open_bundle) as opened:
            names = [item.context.workload_id for item in contexts.discover(Query()) if isinstance(item, Attempt)]
        return names, opened.call_count

    assert [found(), found()] == [(["one", "b"], 2), (["one", "b"], 0)]
    write("a/context.yaml", "workload_id: other\n")
    assert found() == (["other", "b"], 1)
    gone.write_text("workload_id: [\n")
    assert [found(), found()] == [(["other"], 1), (["other"], 1)], "what cannot be read is looked at again"


def test_what_cannot_be_used_is_said_and_passed(write: Write) -> None:
    write("good/applog/node-01.log", "step 1\n")
    folder = write("bad/context.yaml", "workload_id: a\nnodez: []\n").parent.parent
    write("README.md", "hello\n")
    write("list.yaml", "attempts:\n  - {workload_id: a, evidence: gone}\n  - {}\n")
    settings = StaticSettings(
        bundles=(f"{folder}/*", f"{folder}/gone", f"{folder}/none*"),
        contexts=(folder / "list.yaml", folder / "no.yaml"),
    )
    found = list(StaticContexts(settings).discover(Query()))
    told = {
        item.origin.replace(f"{folder}/", ""): (item.reason.replace(f"{folder}/", ""), item.is_failure)
        for item in found
        if isinstance(item, Unusable)
    }
    assert [item.context.workload_id for item in found if isinstance(item, Attempt)] == ["good"]
    assert told == {
        "README.md": ("is passed over: it is not evidence, by its name", False),
        "list.yaml": ("list.yaml:3:5: D012 lacks the key `attempts.1.workload_id` (add it)", True),
        "bad": ("bad/context.yaml:2:1: D011 has the unknown key `nodez` (did you mean `nodes`?)", True),
        "gone": ("B001 does not exist (check the path)", True),
        "none*": ("B001 names nothing that exists (check the path and what `*` and `?` stand for)", True),
        "no.yaml": ("B001 does not exist (check the path)", True),
    }


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (Query(job="77"), {"a"}),
        (Query(job="b"), {"b"}),
        (Query(job="3"), set()),  # the index of a task, not a job
        (Query(workload="train"), {"a"}),
        (Query(nodes=("node-02", "node-09")), {"a", "nowhere"}),
        (Query(nodes=("10.0.0.1",)), {"a", "nowhere"}),
        (Query(start="2026-05-04T05:00:00Z"), {"b", "nowhere"}),
        (Query(end="2026-05-04T02:00:00Z"), {"nowhere"}),
        (Query(start="2026-05-04T03:30:00Z", end="2026-05-04T03:40:00Z"), {"a", "nowhere"}),
        (Query(), {"a", "b", "nowhere"}),
    ],
)
def test_only_what_is_asked_for_is_found(write: Write, query: Query, wanted: set[str]) -> None:
    file = write(
        "list.yaml",
        "attempts:\n"
        "  - {workload_id: a, name: train, scheduler_ids: {job: '77', array_task: '3'},\n"
        "     started_at: 2026-05-04T03:00:00Z, ended_at: 2026-05-04T04:00:00Z,\n"
        "     nodes: [{name: node-01, aliases: [10.0.0.1]}, {name: node-02}]}\n"
        "  - {workload_id: b, started_at: 2026-05-04T05:00:00Z, nodes: [{name: node-03}]}\n"
        "  - {workload_id: nowhere}\n",
    )
    times = ExecutionContext.model_validate({"workload_id": "x", "started_at": query.start, "ended_at": query.end})
    query = Query(query.job, query.workload, query.nodes, times.started_at, times.ended_at)
    found = StaticContexts(StaticSettings(contexts=(file,))).discover(query)
    assert {item.context.workload_id for item in found if isinstance(item, Attempt)} == wanted


def test_a_bundle_that_two_patterns_name_is_found_once(write: Write) -> None:
    folder = write("a/applog/node-01.log", "step 1\n").parent.parent
    settings = StaticSettings(bundles=(str(folder), f"{folder.parent}/a*", f"{folder.parent}/./a"))
    assert len(list(StaticContexts(settings).discover(Query()))) == 1


def test_nodes_and_times_make_an_attempt() -> None:
    times = ExecutionContext.model_validate(
        {"workload_id": "x", "started_at": "2026-05-04T05:00:00+02:00", "ended_at": "2026-05-04T06:00:00+02:00"}
    )
    query = Query(nodes=("node-01", "node-02"), start=times.started_at, end=times.ended_at)
    (found,) = AdHoc(AdHocSettings()).discover(query)
    assert isinstance(found, Attempt)
    assert found.context.workload_id == "node-01.and-1-more.20260504T030000Z"
    assert found.context.inferred == ("workload_id",) and found.context.partial is not None
    assert [node.name for node in found.context.nodes] == ["node-01", "node-02"]
    assert found.origin == "nodes node-01, node-02, start 2026-05-04T03:00:00Z, end 2026-05-04T04:00:00Z"
    (named,) = AdHoc(AdHocSettings()).discover(Query("job-7", None, query.nodes, query.start, query.end))
    assert isinstance(named, Attempt) and named.context.workload_id == "job-7" and not named.context.inferred


# --- logs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_local_files_comply_with_bundles(sample: Path) -> None:
    (attempt,) = StaticContexts(StaticSettings(bundles=(str(sample),))).discover(Query())
    assert isinstance(attempt, Attempt)
    collector = LocalFiles(LocalFilesSettings(piece_bytes=2048))
    assert len(collector_complies(collector, attempt, PLAN)) > 2


def test_local_files_comply_with_patterns(write: Write) -> None:
    folder = write("node-01/messages", "one\n").parent.parent
    write("node-03/messages", "three\n")
    (folder / "node-04").symlink_to(folder / "node-04")
    write("job-7/node-01.rank0.log", "line\n" * 1000)
    write("a/applog/node-02.log", "in a bundle\n")
    (folder / "slurm").mkdir()
    files = [
        {"source": "syslog", "path": f"{folder}/{{node}}/messages"},
        {"source": "applog", "path": f"{folder}/{{workload_id}}/{{node}}.rank{{rank}}.log"},
        {"source": "scheduler", "path": f"{folder}/slurm/{{workload_id}}.json"},
    ]
    settings = LocalFilesSettings.model_validate({"files": files, "piece_bytes": 1024})
    nodes = [{"name": f"node-0{number}", "ranks": [number - 1]} for number in range(1, 5)]
    context = ExecutionContext.model_validate({"workload_id": "job-7", "nodes": nodes})
    for bundle in (None, Bundle(folder / "a", context)):
        collector_complies(LocalFiles(settings), Attempt(context, "test", bundle), PLAN)
    collector_complies(LocalFiles(settings), Attempt(ExecutionContext(workload_id="job-7"), "test"), PLAN)


def test_local_files_comply_with_large_shared_logs(write: Write) -> None:
    lines = [f"2026-05-{day:02}T{hour:02}:00:00Z a line of some length, number {n}\n" for day in range(1, 9)
             for hour in range(24) for n in range(100)]  # fmt: skip
    folder = write("node-01/messages", "".join(lines)).parent.parent
    write("node-02/messages", "".join(lines[:5000]))
    files = [{"source": "syslog", "path": f"{folder}/{{node}}/messages"}]
    settings = LocalFilesSettings.model_validate({"files": files, "piece_bytes": 65536, "whole_bytes": 1024})
    context = {"workload_id": "job-7", "nodes": [{"name": "node-01"}, {"name": "node-02"}]}
    times = {"started_at": "2026-05-04T03:00:00Z", "ended_at": "2026-05-04T04:00:00Z"}
    attempt = Attempt(ExecutionContext.model_validate(context | times), "test")
    found = collector_complies(LocalFiles(settings), attempt, PLAN)
    assert {(o.node, bool(o.body), o.status.value) for o in found} == {
        ("node-01", True, "ok"),
        ("node-02", False, "empty"),
    }
    assert sum(len(o.body) for o in found) < sum(map(len, lines)) / 2


# --- sinks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_stdout_complies(capsys: pytest.CaptureFixture[str], form: str) -> None:
    def read() -> list[AttributionBlueprintResult]:
        text, found, decoder = capsys.readouterr().out, [], json.JSONDecoder()
        while text := text.lstrip():
            value, end = decoder.raw_decode(text)
            found.append(AttributionBlueprintResult.model_validate(value))
            text = text[end:]
        return found

    settings = StdoutSettings.model_validate({"format": form})
    sink_complies(Stdout(settings), result("job-7", report(rejected=2)), lambda: SNAPSHOT, read)


@pytest.mark.parametrize("form", ["text", "md"])
def test_what_was_not_delivered_stands_below_the_diagnosis(form: str) -> None:
    found = result(
        "job-7",
        report(),
        report(node="node-02", status="empty", reason="no file has such a name"),
        report(node="node-03", status="partial", reason="2 observations were rejected: conflict: \x1b[31m_differ_"),
    )
    text = Stdout(StdoutSettings.model_validate({"format": form, "width": 200})).rendered(found)
    assert "node-03, partial: 2 observations were rejected: conflict: " in text.replace("`", "")
    assert "node-02" not in text and "\x1b" not in text


def test_the_database_complies(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/results.db"
    expected = result("job-7", report(submitted=3, accepted=2, rejected=1), cluster="example", tenant="team-1")

    def read() -> list[AttributionBlueprintResult]:
        with closing(open_store(url, read_only=True)) as store, store.read() as connection:
            assert connection.execute(select(func.count()).select_from(schema.results)).scalar_one() == 1
            assert snapshot(store, "c1") == SNAPSHOT
            found = get_result(store, result_key(expected, "team-1"), "team-1")
            assert found is not None
            return [found]

    sink_complies(Database(DatabaseSettings(url=url)), expected, lambda: SNAPSHOT, read)


# --- entry points -----------------------------------------------------------------------------------------------------


class Foreign(Stdout):
    """A sink of another package."""


def test_a_connector_of_another_package_is_found_by_its_entry_point() -> None:
    here = __name__ if __name__ != "__main__" else "tests.blueprint.test_connectors"
    declared = [
        EntryPoint("foreign", f"{here}:Foreign", GROUP),
        EntryPoint("missing", "no_such_package:Sink", GROUP),
        EntryPoint("no_connector", "json:JSONDecoder", GROUP),
        EntryPoint("Wrong-Name", f"{here}:Foreign", GROUP),
        EntryPoint("stdout", "attribution.blueprint.connectors.sinks.stdout:Stdout", GROUP),
        EntryPoint("stdout", f"{here}:Foreign", GROUP),
    ]
    registry = find_connectors(declared)
    assert sorted(registry.known[Kind.SINKS]) == ["foreign", "stdout"]
    assert registry.known[Kind.SINKS]["foreign"].__name__ == "Foreign"
    assert registry.broken == {
        "Wrong-Name": "cannot be loaded: its name is not made of small letters, digits and `_`",
        "missing": "cannot be loaded: No module named 'no_such_package'",
        "no_connector": "cannot be loaded: json:JSONDecoder is no connector",
        "stdout": f"is declared twice: {here}:Foreign is not used",
    }
