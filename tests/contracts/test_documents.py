"""A document is read as plain text values, and what is wrong with it is told in full, with its place and a remedy."""

from typing import Literal

import pytest
from pydantic import Field, model_validator

from attribution.contracts.base import Instant, Strict
from attribution.contracts.documents import MAX_DEPTH, load, parse
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.vocabulary import Scheduler


class Disk(Strict):
    size: int
    kind: Literal["fast disk", "slow disk"] = "fast disk"


class Machine(Strict):
    name: str = Field(min_length=1)
    scheduler: Scheduler = Scheduler.STATIC
    ranks: tuple[int, ...] = ()
    disks: tuple[Disk, ...] = ()
    by_name: dict[str, Disk] = Field(default_factory=dict)
    main_disk: Disk | None = None
    since: Instant | None = None
    source: str | None = Field(default=None, alias="from")

    @model_validator(mode="after")
    def _sane(self) -> "Machine":
        if self.name == "none":
            raise ValueError("`name` is no name")
        return self


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", {"a": "no"}),
        ("a: yes\nb: off\nc: True", {"a": "yes", "b": "off", "c": "True"}),
        ("a: 12:30\nb: 0777\nc: 1e3\nd: 0x1f", {"a": "12:30", "b": "0777", "c": "1e3", "d": "0x1f"}),
        ("a: 2026-05-04\nb: 2026-05-04T03:00:00Z", {"a": "2026-05-04", "b": "2026-05-04T03:00:00Z"}),
        ("a: null\nb: ~\nc:\nd: 'null'\ne: ''", {"a": None, "b": None, "c": None, "d": "null", "e": ""}),
        ("1: one\nyes: two", {"1": "one", "yes": "two"}),
        ("a: '&x'\nb: \"!y\"\nc: |\n  &z *z !z", {"a": "&x", "b": "!y", "c": "&z *z !z"}),
        ("<<: {a: 1}", {"<<": {"a": "1"}}),
        ("\ufeffa: 1", {"a": "1"}),
        ('{"a": [1, true, null, "x"]}', {"a": ["1", "true", None, "x"]}),
        ("", None),
        ("# only a remark\n", None),
        ("- a\n- b: c", ["a", {"b": "c"}]),
    ],
)
def test_scalars_stay_the_text_that_was_written(text: str, value: object) -> None:
    assert parse(text, "f.yaml").value == value


ANCHOR = "D003 has an anchor (write the value out where it is used)"
TAG = "D003 has a tag (write the value without it)"
BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("a: 1\nb: 2\na: 3\n", ["f.yaml:3:1: D002 has the key `a` twice (remove one)"]),
        ("x: {b: 1, b: 2, b: 3}", ["f.yaml:1:11: D002 has the key `b` twice (remove one)",
                                   "f.yaml:1:17: D002 has the key `b` twice (remove one)"]),
        ("a: &x 1\nb: *x\n", [f"f.yaml:1:4: {ANCHOR}"]),
        ("\ufeffa: 1\nb: &x\n  c: 1\n", [f"f.yaml:2:4: {ANCHOR}"]),
        ("&x a: 1\n", [f"f.yaml:1:1: {ANCHOR}"]),
        ("a: &x [*x]\n", [f"f.yaml:1:4: {ANCHOR}"]),
        ("a: !!python/object/apply:os.system [ls]\n", [f"f.yaml:1:4: {TAG}"]),
        ("é: !!str 1\nb: !x {c: d}\n", [f"f.yaml:1:4: {TAG}", f"f.yaml:2:4: {TAG}"]),
        ("? [a]\n: b\n", ["f.yaml:1:3: D003 has a key that is not plain text"]),
        ("[" * 34 + "]" * 34, [f"f.yaml:1:34: D003 nests deeper than {MAX_DEPTH} levels (write it out flat)"]),
        ("a: b: c\n", ["f.yaml:1:5: D001 is not valid YAML: mapping values are not allowed in this context"]),
        ("a: 'x\n", ["f.yaml:2:1: D001 is not valid YAML: found unexpected end of stream"]),
        ("a: 1\n---\nb: 2\n", ["f.yaml:2:1: D001 is not valid YAML: but found another document"]),
        ("a:\n\t- b\n", ["f.yaml:2:1: D001 is not valid YAML: found character that cannot start any token"]),
        ("a: \x07\n", ["f.yaml: D001 is not valid YAML: unacceptable character #x0007: control characters are not "
                       'allowed in "<unicode string>", position 3']),
        ("a: \ud800\n", ["f.yaml: D001 is not valid YAML: 'utf-8' codec can't encode character '\\ud800' in "
                         "position 3: surrogates not allowed"]),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, problems: list[str]) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse(text, "f.yaml")
    assert [str(problem) for problem in error.value.problems] == problems
    assert error.value.exit_code == 2


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 50_000 + "]" * 50_000, "{a: " * 20_000, "- " * 20_000, BOMB])
def test_bombs_are_refused_at_once(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse(text, "f.yaml")


def test_text_becomes_the_types_of_the_model() -> None:
    text = (
        "name: yes\nscheduler: slurm\nranks: [0, '1']\ndisks: [{size: 7}]\nsince: 2026-05-04T05:00:00+02:00\nfrom: x\n"
    )
    machine = load(text, "f.yaml", Machine)
    assert (machine.name, machine.scheduler, machine.ranks) == ("yes", Scheduler.SLURM, (0, 1))
    assert (machine.disks[0].size, machine.source) == (7, "x")
    assert machine.since and machine.since.isoformat() == "2026-05-04T03:00:00+00:00"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["f.yaml: D010 should be a mapping with the keys of machine"]),
        ("- a\n", ["f.yaml:1:1: D010 should be a mapping with the keys of machine"]),
        ("just text", ["f.yaml:1:1: D010 should be a mapping with the keys of machine"]),
        ("name: x\nrank: [1]\n", ["f.yaml:2:1: D011 has the unknown key `rank` (did you mean `ranks`?)"]),
        ("name: x\nqqq: 1\n", ["f.yaml:2:1: D011 has the unknown key `qqq` (known keys: by_name, disks, from, "
                               "main_disk, name, ranks, scheduler, since)"]),
        ("name: x\nform: 1\n", ["f.yaml:2:1: D011 has the unknown key `form` (did you mean `from`?)"]),
        ("name: x\ndisks:\n  - size: 1\n    kid: 2\n", ["f.yaml:4:5: D011 has the unknown key `disks.0.kid` "
                                                      "(did you mean `kind`?)"]),
        ("name: x\nby_name:\n  a: {size: 1, sze: 2}\n", ["f.yaml:3:16: D011 has the unknown key `by_name.a.sze` "
                                                       "(did you mean `size`?)"]),
        ("name: x\nmain_disk: {siz: 2}\n", ["f.yaml:2:1: D012 lacks the key `main_disk.size` (add it)",
                                          "f.yaml:2:13: D011 has the unknown key `main_disk.siz` "
                                          "(did you mean `size`?)"]),
        ("ranks: []\n", ["f.yaml:1:1: D012 lacks the key `name` (add it)"]),
        ("name: x\ndisks:\n  - kind: fast disk\n", ["f.yaml:3:5: D012 lacks the key `disks.0.size` (add it)"]),
        ("name: x\nscheduler: slrum\n", ["f.yaml:2:1: D013 has `scheduler: slrum`, which is not a known value "
                                       "(did you mean `slurm`?)"]),
        ("name: x\nscheduler: pbs\n", ["f.yaml:2:1: D013 has `scheduler: pbs`, which is not a known value "
                                     "(one of: slurm, kueue, kubernetes, static)"]),
        ("name: x\nmain_disk: {size: 1, kind: slow}\n", ["f.yaml:2:22: D013 has `main_disk.kind: slow`, which is not a "
                                                      "known value (did you mean `slow disk`?)"]),
        ("name: x\nranks: [0, one]\n", ["f.yaml:2:12: D014 has `ranks.1: one`: input should be a valid integer, "
                                      "unable to parse string as an integer (write a whole number such as 4)"]),
        ("name: x\nranks: 3\n", ["f.yaml:2:1: D014 has `ranks: 3`: should be a list "
                                  "(write a list: [a, b])"]),
        ("name: [x]\n", ["f.yaml:1:1: D014 has `name: ['x']`: input should be a valid string (write a text)"]),
        ("name: x\ndisks: [fast]\n", ["f.yaml:2:9: D014 has `disks.0: fast`: should be a mapping of keys and "
                                    "values (write a mapping of keys and values)"]),
        ("name: ''\n", ["f.yaml:1:1: D014 has `name: `: string should have at least 1 character (write a text)"]),
        ("name: none\n", ["f.yaml:1:1: D014 `name` is no name"]),
        ("name: x\nsince: 2026-05-04T03:00:00\n", ["f.yaml:2:1: D014 has `since: 2026-05-04T03:00:00`: input should "
                                                 "have timezone info (write a time with its offset, such as "
                                                 "2026-05-04T03:00:00Z)"]),
        (f"name: x\nranks: {'9' * 80}x\n", [f"f.yaml:2:1: D014 has `ranks: {'9' * 57}...`: should be a list "
                                           "(write a list: [a, b])"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_document(text: str, problems: list[str]) -> None:
    with pytest.raises(ConfigurationError) as error:
        load(text, "f.yaml", Machine)
    assert [str(problem) for problem in error.value.problems] == problems
    assert str(error.value) == "\n".join(problems)


def test_all_errors_come_at_once_in_the_order_of_their_places() -> None:
    text = "ranks: [a]\nnane: x\ndisks:\n  - size: big\n  - kind: fast disk\n    size: 1\n    x: 1\nscheduler: k8s\n"
    with pytest.raises(ConfigurationError) as error:
        load(text, "f.yaml", Machine)
    places = [(problem.place.line, problem.place.column, problem.code) for problem in error.value.problems]
    assert places == [(1, 1, "D012"), (1, 9, "D014"), (2, 1, "D011"), (4, 5, "D014"), (7, 5, "D011"), (8, 1, "D013")]
