"""A catalog's description is kept once per digest, for pages that tell about the rules behind an old result."""

from datetime import datetime

from sqlalchemy import select

from attribution.contracts.exchange import CatalogSnapshot
from attribution.store.codec import from_json, pack, to_json, unpack
from attribution.store.database import Store
from attribution.store.schema import catalogs
from attribution.store.statements import upsert


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
