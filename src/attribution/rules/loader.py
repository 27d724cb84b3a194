"""Loads rule folders into a Catalog, or reports every error in them at once.

Codes: R001 file cannot be read or imported, R002 id or name used twice, R003 unknown symptom, R004 pattern refused,
R005 literal not implied by the pattern, R006 unknown group, R007 a polarity of cases is missing, R008 negative case
without `because`, R009 negative case that is no near miss, R010 module without exactly one rule, R011 retired id,
R012 symptom defined twice, R013 import not allowed, R014 relations form a cycle, R015 unknown tag, R016 docstring
lacks a heading, R017 case is not in the notation, R018 file is of no known form.
"""

import ast
import contextlib
import difflib
import hashlib
import importlib
import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import re2

import attribution
from attribution.contracts import documents
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.contracts.vocabulary import Role
from attribution.events.event import Device
from attribution.events.moment import SECOND
from attribution.events.symptom import SymptomType
from attribution.rules import literals as proof
from attribution.rules import notation
from attribution.rules.api import Declared, Finding, Match, PrintedBy
from attribution.rules.cache import Cache, no_cache
from attribution.rules.model import (
    Catalog,
    Extractor,
    Filter,
    MetricExtractor,
    Refiner,
    Relation,
    Rule,
    RuleInfo,
    emitted_by,
)
from attribution.rules.schema import (
    KINDS,
    CaseModel,
    CasesModel,
    Emit,
    ExtractorFile,
    MetricFile,
    RelationFile,
    RetiredFile,
    RuleBase,
    SymptomModel,
    SymptomsFile,
)

MAX_PATTERN_MEMORY = 8 << 20
"""Bytes that one compiled pattern may take; RE2 falls back to a slow path below what it needs."""

_ALLOWED_IMPORTS = (
    "attribution.rules.api",
    "attribution.contracts.vocabulary",
    "attribution.contracts.context",
    "attribution.events",
    "attribution.extraction.decoders",
    "attribution.bundle.evidence",
    "attribution.catalog",
    "bisect",
    "collections",
    "datetime",
    "dataclasses",
    "functools",
    "itertools",
    "math",
    "operator",
    "re",
    "string",
    "typing",
)
_HEADINGS = ("Why", "Misses", "Next step")
_ID = re.compile(r"^[A-Z][A-Z0-9]{1,7}\d{3}$")


def compile_pattern(pattern: str) -> Any:
    """A linear-time pattern. Raises re2.error for what RE2 cannot do (look-around, back-references)."""
    options = re2.Options()
    options.max_mem = MAX_PATTERN_MEMORY
    options.log_errors = False
    return re2.compile(pattern, options=options)


def load_catalog(folders: Sequence[Path], version: str = attribution.__version__, cache: Cache = no_cache) -> Catalog:
    """Load every rule below `folders`, in sorted order. Raises ConfigurationError with every error of every file.

    `cache` keeps what the files of a faultless catalog say, so that the next load of the same files neither parses nor
    checks them again.
    """
    files = [file for folder in folders for file in _files_of(folder)]
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.data + b"\0")
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
    def is_rule(self) -> bool:
        return "tables" not in Path(self.name).parts and self.path.name != "__init__.py"


def _files_of(folder: Path) -> Iterator[_File]:
    for path in sorted(p for p in folder.rglob("*") if p.suffix in {".yaml", ".py"} and p.is_file()):
        name = path.relative_to(folder).as_posix()
        if "__pycache__" not in name:
            yield _File(folder, path, name, _bytes_of(path))


class _Loading:
    """The state of one load: what was found so far, and what is wrong with it."""

    def __init__(self, remembered: Mapping[str, Any] | None = None) -> None:
        self.problems: list[Problem] = []
        self.rules: list[Rule] = []
        self.symptoms: dict[str, SymptomType] = {}
        self.retired: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        self._remembered = remembered

    def load(self, files: Iterable[_File]) -> None:
        for file in files:
            if not file.is_rule:
                continue
            try:
                self._yaml(file) if file.path.suffix == ".yaml" else self._python(file)
            except ConfigurationError as error:
                self.problems.extend(error.problems)

    def _document(self, file: _File) -> documents.Document:
        shown = shown_path(file.path)
        if self._remembered is not None:
            return documents.Document(shown, self._remembered[str(file.path)], {})
        document = documents.parse(_text_of(file.data, shown), shown)
        self.values[str(file.path)] = document.value
        return document

    def _yaml(self, file: _File) -> None:
        document = self._document(file)
        value = document.value
        if isinstance(value, dict) and "symptoms" in value:
            registry = documents.build(document, value, (), SymptomsFile)
            self.tags.update(registry.tags)
            for name, model in registry.symptoms.items():
                self._symptom(name, model, document.place(("symptoms", name)))
            return
        if isinstance(value, dict) and "retired" in value:
            self.retired.update(documents.build(document, value, (), RetiredFile).retired)
            return
        kind = value.get("kind", "extractor") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            known = ", ".join(sorted(KINDS))
            problem = Problem(
                document.place(("kind",)), "R018", f"is no rule of a known kind (`{kind}`)", f"kinds: {known}"
            )
            raise ConfigurationError([problem])
        self._rule_file(documents.build(document, value, (), KINDS[kind]), document)

    def _rule_file(self, file: ExtractorFile | MetricFile | RelationFile, document: documents.Document) -> None:
        info = _info(file, document.place(("id",)))
        if isinstance(file, RelationFile):
            self.rules.append(_relation(info, file))
            return
        if file.symptom is not None:
            self._symptom(file.emit.symptom, file.symptom, document.place(("symptom",)))
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
        self.rules.append(_extractor(info, file))

    def _symptom(self, name: str, model: SymptomModel, place: Place) -> None:
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
            ),
            place,
        )

    def _register(self, symptom: SymptomType, place: Place) -> None:
        if symptom.name in self.symptoms:
            self.problems.append(
                Problem(place, "R012", f"defines the symptom `{symptom.name}` again", "define it once")
            )
        self.symptoms[symptom.name] = symptom

    def _groups(self, patterns: Sequence[str], follow: str | None, document: documents.Document) -> set[str] | None:
        """The groups of all patterns, or None if one of them is refused."""
        groups: set[str] = set()
        refused: list[Problem] = []
        for index, pattern in enumerate([*patterns, *([follow] if follow else [])]):
            where = ("extract", "pattern", index) if index < len(patterns) else ("extract", "follow", "pattern")
            wrong = list(_refused_patterns([pattern], document.place(where)))
            if not wrong:
                groups |= set(compile_pattern(pattern).groupindex)
            refused += wrong
        self.problems += refused
        return None if refused else groups

    def _check_groups(self, emit: Emit, groups: set[str], document: documents.Document) -> None:
        used: list[tuple[documents.Path, str]] = [(("emit", "keep", i), g) for i, g in enumerate(emit.keep)]
        used += [(("emit", "key", i), g) for i, g in enumerate(emit.key)]
        used += [(("emit", "node"), emit.node)] if emit.node else []
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
        cases_line = self._check_source(file, shown) if self._remembered is None else 0
        try:
            module = _import(file.path)
        except (Exception, SystemExit) as error:
            raise ConfigurationError([Problem(Place(shown), "R001", f"cannot be imported: {error!r}")]) from error
        for symptom in getattr(module, "SYMPTOMS", ()):
            self._register(symptom, Place(shown))
        self._declared(file, module, shown, cases_line)

    def _check_source(self, file: _File, shown: str) -> int:
        """Refuse what a rule may not do before it is imported; answers the line where its cases begin."""
        try:
            tree = ast.parse(_text_of(file.data, shown))
        except SyntaxError as error:
            place = Place(shown, error.lineno or 0, error.offset or 0)
            raise ConfigurationError([Problem(place, "R001", f"is not valid Python: {error.msg}")]) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise ConfigurationError([Problem(Place(shown), "R001", f"is not valid Python: {error}")]) from error
        refused = [
            Problem(Place(shown, line, 1), "R013", f"imports `{name}`", "rules are pure: import attribution.rules.api")
            for line, name in _imports(tree)
            if not any(name == allowed or name.startswith(allowed + ".") for allowed in _ALLOWED_IMPORTS)
        ]
        if refused:
            raise ConfigurationError(refused)
        return _first_line_of_cases(tree)

    def _declared(self, file: _File, module: ModuleType, shown: str, cases_line: int) -> None:
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
        place = Place(shown, function.__code__.co_firstlineno, 1)
        if self._remembered is not None:
            cases = CasesModel.model_validate(self._remembered[str(file.path)]).cases
        else:
            cases = _python_cases(getattr(module, "CASES", "[]"), shown, cases_line)
            self.values[str(file.path)] = CasesModel(cases=cases).model_dump(mode="json")
        info = self._python_info(function, declared, place, cases)
        rule = _python_rule(info, declared, function)
        if isinstance(rule, Extractor) and self._remembered is None:
            self.problems += _refused_patterns(rule.patterns, place)
        self.rules.append(rule)

    def _python_info(self, function: Any, declared: Declared, place: Place, cases: tuple[CaseModel, ...]) -> RuleInfo:
        manual = _manual(function.__doc__ or "")
        for heading in _HEADINGS:
            if not manual.get(heading):
                self.problems.append(Problem(place, "R016", f"has a docstring without `{heading}:`", "add the heading"))
        if not _ID.match(declared.id):
            self.problems.append(
                Problem(place, "R016", f"has the id `{declared.id}`", "family and number, such as PYX001")
            )
        return RuleInfo(
            id=declared.id,
            name=declared.name,
            kind=declared.kind,
            status=declared.status,
            since=declared.since,
            summary=manual.get("", ""),
            why=manual.get("Why", ""),
            misses=manual.get("Misses", ""),
            next_step=manual.get("Next step", ""),
            place=place,
            printed_by=declared.options.get("printed_by"),
            cases=cases,
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
            tag_meanings=dict(sorted(self.tags.items())),
        )


# --- the forms of a rule ------------------------------------------------------------------------------------------


def _info(file: RuleBase, place: Place) -> RuleInfo:
    printed = getattr(file, "printed_by", None)
    return RuleInfo(
        id=file.id,
        name=file.name,
        kind=getattr(file, "kind", "extractor"),
        status=file.status,
        since=file.since,
        summary=_flat(file.summary),
        why=_flat(file.why),
        misses=_flat(file.misses),
        next_step=_flat(file.next_step),
        place=place,
        printed_by=PrintedBy(printed.program, printed.versions, printed.source) if printed else None,
        cases=file.cases,
    )


def _extractor(info: RuleInfo, file: ExtractorFile) -> Extractor:
    follow = file.extract.follow
    return Extractor(
        info=info,
        sources=file.extract.sources,
        literals=file.extract.literals,
        patterns=file.extract.pattern,
        emits=(file.emit.symptom,),
        find=finder(file.emit),
        follow_lines=follow.lines if follow else 0,
        follow_pattern=follow.pattern if follow else None,
        traceback=file.extract.traceback,
        generic=file.generic,
    )


def finder(emit: Emit) -> Callable[[Match], Iterable[Finding]]:
    """The function that a declarative `emit` stands for."""

    def find(match: Match) -> Iterable[Finding]:
        groups = match.groups
        fields = {**{name: groups.get(name) for name in emit.keep}, **emit.set}
        device = None
        if emit.device:
            device = Device.of(emit.device.kind, **{name: groups.get(group) for name, group in emit.device.ids.items()})
        rank = groups.get(emit.rank) if emit.rank else None
        yield Finding(
            symptom=emit.symptom,
            fields=fields,
            device=device if device and device.ids else None,
            node=groups.get(emit.node) if emit.node else None,
            rank=int(rank) if rank and rank.isdecimal() and len(rank) < 9 else None,
            discriminator="|".join(groups.get(name) or "" for name in emit.key),
        )

    return find


def _relation(info: RuleInfo, file: RelationFile) -> Relation:
    relation = file.relation
    within = None if relation.within_secs is None else round(relation.within_secs * SECOND)
    return Relation(
        info, relation.causes, relation.effects, relation.scope, relation.order, within, _flat(relation.reason)
    )


def _python_rule(info: RuleInfo, declared: Declared, function: Any) -> Rule:
    options = dict(declared.options)
    if declared.kind == "extractor":
        pattern = options["pattern"]
        return Extractor(
            info=info,
            sources=options["sources"],
            literals=options["literals"],
            patterns=(pattern,) if isinstance(pattern, str) else tuple(pattern),
            emits=options["emits"],
            find=function,
            follow_lines=options["follow_lines"],
            traceback=options["traceback"],
            generic=options["generic"],
        )
    if declared.kind == "filter":
        return Filter(info, options["stage"], options["needs"], options["emits"], function)
    return Refiner(info, options["stage"], options["needs"], options["priority"], function)


# --- what must hold of the whole ----------------------------------------------------------------------------------


def check_catalog(catalog: Catalog) -> Iterator[Problem]:
    """Everything that is wrong with a set of rules that were read without error."""
    yield from _names_are_unique(catalog)
    for rule in catalog.rules:
        yield from _symptoms_exist(catalog, rule)
        yield from _cases_are_whole(rule)
        if isinstance(rule, Extractor):
            yield from _patterns_are_gated(rule)
    yield from _relations_have_no_cycle(catalog)


def _names_are_unique(catalog: Catalog) -> Iterator[Problem]:
    seen: dict[str, RuleInfo] = {}
    for rule in catalog.rules:
        if rule.info.id in catalog.retired:
            yield Problem(rule.info.place, "R011", f"uses the retired id `{rule.info.id}`", "take the next free number")
        for label in (rule.info.id, rule.info.name):
            if label in seen:
                yield Problem(rule.info.place, "R002", f"is called `{label}`, as is {seen[label].place}", "rename one")
            seen[label] = rule.info


def _symptoms_exist(catalog: Catalog, rule: Rule) -> Iterator[Problem]:
    names: Iterable[str] = emitted_by(rule)
    if isinstance(rule, Relation):
        names = [*rule.causes, *rule.effects]
    elif isinstance(rule, Filter | Refiner):
        names = [*names, *rule.needs]
    for symptom in (catalog.symptoms[name] for name in emitted_by(rule) if name in catalog.symptoms):
        for tag in symptom.tags:
            if tag not in catalog.tag_meanings:
                remedy = nearest(tag, catalog.tag_meanings) or "declare it under `tags:` of a symptoms file"
                yield Problem(rule.info.place, "R015", f"emits `{symptom.name}` with the unknown tag `{tag}`", remedy)
    for name in names:
        if name.startswith("tag:"):
            if name[4:] not in catalog.tag_meanings:
                remedy = nearest(name[4:], catalog.tag_meanings) or "declare it under `tags:` of a symptoms file"
                yield Problem(rule.info.place, "R015", f"names the unknown tag `{name[4:]}`", remedy)
        elif name not in catalog.symptoms:
            remedy = nearest(name, catalog.symptoms) or "define it under `symptom:` or in the registry"
            yield Problem(rule.info.place, "R003", f"names the unknown symptom `{name}`", remedy)


def _cases_are_whole(rule: Rule) -> Iterator[Problem]:
    cases = rule.info.cases
    for negative, word in ((False, "a case that fires"), (True, "a case with `expect: none`")):
        if not any(case.negative is negative for case in cases):
            yield Problem(rule.info.place, "R007", f"lacks {word}", "add one")
    for case in cases:
        try:
            given = notation.parse_given(case.given)
            _parse_expect(rule, case)
        except notation.NotationError as error:
            yield Problem(rule.info.place, "R017", f"has a case `{case.name}` whose {error}")
            continue
        if case.negative and not case.because:
            yield Problem(rule.info.place, "R008", f"has a negative case `{case.name}` without `because`", "say why")
        if case.negative and isinstance(rule, Extractor) and not _near_miss(rule, given):
            remedy = "let it hold one of the rule's literals"
            yield Problem(
                rule.info.place, "R009", f"has a negative case `{case.name}` that any line would pass", remedy
            )


def _parse_expect(rule: Rule, case: CaseModel) -> None:
    if isinstance(rule, Extractor | MetricExtractor):
        notation.parse_facts(case.expect)
    elif isinstance(rule, Filter):
        notation.parse_event_decisions(case.expect)
    else:
        notation.parse_decisions(case.expect)


def _near_miss(rule: Extractor, given: Sequence[notation.RawLine | notation.Fact]) -> bool:
    texts = [line.text.lower() for line in given if isinstance(line, notation.RawLine)]
    return any(literal.lower() in text for literal in rule.literals for text in texts)


def _patterns_are_gated(rule: Extractor) -> Iterator[Problem]:
    for pattern in rule.patterns:
        if next(_refused_patterns([pattern], rule.info.place), None):
            continue  # told where it was read
        try:
            implied = proof.implies(pattern, rule.literals)
        except (re.error, OverflowError, RecursionError) as error:
            yield Problem(rule.info.place, "R004", f"has the pattern `{pattern}`, which cannot be read: {error}")
        else:
            if not implied:
                message = f"has literals that the pattern `{pattern}` does not imply"
                yield Problem(rule.info.place, "R005", message, "every match must contain one of them")


def _relations_have_no_cycle(catalog: Catalog) -> Iterator[Problem]:
    """Symptoms that explain each other are an error unless a proven order breaks the circle."""
    edges: dict[str, set[str]] = {}
    by_edge: dict[tuple[str, str], Relation] = {}
    for relation in catalog.relations:
        if relation.order == "earlier":
            continue
        for cause in _expand(relation.causes, catalog):
            for effect in _expand(relation.effects, catalog):
                if cause != effect:
                    edges.setdefault(cause, set()).add(effect)
                    by_edge[cause, effect] = relation
    for circle in _circles(edges):
        pairs = list(zip(circle, (*circle[1:], circle[0]), strict=True))
        first, *others = (by_edge[pair].info for pair in pairs)
        if len(circle) == 2:
            message = f"says `{circle[0]}` explains `{circle[1]}`, and {others[0].id} says the contrary"
        else:
            ways = ", ".join(f"`{a}` explains `{b}` ({by_edge[a, b].info.id})" for a, b in pairs)
            message = f"closes a circle: {ways}"
        yield Problem(first.place, "R014", message, "give one of them `order: earlier`")


def _circles(edges: Mapping[str, set[str]]) -> Iterator[tuple[str, ...]]:
    """The shortest circle through each symptom that is in one; each circle once, from its first name on."""
    inner = {cause: set(effects) for cause, effects in edges.items()}
    size = -1
    while size != len(inner):  # what nothing explains, or what explains nothing, is in no circle
        size = len(inner)
        explained = {effect for effects in inner.values() for effect in effects}
        inner = {cause: effects & inner.keys() for cause, effects in inner.items() if cause in explained}
        inner = {cause: effects for cause, effects in inner.items() if effects}
    told: set[frozenset[str]] = set()
    for start in sorted(inner):
        ways: list[tuple[str, ...]] = [(start,)]
        reached = {start}
        for way in ways:
            further = sorted(inner.get(way[-1], ()))
            if start in further:
                if frozenset(way) not in told:
                    told.add(frozenset(way))
                    yield way
                break
            ways += [(*way, effect) for effect in further if effect not in reached]
            reached.update(further)


def _expand(names: Iterable[str], catalog: Catalog) -> list[str]:
    return [n for name in names for n in (catalog.tags.get(name[4:], ()) if name.startswith("tag:") else (name,))]


# --- small help ---------------------------------------------------------------------------------------------------


def nearest(word: str, known: Iterable[str]) -> str:
    """A remedy that names the known word most like `word`, or nothing."""
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else ""


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise ConfigurationError([Problem(Place(shown_path(path)), "R001", message)]) from error


def _text_of(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem(Place(shown), "R001", "is not UTF-8 text", "save it as UTF-8")
        raise ConfigurationError([problem]) from error


def shown_path(path: Path) -> str:
    """A path as errors show it: relative to the working folder where it lies below it."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def _refused_patterns(patterns: Iterable[str], place: Place) -> Iterator[Problem]:
    for pattern in patterns:
        try:
            compile_pattern(pattern)
        except re2.error as error:
            yield _refused(place, error)


def _refused(place: Place, error: Exception) -> Problem:
    text = str(error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error)
    remedy = "patterns run in linear time: no look-around, no back-references"
    return Problem(place, "R004", f"has a pattern that is refused: {text}", remedy)


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "."


def _import(path: Path) -> ModuleType:
    package = Path(attribution.__file__).parent
    if path.is_relative_to(package):
        dotted = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        return importlib.import_module(dotted)
    name = "attribution_rules_" + hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest()
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no loader for {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _manual(docstring: str) -> Mapping[str, str]:
    """The parts of a rule's docstring: the first paragraph under "", then each heading's text."""
    parts: dict[str, list[str]] = {"": []}
    current = ""
    for line in inspect.cleandoc(docstring).splitlines():
        heading, colon, rest = line.partition(":")
        if colon and heading in _HEADINGS:
            current, line = heading, rest
        parts.setdefault(current, []).append(line.strip())
    return {heading: " ".join(" ".join(lines).split()) for heading, lines in parts.items()}


def _first_line_of_cases(tree: ast.Module) -> int:
    """The line of a module on which the text of its `CASES` begins; 0 if it is not a plain string."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "CASES" for t in node.targets):
            return node.value.lineno if isinstance(node.value, ast.Constant) else 0
    return 0


def _python_cases(text: str, shown: str, first_line: int) -> tuple[CaseModel, ...]:
    """The cases of a Python rule; their problems stand where they do in the module."""
    try:
        return documents.load("cases:\n" + _indent(text), shown, CasesModel).cases
    except ConfigurationError as error:
        if not first_line:
            raise
        # one line of its own and two blanks stand before the text, blank lines at its start are gone
        down = first_line + len(text) - len(text.lstrip("\n")) - 2
        raise ConfigurationError([_moved(problem, down, -2) for problem in error.problems]) from error


def _moved(problem: Problem, lines: int, columns: int) -> Problem:
    place = problem.place
    if place.line < 2:
        return problem
    return replace(problem, place=Place(place.file, place.line + lines, max(1, place.column + columns)))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _indent(text: str) -> str:
    return "\n".join("  " + line for line in text.strip("\n").splitlines())


def symptom_roles(catalog: Catalog, role: Role) -> tuple[str, ...]:
    """The names of all symptoms of a role, sorted."""
    return tuple(name for name, symptom in catalog.symptoms.items() if symptom.role is role)
