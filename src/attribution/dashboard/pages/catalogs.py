"""Which catalog a page tells about: the newest that results were made with, or the one that its address names."""

from dataclasses import dataclass

from starlette.requests import Request

from attribution.contracts.exchange import CatalogSnapshot
from attribution.dashboard.collector import settle
from attribution.dashboard.problems import WebProblem, shown
from attribution.store.catalogs import KeptCatalog, kept_catalogs, snapshot
from attribution.store.database import Store

_CACHED = 4
"""Catalogs that are kept in memory: a digest always has the same content."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The catalog of a page, and all that there are, the newest first."""

    catalog: CatalogSnapshot
    kept: tuple[KeptCatalog, ...]

    @property
    def digest(self) -> str | None:
        """What addresses say of the catalog: nothing where it is the newest."""
        return None if self.catalog.catalog.digest == self.kept[0].digest else self.catalog.catalog.digest


def shown_catalog(request: Request, digest: str) -> Shown | None:
    """The catalog of a digest, or the newest for an empty one; None where no catalog is known yet."""
    store = request.app.state.store
    kept = kept_catalogs(store)
    if digest:
        chosen = next((item for item in kept if item.digest == digest), None)
        if chosen is None:
            raise WebProblem(404, f"No catalog is known by `{shown(digest, 80)}`.")
    elif not kept:
        return None
    else:
        chosen = kept[0]
    found = _snapshot(request.app.state.catalogs, store, chosen.digest)
    if found is None:
        raise WebProblem(404, f"No catalog is known by `{shown(digest, 80)}`.")
    return Shown(found, kept)


def _snapshot(cache: dict[str, CatalogSnapshot], store: Store, digest: str) -> CatalogSnapshot | None:
    found = cache.get(digest) or snapshot(store, digest)
    if found is not None and digest not in cache:
        while len(cache) >= _CACHED:
            cache.pop(next(iter(cache)), None)
        cache[digest] = found
        settle()
    return found
