"""Every fault of the lab gets its right diagnosis, on a real Slurm with real training jobs."""

import sys
from collections.abc import Mapping

import pytest

from lab import environment
from lab.faults import FAULTS
from lab.laboratory import Laboratory, Row, table
from lab.servers.slurm import SlurmCluster

pytestmark = pytest.mark.live


@pytest.fixture(scope="session")
def rows(cluster: SlurmCluster) -> Mapping[str, Row]:
    """What was said of each fault. The table is printed whatever comes of it."""
    python = environment.make()
    laboratory = Laboratory(cluster, python, lambda text: print(text, file=sys.__stderr__, flush=True))
    found = laboratory.play()
    print("", *table(found), sep="\n", file=sys.__stderr__, flush=True)
    return {row.fault.name: row for row in found}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_diagnosed(rows: Mapping[str, Row], fault: object) -> None:
    row = rows[fault.name]  # type: ignore[attr-defined]
    if row.skipped:
        pytest.skip(row.skipped)
    assert row.wrong() == []
