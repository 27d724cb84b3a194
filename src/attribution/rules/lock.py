"""A lock file says what each rule of a folder did when somebody last meant it to; a change of that is deliberate.

A rule's behaviour is what `behaviour` digests: patterns, conditions, code, tables and emitted symptoms, no wording and
no cases. A new behaviour is a new revision of the rule. The shipped folder has a lock file; an operator's may.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from attribution.contracts import documents
from attribution.contracts.base import Strict
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.rules.behaviour import behaviour
from attribution.rules.loader import LOCK_NAME, shown_path
from attribution.rules.model import Catalog, Rule
from attribution.rules.schema import RuleId, RuleName


class Locked(Strict):
    """One rule as it was locked."""

    name: RuleName
    revision: int = Field(ge=1)
    behaviour: str


class LockFile(Strict):
    """The rules of a folder by id."""

    rules: dict[RuleId, Locked]


def stale(catalog: Catalog, folder: Path) -> Iterator[Problem]:
    """Where the rules of a folder differ from its lock file (R030, R031); nothing if it has none.

    The catalog comes from a fresh load. Raises ConfigurationError for a lock file that cannot be read.
    """
    document = _document(folder)
    if document is None:
        return
    lock = documents.build(document, document.value, (), LockFile)
    remedy = f"if this is meant, run: attribution rules lock {shown_path(folder)}"
    present = _rules_of(catalog, folder)
    for id, rule in present.items():
        now, before = _locked(catalog, rule, 1), lock.rules.get(id)
        if before is None:
            yield Problem(rule.info.at("id"), "R030", f"has the rule {id}, which its lock file does not know", remedy)
        elif now.behaviour != before.behaviour:
            message = f"has the rule {id}, which does something else than revision {before.revision} of its lock file"
            yield Problem(rule.info.at("id"), "R030", message, remedy)
        elif now.name != before.name:
            message = f"has the rule {id}, which its lock file calls `{before.name}`"
            yield Problem(rule.info.at("name"), "R030", message, remedy)
    for id in sorted(lock.rules.keys() - present.keys() - catalog.retired.keys()):
        message = f"has the rule {id} (`{lock.rules[id].name}`), which is gone"
        remedy_gone = "name it under `retired:` with the reason, or bring it back"
        yield Problem(document.place(("rules", id)), "R031", message, remedy_gone)


def renewed(catalog: Catalog, folder: Path) -> tuple[str, tuple[str, ...]]:
    """The text of the folder's lock file as it should be, and one line for each rule that changed.

    A rule that does something else gets the next revision. Raises ConfigurationError for a lock file that cannot be
    read, and for a rule that is gone without being retired.
    """
    document = _document(folder)
    old = documents.build(document, document.value, (), LockFile).rules if document else {}
    gone = [problem for problem in stale(catalog, folder) if problem.code == "R031"]
    if gone:
        raise ConfigurationError(gone)
    new: dict[str, Locked] = {}
    changes: list[str] = []
    for id, rule in _rules_of(catalog, folder).items():
        before = old.get(id)
        new[id] = _locked(catalog, rule, before.revision if before else 1)
        if before is None:
            changes.append(f"{id} {new[id].name}: new, revision 1")
        elif before.behaviour != new[id].behaviour:
            new[id] = _locked(catalog, rule, before.revision + 1)
            changes.append(f"{id} {new[id].name}: revision {before.revision + 1}")
        elif before.name != new[id].name:
            changes.append(f"{id} {new[id].name}: was called {before.name}")
    changes += [f"{id} {old[id].name}: retired" for id in sorted(old.keys() - new.keys())]
    return _text(new), tuple(changes)


def _document(folder: Path) -> documents.Document | None:
    path = folder / LOCK_NAME
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):  # a single rule file has none
        return None
    except UnicodeDecodeError as error:
        remedy = "take it from the last release, or remove it and lock anew"
        raise ConfigurationError([Problem(Place(shown_path(path)), "R001", "is not UTF-8 text", remedy)]) from error
    except OSError as error:
        message, remedy = f"cannot be read: {error.strerror or error}", "it is the lock file: check its permissions"
        raise ConfigurationError([Problem(Place(shown_path(path)), "R001", message, remedy)]) from error
    return documents.parse(text, shown_path(path))


def _rules_of(catalog: Catalog, folder: Path) -> dict[str, Rule]:
    """Compared by place: a folder may be called by several paths."""
    place, places = folder.resolve(), {name: Path(name).resolve() for name in _folders_of(catalog)}
    return {rule.info.id: rule for rule in catalog.rules if places[rule.info.written.folder] == place}


def _folders_of(catalog: Catalog) -> set[str]:
    return {rule.info.written.folder for rule in catalog.rules}


def _locked(catalog: Catalog, rule: Rule, revision: int) -> Locked:
    return Locked(name=rule.info.name, revision=revision, behaviour=behaviour(catalog, rule))


def _text(rules: dict[str, Locked]) -> str:
    """One rule a line, so that two people who change two rules do not meet."""
    rows = [f"    {json.dumps(id)}: {json.dumps(rules[id].model_dump())}" for id in sorted(rules)]
    return '{\n  "rules": {\n' + ",\n".join(rows) + "\n  }\n}\n"
