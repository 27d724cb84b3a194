"""A real API server for the tests that `make test-live-k8s` asks for: it has to be compiled first."""

import os
from collections.abc import Iterator

import pytest

from tests.live.kubernetes.build import built, why_no_server
from tests.live.kubernetes.server import KubernetesServer

ASKED = "ATTRIBUTION_LIVE_K8S"
"""The variable that asks for these tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is not asked for is skipped, and why is told."""
    if not os.environ.get(ASKED):
        for item in items:
            if "live/kubernetes" in item.path.as_posix():
                item.add_marker(pytest.mark.skip(reason="compiles an API server: run `make test-live-k8s`"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesServer]:
    """The servers, for all tests of the session."""
    if why := why_no_server():
        pytest.skip(why)
    server = KubernetesServer(tmp_path_factory.mktemp("kubernetes"), built())
    try:
        server.start()
        yield server
    finally:
        server.stop()
        assert server.processes() == {}, "servers still run"
