"""Lists of nodes are read as schedulers write them."""

import pytest

from attribution.blueprint.hostlist import HostlistError, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node-01", ["node-01"]),
        ("node-01, node-02", ["node-01", "node-02"]),
        ("node-[01-03]", ["node-01", "node-02", "node-03"]),
        ("node-[8-11]", ["node-8", "node-9", "node-10", "node-11"]),
        ("node-[01-02,07],login-1", ["node-01", "node-02", "node-07", "login-1"]),
        ("r[1-2]n[01-02].example", ["r1n01.example", "r1n02.example", "r2n01.example", "r2n02.example"]),
        ("node-01,node-[01-02]", ["node-01", "node-02"]),
    ],
)
def test_what_a_list_names(text: str, names: list[str]) -> None:
    assert list(expand(text)) == names


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names no node"),
        (" , ", "names no node"),
        ("node-[01", "brackets that do not match"),
        ("node-01]", "brackets that do not match"),
        ("node-[[1-2]]", "brackets that do not match"),
        ("node-[a-b]", "`a-b` in brackets, which is neither a number nor a range"),
        ("node-[]", "`` in brackets"),
        ("node-[3-1]", "runs backwards"),
        ("node-[0-999999]", "names more than 65536 nodes"),
        ("a[1-300]b[1-300]", "names more than 65536 nodes"),
        ("n[1-65536],m1", "names more than 65536 nodes"),
    ],
)
def test_what_is_no_list(text: str, why: str) -> None:
    with pytest.raises(HostlistError, match=why.replace("[", "\\[")):
        expand(text)
