"""A column gives back what was put in on SQLite and PostgreSQL alike, whatever a log put into a name."""

import hashlib
import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

_REFUSED = re.compile("[\0\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")
_KEPT = 160
_STEM = 130
_SHORT = re.compile(rf".{{{_STEM}}}…[0-9a-f]{{32}}", re.DOTALL)
_LARGEST = 2**63 - 1


def escaped(text: str) -> str:
    """Text that both databases take: NUL and lone surrogates become U+001A and four hexadecimal digits."""
    return _REFUSED.sub(lambda match: f"\x1a{ord(match[0]):04x}", text)


def unescaped(text: str) -> str:
    """The text that was escaped."""
    if "\x1a" not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def shortened(name: str) -> str:
    """A name that fits an index: beyond 160 characters its start and its digest, so that names stay distinct.

    What was shortened once stays as it is, so that a name can be looked for as it reads back.
    """
    if len(name) <= _KEPT or _SHORT.fullmatch(name):
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{name[:_STEM]}…{digest}"


class AnyText(TypeDecorator[str]):
    """Text of any length and content, compared by code point. Not for an index: PostgreSQL bounds its entries."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """PostgreSQL compares by the locale of the database unless told otherwise."""
        return Text(collation="C") if dialect.name == "postgresql" else Text()

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """What is stored."""
        return None if value is None else escaped(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """What was given."""
        return None if value is None else unescaped(value)


class Name(AnyText):
    """A name to look for: as AnyText, but bounded. A name of more than 160 characters reads back shortened."""

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """What is stored."""
        return None if value is None else escaped(shortened(value))


class Whole(TypeDecorator[int]):
    """A whole number. One beyond 64 bits reads back as the nearest that fits."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:
        """What is stored."""
        return None if value is None else max(-_LARGEST, min(value, _LARGEST))


class UtcTime(TypeDecorator[datetime]):
    """A moment in UTC, to the microsecond."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """SQLite keeps sortable text without an offset."""
        return dialect.type_descriptor(DateTime(timezone=dialect.name == "postgresql"))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """What is stored."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else value.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """What was given."""
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
