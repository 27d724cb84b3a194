"""Every test of this folder runs on SQLite and on PostgreSQL."""

from collections.abc import Iterator

import pytest

from attribution.store.database import Store, open_store


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An open store that is empty."""
    opened = open_store(store_url)
    yield opened
    opened.close()
