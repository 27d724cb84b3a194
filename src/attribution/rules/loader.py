"""Loads rule folders into a Catalog, or reports every error in them at once."""

import ast
import contextlib
import hashlib
import inspect
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import attribution
from attribution.contracts import documents
from attribution.contracts.errors import ConfigurationError, Place, Problem, nearest
from attribution.events.symptom import SymptomType
from attribution.rules import behaviour
from attribution.rules.api import Declared
from attribution.rules.cache import Cache, no_cache
from attribution.rules.checks import check_catalog
from attribution.rules.forms import HEADINGS, extractor_of, info_of, manual, python_rule, relation_of
from attribution.rules.model import (
    Catalog,
    Extractor,
    Filter,
    MetricExtractor,
    Refiner,
    Relation,
    Retired,
    Rule,
    RuleInfo,
    Written,
)
from attribution.rules.modules import (
    ALLOWED_IMPORTS,
    PACKAGE,
    first_line_of_cases,
    import_module,
    imports,
    impurities,
    places_of_options,
    python_cases,
)
from attribution.rules.options import options_of, refused_option, symptoms_of
from attribution.rules.patterns import compile_pattern, refused_patterns
from attribution.rules.schema import (
    KINDS,
    RULE_ID,
    RULE_NAME,
    STATUSES,
    CaseModel,
    CasesModel,
    Emit,
    ExtractorFile,
    MetricFile,
    RelationFile,
    RetiredFile,
    SymptomModel,
    SymptomsFile,
)

_ID = re.compile(RULE_ID)
_NAME = re.compile(RULE_NAME)

LOCK_NAME = "lock.json"
"""The file of a rule folder that says what its rules did when they were last released on purpose."""

MAX_BYTES = 1 << 20
"""What a file of a rule folder may hold. The largest shipped one, a table, has a tenth of it."""

_NOTES = frozenset({".md"})


def load_catalog(folders: Sequence[Path], version: str = attribution.__version__, cache: Cache = no_cache) -> Catalog:
    """Load every rule below `folders` (or rule files), in sorted order. Raises ConfigurationError with every error.

    `cache` keeps what the files of a faultless catalog say, so that the next load of the same files neither parses nor
    checks them again.
    """
    files = [file for folder in folders for file in _files_of(folder)]
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(os.fsencode(file.name) + b"\0" + file.data + b"\0")
    empty = [folder for folder in folders if not any(file.folder == folder for file in files)]
    checked: list[Catalog] = []

    def check() -> bytes:
        loading = _Loading()
        remedy = "name a folder of rule files"
        loading.problems += [Problem(Place(str(folder)), "R001", "holds no rules", remedy) for folder in empty]
        loading.load(files)
        catalog = loading.catalog(version, digest.hexdigest())
        problems = [*loading.problems, *check_catalog(catalog)]
        if problems:
            raise ConfigurationError(problems)
        checked.append(catalog)
        return json.dumps(loading.values).encode()

    kept = check() if empty else cache(f"catalog-{digest.hexdigest()}-{version}", check)
    if checked:
        return checked[0]
    with contextlib.suppress(ValueError, KeyError, TypeError, ConfigurationError):
        loading = _Loading(json.loads(kept))
        loading.load(files)
        if not loading.problems:
            return loading.catalog(version, digest.hexdigest())
    check()  # the cache entry was damaged
    return checked[0]


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a rule folder; `name` is its path within it."""

    folder: Path
    path: Path
    name: str
    data: bytes

    @property
    def key(self) -> str:
        """Names the content, so that another checkout of the same rules finds it too."""
        return self.name + " " + hashlib.blake2b(self.data, digest_size=8).hexdigest()

    @property
    def shipped(self) -> bool:
        return is_shipped(self.path)

    @property
    def holds_no_rule(self) -> bool:
        """Whether it makes the folder importable, or is a table: shipped rules read tables, and no others can."""
        if self.shipped:
            is_table = self.path.suffix == ".json" or "tables" in Path(self.name).parts
            return is_table or self.path.name == "__init__.py"
        return self.path.name == "__init__.py" and not self.data.strip()


def is_shipped(path: Path) -> bool:
    """Whether a path lies within the product, and not in a folder of an operator's."""
    return path.is_relative_to(PACKAGE)


def is_rule_file(path: Path) -> bool:
    """Whether a path is named as a rule file is."""
    return path.suffix in {".yaml", ".py"}


def is_like_yaml(path: Path) -> bool:
    """Whether a file may be meant as YAML, however its name ends in it."""
    return path.suffix.lower() in {".yaml", ".yml"}


def _files_of(folder: Path) -> Iterator[_File]:
    """The files of a folder, sorted, or the one file. Hidden ones, notes and the lock file are none of it."""
    if folder.is_file():
        yield _File(folder, folder, folder.name, _bytes_of(folder))
        return
    for path in sorted(_below(folder)):
        inner = path.relative_to(folder).as_posix()
        if path.suffix not in _NOTES and inner != LOCK_NAME:
            is_read = is_rule_file(path) or path.suffix == ".json"
            yield _File(folder, path, inner, _bytes_of(path) if is_read else b"")


def _below(folder: Path) -> Iterator[Path]:
    """All that is not hidden below a folder, but the folders; a link to one is not followed, and told as a file is."""
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise _unreadable(folder, error.strerror or str(error)) from error
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(folder / entry.name)
        else:
            yield folder / entry.name


class _Loading:
    """The state of one load: what was found so far, and what is wrong with it."""

    def __init__(self, remembered: Mapping[str, Any] | None = None) -> None:
        self.problems: list[Problem] = []
        self.rules: list[Rule] = []
        self.symptoms: dict[str, SymptomType] = {}
        self.places: dict[documents.Path, Place] = {}
        self.retired: dict[str, str] = {}
        self.retired_at: dict[str, Retired] = {}
        self.tags: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        self._remembered = remembered

    def load(self, files: Iterable[_File]) -> None:
        for file in files:
            if file.holds_no_rule:
                continue
            if not is_rule_file(file.path) or file.path.name == "__init__.py":
                remedy = "call it .yaml" if is_like_yaml(file.path) else "move it out of the folder of rules"
                is_package = file.path.name == "__init__.py"
                kind = file.path.name if is_package else file.path.suffix or file.path.name
                message = f"is a file of a type that is not read (`{kind}`)"
                self.problems.append(Problem(Place(shown_path(file.path)), "R034", message, remedy))
                continue
            try:
                self._yaml(file) if file.path.suffix == ".yaml" else self._python(file)
            except ConfigurationError as error:
                self.problems.extend(error.problems)

    def _document(self, file: _File) -> documents.Document:
        shown = shown_path(file.path)
        if self._remembered is not None:
            return documents.Document(shown, self._remembered[file.key], {})
        document = documents.parse(_text_of(file.data, shown), shown)
        self.values[file.key] = document.value
        return document

    def _yaml(self, file: _File) -> None:
        document = self._document(file)
        value = document.value
        if isinstance(value, dict) and "symptoms" in value:
            registry = documents.build(document, value, (), SymptomsFile)
            self.tags.update(registry.tags)
            for name, model in registry.symptoms.items():
                self._symptom(name, model, document, ("symptoms", name))
            return
        if isinstance(value, dict) and "retired" in value:
            self._retire(documents.build(document, value, (), RetiredFile).retired, document, file.folder)
            return
        kind = value.get("kind", "extractor") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            raise ConfigurationError([_no_kind(document, kind)])
        self._rule_file(self._filled(document, KINDS[kind]), document, file.folder)

    def _retire(self, retired: Mapping[str, str], document: documents.Document, folder: Path) -> None:
        for id, reason in retired.items():
            place = document.place(("retired", id))
            if id in self.retired:
                message = f"retires the id {id} again, as {self.retired_at[id].place} does"
                self.problems.append(Problem(place, "R011", message, "retire it once"))
            else:
                self.retired[id] = reason
                self.retired_at[id] = Retired(place, is_shipped(folder))

    def _filled(self, document: documents.Document, form: type[documents.M]) -> documents.M:
        """The rule of a document. A key without a value is told as such, and not as a value of a wrong type."""
        empty = [] if self._remembered is not None else documents.empties(document, form)
        try:
            file = documents.build(document, document.value, (), form)
        except ConfigurationError as error:
            told = {problem.place for problem in empty}
            raise ConfigurationError([*empty, *(p for p in error.problems if p.place not in told)]) from error
        if empty:
            raise ConfigurationError(empty)
        return file

    def _rule_file(
        self, file: ExtractorFile | MetricFile | RelationFile, document: documents.Document, folder: Path
    ) -> None:
        written = Written()
        if self._remembered is None:
            written = Written(shown_path(folder), document.places, behaviour.of_file(file), is_shipped(folder))
        info = info_of(file, document.place(("id",)), written)
        if isinstance(file, RelationFile):
            self.rules.append(relation_of(info, file))
            return
        if file.symptom is not None:
            self._symptom(file.emit.symptom, file.symptom, document, ("symptom",))
        if isinstance(file, MetricFile):
            self.rules.append(MetricExtractor(info, file.extract, file.emit.symptom, file.emit.keep))
            return
        groups = None
        if self._remembered is None:
            groups = self._groups(
                file.extract.pattern, file.extract.follow.pattern if file.extract.follow else None, document
            )
        if groups is not None:
            self._check_groups(file.emit, groups, document)
        self.rules.append(extractor_of(info, file))

    def _symptom(self, name: str, model: SymptomModel, document: documents.Document, path: documents.Path) -> None:
        for number in range(len(model.tags)):
            self.places[name, "tags", number] = document.place((*path, "tags", number))
        self._register(
            SymptomType(
                name=name,
                role=model.role,
                meaning=model.meaning,
                sub_domain=model.sub_domain,
                actions=model.actions,
                tags=model.tags,
                ends_job=model.ends_job,
                terminal_state=model.terminal_state,
                node_scoped=model.node_scoped,
                device=model.device,
                recovers=model.recovers,
            ),
            document.place(path),
        )

    def _register(self, symptom: SymptomType, place: Place) -> None:
        if symptom.name in self.symptoms:
            self.problems.append(
                Problem(place, "R012", f"defines the symptom `{symptom.name}` again", "define it once")
            )
        self.symptoms[symptom.name] = symptom
        self.places[symptom.name,] = place

    def _groups(self, patterns: Sequence[str], follow: str | None, document: documents.Document) -> set[str] | None:
        """The groups of all patterns, or None if one of them is refused."""
        groups: set[str] = set()
        refused: list[Problem] = []
        for index, pattern in enumerate([*patterns, *([follow] if follow else [])]):
            where = ("extract", "pattern", index) if index < len(patterns) else ("extract", "follow", "pattern")
            wrong = list(refused_patterns([pattern], document.place(where)))
            if not wrong:
                groups |= set(compile_pattern(pattern).groupindex)
            refused += wrong
        self.problems += refused
        return None if refused else groups

    def _check_groups(self, emit: Emit, groups: set[str], document: documents.Document) -> None:
        used: list[tuple[documents.Path, str]] = [(("emit", "keep", i), g) for i, g in enumerate(emit.keep)]
        used += [(("emit", "key", i), g) for i, g in enumerate(emit.key)]
        used += [(("emit", "node"), emit.node)] if emit.node and emit.node != "none" else []
        used += [(("emit", "rank"), emit.rank)] if emit.rank else []
        used += [(("emit", "device", "ids", n), g) for n, g in emit.device.ids.items()] if emit.device else []
        for path, group in used:
            if group not in groups:
                remedy = nearest(group, groups) or "groups of the pattern: " + (", ".join(sorted(groups)) or "none")
                self.problems.append(
                    Problem(document.place(path), "R006", f"names the unknown group `{group}`", remedy)
                )

    def _python(self, file: _File) -> None:
        shown = shown_path(file.path)
        tree = self._source(file, shown) if self._remembered is None else None
        try:
            module = import_module(file.path)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit and its like too: a rule must not end the program
            raise ConfigurationError([Problem(Place(shown), "R001", f"cannot be imported: {error!r}")]) from error
        for symptom in symptoms_of(getattr(module, "SYMPTOMS", ()), shown):
            self._register(symptom, Place(shown))
        self._declared(file, module, shown, tree)

    def _source(self, file: _File, shown: str) -> ast.Module:
        """The parsed source of a rule. Refuses what a rule may not do, before it is imported."""
        try:
            tree = ast.parse(_text_of(file.data, shown))
        except SyntaxError as error:
            place = Place(shown, error.lineno or 0, error.offset or 0)
            raise ConfigurationError([Problem(place, "R001", f"is not valid Python: {error.msg}")]) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise ConfigurationError([Problem(Place(shown), "R001", f"is not valid Python: {error}")]) from error
        refused = [
            Problem(Place(shown, line, 1), "R013", f"imports `{name}`", "rules are pure: import attribution.rules.api")
            for line, name in imports(tree)
            if not any(name == allowed or name.startswith(allowed + ".") for allowed in ALLOWED_IMPORTS)
        ]
        pure = "rules are pure: they compute from what they are given"
        refused += [Problem(Place(shown, line, 1), "R013", f"uses `{name}`", pure) for line, name in impurities(tree)]
        if refused:
            raise ConfigurationError(refused)
        return tree

    def _declared(self, file: _File, module: ModuleType, shown: str, tree: ast.Module | None) -> None:
        found = [
            (function, function.__attribution_rule__)
            for function in vars(module).values()
            if callable(function)
            and hasattr(function, "__attribution_rule__")
            and function.__module__ == module.__name__
        ]
        if len(found) != 1:
            problem = Problem(Place(shown), "R010", f"declares {len(found)} rules", "one rule, one file")
            raise ConfigurationError([problem])
        function, declared = found[0]
        if not _is_plain_function(function):
            message = f"decorates `{declared.name}`, which is no plain function"
            raise ConfigurationError([Problem(Place(shown), "R037", message, "write it as def name(...)")])
        place = Place(shown, function.__code__.co_firstlineno, 1)
        if tree is None:
            assert self._remembered is not None
            cases, written = CasesModel.model_validate(self._remembered[file.key]).cases, Written()
        else:
            text = getattr(module, "CASES", "[]")
            if not isinstance(text, str):
                remedy = "the cases as one text, see docs/writing-rules.md"
                raise ConfigurationError([refused_option("CASES", text, remedy, Place(shown))])
            cases, places = python_cases(text, shown, first_line_of_cases(tree))
            self.values[file.key] = CasesModel(cases=cases).model_dump(mode="json")
            places |= places_of_options(tree, shown)
            behaves = behaviour.of_module(tree, _text_of(file.data, shown))
            written = Written(shown_path(file.folder), places, behaves, is_shipped(file.folder))
        info = self._python_info(function, declared, place, cases, written)
        rule = python_rule(info, options_of(declared, written.places, place), function)
        if isinstance(rule, Extractor) and self._remembered is None:
            for number, pattern in enumerate(rule.patterns):
                self.problems += refused_patterns([pattern], info.at("extract", "pattern", number))
        self.rules.append(rule)

    def _python_info(
        self, function: Any, declared: Declared, place: Place, cases: tuple[CaseModel, ...], written: Written
    ) -> RuleInfo:
        told = manual(function.__doc__ or "")
        for heading in HEADINGS:
            if not told.get(heading):
                self.problems.append(Problem(place, "R016", f"has a docstring without `{heading}:`", "add the heading"))
        if not told.get(""):
            remedy = "begin it with what was found, in one sentence"
            self.problems.append(Problem(place, "R016", "has a docstring without a first paragraph", remedy))
        for option in ("id", "name", "since", "status"):
            value = getattr(declared, option)
            if not isinstance(value, str):
                where = written.places.get((option,), place)
                raise ConfigurationError([refused_option(option, value, "a text", where)])
        if not _ID.fullmatch(declared.id):
            self.problems.append(
                Problem(place, "R016", f"has the id `{declared.id}`", "family and number, such as PYX001")
            )
        if not _NAME.fullmatch(declared.name):
            where = written.places.get(("name",), place)
            self.problems.append(
                Problem(where, "R033", f"has the name `{declared.name}`", "what was found, in kebab-case")
            )
        if declared.status not in STATUSES:
            where = written.places.get(("status",), place)
            remedy = nearest(declared.status, STATUSES) or f"one of: {', '.join(STATUSES)}"
            self.problems.append(Problem(where, "R033", f"has the status `{declared.status}`", remedy))
        return RuleInfo(
            id=declared.id,
            name=declared.name,
            kind=declared.kind,
            status=declared.status,
            since=declared.since,
            summary=told.get("", ""),
            why=told.get("Why", ""),
            misses=told.get("Misses", ""),
            next_step=told.get("Next step", ""),
            place=place,
            printed_by=declared.options.get("printed_by"),  # checked with the other options
            cases=cases,
            written=written,
        )

    def catalog(self, version: str, digest: str) -> Catalog:
        def of(kind: type[Any]) -> tuple[Any, ...]:
            return tuple(sorted((r for r in self.rules if isinstance(r, kind)), key=lambda r: r.info.id))

        return Catalog(
            version=version,
            digest=digest,
            symptoms=dict(sorted(self.symptoms.items())),
            extractors=of(Extractor),
            metrics=of(MetricExtractor),
            relations=of(Relation),
            filters=of(Filter),
            refiners=of(Refiner),
            retired=dict(sorted(self.retired.items())),
            retired_at=self.retired_at,
            tag_meanings=dict(sorted(self.tags.items())),
            symptom_places=self.places,
        )


def _is_plain_function(value: object) -> bool:
    is_async = inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value)
    return inspect.isfunction(value) and not is_async


def _no_kind(document: documents.Document, kind: object) -> Problem:
    if document.value is None:
        return Problem(Place(document.file), "R018", "is empty", "write a rule into it, or remove it")
    if not isinstance(document.value, dict):
        return Problem(document.place(()), "R018", "is no rule, but a list or a text", "write `key: value` lines")
    known = f"kinds: {', '.join(sorted(KINDS))}"
    return Problem(document.place(("kind",)), "R018", f"is no rule of a known kind (`{kind}`)", known)


def _bytes_of(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # a folder, or a pipe, which would be waited for
        raise _unreadable(path, "it is no file")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        problem = Problem(Place(shown_path(path)), "R001", "is larger than 1 MiB", "a rule file holds one rule")
        raise ConfigurationError([problem])
    return data


def _unreadable(path: Path, reason: str) -> ConfigurationError:
    problem = Problem(Place(shown_path(path)), "R001", f"cannot be read: {reason}", "put it right, or move it away")
    return ConfigurationError([problem])


def _text_of(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem(Place(shown), "R001", "is not UTF-8 text", "save it as UTF-8")
        raise ConfigurationError([problem]) from error


def shown_path(path: Path) -> str:
    """A path as errors show it: relative to the working folder if it lies below it, and text whatever its bytes."""
    text, here = path.as_posix(), Path.cwd().as_posix() + "/"
    return os.fsencode(text.removeprefix(here)).decode("utf-8", "backslashreplace")
