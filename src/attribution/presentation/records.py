"""A log line may be a JSON record; what people want to read is the message in it."""

import json
import re
from collections.abc import Iterable

_RECORD = re.compile(r'\{ ?"')
_MESSAGE = re.compile(r'"(?:log|message|MESSAGE|msg|body)" ?: ?"((?:[^"\\]|\\.)*+)("?)')


def message_of(text: str, decisive: Iterable[str] = ()) -> str:
    """The message in a JSON record, of several lines the one that holds the most `decisive` words; else the text.

    A record that was cut short is read as far as it goes.
    """
    record = _RECORD.search(text)
    found = _MESSAGE.search(text, record.start()) if record else None
    if found is None:
        return text
    try:
        message: str = json.loads(f'"{found[1].rstrip("…")}"', strict=False)
    except ValueError:
        return text
    if not message.strip():
        return text
    words = [word for word in decisive if word]
    lines = [line for line in message.splitlines() if line.strip()]
    best = max(lines, key=lambda line: sum(word in line for word in words))
    return best if found[2] else best + "…"
