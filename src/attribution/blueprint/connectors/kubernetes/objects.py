"""Reads what objects say. Whatever is not of the expected type counts as not there; nothing here raises."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Object = Mapping[str, Any]


def at(thing: Any, *keys: str) -> Any:
    """What stands under keys within keys, or None."""
    for key in keys:
        thing = thing.get(key) if isinstance(thing, Mapping) else None
    return thing


def text(thing: Any, *keys: str) -> str | None:
    """A text that is not empty."""
    found = at(thing, *keys)
    return found if isinstance(found, str) and found else None


def number(thing: Any, *keys: str) -> int | None:
    """A whole number, also one written as a text."""
    found = at(thing, *keys)
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 10:
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def things(thing: Any, *keys: str) -> Iterator[Object]:
    """The objects of a list."""
    found = at(thing, *keys)
    for item in found if isinstance(found, list) else ():
        if isinstance(item, Mapping):
            yield item


def instant(thing: Any, *keys: str) -> datetime | None:
    """A time in UTC."""
    found = text(thing, *keys)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(found.replace("Z", "+00:00"))
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def written(moment: datetime) -> str:
    """A time as the API takes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def kind(thing: Object) -> str:
    """The kind of an object."""
    return text(thing, "kind") or ""


def name(thing: Object) -> str:
    """The name of an object."""
    return text(thing, "metadata", "name") or ""


def namespace(thing: Object) -> str:
    """The namespace of an object; none for what belongs to the cluster."""
    return text(thing, "metadata", "namespace") or ""


def uid(thing: Object) -> str:
    """What names an object for all time."""
    return text(thing, "metadata", "uid") or ""


def label(thing: Object, *keys: str) -> str | None:
    """The value of the first of these labels, or annotations, that an object has."""
    for key in keys:
        for part in ("labels", "annotations"):
            if found := text(thing, "metadata", part, key):
                return found
    return None


def owners(thing: Object) -> list[Object]:
    """The references to its owners, the one that controls it first."""
    return sorted(things(thing, "metadata", "ownerReferences"), key=lambda owner: owner.get("controller") is not True)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a status."""

    type: str
    is_true: bool
    reason: str
    message: str
    at: datetime | None


def conditions(thing: Object) -> dict[str, Condition]:
    """The conditions of an object by type."""
    found = {}
    for item in things(thing, "status", "conditions"):
        if kind_of := text(item, "type"):
            moment = instant(item, "lastTransitionTime") or instant(item, "lastUpdateTime")
            words = (text(item, "reason") or "", text(item, "message") or "")
            found[kind_of] = Condition(kind_of, item.get("status") == "True", *words, moment)
    return found


def event_times(event: Object) -> tuple[datetime | None, datetime | None, int]:
    """When an event was first and last seen, and how often: old reporters write counts, newer ones a series."""
    once = instant(event, "eventTime")
    first = instant(event, "firstTimestamp") or once or instant(event, "metadata", "creationTimestamp")
    last = instant(event, "series", "lastObservedTime") or instant(event, "lastTimestamp") or once or first
    count = number(event, "series", "count") or number(event, "count") or 1
    return first, last, max(count, 1)


def earliest(moments: Sequence[datetime | None]) -> datetime | None:
    """The first of the times that are known."""
    return min((moment for moment in moments if moment is not None), default=None)
