"""Real servers for the tests with the marker `live`, which run where `make test-live` asks for them."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.servers.slurm import SlurmCluster

ASKED = "ATTRIBUTION_LIVE"
"""The variable that asks for these tests. They install packages, so nothing else may start them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is not asked for, or cannot run here, is skipped, and why is told."""
    if not os.environ.get(ASKED):
        why = "needs real servers: run `make test-live`"
        for item in items:
            if item.get_closest_marker("live"):
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[SlurmCluster]:
    """A Slurm of four nodes, for all tests of the session. What it wrote is kept if a test failed."""
    if why := SlurmCluster.why_not():
        pytest.skip(why)
    # Not below pytest's own folder: that is closed to others, and munge refuses a socket that others cannot reach.
    folder = Path(tempfile.mkdtemp(prefix="attribution-live-"))
    cluster = SlurmCluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        assert cluster.processes() == {}, "servers of the lab still run"
    if request.session.testsfailed:
        print(f"\nlogs of the servers, jobs and results are in {folder}", file=sys.__stderr__)
    else:
        shutil.rmtree(folder)
