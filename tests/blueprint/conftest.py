"""A Service in this process, and evidence made by hand."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from attribution.client.client import AttributionClient
from attribution.client.in_process import InProcess
from attribution.client.retry import Retries
from attribution.extraction.ruleset import RuleSets
from attribution.service.app import create_app
from attribution.service.settings import ServiceSettings
from attribution.store.database import open_store
from attribution.store.sessions import Sessions

FAST = Retries(times=2, total_secs=60.0, first_wait_secs=0.0, longest_wait_secs=0.0)


@pytest.fixture
def service(shipped: RuleSets, tmp_path: Path) -> Iterator[AttributionClient]:
    """A client of a Service over the shipped catalog and an empty store."""
    with closing(open_store(str(tmp_path / "sessions.db"))) as store:
        app = create_app(lambda: shipped, ServiceSettings(), Sessions(store), verify_rules=lambda rules: ())
        with AttributionClient(
            "http://localhost", transport=InProcess(app, app.router.lifespan_context(app)), retries=FAST
        ) as client:
            yield client


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a text to a file below the test's folder."""

    def written(name: str, text: str = "") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return written
