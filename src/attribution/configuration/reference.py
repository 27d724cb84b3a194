"""The reference of a model's settings is made from the model."""

from collections.abc import Iterator
from enum import Enum
from typing import Any

from pydantic import BaseModel

from attribution.configuration.keys import PREFIX, Key, is_required, keys
from attribution.configuration.secrets import Secrecy


def reference(model: type[BaseModel], prefix: str = PREFIX) -> str:
    """A Markdown table of every setting: key, environment variable, flag, default, meaning."""
    rows = [("key", "environment variable", "flag", "default", "meaning"), ("---",) * 5, *_rows(model, prefix)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, ...]]:
    for key in keys(model):
        flag = "" if key.secrecy is Secrecy.WHOLE else f"`{key.flag}`"
        meaning = f"{key.meaning}; {key.values}" if key.meaning else key.values
        yield f"`{key.name}`", f"`{key.variable(prefix)}`", flag, _default(key), meaning.replace("|", "\\|")


def _default(key: Key) -> str:
    if is_required(key):
        return "must be given"
    return "" if key.default in (None, ()) or key.default == {} else f"`{shown_default(key)}`"


def shown_default(key: Key) -> str:
    """A default as it would be written."""
    return shown(key.default)


def shown(value: Any) -> str:
    """A value as it would be written in a variable."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(item) for item in value)
    return f"{value:g}" if isinstance(value, float) and value < 1e6 else str(value)
