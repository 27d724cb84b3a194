"""Finds labelled cases and scenarios below folders; a label that cannot be read is a problem, the others count."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from attribution.accuracy.cases import read_case
from attribution.accuracy.scenarios import TRUTH_FILE, is_scenario, read_scenario
from attribution.accuracy.truth import Subject
from attribution.contracts.errors import ConfigurationError, Place, Problem


@dataclass(frozen=True, slots=True)
class Collection:
    """What can be measured, by name; labels that cannot be read; how many call themselves broken."""

    subjects: tuple[Subject, ...]
    problems: tuple[Problem, ...] = ()
    broken: int = 0


def collect(paths: Sequence[Path]) -> Collection:
    """All labelled attempts at the paths: case files, scenario folders, or folders of either, however deep.

    Raises ConfigurationError (A001) for a path that does not exist or holds none.
    """
    subjects: dict[str, Subject] = {}
    problems: list[Problem] = []
    missing: list[Problem] = []
    broken = 0
    for path in paths:
        found = list(_below(path))
        if not found:
            message = "holds no labelled case and no scenario" if path.exists() else "does not exist"
            remedy = f"give a folder of case files (*.yaml) or of scenarios (each with {TRUTH_FILE} beside its bundle)"
            missing.append(Problem(Place(str(path)), "A001", message, remedy))
        for place, read in found:
            name = str(place)
            try:
                subject = read(place, name)
            except (ConfigurationError, OSError, UnicodeDecodeError) as error:
                problems += _problems(place, error)
                continue
            if subject is None:
                broken += 1
            else:
                subjects[name] = subject
    if missing:
        raise ConfigurationError(missing)
    return Collection(tuple(subjects[name] for name in sorted(subjects)), tuple(sorted(set(problems))), broken)


_Reader = Callable[[Path, str], Subject | None]


def _below(path: Path) -> Iterator[tuple[Path, _Reader]]:
    """Each labelled attempt with what reads it, sorted by its path. A bundle is not searched for labels."""
    if path.is_file():
        yield path, read_case
    elif path.is_dir() and is_scenario(path):
        yield path, read_scenario
    elif path.is_dir():
        for inner in sorted(_visible(path)):
            if inner.is_dir() or inner.suffix == ".yaml":
                yield from _below(inner)


def _visible(folder: Path) -> Iterable[Path]:
    return (path for path in folder.iterdir() if not path.name.startswith(".") and not path.is_symlink())


def _problems(place: Path, error: Exception) -> Sequence[Problem]:
    if isinstance(error, ConfigurationError):
        return error.problems
    if isinstance(error, UnicodeDecodeError):
        return [Problem(Place(str(place)), "A002", "is not UTF-8 text", "save it as UTF-8")]
    assert isinstance(error, OSError)
    return [Problem(Place(str(place)), "A002", f"cannot be read: {error.strerror}", "check its permissions")]
