"""A cluster that is reached in both ways."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from attribution.testing import Server

from tests.blueprint.kubernetes.double import TOKEN, Cluster, FakeKubectl, Reached


@pytest.fixture
def reached(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reached]:
    """An empty cluster through its API, or with `BOTH_WAYS` through a fake `kubectl` too."""
    cluster = Cluster()
    with Server(lambda asked: cluster(asked)) as server:
        if getattr(request, "param", "api") == "kubectl":
            settings = {"kubectl": str(FakeKubectl(tmp_path / "bin", server.url).path)}
        else:
            token = tmp_path / "token"
            token.write_text(TOKEN + "\n")
            settings = {"api_url": server.url, "token_file": token}
        yield Reached(cluster, server, settings | {"retry_secs": 0.0})
