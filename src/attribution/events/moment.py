"""A Moment is a reading of some clock, with how far the true instant may lie from it.

Two moments can be ordered only where their clocks prove it. A line that says `10:08:05` is known to the second; a
line without an offset is known to the second on its own node, and not at all against another node.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SECOND = 1_000_000
"""Microseconds. All instants inside the engine are integers of microseconds."""

CROSS_NODE_SLACK = 2 * SECOND
"""How far the clocks of two nodes may differ unless an offset was estimated."""

UNKNOWN_ZONE = 14 * 3600 * SECOND
"""How far a reading without a zone may lie from UTC."""


class Basis(Enum):
    """What a reading is measured against."""

    UTC = "utc"  # microseconds since 1970 in UTC
    LOCAL = "local"  # wall clock of the writer, zone unknown, read as if it were UTC
    YEARLESS = "yearless"  # as LOCAL or UTC, year unknown, read as if it were 1970
    BOOT = "boot"  # microseconds since the node booted


@dataclass(frozen=True, slots=True)
class Moment:
    """The true instant lies in [`us`, `us` + `width_us`) on the clock of `basis`.

    `inherited` marks the time of a line that has none: that of the nearest earlier line of its stream, so only a
    lower bound.
    """

    us: int
    width_us: int
    basis: Basis = Basis.UTC
    inherited: bool = False

    def middle_us(self) -> int:
        """The middle of what is known, to sort by: a line known to the second stands between lines known better."""
        return self.us + self.width_us // 2

    def instant(self) -> datetime | None:
        """The reading as a point in time, or None where it names none for sure."""
        return at_us(self.us) if self.basis is Basis.UTC else None

    def uncertainty_us(self) -> int | None:
        """How far the true instant may lie from `us`, either way; None where there is no bound."""
        if self.inherited or self.basis in {Basis.YEARLESS, Basis.BOOT}:
            return None
        return self.width_us + (UNKNOWN_ZONE if self.basis is Basis.LOCAL else 0)


def at_us(us: int) -> datetime:
    """Microseconds since 1970 as a point in time; before the year 1 and after 9999, the nearest that has a name."""
    try:
        return _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return (datetime.min if us < 0 else datetime.max).replace(tzinfo=UTC)


class Order(Enum):
    """What is proven about two readings."""

    BEFORE = "before"
    AFTER = "after"
    UNKNOWN = "unknown"


def order(a: Moment | None, b: Moment | None, *, same_clock: bool, slack_us: int = CROSS_NODE_SLACK) -> Order:
    """Whether `a` is provably before or after `b`.

    `same_clock` says that both were read from one clock (one node, one source); `slack_us` is how far two clocks may
    differ. Readings of different bases, and zone-less ones of different clocks, are never ordered.
    """
    if a is None or b is None or a.basis is not b.basis:
        return Order.UNKNOWN
    if a.basis is not Basis.UTC and not same_clock:
        return Order.UNKNOWN
    slack = 0 if same_clock else slack_us
    if not a.inherited and a.us + a.width_us + slack <= b.us:
        return Order.BEFORE
    if not b.inherited and b.us + b.width_us + slack <= a.us:
        return Order.AFTER
    return Order.UNKNOWN
