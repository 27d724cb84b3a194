"""The settings in force are shown with where each came from, and no secret with them."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from attribution.configuration.keys import Key, keys
from attribution.configuration.layers import Origins
from attribution.configuration.reference import shown
from attribution.configuration.secrets import HIDDEN, Secrecy, without_secrets


def show(settings: BaseModel, origins: Origins) -> Iterator[str]:
    """One line a setting: key, value, origin. Settings of sections that are not there are left out."""
    rows = [(key.name, _shown(key, value), origins.get(key.name, "default")) for key, value in _values(settings)]
    sizes = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for name, value, origin in rows:
        yield f"{name:<{sizes[0]}}  {value:<{min(sizes[1], 40)}}  {origin}"


def _values(settings: BaseModel) -> Iterator[tuple[Key, Any]]:
    for key in keys(type(settings)):
        if key.file_of is not None:
            continue
        value: Any = settings
        for part in key.path[:-1]:
            value = None if value is None else getattr(value, part)
        if value is not None:
            yield key, getattr(value, key.path[-1])


def _shown(key: Key, value: Any) -> str:
    if value is None:
        return "-"
    if key.secrecy is Secrecy.WHOLE:
        return HIDDEN
    text = shown(value)
    return without_secrets(text) if key.secrecy is Secrecy.PART else text or "-"
