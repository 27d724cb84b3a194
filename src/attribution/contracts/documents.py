"""Turns the text of a YAML or JSON document into a model, or into all its errors with their places.

YAML is read as a plain subset: scalars stay the text that was written (no `no` -> False, no `12:30` -> 45000), keys
may stand once, anchors, aliases and tags are refused. Models convert the text to the types they declare.
"""

import difflib
import types
import typing
from collections.abc import Iterator
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from attribution.contracts.errors import ConfigurationError, Place, Problem

M = TypeVar("M", bound=BaseModel)
Path = tuple[str | int, ...]
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 32
"""Nesting beyond this is refused, so that a hostile document cannot exhaust the stack."""


class Document:
    """The plain values of a document and where each of them stands."""

    def __init__(self, file: str, value: Any, places: dict[Path, Place]) -> None:
        self.file = file
        self.value = value
        self.places = places

    def place(self, path: Path) -> Place:
        """The position of the value at `path`, or of the nearest one around it."""
        while path not in self.places and path:
            path = path[:-1]
        return self.places.get(path, Place(self.file))


def parse(text: str, file: str) -> Document:
    """Read a document. Raises ConfigurationError (D001 syntax, D002 duplicate key, D003 refused construct)."""
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        raise ConfigurationError([Problem(place, "D001", f"is not valid YAML: {error.problem}")]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # YAML calls a character it does not allow a reader error, which has no mark.
        problem = Problem(Place(file), "D001", f"is not valid YAML: {' '.join(str(error).split())}")
        raise ConfigurationError([problem]) from error
    problems: list[Problem] = []
    places: dict[Path, Place] = {}
    value = _plain(node, (), file, places, problems, set()) if node is not None else None
    if problems:
        raise ConfigurationError(problems)
    return Document(file, value, places)


def _plain(
    node: yaml.Node, path: Path, file: str, places: dict[Path, Place], problems: list[Problem], seen: set[int]
) -> Any:
    place = Place(file, node.start_mark.line + 1, node.start_mark.column + 1)
    places.setdefault(path, place)
    if id(node) in seen:  # an alias is the anchored node once more; expanding them can grow without bound
        problems.append(Problem(place, "D003", "is used again through an alias", "write it out"))
        return None
    if len(path) > MAX_DEPTH:
        problems.append(Problem(place, "D003", f"nests deeper than {MAX_DEPTH} levels", "write it out flat"))
        return None
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        is_null = node.style is None and node.value in {"", "~", "null"}
        return None if is_null else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*path, index), file, places, problems, seen) for index, item in enumerate(node.value)]
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        where = Place(file, key_node.start_mark.line + 1, key_node.start_mark.column + 1)
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
        if key is None:
            problems.append(Problem(where, "D003", "has a key that is not plain text"))
        elif key in result:
            problems.append(Problem(where, "D002", f"has the key `{key}` twice", "remove one"))
        else:
            places[(*path, key)] = where
            result[key] = _plain(value_node, (*path, key), file, places, problems, seen)
    return result


def load(text: str, file: str, model: type[M]) -> M:
    """Read a document as `model`. Raises ConfigurationError with every error of the document at once."""
    document = parse(text, file)
    return build(document, document.value, (), model)


def build(document: Document, value: Any, path: Path, model: type[M]) -> M:
    """Validate the part of a document at `path` as `model`."""
    if not isinstance(value, dict):
        message = f"should be a mapping with the keys of {_words(model.__name__)}"
        raise ConfigurationError([Problem(document.place(path), "D010", message)])
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise ConfigurationError([_problem(document, path, model, item) for item in error.errors()]) from error


def _problem(document: Document, path: Path, model: type[BaseModel], error: Any) -> Problem:
    where: Path = (*path, *error["loc"])
    place = document.place(where)
    name = ".".join(str(part) for part in error["loc"]) or _words(model.__name__)
    kind = error["type"]
    if kind == "extra_forbidden":
        known = sorted(_keys_at(model, error["loc"][:-1]))
        near = difflib.get_close_matches(str(error["loc"][-1]), known, n=1, cutoff=0.5)
        remedy = f"did you mean `{near[0]}`?" if near else "known keys: " + ", ".join(known)
        return Problem(place, "D011", f"has the unknown key `{name}`", remedy)
    if kind == "missing":
        return Problem(place, "D012", f"lacks the key `{name}`", "add it")
    message = error["msg"].removeprefix("Value error, ")
    if kind in {"enum", "literal_error"}:
        expected = str(error["ctx"]["expected"]).replace("'", "")
        choices = expected.replace(" or ", ", ").split(", ")
        near = difflib.get_close_matches(str(error["input"]), choices, n=1, cutoff=0.5)
        remedy = f"did you mean `{near[0]}`?" if near else f"one of: {', '.join(choices)}"
        return Problem(place, "D013", f"has `{name}: {_short(error['input'])}`, which is not a known value", remedy)
    if kind == "value_error":
        return Problem(place, "D014", f"has a wrong `{name}`: {message}" if error["loc"] else message)
    return Problem(place, "D014", f"has `{name}: {_short(error['input'])}`: {message[:1].lower()}{message[1:]}")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _words(name: str) -> str:
    return "".join(" " + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


def _keys_at(model: type[BaseModel], loc: tuple[str | int, ...]) -> set[str]:
    """The keys that the model nested at `loc` knows; indices of lists and keys of mappings are stepped over."""
    models = [model]
    for part in loc:
        if isinstance(part, str):
            fields = [m.model_fields[part] for m in models if part in m.model_fields]
            models = [inner for field in fields for inner in _models_in(field.annotation)] or models
    return {field.alias or name for m in models for name, field in m.model_fields.items()}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in {typing.Union, types.UnionType, list, tuple, dict, typing.Annotated}:
        for inner in get_args(annotation):
            yield from _models_in(inner)
