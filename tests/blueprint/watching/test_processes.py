"""Watchers in processes of their own, killed at any moment: each attempt ends with exactly one result."""

import json
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from attribution.store import schema
from attribution.store.backlog import Backlog
from attribution.store.database import open_store
from attribution.store.outbox import Outbox
from attribution.store.queries import list_results

from tests.blueprint.test_run import ATTRIBUTION, environment, served

pytestmark = pytest.mark.slow
SECS = 600
"""How long a loaded machine may take for anything."""


def lay(folder: Path, name: str) -> None:
    """A bundle that is complete when it appears, as whoever writes bundles should do it."""
    made = folder.parent / "being-made" / name
    (made / "applog").mkdir(parents=True)
    line = "2026-05-04T03:00:00Z [rank0]: step {}\n"
    text = "".join(line.format(number) for number in range(2000))
    (made / "applog" / "node-01.log").write_text(f"{text}2026-05-04T03:10:00Z [rank0]: ValueError: no such option\n")
    folder.mkdir(exist_ok=True)
    made.rename(folder / name)


class Watching:
    """One `attribution run --watch`, whose log lines are read as they come."""

    def __init__(self, folder: Path, url: str, *words: object, store: str | None = None) -> None:
        given = [
            *("--context-static-bundles", f"{folder}/bundles/*", "--service-url", url, "--watch-log-format", "json"),
            *("--watch-interval-secs", 0.2, "--watch-settle-secs", 0, "--watch-lease-secs", 3, *words),
        ]
        command = [ATTRIBUTION, "run", "--watch", *map(str, given)]
        variables = environment(ATTRIBUTION_SINKS_DATABASE_URL=store or f"sqlite:///{folder}/results.db")
        self.process = subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, encoding="utf-8")
        self.lines: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self.lines.append(json.loads(line) if line.startswith("{") else {"event": line})

    def events(self, name: str) -> list[dict[str, Any]]:
        return [line for line in list(self.lines) if line["event"] == name]

    def until(self, done: Callable[[], bool]) -> None:
        give_up = time.monotonic() + SECS
        while not done():
            assert self.process.poll() is None, self.lines
            assert time.monotonic() < give_up, self.lines
            time.sleep(0.02)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait; the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(SECS)
        self._reader.join(SECS)
        return code


@contextmanager
def watching(folder: Path, url: str, *words: object, store: str | None = None) -> Iterator[Watching]:
    found = Watching(folder, url, *words, store=store)
    try:
        yield found
    finally:
        found.process.kill()
        found.end(signal.SIGKILL)


def diagnosed(store_url: str) -> list[tuple[str, str, int, str]]:
    """(workload, state of the attempt, tries, state at the sink) of all that is remembered."""
    a, d = schema.watch_attempts.c, schema.watch_deliveries.c
    query = select(a.workload_id, a.state, a.tries, d.state.label("sink")).join(schema.watch_deliveries, a.key == d.key)
    with closing(open_store(store_url, read_only=True)) as store, store.read() as connection:
        return sorted((row.workload_id, row.state, row.tries, row.sink) for row in connection.execute(query))


def results(store_url: str) -> list[str]:
    with closing(open_store(store_url, read_only=True)) as store:
        return sorted(listed.workload_id for listed in list_results(store, None).rows)


def test_a_watcher_that_is_killed_ten_times_misses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    chance = random.Random(7)
    names, store_url = [f"job-{number:02}" for number in range(33)], f"sqlite:///{tmp_path}/results.db"
    appearing = iter(names)
    with served(tmp_path) as url:
        for _ in range(10):
            for name in [next(appearing) for _ in range(3)]:
                lay(tmp_path / "bundles", name)
            with watching(tmp_path, url) as watcher:
                watcher.until(lambda: bool(watcher.events("watching")))
                time.sleep(chance.uniform(0.0, 1.2))
                assert watcher.end(signal.SIGKILL) == -signal.SIGKILL
        for name in appearing:
            lay(tmp_path / "bundles", name)
        with watching(tmp_path, url) as watcher:
            expected = [(name, "diagnosed", 0, "done") for name in names]
            watcher.until(lambda: diagnosed(store_url) == expected)
            assert watcher.end() == 0
    assert results(store_url) == names
    assert watcher.events("stopped")[0]["given_back"] == 0
    with closing(open_store(store_url)) as store, store.read() as connection:
        assert connection.execute(select(schema.watch_results)).all() == [], "what all sinks have is not kept twice"


def test_two_watchers_of_one_store_share_the_work(tmp_path: Path, store_url: str) -> None:
    names = [f"job-{number:02}" for number in range(40)]
    (tmp_path / "bundles").mkdir()
    shared = {"store": store_url}
    with served(tmp_path) as url, watching(tmp_path, url, **shared) as one, watching(tmp_path, url, **shared) as other:
        for watcher in (one, other):
            watcher.until(lambda: bool(watcher.events("watching")))  # noqa: B023
        for name in names:
            lay(tmp_path / "bundles", name)
        one.until(lambda: diagnosed(store_url) == [(name, "diagnosed", 0, "done") for name in names])
        assert (one.end(), other.end()) == (0, 0)
    done = [[line["workload"] for line in watcher.events("diagnosed")] for watcher in (one, other)]
    assert sorted(done[0] + done[1]) == names, "each by one of them"
    assert done[0] and done[1]
    sent = [line["workload"] for watcher in (one, other) for line in watcher.events("delivered")]
    assert sorted(sent) == names
    assert results(store_url) == names


def test_a_watcher_that_is_asked_to_stop_ends_what_it_began_or_gives_it_back(tmp_path: Path) -> None:
    """The Service takes a call and does not answer: what is begun cannot end."""
    lay(tmp_path / "bundles", "job-1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with watching(tmp_path, url, "--watch-shutdown-secs", "0.5") as watcher, silent.accept()[0]:
            assert watcher.end() == 0
    assert watcher.events("stopped")[0]["given_back"] == 1
    with closing(open_store(f"{tmp_path}/results.db")) as store:
        claim = Backlog(store).claim(datetime.now(UTC) + timedelta(seconds=1), 60)
        assert claim is not None and (claim.losses, claim.tries) == (0, 0), "others may take it at once"
        assert Outbox(store).counts() == {}


def test_metrics_and_health_are_served(tmp_path: Path) -> None:
    lay(tmp_path / "bundles", "job-1")
    with served(tmp_path) as url:
        token = tmp_path / "token"
        token.write_text("secret-of-metrics\n")
        words = ("--watch-metrics-port", 0, "--watch-metrics-token-file", token)
        with watching(tmp_path, url, *words) as watcher:
            watcher.until(lambda: bool(watcher.events("delivered")))
            address = watcher.events("metrics")[0]["url"]
            assert httpx.get(address).status_code == 401
            text = httpx.get(address, headers={"Authorization": "Bearer secret-of-metrics"}).text
            assert 'attribution_watch_deliveries_total{outcome="done",sink="database"} 1.0' in text
            healthy = httpx.get(address.replace("/metrics", "/healthz"))
            assert (healthy.status_code, healthy.text) == (200, "ok\n")
            assert httpx.get(address + "x").status_code == 404
            assert watcher.end(signal.SIGINT) == 0
