"""Text is measured, made harmless, clipped and wrapped by the columns that a terminal gives it."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

ELLIPSIS = "…"

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Unicode counts as letters, marks or symbols, and that show nothing."""

_HARMLESS = re.compile("[ -~\u00a1-\u00ac\u00ae-\u00ff–—…‘’“”]*")
"""Characters that each fill one column and do nothing else."""

_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_MARKS = 2
"""Combining marks that one character may carry; more of them would smear over the lines around it."""

_ENOUGH = _MARKS + 1
"""Characters that surely fill one column."""


def visible(text: str) -> str:
    """The text with everything that could act on a terminal, or hide in it, written as an escape.

    Control characters, ANSI, bidirectional and zero-width characters become `\\x1b`, `\\u202e`; other blanks become a
    plain one. The answer is printable as it stands, and escaping it again changes nothing.
    """
    if _HARMLESS.fullmatch(text):
        return text
    shown: list[str] = []
    marks = 0
    for char in text:
        marks = marks + 1 if char > "\u02ff" and _is_mark(char) else 0
        if marks > _MARKS or (marks and not shown) or not char.isprintable() or _INVISIBLE.match(char):
            shown.append(" " if unicodedata.category(char) == "Zs" else _escaped(char))
        else:
            shown.append(char)
    return "".join(shown)


def _escaped(char: str) -> str:
    code = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@lru_cache(maxsize=4096)
def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in {"Mn", "Me"}


@lru_cache(maxsize=4096)
def _columns(char: str) -> int:
    if _is_mark(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def width(text: str) -> int:
    """How many columns a terminal gives the text."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def pad(text: str, columns: int) -> str:
    """The text filled with blanks up to a column."""
    return text + " " * (columns - width(text))


def _head(text: str, room: int) -> str:
    """As much of the start as fits."""
    if text.isascii():
        return text[:room]
    used = 0
    for index, char in enumerate(text):
        used += _columns(char)
        if used > room:
            return text[:index]
    return text


def _tail(text: str, room: int) -> str:
    """As much of the end as fits."""
    used, index = 0, len(text)
    while index and used + _columns(text[index - 1]) <= room:
        index -= 1
        used += _columns(text[index])
    return text[index:]


def clip(text: str, room: int) -> str:
    """The start of the text, with `…` where something is left out. What cannot be shown is not looked at."""
    if len(text) <= room and _HARMLESS.fullmatch(text):
        return text
    text = visible(text[: _ENOUGH * (room + 1)])
    return text if width(text) <= room else _head(text, room - 1).rstrip() + ELLIPSIS


def clip_start(text: str, room: int) -> str:
    """The end of the text, with `…` before it where something is left out. What cannot be shown is not looked at."""
    text = visible(text[-_ENOUGH * (room + 1) :])
    return text if width(text) <= room else ELLIPSIS + _tail(text, room - 1)


def clip_around(text: str, room: int, decisive: Iterable[str]) -> str:
    """A raw line in one line: the part that holds the `decisive` words stays, what matters less goes.

    First goes the header of the line, whose time and host are told elsewhere; then what lies between the decisive part
    and the end; then, if the decisive part stands far behind, what lies before it.
    """
    text = visible(text)
    if width(text) <= room:
        return text
    start, end = span(text, [visible(word) for word in decisive])
    header = _HEADER.match(text)
    lead = ""
    if header and (header.end() <= start or not end):
        lead, text, room = ELLIPSIS, text[header.end() :], room - 1
        start, end = max(0, start - header.end()), max(0, end - header.end())
    if width(text) <= room:
        return lead + text
    if width(text[:end]) < room:
        return lead + _without_middle(text, room, width(text[:end]))
    return _without_start(text, room, start, end)


def _without_middle(text: str, room: int, needed: int) -> str:
    """The start, `needed` columns of it at least, and the end where there is room for it and it holds words."""
    first = max(needed, room * 3 // 5)
    last = room - first - 1
    rest = _from_word(_tail(text, last), last)
    if last < _WORTH_SHOWING or len(_PLAIN_WORD.findall(rest)) < 2:
        return _head(text, room - 1).rstrip() + ELLIPSIS
    return _head(text, first).rstrip() + ELLIPSIS + rest


def _without_start(text: str, room: int, start: int, end: int) -> str:
    """The decisive part with what follows it, and as much of what leads to it as fits."""
    rest = _tail(text, room - 1)
    if len(text) - len(rest) <= start:
        return ELLIPSIS + _from_word(rest, start - len(text) + len(rest))
    lead = _tail(text[:start], max(0, min(room // 2, room - 2 - width(text[start:end]))))
    return ELLIPSIS + _head(_from_word(lead, len(lead)) + text[start:], room - 2).rstrip() + ELLIPSIS


def _from_word(text: str, before: int) -> str:
    """The text from the start of a whole word, if one starts near its start and `before` a position."""
    return text[text.find(" ", 0, max(0, min(before, _NEAR))) + 1 :]


_HEADER = re.compile(
    r"(?:<\d{1,3}>)?(?:"
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,]{8,18}(?:Z|[+-]\d\d:?\d\d)) \S{1,255} "
    r"(?:kernel: (?:\[ *\d+\.\d+\] )?)?|\[ *\d+\.\d+\] )"
)
"""What a system log writes before the message: time, host, and the kernel's own clock."""

_PLAIN_WORD = re.compile(r"[^\W\d_]{3,}")
_WORTH_SHOWING, _NEAR = 16, 12


_STAMP = re.compile(
    r"\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\b|\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+|\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\b"
    r"|^\[ *\d+\.\d+\]",
    re.ASCII,
)
"""When something was said: a date with its time, the time alone, the clock of a kernel."""


def span(text: str, words: Iterable[str]) -> tuple[int, int]:
    """Where the words stand in a text, from the start of the first to the end of the last; (0, 0) if none does.

    A number of a time stamp is none of them: the `2` of a module is not the second at which it spoke.
    """
    bare = _STAMP.sub(lambda stamp: "\0" * len(stamp[0]), text)
    spans = [match.span() for word in words if (match := _find(text if _STAMP.search(word) else bare, word.strip()))]
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else (0, 0)


def _find(text: str, word: str) -> re.Match[str] | None:
    """A whole word in the text, in any case; a number also with zeros before it, a single digit only so."""
    if not word or (len(word) == 1 and not word.isdecimal()):
        return None
    zeros = "" if not word.isdecimal() else "0+" if len(word) == 1 else "0*"
    return re.search(rf"(?<!\w){zeros}{re.escape(word)}(?!\w)", text, re.IGNORECASE)


def wrap(text: str, room: int) -> list[str]:
    """Prose in lines of at most `room` columns, at least one; a longer word is broken where it must be."""
    lines: list[str] = []
    line = ""
    for word in visible(text).split():
        joined = f"{line} {word}" if line else word
        if width(joined) <= room:
            line = joined
            continue
        if line:
            lines.append(line)
        while width(word) > room:
            head = _head(word, room) or word[0]
            lines.append(head)
            word = word[len(head) :]
        line = word
    return [*lines, line] if line or not lines else lines


def spread(left: str, right: str, columns: int, indent: str = "  ") -> list[str]:
    """`left` and `right` at the two ends of one line, or below each other where they do not fit."""
    left, right = visible(left), visible(right)
    gap = columns - width(left) - width(right)
    if right and gap >= 2:
        return [left + " " * gap + right]
    hanging = indent + " " * (len(left) - len(left.lstrip(" ")))
    lead = left[: len(left) - len(left.lstrip(" "))]
    first, *rest = wrap(left, columns - len(hanging))
    lines = [lead + first, *(hanging + line for line in rest)]
    return lines + [hanging + line for line in wrap(right, columns - len(hanging))] if right else lines
