"""A catalog is kept once per digest."""

from datetime import timedelta

from attribution.contracts.diagnosis import CatalogIdentity
from attribution.contracts.exchange import CatalogSnapshot
from attribution.extraction.ruleset import RuleSets
from attribution.rules.snapshot import snapshot as snapshot_of
from attribution.store.catalogs import CatalogEntry, catalog_entries, save_snapshot, snapshot
from attribution.store.database import Store

from tests.store.results import NOW


def small(digest: str, version: str = "1") -> CatalogSnapshot:
    return CatalogSnapshot(catalog=CatalogIdentity(version=version, digest=digest), rules=(), symptoms=())


def test_the_shipped_catalog_reads_back_equal(store: Store, shipped: RuleSets) -> None:
    written = snapshot_of(shipped.catalog)
    save_snapshot(store, written, NOW)
    assert snapshot(store, written.catalog.digest) == written


def test_a_digest_is_kept_once_and_the_latest_stands_first(store: Store) -> None:
    save_snapshot(store, small("a"), NOW)
    save_snapshot(store, small("b", "2"), NOW + timedelta(days=1))
    save_snapshot(store, small("a"), NOW + timedelta(days=2))
    assert catalog_entries(store) == (CatalogEntry("b", "2", NOW + timedelta(days=1)), CatalogEntry("a", "1", NOW))
    assert snapshot(store, "c") is None
