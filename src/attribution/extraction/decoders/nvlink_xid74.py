"""Decodes the seven register words that an Xid 74 prints: which classes of faults their set bits stand for.

The bit table is published for Hopper; Ampere prints the same text, with bits that are not confirmed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FIELDS = 7
"""Words that the message prints."""

HARMLESS = frozenset({"ignore", "corrected_threshold"})
"""Classes that leave the link working."""

_WORD = re.compile(r"0x[0-9A-Fa-f]{1,8}")


@dataclass(frozen=True, slots=True)
class Bit:
    """One set bit: register (1-based), position, and the class of the table (`unlisted` if it has none)."""

    register: int
    bit: int
    kind: str


@dataclass(frozen=True, slots=True)
class Registers:
    """The set bits of one message, in order of register and position."""

    bits: tuple[Bit, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The classes, each once, sorted."""
        return tuple(sorted({bit.kind for bit in self.bits}))

    @property
    def harmless(self) -> bool:
        """Whether something is set, and all of it leaves the link working."""
        return bool(self.bits) and HARMLESS.issuperset(self.kinds)


Table = Mapping[tuple[int, int], str]
"""(register, bit) -> class."""


def read_table(document: Mapping[str, Any]) -> Table:
    """The table of bits. Raises KeyError for a document of another form."""
    return {(row["register"], bit): row["class"] for row in document["rows"] for bit in row["bits"]}


def decode(words: str, table: Table) -> Registers | None:
    """The bits of `0x0, 0x0, 0x10000, …`, or None if these are not seven words. Raises nothing."""
    values = [int(word, 16) for word in _WORD.findall(words)]
    if len(values) != FIELDS:
        return None
    return Registers(
        tuple(
            Bit(register, bit, table.get((register, bit), "unlisted"))
            for register, value in enumerate(values, 1)
            for bit in range(32)
            if value >> bit & 1
        )
    )
