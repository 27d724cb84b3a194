"""Connectors are found through entry points, those of this package as well as those of others."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from attribution.blueprint.connectors.base import Collector, Connector, ContextConnector, Kind, Sink
from attribution.blueprint.connectors.foreign import one_line

GROUP = "attribution.connectors"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_CLASSES: Mapping[Kind, Any] = {
    Kind.CONTEXT: ContextConnector,
    Kind.LOGS: Collector,
    Kind.METRICS: Collector,
    Kind.SINKS: Sink,
}


@dataclass(frozen=True, slots=True)
class Registry:
    """The connectors there are, by kind and name, and why others cannot be used, by name."""

    known: Mapping[Kind, Mapping[str, type[Connector[Any]]]]
    broken: Mapping[str, str]


def find_connectors(declared: Iterable[EntryPoint] | None = None) -> Registry:
    """Load every connector that an installed package declares. One that cannot be loaded does not stop the others."""
    points = entry_points(group=GROUP) if declared is None else declared
    known: dict[Kind, dict[str, type[Connector[Any]]]] = {kind: {} for kind in Kind}
    broken: dict[str, str] = {}
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        try:
            connector = _load(point)
        except Exception as error:  # whatever another's package raises
            broken[point.name] = f"cannot be loaded: {one_line(error)}"
            continue
        if point.name in known[connector.kind]:
            broken[point.name] = f"is declared twice: {point.value} is not used"
            continue
        known[connector.kind][point.name] = connector
    return Registry(known, broken)


def _load(point: EntryPoint) -> type[Connector[Any]]:
    connector = point.load()
    if not _NAME.fullmatch(point.name):
        raise TypeError("its name is not made of small letters, digits and `_`")
    kind = getattr(connector, "kind", None)
    if not isinstance(connector, type) or not isinstance(kind, Kind) or not issubclass(connector, _CLASSES[kind]):
        raise TypeError(f"{point.value} is no connector")
    return connector
