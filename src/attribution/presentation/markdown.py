"""A Diagnosis as Markdown for tickets and chat. Nothing that came from a log is read as markup or as a mention."""

import re
from collections.abc import Iterable, Iterator

from attribution.contracts.diagnosis import Diagnosis, Evidence
from attribution.presentation import words
from attribution.presentation.answer import Answer, Block, decisive_words, place_of_line, time_of_line
from attribution.presentation.columns import clip, clip_around, visible
from attribution.presentation.facts import Fact, facts, out_of_time
from attribution.presentation.groups import by_source, set_aside
from attribution.presentation.records import message_of

LINE_COLUMNS = 400
"""Columns of a raw line that are kept."""

SHOWN_GROUPS = 20
"""Rows of the table of what was set aside."""

_TABLES = frozenset({"set aside", "examined"})
"""Facts that have a table of their own."""

_PLAIN = re.compile(r"[\w.,;:()/'’\"+±%=·×…?–—-]+")
_ACTIVE = re.compile(
    r"_|://|^www\.|(?<=[^\W\d])\.(?=\w)"  # emphasis, addresses, names of hosts and files
    r"|:\w*[^\W\d]\w*:|\b[0-9a-f]{7,40}\b|\b[A-Z]{2,}-\d|--",  # emoji, commits, tickets, rules
    re.ASCII,
)
_LEADING = re.compile(r"[-+=/]|\d+[.)]")
"""What a line must not begin with: list marks, underlines, commands of the tracker."""


def render(diagnosis: Diagnosis) -> str:
    """The diagnosis as Markdown that ends with a newline: heading, evidence in fenced blocks, facts, tables."""
    answer = Answer(diagnosis)
    where = f" — {prose(answer.where)}" if answer.where else ""
    parts = [[f"## {prose(f'{answer.state} · {answer.verdict}')}{where}"]]
    blocks = answer.blocks()
    parts += [_block(answer, block) for block in blocks]
    if rest := answer.left_out():
        parts.append([prose(rest)])
    if not blocks and answer.unsaid:
        parts.append([prose(answer.unsaid)])
    parts.append([line for fact in facts(answer) if fact.label not in _TABLES for line in _fact(fact)])
    parts[-1].append(f"- **Workload:** {_whole(diagnosis.workload_id)}, attempt {diagnosis.attempt}")
    parts += [part for part in (_set_aside(answer), _examined(answer)) if part]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def pages(found: Iterable[tuple[str, str]]) -> list[str]:
    """A section with the pages that say more, each by its title and whole address."""
    lines = [f"- [{title}]({address})" for title, address in found]
    return ["### On the dashboard", "", *lines] if lines else []


def _block(answer: Answer, block: Block) -> list[str]:
    several = len(answer.causes) > 1 or not answer.causes
    where = f" — {prose(block.where)}" if several and block.where else ""
    lines = [f"**{prose(block.title)}**{where}" + (f" (rule {prose(block.rule)})" if block.rule else "")]
    for item in block.evidence:
        lines += ["", f"{code(place_of_line(item))} {prose(time_of_line(item))}", "", *_lines(item)]
    return lines


def _lines(item: Evidence) -> list[str]:
    """The decisive line, pointed at, between the lines around it."""
    around = bool(item.before or item.after)
    shown = [f"  {clip(line, LINE_COLUMNS)}" for line in item.before]
    decisive = decisive_words(item)
    shown.append(("> " if around else "") + clip_around(message_of(item.text, decisive), LINE_COLUMNS, decisive))
    shown += [f"  {clip(line, LINE_COLUMNS)}" for line in item.after]
    return fenced(shown)


def _fact(fact: Fact) -> Iterator[str]:
    label = words.sentence(fact.label)
    if len(fact.texts) == 1:
        text = fact.texts[0]
        yield f"- **{label}:** {code(text) if fact.label == 'more' else prose(text)}"
        return
    yield f"- **{label}:**"
    yield from (f"  - {prose(text)}" for text in fact.texts)


def _set_aside(answer: Answer) -> list[str]:
    groups = set_aside(answer)
    rows = [
        (group.what, answer.nodes(group.nodes), group.reason, group.rule)
        for group in (groups if len(groups) <= SHOWN_GROUPS else groups[:SHOWN_GROUPS])
    ]
    lines = _table("Set aside", ("finding", "nodes", "why", "rule"), rows)
    if len(groups) > len(rows):
        lines += ["", f"and {len(groups) - len(rows):,} more kinds"]
    if late := out_of_time(answer):
        lines += ["", f"and {late}"] if lines else ["### Set aside", "", late]
    return lines


def _examined(answer: Answer) -> list[str]:
    rows = [
        (words.SOURCES[item.source], item.streams, f"{item.lines:,}", ", ".join(item.notes))
        for item in by_source(answer.diagnosis.coverage)
    ]
    return _table("Examined", ("source", "streams", "lines", "notes"), rows)


def _table(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    body = ["| " + " | ".join(prose(cell, in_table=True) for cell in row) + " |" for row in rows]
    if not body:
        return []
    return [f"### {title}", "", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads), *body]


# --- escaping -----------------------------------------------------------------------------------------------------


def prose(text: str, in_table: bool = False) -> str:
    """Text as one line of Markdown: words that could be markup, a mention or an address stand as code."""
    return " ".join(_word(word, in_table, index == 0) for index, word in enumerate(visible(text).split()))


def _whole(name: str) -> str:
    """A name as one piece: prose if that leaves it as it is, else all of it as code."""
    shown = prose(name)
    return shown if "`" not in shown else code(name)


def _word(word: str, in_table: bool, first: bool) -> str:
    if _PLAIN.fullmatch(word) and not _ACTIVE.search(word) and not (first and _LEADING.match(word)):
        return word
    return code(word.replace("|", "\\x7c") if in_table else word)


def code(text: str) -> str:
    """Text as a code span, with more backticks around it than there are in it."""
    text = " ".join(visible(text).split())
    ticks = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else ""


def fenced(lines: Iterable[str]) -> list[str]:
    """Lines as a block of plain text, with a fence longer than any run of backticks in it."""
    shown = [visible(line) for line in lines]
    fence = "`" * max(3, max(map(_longest_run, shown), default=0) + 1)
    return [f"{fence}text", *shown, fence]


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
