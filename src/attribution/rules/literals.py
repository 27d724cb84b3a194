"""Proves that every text a pattern matches contains one of the literals that gate it.

The pattern's parse tree is unrolled into variants: sequences of fixed texts and gaps. The proof holds if each variant
has a fixed text that contains a literal. Where a tree would unroll too far, a part of it counts as a gap, so the
proof may fail for a pattern that is in truth implied, never the other way round.
"""

import re
from collections.abc import Sequence
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_VARIANTS = 256
"""Beyond this many variants a part of the pattern counts as a gap."""

_MAX_CLASS = 4
_MAX_REPEAT = 4

Variant = tuple[str | None, ...]
"""Fixed texts with None for a gap; neighbouring texts are always joined."""

_GAP: list[Variant] = [(None,)]
_EMPTY: list[Variant] = [()]


def implies(pattern: str, literals: Sequence[str]) -> bool:
    """Whether every match of `pattern` contains one of `literals`. Raises re.error for a pattern it cannot parse."""
    tree = parser.parse(pattern)
    ignore_case = bool(tree.state.flags & re.IGNORECASE)
    wanted = [literal.lower() if ignore_case else literal for literal in literals]
    return all(
        any(
            text is not None and literal in (text.lower() if ignore_case else text)
            for text in variant
            for literal in wanted
        )
        for variant in _sequence(tree)
    )


def ignores_case(pattern: str) -> bool:
    """Whether the whole pattern is case-insensitive, so that its gate must be too."""
    return bool(parser.parse(pattern).state.flags & re.IGNORECASE)


def _sequence(items: Any) -> list[Variant]:
    variants = _EMPTY
    for kind, value in items:
        following = _variants(kind, value)
        if len(variants) * len(following) > MAX_VARIANTS:
            following = _GAP
        variants = [_join(left, right) for left in variants for right in following]
    return variants


def _variants(kind: Any, value: Any) -> list[Variant]:
    if kind is op.LITERAL:
        return [(chr(value),)]
    if kind is op.IN:
        return _character_class(value)
    if kind is op.SUBPATTERN:
        _, added, _, items = value
        return _GAP if added & re.IGNORECASE else _sequence(items)
    if kind is op.BRANCH:
        found = [variant for branch in value[1] for variant in _sequence(branch)]
        return found if len(found) <= MAX_VARIANTS else _GAP
    if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
        return _repeat(*value)
    if kind is op.AT:
        return _EMPTY
    return _GAP


def _character_class(items: Any) -> list[Variant]:
    if all(kind is op.LITERAL for kind, _ in items) and len(items) <= _MAX_CLASS:
        return [(chr(value),) for _, value in items]
    return _GAP


def _repeat(low: int, high: Any, items: Any) -> list[Variant]:
    body = _sequence(items)
    if low == high and low <= _MAX_REPEAT:
        variants = _EMPTY
        for _ in range(low):
            variants = [_join(left, right) for left in variants for right in body]
        return variants if len(variants) <= MAX_VARIANTS else _GAP
    if low == 0:
        return [(), *body] if high == 1 else _GAP
    return [_join(variant, (None,)) for variant in body]


def _join(left: Variant, right: Variant) -> Variant:
    if left and right and left[-1] is not None and right[0] is not None:
        return (*left[:-1], left[-1] + right[0], *right[1:])
    return (*left, *right)
