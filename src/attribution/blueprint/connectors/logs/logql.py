"""LogQL queries with placeholders in their quoted values, and the filter that pushes the catalog's literals down."""

import re
from collections.abc import Callable, Iterator, Sequence

from attribution.blueprint.connectors.placeholders import PLACEHOLDERS

NODE, NODES = "node", "nodes"
"""The placeholders that make a query one of each node, and one of many nodes at once."""

_QUOTED = re.compile(r'(=~|!~|!=|\|=|\|~|=)?(\s*)"((?:[^"\\]|\\.)*)"|`[^`]*`')
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_MATCHER = re.compile(r"[{,]\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)")
_TAKES_PATTERN = {"=~", "!~", "|~"}
_AS_PATTERN = {"=": "=~", "!=": "!~", "|=": "|~"}

Values = Callable[[str], Sequence[str]]


def why_wrong(query: str) -> str | None:
    """Why a query cannot be used, or None. Its grammar is the server's business."""
    known = {*PLACEHOLDERS, NODE, NODES}
    outside = _QUOTED.sub('""', query)
    named = _PLACEHOLDER.findall(query)
    if unknown := [name for name in named if name not in known]:
        listed = ", ".join(f"{{{name}}}" for name in (*PLACEHOLDERS, NODE, NODES))
        return f"has the placeholder `{{{unknown[0]}}}`; known: {listed}"
    if NODE in named and NODES in named:
        return "has both `{node}` and `{nodes}`"
    if _PLACEHOLDER.search(outside) or len(placeholders(query)) < len(set(named)):
        return "has a placeholder outside of double quotes"
    if not query.lstrip().startswith("{") or "}" not in outside:
        return 'does not begin with a selector such as `{job="systemd", node="{node}"}`'
    return None


def placeholders(query: str) -> list[str]:
    """The placeholders in the quoted values of a query, each once."""
    quoted = (match[3] for match in _QUOTED.finditer(query) if match[3])
    return list(dict.fromkeys(name for text in quoted for name in _PLACEHOLDER.findall(text)))


def labels(query: str) -> set[str]:
    """The labels that the selector asks for."""
    return set(_MATCHER.findall(_QUOTED.sub(lambda match: (match[1] or "") + '""', selector(query))))


def selector(query: str) -> str:
    """The part of a query that selects streams: all up to the first brace outside of quotes that closes."""
    end = 0
    for match in _QUOTED.finditer(query):
        closing = query.find("}", end, match.start())
        if closing >= 0:
            return query[: closing + 1]
        end = match.end()
    return query[: query.find("}", end) + 1]


def filled(query: str, values: Values) -> str:
    """The query with values in the place of placeholders, escaped as where they stand needs it.

    Where a placeholder has several values, a comparison becomes one with a regular expression that takes any of them.
    """

    def quoted(match: re.Match[str]) -> str:
        operator, space, text = match[1], match[2], match[3]
        names = _PLACEHOLDER.findall(text or "")
        if not names:
            return match[0]
        several = any(len(values(name)) > 1 for name in names)
        if operator in _TAKES_PATTERN:
            return f'{operator}{space}"{_PLACEHOLDER.sub(lambda found: _escaped(_pattern(values(found[1]))), text)}"'
        if several and operator in _AS_PATTERN:
            plain = "".join(
                re.escape(_unescaped(part)) if index % 2 == 0 else _pattern(values(part))
                for index, part in enumerate(_PLACEHOLDER.split(text))
            )
            return f'{_AS_PATTERN[operator]}{space}"{_escaped(plain)}"'
        return f'{operator or ""}{space}"{_PLACEHOLDER.sub(lambda found: _escaped(values(found[1])[0]), text)}"'

    return _QUOTED.sub(quoted, query)


def _pattern(values: Sequence[str]) -> str:
    escaped = "|".join(re.escape(value) for value in values)
    return escaped if len(values) == 1 else f"(?:{escaped})"


def _escaped(text: str) -> str:
    """As it stands between double quotes."""
    return (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\x00")
    )


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1]), text)


def filters(literals: Sequence[str], most_bytes: int) -> tuple[str, ...]:
    """Line filters of at most `most_bytes` each, or of one literal; every line that holds a literal passes one.

    Case does not matter, as rules may not mind it. A quote or backslash may be escaped, as it is in records of JSON.
    """
    pieces: list[list[str]] = [[]]
    size = 0
    for literal in _shortest(literals):
        text = _escaped(_loose(literal))
        if pieces[-1] and size + len(text.encode()) + 1 > most_bytes:
            pieces.append([])
            size = 0
        pieces[-1].append(text)
        size += len(text.encode()) + 1
    return tuple(f' |~ "(?i){"|".join(piece)}"' for piece in pieces if piece)


def _loose(literal: str) -> str:
    """A literal as a pattern; each quote and backslash of it may stand behind more backslashes."""
    parts = (r"\\+" if c == "\\" else r'\\*"' if c == '"' else c if c == " " else re.escape(c) for c in literal)
    return "".join(parts)


def _shortest(literals: Sequence[str]) -> Iterator[str]:
    """The literals in small letters without those that hold another one, which would be found by it."""
    known = sorted({literal.lower() for literal in literals if literal}, key=lambda text: (len(text), text))
    kept: list[str] = []
    for literal in known:
        if not any(other in literal for other in kept):
            kept.append(literal)
    yield from sorted(kept)
