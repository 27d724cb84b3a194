"""The benchmark of the pages asks for every page there is."""

from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from starlette.routing import Match, Route

from attribution.client.in_process import InProcess
from attribution.dashboard.access import Access
from attribution.dashboard.app import ROUTES, create_app
from attribution.store.database import Store, open_store

from bench import dashboard
from bench.attempts import NOW

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store as the benchmark makes it, of a few attempts."""
    path = tmp_path_factory.mktemp("bench") / "attempts.db"
    dashboard.make(path, 300, seed=7)
    with closing(open_store(str(path), read_only=True)) as found:
        yield found


@pytest.fixture(scope="module")
def asked(store: Store) -> dict[str, int]:
    """Every address of the benchmark, and with which status it is answered."""
    app = create_app(store, Access(), lambda: NOW)
    with httpx.Client(transport=InProcess(app), base_url="http://127.0.0.1:8080") as client:
        addresses = [item.address for item in dashboard.addresses(client, store)]
        return {address: client.get(address).status_code for address in addresses}


def test_every_address_is_answered(asked: dict[str, int]) -> None:
    assert {address: status for address, status in asked.items() if status != 200} == {}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_every_route_is_measured(asked: dict[str, int], route: Route) -> None:
    assert any(first_of(address) is route for address in asked)


def first_of(address: str) -> Route | None:
    """The route that answers an address."""
    scope = {"type": "http", "method": "GET", "path": address.partition("?")[0], "root_path": ""}
    return next((route for route in ROUTES if route.matches(scope)[0] is Match.FULL), None)
