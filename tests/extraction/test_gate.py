"""A gate finds every place where a cut ends, whichever engine searches and whatever the cache holds."""

import json
import re
from collections.abc import Callable
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution.extraction import gate
from attribution.extraction.gate import Cut, Hit, HyperscanGate, Re2Gate, build_gate, cuts_of, finds_itself, no_cache

from tests.examples import examples

LETTERS = b"aAbB .\xc3\xa9"
texts = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=5).map(bytes)


@st.composite
def cut_sets(draw: st.DrawFn) -> tuple[Cut, ...]:
    pairs = draw(st.lists(st.tuples(texts, st.booleans()), min_size=1, max_size=6, unique=True))
    return tuple(Cut(text, ignore_case, (number,)) for number, (text, ignore_case) in enumerate(pairs))


def naive(cuts: tuple[Cut, ...], data: bytes) -> list[Hit]:
    """Every end of every cut, found by looking everywhere."""
    found = set()
    for number, cut in enumerate(cuts):
        for start in range(len(data)):
            part = data[start : start + len(cut.text)]
            if part == cut.text or (cut.ignore_case and part.lower() == cut.text.lower()):
                found.add((start + len(cut.text), number))
    return [(number, end) for end, number in sorted(found)]


def by_end(hits: list[Hit]) -> list[Hit]:
    assert [end for _, end in hits] == sorted(end for _, end in hits)
    return sorted(hits, key=lambda hit: (hit[1], hit[0]))


@settings(max_examples=examples(300), deadline=None)
@given(cut_sets(), st.lists(st.sampled_from(LETTERS), max_size=60).map(bytes))
def test_both_gates_find_what_a_naive_search_finds(cuts: tuple[Cut, ...], data: bytes) -> None:
    expected = naive(cuts, data)
    assert by_end(Re2Gate(cuts).hits(data)) == expected
    assert by_end(HyperscanGate(cuts, no_cache).hits(data)) == expected
    assert by_end(HyperscanGate(cuts, no_cache).hits(memoryview(data))) == expected


@pytest.mark.parametrize("make", [Re2Gate, lambda cuts: HyperscanGate(cuts, no_cache)])
def test_every_byte_can_be_searched(make: Callable[[tuple[Cut, ...]], gate.Gate]) -> None:
    """No byte has a meaning in a cut, alone or among others."""
    cuts = tuple(Cut(b"x" + bytes([byte]) + b"y", False, (byte,)) for byte in range(256))
    data = b"".join(cut.text for cut in cuts)
    assert make(cuts).hits(data) == [(byte, 3 * byte + 3) for byte in range(256)]


def test_a_gate_without_cuts_finds_nothing() -> None:
    assert build_gate(()).hits(b"anything") == []


class Blind:
    """A gate that misses one of its cuts."""

    def __init__(self, cuts: tuple[Cut, ...], _cache: gate.Cache) -> None:
        self._inner = Re2Gate(cuts[1:])

    def hits(self, data: bytes | memoryview) -> list[Hit]:
        return [(number + 1, end) for number, end in self._inner.hits(data)]


CUTS = (Cut(b"boom: ", False, (0,)), Cut(b"Fatal", True, (1,)))


def test_a_gate_that_misses_is_refused(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    assert not finds_itself(Blind(CUTS, no_cache), CUTS)
    assert finds_itself(Re2Gate(CUTS), CUTS)
    monkeypatch.setattr(gate, "HyperscanGate", Blind)
    assert isinstance(build_gate(CUTS), Re2Gate)
    assert caplog.messages == [
        "Hyperscan misses literals on this machine; google-re2 gates the scan instead, more slowly."
    ]


def test_where_hyperscan_has_no_wheel_re2_gates(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gate, "hyperscan", None)
    assert build_gate(CUTS).hits(b"FATAL boom: x") == [(1, 5), (0, 12)]
    assert caplog.messages == [
        "Hyperscan has no wheel for this machine; google-re2 gates the scan instead, more slowly."
    ]


def kept() -> tuple[dict[str, bytes], gate.Cache]:
    entries: dict[str, bytes] = {}

    def cache(name: str, make: Callable[[], bytes]) -> bytes:
        return entries.setdefault(name, make()) if name not in entries else entries[name]

    return entries, cache


def database(cuts: tuple[Cut, ...]) -> bytes:
    entries, cache = kept()
    build_gate(cuts, cache)
    (data,) = entries.values()
    return data


WHOLE = database(CUTS)


@pytest.mark.parametrize(
    "damaged",
    [b"", b"garbage", WHOLE[:-100], WHOLE[:200] + bytes(16) + WHOLE[216:], database((Cut(b"other", False, (0,)),))],
    ids=["empty", "garbage", "cut short", "overwritten", "another catalog's"],
)
def test_a_damaged_database_in_the_cache_is_survived(damaged: bytes, caplog: pytest.LogCaptureFixture) -> None:
    found = build_gate(CUTS, lambda _name, _make: damaged)
    assert isinstance(found, HyperscanGate)
    assert found.hits(b"FATAL boom: x") == [(1, 5), (0, 12)]
    assert not caplog.messages


def test_the_cache_is_asked_by_content() -> None:
    """Other cuts have another name; the same cuts are compiled once."""
    entries, cache = kept()
    for cuts in (CUTS, CUTS, CUTS[:1]):
        build_gate(cuts, cache)
    assert len(entries) == 2


LITERAL = "iteration loss learning rate: Xid lm loss elapsed time"


@pytest.mark.parametrize(
    "damaged", [b"", b"{", b"[]", b"[1]", b'["lost"]', b'[""]', json.dumps(["é€"]).encode()], ids=repr
)
def test_damaged_cuts_in_the_cache_are_chosen_anew(damaged: bytes) -> None:
    assert cuts_of([(0, LITERAL, False)], lambda _name, _make: damaged) == cuts_of([(0, LITERAL, False)])


NOISE = resources.files("attribution.extraction").joinpath("noise.txt").read_bytes()


def rarity(text: bytes) -> int:
    """How often the rarest four bytes of a text stand in the noise sample."""
    return min(len(re.findall(b"(?=" + re.escape(text[i : i + 4]) + b")", NOISE)) for i in range(len(text) - 3))


@pytest.mark.parametrize(
    "literal",
    [LITERAL, "GPU has fallen off the bus", "elapsed time per iteration (ms)", "NCCL INFO Connected all rings"],
)
def test_cuts_choose_rare_bytes(literal: str) -> None:
    """None of the literal's bytes are rarer in ordinary logs than those that were chosen."""
    (cut,) = cuts_of([(7, literal, False)])
    assert cut.text in literal.encode() and gate.MIN_CUT <= len(cut.text) <= gate.MAX_CUT
    assert rarity(cut.text) == rarity(literal.encode())
    assert cut.rules == (7,)


@pytest.mark.parametrize(
    "literal", ['"message": "boom and bust"', "<error> & <more boom and bust>", "größer: boom and bust"]
)
def test_cuts_avoid_bytes_that_envelopes_escape(literal: str) -> None:
    (cut,) = cuts_of([(0, literal, False)])
    assert cut.text in literal.encode()
    assert cut.text.isascii() and not set(cut.text) & set(b'"\\<>&')


def test_a_short_literal_goes_in_whole() -> None:
    assert cuts_of([(0, 'x: "y"', False)]) == (Cut(b'x: "y"', False, (0,)),)


def test_equal_cuts_share_their_rules() -> None:
    cuts = cuts_of([(2, "boom: ", False), (0, "boom: ", False), (1, "boom: ", True)])
    assert cuts == (Cut(b"boom: ", False, (0, 2)), Cut(b"boom: ", True, (1,)))
