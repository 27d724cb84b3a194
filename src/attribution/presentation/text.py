"""A Diagnosis as text for a terminal: the verdict, the line that proves it, and what to do."""

import re
from collections.abc import Iterable, Iterator
from enum import Enum

from attribution.contracts.diagnosis import Diagnosis, Evidence
from attribution.contracts.vocabulary import TerminalState
from attribution.presentation import words
from attribution.presentation.answer import Answer, Block, decisive_words, place_of_line, time_of_line
from attribution.presentation.columns import clip, clip_around, clip_start, pad, spread, visible, width, wrap
from attribution.presentation.details import Section, sections
from attribution.presentation.facts import Fact, facts
from attribution.presentation.records import message_of

MIN_WIDTH = 40
"""Columns below which no line is made shorter."""

_ARROW, _RAW, _AROUND, _FACT = "   --> ", "    |  ", "    :  ", "    = "
_LABEL = len("first failure")
_PAIRS = {"first failure": "impact", "not examined": "more"}
"""Facts that share a line where both fit."""


class Look(Enum):
    """What a line is, which is all that its colours depend on."""

    HEAD = "head"
    PLAIN = "plain"
    GUTTER = "gutter"
    AROUND = "around"
    SECTION = "section"


Line = tuple[Look, str]


def render(diagnosis: Diagnosis, *, width: int = 80, color: bool = False, verbose: bool = False) -> str:
    """The diagnosis as text that ends with a newline. No line takes more than `width` columns (at least 40).

    `verbose` adds the lines around the evidence, everything that was set aside, coverage and how it was decided.
    Text from logs is shown with its control characters escaped, so that only `color` puts any into the answer.
    """
    columns = max(width, MIN_WIDTH)
    answer = Answer(diagnosis)
    lines = [*_headline(answer, columns), *_evidence(answer, columns, verbose), *_facts(answer, columns, verbose)]
    if verbose:
        for section in sections(answer):
            lines += _section(section, columns)
    trimmed = ((look, text.rstrip()) for look, text in lines)
    return "\n".join(_painted(look, text, answer) if color else text for look, text in trimmed) + "\n"


# --- the verdict and its evidence ---------------------------------------------------------------------------------


def _headline(answer: Answer, columns: int) -> Iterator[Line]:
    first, *rest = spread(f"{answer.state} · {answer.verdict}", answer.where, columns)
    yield Look.HEAD, first
    yield from ((Look.PLAIN, line) for line in rest)


def _evidence(answer: Answer, columns: int, verbose: bool) -> Iterator[Line]:
    blocks = answer.blocks(everything=verbose)
    title = ""
    for block in blocks:
        # The place of the one cause stands in the headline already.
        aside = f"rule {block.rule}" if len(answer.causes) == 1 else block.where
        shown = "the same" if block.title == title else block.title
        yield from ((Look.PLAIN, line) for line in spread(f"  {shown}", aside, columns))
        yield from _proof(block, columns, verbose)
        title = block.title
    if not verbose and (rest := answer.left_out()):
        yield from ((Look.PLAIN, f"  {line}") for line in wrap(rest, columns - 2))
    if not blocks and answer.unsaid:
        yield from ((Look.PLAIN, f"  {line}") for line in wrap(answer.diagnosis.summary, columns - 2))


def _proof(block: Block, columns: int, verbose: bool) -> Iterator[Line]:
    if not block.evidence and block.at:
        yield Look.GUTTER, _ARROW + clip(words.time(block.at), columns - len(_ARROW))
    for item in block.evidence:
        yield from ((Look.GUTTER, line) for line in _arrow(item, columns))
        if verbose:
            yield from _around(item.before, columns)
        decisive = decisive_words(item)
        yield Look.GUTTER, _RAW + clip_around(message_of(item.text, decisive), columns - len(_RAW), decisive)
        if verbose:
            yield from _around(item.after, columns)
            if item.fields or item.samples or item.rule != block.rule:
                yield from _reading(item, columns)


def _arrow(item: Evidence, columns: int) -> list[str]:
    """The place and time of a line; the time below, where both do not fit."""
    room = columns - len(_ARROW)
    place, time = visible(place_of_line(item)), time_of_line(item)
    if width(place) + 4 + width(time) <= room:
        return [f"{_ARROW}{place}    {time}"]
    return [_ARROW + clip_start(place, room), " " * len(_ARROW) + clip(time, room)]


def _around(lines: Iterable[str], columns: int) -> Iterator[Line]:
    return ((Look.AROUND, _AROUND + clip_around(line, columns - len(_AROUND), ())) for line in lines)


def _reading(item: Evidence, columns: int) -> Iterator[Line]:
    """What the rule read from the line, and the samples of a metric."""
    fields = ", ".join(f"{name} {value}" for name, value in sorted(item.fields.items()))
    told = f"read by {item.rule}" + (f": {fields}" if fields else "")
    if item.samples:
        shown = [f"{words.time(s.at)[11:]} {'blank' if s.value is None else f'{s.value:g}'}" for s in item.samples[:8]]
        told += f"; samples: {', '.join(shown)}" + (
            f" and {len(item.samples) - 8} more" if len(item.samples) > 8 else ""
        )
    return ((Look.AROUND, " " * len(_RAW) + line) for line in wrap(told, columns - len(_RAW)))


# --- facts --------------------------------------------------------------------------------------------------------


def _facts(answer: Answer, columns: int, verbose: bool) -> Iterator[Line]:
    found = facts(answer, everything=verbose)
    by_label = {fact.label: fact for fact in found}
    paired: set[str] = set()
    for fact in found:
        if fact.label in paired:
            continue
        second = by_label.get(_PAIRS.get(fact.label, ""))
        line = _side_by_side(fact, second, columns) if second else None
        if second and line:
            paired.add(second.label)
            yield Look.GUTTER, line
        else:
            yield from ((Look.GUTTER, text) for text in _fact(fact, columns))


def _fact(fact: Fact, columns: int) -> Iterator[str]:
    lead = f"{_FACT}{fact.label:<{_LABEL}}  "
    for text in fact.texts:
        for line in wrap(text, columns - len(lead)):
            yield lead + line
            lead = " " * len(lead)


def _side_by_side(first: Fact, second: Fact, columns: int) -> str | None:
    """Two short facts in one line, or None."""
    if len(first.texts) > 1:
        return None
    left, right = visible(first.texts[0]), f"= {second.label}  {visible(second.texts[0])}"
    lead = f"{_FACT}{first.label:<{_LABEL}}  {left}"
    middle = max(columns // 2, width(lead) + 3)
    return pad(lead, middle) + right if middle + width(right) <= columns else None


# --- sections -----------------------------------------------------------------------------------------------------


def _section(section: Section, columns: int) -> Iterator[Line]:
    yield Look.PLAIN, ""
    yield from ((Look.SECTION, line) for line in wrap(section.title, columns))
    for depth, text in section.lines:
        indent = " " * (2 * depth)
        first, *rest = wrap(text, columns - len(indent) - 2)
        yield Look.PLAIN, indent + first
        yield from ((Look.PLAIN, f"{indent}  {line}") for line in rest)
    if section.rows:
        yield from _table(section.rows, columns)


def _table(rows: tuple[tuple[str, ...], ...], columns: int) -> Iterator[Line]:
    """Rows whose last cell takes the room that is left, below the others where it does not fit."""
    cells = [tuple(visible(cell) for cell in row) for row in rows]
    sizes = [max(width(row[index]) for row in cells) for index in range(len(rows[0]) - 1)]
    for row in cells:
        fixed = "  ".join(pad(cell, size) for cell, size in zip(row, sizes, strict=False))
        if width(f"  {fixed}  {row[-1]}") <= columns:
            yield Look.PLAIN, f"  {fixed}  {row[-1]}"
            continue
        first, *rest = [f"  {fixed}"] if width(fixed) + 2 <= columns else spread(f"  {fixed}", "", columns)
        yield Look.PLAIN, first
        yield from ((Look.PLAIN, line) for line in rest)
        yield from ((Look.PLAIN, f"      {line}") for line in wrap(row[-1], columns - 6))


# --- colours ------------------------------------------------------------------------------------------------------

_BOLD, _DIM, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_GREEN, _YELLOW, _RED = "\x1b[32m", "\x1b[33m", "\x1b[31m"
_CALM = {TerminalState.COMPLETED: _GREEN, TerminalState.RUNNING: _GREEN}
_TAKEN = dict.fromkeys(
    (TerminalState.CANCELLED, TerminalState.PREEMPTED, TerminalState.TIMED_OUT, TerminalState.UNKNOWN), _YELLOW
)
_GUTTER = re.compile(r" +(?:-->|[|:])|    = .{13}|(?<=  )= \w+  ")


def _painted(look: Look, text: str, answer: Answer) -> str:
    if look is Look.HEAD:
        shade = (_CALM | _TAKEN).get(answer.diagnosis.terminal_state, _RED)
        return f"{_BOLD}{shade}{answer.state}{_OFF}{_BOLD}{text[len(answer.state) :]}{_OFF}"
    if look is Look.SECTION:
        return f"{_BOLD}{text}{_OFF}"
    if look is Look.AROUND:
        return f"{_DIM}{text}{_OFF}"
    gutter = _GUTTER.match(text) if look is Look.GUTTER else None
    return f"{_DIM}{gutter.group()}{_OFF}{text[gutter.end() :]}" if gutter else text
