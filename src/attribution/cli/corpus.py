"""A corpus is a folder of evidence bundles, however deep; a single bundle is a corpus of one."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.contracts.vocabulary import Source

MAX_DEPTH = 8
"""Folders below the corpus that are looked into."""

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst")
_PARTS = frozenset({source.value for source in Source} | {"metrics"})


@dataclass(frozen=True, slots=True)
class Corpus:
    """The bundles by their path within the corpus, sorted, and the files that belong to none."""

    bundles: tuple[tuple[str, Path], ...]
    passed_over: tuple[str, ...]


def corpus_at(path: Path) -> Corpus:
    """What lies at a path. Raises ConfigurationError (C006) if that is no bundle."""
    if path.is_file() or (path.is_dir() and _is_bundle(path)):
        return Corpus(((path.name, path),), ())
    found = sorted(_below(path, MAX_DEPTH, {path.resolve()})) if path.is_dir() else []
    bundles = tuple((inner.relative_to(path).as_posix(), inner) for inner, is_bundle in found if is_bundle)
    if not bundles:
        message = "holds no evidence bundle" if path.is_dir() else "does not exist"
        raise ConfigurationError([Problem(Place(str(path)), "C006", message, "name a bundle, or a folder of bundles")])
    return Corpus(bundles, tuple(inner.relative_to(path).as_posix() for inner, is_bundle in found if not is_bundle))


def _is_bundle(folder: Path) -> bool:
    """Whether a folder is laid out as a bundle, or holds nothing but files, such as a folder of logs."""
    inner = [path for path in folder.iterdir() if not path.name.startswith(".")]
    if any(path.name == "context.yaml" or (path.name in _PARTS and path.is_dir()) for path in inner):
        return True
    return bool(inner) and not any(path.is_dir() or path.name.endswith(_ARCHIVES) for path in inner)


def _below(folder: Path, depth: int, seen: set[Path]) -> Iterator[tuple[Path, bool]]:
    """Paths of bundles (True) and of files that are none (False). What links lead to again is taken once.

    What is no link comes first, so that a bundle is called by its own path.
    """
    for path in sorted(folder.iterdir(), key=lambda inner: (inner.is_symlink(), inner.name)):
        place = path.resolve()
        if path.name.startswith(".") or place in seen:
            continue
        seen.add(place)
        if not path.is_dir():
            yield path, path.name.endswith(_ARCHIVES)
        elif _is_bundle(path):
            yield path, True
        elif depth > 1:
            yield from _below(path, depth - 1, seen)
