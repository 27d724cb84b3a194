"""What a rule written in Python imports: decorators, what it is handed, and what it may answer.

Rules are pure functions. A decorator only attaches a description; nothing registers itself on import. A module holds
one rule, its `CASES`, and, if it brings new symptoms, `SYMPTOMS`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeVar

from attribution.bundle.evidence import StreamKey
from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Source, SubDomain
from attribution.events.event import Device, Event, event_order
from attribution.events.moment import Order
from attribution.events.symptom import Symptom, SymptomType, symptom_order

F = TypeVar("F", bound=Callable[..., Any])


class FilterStage(IntEnum):
    """When a filter runs in phase 2."""

    EARLY = 1
    MAIN = 2


class RefineStage(IntEnum):
    """When a refiner runs in phase 3. POST_OUTCOME comes after the outcome is known."""

    NODE = 1
    JOB = 2
    FINAL = 3
    POST_OUTCOME = 4


TEXT_SOURCES = (Source.APPLOG, Source.SYSLOG, Source.SCHEDULER, Source.FABRIC_MANAGER, Source.BMC)
"""Sources made of lines."""


# --- phase 1: extractors ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """What an extractor is handed: one line that its pattern matched, freed of prefixes.

    `groups` are the named groups of the pattern; `follow` are the joined lines after it when the rule joins, each
    freed of the same prefixes. `node` and `rank` are those of the line.
    """

    groups: Mapping[str, str | None]
    text: str
    source: Source
    node: str | None
    rank: int | None
    follow: tuple[str, ...] = ()

    def __getitem__(self, group: str) -> str | None:
        return self.groups.get(group)


NOWHERE = ""
"""As the node of a finding: it is about no node and no rank in particular, whoever wrote the line."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What an extractor says of a line. `node` and `rank` only where the line names another than its writer."""

    symptom: str
    fields: Mapping[str, str | None] = field(default_factory=dict)
    device: Device | None = None
    node: str | None = None
    rank: int | None = None
    discriminator: str = ""


@dataclass(frozen=True, slots=True)
class PrintedBy:
    """Where the shape of the message is known from."""

    program: str
    versions: str
    source: str


@dataclass(frozen=True, slots=True)
class Declared:
    """What a decorator attaches to a function; the loader makes a rule of it."""

    kind: str
    id: str
    name: str
    since: str
    status: str
    options: Mapping[str, Any]


def _declare(kind: str, id: str, name: str, since: str, status: str, **options: Any) -> Callable[[F], F]:
    def attach(function: F) -> F:
        function.__attribution_rule__ = Declared(kind, id, name, since, status, options)  # type: ignore[attr-defined]
        return function

    return attach


def extractor(
    *,
    id: str,
    name: str,
    since: str,
    literals: Sequence[str],
    pattern: str | Sequence[str],
    emits: Sequence[str],
    printed_by: PrintedBy,
    sources: Sequence[Source] = TEXT_SOURCES,
    follow_lines: int = 0,
    traceback: bool = False,
    generic: bool = False,
    status: str = "stable",
) -> Callable[[F], F]:
    """Declares `(Match) -> Iterable[Finding]`, called for each line that `pattern` matches.

    Every match contains one of `literals`. `follow_lines` joins that many following lines of the same writer;
    `traceback` joins up to the exception line. A `generic` finding gives way to any other on the same lines.
    """
    return _declare(
        "extractor", id, name, since, status, literals=literals, pattern=pattern, emits=emits,
        printed_by=printed_by, sources=sources, follow_lines=follow_lines, traceback=traceback, generic=generic,
    )  # fmt: skip


# --- phase 2: filters ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Absorb:
    """The event is represented by another one, whose count grows by its own, unless both are the same lines."""

    event: Event
    into: Event
    reason: str
    same_lines: bool = False


@dataclass(frozen=True, slots=True)
class SetContext:
    """The event informs but is no symptom of this failure."""

    event: Event
    reason: str
    out_of_window: bool = False


@dataclass(frozen=True, slots=True)
class Derive:
    """A new finding that stands for `parts`, which it absorbs if `absorbs`."""

    symptom: str
    parts: tuple[Event, ...]
    reason: str
    fields: Mapping[str, str | None] = field(default_factory=dict)
    device: Device | None = None
    discriminator: str = ""
    absorbs: bool = True


@dataclass(frozen=True, slots=True)
class Annotate:
    """The event as it stands, with more known about it. `no_rank` says that what was read as its rank is none."""

    event: Event
    reason: str
    fields: Mapping[str, str | None] = field(default_factory=dict)
    device: Device | None = None
    node: str | None = None
    rank: int | None = None
    no_rank: bool = False


EventDecision = Absorb | SetContext | Derive | Annotate


class EventView:
    """What a filter sees: the active events of this stage in total order, and the context.

    `margin_us` is how far before its start and after its end an attempt's evidence counts; `types` is the registry of
    symptoms by name.
    """

    def __init__(
        self,
        events: Sequence[Event],
        context: ExecutionContext,
        tags: Mapping[str, tuple[str, ...]],
        margin_us: int = 900_000_000,
        types: Mapping[str, SymptomType] | None = None,
    ) -> None:
        self.events = tuple(events)
        self.context = context
        self.margin_us = margin_us
        self.types = types or {}
        self._tags = tags
        self._position = {event.id: position for position, event in enumerate(self.events)}
        self._by_name: dict[str, list[Event]] = {}
        for event in self.events:
            self._by_name.setdefault(event.symptom, []).append(event)

    def of(self, *names: str) -> tuple[Event, ...]:
        """Events of these symptoms (`NAME` or `tag:NAME`), in total order."""
        found = [event for name in expand(names, self._tags) for event in self._by_name.get(name, ())]
        return tuple(sorted(found, key=lambda event: self._position[event.id]))

    def outlived(self, events: Sequence[Event], *by: str) -> Iterator[Event]:
        """Those of `events` whose stream shows one of the symptoms `by` after the last of them."""
        after, last = _last_offsets(self.of(*by)), _last_offsets(events)
        return (event for event in events if after.get(event.key, -1) > last[event.key])

    def order(self, a: Event, b: Event) -> Order:
        """What is proven about two events."""
        return event_order(a, b)


def _last_offsets(events: Iterable[Event]) -> dict[StreamKey, int]:
    """Where the last event of each stream stands."""
    offsets: dict[StreamKey, int] = {}
    for event in events:
        later = event.until or event.moment
        place = event.offset if event.in_order else later.us if later else -1
        offsets[event.key] = max(place, offsets.get(event.key, -1))
    return offsets


def event_filter(
    *,
    id: str,
    name: str,
    since: str,
    stage: FilterStage,
    needs: Sequence[str] = (),
    emits: Sequence[str] = (),
    status: str = "stable",
) -> Callable[[F], F]:
    """Declares `(EventView) -> Iterable[EventDecision]`. Not called if a symptom of `needs` has no event."""
    return _declare("filter", id, name, since, status, stage=stage, needs=needs, emits=emits)


# --- phase 3: refiners --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Demote:
    """Set `symptom` aside because of `by`."""

    symptom: Symptom
    by: Symptom | None
    reason: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave `symptom` standing, against a demotion of equal priority."""

    symptom: Symptom
    reason: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """Hold that `symptom` belongs elsewhere than its registry entry or its writer says."""

    symptom: Symptom
    reason: str
    sub_domain: SubDomain | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A remark for the reader, about a symptom or the job."""

    symptom: Symptom | None
    text: str


Decision = Demote | Keep | Attribute | Note


class JobView:
    """What a refiner sees: one snapshot of all active symptoms in total order, the same for every rule of its stage.

    `outcome` is the sub_domain, from stage POST_OUTCOME on.
    """

    def __init__(
        self,
        symptoms: Sequence[Symptom],
        context: ExecutionContext,
        tags: Mapping[str, tuple[str, ...]],
        events: Sequence[Event] = (),
        outcome: SubDomain | None = None,
    ) -> None:
        self.symptoms = tuple(symptoms)
        self.context = context
        self.events = tuple(events)
        self.outcome = outcome
        self._tags = tags
        self._position = {symptom.id: position for position, symptom in enumerate(self.symptoms)}
        self._by_name: dict[str, list[Symptom]] = {}
        for symptom in self.symptoms:
            self._by_name.setdefault(symptom.name, []).append(symptom)

    def all(self, *names: str) -> tuple[Symptom, ...]:
        """Symptoms of these names (`NAME` or `tag:NAME`), in total order."""
        found = [symptom for name in expand(names, self._tags) for symptom in self._by_name.get(name, ())]
        return tuple(sorted(found, key=lambda symptom: self._position[symptom.id]))

    def by_node(self, *names: str) -> dict[str | None, tuple[Symptom, ...]]:
        """The same, grouped by node."""
        groups: dict[str | None, list[Symptom]] = {}
        for symptom in self.all(*names) if names else self.symptoms:
            groups.setdefault(symptom.node, []).append(symptom)
        return {node: tuple(items) for node, items in sorted(groups.items(), key=lambda item: item[0] or "")}

    def order(self, a: Symptom, b: Symptom) -> Order:
        """What is proven about when two symptoms were first seen."""
        return symptom_order(a, b)


def refiner(
    *,
    id: str,
    name: str,
    since: str,
    stage: RefineStage,
    needs: Sequence[str],
    priority: int = 0,
    status: str = "stable",
) -> Callable[[F], F]:
    """Declares `(JobView) -> Iterable[Decision]`. Not called if a symptom of `needs` is absent."""
    return _declare("refiner", id, name, since, status, stage=stage, needs=needs, priority=priority)


def expand(names: Iterable[str], tags: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """The symptom names that `names` stand for, each once, in sorted order."""
    found: set[str] = set()
    for name in names:
        found.update(tags.get(name[4:], ()) if name.startswith("tag:") else (name,))
    yield from sorted(found)
