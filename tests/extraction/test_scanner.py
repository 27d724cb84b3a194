"""A scan keeps what a stream says exactly and boundedly, whatever the stream is like."""

import gzip
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution.bundle.compression import open_plain
from attribution.bundle.evidence import EvidenceStream, text_segment
from attribution.bundle.names import NodeNames
from attribution.contracts.vocabulary import DeviceKind, Source
from attribution.events.event import Device, Event
from attribution.events.moment import SECOND
from attribution.extraction import scanner, windows
from attribution.extraction.clock import ClockRules
from attribution.extraction.flood import Limits
from attribution.extraction.lines import Line, peel
from attribution.extraction.ruleset import RuleSet, RuleSets
from attribution.extraction.scanner import scan_stream
from attribution.rules.api import Finding, Match

from tests.examples import examples
from tests.extraction.toys import CONTEXT, KEY, RULES, TOYS, catalog_of, extractor, rules_of, scan
from tests.work import calls

NOISE = "step 12 loss 2.1 grad norm 0.7\n"


def at(second: int) -> str:
    return datetime.fromtimestamp(1_777_863_600 + second, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ ")


def seconds(event: Event) -> int | None:
    return event.moment and event.moment.us // SECOND - 1_777_863_600


def traceback(says: str = "ValueError: no", frames: int = 2, prefix: str = "") -> str:
    lines = ["Traceback (most recent call last):"]
    for number in range(frames):
        lines += [f'  File "train.py", line {number}, in run', f"    run({number})"]
    return "".join(f"{prefix}{line}\n" for line in [*lines, says])


# --- rules of which only the last line counts ----------------------------------------------------------------------


LAST = {
    "where the gate points": rules_of(extractor("TOY006", "STEP", ["toy step"], r"toy step (?P<step>\d+)", last=True)),
    "in every window": rules_of(extractor("TOY006", "STEP", ["step"], r"(?i:toy step) (?P<step>\d+)", last=True)),
}


def test_a_rule_of_common_words_is_asked_of_every_window() -> None:
    assert [bool(rules.asked) for rules in LAST.values()] == [False, True]


@pytest.mark.parametrize("rules", LAST.values(), ids=LAST)
@pytest.mark.parametrize("chunk", [64, 4096, 1 << 20])
@pytest.mark.parametrize("behind", [0, 1, 5, 6, 12, 13, 40])
def test_the_last_line_that_matches_counts(
    rules: RuleSet, chunk: int, behind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = "".join(f"{at(second)}toy step {second} done\n" for second in range(90)) + "nothing\n" * behind
    (expected,) = scan(whole, rules).events
    assert (expected.get("step"), expected.line, seconds(expected)) == ("89", 90, 89)
    assert len(expected.before) == 5
    assert len(expected.after) == min(5, behind)
    monkeypatch.setattr(windows, "CHUNK", chunk)
    assert scan(whole, rules).events == [expected]


def test_a_long_line_counts_as_a_last_line_only_once() -> None:
    long = f"{at(1)}toy step 1 boom: disk {'x' * 2 * scanner.MAX_EXAMINED}\n"
    rules = rules_of(
        extractor("TOY006", "STEP", ["toy step"], r"toy step (?P<step>\d+)", last=True),
        extractor("TOY001", "BOOM", ["boom"], r"boom: (?P<what>\w+)"),
    )
    assert not rules.asked
    found = scan(long + f"{at(2)}toy step 2\n", rules).events
    assert sorted((event.symptom, event.get("step")) for event in found) == [("BOOM", None), ("STEP", "2")]


def test_lines_that_only_look_like_a_last_line_are_not_read(shipped: RuleSets) -> None:
    line = " [2026-05-04 03:00:00] iteration 7 | number of skipped iterations: 0 | number of nan iterations: 0 |\n"
    few, many = (calls(lambda n=n: scan(line * n, shipped[Source.APPLOG])) for n in (100, 5_000))  # type: ignore[misc]
    assert many < 2 * few


def test_a_last_line_without_a_time_came_no_earlier_than_the_lines_before_it() -> None:
    (found,) = scan(f"{at(7)}other\nplain\ntoy step 3\n").events
    assert found.moment is not None
    assert (seconds(found), found.moment.inherited) == (7, True)


def test_last_lines_are_not_fetched_from_log_stores() -> None:
    assert "toy step" not in catalog_of(*RULES).plan(0).sources[0].literals


# --- floods -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [1, 9, 10, 11, 12, 500])
def test_a_flood_is_bounded_and_counted_exactly(lines: int) -> None:
    order = list(range(lines))
    random.Random(lines).shuffle(order)
    found = scan("".join(f"{at(second)}boom: disk\n" for second in order), limits=Limits(events_per_rule=10)).events
    assert len(found) <= 12
    assert sum(event.count for event in found) == lines
    assert {min(order), max(order)} <= {seconds(event) for event in found}, "the extremes"
    assert len({event.id for event in found}) == len(found)


def test_a_flood_of_one_kind_does_not_hide_another() -> None:
    rules = rules_of(
        extractor("TOY001", "BOOM", ["boom: "], r"boom: (?P<what>\S+)",
                  find=lambda match: [Finding("BOOM", match.groups, discriminator=match["what"] or "")])
    )  # fmt: skip
    body = "boom: disk\n" * 50 + "boom: cable\n" + "boom: disk\n" * 50
    found = scan(body, rules, limits=Limits(events_per_rule=10)).events
    assert sum(event.count for event in found if event.discriminator == "cable") == 1
    assert sum(event.count for event in found if event.discriminator == "disk") == 100


def test_ids_stay_unique_where_a_line_of_a_flood_says_several_things() -> None:
    def links(match: Match) -> Iterator[Finding]:
        for link in "01":
            yield Finding("BOOM", device=Device.of(DeviceKind.NVLINK, link=link))

    body = "boom: links\n" * 40
    found = scan(
        body, rules_of(extractor("TOY001", "BOOM", ["boom: "], "boom: ", find=links)), limits=Limits(10)
    ).events
    assert len({event.id for event in found}) == len(found)
    assert sum(event.count for event in found) == 80


# --- ids --------------------------------------------------------------------------------------------------------------

SAID = st.lists(
    st.sampled_from(["boom: disk", "boom: cable", "FATAL disaster here", traceback().rstrip()]), max_size=12
)


@settings(max_examples=examples(60), deadline=None)
@given(SAID, st.integers(1, 5))
def test_ids_do_not_depend_on_benign_lines_or_times(said: list[str], noise: int) -> None:
    plain = scan("".join(f"{line}\n" for line in said))
    among = scan(NOISE * 3 + "".join(f"{line}\n{NOISE * noise}" for line in said))
    assert [event.id for event in plain.events] == [event.id for event in among.events]
    assert len({event.id for event in plain.events}) == len(plain.events)


def test_ids_depend_on_the_stream() -> None:
    keys = [KEY, KEY.__class__(Source.SYSLOG, "node-01", None, "app.log"), KEY.__class__(Source.APPLOG, None, 3, "x")]
    assert len({scan("boom: disk\n", key=key).events[0].id for key in keys}) == 3


# --- where windows end ------------------------------------------------------------------------------------------------


def body_with_everything() -> str:
    """Every kind of event, with and without a time, records of several ranks interleaved line by line."""
    ranks = [traceback(f"ValueError: {rank}", 6, f"[rank{rank}]:").splitlines(keepends=True) for rank in (0, 1)]
    parts = [NOISE, "boom: disk\n", at(5) + "boom: cable\n", "".join(a + b for a, b in zip(*ranks, strict=True))]
    parts += ["ALERT begins\n", "code=17\n", "unit=SM\n", NOISE, "fatal DISASTER now\r\n", "\x1b[31mboom: red\x1b[0m\n"]
    parts += ["3: STACK of 6\n", *(f"{'3' if n % 4 == 3 else '4'}: frame {n}\n" for n in range(24))]
    return "".join(f"{at(second)}tick\n" + "".join(parts) + NOISE * (second % 60) for second in range(40))


@pytest.mark.parametrize("chunk", [200, 777, 4096, 70_000])
def test_events_are_the_same_wherever_windows_end(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also their times, joined lines and context: a window is read on before a record is cut by its end."""
    whole = scan(body_with_everything())
    monkeypatch.setattr(windows, "CHUNK", chunk)
    cut = scan(body_with_everything())
    assert cut.events == whole.events
    assert (cut.first, cut.last, cut.masked) == (whole.first, whole.last, whole.masked)
    assert len(whole.events) == 40 * 8


def test_interleaved_ranks_keep_their_tracebacks_apart() -> None:
    pairs = zip(*(traceback(f"ValueError: {rank}", 3, f"[rank{rank}]:").splitlines() for rank in (0, 1)), strict=True)
    found = scan("\n".join(line for pair in pairs for line in pair)).events
    assert [(event.rank, event.get("says"), event.line, event.first_line) for event in found] == [
        (0, "ValueError: 0", 15, 1),
        (1, "ValueError: 1", 16, 2),
    ]


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (traceback(frames=190), 1),
        (traceback(frames=210), 0),  # more lines than a record has
        (traceback().replace("ValueError: no\n", ""), 0),
        (traceback().replace("ValueError: no\n", "") + traceback("KeyError: 'a'"), 1),
        (traceback().replace("\n", "\r\n"), 1),
        ("ALERT begins\ncode=1\nunit=SM\n", 1),
        ("ALERT begins\r\ncode=1\r\nunit=SM\r\n", 1),
        ("ALERT begins\ncode=1\n", 0),
        ("ALERT begins\ncode=1\nstep\nunit=SM\n", 0),
        ("3: ALERT begins\n4: code=9\n3: code=1\n4: unit=X\n3: unit=SM\n", 1),
    ],
)
def test_what_is_joined(body: str, events: int) -> None:
    assert len(scan(body).events) == events


# --- text of any kind -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "symptoms"),
    [
        (b"", []),
        (b"\n", []),
        (b"\0" * 5000, []),
        (b"bo\0om: d\0isk\0", ["BOOM"]),
        (b"\x1b[1mboom\x1b[0m: disk", ["BOOM"]),
        (b"10%\rboom: disk\r20%", ["BOOM"]),
        (b"\xff\xfeboom: disk\xff", ["BOOM"]),
        (b"boom: disk", ["BOOM"]),
        (b"boom: \n", []),
        ("FATAL DISASTER überall".encode(), []),
        (b"FATAL DISASTER everywhere", ["LOUD"]),
    ],
)
def test_any_bytes(body: bytes, symptoms: list[str]) -> None:
    assert [event.symptom for event in scan(body).events] == symptoms


@pytest.mark.parametrize("start", ["", "[rank3]:", at(5), at(5) + "[rank3]: "])
@pytest.mark.parametrize("before", [0, 5_000, 20_000, 200_000])
def test_a_long_line_is_examined_around_each_hit(start: str, before: int) -> None:
    """Prefixes count wherever the hit is, and one rule speaks once a line."""
    filler = "x " * (before // 2)
    body = f"{start}{filler}boom: disk{' y' * 20_000}FATAL disaster here{' z' * 20_000} boom: again\n"
    found = scan(body).events
    assert [(event.symptom, event.fields) for event in found] == [
        ("BOOM", (("what", "disk"),)),
        ("LOUD", (("what", "here"),)),
    ]
    assert {event.rank for event in found} == {3 if "rank" in start else None}
    assert {seconds(event) for event in found} == {5 if "Z" in start else None}
    assert all(len(event.text) <= scanner.MAX_TEXT for event in found)


def test_a_long_record_is_unwrapped_whole() -> None:
    body = '{"log": "' + "x " * 20_000 + '\\nboom: disk\\n", "stream": "stderr", "time": "2026-05-04T03:00:05Z"}\n'
    (event,) = scan(body).events
    assert (event.fields, seconds(event)) == ((("what", "disk"),), 5)


def test_a_long_record_ends_a_traceback() -> None:
    says = "ValueError: " + "x " * 20_000
    records = [
        f'{{"log": "{line}", "stream": "stderr"}}' for line in ("Traceback (most recent call last):", "  at", says)
    ]
    (event,) = scan("\n".join(records)).events
    assert (event.get("says") or "")[:14] == "ValueError: x "


@pytest.mark.parametrize("start", ["{", "{ ", "{\t"])
def test_escapes_in_a_record_hide_nothing(start: str) -> None:
    rules = rules_of(extractor("TOY001", "BOOM", ["boom: "], r'boom: "(?P<what>\w+)"'))
    (event,) = scan(start + r'"log": "boom: \"disk\"", "stream": "stderr"}', rules).events
    assert event.get("what") == "disk"


def test_a_line_of_ten_megabytes() -> None:
    found = scan(b"boom: first " + b"x" * (10 << 20) + b"\nboom: next\n")
    assert [(event.get("what"), event.line) for event in found.events] == [("first", 1), ("next", 2)]
    assert (found.tally.long_lines, found.tally.lines) == (1, 2)


def test_a_gzip_cut_short_keeps_its_events(tmp_path: Path) -> None:
    body = "".join(f"boom: disk-{number}\n" for number in range(5000)).encode()
    path = tmp_path / "app.log.gz"
    path.write_bytes(gzip.compress(body)[:-1000])
    found = scan(lambda: open_plain(path))
    assert found.tally.damage == f"compressed data ends early after {found.tally.bytes} bytes"
    assert 1000 < len(found.events) < 5000
    assert [event.get("what") for event in found.events[:1000]] == [f"disk-{number}" for number in range(1000)]


def test_a_stream_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    found = scan(lambda: (tmp_path / "gone.log").open("rb"))
    assert found.events == [] and found.tally.damage is not None and "No such file" in found.tally.damage


def test_segments_count_from_where_they_begin() -> None:
    parts = (text_segment("boom: a\n", 0, 0), text_segment("x\nboom: b\n", 5000, 70))
    stream = EvidenceStream(KEY, segments=parts)
    found = scan_stream(stream, TOYS, ClockRules(), NodeNames(CONTEXT.nodes), Limits()).events
    assert [(event.line, event.offset) for event in found] == [(1, 0), (72, 5002)]


# --- secrets ----------------------------------------------------------------------------------------------------------

SECRET = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("pattern", "field"),
    [
        (r"boom: (?P<what>.*)", "WANDB_API_KEY=***"),
        (r"boom: WANDB_API_KEY=(?P<what>\S+)", "***"),
        (r"boom: WANDB_API_KEY=(?P<what>[0-9a-f]+)", "***"),  # does not match the masked line
        (r"boom: WANDB_API_KEY=(?P<what>[0-9a-f]{6})", "***"),
    ],
)
def test_secrets_are_masked_in_text_and_fields(pattern: str, field: str) -> None:
    found = scan(f"boom: WANDB_API_KEY={SECRET}\n", rules_of(extractor("TOY001", "BOOM", ["boom: "], pattern)))
    (event,) = found.events
    assert (event.text, event.get("what")) == ("boom: WANDB_API_KEY=***", field)
    assert found.masked > 0


def test_a_rule_sees_no_secret() -> None:
    seen: list[Match] = []
    rule = extractor(
        "TOY001", "BOOM", ["boom: "], "boom: ", follow_lines=1, find=lambda match: seen.append(match) or []
    )
    scan(f"boom: TOKEN={SECRET}\nHF_TOKEN={SECRET}\n", rules_of(rule))
    assert (seen[0].text, seen[0].follow) == ("boom: TOKEN=***", ("HF_TOKEN=***",))


def test_a_secret_that_is_cut_off_is_masked_first() -> None:
    body = "boom: " + "x " * ((scanner.MAX_TEXT - 30) // 2) + f"WANDB_API_KEY={SECRET}\n"
    (event,) = scan(body).events
    assert SECRET[:4] not in event.text and len(event.text) <= scanner.MAX_TEXT


def test_lines_without_secrets_count_none() -> None:
    assert scan("boom: disk\nboom: tokens per second=12\n").masked == 0


# --- rules that fail --------------------------------------------------------------------------------------------------


def test_a_rule_that_raises_is_a_failure_and_loses_nothing_else() -> None:
    def broken(match: Match) -> Iterator[Finding]:
        yield Finding("BOOM")
        raise ZeroDivisionError("by zero")

    found = scan(
        "boom: disk\nfatal disaster x\n",
        rules_of(extractor("BAD001", "BOOM", ["boom: "], "boom: ", find=broken), *RULES),
    )
    assert [(event.rule, event.symptom) for event in found.events] == [("TOY001", "BOOM"), ("TOY004", "LOUD")]
    assert found.failures == [("BAD001", "ZeroDivisionError: by zero")]


# --- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "second", "inherited"),
    [
        (at(7) + "boom: x\n", 7, False),
        (at(3) + "tick\nboom: x\n", 3, True),
        (at(3) + "tick\n" + NOISE * 150 + "boom: x\n", 3, True),
        (at(3) + "tick\n" + at(4) + "boom: y\nboom: x\n", 4, True),
        ("boom: x\n" + at(9) + "tick\n", None, None),
        ('{"message": "boom: x", "time": "2026-05-04T03:00:08Z"}\n', 8, False),
        ("\r" + at(3) + "tick\rboom: x\n", 3, True),
    ],
)
def test_a_line_without_a_time_takes_the_nearest_earlier_one(
    body: str, second: int | None, inherited: bool | None
) -> None:
    event = scan(body).events[-1]
    assert (seconds(event), event.moment and event.moment.inherited) == (second, inherited)


def test_a_time_is_inherited_across_the_border_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "CHUNK", 300)
    assert [
        seconds(event) for event in scan(at(1) + "a\n" + NOISE * 20 + at(2) + "b\n" + NOISE * 30 + "boom: x\n").events
    ] == [2]


def test_a_line_between_two_times_lies_between_them() -> None:
    (event,) = scan(at(3) + "tick\nboom: x\n" + NOISE + at(9) + "tock\n").events
    assert event.moment and (seconds(event), event.moment.width_us, event.moment.inherited) == (3, 7 * SECOND, False)


@pytest.mark.parametrize("head", ["", at(3) + "tick\n"])
def test_looking_for_times_costs_no_more_than_some_looks_a_line(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def counted(text: str, clock: ClockRules) -> Line:
        nonlocal looks
        looks += 1
        return peel(text, clock)

    monkeypatch.setattr(scanner, "peel", counted)
    scan(head + "boom: x\n" * 3000)
    assert looks < 4 * 3000


def test_first_and_last_time_of_a_stream() -> None:
    found = scan(NOISE + at(3) + "a\n" + NOISE + at(9) + "b\n" + NOISE)
    assert found.first and found.last and (found.last.us - found.first.us) == 6 * SECOND


# --- context ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 3, 10, 18, 20])
def test_lines_around_an_event_are_kept(number: int) -> None:
    lines = [f"line {n}" if n != number else "boom: x" for n in range(1, 21)]
    (event,) = scan("\n".join(lines)).events
    assert event.before == tuple(f"line {n}".encode() for n in range(max(1, number - 5), number))
    assert event.after == tuple(f"line {n}".encode() for n in range(number + 1, min(20, number + 5) + 1))
