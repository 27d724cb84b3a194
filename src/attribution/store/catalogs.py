"""A catalog's description is kept once per digest, for pages that tell about the rules behind an old result."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from attribution.contracts.exchange import CatalogSnapshot
from attribution.store.codec import from_json, pack, to_json, unpack
from attribution.store.database import Store
from attribution.store.schema import catalogs
from attribution.store.statements import upsert


@dataclass(frozen=True, slots=True)
class KeptCatalog:
    """A catalog that results were made with, and since when it is known here."""

    digest: str
    version: str
    first_seen_at: datetime


def kept_catalogs(store: Store) -> tuple[KeptCatalog, ...]:
    """Every catalog that was kept, the newest first."""
    c = catalogs.c
    query = select(c.digest, c.version, c.first_seen_at).order_by(c.first_seen_at.desc(), c.digest)
    with store.read() as connection:
        return tuple(KeptCatalog(*row) for row in connection.execute(query))


def save_snapshot(store: Store, snapshot: CatalogSnapshot, now: datetime) -> None:
    """Keep the description of a catalog, unless it is kept already."""
    document = to_json(snapshot).encode()
    row = {
        "digest": snapshot.catalog.digest,
        "version": snapshot.catalog.version,
        "first_seen_at": now,
        "raw_size": len(document),
        "document": pack(document),
    }
    with store.write() as connection:
        connection.execute(upsert(connection, catalogs).values(row).on_conflict_do_nothing(index_elements=["digest"]))


def snapshot(store: Store, digest: str) -> CatalogSnapshot | None:
    """What a catalog said of itself; None if it was never kept. Raises StoreDamaged."""
    query = select(catalogs.c.raw_size, catalogs.c.document).where(catalogs.c.digest == digest)
    with store.read() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return from_json(unpack(row.document, row.raw_size, f"the catalog {digest}"), CatalogSnapshot)
