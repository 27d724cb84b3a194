"""Objects become scheduler evidence: lists of bounded size, without what is secret or says nothing of an end."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attribution.blueprint.connectors.kubernetes.objects import Object, text
from attribution.blueprint.connectors.kubernetes.placement import COMPLETION_INDEX
from attribution.contracts.observation import Observation
from attribution.contracts.vocabulary import Format, Source, Status

PIECE_BYTES = 1 << 20
_LONGEST_TEXT = 32 << 10

_LEFT_OUT = frozenset(
    {
        "affinity",
        "annotations",
        "args",
        "command",
        "data",
        "entrypoint",
        "env",
        "envFrom",
        "finalizers",
        "images",
        "imagePullSecrets",
        "lifecycle",
        "livenessProbe",
        "managedFields",
        "rayClusterSpec",
        "readinessProbe",
        "runtimeEnvYAML",
        "securityContext",
        "startupProbe",
        "template",
        "tolerations",
        "volumeDevices",
        "volumeMounts",
        "volumes",
        "volumesAttached",
        "volumesInUse",
    }
)
"""Keys that say what was to be run, or hold what may be secret. How it ended stands elsewhere."""


def trimmed(thing: Object) -> dict[str, Any]:
    """An object without what the evidence leaves out. Of annotations the index of a pod stays."""
    kept = {key: _trimmed(value) for key, value in thing.items() if key not in _LEFT_OUT}
    if index := text(thing, "annotations", COMPLETION_INDEX):
        kept["annotations"] = {COMPLETION_INDEX: index}
    return kept


def _trimmed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return trimmed(value)
    if isinstance(value, list):
        return [_trimmed(item) for item in value]
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "…"
    return value


def observations(stream: str, objects: Iterable[Object], none: str) -> Iterator[Observation]:
    """The objects as `v1` Lists, each a whole document; `none` says why there is none."""
    number = 0
    for body in _lists(objects):
        number += 1
        yield Observation(
            source=Source.SCHEDULER,
            format=Format.KUBERNETES_OBJECTS,
            stream=stream if number == 1 else f"{stream} ({number})",
            body=body,
        )
    if not number:
        yield told(stream, Status.EMPTY, none)


def told(stream: str, status: Status, reason: str) -> Observation:
    """Says of objects that they could not be had."""
    return Observation(
        source=Source.SCHEDULER, format=Format.KUBERNETES_OBJECTS, stream=stream, status=status, reason=reason
    )


def _lists(objects: Iterable[Object]) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for item in objects:
        line = json.dumps(trimmed(item), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        if held and size + len(line) > PIECE_BYTES:
            yield _list(held)
            held, size = [], 0
        held.append(line)
        size += len(line) + 2
    if held:
        yield _list(held)


def _list(items: list[str]) -> str:
    """One object a line, so that a place in the document is a place of an object."""
    body = ",\n".join(items)
    return f'{{"apiVersion":"v1","kind":"List","items":[\n{body}\n]}}\n'
