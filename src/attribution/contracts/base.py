"""Every contract is a frozen model that refuses keys it does not know."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict


def _to_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("lies outside the years 1 to 9999 in UTC") from None


Instant = Annotated[AwareDatetime, AfterValidator(_to_utc)]
"""A point in time in UTC. A value without an offset is refused; one with another offset is converted."""


class Strict(BaseModel):
    """A model of what others send us: an unknown key is an error, and so is a number without end, such as 1e400."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Lenient(BaseModel):
    """A model of what we send others: a reader ignores keys of a newer version."""

    model_config = ConfigDict(frozen=True, extra="ignore")


SCHEMA_VERSION = "1.0"
"""Version of the contracts. The first number changes when a reader of the old form would be misled."""
