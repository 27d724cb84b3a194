"""How manual pages are set on a terminal: paragraphs with a heading, and lists of names with what they mean."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace

from attribution.contracts.errors import Problem
from attribution.presentation.columns import visible
from attribution.presentation.manual import Manual, Names, Paragraph

WIDTH = 80


def paragraph(heading: str, text: str) -> Iterator[str]:
    """A paragraph after a blank line; nothing for an empty text."""
    if text:
        lead = f"{heading}: " if heading else ""
        yield ""
        yield from textwrap.wrap(lead + text, WIDTH, subsequent_indent="  " if heading else "", break_on_hyphens=False)


def entries(heading: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A heading with one name a line and what it means beside it; nothing for no rows."""
    listed = list(rows)
    if not listed:
        return
    yield ""
    yield f"{heading}:"
    column = min(max(len(name) for name, _ in listed), 32)
    for name, text in listed:
        lead = f"  {name:{column}}  "
        hang = " " * (column + 4)
        yield from textwrap.wrap(lead + text, WIDTH, subsequent_indent=hang, break_on_hyphens=False) or [lead.rstrip()]


def shown(problem: Problem) -> str:
    """A problem with all that could act on a terminal written as an escape; its own indented lines are kept."""
    place = replace(problem.place, file=visible(problem.place.file))
    return _INNER_LINE.join(visible(line) for line in str(replace(problem, place=place)).split(_INNER_LINE))


_INNER_LINE = "\n    "


def manual(told: Manual) -> Iterator[str]:
    """A manual page: its title, then its sections with a blank line before each."""
    yield told.title
    for section in told.sections:
        if isinstance(section, Paragraph):
            yield from paragraph(section.heading, section.text)
        elif isinstance(section, Names):
            yield from entries(section.heading, section.rows)
            if section.more:
                yield f"  and {section.more} more"
        else:
            yield from ("", section.heading)
            yield from (f"    {line}" for line in section.lines)
            yield from (f"  {note}" for note in section.notes)
