"""`why-not` names the condition that failed, and the line or sample at which it did."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from attribution.bundle.reader import open_bundle
from attribution.cli.catalog import SHIPPED
from attribution.cli.why_not import answer
from attribution.cli.why_not_text import departure
from attribution.diagnosis.verify import verify
from attribution.extraction.ruleset import RuleSets
from attribution.rules.pieces import alternatives

from tests.cli.toys import FILES, HOT, RELATION, TAGS, toy_rules, write_bundle
from tests.cli.toys import LOST as LOST_RULE

LOST = "2026-05-04T03:00:00Z node-01 toyd: toy device 0000:1b:00 is lost (code 7)\n"
STALLED = "2026-05-04T03:00:10Z toy: rank stalled\n2026-05-04T03:00:10Z peers: 3\n"
CONTEXT = "workload_id: w\nstarted_at: 2026-05-04T02:00:00Z\nended_at: 2026-05-04T04:00:00Z\nnodes: [{name: node-01}]\n"


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> RuleSets:
    return toy_rules(tmp_path_factory.mktemp("toys"))


def why_not(rules: RuleSets, word: str, bundle: Path) -> list[str]:
    rule = rules.catalog.rule(word)
    assert rule is not None
    with open_bundle(bundle) as evidence:
        return list(answer(rules, rule, evidence))


def test_the_toys_hold(toys: RuleSets) -> None:
    assert verify(toys) == ()


# --- text -----------------------------------------------------------------------------------------------------------


def test_no_source_but_the_literal_elsewhere(toys: RuleSets, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, applog__node_01=LOST)
    assert why_not(toys, "TOY001", bundle) == [
        "TOY001 toy-device-lost",
        "  No evidence of a source that it reads: syslog.",
        "  One of its literals stands in 1 line of sources that it does not read:",
        "    applog/node-01.log:1  " + LOST.strip(),
    ]


def test_no_literal(toys: RuleSets, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, syslog__node_01="2026-05-04T03:00:00Z node-01 kernel: all is well\n")
    assert why_not(toys, "toy-device-lost", bundle) == [
        "TOY001 toy-device-lost",
        "  None of 1 stream (syslog) holds a line with `toy device `.",
    ]


def test_the_part_of_the_pattern_that_a_line_departs_from(toys: RuleSets, tmp_path: Path) -> None:
    line = "2026-05-04T03:00:00Z node-01 toyd: toy device 0000:1b:00 is lost [code 7]"
    bundle = write_bundle(tmp_path, syslog__node_01=f"2026-05-04T02:59:59Z node-01 kernel: x\n{line}\n")
    assert why_not(toys, "TOY001", bundle) == [
        "TOY001 toy-device-lost",
        "  1 line holds one of its literals, but none matches:",
        f"    syslog/node-01.log:2  {line}",
        "      fits as far as `toy device 0000:1b:00 is lost `",
        r"      then the pattern asks for `\(code (?P<code>\d+)\)`, and the line has `[code 7]`",
    ]


def test_the_literal_stands_only_in_what_is_taken_off(tmp_path: Path) -> None:
    own = LOST_RULE.replace("'toy device '", "'toyd: toy'").replace("'^toy device ", "'toyd: toy device ")
    rules = toy_rules(tmp_path / "rules", {**FILES, "lost.yaml": own.replace("syslog | toy", "syslog | x toyd: toy")})
    found = why_not(rules, "TOY001", write_bundle(tmp_path / "b", syslog__node_01=LOST))
    assert found[1:] == [
        "  None of 1 stream (syslog) holds a line with `toyd: toy`.",
        "  In 1 line one stands only in the stamp, host and program that are taken off before a rule reads:",
        "    syslog/node-01.log:1  " + LOST.strip(),
    ]


def test_many_near_lines_are_counted(toys: RuleSets, tmp_path: Path) -> None:
    lines = "".join(f"2026-05-04T03:00:{i:02}Z node-01 toyd: toy device 0000:{i:02}:00 is back\n" for i in range(9))
    found = why_not(toys, "TOY001", write_bundle(tmp_path, syslog__node_01=lines))
    assert found[1] == "  9 lines hold one of its literals, but none matches:"
    assert found[-1] == "    and 4 more" and len(found) == 3 + 5 * 3


def test_the_lines_after_it_do_not_follow(toys: RuleSets, tmp_path: Path) -> None:
    text = "2026-05-04T03:00:10Z toy: rank stalled\n2026-05-04T03:00:10Z alone\n"
    found = why_not(toys, "TOY002", write_bundle(tmp_path, applog__node_01=text))
    assert found[-2:] == [
        r"      fits its pattern, but the lines after it do not match `^peers: (?P<peers>\d+)`:",
        "      | alone",
    ]


def test_out_of_the_attempts_time(toys: RuleSets, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, syslog__node_01=LOST.replace("05-04", "05-01"), context=CONTEXT)
    found = why_not(toys_with_window(tmp_path), "TOY001", bundle)
    assert found[1].startswith("  It fired on 1 line; the first: syslog/node-01.log:1")
    span = "2026-05-04 01:45:00.000Z to 2026-05-04 04:15:00.000Z"
    assert found[2] == f"  Outside of the attempt's time ({span}), so only context: 1 of them."


def toys_with_window(folder: Path) -> RuleSets:
    """The toys with the shipped filter that looks at the time."""
    window = (SHIPPED / "core" / "attempt_window.py").read_text().replace("XID_79", "TOY_LOST")
    return toy_rules(folder / "rules", {**FILES, "attempt_window.py": window})


def test_fired_and_set_aside_by_whom(toys: RuleSets, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, syslog__node_01=LOST, applog__node_01=STALLED)
    by = "TOY004 because of TOY_LOST on node-01: it waits for a lost toy device"
    assert why_not(toys, "TOY002", bundle) == [
        "TOY002 toy-rank-stalled",
        "  It fired on 1 line; the first: applog/node-01.log:1  2026-05-04T03:00:10Z toy: rank stalled",
        f"  TOY_STALLED on node-01 was set aside by {by}",
    ]
    assert why_not(toys, "TOY001", bundle)[-1] == "  TOY_LOST on node-01 stands, and is given as the cause."


def test_hostile_text_is_shown_harmless(toys: RuleSets, tmp_path: Path) -> None:
    text = "2026-05-04T03:00:00Z node-01 toyd: toy device \u202e\x07 here\n"
    found = "\n".join(why_not(toys, "TOY001", write_bundle(tmp_path, syslog__node_01=text)))
    assert "\\u202e\\x07" in found and "\u202e" not in found and "\x07" not in found


@pytest.mark.parametrize(
    ("pattern", "atoms"),
    [
        (r"a|b+c", [["a"], ["b+", "c"]]),
        (r"^(?:x|y)\(?[|)\]]{2,3}?$", [["^", "(?:x|y)", r"\(?", r"[|)\]]{2,3}?", "$"]]),
        (r"[]|]\d*?(?P<n>(a)|[)])", [["[]|]", r"\d*?", "(?P<n>(a)|[)])"]]),
        (r"a\|b", [["a", r"\|", "b"]]),
        ("", [[]]),
    ],
)
def test_a_pattern_is_taken_apart(pattern: str, atoms: list[list[str]]) -> None:
    assert alternatives(pattern) == atoms


def test_every_shipped_pattern_can_be_taken_apart(shipped: RuleSets) -> None:
    for rule in shipped.catalog.extractors:
        for pattern in rule.patterns:
            flags = pattern[: pattern.index(")") + 1] if pattern.startswith("(?i)") else ""
            assert flags + "|".join("".join(atoms) for atoms in alternatives(pattern[len(flags) :])) == pattern
    for rule in shipped.catalog.extractors[::9]:
        assert departure(rule.patterns[0], "a line \x00 that no rule knows").wanted


@pytest.mark.parametrize(
    ("pattern", "text", "fits", "wanted", "met"),
    [
        (r"quota: (\d+) of (\d+)", "the quota: 12 off 3", "quota: 12 of", r" (\d+)", "f 3"),
        (r"(?i)QUOTA: \d+", "quota: x", "quota: ", r"\d+", "x"),
        (r"never|some: \d+", "some: thing", "some: ", r"\d+", "thing"),
        (r"^some: \d+$", "some: 1x", "some: 1", "$", "x"),
        (r"abc", "zzz", "", "abc", "zzz"),
    ],
)
def test_where_a_line_departs(pattern: str, text: str, fits: str, wanted: str, met: str) -> None:
    found = departure(pattern, text)
    assert (found.fits, found.wanted, found.met) == (fits, wanted, met)


# --- metrics --------------------------------------------------------------------------------------------------------


def samples(name: str, *values: float, labels: str = 'gpu="3",sensor="core"') -> str:
    start = 1_777_863_600
    return "".join(f'{name}{{instance="node-01:1",{labels}}} {v} {start + 30 * i}.0\n' for i, v in enumerate(values))


def test_no_metrics(toys: RuleSets, tmp_path: Path) -> None:
    assert why_not(toys, "TOY003", write_bundle(tmp_path, applog__node_01="step 1\n"))[1:] == [
        "  No series in the evidence of node_metrics; it reads toy_temperature, toy_temp."
    ]


def test_a_metric_of_another_name(toys: RuleSets, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, metrics__node_01=samples("toy_temps", 95, 96))
    assert why_not(toys, "TOY003", bundle)[1:] == [
        "  None of 1 series is called toy_temperature, toy_temp. (did you mean `toy_temps`?)"
    ]


def test_other_labels(toys: RuleSets, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, metrics__node_01=samples("toy_temp", 95, 96, labels='gpu="3",sensor="fan"'))
    assert why_not(toys, "TOY003", bundle)[1:] == [
        "  All 1 series of that name have other labels than sensor=core or memory:",
        '    toy_temp{gpu="3",instance="node-01:1",sensor="fan"}',
    ]


def test_the_closest_sample(toys: RuleSets, tmp_path: Path) -> None:
    text = samples("toy_temp", 80, 85, 70) + samples("toy_temp", 95, 96, 60, labels='gpu="4",sensor="core"')
    assert why_not(toys, "TOY003", write_bundle(tmp_path, metrics__node_01=text))[1:] == [
        "  It asks for a value above 90 for 60 s. Of 2 series the closest:",
        '    toy_temp{gpu="4",instance="node-01:1",sensor="core"} on node-01',
        "      it was there for 30 s only, from 2026-05-04 03:00:00.000Z on, with 95",
        '    toy_temp{gpu="3",instance="node-01:1",sensor="core"} on node-01',
        "      the nearest sample is 85 at 2026-05-04 03:00:30.000Z",
    ]


@pytest.mark.parametrize(
    ("when", "values", "asked", "said"),
    [
        ("{increase: 5}", (1, 2, 3), "a rise by 5", "it rose by 2 in all, last at 2026-05-04 03:01:00.000Z"),
        ("{increase: 5}", (1, 1), "a rise by 5", "it never rose (last read at 2026-05-04 03:00:30.000Z)"),
        ("{equals: 4}", (1, 3), "a value of 4", "the nearest sample is 3 at 2026-05-04 03:00:30.000Z"),
        ("{below: 0, for_secs: 9}", (1, 3), "a value below 0 for 9 s",
         "the nearest sample is 1 at 2026-05-04 03:00:00.000Z"),
        ("{blank_for_secs: 90}", (1, 3), "silence for 90 s while others of its scrape go on",
         "it was never silent while others went on (last read at 2026-05-04 03:00:30.000Z: 3)"),
    ],
)  # fmt: skip
def test_every_condition_has_a_closest(
    tmp_path: Path, when: str, values: tuple[float, ...], asked: str, said: str
) -> None:
    hot = HOT.replace("{above: 90, for_secs: 60}", when)
    rules = toy_rules(tmp_path / "rules", {"hot.yaml": hot, "tags.yaml": TAGS})
    found = why_not(rules, "TOY003", write_bundle(tmp_path / "b", metrics__node_01=samples("toy_temp", *values)))
    assert found[1] == f"  It asks for {asked}. Of 1 series the closest:"
    assert found[3] == f"      {said}"


def test_a_metric_rule_that_fired(toys: RuleSets, tmp_path: Path) -> None:
    found = why_not(toys, "TOY003", write_bundle(tmp_path, metrics__node_01=samples("toy_temp", 95, 96, 97)))
    assert found[1].startswith("  It fired on 1 span; the first: metrics/node-01.log:1  toy_temp{")
    assert found[2:] == ["  TOY_HOT on node-01 stands as effect."]


# --- relations ------------------------------------------------------------------------------------------------------


def test_a_side_is_absent(toys: RuleSets, tmp_path: Path) -> None:
    assert why_not(toys, "TOY004", write_bundle(tmp_path, applog__node_01="step 1\n"))[1:] == [
        "  No finding that it takes for cause: tag:toy_fault.",
        "  No finding that it takes for effect: TOY_STALLED.",
    ]


@pytest.mark.parametrize(
    ("lost", "stalled", "said"),
    [
        (LOST, ("applog__node_02", STALLED), "scope: it asks for `same_node`, and these are node-01 and node-02"),
        (LOST.replace("03:00:00", "03:00:20"), ("applog__node_01", STALLED),
         "order: the cause provably came later than the effect (10 s)"),
        (LOST.replace("03:00:00", "02:30:00"), ("applog__node_01", STALLED),
         "distance: they are 1810 s apart, and it allows 60 s"),
        (LOST.replace("2026-05-04T03:00:00Z", "May  4 03:00:00"), ("applog__node_01", STALLED),
         "order: it asks that the cause provably came first, and their clocks cannot be compared"),
        (LOST.replace("03:00:00", "03:00:10"), ("applog__node_01", STALLED),
         "order: it asks that the cause provably came first, and they are 0 s apart, less than their clocks prove"),
    ],
)  # fmt: skip
def test_scope_order_and_distance(
    toys: RuleSets, tmp_path: Path, lost: str, stalled: tuple[str, str], said: str
) -> None:
    bundle = write_bundle(tmp_path, syslog__node_01=lost, **dict([stalled]))
    found = why_not(toys, "TOY004", bundle)
    assert found[1] == "  It holds for none of 1 pair of a cause and an effect; the closest:"
    assert found[2].startswith("    TOY_LOST on node-01 (syslog/node-01.log:1) and TOY_STALLED on node-0")
    assert found[3].startswith(f"      {said}")


def test_a_relation_that_decided(toys: RuleSets, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, syslog__node_01=LOST, applog__node_01=STALLED)
    assert why_not(toys, "TOY004", bundle)[1:] == [
        "  It decided 1 time:",
        "    demote TOY_STALLED on node-01: it waits for a lost toy device",
    ]


def test_a_relation_that_another_came_before(tmp_path: Path) -> None:
    wider = RELATION.replace("TOY004", "TOY006").replace("toy-loss", "toy-far-loss").replace("same_node", "job")
    rules = toy_rules(tmp_path / "rules", {**FILES, "wider.yaml": wider})
    bundle = write_bundle(tmp_path / "b", syslog__node_01=LOST, applog__node_01=STALLED)
    assert why_not(rules, "TOY006", bundle)[1:] == [
        "  It holds for 1 pair, but decided nothing:",
        "    TOY_LOST on node-01 (syslog/node-01.log:1) could explain TOY_STALLED on node-01 (applog/node-01.log:1)",
        "      TOY004 explains it already, by TOY_LOST on node-01 (syslog/node-01.log:1)",
    ]


# --- filters and refiners -------------------------------------------------------------------------------------------


def test_what_a_refiner_needs_is_absent(toys: RuleSets, tmp_path: Path) -> None:
    assert why_not(toys, "TOY005", write_bundle(tmp_path, syslog__node_01=LOST))[1:] == [
        "  It needs TOY_LOST: there is TOY_LOST on node-01 (syslog/node-01.log:1).",
        "  It needs tag:toy_echo, and the evidence shows none.",
    ]


def test_what_a_refiner_needs_was_set_aside_before(toys: RuleSets, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, syslog__node_01=LOST, applog__node_01=STALLED)
    found = why_not(toys, "TOY005", bundle)
    assert found[2] == (
        "  It needs tag:toy_echo: there is TOY_STALLED on node-01 (applog/node-01.log:1), set aside by TOY004."
    )


def test_a_refiner_that_abstained(toys: RuleSets, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, syslog__node_01=LOST, applog__node_02=STALLED)
    assert why_not(toys, "TOY005", bundle)[-3:] == [
        "  It was asked, and found nothing to decide.",
        "  What it looks for: A lost device that a rank of its node waits for is kept.",
        "  What it misses: Ranks that say nothing.",
    ]


# --- the shipped catalog --------------------------------------------------------------------------------------------


def _every(shipped: RuleSets, bundle: Path) -> Iterator[list[str]]:
    for rule in shipped.catalog.rules[::17]:
        yield why_not(shipped, rule.info.id, bundle)


def test_there_is_an_answer_for_every_kind_of_shipped_rule(shipped: RuleSets, root: Path) -> None:
    for found in _every(shipped, root / "samples" / "nvlink-signal-integrity"):
        assert len(found) > 1 and all(line == line.rstrip() for line in found)
