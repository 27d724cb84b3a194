"""A list of nodes may be written short: `node-[01-04,07],login-1` names six."""

import re
from collections.abc import Iterator

MAX_NODES = 65_536
_RANGE = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?")


class HostlistError(ValueError):
    """A list of nodes that cannot be read; the message fits after its text."""


def expand(text: str) -> tuple[str, ...]:
    """The names that a list stands for, in its order, each once. Raises HostlistError."""
    names = dict.fromkeys(name for part in _parts(text) for name in _expanded(part, MAX_NODES))
    if not names:
        raise HostlistError("names no node")
    if len(names) > MAX_NODES:
        raise HostlistError(f"names more than {MAX_NODES} nodes")
    return tuple(names)


def _parts(text: str) -> Iterator[str]:
    """The list, parted at the commas outside of brackets."""
    depth, start = 0, 0
    for index, character in enumerate(text + ","):
        if character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
        if depth not in {0, 1}:
            raise HostlistError("has brackets that do not match")
        if character == "," and not depth:
            if part := text[start:index].strip():
                yield part
            start = index + 1
    if depth:
        raise HostlistError("has brackets that do not match")


def _expanded(part: str, room: int) -> list[str]:
    names = [""]
    for piece in re.split(r"(\[[^\]]*\])", part):
        choices = list(_choices(piece[1:-1], room)) if piece.startswith("[") else [piece]
        if len(names) * len(choices) > room:
            raise HostlistError(f"names more than {room} nodes")
        names = [name + choice for name in names for choice in choices]
    return names


def _choices(ranges: str, room: int) -> Iterator[str]:
    for item in ranges.split(","):
        found = _RANGE.fullmatch(item.strip())
        if not found:
            raise HostlistError(f"has `{item}` in brackets, which is neither a number nor a range of numbers")
        first, last = found.group(1), found.group(2) or found.group(1)
        if int(last) < int(first):
            raise HostlistError(f"has the range `{item}`, which runs backwards")
        if int(last) - int(first) >= room:
            raise HostlistError(f"names more than {room} nodes")
        for number in range(int(first), int(last) + 1):
            yield f"{number:0{len(first)}d}"
