"""A pattern is cut at its pieces, each cut leaves the rest as written, and is loose or narrow as it says."""

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from attribution.cli.catalog import load_rules
from attribution.rules.pieces import cuts


def of(pattern: str, what: str) -> list[tuple[str, str]]:
    return [(cut.piece, cut.pattern) for cut in cuts(pattern) if cut.what == what]


def test_alternatives_go_one_by_one_with_one_bar() -> None:
    assert of("a(?:b|cd|e)f", "alternative") == [("b", "a(?:cd|e)f"), ("cd", "a(?:b|e)f"), ("e", "a(?:b|cd)f")]
    assert of("one|two", "alternative") == [("one", "two"), ("two", "one")]
    assert of("a(?:b|)", "alternative") == [("b", "a(?:)")]


def test_a_bar_in_a_class_or_escaped_parts_nothing() -> None:
    assert of(r"[a|b]\|c", "alternative") == []
    assert of(r"[]|]x|y", "alternative") == [("[]|]x", "y"), ("y", "[]|]x")]


def test_named_groups_flags_and_nested_groups_are_read() -> None:
    assert of(r"(?i)(?P<a>x(?:y|z)|w)", "alternative") == [
        ("x(?:y|z)", "(?i)(?P<a>w)"),
        ("y", "(?i)(?P<a>x(?:z)|w)"),
        ("z", "(?i)(?P<a>x(?:y)|w)"),
        ("w", "(?i)(?P<a>x(?:y|z))"),
    ]


def test_only_optional_groups_are_optional_pieces() -> None:
    assert of(r"ab?(?:cd)?(ef)*(?:gh)??", "optional piece") == [
        ("(?:cd)?", "ab?(ef)*(?:gh)??"),
        ("(?:gh)??", "ab?(?:cd)?(ef)*"),
    ]


def test_anchors_go_alone() -> None:
    assert of(r"^a\bc$", "anchor") == [("^", r"a\bc$"), (r"\b", r"^ac$"), ("$", r"^a\bc")]


def test_runs_of_fixed_text_are_widened_if_long_enough() -> None:
    assert of(r"error: \d+ of \[x\]y", "fixed text") == [
        ("error: ", r".*\d+ of \[x\]y"),
        (r" of \[x\]y", r"error: \d+.*"),
    ]
    assert of(r"abcd{2}", "fixed text") == []
    assert of(r"abc\d", "fixed text") == []


def test_an_ending_that_must_be_there_goes() -> None:
    assert of(r"error: (?P<code>\d+)", "ending") == [(r"(?P<code>\d+)", "error: ")]
    for pattern in (r"error: \d*", r"error: (?:\d)?", r"\d error", r"error: \d$", "a|b", r"\d"):
        assert of(pattern, "ending") == []


@pytest.mark.slow
def test_every_cut_of_a_shipped_pattern_is_a_pattern() -> None:
    for rule in load_rules().catalog.extractors:
        for pattern in rule.patterns:
            for cut in cuts(pattern):
                re2.compile(cut.pattern)


WORDS = st.text("abc", min_size=1, max_size=5)


@given(st.lists(WORDS, min_size=2, max_size=4), st.text("abcd", max_size=12))
def test_a_loosened_pattern_matches_more_and_a_narrowed_one_less(words: list[str], text: str) -> None:
    pattern = f"^(?:{'|'.join(words)})(?:{words[0]})?dddd$"
    whole = re2.search(pattern, text + "dddd")
    for cut in cuts(pattern):
        found = re2.search(cut.pattern, text + "dddd")
        assert (not whole or found) if cut.loosens else (not found or whole), cut
