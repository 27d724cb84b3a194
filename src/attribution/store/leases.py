"""A lease says who works on a row, and until when; whoever takes the row over after that has another one."""

import secrets
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, or_

FREE: dict[str, Any] = {"lease": None, "lease_until": None}
"""What a row says that nobody works on."""


def new_lease() -> str:
    """A name that no other lease has."""
    return secrets.token_hex(16)


def free_at(table: Table, now: datetime) -> ColumnElement[bool]:
    """Whether nobody works on a row, or whoever did is not to be waited for any longer."""
    return or_(table.c.lease.is_(None), table.c.lease_until < now)


def held(table: Table, key: str, lease: str, *more: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a row is still that of a lease."""
    return and_(table.c.key == key, table.c.lease == lease, *more)
