"""A store with a few results of two tenants, and the pages over it."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from attribution.client.in_process import InProcess
from attribution.contracts.context import ExecutionContext, Node
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.result import AttributionBlueprintResult, ConnectorReport
from attribution.dashboard.access import Access
from attribution.dashboard.app import create_app
from attribution.store.database import Store, open_store
from attribution.store.results import write_result

from tests.presentation import builders

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def result_of(diagnosis: Diagnosis, *reports: ConnectorReport, **context: Any) -> AttributionBlueprintResult:
    """A result that holds a diagnosis."""
    return AttributionBlueprintResult(
        terminal_state=diagnosis.terminal_state,
        sub_domain=diagnosis.sub_domain,
        context=ExecutionContext(workload_id=diagnosis.workload_id, attempt=diagnosis.attempt, **context),
        diagnosis=diagnosis,
        connector_reports=reports,
    )


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that is open to read only, with one result of every shape."""
    path = str(tmp_path_factory.mktemp("dashboard") / "results.db")
    with closing(open_store(path)) as writable:
        fill(writable)
    with closing(open_store(path, read_only=True)) as found:
        yield found


def fill(found: Store) -> None:
    """Write one result of every shape, an hour apart, the newest of which ended an hour ago; two belong to tenants."""
    for hours, shape in enumerate(builders.SHAPES, 1):
        diagnosis = shape()
        if shape is not builders.hostile:
            diagnosis = diagnosis.model_copy(update={"workload_id": f"job-{shape.__name__}"})
        tenant = {"single": "red", "ambiguous": "blue"}.get(shape.__name__)
        result = result_of(
            diagnosis,
            user="ana" if hours % 2 else "ben",
            cluster="cluster-a",
            name="<i>train</i>",
            ended_at=NOW - timedelta(hours=hours),
            nodes=(Node(name="node-01"), Node(name="node-02")),
        )
        write_result(found, result, NOW, tenant)


@pytest.fixture
def pages(store: Store) -> Iterator[httpx.Client]:
    """The pages as a reader on loopback sees them."""
    with client(store) as found:
        yield found


def client(store: Store, access: Access | None = None, **headers: str) -> httpx.Client:
    """The pages as somebody sees them."""
    app = create_app(store, access or Access(), lambda: NOW)
    return httpx.Client(transport=InProcess(app), base_url="http://127.0.0.1:8080", headers=headers)
