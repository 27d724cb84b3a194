"""A Python rule is read before it is imported: rules are pure, so they may import little."""

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import attribution
from attribution.contracts import documents
from attribution.contracts.errors import ConfigurationError, Place
from attribution.rules.schema import CaseModel, CasesModel

PACKAGE = Path(attribution.__file__).parent
"""The folder of the product, whose catalog holds the shipped rules."""

ALLOWED_IMPORTS = (
    "attribution.bundle.evidence",
    "attribution.catalog",
    "attribution.contracts.context",
    "attribution.contracts.vocabulary",
    "attribution.events",
    "attribution.extraction.decoders",
    "attribution.rules.api",
    "bisect",
    "collections",
    "dataclasses",
    "datetime",
    "functools",
    "itertools",
    "math",
    "operator",
    "re",
    "string",
    "typing",
)
"""Packages and modules that a rule may import."""


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "."


_IMPURE = frozenset(
    {"open", "eval", "exec", "compile", "print", "input", "breakpoint"}
    | {"globals", "locals", "vars", "getattr", "setattr", "delattr"}
)
"""Built-in functions that a pure rule has no use for: they reach files, the terminal, or names that are not written."""


def impurities(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Uses of what a pure function does not need, each with its line. A lint: who wants to can get around it."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("_"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in _IMPURE or node.id.startswith("__"):
                yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            of_module = isinstance(node.value, ast.Name) and node.value.id in imported
            if node.attr.startswith("__" if not of_module else "_"):
                yield node.lineno, node.attr


def import_module(path: Path) -> ModuleType:
    if path.is_relative_to(PACKAGE):
        dotted = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        return importlib.import_module(dotted)
    name = "attribution_rules_" + hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no loader for {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def first_line_of_cases(tree: ast.Module) -> int:
    """The line of a module on which the text of its `CASES` begins; 0 if it is not a plain string."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "CASES" for t in node.targets):
            return node.value.lineno if isinstance(node.value, ast.Constant) else 0
    return 0


def python_cases(text: str, shown: str, first_line: int) -> tuple[tuple[CaseModel, ...], dict[documents.Path, Place]]:
    """The cases of a Python rule and where their parts stand; their problems stand where they do in the module."""
    # one line of its own and two blanks stand before the text, blank lines at its start are gone
    down = first_line + len(text) - len(text.lstrip("\n")) - 2
    try:
        document = documents.parse("cases:\n" + _indent(text), shown)
        cases = documents.build(document, document.value, (), CasesModel).cases
    except ConfigurationError as error:
        if not first_line:
            raise
        moved = [replace(problem, place=_moved(problem.place, down, -2)) for problem in error.problems]
        raise ConfigurationError(moved) from error
    if not first_line:
        return cases, {}
    return cases, {path: _moved(place, down, -2) for path, place in document.places.items() if len(path) > 1}


def places_of_options(tree: ast.Module, shown: str) -> dict[documents.Path, Place]:
    """Where the options of the decorator of a Python rule stand, under the names of their likes in a YAML rule."""
    found: dict[documents.Path, Place] = {}
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        for decorator in (node for node in function.decorator_list if isinstance(node, ast.Call)):
            for keyword in decorator.keywords:
                path = ("extract", keyword.arg) if keyword.arg in _OF_EXTRACT else (keyword.arg or "",)
                value = keyword.value
                found[path] = Place(shown, value.lineno, value.col_offset + 1)
                items = value.elts if isinstance(value, ast.List | ast.Tuple) else ()
                for number, item in enumerate(items):
                    found[*path, number] = Place(shown, item.lineno, item.col_offset + 1)
    return found


_OF_EXTRACT = ("literals", "pattern")


def _moved(place: Place, lines: int, columns: int) -> Place:
    return place if place.line < 2 else Place(place.file, place.line + lines, max(1, place.column + columns))


def _indent(text: str) -> str:
    return "\n".join("  " + line for line in text.strip("\n").splitlines())
