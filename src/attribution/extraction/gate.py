"""A gate finds, in one pass over raw bytes, the places where some rule could match.

Each literal of the catalog is cut to the few bytes of it that are rarest in ordinary training logs; all cuts go into
one Hyperscan database. A hit says only "this rule may match the line here"; the rule's pattern decides. Where
Hyperscan has no wheel, google-re2 searches the same cuts: about a quarter of the speed, the same hits.
"""

import hashlib
import json
import logging
import platform
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Protocol

import re2

import attribution
from attribution.rules.cache import Cache, no_cache

try:
    import hyperscan as _hyperscan
except ImportError:  # no wheel for this machine
    _hyperscan = None  # type: ignore[assignment]
hyperscan: Any = _hyperscan

log = logging.getLogger(__name__)

MIN_CUT, MAX_CUT = 8, 12
"""Bytes of a literal that go into the gate. Shorter literals go in whole."""

_AWKWARD = frozenset(b'"\\<>&')
"""Bytes that JSON or HTML escape, so that a raw scan of an envelope could miss them."""

Hit = tuple[int, int]
"""(number of the cut, offset behind its last byte)"""


class Gate(Protocol):
    """Finds cuts in bytes."""

    def hits(self, data: bytes | memoryview) -> list[Hit]:
        """All places where a cut ends, in order of their ends."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Some bytes of a literal, and the numbers of the rules that they gate."""

    text: bytes
    ignore_case: bool
    rules: tuple[int, ...]


def cuts_of(literals: Iterable[tuple[int, str, bool]], cache: Cache = no_cache) -> tuple[Cut, ...]:
    """The cuts for (rule number, literal, ignores case), sorted."""
    given = list(literals)
    texts = sorted({(literal, ignore_case) for _, literal, ignore_case in given})

    def chosen() -> bytes:
        return json.dumps(
            [rarest(literal.encode(), ignore_case).decode("latin-1") for literal, ignore_case in texts]
        ).encode()

    name = (
        "cuts-" + hashlib.blake2b(repr((texts, attribution.__version__)).encode() + noise(), digest_size=16).hexdigest()
    )
    try:
        found = json.loads(cache(name, chosen))
        parts = {text: part.encode("latin-1") for text, part in zip(texts, found, strict=True)}
        if not all(part and part in literal.encode() for (literal, _), part in parts.items()):
            raise ValueError("cuts of other literals")
    except (ValueError, TypeError, AttributeError):  # a damaged cache entry
        parts = {text: rarest(text[0].encode(), text[1]) for text in texts}
    rules: dict[tuple[bytes, bool], set[int]] = {}
    for number, literal, ignore_case in given:
        rules.setdefault((parts[literal, ignore_case], ignore_case), set()).add(number)
    return tuple(
        Cut(text, ignore_case, tuple(sorted(numbers))) for (text, ignore_case), numbers in sorted(rules.items())
    )


@cache
def rarest(literal: bytes, ignore_case: bool = False) -> bytes:
    """The MIN_CUT to MAX_CUT bytes of a literal that are rarest in the noise sample."""
    if len(literal) <= MIN_CUT:
        return literal
    frequency = _noise_quads(ignore_case)
    probe = literal.lower() if ignore_case else literal

    def cost(window: tuple[int, int]) -> tuple[bool, int, int, int]:
        start, end = window
        part = probe[start:end]
        awkward = any(byte in _AWKWARD or byte > 126 for byte in part)
        return awkward, min(frequency.get(part[i : i + 4], 0) for i in range(len(part) - 3)), start - end, start

    sizes = range(MIN_CUT, min(MAX_CUT, len(literal)) + 1)
    windows = [(start, start + size) for size in sizes for start in range(len(literal) - size + 1)]
    start, end = min(windows, key=cost)
    return literal[start:end]


@cache
def noise() -> bytes:
    """The noise sample: ordinary lines of jobs that went well and of healthy nodes."""
    return resources.files("attribution.extraction").joinpath("noise.txt").read_bytes()


@cache
def _noise_quads(ignore_case: bool) -> dict[bytes, int]:
    """How often each run of four bytes stands in the noise sample: ordinary lines of jobs that went well."""
    sample = noise().lower() if ignore_case else noise()
    counts: dict[bytes, int] = {}
    for i in range(len(sample) - 3):
        quad = sample[i : i + 4]
        counts[quad] = counts.get(quad, 0) + 1
    return counts


def build_gate(cuts: Sequence[Cut], cache: Cache = no_cache) -> Gate:
    """The fastest gate that this machine has and that finds its own cuts."""
    if hyperscan is not None and cuts:
        for kept in (cache, no_cache):  # what was kept may be damaged, or another catalog's
            gate = HyperscanGate(cuts, kept)
            if finds_itself(gate, cuts):
                return gate
        log.warning("Hyperscan misses literals on this machine; google-re2 gates the scan instead, more slowly.")
    elif cuts:
        log.warning("Hyperscan has no wheel for this machine; google-re2 gates the scan instead, more slowly.")
    return Re2Gate(cuts)


def finds_itself(gate: Gate, cuts: Sequence[Cut]) -> bool:
    """Whether every cut is found in a text that holds them all."""
    text = b"\n".join(cut.text for cut in cuts)
    return {number for number, _ in gate.hits(text)} == set(range(len(cuts)))


class HyperscanGate:
    """All cuts in one Hyperscan block database. Safe to use from several threads; scanning releases the GIL."""

    def __init__(self, cuts: Sequence[Cut], cache: Cache) -> None:
        expressions = [_escaped(cut.text) for cut in cuts]
        flags = [hyperscan.HS_FLAG_CASELESS if cut.ignore_case else 0 for cut in cuts]

        def compiled() -> bytes:
            database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
            database.compile(expressions=expressions, ids=list(range(len(cuts))), flags=flags)
            return bytes(hyperscan.dumpb(database))

        name = _database_name(expressions, flags)
        try:
            self._database = hyperscan.loadb(cache(name, compiled), hyperscan.HS_MODE_BLOCK)
        except hyperscan.error:  # a damaged or foreign cache entry
            self._database = hyperscan.loadb(compiled(), hyperscan.HS_MODE_BLOCK)
        self._local = threading.local()

    def hits(self, data: bytes | memoryview) -> list[Hit]:
        """All places where a cut ends, in order of their ends."""
        found: list[Hit] = []
        append = found.append

        def on_match(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((number, end))

        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = hyperscan.Scratch(self._database)
        self._database.scan(data, match_event_handler=on_match, scratch=scratch)
        return found


class Re2Gate:
    """All cuts in one google-re2 alternation, searched again from inside each hit so that overlapping cuts are seen."""

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self._exact: dict[bytes, list[int]] = {}
        self._folded: dict[bytes, list[int]] = {}
        for number, cut in enumerate(cuts):
            table = self._folded if cut.ignore_case else self._exact
            table.setdefault(cut.text.lower() if cut.ignore_case else cut.text, []).append(number)
        parts = [_escaped(text) for text in sorted(self._exact)]
        parts += [b"(?i:" + _escaped(text) + b")" for text in sorted(self._folded)]
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.max_mem = (8 << 20) + len(parts) * (128 << 10)
        self._pattern: Any = re2.compile(b"|".join(parts), options=options) if parts else None
        self._sizes = sorted({len(cut.text) for cut in cuts})

    def hits(self, data: bytes | memoryview) -> list[Hit]:
        """All places where a cut ends, in order of their ends."""
        text = bytes(data)
        found: set[tuple[int, int]] = set()
        position = 0
        while self._pattern is not None and (match := self._pattern.search(text, position)):
            position = match.start() + 1
            for size in self._sizes:
                part = text[match.start() : match.start() + size]
                if len(part) < size:  # the end of the text
                    break
                for number in (*self._exact.get(part, ()), *self._folded.get(part.lower(), ())):
                    found.add((match.start() + size, number))
        return [(number, end) for end, number in sorted(found)]


def _escaped(text: bytes) -> bytes:
    return b"".join(bytes([b]) if chr(b).isalnum() and b < 128 else b"\\x%02x" % b for b in text)


def _database_name(expressions: Sequence[bytes], flags: Sequence[int]) -> str:
    parts = (
        repr(list(zip(expressions, flags, strict=True))),
        hyperscan.__version__,
        platform.machine(),
        platform.processor(),
    )
    return "hyperscan-" + hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
