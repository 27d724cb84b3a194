"""A body's bytes become plain JSON values, or a clear answer with the line and column that is wrong.

Bodies are hostile: compressed bombs, nesting, keys that stand twice, numbers without end. Memory is bounded by the
limits, and nothing raises anything but ServiceProblem.
"""

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import zstandard

from attribution.contracts.exchange import ProblemItem
from attribution.service.problems import INVALID, MALFORMED, TOO_LARGE, UNSUPPORTED, ServiceProblem, printable

ENCODINGS = ("gzip", "zstd")
"""Content encodings that are read, beside none."""

MAX_DIGITS = 40
"""Digits of a whole number; no field of the contracts needs more than 20."""

_CHUNK = 1 << 16
_STEP = 512  # four bytes of zstd may stand for 128 KiB, so this is at most 16 MiB at a time
_WINDOW_BYTES = 1 << 27
_BREAK = re.compile(r"\r\n|\n|\r")
_MARK = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|[,\[{]', re.DOTALL)
"""A text, whole; or what begins one more value."""
_WORD = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|NaN|-?Infinity', re.DOTALL)


# --- decompression --------------------------------------------------------------------------------------------------


def decompress(data: bytes, encoding: str, limit: int, what: str = "decompressed body") -> bytes:
    """The body without its content encoding. ServiceProblem: 415 unknown, 413 beyond `limit` bytes, 400 damaged."""
    if encoding in {"", "identity"}:
        pieces: Iterator[bytes] = iter((data,))
    elif encoding == "gzip":
        pieces = _gunzip(data)
    elif encoding == "zstd":
        pieces = _unzstd(data)
    else:
        detail = f"The content encoding `{printable(encoding)}` is not read here."
        item = ProblemItem(
            place="header Content-Encoding", code="unknown-value", message="is not known", remedy="one of: gzip, zstd"
        )
        raise ServiceProblem(UNSUPPORTED, detail, [item])
    plain = bytearray()
    try:
        for piece in pieces:
            plain += piece
            if len(plain) > limit:
                raise too_large(what, limit)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise ServiceProblem(MALFORMED, f"The body is no whole {encoding} data: {printable(error)}.") from None
    return bytes(plain)


def too_large(what: str, limit: int, unit: str = "bytes", remedy: str = "send smaller batches") -> ServiceProblem:
    """The problem of a body over its limit."""
    message = f"the {what} is over {limit} {unit}"
    item = ProblemItem(place="body", code="too-large", message=message, remedy=remedy)
    return ServiceProblem(TOO_LARGE, f"T{message[1:]}.", [item])


def _gunzip(data: bytes) -> Iterator[bytes]:
    while data:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            piece = member.decompress(data, _CHUNK)
            data = member.unconsumed_tail
            if not piece and not data and not member.eof:
                raise EOFError("it ends early")
            yield piece
        data = member.unused_data


def _unzstd(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).decompressobj()
        while not frame.eof:
            if at >= len(data):
                raise EOFError("it ends early")
            yield frame.decompress(data[at : at + _STEP])
            at += _STEP
        at = min(at, len(data)) - len(frame.unused_data)


# --- JSON -----------------------------------------------------------------------------------------------------------


def refuse_many(data: bytes, most: int, what: str) -> None:
    """ServiceProblem (413) if JSON holds more than about `most` values, told before any of them is made.

    A value of three bytes takes a hundred when it is made, so that the size of a body says little.
    """
    if data.count(b",") + data.count(b"[") + data.count(b"{") <= most:
        return
    count = 0
    for found in _MARK.finditer(data):
        count += found[0][:1] != b'"'
        if count > most:
            raise too_large(what, most, "values")


class Twice(dict[str, Any]):
    """A mapping in which a key stood twice; `key` is the first that did."""

    __slots__ = ("key",)

    def __init__(self, pairs: list[tuple[str, Any]], key: str) -> None:
        super().__init__(pairs)
        self.key = key


class Malformed(ValueError):
    """Text that is no JSON: what is wrong, and where."""

    def __init__(self, message: str, place: str, word: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.word = word


def parse(text: str) -> Any:
    """The value of a JSON text; mappings in which a key stands twice are `Twice`. Raises Malformed."""
    try:
        return _DECODER.decode(text)
    except Malformed as error:
        raise Malformed(error.message, _place_of_word(text) if error.word else error.place) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Malformed(error.msg[:1].lower() + error.msg[1:], place) from None
    except RecursionError:
        raise Malformed("nests too deep", "body") from None


def read_text(data: bytes) -> str:
    """The text of a body. ServiceProblem (400) with the offset if it is no UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        raise _malformed(Malformed("is not UTF-8 text", f"line {line}, column {column}"), "send UTF-8") from None


def read_json(data: bytes) -> Any:
    """The value of a JSON body. ServiceProblem (400) with line and column if it is none."""
    try:
        return parse(read_text(data))
    except Malformed as error:
        raise _malformed(error, "send one JSON value") from None


def read_lines(data: bytes, most: int) -> list[Any]:
    """The value of each line of an NDJSON body, or Malformed where a line is none. Blank lines are passed over.

    The lines beyond the first `most` and one that hold something are not read: who calls refuses so many.
    """
    values: list[Any] = []
    for number, line in enumerate(_lines(read_text(data)), 1):
        if len(values) > most:
            break
        if line.strip():
            try:
                values.append(parse(line))
            except Malformed as error:
                place = error.place.replace("line 1", f"line {number}") if "line" in error.place else f"line {number}"
                values.append(Malformed(error.message, place))
    return values


def _lines(text: str) -> Iterator[str]:
    at = 0
    for found in _BREAK.finditer(text):
        yield text[at : found.start()]
        at = found.end()
    yield text[at:]


@dataclass(frozen=True, slots=True)
class Fault:
    """What JSON allows and no contract does: where it stands (a JSON pointer), and what to do."""

    place: str
    code: str
    message: str
    remedy: str


def fault_in(value: Any) -> Fault | None:
    """A key that stands twice in a mapping, or a text with half a surrogate pair, wherever in the value; or None."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, Twice):
            return Fault(
                printable(place) or "/", "key-twice", f"has the key `{printable(item.key)}` twice", "remove one"
            )
        if isinstance(item, dict):
            waiting += [(place, key) for key in item]
            waiting += [(f"{place}/{key}", inner) for key, inner in item.items() if isinstance(inner, _WALKED)]
        elif isinstance(item, list):
            waiting += [(f"{place}/{index}", inner) for index, inner in enumerate(item) if isinstance(inner, _WALKED)]
        elif isinstance(item, str) and not _is_text(item):
            return Fault(printable(place) or "/", "wrong-value", "has half a surrogate pair", "send whole characters")
    return None


_WALKED = (dict, list, str)


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_faults(value: Any) -> None:
    """ServiceProblem (422) if there is a fault anywhere in a value."""
    if (fault := fault_in(value)) is not None:
        item = ProblemItem(place=fault.place, code=fault.code, message=fault.message, remedy=fault.remedy)
        raise ServiceProblem(INVALID, f"At {fault.place}: {fault.message}.", [item])


def _malformed(error: Malformed, remedy: str) -> ServiceProblem:
    item = ProblemItem(place=error.place, code="malformed", message=printable(error.message), remedy=remedy)
    return ServiceProblem(MALFORMED, f"The body cannot be read at {error.place}: {printable(error.message)}.", [item])


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return Twice(pairs, twice)


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Malformed(f"holds a number of more than {MAX_DIGITS} digits", "body")
    return int(digits)


def _no_number(word: str) -> Any:
    raise Malformed(f"holds `{word}`, which is no JSON number", "body", word=True)


def _place_of_word(text: str) -> str:
    """Where the first `NaN` or `Infinity` stands that is no part of a text."""
    at = next(found.start() for found in _WORD.finditer(text) if found[0][0] != '"')
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"


_DECODER = json.JSONDecoder(object_pairs_hook=_mapping, parse_int=_whole, parse_constant=_no_number)
