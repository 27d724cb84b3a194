"""A digest names what a rule does: it changes with its patterns, conditions and code, not with its wording or cases."""

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import attribution
from attribution.rules.model import Catalog, Rule, emitted_by
from attribution.rules.schema import ExtractorFile, MetricFile, RelationFile

_PACKAGE = Path(attribution.__file__).parent
_CONTENT = "attribution.catalog."


def of_file(file: ExtractorFile | MetricFile | RelationFile) -> str:
    """The digest of a YAML rule."""
    told = file.model_dump(
        mode="json",
        by_alias=True,
        exclude_defaults=True,
        include={"extract", "emit", "generic", "relation"},
        exclude={"relation": {"reason"}} if isinstance(file, RelationFile) else None,
    )
    return _digest([json.dumps(told, sort_keys=True)])


def of_module(tree: ast.Module, text: str) -> str:
    """The digest of a Python rule: its code without docstrings, cases and comments, and the tables it reads."""
    return _digest([*_code(tree, text), *_tables(tree)])


def behaviour(catalog: Catalog, rule: Rule) -> str:
    """The digest of a rule with the symptoms it emits, as far as they decide the answer. Of a fresh load only."""
    symptoms = [catalog.symptoms[name] for name in sorted(emitted_by(rule)) if name in catalog.symptoms]
    parts = [
        [s.name, s.role, s.sub_domain, s.actions, sorted(s.tags), s.ends_job, s.terminal_state, s.node_scoped, s.device]
        + ([sorted(s.recovers)] if s.recovers else [])
        for s in symptoms
    ]
    return _digest([rule.info.written.behaviour, json.dumps(parts)])


def _code(tree: ast.Module, text: str) -> Iterator[str]:
    """The lines of a module that do something."""
    idle = {number for first, last in _idle(tree) for number in range(first, last + 1)}
    for number, line in enumerate(text.splitlines(), 1):
        if number not in idle and line.strip() and not line.lstrip().startswith("#"):
            yield line.rstrip()


def _idle(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The first and last lines of docstrings and of the cases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            yield node.body[0].lineno, node.body[0].end_lineno or 0
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "CASES" for t in node.targets):
            yield node.lineno, node.end_lineno or 0


def _tables(tree: ast.Module) -> Iterator[str]:
    """The content of the modules and packages of the catalog that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(_CONTENT):
            path = _PACKAGE.parent / node.module.replace(".", "/")
            files = [*path.glob("*.py"), *path.glob("*.json")] if path.is_dir() else [path.with_suffix(".py")]
            for file in sorted(files):
                yield file.name
                yield file.read_text("utf-8")


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
