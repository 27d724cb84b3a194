"""The proof that a pattern implies its literals is never wrong, and good enough for the patterns that rules use."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attribution.rules.literals import ignores_case, implies
from attribution.rules.patterns import compile_pattern

from tests.examples import examples
from tests.work import calls

MAX_CALLS = 100_000
"""Function calls of a proof that gives up where a pattern unrolls too far."""


@pytest.mark.parametrize(
    ("pattern", "literals", "implied"),
    [
        ("abc", ["abc"], True),
        ("abc", ["b"], True),
        ("abc", ["abcd"], False),
        ("abc", [], False),
        ("abc", [""], False),
        ("a.c", ["a"], True),
        ("a.c", ["ac"], False),
        ("^abc$", ["abc"], True),
        (r"\bab\b cd", ["ab cd"], True),
        (r"ab\.c", ["ab.c"], True),
        ("a(?:b|c)d", ["abd", "acd"], True),
        ("a(?:b|c)d", ["abd"], False),
        ("a(?:b|c|)d", ["abd", "acd", "ad"], True),
        ("(?P<x>ab)c", ["abc"], True),
        ("[Pp]rolog failed", ["rolog failed"], True),
        ("[Pp]rolog failed", ["Prolog failed"], False),
        ("[Pp]rolog failed", ["Prolog", "prolog"], True),
        ("[a-z]rolog", ["rolog"], True),
        ("[a-z]rolog", ["prolog"], False),
        ("[^a]b", ["b"], True),
        ("ab?c", ["abc", "ac"], True),
        ("ab?c", ["abc"], False),
        ("ab*c", ["ac"], False),
        ("ab+c", ["ab"], True),
        ("ab+c", ["bc"], True),
        ("(?:ab){2}c", ["ababc"], True),
        ("(?:ab){2,3}c", ["abab"], False),
        ("(?:ab){2,3}c", ["ab"], True),
        ("(?:ab){0}c", ["ab"], False),
        ("(?:a|b){3}", ["aa", "bb", "aba", "bab"], True),
        ("(?:a|b){3}", ["aa", "bb"], False),
        (r"\d+ ab", [" ab"], True),
        ("a.{0,9}b.{0,9}c", ["a", "z"], True),
        ("(?i)Abc", ["aBC"], True),
        ("(?i:abc)d", ["abc"], False),
        ("(?i:abc)d", ["d"], True),
        ("abc|(?i:abd)", ["abc"], False),
        ("(?i)größe", ["größe"], False),  # the gate folds only ASCII
        ("(?i)größe: x", ["E: X"], True),
        ("größe", ["größe"], True),
        (r"proven.*\x00", ["zzzzzzzz"], False),
        ("a{,0}b", ["ab"], False),  # RE2 reads the braces as text
    ],
)
def test_implies(pattern: str, literals: list[str], implied: bool) -> None:
    assert implies(pattern, literals) is implied


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[[:alpha:]]y", r"write the characters of `\[:alpha:\]` as a range"),
        ("(a", "missing"),
        (r"\Qa\E", "bad escape"),
    ],
)
def test_what_two_parsers_read_differently_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(re.error, match=message):
        implies(pattern, ["a"])


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:[abcd][abcd][abcd][abcd]){4}x",
        "[ab]?" * 40 + "x",
        "(?:a|b|c){4}" * 20 + "x",
        "(?:(?:(?:a|b)?){4}){4}x",
        "(?:a?b?c?d?e?){3}x",
    ],
)
def test_patterns_that_unroll_far_take_bounded_work(pattern: str) -> None:
    assert implies(pattern, ["x"])
    assert calls(lambda: implies(pattern, ["q"])) < MAX_CALLS
    assert not implies(pattern, ["q"])


@pytest.mark.parametrize(("pattern", "ignored"), [("(?i)a", True), ("a", False), ("(?i:a)", False), ("(?is)a", True)])
def test_ignores_case(pattern: str, ignored: bool) -> None:
    assert ignores_case(pattern) is ignored


ATOMS = st.sampled_from(
    ["a", "b", "ab", "ba ", r"\.", ".", "[ab]", "[^a]", r"\d", r"\b", "(?:a|b)", "(?:ab|b|)", "(?i:ab)"]
)
REPEATS = st.sampled_from(["", "", "", "?", "*", "+", "{2}", "{1,3}", "{0,2}", "??", "+?"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 6))):
        atom, repeat = draw(ATOMS), draw(REPEATS)
        single = len(atom) == 1 or atom[0] in "[(" or (atom[0] == "\\" and atom != r"\b")
        parts.append(atom + repeat if single else atom if atom == r"\b" else f"(?:{atom}){repeat}")
    middle = "".join(parts)
    shape = draw(st.sampled_from(["{}", "{}", "x{}|ab{}", "(?P<n>{})c", "(?i){}", "(?:{}){{2}}"]))
    return shape.format(middle, middle)


@settings(max_examples=examples(200), deadline=None)
@given(st.data(), patterns(), st.lists(st.text("abx.c ", min_size=1, max_size=3), min_size=1, max_size=4))
def test_a_proof_is_never_wrong(data: st.DataObject, pattern: str, literals: list[str]) -> None:
    """Whatever the pattern matches holds a literal, if the proof says so."""
    assume(implies(pattern, literals))
    folded = ignores_case(pattern)
    compiled = compile_pattern(pattern)
    for _ in range(3):
        text = data.draw(st.from_regex(re.compile(pattern, re.ASCII), alphabet=st.characters(max_codepoint=127)))
        if compiled.search(text):
            seen, wanted = (text.lower(), [w.lower() for w in literals]) if folded else (text, literals)
            assert any(literal in seen for literal in wanted), (pattern, literals, text)
