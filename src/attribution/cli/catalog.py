"""Loads the shipped rules, and operators' own folders beside them, with a cache of compiled gates."""

import argparse
import contextlib
import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from attribution.configuration.keys import listed
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.diagnosis.verify import verify
from attribution.extraction.ruleset import RuleSets
from attribution.rules.cache import no_cache
from attribution.rules.loader import is_like_yaml, is_rule_file, load_catalog

SHIPPED = Path(__file__).resolve().parent.parent / "catalog"
"""The folder of the rules that come with the product."""

MAX_CACHED = 64
"""Entries kept; the oldest go first."""


RULES_VARIABLE = "ATTRIBUTION_RULES"
"""The environment variable that names folders of an operator's own rules, parted by commas as all lists are."""


def add_rules_flag(parser: argparse.ArgumentParser) -> None:
    """The flag that names an operator's own rules."""
    text = f"a folder of your own rules, or one rule file; may be repeated (also: ${RULES_VARIABLE})"
    parser.add_argument("--rules", type=Path, action="append", default=[], metavar="DIR", help=text)


def load_rules(folders: Sequence[Path] = (), *, fresh: bool = False, environment: bool = True) -> RuleSets:
    """The shipped catalog with the rules of `$ATTRIBUTION_RULES` and of `folders`; each is a folder or one file.

    Without `environment` the variable is not asked, since settings in layers have asked it already. A `fresh` load
    parses every file anew, so that each part of a rule is known by its place. Raises ConfigurationError with all that
    is wrong.
    """
    return load_folders([SHIPPED, *own_folders(folders, environment=environment)], fresh=fresh)


def own_folders(folders: Sequence[Path] = (), *, environment: bool = True) -> tuple[Path, ...]:
    """The folders of `$ATTRIBUTION_RULES`, then those given, without what lies in another one or in the shipped rules.

    Raises ConfigurationError if one is missing.
    """
    named = [Path(part) for part in listed(os.environ.get(RULES_VARIABLE, ""))] if environment else []
    check_folders(named, f"${RULES_VARIABLE}: ")
    check_folders(folders)
    places = {folder: folder.resolve() for folder in (*named, *folders)}
    known = {SHIPPED.resolve(), *places.values()}
    found: dict[Path, Path] = {}
    for folder, place in places.items():
        if place != SHIPPED.resolve() and known.isdisjoint(place.parents):
            found.setdefault(place, folder)
    return tuple(found.values())


def load_folders(folders: Sequence[Path], *, fresh: bool = False) -> RuleSets:
    """The rules of exactly these folders."""
    return RuleSets(load_catalog(folders, cache=no_cache if fresh else cached), cached)


def check_folders(paths: Sequence[Path], said_by: str = "", *, or_else: str = "") -> None:
    """Raises ConfigurationError (C001) for each path that is neither a folder nor a rule file.

    `or_else` names what else may be given.
    """
    problems = []
    for path in paths:
        if path.is_dir() or (path.is_file() and is_rule_file(path)):
            continue
        message, remedy = "does not exist", f"give a folder of rules, or one rule file{or_else}"
        if path.is_file():
            message = "is no rule file"
            remedy = "call it .yaml" if is_like_yaml(path) else "rule files end in .yaml or .py"
        elif path.exists():
            message = "is neither a folder of rules nor a rule file"
        problems.append(Problem(Place(f"{said_by}{path}"), "C001", message, remedy))
    if problems:
        raise ConfigurationError(problems)


def verified(rules: RuleSets) -> tuple[Problem, ...]:
    """The cases that fail. That none does is remembered for the same rules, program and libraries."""
    failures: list[Problem] = []

    def check() -> bytes:
        failures.extend(verify(rules))
        return b"" if failures else _HOLDS

    name = f"verified-{rules.catalog.digest}-{_program()}"
    return () if cached(name, check) == _HOLDS else tuple(failures or verify(rules))


_HOLDS = b"every case holds"
_ENGINE = ("contracts", "bundle", "events", "rules", "extraction", "diagnosis")


@cache
def _program() -> str:
    """Names all that decides whether a case holds, beside the rules: the engine's own text and its libraries."""
    digest = hashlib.blake2b(f"{sys.version} {platform.machine()}".encode(), digest_size=16)
    for name in ("google-re2", "hyperscan", "msgspec", "pydantic", "pyyaml"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            digest.update(f"{name} {metadata.version(name)}\n".encode())
    for folder in _ENGINE:
        for path in sorted((SHIPPED.parent / folder).rglob("*")):
            if path.suffix in {".py", ".txt"}:
                digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def cache_folder() -> Path | None:
    """Where compiled gates are kept, or None for a user without a home.

    `$XDG_CACHE_HOME/attribution`, else `~/.cache/attribution`, on macOS `~/Library/Caches/attribution`.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "attribution"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "attribution"


def cached(name: str, make: Callable[[], bytes]) -> bytes:
    """The bytes kept under `name`, or made now and kept for the next run. A cache that fails is no error."""
    folder = cache_folder()
    if folder is None:
        return make()
    with contextlib.suppress(OSError):
        kept = (folder / name).read_bytes()
        if kept[:_SUM_BYTES] == _checksum(kept[_SUM_BYTES:]):
            return kept[_SUM_BYTES:]
    data = make()
    with contextlib.suppress(OSError):
        _keep(folder, name, _checksum(data) + data)
    return data


_SUM_BYTES = 16


def _checksum(data: bytes) -> bytes:
    """What stands before the data of an entry, so that a damaged one is made anew."""
    return hashlib.blake2b(data, digest_size=_SUM_BYTES).digest()


def _keep(folder: Path, name: str, entry: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        unfinished = Path(file.name)
    try:
        unfinished.write_bytes(entry)
        unfinished.replace(folder / name)
    finally:
        unfinished.unlink(missing_ok=True)
    kept = sorted((p for p in folder.iterdir() if p.is_file()), key=lambda p: p.stat().st_mtime, reverse=True)
    for path in kept[MAX_CACHED:]:
        path.unlink(missing_ok=True)
