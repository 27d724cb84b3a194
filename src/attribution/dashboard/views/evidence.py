"""Evidence is shown as raw lines in their place, the decisive words marked, between the lines around them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from attribution.contracts.diagnosis import Evidence
from attribution.presentation import words
from attribution.presentation.answer import Answer, Block, decisive_words, place_of_line, time_of_line
from attribution.presentation.columns import ELLIPSIS, clip, clip_around, span, visible, width
from attribution.presentation.records import message_of

LINE_COLUMNS = 2_000
"""Columns of a decisive line that a page shows."""

PLACE_COLUMNS = 80
"""Columns of a place in a table."""

AROUND_COLUMNS = 400
"""Columns of a line around it."""

_NEAR = 4
"""How many times as much of a very long line is looked at as is shown, on either side of the decisive words."""

SHOWN_SAMPLES = 60
"""Samples of a metric that a page shows."""

SHOWN_BLOCKS = 20
"""Findings whose evidence a page shows."""


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line in three parts: what leads to the decisive words, those words, and the rest. Any part may be empty."""

    lead: str
    decisive: str
    rest: str


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """One line, or one span of a metric. `cut` says how much of a long line is not shown.

    Of a JSON record, `line` is the message in it and `record` the record as it stands; `records` are the lines around,
    as they stand, where they are records too. `href` is its own page.
    """

    id: str
    href: str
    place: str
    time: str
    source: str
    rule: str
    before: tuple[str, ...]
    line: RawLine
    record: RawLine | None
    after: tuple[str, ...]
    records: tuple[str, ...]
    cut: str
    fields: tuple[tuple[str, str], ...]
    samples: tuple[tuple[str, str], ...]
    more_samples: int


@dataclass(frozen=True, slots=True)
class FindingView:
    """One finding with the lines that show it."""

    title: str
    where: str
    rule: str
    time: str
    lines: tuple[EvidenceView, ...]


Href = Callable[[str], str]
"""Gives the address of a piece of evidence by its id."""

SHOWN_LINES = 3
"""Lines that one row of a table links to."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A line that something rests on."""

    href: str
    place: str


def cited(answer: Answer, ids: Iterable[str], href: Href) -> tuple[Cited, ...]:
    """The first lines of those that were kept."""
    known = [answer.evidence[item] for item in dict.fromkeys(ids) if item in answer.evidence]
    return tuple(Cited(href(item.id), clip(place_of_line(item), PLACE_COLUMNS)) for item in known[:SHOWN_LINES])


def findings(answer: Answer, href: Href) -> tuple[FindingView, ...]:
    """The causes with their evidence; or the first failure, where no cause is known."""
    return tuple(_finding(block, href) for block in answer.blocks(everything=True)[:SHOWN_BLOCKS])


def _finding(block: Block, href: Href) -> FindingView:
    time = words.time(block.at) if block.at else ""
    return FindingView(
        block.title, block.where, block.rule, time, tuple(evidence(item, href) for item in block.evidence)
    )


def evidence(item: Evidence, href: Href) -> EvidenceView:
    """One piece of evidence, bounded."""
    samples = [(words.time(s.at), "blank" if s.value is None else f"{s.value:g}") for s in item.samples]
    message = message_of(item.text, decisive_words(item))
    around = (*item.before, *item.after)
    return EvidenceView(
        id=item.id,
        href=href(item.id),
        place=clip(place_of_line(item), AROUND_COLUMNS),
        time=time_of_line(item),
        source=words.SOURCES[item.source],
        rule=clip(item.rule, AROUND_COLUMNS),
        before=tuple(_around(line) for line in item.before),
        line=_marked(item, message, LINE_COLUMNS),
        record=None if message is item.text else _marked(item, item.text, LINE_COLUMNS),
        after=tuple(_around(line) for line in item.after),
        records=tuple(clip(line, AROUND_COLUMNS) for line in around if message_of(line) is not line),
        cut=f"a part of {len(item.text):,} characters" if _is_cut(item.text) else "",
        fields=tuple(
            (clip(name, AROUND_COLUMNS), clip(value, LINE_COLUMNS)) for name, value in sorted(item.fields.items())
        ),
        samples=tuple(samples[:SHOWN_SAMPLES]),
        more_samples=max(0, len(samples) - SHOWN_SAMPLES),
    )


def _around(line: str) -> str:
    """A line around the decisive one; of a record, its message."""
    return clip(message_of(line), AROUND_COLUMNS)


def raw(item: Evidence, columns: int = LINE_COLUMNS) -> RawLine:
    """The line, or the message of a record, clipped around what the rule read from it."""
    return _marked(item, message_of(item.text, decisive_words(item)), columns)


def _marked(item: Evidence, line: str, columns: int) -> RawLine:
    decisive = decisive_words(item)
    text = clip_around(_near(line, decisive, columns), columns, decisive)
    start, end = span(text, [visible(word) for word in decisive])
    return RawLine(text[:start], text[start:end], text[end:])


def _is_cut(text: str) -> bool:
    return len(text) > LINE_COLUMNS or width(visible(text)) > LINE_COLUMNS


def _near(text: str, decisive: list[str], columns: int) -> str:
    """The part of a very long line around the decisive words, so that only what may be shown is looked at closely."""
    room = _NEAR * columns
    if len(text) <= 2 * room:
        return text
    start, _ = span(text, decisive)
    first, last = max(0, start - room), start + room
    return (ELLIPSIS if first else "") + text[first:last] + (ELLIPSIS if last < len(text) else "")
