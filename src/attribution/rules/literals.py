"""Proves that every text a pattern matches contains one of the literals that gate it.

The pattern's parse tree is unrolled into variants: fixed texts with gaps between them. A variant that contains a
literal is proven and needs no more looking at; of the others only the text before the first gap and after the last one
can still become part of a literal. The proof holds if all variants are proven. Where a tree would unroll too far, a
part of it counts as a gap, so the proof may fail for a pattern that is in truth implied, never the other way round.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_VARIANTS = 256
"""Beyond this many variants a part of the pattern counts as a gap."""

MIN_NEEDLE, MAX_NEEDLES = 4, 16
"""Characters of a needle, and how many of them are worth looking for."""

_MAX_CLASS = 4
_MAX_REPEAT = 4
_IGNORE_CASE = re.compile(r"\(\?[aLmsux]*i[aiLmsux]*\)")
_POSIX_CLASS = re.compile(r"\[:\^?[a-z]+:\]")

Variant = tuple[str, ...]
"""Fixed texts with a gap between each two: ("ab",) is a text, ("", "") a gap. PROVEN contains a literal."""

PROVEN: Variant = ()
_GAP: list[Variant] = [("", "")]
_EMPTY: list[Variant] = [("",)]


def implies(pattern: str, literals: Sequence[str]) -> bool:
    """Whether every match of `pattern` contains one of `literals`. Raises re.error for a pattern it cannot parse."""
    tree = _parsed(pattern)
    return _Proof(literals, bool(tree.state.flags & re.IGNORECASE)).holds(tree)


def ignores_case(pattern: str) -> bool:
    """Whether the whole pattern is case-insensitive, so that its gate must be too."""
    return _IGNORE_CASE.match(pattern) is not None


def _parsed(pattern: str) -> Any:
    """The parse tree. RE2 reads a POSIX class otherwise than this parser, so it is refused."""
    found = _POSIX_CLASS.search(pattern)
    if found:
        raise re.error(f"write the characters of `{found[0]}` as a range")
    return parser.parse(pattern)


def needles(pattern: str) -> tuple[str, ...] | None:
    """Texts of which every match contains at least one, the longest that can be told; None where none can.

    Looking for them in a line is far cheaper than matching it. Raises re.error for a pattern it cannot parse.
    """
    tree = _parsed(pattern)
    if tree.state.flags & re.IGNORECASE:
        return None
    longest = {max(variant, key=len) for variant in _Unrolled().sequence(tree)}
    if min(map(len, longest)) < MIN_NEEDLE or len(longest) > MAX_NEEDLES:
        return None
    return tuple(sorted(text for text in longest if not any(other in text for other in longest if other != text)))


class _Unrolled:
    """Unrolls a parse tree into variants. `fold` is applied to every character of the pattern."""

    def __init__(self, fold: Callable[[str], str] = str) -> None:
        self._fold = fold

    def sequence(self, items: Any) -> list[Variant]:
        variants = _EMPTY
        for kind, value in items:
            following = self._variants(kind, value)
            joined = self._distinct(self._join(left, right) for left in variants for right in following)
            if len(joined) > MAX_VARIANTS:
                joined = self._distinct(self._join(left, right) for left in variants for right in _GAP)
            variants = joined
        return variants

    def _variants(self, kind: Any, value: Any) -> list[Variant]:
        if kind is op.LITERAL:
            return self._distinct([(self._fold(chr(value)),)])
        if kind is op.IN:
            return self._character_class(value)
        if kind is op.SUBPATTERN:
            _, added, _, items = value
            return _GAP if added & re.IGNORECASE else self.sequence(items)
        if kind is op.BRANCH:
            found = self._distinct(variant for branch in value[1] for variant in self.sequence(branch))
            return found if len(found) <= MAX_VARIANTS else _GAP
        if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            return self._repeat(*value)
        if kind is op.AT:
            return _EMPTY
        return _GAP

    def _character_class(self, items: Any) -> list[Variant]:
        if all(kind is op.LITERAL for kind, _ in items) and len(items) <= _MAX_CLASS:
            return self._distinct((self._fold(chr(value)),) for _, value in items)
        return _GAP

    def _repeat(self, low: int, high: Any, items: Any) -> list[Variant]:
        body = self.sequence(items)
        if low == high and low <= _MAX_REPEAT:
            variants = _EMPTY
            for _ in range(low):
                variants = self._distinct(self._join(left, right) for left in variants for right in body)
                if len(variants) > MAX_VARIANTS:
                    return _GAP
            return variants
        some = [*body, *(self._join(self._join(first, _GAP[0]), last) for first in body for last in body)]
        if low == 0:
            some = [*_EMPTY, *(body if high == 1 else some)]
        found = self._distinct(some)
        return found if len(found) <= MAX_VARIANTS else _GAP

    def _join(self, left: Variant, right: Variant) -> Variant:
        if PROVEN in (left, right):
            return PROVEN
        return (*left[:-1], left[-1] + right[0], *right[1:])

    def _distinct(self, variants: Iterable[Variant]) -> list[Variant]:
        """The variants, each once and reduced to what still matters of it."""
        return sorted({self._reduced(variant) for variant in variants})

    def _reduced(self, variant: Variant) -> Variant:
        return variant


class _Proof(_Unrolled):
    """Unrolls a parse tree as far as it takes to prove that one of some literals stands in every variant."""

    def __init__(self, literals: Sequence[str], ignore_case: bool) -> None:
        super().__init__(str.lower if ignore_case else str)
        # A gate that ignores case folds the letters of ASCII only; an empty literal would gate nothing.
        usable = [literal for literal in literals if literal and (literal.isascii() or not ignore_case)]
        self._literals = [self._fold(literal) for literal in usable]
        self._reach = max((len(literal) for literal in literals), default=0)

    def holds(self, tree: Any) -> bool:
        return all(variant == PROVEN for variant in self.sequence(tree))

    def _reduced(self, variant: Variant) -> Variant:
        """Proven where it holds a literal, else cut to what a neighbour could complete."""
        if variant == PROVEN or any(literal in text for text in variant for literal in self._literals):
            return PROVEN
        if len(variant) == 1 and len(variant[0]) <= 2 * self._reach:
            return variant
        return variant[0][: self._reach], variant[-1][-self._reach :] if self._reach else ""
