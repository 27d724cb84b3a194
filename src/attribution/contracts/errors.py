"""An error says what is wrong, where, and what to do; its code never changes its meaning."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in a file. `line` and `column` are 1-based; 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong with what was given."""

    place: Place
    code: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{self.place}: {self.code} {self.message}{remedy}"


class AttributionError(Exception):
    """Something the caller can put right. `exit_code` is what the command line ends with."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ConfigurationError(AttributionError):
    """A rule, a context, a setting or a flag is wrong."""

    exit_code = 2


class EvidenceError(AttributionError):
    """The evidence could not be read."""

    exit_code = 3


def nearest(word: str, known: Iterable[str]) -> str:
    """A remedy that names the known word most like `word`, or nothing."""
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else ""
