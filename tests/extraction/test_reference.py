"""The scanner finds exactly what the reference extractor finds, wherever its windows begin and end."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution.bundle.evidence import StreamKey
from attribution.bundle.names import NodeNames
from attribution.extraction import windows
from attribution.extraction.clock import ClockRules
from attribution.extraction.ruleset import RuleSet, RuleSets

from tests.examples import examples
from tests.extraction.reference import Reference, found_by
from tests.extraction.texts import body_of, given_lines, random_lines
from tests.extraction.toys import CONTEXT, KEY, TOYS, scan

CHUNKS = (4 << 10, 64 << 10, 1 << 20)

TOY_LINES = [
    "boom: disk",
    "boom: a boom: b",
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    "ValueError: no such shape",
    "ALERT begins",
    "code=17",
    "unit=SM",
    "FATAL Disaster struck",
    "fatal disasters",
    "step 12 loss 2.1",
    "",
    " ",
]
TOY_PREFIXES = [
    "",
    "",
    "[rank3]:",
    "[rank4]: ",
    "2026-05-04T03:06:58.112Z ",
    "7: ",
    "\x1b[31m",
    "\r",
    "10%\r",
    "\0",
    "é",
    "\udcff",
]


def assert_same(body: bytes, rules: RuleSet, key: StreamKey) -> int:
    """The scan of a body equals the reference; answers how much there was to find."""
    expected = Reference(rules.rules, key, ClockRules.of(None, CONTEXT), NodeNames(CONTEXT.nodes)).find(body)
    found = found_by(scan(body, rules, key))
    assert (expected - found, found - expected) == ({}, {}), "missed, extra"
    return expected.total()


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TOY_PREFIXES), st.sampled_from(TOY_LINES)), max_size=40), st.integers(8, 200))
def test_toy_lines(lines: list[tuple[str, str]], chunk: int) -> None:
    """Lines of the toy rules in any order, in windows of a few lines each."""
    longest = max((len(a + b) for a, b in lines), default=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "CHUNK", chunk + 4 * longest)  # a longer line would be cut, by design
        assert_same(body_of([a + b for a, b in lines]), TOYS, KEY)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes(body: bytes) -> None:
    """But the vertical tab, which is white space to `re` and not to RE2."""
    assert_same(body.replace(b"a", b"boom: x").replace(b"\x0b", b""), TOYS, KEY)


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_random_logs_of_the_shipped_rules(
    shipped: RuleSets, seed: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "CHUNK", chunk)
    rng = random.Random(seed)
    groups = given_lines(shipped.catalog)
    total = 0
    for source in sorted(set(groups) & {source for rule in shipped.catalog.extractors for source in rule.sources}):
        lines = random_lines(rng, groups[source], 500)
        lines = [line for line in lines if len(line) < chunk // 2]  # a longer one would be cut, by design
        key = StreamKey(source, rng.choice((None, "node-01")), rng.choice((None, 3)), "log")
        total += assert_same(body_of(lines, rng.choice(("\n", "\r\n"))), shipped[source], key)
    assert total > 100


def test_every_line_of_every_case(shipped: RuleSets) -> None:
    """Also the case lines as they stand, so that no rule is left to chance."""
    for source, groups in given_lines(shipped.catalog).items():
        if any(source in rule.sources for rule in shipped.catalog.extractors):
            lines = [line for group in groups for line in (*group, "step 12 loss 2.1")]
            assert_same(body_of(lines), shipped[source], StreamKey(source, None, None, "log"))
