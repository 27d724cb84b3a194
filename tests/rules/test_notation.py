"""Cases are written in a notation that reads back as what it says, and a line that is none of its forms is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.bundle.evidence import StreamKey
from attribution.contracts.vocabulary import DeviceKind, Source
from attribution.events.event import Device, Event
from attribution.events.moment import Moment
from attribution.rules import notation
from attribution.rules.notation import (
    CASE_EPOCH_US,
    DecisionLine,
    Fact,
    NotationError,
    RawLine,
    agrees,
    differences,
    fact_of,
    parse_decisions,
    parse_event_decisions,
    parse_facts,
    parse_given,
)

SYMPTOMS = st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True)
NODES = st.one_of(st.none(), st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True))
NAMES = st.from_regex(r"[a-z_0-9]{1,6}", fullmatch=True)
IDS = st.dictionaries(
    st.from_regex(r"[a-z_]{1,4}", fullmatch=True),
    st.from_regex(r"[a-z0-9:.]{1,8}", fullmatch=True),
    min_size=1,
    max_size=3,
)
VALUES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"], exclude_characters='"\x85'), max_size=12
)


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    device = draw(
        st.one_of(st.none(), st.builds(lambda kind, ids: Device.of(kind, **ids), st.sampled_from(DeviceKind), IDS))
    )
    fields = tuple(sorted(draw(st.dictionaries(NAMES, VALUES, max_size=4)).items()))
    rank = draw(st.one_of(st.none(), st.integers(0, 9999)))
    return Fact(draw(NODES), rank, draw(st.integers(0, 10**5)) * 100_000, draw(SYMPTOMS), device, fields)


@given(facts())
def test_a_fact_reads_back_as_itself(fact: Fact) -> None:
    assert parse_facts(str(fact)) == (fact,)
    assert parse_given(str(fact)) == (fact,)


@given(NODES, st.one_of(st.none(), st.integers(0, 999)), st.sampled_from(Source), VALUES)
def test_a_raw_line_keeps_its_text(node: str | None, rank: int | None, source: Source, text: str) -> None:
    who = (node or "-") + (f".rank{rank}" if rank is not None else "")
    assert parse_given(f"{who} +1.5s {source.value} | {text}") == (RawLine(node, rank, "", 1_500_000, source, text),)


@pytest.mark.parametrize(
    ("line", "parsed"),
    [
        ("- +0.0s syslog |", RawLine(None, None, "", 0, Source.SYSLOG, "")),
        ("n.rank3/stderr +12s applog | a | b", RawLine("n", 3, "stderr", 12_000_000, Source.APPLOG, "a | b")),
        ("n/a.log +0.25s applog |   in", RawLine("n", None, "a.log", 250_000, Source.APPLOG, "  in")),
        ("n.rankx +0s applog | a", RawLine("n.rankx", None, "", 0, Source.APPLOG, "a")),
        ("node-01 +0s X", Fact("node-01", None, 0, "X")),
        ('- +2.0s X_1 gpu:pci=1B:00.0,uuid=u a="b c" d= e=f', Fact(None, None, 2_000_000, "X_1",
            Device(DeviceKind.GPU, (("pci", "0000:1b:00"), ("uuid", "u"))), (("a", "b c"), ("d", ""), ("e", "f")))),
    ],
)  # fmt: skip
def test_forms_of_given(line: str, parsed: RawLine | Fact) -> None:
    assert parse_given(line) == (parsed,)


GIVEN = "`node-01 +0.0s applog | text` or `node-01 +0.0s SYMPTOM field=value`"
FACT = "`node-01 +0.0s SYMPTOM kind:id=value field=value`"
DECISION = "`demote NODE SYMPTOM by NODE SYMPTOM`, `keep …`, `attribute …`, `note …`"
EVENT_DECISION = "`absorb FACT into FACT`, `context FACT`, `annotate FACT` or `derive FACT`"


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_given, "node-01 0.0s applog | x", f"line 1 `node-01 0.0s applog | x` is not {GIVEN}"),
        (parse_given, "n +0s X\n\nn +0s aplog | x", f"line 3 `n +0s aplog | x` is not {GIVEN}"),
        (parse_given, "n +0s lower", f"line 1 `n +0s lower` is not {GIVEN}"),
        (parse_given, "n +0s X what", f"line 1 `n +0s X what` is not {FACT}"),
        (parse_facts, "n +0s", f"line 1 `n +0s` is not {FACT}"),
        (parse_facts, "n +0s X a=b c", f"line 1 `n +0s X a=b c` is not {FACT}"),
        (parse_facts, "n +0s X toaster:id=1", f"line 1 `n +0s X toaster:id=1` is not {FACT}"),
        (parse_facts, 'n +0s X a="b" "c"', f'line 1 `n +0s X a="b" "c"` is not {FACT}'),
        (parse_decisions, "demote X", f"line 1 `demote X` is not {DECISION}"),
        (parse_decisions, "remove n X", f"line 1 `remove n X` is not {DECISION}"),
        (parse_event_decisions, "absorb", f"line 1 `absorb` is not {EVENT_DECISION}"),
        (parse_event_decisions, "context n X", f"line 1 `n X` is not {FACT}"),
    ],
)
def test_what_is_no_form(parse: object, text: str, message: str) -> None:
    with pytest.raises(NotationError) as error:
        parse(text)  # type: ignore[operator]
    assert str(error.value) == message


@pytest.mark.parametrize("parse", [parse_facts, parse_decisions, parse_event_decisions])
def test_none_is_no_line(parse: object) -> None:
    assert parse(" none\n") == ()  # type: ignore[operator]


@pytest.mark.parametrize(
    "line",
    [
        "demote node-02 ECHO by node-01 GPU_LOST",
        "demote - ECHO",
        "keep node-01 X",
        "note - JOB",
        "attribute n X node=m sub_domain=storage",
    ],
)
def test_decisions_read_back_as_themselves(line: str) -> None:
    assert [str(decision) for decision in parse_decisions(line)] == [line]
    assert all(isinstance(decision, DecisionLine) for decision in parse_decisions(line))


@pytest.mark.parametrize(
    "line",
    [
        "absorb n +0.0s X into n +1.0s Y a=b",
        "context n.rank3 +0.0s X gpu:pci=0000:1b:00",
        'derive - +0.0s X a="b c"',
        "annotate n +0.0s X",
    ],
)
def test_event_decisions_read_back_as_themselves(line: str) -> None:
    assert [str(decision) for decision in parse_event_decisions(line)] == [line]


BASE = Fact("n", 3, 0, "X", Device(DeviceKind.GPU, (("pci", "a"),)), (("a", "1"), ("b", "2")))


@pytest.mark.parametrize(
    ("expected", "agreed"),
    [
        (BASE, True),
        (Fact("n", None, 0, "X"), True),
        (Fact("n", None, 40_000, "X", None, (("b", "2"),)), True),
        (Fact("n", None, 50_000, "X"), False),
        (Fact("m", None, 0, "X"), False),
        (Fact(None, None, 0, "X"), False),
        (Fact("n", None, 0, "Y"), False),
        (Fact("n", 4, 0, "X"), False),
        (Fact("n", None, 0, "X", Device(DeviceKind.GPU, (("pci", "b"),))), False),
        (Fact("n", None, 0, "X", None, (("a", "2"),)), False),
        (Fact("n", None, 0, "X", None, (("c", ""),)), False),
    ],
)
def test_only_what_is_named_is_compared(expected: Fact, agreed: bool) -> None:
    assert agrees(expected, BASE) is agreed


def test_differences_count_both_ways() -> None:
    x, y = Fact("n", None, 0, "X"), Fact("n", None, 0, "Y")
    assert differences([x, x], [x, y]) == ["missing: n +0.0s X", "extra:   n +0.0s Y"]
    assert differences([x, y], [y, x]) == []


def test_an_event_in_the_notation() -> None:
    key = StreamKey(Source.APPLOG, "n", 3, "log")
    event = Event("id", "X", "R", key, "n", 3, Moment(CASE_EPOCH_US + 1_500_000, 1), 1, 0, "t", fields=(("a", "b c"),))
    assert str(fact_of(event)) == 'n.rank3 +1.5s X a="b c"'
    assert notation.parse_facts(str(fact_of(event))) == (fact_of(event),)
