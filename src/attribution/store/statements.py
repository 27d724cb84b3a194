"""Statements that both databases know but spell differently, or take in bounded portions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Table,
    Text,
    cast,
    func,
    insert,
    literal,
    literal_column,
    select,
    type_coerce,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction

from attribution.store.columns import Name, escaped, shortened

T = TypeVar("T")
_ROWS, _BYTES = 1000, 16 << 20
PORTION = 500
"""How many values one IN lists: SQLite bounds the variables of a statement."""


def upsert(connection: Connection, table: Table) -> Any:
    """An INSERT that takes `on_conflict_do_update`."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def one_at_a_time(connection: Connection, key: str) -> None:
    """Until the transaction ends nobody else writes under this key; 32 hexadecimal digits."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
        connection.execute(select(func.pg_advisory_xact_lock(int(key[:15], 16))))


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


class position(GenericFunction[int]):
    """Where a text begins within another, from 1 on; 0 if it is not there."""

    type = Integer()
    inherit_cache = True
    name = "position_of"


@compiles(position, "sqlite")
def _instr(element: Any, compiler: Any, **more: Any) -> str:
    return f"instr({compiler.process(element.clauses, **more)})"


@compiles(position, "postgresql")
def _strpos(element: Any, compiler: Any, **more: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **more)})"


def any_of(connection: Connection, of: Column[Any], values: Sequence[Any]) -> ColumnElement[bool]:
    """The condition that a column has one of many numbers or names, which travel as one."""
    named = isinstance(of.type, Name)
    sent = literal(json.dumps([escaped(shortened(value)) if named else value for value in values]), Text())
    if connection.dialect.name == "postgresql":
        listed = func.jsonb_array_elements_text(cast(sent, postgresql.JSONB)).table_valued("value")
        value: ColumnElement[Any] = cast(listed.c.value, Text() if named else BigInteger())
    else:
        value = func.json_each(sent).table_valued("value").c.value
    return type_coerce(of, Text() if named else BigInteger()).in_(select(value))
