"""An attempt that takes long says how far it is, in a single run too."""

import time
from collections.abc import Iterator

import httpx
import pytest

from attribution.blueprint import orchestrator
from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import Halted
from attribution.blueprint.progress import Progress
from attribution.contracts.observation import Observation

from tests.blueprint.fakes import Clock, FakeCollector, FakeService, Run, attempt, lines, observation


def test_what_takes_long_is_told_every_so_many_seconds() -> None:
    clock = Clock()
    progress = Progress(30, clock)
    one, other = attempt("a"), attempt("b")
    progress.begin(one)
    clock.now += 20
    progress.begin(other)
    progress.saw(one, observation("x" * (3 << 19)))
    assert progress.due() == []
    clock.now += 10
    assert progress.due() == ["a, attempt 1: under way for 30 s, 1 observations, 1.5 MiB"]
    assert progress.due() == []
    clock.now += 30
    progress.end(one)
    progress.saw(one, observation())
    assert progress.due() == ["b, attempt 1: under way for 40 s, 0 observations, 0.0 MiB"]
    progress.end(other)
    clock.now += 100
    assert progress.due() == []


def test_a_single_run_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orchestrator, "_POLL_SECS", 0.01)

    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        yield observation()
        time.sleep(0.3)

    run = Run(FakeService().client(), [attempt("a")], [FakeCollector(give)], progress=Progress(0.1))
    assert run.told and all(line.startswith("a, attempt 1: under way for 0 s, ") for line in run.told)
    assert run.summary.diagnosed == 1


def test_the_plan_is_asked_for_again_when_the_rules_are_others() -> None:
    """A Service that loaded its rules anew is what a run that stays meets."""

    def fault(request: httpx.Request, before: int) -> httpx.Response | None:
        is_old = request.url.path.endswith("collection-plan") and before == 0
        return httpx.Response(200, json={"catalog_digest": "old"}) if is_old else None

    service = FakeService(fault)
    Run(service.client(), [attempt(name) for name in "abc"], [FakeCollector(lines(1))])
    assert service.calls.count("collection-plan") == 2
