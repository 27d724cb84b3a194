"""A Keeper bounds what a flood of findings costs: some are kept whole, of the rest the extremes and an exact count."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from attribution.events.event import Event

Slot = tuple[str, str, str | None, object, str]
"""Rule, symptom, node, device and discriminator: findings of one slot say the same thing."""

Rank = tuple[bool, int, int]
"""No time, time, offset: how findings of one stream are ordered to tell the extremes."""

MAX_SLOTS = 4096
"""Slots of one rule and stream that are told apart once the rule's limit is reached."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a flood is kept: findings of one rule and stream. A new kind of finding is kept once in any case."""

    events_per_rule: int = 1000


@dataclass(slots=True)
class _Overflow:
    """Findings of a slot beyond the limit. `first` and `last` are the extremes, built when the window is left."""

    first_rank: Rank
    last_rank: Rank
    first: Event | Callable[[], Event]
    last: Event | Callable[[], Event]
    count: int = 1


class Keeper:
    """Collects the findings of one stream, which are offered in the order of their lines."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: list[Event] = []
        self._by_rule: dict[str, int] = {}
        self._slots: dict[Slot, int] = {}
        self._overflow: dict[Slot, _Overflow] = {}

    def offer(self, slot: Slot, rank: Rank, build: Callable[[int | None], Event]) -> None:
        """Keep a finding or count it. `build` makes the event; it is given a number where its lines are not counted."""
        rule = slot[0]
        total = self._by_rule.get(rule, 0)
        if total >= self._limits.events_per_rule + MAX_SLOTS:
            slot = (rule, slot[1], None, None, "")
        known = self._slots.get(slot, 0)
        if total < self._limits.events_per_rule or not known:
            self._slots[slot] = known + 1
            self._by_rule[rule] = total + 1
            self._kept.append(build(None))
        else:
            self._count(slot, rank, build)

    def _count(self, slot: Slot, rank: Rank, build: Callable[[int | None], Event]) -> None:
        overflow = self._overflow.get(slot)
        if overflow is None:
            event = build(1)
            self._overflow[slot] = _Overflow(rank, rank, event, event)
            return
        overflow.count += 1
        number = overflow.count
        if rank < overflow.first_rank:
            overflow.first_rank, overflow.first = rank, lambda: build(number)
        if rank >= overflow.last_rank:
            overflow.last_rank, overflow.last = rank, lambda: build(number)

    def settle(self) -> None:
        """Build the extremes; called before the window that they stand in is left."""
        for overflow in self._overflow.values():
            if not isinstance(overflow.first, Event):
                overflow.first = overflow.first()
            if not isinstance(overflow.last, Event):
                overflow.last = overflow.last()

    def events(self) -> list[Event]:
        """What was kept, and per slot the extremes of the rest with their count."""
        self.settle()
        found = list(self._kept)
        for overflow in self._overflow.values():
            first, last = overflow.first, overflow.last
            assert isinstance(first, Event) and isinstance(last, Event)
            if first.id == last.id:
                found.append(replace(last, count=overflow.count))
            else:
                found += [first, replace(last, count=overflow.count - 1)]
        return found
