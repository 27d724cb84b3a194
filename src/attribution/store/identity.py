"""What is the same attempt or the same stream has the same key."""

import hashlib
from enum import Enum
from typing import Any, Final

from sqlalchemy import Column, ColumnElement

from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation


class Everyone(Enum):
    """The tenant of who may see all tenants."""

    ALL_TENANTS = "all tenants"


ALL_TENANTS: Final = Everyone.ALL_TENANTS
Tenant = str | None | Everyone
"""Who asks: a tenant, nobody's, or one who may see all."""


def owned_by(column: Column[Any], tenant: Tenant) -> tuple[ColumnElement[bool], ...]:
    """The condition that rows are those of a tenant."""
    return () if isinstance(tenant, Everyone) else (column == tenant_key(tenant),)


def tenant_key(tenant: str | None) -> str:
    """How a tenant stands in the tables. No tenant is one of its own; an empty name is none."""
    return tenant or ""


def attempt_key(tenant: str | None, context: ExecutionContext) -> str:
    """Names tenant, cluster, workload and attempt: 32 hexadecimal digits."""
    return _digest(repr((tenant or "", context.cluster or "", context.workload_id, context.attempt)).encode())


def stream_key(observation: Observation) -> bytes:
    """Source, node, rank and stream as bytes that sort in that order. A missing node or rank comes first."""
    rank = observation.rank
    number = b"" if rank is None else rank.to_bytes((rank.bit_length() + 7) // 8 or 1, "big")
    place = b"\0" if rank is None else b"\1" + len(number).to_bytes(4, "big") + number
    return _sortable(observation.source) + _sortable(observation.node) + place + _sortable(observation.stream)


def stream_id(key: bytes) -> str:
    """Names a stream in few bytes, whatever its length."""
    return _digest(key)


def _sortable(text: str | None) -> bytes:
    """Ends in a byte pair that no text holds, so that no text runs into the next."""
    if text is None:
        return b"\0"
    return b"\1" + text.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0\1"


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
