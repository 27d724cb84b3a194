"""Statements that both databases know but spell differently, or take in bounded portions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, insert, literal_column
from sqlalchemy.dialects import postgresql, sqlite

T = TypeVar("T")
_ROWS, _BYTES = 1000, 16 << 20
PORTION = 500
"""How many values one IN lists: SQLite bounds the variables of a statement."""


def upsert(connection: Connection, table: Table) -> Any:
    """An INSERT that takes `on_conflict_do_update`."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def portions(items: Sequence[T], size: int = PORTION) -> Iterator[Sequence[T]]:
    """The items in order, at most `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows many at a time, and never more than some MiB of binary columns in one statement."""
    # With RETURNING, SQLAlchemy joins rows into one statement; without, the driver of PostgreSQL sends each alone.
    statement: Any = insert(table).returning(literal_column("1"))
    portion: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        portion.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, bytes))
        if len(portion) == _ROWS or size > _BYTES:
            connection.execute(statement, portion)
            portion, size = [], 0
    if portion:
        connection.execute(statement, portion)
