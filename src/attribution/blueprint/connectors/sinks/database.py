"""Results are kept in SQLite or PostgreSQL, where the dashboard reads them."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

from pydantic import Field

from attribution.blueprint.connectors.base import ConnectorError, Sink
from attribution.configuration.secrets import Address
from attribution.contracts.base import Strict
from attribution.contracts.errors import AttributionError
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store.catalogs import save_snapshot, snapshot
from attribution.store.database import Store, open_store
from attribution.store.results import write_result


class DatabaseSettings(Strict):
    """Which database."""

    url: Address = Field(description="a file, `sqlite:///FILE` or `postgresql://USER@HOST:PORT/DATABASE`")


class Database(Sink[DatabaseSettings]):
    """Writes each attempt once: a rerun replaces what was there. The rules are kept once for each catalog."""

    Settings = DatabaseSettings

    def __init__(self, settings: DatabaseSettings) -> None:
        super().__init__(settings)
        self._lock = threading.Lock()
        self._store: Store | None = None

    def open(self) -> None:
        """Open the database, and make its tables if they are missing. Raises AttributionError."""
        self._opened()

    def check(self) -> str:
        """The same as `open`."""
        try:
            return f"opened {self._opened().place}"
        except AttributionError as error:
            raise _told(error) from None

    def write(self, result: AttributionBlueprintResult, catalog: Callable[[], CatalogSnapshot]) -> None:
        """Write one result; it is durable on return."""
        now = datetime.now(UTC)
        try:
            store = self._opened()
            write_result(store, result, now, result.context.tenant)
            if snapshot(store, result.diagnosis.catalog.digest) is None:
                save_snapshot(store, catalog(), now)
        except AttributionError as error:
            raise _told(error) from None

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _opened(self) -> Store:
        with self._lock:
            if self._store is None:
                self._store = open_store(self.settings.url)
            return self._store


def _told(error: AttributionError) -> ConnectorError:
    return ConnectorError("; ".join(str(problem) for problem in error.problems))
