"""Questions of a test, each in a transaction of its own."""

from collections.abc import Sequence

from attribution.store.database import Store
from attribution.store.identity import Tenant
from attribution.store.selection import ResultFilters, reading
from attribution.store.survey import FACETS, Counted, Groups, Survey, groups_in, survey_in


def survey(
    store: Store,
    tenant: Tenant,
    filters: ResultFilters | None = None,
    names: Sequence[str] = FACETS,
    most: int = 20,
) -> Survey:
    """How many results there are, and their facets."""
    with reading(store, tenant) as asking:
        return survey_in(asking, filters or ResultFilters(), names, most)


def count_results(store: Store, tenant: Tenant, filters: ResultFilters | None = None) -> int:
    """How many results there are."""
    return survey(store, tenant, filters, ()).total


def facet(
    store: Store, name: str, tenant: Tenant, filters: ResultFilters | None = None, most: int = 20
) -> tuple[Counted, ...]:
    """The commonest values of a facet."""
    return survey(store, tenant, filters, (name,), most).facets[name].values


def groups(store: Store, tenant: Tenant, by: str, filters: ResultFilters | None = None, most: int = 25) -> Groups:
    """The results by the values of a facet."""
    with reading(store, tenant) as asking:
        return groups_in(asking, by, filters or ResultFilters(), most)
