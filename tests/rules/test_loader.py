"""A rule folder is loaded whole or refused with every error in it, each with a code, its place and what to do."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from attribution.bundle.evidence import Evidence, EvidenceStream, StreamKey, text_segment
from attribution.cli.catalog import SHIPPED
from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.vocabulary import Source
from attribution.diagnosis.verify import verify
from attribution.extraction.extract import extract
from attribution.extraction.ruleset import RuleSets
from attribution.rules.loader import load_catalog
from attribution.rules.model import Catalog

GOOD = """\
id: TOY001
name: toy-boom
status: stable
since: 0.1.0
summary: It went boom.
why: Because.
misses: Nothing.
next_step: Look.
printed_by: {program: toy, versions: all, source: toy.c}
extract:
  from: applog
  literals: ['boom: ']
  pattern: 'boom: (?P<what>\\w+)'
emit: {symptom: BOOM, keep: [what]}
symptom: {role: effect, meaning: a boom}
cases:
  - name: fires
    given: |
      node-01 +0.0s applog | boom: disk
    expect: |
      node-01 +0.0s BOOM what=disk
  - name: quiet
    because: nothing after it
    given: |
      node-01 +0.0s applog | boom: ?
    expect: none
"""
RELATION = """\
id: {id}
name: {name}
status: stable
since: 0.1.0
kind: relation
summary: s
why: w
misses: m
next_step: n
relation: {{causes: {causes}, effects: {effects}, scope: job, order: {order}, reason: r}}
cases:
  - name: fires
    given: |
      node-01 +0.0s A
    expect: |
      demote node-01 B by node-01 A
  - name: quiet
    because: alone
    given: |
      node-01 +0.0s A
    expect: none
"""
SYMPTOMS = """\
tags:
  echo: {meaning}
symptoms:
  A: {{role: effect, meaning: a}}
  B: {{role: effect, meaning: b, tags: [echo]}}
  C: {{role: effect, meaning: c}}
"""
PYTHON = '''\
from attribution.rules.api import Finding, PrintedBy, extractor

CASES = """
- name: fires
  given: |
    node-01 +0.0s applog | bang: disk
  expect: |
    node-01 +0.0s BOOM
- name: quiet
  because: no colon
  given: |
    node-01 +0.0s applog | bang: ?
  expect: none
"""


@extractor(
    id="TOY002",
    name="toy-bang",
    since="0.1.0",
    literals=["bang: "],
    pattern=r"bang: \\w",
    emits=["BOOM"],
    printed_by=PrintedBy("toy", "all", "toy.c"),
)
def bang(match):
    """It went bang.

    Why: Because.
    Misses: Nothing.
    Next step: Look.
    """
    yield Finding("BOOM")
'''


def swapped(text: str, *pairs: str) -> str:
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def good(*pairs: str) -> dict[str, str | bytes]:
    return {"a.yaml": swapped(GOOD, *pairs)}


def python(*pairs: str) -> dict[str, str | bytes]:
    return {"a.yaml": GOOD, "b.py": swapped(PYTHON, *pairs)}


def relation(id: str, name: str, causes: str, effects: str, order: str = "any") -> str:
    return RELATION.format(id=id, name=name, causes=causes, effects=effects, order=order)


def symptoms(meaning: str = "what echoes") -> str:
    return SYMPTOMS.format(meaning=meaning)


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str | bytes]], Catalog]:
    """Writes the files of a rule folder and loads it; its paths show as `rules/…`."""
    monkeypatch.chdir(tmp_path)

    def write_and_load(files: Mapping[str, str | bytes]) -> Catalog:
        for name, text in files.items():
            path = tmp_path / "rules" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        (tmp_path / "rules").mkdir(exist_ok=True)
        return load_catalog([Path("rules")])

    return write_and_load


Load = Callable[[Mapping[str, str | bytes]], Catalog]
LINEAR = "(patterns run in linear time: no look-around, no back-references)"
GATED = "(every match must contain one of them)"

REFUSED = "R004 has a pattern that is refused:"
PURE = "(rules are pure: import attribution.rules.api)"
KINDS = "(kinds: extractor, metric, relation)"
ORDER = "(give one of them `order: earlier`)"
MISS = "R009 has a negative case `quiet` that any line would pass (let it hold one of the rule's literals)"
UNGATED = "R005 has literals that the pattern"
RAW = "`node-01 +0.0s applog | text` or `node-01 +0.0s SYMPTOM field=value`"
TAGS = "(declare it under `tags:` of a symptoms file)"
TWO = PYTHON + PYTHON[PYTHON.index("@extractor") :].replace("def bang", "def bung")
CIRCLE_OF_TWO = {
    "s.yaml": symptoms(),
    "a.yaml": relation("REL001", "one", "A", "B"),
    "b.yaml": relation("REL002", "two", "B", "A"),
}
CIRCLE_OF_THREE = {
    "s.yaml": symptoms(),
    "a.yaml": relation("REL001", "one", "A", "tag:echo"),
    "b.yaml": relation("REL002", "two", "B", "C"),
    "c.yaml": relation("REL003", "three", "C", "A"),
}

BAD: list[tuple[str, Mapping[str, str | bytes], list[str]]] = [
    ("R001 no rules", {}, ["rules: R001 holds no rules (name a folder of rule files)"]),
    ("R001 no text", {"a.yaml": b"id: \xff"}, ["rules/a.yaml: R001 is not UTF-8 text (save it as UTF-8)"]),
    ("R001 no Python text", {"a.py": b"x = '\xff'"}, ["rules/a.py: R001 is not UTF-8 text (save it as UTF-8)"]),
    ("R001 no Python", {"a.py": "def f(:\n"}, ["rules/a.py:1:7: R001 is not valid Python: invalid syntax"]),
    ("R001 raises", {"a.py": "1 / 0\n"},
     ["rules/a.py: R001 cannot be imported: ZeroDivisionError('division by zero')"]),
    ("R001 leaves", {"a.py": "raise SystemExit(0)\n"}, ["rules/a.py: R001 cannot be imported: SystemExit(0)"]),
    ("R002 id", python("TOY002", "TOY001"),
     ["rules/b.py:17:1: R002 is called `TOY001`, as is rules/a.yaml:1:1 (rename one)"]),
    ("R002 name", python("toy-bang", "toy-boom"),
     ["rules/b.py:17:1: R002 is called `toy-boom`, as is rules/a.yaml:1:1 (rename one)"]),
    ("R003", python('emits=["BOOM"]', 'emits=["BOM"]'),
     ["rules/b.py:17:1: R003 names the unknown symptom `BOM` (did you mean `BOOM`?)"]),
    ("R003 nothing alike", good("symptom: {role: effect, meaning: a boom}\n", ""),
     ["rules/a.yaml:1:1: R003 names the unknown symptom `BOOM` (define it under `symptom:` or in the registry)"]),
    ("R004", good("pattern: 'boom", "pattern: '(?<=x)boom"),
     [f"rules/a.yaml:13:3: {REFUSED} invalid perl operator: (?<= {LINEAR}"]),
    ("R004 one of several", good(r"'boom: (?P<what>\w+)'", r"['boom: (?P<what>\w+)', 'boom: (a)\1']"),
     [rf"rules/a.yaml:13:36: {REFUSED} invalid escape sequence: \1 {LINEAR}"]),
    ("R004 follow", good("emit:", "  follow: {lines: 2, pattern: '(?=x)'}\nemit:"),
     [f"rules/a.yaml:14:22: {REFUSED} invalid perl operator: (?= {LINEAR}"]),
    ("R004 Python", python(r"bang: \w", r"bang: (?!x)"),
     [f"rules/b.py:17:1: {REFUSED} invalid perl operator: (?! {LINEAR}"]),
    ("R004 other dialect", good(r"(?P<what>\w+)", "(?P<what>[[:alpha:]]+)"),
     ["rules/a.yaml:1:1: R004 has the pattern `boom: (?P<what>[[:alpha:]]+)`, which cannot be read: "
      "write the characters of `[:alpha:]` as a range"]),
    ("R005", good("literals: ['boom: ']", "literals: ['boom: d']"),
     [rf"rules/a.yaml:1:1: {UNGATED} `boom: (?P<what>\w+)` does not imply {GATED}", f"rules/a.yaml:1:1: {MISS}"]),
    ("R005 empty literal", python('literals=["bang: "]', 'literals=[""]'),
     [rf"rules/b.py:17:1: {UNGATED} `bang: \w` does not imply {GATED}"]),
    ("R006", good("keep: [what]", "keep: [what, wat], node: host, key: [x]"),
     ["rules/a.yaml:14:36: R006 names the unknown group `wat` (did you mean `what`?)",
      "rules/a.yaml:14:42: R006 names the unknown group `host` (groups of the pattern: what)",
      "rules/a.yaml:14:60: R006 names the unknown group `x` (groups of the pattern: what)"]),
    ("R006 device", good("keep: [what]}", "device: {kind: gpu, ids: {pci: bdf}}}"),
     ["rules/a.yaml:14:49: R006 names the unknown group `bdf` (groups of the pattern: what)"]),
    ("R007 never quiet", {"a.yaml": GOOD[: GOOD.index("  - name: quiet")]},
     ["rules/a.yaml:1:1: R007 lacks a case with `expect: none` (add one)"]),
    ("R007 never fires", {"a.yaml": GOOD[: GOOD.index("  - name: fires")] + GOOD[GOOD.index("  - name: quiet") :]},
     ["rules/a.yaml:1:1: R007 lacks a case that fires (add one)"]),
    ("R008", good("    because: nothing after it\n", ""),
     ["rules/a.yaml:1:1: R008 has a negative case `quiet` without `because` (say why)"]),
    ("R009", good("boom: ?", "all is well"), [f"rules/a.yaml:1:1: {MISS}"]),
    ("R010 none", {"a.py": "X = 1\n"}, ["rules/a.py: R010 declares 0 rules (one rule, one file)"]),
    ("R010 two", {"a.yaml": GOOD, "b.py": TWO}, ["rules/b.py: R010 declares 2 rules (one rule, one file)"]),
    ("R011", {**good(), "retired.yaml": "retired: {TOY001: was wrong}\n"},
     ["rules/a.yaml:1:1: R011 uses the retired id `TOY001` (take the next free number)"]),
    ("R012", {**good(), "b.yaml": "symptoms:\n  BOOM: {role: effect, meaning: b}\n"},
     ["rules/b.yaml:2:3: R012 defines the symptom `BOOM` again (define it once)"]),
    ("R013", {"a.py": "import os\nfrom subprocess import run\nimport attribution.rules.loader\nimport re, math\n"},
     [f"rules/a.py:1:1: R013 imports `os` {PURE}", f"rules/a.py:2:1: R013 imports `subprocess` {PURE}",
      f"rules/a.py:3:1: R013 imports `attribution.rules.loader` {PURE}"]),
    ("R013 inner", {"a.py": "def f():\n    import socket\n"}, [f"rules/a.py:2:1: R013 imports `socket` {PURE}"]),
    ("R014", CIRCLE_OF_TWO, [f"rules/a.yaml:1:1: R014 says `A` explains `B`, and REL002 says the contrary {ORDER}"]),
    ("R014 three", CIRCLE_OF_THREE,
     ["rules/a.yaml:1:1: R014 closes a circle: `A` explains `B` (REL001), `B` explains `C` (REL002), "
      f"`C` explains `A` (REL003) {ORDER}"]),
    ("R015 relation", {"s.yaml": symptoms(), "a.yaml": relation("REL001", "one", "A", "tag:ecko")},
     ["rules/a.yaml:1:1: R015 names the unknown tag `ecko` (did you mean `echo`?)"]),
    ("R015 symptom", good("meaning: a boom}", "meaning: a boom, tags: [loud]}"),
     [f"rules/a.yaml:1:1: R015 emits `BOOM` with the unknown tag `loud` {TAGS}"]),
    ("R016 headings", python("    Why: Because.\n", "", "Next step: Look.", "Next step:"),
     ["rules/b.py:17:1: R016 has a docstring without `Next step:` (add the heading)",
      "rules/b.py:17:1: R016 has a docstring without `Why:` (add the heading)"]),
    ("R016 id", python("TOY002", "toy2"),
     ["rules/b.py:17:1: R016 has the id `toy2` (family and number, such as PYX001)"]),
    ("R017 given", good("+0.0s applog | boom: disk", "applog boom: disk"),
     [f"rules/a.yaml:1:1: R017 has a case `fires` whose line 1 `node-01 applog boom: disk` is not {RAW}"]),
    ("R017 expect", good("node-01 +0.0s BOOM what=disk", "boom"),
     ["rules/a.yaml:1:1: R017 has a case `fires` whose line 1 `boom` is not `node-01 +0.0s SYMPTOM kind:id=value "
      "field=value`"]),
    ("R018 kind", {"a.yaml": GOOD + "kind: magic\n"},
     [f"rules/a.yaml:27:1: R018 is no rule of a known kind (`magic`) {KINDS}"]),
    ("R018 list of kinds", {"a.yaml": GOOD + "kind: [extractor]\n"},
     [f"rules/a.yaml:27:1: R018 is no rule of a known kind (`['extractor']`) {KINDS}"]),
    ("R018 no mapping", {"a.yaml": "- id: TOY001\n"},
     [f"rules/a.yaml:1:1: R018 is no rule of a known kind (`None`) {KINDS}"]),
    ("retired list", {**good(), "r.yaml": "retired: [TOY009]\n"},
     ["rules/r.yaml:1:1: D014 has `retired: ['TOY009']`: input should be a valid dictionary"]),
    ("D011 in a rule", good("emit: {symptom", "emit: {symtom: BOOM, symptom"),
     ["rules/a.yaml:14:8: D011 has the unknown key `emit.symtom` (did you mean `symptom`?)"]),
    ("D011 in Python cases", python("  because: no colon", "  becaus: no colon"),
     ["rules/b.py:10:3: D011 has the unknown key `cases.1.becaus` (did you mean `because`?)"]),
    ("D001 in Python cases", python("  because: no colon", "  because: no: colon"),
     ["rules/b.py:10:14: D001 is not valid YAML: mapping values are not allowed in this context"]),
]  # fmt: skip


@pytest.mark.parametrize(("files", "problems"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_what_is_refused(load: Load, files: Mapping[str, str | bytes], problems: list[str]) -> None:
    with pytest.raises(ConfigurationError) as error:
        load(files)
    assert [str(problem) for problem in error.value.problems] == problems


def test_there_is_a_bad_folder_for_every_code() -> None:
    told = {problem.split(": ")[1].split(" ")[0] for _, _, problems in BAD for problem in problems}
    assert {f"R{number:03}" for number in range(1, 19)} <= told


def test_a_file_that_cannot_be_read_is_an_error(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ConfigurationError) as error:
        load({"a.yaml": GOOD})
    assert str(error.value) == "rules/a.yaml: R001 cannot be read: Permission denied"


def test_all_errors_of_all_files_come_at_once_in_order(load: Load) -> None:
    files = {
        "z/a.yaml": swapped(GOOD, "keep: [what]", "keep: [wat]"),
        "b.yaml": "id: [\n",
        "c.py": "import os\n",
        "a.yaml": "id: TOY009\nnome: x\n",
    }
    with pytest.raises(ConfigurationError) as error:
        load(files)
    found = [(problem.place.file, problem.code) for problem in error.value.problems]
    assert list(dict.fromkeys(found)) == [
        ("rules/a.yaml", "D012"),
        ("rules/a.yaml", "D011"),
        ("rules/b.yaml", "D001"),
        ("rules/c.py", "R013"),
        ("rules/z/a.yaml", "R006"),
    ]


def test_a_good_folder_loads_and_its_cases_hold(load: Load) -> None:
    catalog = load({"a.yaml": GOOD, "b.py": PYTHON, "retired.yaml": "retired: {TOY009: was wrong}\n"})
    assert [rule.info.id for rule in catalog.rules] == ["TOY001", "TOY002"]
    assert catalog.retired == {"TOY009": "was wrong"}
    info = catalog.rules[1].info
    assert (info.summary, info.why, info.misses, info.next_step) == ("It went bang.", "Because.", "Nothing.", "Look.")
    assert str(info.place) == "rules/b.py:17:1"
    assert verify(RuleSets(catalog)) == ()


def test_an_operators_rule_fires_beside_the_shipped_ones(tmp_path: Path, shipped: RuleSets) -> None:
    (tmp_path / "own.yaml").write_text(GOOD.replace("BOOM", "OWN_TOY_BOOM"))
    catalog = load_catalog([SHIPPED, tmp_path])
    assert len(catalog.rules) == len(shipped.catalog.rules) + 1
    stream = EvidenceStream(StreamKey(Source.APPLOG, "n", None, "a"), segments=(text_segment("boom: disk\n"),))
    found = extract(Evidence(ExecutionContext(workload_id="w"), (stream,)), RuleSets(catalog)).events
    assert [(event.rule, event.get("what")) for event in found] == [("TOY001", "disk")]


def digest(folder: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return load_catalog([folder]).digest


def test_the_digest_names_the_content_and_not_the_place(tmp_path: Path) -> None:
    base = digest(tmp_path / "one", {"a.yaml": GOOD, "b.py": PYTHON})
    assert base == digest(tmp_path / "elsewhere" / "two", {"b.py": PYTHON, "a.yaml": GOOD})
    changed = [
        {"a.yaml": GOOD + " ", "b.py": PYTHON},
        {"a.yaml": GOOD, "b.py": PYTHON + "#"},
        {"c.yaml": GOOD, "b.py": PYTHON},
        {"a.yaml": GOOD, "b.py": PYTHON, "tables/t.yaml": "x: 1\n"},
        {"a.yaml": GOOD},
    ]
    digests = [digest(tmp_path / str(number), files) for number, files in enumerate(changed)]
    assert len({base, *digests}) == len(changed) + 1


def test_a_checked_catalog_is_taken_from_the_cache_and_a_damaged_entry_is_survived(load: Load) -> None:
    entries: dict[str, bytes] = {}

    def cache(name: str, make: Callable[[], bytes]) -> bytes:
        return entries.get(name) or entries.setdefault(name, make())

    load({"a.yaml": GOOD, "b.py": PYTHON})
    first = load_catalog([Path("rules")], cache=cache)
    (name,) = entries
    for data in (entries[name], b"", b"{", b"[]", b"{}", b'{"rules/a.yaml": 3}'):
        entries[name] = data
        again = load_catalog([Path("rules")], cache=cache)
        assert again.digest == first.digest
        assert [rule.info.id for rule in again.rules] == ["TOY001", "TOY002"]
        assert verify(RuleSets(again)) == ()


def test_an_empty_folder_is_told_although_the_rest_was_checked_before(load: Load) -> None:
    entries: dict[str, bytes] = {}

    def cache(name: str, make: Callable[[], bytes]) -> bytes:
        return entries.get(name) or entries.setdefault(name, make())

    load({"a.yaml": GOOD})
    load_catalog([Path("rules")], cache=cache)
    Path("nothing").mkdir()
    with pytest.raises(ConfigurationError, match="nothing: R001 holds no rules"):
        load_catalog([Path("rules"), Path("nothing")], cache=cache)
