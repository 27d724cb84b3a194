"""Loads the shipped rules, and operators' own folders beside them, with a cache of compiled gates."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.extraction.ruleset import RuleSets
from attribution.rules.loader import load_catalog

SHIPPED = Path(__file__).resolve().parent.parent / "catalog"
"""The folder of the rules that come with the product."""

MAX_CACHED = 64
"""Databases kept; the oldest go first."""


def load_rules(folders: Sequence[Path] = ()) -> RuleSets:
    """The shipped catalog with the rules of `folders`. Raises ConfigurationError with all that is wrong."""
    missing = [folder for folder in folders if not folder.is_dir()]
    if missing:
        remedy = "give a folder of rule files"
        raise ConfigurationError([Problem(Place(str(m)), "C001", "is no folder of rules", remedy) for m in missing])
    return RuleSets(load_catalog([SHIPPED, *folders], cache=cached), cached)


def cache_folder() -> Path:
    """Where compiled gates are kept: `$XDG_CACHE_HOME/attribution`, or `~/Library/Caches/attribution` on macOS."""
    base = os.environ.get("XDG_CACHE_HOME")
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return (Path(base) if base else home) / "attribution"


def cached(name: str, make: Callable[[], bytes]) -> bytes:
    """The bytes kept under `name`, or made now and kept for the next run. A cache that fails is no error."""
    path = cache_folder() / name
    with contextlib.suppress(OSError):
        return path.read_bytes()
    data = make()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
        Path(file.name).replace(path)
        _forget_oldest(path.parent)
    return data


def _forget_oldest(folder: Path) -> None:
    files = sorted((p for p in folder.iterdir() if p.is_file()), key=lambda p: p.stat().st_mtime, reverse=True)
    for path in files[MAX_CACHED:]:
        path.unlink(missing_ok=True)
