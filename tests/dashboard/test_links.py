"""Whatever logs call a thing, its address is one segment of a path that nobody else reads as something more."""

import posixpath
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.dashboard.views import links

HOSTILE = (
    ".",
    "..",
    "...",
    "../../etc/passwd",
    "a/b",
    "a%2fb",
    "%00",
    "a?b#c",
    "x.json",
    "x.md",
    "x.tar.gz",
    "~2e",
    "~",
    "",
    "node 1",
    "\u202enode",
    "<b>",
    "é",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_one_segment_and_is_read_back(name: str) -> None:
    address = links.node(name)
    path = urlsplit(address).path
    assert path == address, "nothing of it is a query or a fragment"
    assert unquote(path) == path and posixpath.normpath(path) == path.rstrip("/")
    assert path.count("/") == 2 and not path.endswith((".json", ".md", ".gz"))
    assert links.unsegment(path.rpartition("/")[2]) == name


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_name_is_read_back(name: str) -> None:
    assert links.unsegment(links.segment(name)) == name


def test_ordinary_names_stay_readable() -> None:
    assert links.node("node-01.rack2.example.com") == "/nodes/node-01.rack2.example.com"
    assert links.node("10.0.0.1") == "/nodes/10.0.0.1"
    assert links.device("node-01", "gpu", "pci=0000:1b:00") == "/devices/node-01/gpu/pci=0000:1b:00"


def test_what_is_no_escape_stands_for_itself() -> None:
    assert links.unsegment("a~zz~2E~") == "a~zz~2E~"
    assert links.unsegment("~ff") == "\ufffd"


def test_keys_that_are_not_set_are_left_out() -> None:
    assert links.attempts(node="a b", user="", cause=None) == "/attempts?node=a+b"
    assert links.attempts() == "/attempts"
    assert links.twin(links.attempts(node="a&b")) == "/attempts.json?node=a%26b"
    assert links.rule("XID001", catalog="abc") == "/rules/XID001?catalog=abc"
