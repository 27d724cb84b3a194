"""The CollectionPlan says what evidence the loaded catalog can use, so that connectors fetch only that."""

from pydantic import Field

from attribution.contracts.base import SCHEMA_VERSION, Lenient
from attribution.contracts.vocabulary import Source


class SourcePlan(Lenient):
    """What to fetch from one source. A line that holds none of `literals` cannot match any rule."""

    source: Source
    literals: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()


class CollectionPlan(Lenient):
    """What every source should be asked for, and the catalog that asks."""

    schema_version: str = SCHEMA_VERSION
    catalog_digest: str
    sources: tuple[SourcePlan, ...] = ()
    margin_secs: int = Field(default=900, description="how far before the start and after the end evidence counts")
