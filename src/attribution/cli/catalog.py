"""Loads the shipped rules, and operators' own folders beside them, with a cache of compiled gates."""

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

from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.diagnosis.verify import Failure, verify
from attribution.extraction.ruleset import RuleSets
from attribution.rules.loader import load_catalog

SHIPPED = Path(__file__).resolve().parent.parent / "catalog"
"""The folder of the rules that come with the product."""

MAX_CACHED = 64
"""Entries kept; the oldest go first."""


def load_rules(folders: Sequence[Path] = ()) -> RuleSets:
    """The shipped catalog with the rules of `folders`. Raises ConfigurationError with all that is wrong."""
    missing = [folder for folder in folders if not folder.is_dir()]
    if missing:
        remedy = "give a folder of rule files"
        raise ConfigurationError([Problem(Place(str(m)), "C001", "is no folder of rules", remedy) for m in missing])
    return RuleSets(load_catalog([SHIPPED, *folders], cache=cached), cached)


def verified(rules: RuleSets) -> tuple[Failure, ...]:
    """The cases that fail. That none does is remembered for the same rules, program and libraries."""
    failures: list[Failure] = []

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
