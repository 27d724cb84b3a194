"""An Event is a fact read from evidence, with time, place and a pointer back to the raw line."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from attribution.bundle.evidence import StreamKey
from attribution.contracts.vocabulary import DeviceKind
from attribution.events.moment import Basis, Moment, Order, order
from attribution.events.pci import normal_pci

SortKey = tuple[int, int, str, str, int, str, int, str, str]

_CLOCK_RANK = {Basis.UTC: 0, Basis.LOCAL: 0, Basis.YEARLESS: 1, Basis.BOOT: 2}
"""Readings that say a date come first in lists."""

NO_FIELDS: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Device:
    """The thing a finding is about. `ids` are sorted pairs, such as (("link", "8"), ("pci", "0000:1b:00"))."""

    kind: DeviceKind
    ids: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(kind: DeviceKind | str, **ids: str | int | None) -> "Device":
        """A device from its ids; those that are None are left out, a `pci` is brought to the form of Xid lines."""
        given = {name: str(value) for name, value in ids.items() if value is not None}
        if "pci" in given:
            given["pci"] = normal_pci(given["pci"]) or given["pci"]
        pairs = tuple(sorted(given.items()))
        return Device(DeviceKind(kind), pairs)

    def get(self, name: str) -> str | None:
        """One id, or None."""
        return dict(self.ids).get(name)


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading of a metric: microseconds since 1970, and the value or None where the series is blank."""

    us: int
    value: float | None


@dataclass(frozen=True, slots=True)
class Event:
    """One finding of one rule.

    `key` names the stream it was read from; `node` and `rank` say whom it is about, which may be another than the
    writer (a scheduler naming a node). `offset` and `line` (1-based) place its decisive line in the stream;
    `first_line` and `last_line` bound the record it was read from, `before` and `after` are the lines around it, and
    `writer` tells who wrote it where several write one stream. `count` is how many lines it stands for;
    `until` is the time of the last, if later. `trusted` is false where the line's own header says that another program
    or node wrote it than its log is for, so that it proves nothing against a node.
    `discriminator` keeps apart what would else be one symptom (two different exceptions). `id` comes from content
    alone: no time, no line number. `in_order` is false where the place in the stream tells nothing of the time, as
    in a list of records; `first_line` and `last_line` then count the sentences in which the records are told.
    """

    id: str
    symptom: str
    rule: str
    key: StreamKey
    node: str | None
    rank: int | None
    moment: Moment | None
    line: int
    offset: int
    text: str
    first_line: int = 0
    last_line: int = 0
    writer: str = ""
    device: Device | None = None
    fields: tuple[tuple[str, str], ...] = NO_FIELDS
    discriminator: str = ""
    generic: bool = False
    trusted: bool = True
    count: int = 1
    until: Moment | None = None
    before: tuple[bytes, ...] = ()
    after: tuple[bytes, ...] = ()
    samples: tuple[Sample, ...] = ()
    in_order: bool = True

    def get(self, name: str) -> str | None:
        """One field, or None."""
        for field, value in self.fields:
            if field == name:
                return value
        return None

    def sort_key(self) -> SortKey:
        """A total order for lists. It claims nothing about what happened first: see `event_order`."""
        return (
            _CLOCK_RANK[self.moment.basis] if self.moment else len(_CLOCK_RANK),
            self.moment.middle_us() if self.moment else 0,
            *self.key.sort_key(),
            self.offset,
            self.symptom,
            self.id,
        )


def freeze(fields: Mapping[str, str | None]) -> tuple[tuple[str, str], ...]:
    """Fields as sorted pairs; those that are None are left out."""
    return tuple(sorted((name, value) for name, value in fields.items() if value is not None))


def event_id(key: StreamKey, line: bytes, occurrence: int, salt: str = "") -> str:
    """The id of the `occurrence`-th (0-based) event that says `line` in a stream. 16 hexadecimal digits."""
    rank = "" if key.rank is None else str(key.rank)
    place = "\0".join((key.source.value, key.node or "", rank, key.stream, str(occurrence), salt, ""))
    digest = hashlib.blake2b(place.encode("utf-8", "replace"), digest_size=8)
    digest.update(line)
    return digest.hexdigest()


def event_order(a: Event, b: Event) -> Order:
    """What is proven about two events: by position within one stream, else by their clocks."""
    if a.key == b.key and a.in_order and b.in_order:
        if a.offset == b.offset:
            return Order.UNKNOWN
        return Order.BEFORE if a.offset < b.offset else Order.AFTER
    same_node = a.key == b.key or (a.key.node is not None and a.key.node == b.key.node)
    # A container may keep another zone than its host, so zone-less readings compare only within one source.
    same_clock = same_node and (a.key.source == b.key.source or (a.moment is not None and a.moment.basis is Basis.UTC))
    return order(a.moment, b.moment, same_clock=same_clock)
