"""A pattern may be cut where it can be read apart: an alternative, an optional piece, an anchor, fixed text, its end.

The pattern's own text is cut, so that what is told of a piece is what the author wrote.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

MIN_RUN = 4
"""Characters of a run of fixed text that is worth widening."""

_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})[?+]?")
_GROUP = re.compile(r"\((?:\?(?:P<\w+>|[a-zA-Z-]*:|[a-zA-Z]+\)))?")
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|x\{[0-9a-fA-F]+\}|[pP](?:\{\^?\w+\}|\w)|.)", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_ANCHORS = frozenset({"^", "$", "\\b", "\\B", "\\A", "\\z"})


class Cut(NamedTuple):
    """A pattern without one of its pieces. `loosens` says that it matches more; else it matches less."""

    what: str
    piece: str
    pattern: str
    loosens: bool


@dataclass(frozen=True, slots=True)
class _Item:
    """One element of a branch with its quantifier. `alternatives` are the branches within a group."""

    start: int
    end: int
    atom: str
    quantifier: str
    alternatives: tuple["_Branch", ...] = ()

    @property
    def is_text(self) -> bool:
        fixed = not self.alternatives and not self.quantifier and self.atom not in _ANCHORS
        return fixed and self.atom[0] not in ".[(" and not re.match(r"\\[a-zA-Z]", self.atom)


@dataclass(frozen=True, slots=True)
class _Branch:
    start: int
    end: int
    items: tuple[_Item, ...]


def cuts(pattern: str) -> Iterator[Cut]:
    """Every way to cut one piece from a pattern that the engine accepts."""
    branches, _ = _read(pattern, 0)
    yield from _within(pattern, branches)
    if len(branches) == 1 and len(branches[0].items) > 1:
        last = branches[0].items[-1]
        if not last.is_text and last.atom not in _ANCHORS and last.quantifier[:1] not in {"?", "*"}:
            yield Cut("ending", pattern[last.start :], pattern[: last.start], True)


def alternatives(pattern: str) -> list[list[str]]:
    """The top-level alternatives of a pattern, each as its elements with what repeats them; a group is one element."""
    branches, _ = _read(pattern, 0)
    return [[pattern[item.start : item.end] for item in branch.items] for branch in branches]


def _within(pattern: str, branches: tuple[_Branch, ...]) -> Iterator[Cut]:
    for number, branch in enumerate(branches):
        if len(branches) > 1 and branch.items:
            start, end = (branch.start, branch.end + 1) if number == 0 else (branch.start - 1, branch.end)
            yield Cut("alternative", pattern[branch.start : branch.end], pattern[:start] + pattern[end:], False)
        yield from _runs(pattern, branch)
        for item in branch.items:
            piece = pattern[item.start : item.end]
            without = pattern[: item.start] + pattern[item.end :]
            if item.quantifier[:1] == "?" and item.alternatives:
                yield Cut("optional piece", piece, without, False)
            elif item.atom in _ANCHORS:
                yield Cut("anchor", piece, without, True)
            yield from _within(pattern, item.alternatives)


def _runs(pattern: str, branch: _Branch) -> Iterator[Cut]:
    """Each run of fixed text in a branch, widened to anything."""
    run: list[_Item] = []
    for item in (*branch.items, None):
        if item is not None and item.is_text:
            run.append(item)
            continue
        if len(run) >= MIN_RUN:
            start, end = run[0].start, run[-1].end
            yield Cut("fixed text", pattern[start:end], pattern[:start] + ".*" + pattern[end:], True)
        run = []


def _read(pattern: str, position: int) -> tuple[tuple[_Branch, ...], int]:
    """The alternatives from `position` to the end of their group, and where that is."""
    branches: list[_Branch] = []
    items: list[_Item] = []
    start = position
    while position < len(pattern) and pattern[position] != ")":
        if pattern[position] == "|":
            branches.append(_Branch(start, position, tuple(items)))
            position += 1
            start, items = position, []
            continue
        item = _item(pattern, position)
        items.append(item)
        position = item.end
    branches.append(_Branch(start, position, tuple(items)))
    return tuple(branches), position


def _item(pattern: str, start: int) -> _Item:
    alternatives: tuple[_Branch, ...] = ()
    group = _GROUP.match(pattern, start)
    if group:
        position = group.end()
        if not group[0].endswith(")"):  # else it sets flags and holds nothing
            alternatives, closing = _read(pattern, position)
            position = closing + 1
    else:
        found = _ESCAPE.match(pattern, start) or _CLASS.match(pattern, start)
        position = found.end() if found else start + 1
    quantifier = _QUANTIFIER.match(pattern, position)
    end = quantifier.end() if quantifier else position
    return _Item(start, end, pattern[start:position], quantifier[0] if quantifier else "", alternatives)
