"""Every fault of the lab gets its right diagnosis, on a real Slurm with real training jobs."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from attribution.blueprint.attempt import Attempt, Query
from attribution.blueprint.connectors.context.slurm import JobState, SlurmContexts, SlurmSettings
from attribution.contracts.errors import AttributionError
from attribution.store import schema
from attribution.store.database import open_store

from lab import environment
from lab.faults import FAULTS, Fault
from lab.laboratory import ENDED, PROGRAM, Laboratory, Row, table
from lab.servers.processes import wait_for
from lab.servers.slurm import SlurmCluster
from tests.blueprint.test_run import served

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def laboratory(cluster: SlurmCluster) -> Laboratory:
    """The lab, with the Python of its jobs."""
    return Laboratory(cluster, environment.make(), _tell)


@pytest.fixture(scope="module")
def rows(laboratory: Laboratory) -> Mapping[str, Row]:
    """What was said of each fault. The table is printed whatever comes of it."""
    found = laboratory.play()
    _tell("\n".join(["", *table(found)]))
    return {row.fault.name: row for row in found}


def _tell(text: str) -> None:
    print(text, file=sys.__stderr__, flush=True)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_diagnosed(rows: Mapping[str, Row], fault: Fault) -> None:
    row = rows[fault.name]
    if row.skipped:
        pytest.skip(row.skipped)
    assert row.wrong() == []


KILLS = int(os.environ.get("ATTRIBUTION_LIVE_KILLS", "3"))


def test_a_watcher_that_is_killed_over_and_over_gives_each_attempt_one_result(
    laboratory: Laboratory, rows: Mapping[str, Row], tmp_path: Path
) -> None:
    """The jobs of the lab are found, collected and written by watchers that are killed at random moments."""
    assert rows
    chance = random.Random(6)
    database = tmp_path / "watched.db"
    expected = {key for key, attempt in _attempts(laboratory) if attempt.context.ended_at is not None}
    with served(tmp_path) as url:
        for _ in range(KILLS):
            watcher = _watch(laboratory, url, database)
            time.sleep(chance.uniform(1.0, 12.0))
            assert watcher.poll() is None, "the watcher ended by itself"
            watcher.kill()
            watcher.wait()
        watcher = _watch(laboratory, url, database)
        done = wait_for(lambda: set(_results(database)) >= expected or watcher.poll() is not None, 300, 1.0)
        watcher.terminate()
        assert watcher.wait(120) is not None and done
    assert sorted(_results(database)) == sorted(expected)


def _attempts(laboratory: Laboratory) -> list[tuple[tuple[str, int], Attempt]]:
    settings = SlurmSettings(
        slurm_conf=laboratory.cluster.conf, states=tuple(JobState(name) for name in sorted({*ENDED, "REQUEUED"}))
    )
    found = [item for item in SlurmContexts(settings).discover(Query()) if isinstance(item, Attempt)]
    return [((attempt.context.workload_id, attempt.context.attempt), attempt) for attempt in found]


def _watch(laboratory: Laboratory, url: str, database: Path) -> "subprocess.Popen[bytes]":
    given = ["--config", laboratory.configuration(), "--service-url", url, "--sinks-database-url", database]
    given += ["--watch-interval-secs", 1, "--watch-settle-secs", 0, "--watch-lease-secs", 3]
    command = [str(PROGRAM), "run", "--watch", *map(str, given)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _results(database: Path) -> list[tuple[str, int]]:
    """What the store holds, each result once for each time that it is there."""
    if not database.exists():
        return []
    columns = schema.results.c
    with (
        suppress(AttributionError, SQLAlchemyError),
        closing(open_store(str(database), read_only=True)) as store,
        store.read() as connection,
    ):
        return [
            (row.workload_id, row.attempt) for row in connection.execute(select(columns.workload_id, columns.attempt))
        ]
    return []
