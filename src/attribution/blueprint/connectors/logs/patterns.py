"""A path pattern with placeholders names the files of one attempt, and what could not be looked at is told."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attribution.blueprint.connectors import placeholders
from attribution.bundle.faults import reason

PLACEHOLDERS = (*placeholders.PLACEHOLDERS, "step", "node", "rank", "stream")
OF_A_JOB = frozenset({"workload_id", "job_id", "array_job_id"})
"""Placeholders of which each makes a file one of this job and no other."""
_TOKEN = re.compile(r"\{([^{}]*)\}|(\*+)|(\?)|([^{}*?]+)|([{}])")
_CAPTURES = {
    "node": r"(?P<node>[^/]+)",
    "rank": r"(?P<rank>\d{1,7})",
    "step": r"(?P<step>\d{1,10}|batch|extern|interactive)",
    "stream": r"(?P<stream>[A-Za-z]+)",
}
_COMPRESSED = r"(?:\.(?:gz|zst|xz|bz2|lz4|Z))?"
_ROTATED = r"(?:[.-]\d{1,14}(?:[T_-]\d{1,6}){0,2})?" + _COMPRESSED


@dataclass(frozen=True, slots=True)
class Match:
    """A path that fits the pattern, and what stood in the place of the placeholders that had no value."""

    path: Path
    node: str | None = None
    rank: int | None = None


@dataclass(slots=True)
class Looked:
    """What looking for files gave: matches in the order of their paths, and folders or files that refused."""

    matches: list[Match] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def why_wrong(pattern: str) -> str | None:
    """Why a pattern cannot be used, or None."""
    names = re.findall(r"\{([^{}]*)\}", pattern)
    unknown = [name for name in names if name not in PLACEHOLDERS]
    if unknown:
        return f"has the placeholder `{{{unknown[0]}}}`; known: {', '.join(f'{{{name}}}' for name in PLACEHOLDERS)}"
    if any(name in _CAPTURES and names.count(name) > 1 for name in names):
        return "has the same placeholder twice"
    if "{" in re.sub(r"\{[^{}]*\}", "", pattern) or "}" in re.sub(r"\{[^{}]*\}", "", pattern):
        return "has a brace that does not match"
    if "**" in pattern:
        return "has `**`; name the folders between with `*`"
    return None if pattern.strip("/") and "\0" not in pattern else "names no file"


def names_job(pattern: str) -> bool:
    """Whether the files that fit are those of one job only."""
    return any(has(pattern, placeholder) for placeholder in OF_A_JOB)


def closed(pattern: str) -> list[str]:
    """The placeholders of a pattern that must have a value, in the order of `PLACEHOLDERS`."""
    return [name for name in PLACEHOLDERS if has(pattern, name) and name not in _CAPTURES]


def has(pattern: str, placeholder: str) -> bool:
    """Whether a pattern has a placeholder."""
    return f"{{{placeholder}}}" in pattern


def is_safe(value: str) -> bool:
    """Whether a value may stand in a path without leading out of its folder."""
    return value not in {"", ".", ".."} and "/" not in value and "\0" not in value


def filled(pattern: str, values: Mapping[str, str]) -> str:
    """The pattern as people read it, with the values that are known."""
    for name, value in values.items():
        pattern = pattern.replace(f"{{{name}}}", value)
    return pattern


def look(pattern: str, values: Mapping[str, str], rotated: bool = False) -> Looked:
    """The files that fit. `values` holds the placeholders that are known; those that are captured may be open.

    With `rotated`, also what log rotation makes of a file's name: `.1`, `-20260504`, `.gz` and their like behind it.
    """
    looked = Looked()
    root = "/" if pattern.startswith("/") else ""
    *folders, last = (part for part in pattern.split("/") if part)
    shapes = [_compiled(part, values) for part in folders]
    shapes.append(_compiled(last, values, _suffix(last) if rotated else ""))
    for path, captured in _walk(root, shapes, {}, looked.refused):
        rank = captured.get("rank")
        looked.matches.append(Match(Path(path), captured.get("node"), None if rank is None else int(rank)))
    looked.matches.sort(key=lambda match: str(match.path))
    return looked


def _suffix(last: str) -> str:
    """What may stand behind the last part of a pattern. A number is none behind a placeholder: it may belong to it."""
    if last.endswith("*"):
        return ""
    return _COMPRESSED if last.endswith(("}", "?")) or last[-1].isdigit() else _ROTATED


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of a path: the name it is, or the shape of the names it stands for."""

    plain: str
    shape: re.Pattern[str] | None
    takes_hidden: bool


def _walk(
    folder: str, parts: Sequence[_Part], captured: dict[str, str], refused: dict[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """The paths below `folder` that fit the rest of the pattern, with what was captured on the way."""
    if not parts:
        yield folder, captured
        return
    part = parts[0]
    names = [part.plain] if part.shape is None else _listed(folder, refused)
    for name in names:
        path = os.path.join(folder, name)  # noqa: PTH118  a relative pattern begins at an empty text
        found = part.shape.fullmatch(name) if part.shape else None
        if part.shape is not None and (found is None or (name.startswith(".") and not part.takes_hidden)):
            continue
        if len(parts) == 1 and not _is_there(path, refused):
            continue
        yield from _walk(path, parts[1:], captured | (found.groupdict() if found else {}), refused)


def _compiled(part: str, values: Mapping[str, str], suffix: str = "") -> _Part:
    plain, shape, is_open = "", "", bool(suffix)
    for placeholder, stars, mark, text, _ in _TOKEN.findall(part):
        value = values.get(placeholder, "") if placeholder else text
        if (placeholder and placeholder not in values) or stars or mark:
            is_open = True
            shape += _CAPTURES[placeholder] if placeholder else "[^/]*" if stars else "[^/]"
        else:
            plain += value
            shape += re.escape(value)
    return _Part(plain, re.compile(shape + suffix, re.DOTALL) if is_open else None, part.startswith("."))


def _listed(folder: str, refused: dict[str, str]) -> list[str]:
    try:
        return sorted(os.listdir(folder or "."))  # noqa: PTH208  names are all that is wanted
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        refused[folder or "."] = reason(error)
        return []


def _is_there(path: str, refused: dict[str, str]) -> bool:
    try:
        os.stat(path)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        refused[path] = reason(error)
        return False
    return True
