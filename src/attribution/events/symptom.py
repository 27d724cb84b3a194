"""A Symptom is a named finding of one node: the events that say the same thing about the same device."""

import hashlib
from dataclasses import dataclass

from attribution.contracts.vocabulary import Action, DeviceKind, Role, SubDomain, TerminalState
from attribution.events.event import Device, Event, SortKey, event_order
from attribution.events.moment import Order

ENDS_JOB = ("yes", "usually", "sometimes", "no")
"""How often a job that shows a symptom dies of it, strongest first."""


@dataclass(frozen=True, slots=True)
class SymptomType:
    """One entry of the symptom registry.

    `tags` group symptoms for relations (`collective_echo`). `terminal_state` is what the symptom proves about the end
    of the attempt, if anything. `node_scoped` says whether `node` is the thing to avoid. `recovers` names the symptoms
    (`NAME` or `tag:NAME`) whose trouble at the same place it ends.
    """

    name: str
    role: Role
    meaning: str
    sub_domain: SubDomain | None = None
    actions: tuple[Action, ...] = ()
    tags: tuple[str, ...] = ()
    ends_job: str = "usually"
    terminal_state: TerminalState | None = None
    node_scoped: bool = False
    device: DeviceKind | None = None
    recovers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Symptom:
    """All events of one (symptom, node, device, discriminator), earliest first.

    `type` is the registry entry as it stands for this finding: an `attribute` decision may have moved its sub_domain.
    """

    id: str
    type: SymptomType
    node: str | None
    device: Device | None
    discriminator: str
    events: tuple[Event, ...]

    @property
    def name(self) -> str:
        return self.type.name

    @property
    def first(self) -> Event:
        """The earliest event in the total order; the one that is shown."""
        return self.events[0]

    @property
    def last(self) -> Event:
        return self.events[-1]

    @property
    def count(self) -> int:
        """How many lines or samples say so."""
        return sum(event.count for event in self.events)

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({event.rank for event in self.events if event.rank is not None}))

    @property
    def rank(self) -> int | None:
        """The rank, where it is one, be it that not all lines name it; the first to show it, where they are several."""
        ranks = self.ranks
        return ranks[0] if len(ranks) == 1 else self.first.rank

    def get(self, name: str) -> str | None:
        """A field of the first event that has it."""
        for event in self.events:
            value = event.get(name)
            if value is not None:
                return value
        return None

    def sort_key(self) -> SortKey:
        return self.first.sort_key()


def symptom_id(name: str, node: str | None, device: Device | None, discriminator: str) -> str:
    """Names a symptom by what it says. 16 hexadecimal digits."""
    place = repr((name, node, device and (device.kind.value, device.ids), discriminator))
    return hashlib.blake2b(place.encode("utf-8", "replace"), digest_size=8).hexdigest()


def symptom_order(a: Symptom, b: Symptom) -> Order:
    """What is proven about when two symptoms were first seen."""
    return event_order(a.first, b.first)
