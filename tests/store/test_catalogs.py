"""A catalog is kept once per digest."""

from datetime import timedelta

from sqlalchemy import select

from attribution.contracts.diagnosis import CatalogIdentity
from attribution.contracts.exchange import CatalogSnapshot
from attribution.extraction.ruleset import RuleSets
from attribution.rules.snapshot import snapshot as snapshot_of
from attribution.store.catalogs import save_snapshot, snapshot
from attribution.store.database import Store
from attribution.store.schema import catalogs

from tests.store.results import NOW


def small(digest: str, version: str = "1") -> CatalogSnapshot:
    return CatalogSnapshot(catalog=CatalogIdentity(version=version, digest=digest), rules=(), symptoms=())


def test_the_shipped_catalog_reads_back_equal(store: Store, shipped: RuleSets) -> None:
    written = snapshot_of(shipped.catalog)
    save_snapshot(store, written, NOW)
    assert snapshot(store, written.catalog.digest) == written


def test_a_digest_is_kept_once_and_as_it_was_first(store: Store) -> None:
    save_snapshot(store, small("a"), NOW)
    save_snapshot(store, small("b", "2"), NOW + timedelta(days=1))
    save_snapshot(store, small("a", "3"), NOW + timedelta(days=2))
    with store.read() as connection:
        kept = connection.execute(select(catalogs.c.digest, catalogs.c.version).order_by(catalogs.c.digest))
        assert [tuple(row) for row in kept] == [("a", "1"), ("b", "2")]
    assert snapshot(store, "a") == small("a")
    assert snapshot(store, "c") is None
