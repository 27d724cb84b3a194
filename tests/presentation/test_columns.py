"""Text keeps to its columns and cannot act on a terminal."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from attribution.presentation.columns import clip, clip_around, clip_start, span, spread, visible, width, wrap

TEXTS = st.text(max_size=200)
ROOMS = st.integers(min_value=20, max_value=160)


def is_harmless(text: str) -> bool:
    """Whether no character of the text acts or hides."""
    return text.isprintable() and not any(unicodedata.category(c)[0] in "C" for c in text)


@given(TEXTS)
def test_what_is_visible_is_harmless_and_stays_so(text: str) -> None:
    shown = visible(text)
    assert is_harmless(shown)
    assert visible(shown) == shown


def test_escapes_say_what_was_there() -> None:
    assert visible("\x1b[31mred\x1b[0m") == "\\x1b[31mred\\x1b[0m"
    assert visible("a\tb\r\n") == "a\\tb\\r\\n"
    assert visible("\u202egpj.exe\u200b\ufeff") == "\\u202egpj.exe\\u200b\\ufeff"
    assert visible("\U000e0001") == "\\U000e0001"
    assert visible("日本語 é\u00a0ü") == "日本語 é ü"
    assert visible("e\u0301") == "e\u0301"
    assert visible("\u0301e" + "\u0301" * 4) == "\\u0301e\u0301\u0301\\u0301\\u0301"


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    assert width("abc") == 3
    assert width("日本") == 4
    assert width("e\u0301") == 1


@given(TEXTS, ROOMS)
def test_nothing_is_wider_than_its_room(text: str, room: int) -> None:
    assert width(clip(text, room)) <= room
    assert width(clip_start(text, room)) <= room
    assert width(clip_around(text, room, [text[5:9], text[-3:]])) <= room
    assert all(width(line) <= room for line in wrap(text, room))
    assert all(width(line) <= room for line in spread(text, text[:40], room))


@given(st.text(st.characters(categories=["L", "N"]), max_size=300), ROOMS)
def test_wrapping_loses_nothing(text: str, room: int) -> None:
    assert "".join(wrap(text, room)).replace(" ", "") == visible(text).replace(" ", "")


def test_clipping_keeps_the_decisive_part() -> None:
    line = (
        "May  4 03:06:58 node-02 kernel: NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT Fatal Link 08 " + "0x0 " * 20
    )
    assert clip_around(line, 60, ["149", "NETIR_LINK_EVT", "08"]).startswith("…")
    assert "149, NETIR_LINK_EVT Fatal Link 08" in clip_around(line, 60, ["149", "netir_link_evt", "8"])
    assert clip_around(line, 60, ["nowhere"]).startswith("…NVRM: Xid (PCI:0000:1b:00): 149,")
    assert clip_around(line, 40, ["node-02"]).startswith("May  4 03:06:58 node-02")
    fallen = "[ 904.21800] NVRM: Xid (PCI:0000:52:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    assert clip_around(fallen, 74, ["79"]) == "…NVRM: Xid (PCI:0000:52:00): 79, pid='<unkno…GPU has fallen off the bus."
    end = clip_around("x" * 200 + " Timeout(ms)=600000", 40, ["600000"])
    assert end.endswith("Timeout(ms)=600000") and end.startswith("…") and width(end) == 40


def test_the_decisive_part_never_begins_within_a_time_stamp() -> None:
    line = "2026-05-19T19:27:02.518207+00:00 node-03 kernel: module 2, Cable error, High Temperature"
    start, end = span(line, ["2", "High Temperature"])
    assert line[start:end] == "High Temperature"
    for text in (
        "May  4 19:27:02 node-03 kernel: slot 02",
        "[2026-05-19 19:27:02,518] rank 02",
        "E0519 19:27:02.918207 20951 api.py:870] local_rank: 02",
        "19:27:02 INFO rank 02",
    ):
        start, end = span(text, ["2", "27", "19"])
        assert (text[start:end], end) == ("02", len(text)), text
    ended = "JobState=FAILED EndTime=2026-05-19T19:27:02"
    start, end = span(ended, ["2026-05-19T19:27:02"])
    assert ended[start:end] == "2026-05-19T19:27:02"
    assert span("2026-05-19T19:27:02 nothing", ["27"]) == (0, 0)


def test_two_ends_of_a_line() -> None:
    assert spread("left", "right", 20) == ["left" + " " * 11 + "right"]
    assert spread("  a title", "somewhere far away", 24) == ["  a title", "    somewhere far away"]
