"""Events become symptoms: one per symptom, node, device and discriminator."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from attribution.contracts.vocabulary import Role
from attribution.events.event import Device, Event
from attribution.events.symptom import Symptom, SymptomType, symptom_id

_Key = tuple[str, str, str, str]


def materialise(
    events: Iterable[Event], types: Mapping[str, SymptomType], informing: Iterable[Event] = ()
) -> tuple[Symptom, ...]:
    """The symptoms of `events`, and context symptoms of those that only inform, in total order as the events are."""
    found = _group(events, types, as_context=False) + _group(informing, types, as_context=True)
    return tuple(sorted(found, key=lambda symptom: (symptom.sort_key(), symptom.id)))


def _group(events: Iterable[Event], types: Mapping[str, SymptomType], *, as_context: bool) -> list[Symptom]:
    groups: dict[_Key, list[Event]] = {}
    for event in events:
        groups.setdefault((event.symptom, event.node or "", _device(event.device), event.discriminator), []).append(
            event
        )
    symptoms = []
    for (name, _, _, discriminator), members in groups.items():
        first = members[0]
        # what was set aside only informs, and says nothing of the end either
        kind = replace(types[name], role=Role.CONTEXT, terminal_state=None) if as_context else types[name]
        identity = symptom_id(name, first.node, first.device, ("context|" if as_context else "") + discriminator)
        symptoms.append(Symptom(identity, kind, first.node, first.device, discriminator, tuple(members)))
    return symptoms


def _device(device: Device | None) -> str:
    return "" if device is None else f"{device.kind.value}{device.ids}"
