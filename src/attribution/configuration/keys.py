"""Every setting of a model tree has one key path, and from it follow its environment variable and its flag."""

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from attribution.configuration.secrets import Secrecy, is_address

PREFIX = "ATTRIBUTION_"


class Shape(Enum):
    """How a setting is written as one text, in a variable or behind a flag."""

    SCALAR = "scalar"
    LIST = "list"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: where it stands in the tree, what it takes and what it means."""

    path: tuple[str, ...]
    shape: Shape
    values: str
    default: Any
    meaning: str
    secrecy: Secrecy = Secrecy.NONE
    file_of: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The key as it is told to people: `service.url`."""
        return ".".join(self.path)

    @property
    def flag(self) -> str:
        """The flag of the setting: `--service-url`."""
        return "--" + "-".join(self.path).replace("_", "-")

    def variable(self, prefix: str = PREFIX) -> str:
        """The environment variable of the setting: `ATTRIBUTION_SERVICE_URL`."""
        return prefix + "_".join(self.path).upper()


def listed(text: str) -> list[str]:
    """The items of a list that is written as one text, parted by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def keys(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[Key]:
    """The settings of a model and of the models in it, in the order in which they are declared.

    A secret has a second key, with `_file` behind its name, that names the file which holds it.
    """
    for name, field in model.model_fields.items():
        where = (*path, name)
        inner = section(field.annotation)
        if inner is not None:
            yield from keys(inner, where)
            continue
        secrecy = _secrecy(field)
        default = field.get_default(call_default_factory=True)
        yield Key(where, _shape(field.annotation), _values(field.annotation), default, field.description or "", secrecy)
        if secrecy is not Secrecy.NONE:
            file = (*path, f"{name}_file")
            meaning = f"file that holds `{'.'.join(where)}`, so that it stands in no configuration and no command line"
            yield Key(file, Shape.SCALAR, "path", None, meaning, file_of=where)


def is_required(key: Key) -> bool:
    """Whether a setting has no default."""
    return key.default is PydanticUndefined


def sections(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    """The models within a model, each with its path, outer ones first."""
    for name, field in model.model_fields.items():
        inner = section(field.annotation)
        if inner is not None:
            yield (*path, name), inner
            yield from sections(inner, (*path, name))


def section(annotation: Any) -> type[BaseModel] | None:
    """The model that a field holds, if it holds one (or one or nothing)."""
    (only, *more) = _members(annotation)
    is_model = not more and isinstance(only, type) and issubclass(only, BaseModel)
    return only if is_model else None


def _members(annotation: Any) -> tuple[Any, ...]:
    """The types of a union without None; a type that is no union is its only member."""
    if get_origin(annotation) in {typing.Union, types.UnionType}:
        return tuple(inner for inner in get_args(annotation) if inner is not type(None))
    return (annotation,)


def _plain(annotation: Any) -> Any:
    return _plain(get_args(annotation)[0]) if get_origin(annotation) is typing.Annotated else annotation


def _secrecy(field: FieldInfo) -> Secrecy:
    if any(_plain(member) is SecretStr for member in _members(field.annotation)):
        return Secrecy.WHOLE
    inner = [item for member in _members(field.annotation) for item in getattr(member, "__metadata__", ())]
    return Secrecy.PART if any(is_address(item) for item in (*field.metadata, *inner)) else Secrecy.NONE


def _shape(annotation: Any) -> Shape:
    origins = [get_origin(_plain(member)) for member in _members(annotation)]
    if dict in origins:
        return Shape.DOCUMENT
    if not any(origin in {tuple, list} for origin in origins):
        return Shape.SCALAR
    items = [_plain(item) for member in _members(annotation) for item in get_args(_plain(member))]
    of_models = any(isinstance(item, type) and issubclass(item, BaseModel) for item in items)
    return Shape.DOCUMENT if of_models else Shape.LIST


_WORDS = {int: "whole number", float: "number", bool: "true or false", str: "text", SecretStr: "text"}


def _values(annotation: Any) -> str:
    """What a setting takes, in words."""
    return " or ".join(dict.fromkeys(_value(_plain(member)) for member in _members(annotation)))


def _value(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is Literal:
        return ", ".join(str(choice) for choice in get_args(kind))
    if origin in {tuple, list}:
        return f"list of {_value(_plain(get_args(kind)[0]))}"
    if origin is dict:
        return "mapping"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(str(member.value) for member in kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "mapping"
    return _WORDS.get(kind, "path" if getattr(kind, "__name__", "") == "Path" else "time")
