"""Patterns run in linear time: google-re2 compiles them, and refuses what it cannot do."""

from collections.abc import Iterable, Iterator
from typing import Any

import re2

from attribution.contracts.errors import Place, Problem

MAX_PATTERN_MEMORY = 8 << 20
"""Bytes that one compiled pattern may take; RE2 falls back to a slow path below what it needs."""


def compile_pattern(pattern: str) -> Any:
    """A linear-time pattern. Raises re2.error for what RE2 cannot do (look-around, back-references)."""
    options = re2.Options()
    options.max_mem = MAX_PATTERN_MEMORY
    options.log_errors = False
    return re2.compile(pattern, options=options)


def refused_patterns(patterns: Iterable[str], place: Place) -> Iterator[Problem]:
    for pattern in patterns:
        try:
            compile_pattern(pattern)
        except re2.error as error:
            yield _refused(place, error)


def _refused(place: Place, error: Exception) -> Problem:
    text = str(error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error)
    remedy = "patterns run in linear time: no look-around, no back-references"
    return Problem(place, "R004", f"has a pattern that is refused: {text}", remedy)
