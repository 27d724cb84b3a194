"""Settings come in layers, a file below the environment below flags, and each value knows where it came from."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from attribution.configuration.keys import PREFIX, Key, Shape, keys, listed, sections
from attribution.configuration.secrets import Secrecy, SecretFileError, holds_secret, read_secret
from attribution.contracts import documents
from attribution.contracts.documents import Document
from attribution.contracts.errors import ConfigurationError, Place, Problem

M = TypeVar("M", bound=BaseModel)
Origins = Mapping[str, str]
"""Where each setting came from, by its key: `blueprint.yaml:3:5`, `environment ATTRIBUTION_X`, `--flag`. Settings that
are not in it have their default."""

NOT_SETTINGS = frozenset({"ATTRIBUTION_DEBUG"})
"""Variables of the command line that set no key."""

OTHER_PREFIXES = ("ATTRIBUTION_WEB_",)
"""Begin the variables of programs that have a prefix of their own."""

_NEAR = 0.9
"""How alike an unknown variable must be to a known one to be taken for a slip of it."""


def load(
    model: type[M],
    file: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, str],
    prefix: str = PREFIX,
    known_elsewhere: Collection[str] = (),
) -> tuple[M, Origins]:
    """The settings, and where each of them came from.

    `flags` holds the texts of the flags that were given, by key (`service.url`). `known_elsewhere` names variables
    that another program reads, so that they are not taken for slips. A variable that is empty counts as not set.
    Raises ConfigurationError with everything that is wrong: D... for values, K001 for a variable that is a slip of
    another, K002 for a secret where it must not stand, K003 for a secret's file, K004 for the configuration file.
    """
    known = list(keys(model))
    tree = _Tree(_document(file), model, prefix)
    tree.add_file(known)
    tree.add_texts(_variables(known, environ, prefix))
    tree.add_texts((key, flags[key.name], key.flag) for key in known if key.name in flags)
    tree.problems += _slips(known, environ, prefix, known_elsewhere)
    try:
        settings = documents.build(tree.document, tree.document.value, (), model)
    except ConfigurationError as error:
        raise ConfigurationError([*tree.problems, *tree.told(error.problems, known)]) from None
    if tree.problems:
        raise ConfigurationError(tree.problems)
    return settings, dict(sorted(tree.origins.items()))


def _document(file: Path | None) -> Document:
    if file is None:
        return Document("settings", {}, {})
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        problem = Problem(Place(str(file)), "K004", f"cannot be read: {error.strerror or error}", "check the path")
        raise ConfigurationError([problem]) from None
    except UnicodeDecodeError:
        raise ConfigurationError([Problem(Place(str(file)), "K004", "is not UTF-8 text", "save it as UTF-8")]) from None
    document = documents.parse(text, str(file))
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        problem = Problem(document.place(()), "K004", "should be a mapping", "write keys such as `workers: 4`")
        raise ConfigurationError([problem])
    return Document(document.file, value, document.places)


def _variables(known: list[Key], environ: Mapping[str, str], prefix: str) -> Iterator[tuple[Key, str, str]]:
    for key in known:
        name = key.variable(prefix)
        if environ.get(name):
            yield key, environ[name], f"environment {name}"


def _slips(known: list[Key], environ: Mapping[str, str], prefix: str, elsewhere: Collection[str]) -> Iterator[Problem]:
    """Variables that nobody reads and that are almost one that is read."""
    names = {key.variable(prefix) for key in known}
    for name in sorted(environ):
        if not name.startswith(prefix) or name in names or name in NOT_SETTINGS or name in elsewhere:
            continue
        if any(name.startswith(other) for other in OTHER_PREFIXES if other != prefix):
            continue
        near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=_NEAR)
        if near:
            place = Place(f"environment {name}")
            yield Problem(place, "K001", "is no setting", f"did you mean `{near[0]}`?")


@dataclass(slots=True)
class _Tree:
    """The values of all layers so far, each with its place."""

    document: Document
    model: type[BaseModel]
    prefix: str
    origins: dict[str, str] = field(default_factory=dict)
    shapeless: list[tuple[str, ...]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add_file(self, known: list[Key]) -> None:
        """Take in what the file holds: a section without anything in it is there, and no secret may be."""
        for path, _ in sections(self.model):
            holder = self._at(path[:-1])
            if holder is None or path[-1] not in holder or isinstance(holder[path[-1]], dict):
                continue
            if holder[path[-1]] is not None:
                message = f"should have a mapping behind `{'.'.join(path)}`"
                self.problems.append(Problem(self.document.place(path), "K004", message, "write its keys below it"))
                self.shapeless.append(path)
            holder[path[-1]] = {}
        for key in known:
            holder = self._at(key.path[:-1])
            if holder is None or key.path[-1] not in holder:
                continue
            place = self.document.place(key.path)
            if key.file_of is not None:
                if (named := holder.pop(key.path[-1])) is not None:
                    self._put_secret(key, str(named), place)
            elif self._may_stand(key, holder[key.path[-1]], place):
                self.origins[key.name] = str(place)

    def add_texts(self, given: Iterator[tuple[Key, str, str]]) -> None:
        """Lay values that are texts over what there is. A file that holds a secret gives way to the secret itself."""
        for key, text, origin in sorted(given, key=lambda item: item[0].file_of is None):
            place = Place(origin)
            if key.file_of is not None:
                self._put_secret(key, text, place)
            elif origin.startswith("environment") or self._may_stand(key, text, place):
                self._put_text(key, text, place)

    def _put_text(self, key: Key, text: str, place: Place) -> None:
        """Put what one text stands for: lists are parted by commas, or written as YAML or JSON."""
        if key.shape is Shape.SCALAR:
            return self._put(key.path, text, place)
        if key.shape is Shape.LIST and not text.lstrip().startswith("["):
            return self._put(key.path, listed(text), place)
        try:
            self._put(key.path, documents.parse(text, place.file).value, place)
        except ConfigurationError as error:
            self.problems += [
                Problem(place, problem.code, problem.message, problem.remedy) for problem in error.problems
            ]

    def _put(self, path: tuple[str, ...], value: Any, place: Place) -> None:
        holder = self.document.value
        for part in path[:-1]:
            if not isinstance(holder.get(part), dict):
                holder[part] = {}
            holder = holder[part]
        holder[path[-1]] = value
        for inner in [inner for inner in self.document.places if inner[: len(path)] == path]:
            del self.document.places[inner]
        self.document.places[path] = place
        self.origins[".".join(path)] = str(place)

    def _put_secret(self, key: Key, file: str, place: Place) -> None:
        assert key.file_of is not None
        try:
            self._put(key.file_of, read_secret(file, place), place)
        except SecretFileError as error:
            self.problems.append(error.problem)

    def told(self, problems: Iterable[Problem], known: list[Key]) -> Iterator[Problem]:
        """The problems of the model: without values of secrets, and only those that mending others leaves."""
        places = self.document.places
        secret = {places[key.path]: key.name for key in known if key.path in places and self._is_secret(key)}
        missing = {f"lacks the key `{key.name}`": key for key in known}
        for problem in problems:
            key, name = missing.get(problem.message), secret.get(problem.place)
            if key is not None and any(key.path[: len(path)] == path for path in self.shapeless):
                continue
            if key is not None and key.secrecy is Secrecy.WHOLE:
                remedy = f"it is a secret: set {key.variable(self.prefix)}, or name a file with `{key.name}_file`"
                yield Problem(problem.place, problem.code, problem.message, remedy)
            elif key is None and name is not None:
                yield Problem(problem.place, problem.code, f"has a wrong `{name}`", problem.remedy)
            else:
                yield problem

    def _is_secret(self, key: Key) -> bool:
        """Whether the value of a key must not be shown."""
        holder = self._at(key.path[:-1])
        value = None if holder is None else holder.get(key.path[-1])
        return key.secrecy is Secrecy.WHOLE or (key.secrecy is Secrecy.PART and holds_secret(str(value)))

    def _may_stand(self, key: Key, value: Any, place: Place) -> bool:
        """Whether a value may stand in a configuration file or on a command line; if not, that is a problem."""
        is_secret = key.secrecy is Secrecy.WHOLE or (
            key.secrecy is Secrecy.PART and isinstance(value, str) and holds_secret(value)
        )
        if is_secret and value is not None:
            what = (
                f"holds the secret `{key.name}`"
                if key.secrecy is Secrecy.WHOLE
                else f"has a password or token in `{key.name}`"
            )
            file = f"{key.flag}-file" if place.file == key.flag else f"`{key.name}_file`"
            remedy = f"set {key.variable(self.prefix)}, or name a file with {file}"
            self.problems.append(Problem(place, "K002", what, remedy))
        return not is_secret

    def _at(self, path: tuple[str, ...]) -> dict[str, Any] | None:
        holder = self.document.value
        for part in path:
            holder = holder.get(part) if isinstance(holder, dict) else None
        return holder if isinstance(holder, dict) else None
