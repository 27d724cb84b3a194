"""A requirement is a figure, a bound and a number: `accepted>=0.95`."""

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass

from attribution.accuracy.figures import Figure, Share
from attribution.contracts.errors import ConfigurationError, Place, Problem, nearest

_FORM = re.compile(r"\s*([A-Za-z_]+)\s*(>=|<=)\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*")
_BOUNDS = {">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True, slots=True)
class Requirement:
    """`figure` is to be at least or at most `bound`, a share from 0 to 1."""

    figure: Figure
    sign: str
    bound: float

    def broken_by(self, figures: Mapping[Figure, Share]) -> str | None:
        """How the figures miss it, or None where they do not. What could not be judged is not shown to hold."""
        share = figures[self.figure]
        value = share.value()
        wanted = f"{self.figure.value} {self.sign} {self.bound:g}"
        if value is None:
            return f"{wanted} is required, and nothing could be judged on it"
        if _BOUNDS[self.sign](value, self.bound):
            return None
        return f"{wanted} is required, and it is {value:.4f} ({share.count} of {share.of})"


def requirements(texts: list[str], flag: str) -> tuple[Requirement, ...]:
    """The requirements that a flag gives. Raises ConfigurationError (A003) with all that are none."""
    found: list[Requirement] = []
    problems: list[Problem] = []
    for text in texts:
        match = _FORM.fullmatch(text)
        name = match[1].lower() if match else ""
        if match and name in set(Figure):
            bound = float(match[3]) / (100 if match[4] else 1)
            found.append(Requirement(Figure(name), match[2], bound))
        else:
            remedy = nearest(name, Figure) if match else "write a figure, >= or <=, and a share: accepted>=0.95"
            remedy = remedy or "one of: " + ", ".join(figure.value for figure in Figure)
            problems.append(Problem(Place(flag), "A003", f"cannot require `{text[:80]}`", remedy))
    if problems:
        raise ConfigurationError(problems)
    return tuple(found)
