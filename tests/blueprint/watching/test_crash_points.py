"""Wherever a watcher is killed, the next one brings every attempt to exactly one result at every sink."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import select

from attribution.blueprint.orchestrator import Orchestrator
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store import schema
from attribution.store.backlog import Backlog
from attribution.store.database import Store, open_store
from attribution.store.keepsakes import Marks
from attribution.store.outbox import Outbox

from tests.blueprint.fakes import FakeSink, attempt
from tests.blueprint.watching.steps import Scripted, Steps, at

NAMES = ["a", "b", "c"]


class Killed(BaseException):
    """The process is gone: nothing that it would do afterwards is done."""


class Replacing(FakeSink):
    """Keeps one result for each attempt, as the database does, and counts how often each came."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, AttributionBlueprintResult] = {}
        self.came: list[str] = []

    def write(self, result: AttributionBlueprintResult, catalog: object) -> None:
        self.came.append(result.context.workload_id)
        self.held[result.context.workload_id] = result


POINTS: list[tuple[type, str]] = [
    (Backlog, "note"),
    (Backlog, "claim"),
    (Orchestrator, "diagnosed"),
    (Backlog, "complete"),
    (Outbox, "claim"),
    (Replacing, "write"),
    (Outbox, "done"),
    (Marks, "advance"),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "watch.db"))) as opened:
        yield opened


def killing(method: Callable[..., Any], call: int, is_after: bool) -> Callable[..., Any]:
    """The method, but at its so-manieth call the process is killed, before or after it did its work."""
    calls = iter(range(1_000_000))

    def killed(*given: Any) -> Any:
        is_now = next(calls) == call
        if is_now and not is_after:
            raise Killed
        answer = method(*given)
        if is_now:
            raise Killed
        return answer

    return killed


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", [0, 1])
@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point[0].__name__}.{point[1]}")
def test_each_attempt_ends_with_one_result(store: Store, point: tuple[type, str], call: int, is_after: bool) -> None:
    found = [attempt(name, "node-01", started_at=at(-3600), ended_at=at(-100)) for name in NAMES]
    one, other = Replacing(), Replacing()
    owner, name = point
    with (
        patch.object(owner, name, killing(getattr(owner, name), call, is_after)),
        suppress(Killed),
    ):
        steps = Steps(store, Scripted(*found), sinks={"one": one, "other": other}, overlap_secs=7200)
        for _ in range(call + 1):
            steps.discovery.round(threading.Event())
        steps.run()
    heir = Steps(store, Scripted(*found), sinks={"one": one, "other": other}, overlap_secs=7200).pass_by(61)
    heir.round()
    heir.run()
    assert sorted(one.held) == sorted(other.held) == NAMES
    d = schema.watch_deliveries.c
    with store.read() as connection:
        rows = sorted(connection.execute(select(d.sink, d.state)).all())
        assert [tuple(row) for row in rows] == [("one", "done")] * 3 + [("other", "done")] * 3
        assert connection.execute(select(schema.watch_results)).all() == []
    repeated = len(one.came) + len(other.came) - 6
    between = (owner, name, is_after) in {(Replacing, "write", True), (Outbox, "done", False)}
    assert repeated == (1 if between else 0), "a sink sees a result twice only if the kill fell between it and its note"
