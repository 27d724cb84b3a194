"""Turns the text of a YAML or JSON document into a model, or into all its errors with their places.

YAML is read as a plain subset: scalars stay the text that was written (no `no` -> False, no `12:30` -> 45000), keys
may stand once, anchors, aliases and tags are refused. Models convert the text to the types they declare.
"""

import difflib
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from attribution.contracts.errors import ConfigurationError, Place, Problem

M = TypeVar("M", bound=BaseModel)
Path = tuple[str | int, ...]
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 32
"""Nesting beyond this is refused, so that a hostile document cannot exhaust the stack."""

_REFUSED = {
    "&": ("has an anchor", "write the value out where it is used"),
    "!": ("has a tag", "write the value without it"),
}
"""What a value must not begin with; a plain text cannot begin so, and of a quoted one the quote comes first."""


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
    value = _Reading(text.removeprefix("\ufeff"), file, places, problems).plain(node, ()) if node is not None else None
    if problems:
        raise ConfigurationError(problems)
    return Document(file, value, places)


@dataclass(slots=True)
class _Reading:
    """How far a document was turned into plain values."""

    text: str
    file: str
    places: dict[Path, Place]
    problems: list[Problem]
    seen: set[int] = field(default_factory=set)
    _rows: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._rows = self.text.split("\n")

    def plain(self, node: yaml.Node, path: Path) -> Any:
        """The value of a node, or None where it was refused."""
        place = self._place(node)
        self.places.setdefault(path, place)
        if id(node) in self.seen:  # an alias is the anchored node once more, and its anchor was refused
            return None
        self.seen.add(id(node))
        self._refuse(node, place)
        if len(path) > MAX_DEPTH:
            self.problems.append(Problem(place, "D003", f"nests deeper than {MAX_DEPTH} levels", "write it out flat"))
            return None
        if isinstance(node, yaml.ScalarNode):
            is_plain = not node.style  # None or "", depending on the parser
            is_null = is_plain and node.value in {"", "~", "null"}
            if node.style == "|":
                self._lines(node, path)
            return None if is_null else node.value
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _mapping(self, node: yaml.Node, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            where = self._place(key_node)
            self._refuse(key_node, where)
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                self.problems.append(Problem(where, "D003", "has a key that is not plain text"))
            elif key in result:
                self.problems.append(Problem(where, "D002", f"has the key `{key}` twice", "remove one"))
            else:
                self.places[(*path, key)] = where
                result[key] = self.plain(value_node, (*path, key))
        return result

    def _lines(self, node: yaml.ScalarNode, path: Path) -> None:
        """Keep where each line of a text block stands, under its number from 0 on."""
        for number, line in enumerate(node.value.split("\n")):
            if line.strip():
                row = node.start_mark.line + 1 + number
                shown = self._rows[row] if row < len(self._rows) else ""
                self.places[(*path, number)] = Place(self.file, row + 1, max(0, shown.find(line)) + 1)

    def _refuse(self, node: yaml.Node, place: Place) -> None:
        refused = _REFUSED.get(self.text[node.start_mark.index : node.start_mark.index + 1])
        problem = Problem(place, "D003", *refused) if refused else None
        if problem and problem not in self.problems:  # a mapping begins where its first key does
            self.problems.append(problem)

    def _place(self, node: yaml.Node) -> Place:
        return Place(self.file, node.start_mark.line + 1, node.start_mark.column + 1)


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


def empties(document: Document, model: type[BaseModel]) -> list[Problem]:
    """The keys of a document that stand there without a value (D015), each with what `model` says belongs there."""
    return [
        Problem(
            document.place(path), "D015", f"has no value for `{_dotted(path)}`", _described(model, path) or "fill it in"
        )
        for path in _empty_paths(document.value, ())
    ]


def _empty_paths(value: Any, path: Path) -> Iterator[Path]:
    if value is None and path:
        yield path
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _empty_paths(inner, (*path, key))


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)


def _described(model: type[BaseModel], path: Path) -> str:
    """The description of the field at `path`, or nothing. An item of a list is what the list's description says."""
    while path and not isinstance(path[-1], str):
        path = path[:-1]
    if not path:
        return ""
    found = [m.model_fields[path[-1]] for m in _models_at(model, path[:-1]) if path[-1] in m.model_fields]
    return next((field.description for field in found if field.description), "")


def _problem(document: Document, path: Path, model: type[BaseModel], error: Any) -> Problem:
    where: Path = (*path, *error["loc"])
    place = document.place(where)
    name = _dotted(error["loc"]) or _words(model.__name__)
    kind = error["type"]
    if kind == "extra_forbidden":
        known = sorted(_keys_at(model, error["loc"][:-1]))
        near = difflib.get_close_matches(str(error["loc"][-1]), known, n=1, cutoff=0.5)
        remedy = f"did you mean `{near[0]}`?" if near else "known keys: " + ", ".join(known)
        return Problem(place, "D011", f"has the unknown key `{name}`", remedy)
    if kind == "missing":
        return Problem(place, "D012", f"lacks the key `{name}`", "add it")
    message = _IN_WORDS.get(kind) or error["msg"].removeprefix("Value error, ")
    if kind in {"enum", "literal_error"}:
        expected = str(error["ctx"]["expected"]).replace("'", "")
        choices = expected.replace(" or ", ", ").split(", ")
        near = difflib.get_close_matches(str(error["input"]), choices, n=1, cutoff=0.5)
        remedy = f"did you mean `{near[0]}`?" if near else f"one of: {', '.join(choices)}"
        return Problem(place, "D013", f"has `{name}: {_short(error['input'])}`, which is not a known value", remedy)
    if kind == "value_error":  # says itself what it should be
        return Problem(place, "D014", f"has a wrong `{name}`: {message}" if error["loc"] else message)
    shown = f"has `{name}: {_short(error['input'])}`"
    described = _described(model, error["loc"])
    if described and kind == "string_pattern_mismatch":  # it says in words what the pattern says
        return Problem(place, "D014", f"{shown}, which is not of the allowed form", described)
    remedy = described or next((told for start, told in _TYPES if kind.startswith(start)), "")
    return Problem(place, "D014", f"{shown}: {message[:1].lower()}{message[1:]}", remedy)


_IN_WORDS = dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "should be a list") | (
    dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "should be a mapping of keys and values")
)
"""What pydantic says in words of Python, in words of YAML."""
_TYPES = (
    ("int", "write a whole number such as 4"),
    ("float", "write a number such as 1.5"),
    ("bool", "write true or false"),
    ("string", "write a text"),
    ("datetime", "write a time with its offset, such as 2026-05-04T03:00:00Z"),
    ("timezone", "write a time with its offset, such as 2026-05-04T03:00:00Z"),
    ("list", "write a list: [a, b]"),
    ("tuple", "write a list: [a, b]"),
    ("set", "write a list: [a, b]"),
    ("dict", "write a mapping of keys and values"),
    ("model", "write a mapping of keys and values"),
    ("greater", "give a larger number"),
    ("less", "give a smaller number"),
    ("too_short", "give more"),
    ("too_long", "give fewer"),
)
"""How pydantic's kinds of errors begin, and what to write instead where the field does not describe itself."""


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _words(name: str) -> str:
    return "".join(" " + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


def _keys_at(model: type[BaseModel], loc: tuple[str | int, ...]) -> set[str]:
    """The keys that the model nested at `loc` knows."""
    return {field.alias or name for m in _models_at(model, loc) for name, field in m.model_fields.items()}


def _models_at(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[type[BaseModel]]:
    """The models nested at `loc`; indices of lists and keys of mappings are stepped over."""
    models = [model]
    for part in loc:
        if isinstance(part, str):
            fields = [m.model_fields[part] for m in models if part in m.model_fields]
            models = [inner for field in fields for inner in _models_in(field.annotation)] or models
    return models


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in {typing.Union, types.UnionType, list, tuple, dict, typing.Annotated}:
        for inner in get_args(annotation):
            yield from _models_in(inner)
