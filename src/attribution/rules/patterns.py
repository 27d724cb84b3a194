"""Patterns run in linear time, and none is so large that its share of it hurts: google-re2 compiles them."""

from collections.abc import Iterable, Iterator
from typing import Any

import re2

from attribution.contracts.errors import Place, Problem

MAX_PATTERN_MEMORY = 8 << 20
"""Bytes that one compiled pattern may take; RE2 falls back to a slow path below what it needs."""

MAX_INSTRUCTIONS = 12_000
"""Instructions that one pattern may compile to.

Its size is all that can make a pattern dear, since nothing backtracks. Beyond this, the automaton of a hostile line no
longer fits the memory above, and a line of 16 KiB takes tens to hundreds of milliseconds instead of a few. Bounded
repeats are what grows: `.{0,999}` is 9,000 instructions, `.*` two.
"""


def compile_pattern(pattern: str) -> Any:
    """A linear-time pattern. Raises re2.error for what RE2 cannot do (look-around, back-references)."""
    options = re2.Options()
    options.max_mem = MAX_PATTERN_MEMORY
    options.log_errors = False
    return re2.compile(pattern, options=options)


def refused_patterns(patterns: Iterable[str], place: Place) -> Iterator[Problem]:
    """What the engine cannot run (R004), or not cheaply (R021)."""
    for pattern in patterns:
        try:
            size = compile_pattern(pattern).programsize
        except re2.error as error:
            yield _refused(place, error)
        else:
            if size > MAX_INSTRUCTIONS:
                message = f"has a pattern of {size} instructions, of which {MAX_INSTRUCTIONS} are allowed"
                remedy = (
                    "bounded repeats are what grows: repeat less, as `.{0,200}`, or write `.*`, which costs nothing"
                )
                yield Problem(place, "R021", message, remedy)


def _refused(place: Place, error: Exception) -> Problem:
    text = str(error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error)
    remedy = "patterns run in linear time: no look-around, no back-references"
    return Problem(place, "R004", f"has a pattern that is refused: {text}", remedy)
