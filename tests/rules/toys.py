"""Rule files, good and bad, in small."""

import json
from collections.abc import Mapping

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


def two(literal: str, pattern: str) -> dict[str, str | bytes]:
    """A rule with a second literal and a second pattern."""
    first = r"'boom: (?P<what>\w+)'"
    return good("['boom: ']", f"['boom: ', {literal}]", f"pattern: {first}", f"pattern: [{first}, {pattern}]")


def python(*pairs: str) -> dict[str, str | bytes]:
    return {"a.yaml": GOOD, "b.py": swapped(PYTHON, *pairs)}


def relation(id: str, name: str, causes: str, effects: str, order: str = "any") -> str:
    return RELATION.format(id=id, name=name, causes=causes, effects=effects, order=order)


def symptoms(meaning: str = "what echoes") -> str:
    return SYMPTOMS.format(meaning=meaning)


def lock(**revisions: int) -> str:
    """A lock file of rules that did something else."""
    rules = {id: {"name": "toy-boom", "revision": n, "behaviour": "0" * 16} for id, n in revisions.items()}
    return json.dumps({"rules": rules}, indent=2)


Files = Mapping[str, str | bytes]

TWO = PYTHON + PYTHON[PYTHON.index("@extractor") :].replace("def bang", "def bung")
BLAST = swapped(GOOD.replace("BOOM", "BLAST"), "TOY001", "TOY003", "toy-boom", "toy-blast")
OWN_SYMPTOM = """\
from attribution.contracts.vocabulary import Role
from attribution.events.symptom import SymptomType

SYMPTOMS = (SymptomType("BOOM", Role.CAUSE, "", ends_job="always"),)
"""
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

REFINER = '''\
from attribution.rules.api import RefineStage, refiner

CASES = "[]"


@refiner(id="TOY004", name="toy-refiner", since="0.1.0", stage={stage}, needs={needs}, priority={priority})
def refine(job):
    """It refines.

    Why: Because.
    Misses: Nothing.
    Next step: Look.
    """
    return ()
'''

UNRELATED = "because: alone\n    given: |\n      node-01 +0.0s C"
METRIC = """\
id: MET901
name: toy-heat
status: stable
since: 0.1.0
kind: metric
summary: It is hot.
why: w
misses: m
next_step: n
printed_by: {program: toy, versions: all, source: toy.c}
extract: {from: node_metrics, metric: toy_heat, when: {above: 5}}
emit: {symptom: HEAT}
symptom: {role: effect, meaning: heat}
cases:
  - name: fires
    given: |
      node-01 +0.0s node_metrics | toy_heat{gpu="0"} 9
    expect: |
      node-01 +0.0s HEAT
  - name: quiet
    because: cool enough
    given: |
      node-01 +0.0s node_metrics | toy_heat{gpu="0"} 3
    expect: none
"""

BAD: list[tuple[str, Files]] = [
    ("R001 no rules", {}),
    ("R001 no text", {"a.yaml": b"id: \xff"}),
    ("R001 no Python text", {"a.py": b"x = '\xff'"}),
    ("R001 no Python", {"a.py": "def f(:\n"}),
    ("R001 raises", {"a.py": "1 / 0\n"}),
    ("R001 leaves", {"a.py": "raise SystemExit(0)\n"}),
    ("R001 another exit", {"a.py": "class Bye(BaseException): ...\nraise Bye\n"}),
    ("R001 too large", {**good(), "b.yaml": "#" * (1 << 20) + "\n"}),
    ("R002 id", python("TOY002", "TOY001")),
    ("R002 name", python("toy-bang", "toy-boom")),
    ("R003", python('emits=["BOOM"]', 'emits=["BOM"]')),
    ("R003 nothing alike", good("symptom: {role: effect, meaning: a boom}\n", "")),
    (
        "R003 in a case",
        {
            "s.yaml": symptoms(),
            "a.yaml": relation("REL001", "one", "A", "tag:echo").replace("+0.0s A", "+0.0s AA"),
        },
    ),
    ("R004", good("pattern: 'boom", "pattern: '(?<=x)boom")),
    ("R004 one of several", good(r"'boom: (?P<what>\w+)'", r"['boom: (?P<what>\w+)', 'boom: (a)\1']")),
    ("R004 follow", good("emit:", "  follow: {lines: 2, pattern: '(?=x)'}\nemit:")),
    ("R004 Python", python(r"bang: \w", r"bang: (?!x)")),
    ("R004 other dialect", good(r"(?P<what>\w+)", "(?P<what>[[:alpha:]]+)")),
    ("R005", good("literals: ['boom: ']", "literals: ['boom: d']")),
    ("R037 empty literal", python('literals=["bang: "]', 'literals=[""]')),
    ("R006", good("keep: [what]", "keep: [what, wat], node: host, key: [x]")),
    ("R006 device", good("keep: [what]}", "device: {kind: gpu, ids: {pci: bdf}}}")),
    ("R007 never quiet", {"a.yaml": GOOD[: GOOD.index("  - name: quiet")]}),
    ("R007 never fires", {"a.yaml": GOOD[: GOOD.index("  - name: fires")] + GOOD[GOOD.index("  - name: quiet") :]}),
    ("R008", good("    because: nothing after it\n", "")),
    ("R009", good("boom: ?", "all is well")),
    ("R009 another metric", {"a.yaml": swapped(METRIC, 'toy_heat{gpu="0"} 3', 'toy_heat_max{gpu="0"} 3')}),
    (
        "R009 unrelated",
        {
            "s.yaml": symptoms(),
            "a.yaml": swapped(
                relation("REL001", "one", "A", "B"), "because: alone\n    given: |\n      node-01 +0.0s A", UNRELATED
            ),
        },
    ),
    ("R010 none", {"a.py": "X = 1\n"}),
    ("R010 two", {"a.yaml": GOOD, "b.py": TWO}),
    ("R011", {**good(), "retired.yaml": "retired: {TOY001: was wrong}\n"}),
    (
        "R011 twice",
        {**good(), "r.yaml": "retired: {TOY009: was wrong}\n", "s.yaml": "retired: {TOY009: was right}\n"},
    ),
    ("R012", {**good(), "b.yaml": "symptoms:\n  BOOM: {role: effect, meaning: b}\n"}),
    ("R013", {"a.py": "import os\nfrom subprocess import run\nimport attribution.rules.loader\nimport re, math\n"}),
    (
        "R013 uses",
        python(
            'yield Finding("BOOM")',
            "print(open)\n    import collections, math as m\n    from collections import _sys\n"
            "    collections._sys.exit()\n    m.__loader__\n    __import__('os')\n"
            "    getattr(match, 'x').__class__\n    match._replace()",
        ),
    ),
    ("R013 inner", {"a.py": "def f():\n    import socket\n"}),
    ("R014", CIRCLE_OF_TWO),
    ("R014 three", CIRCLE_OF_THREE),
    ("R015 relation", {"s.yaml": symptoms(), "a.yaml": relation("REL001", "one", "A", "tag:ecko")}),
    ("R015 symptom", good("meaning: a boom}", "meaning: a boom, tags: [loud]}")),
    (
        "R015 registry",
        {
            "s.yaml": symptoms().replace("tags: [echo]", "tags: [echo, loud]"),
            "a.yaml": relation("REL001", "one", "A", "B"),
        },
    ),
    ("R016 headings", python("    Why: Because.\n", "", "Next step: Look.", "Next step:")),
    ("R016 no first paragraph", python('    """It went bang.\n\n    Why', '    """\n    Why')),
    ("R016 id", python("TOY002", "toy2")),
    ("R017 given", good("+0.0s applog | boom: disk", "applog boom: disk")),
    ("R017 expect", good("node-01 +0.0s BOOM what=disk", "boom")),
    ("R017 far away", good("+0.0s applog | boom: disk", "+99999999999999s applog | boom: disk")),
    ("R017 device of a kind", good("BOOM what=disk", "BOOM gpu:kind=x")),
    ("R018 empty", {**good(), "b.yaml": "# later\n"}),
    ("R018 a word", {**good(), "b.yaml": "later\n"}),
    ("R018 kind", {"a.yaml": GOOD + "kind: magic\n"}),
    ("R018 list of kinds", {"a.yaml": GOOD + "kind: [extractor]\n"}),
    ("R018 no mapping", {"a.yaml": "- id: TOY001\n"}),
    ("D014 retired list", {**good(), "r.yaml": "retired: [TOY009]\n"}),
    ("D011 in a rule", good("emit: {symptom", "emit: {symtom: BOOM, symptom")),
    ("D011 in Python cases", python("  because: no colon", "  becaus: no colon")),
    ("D001 in Python cases", python("  because: no colon", "  because: no: colon")),
    ("D001 syntax", {"a.yaml": "id: [\n"}),
    ("D002 twice", good("why: Because.", "why: Because.\nwhy: Again.")),
    ("D003 anchor", good("why: Because.", "why: &x Because.")),
    ("D003 tag", good("why: Because.", "why: !!str Because.")),
    ("D010 no mapping", {**good(), "lock.json": "[]\n"}),
    ("D011 unknown key", good("summary: It went boom.", "summary: It went boom.\nsumary: x")),
    ("D012 missing", good("misses: Nothing.\n", "")),
    ("D013 status", good("status: stable", "status: stabel")),
    ("D013 role", good("role: effect", "role: root")),
    ("D014 id", good("id: TOY001", "id: toy-1")),
    ("D015", good("why: Because.", "why:")),
    (
        "D014 reason",
        {
            "s.yaml": symptoms(),
            "a.yaml": swapped(relation("REL001", "one", "A", "B"), "reason: r", "reason: 'of {causes} {cause}'"),
        },
    ),
    ("D014 cause", good("role: effect, meaning", "role: cause, meaning")),
    ("D014 also", good("  - name: fires\n", "  - name: fires\n    also: nobody\n")),
    ("R005 wrong literal", two("'blast: '", r"'blost: \w'")),
    ("R009 another source", good("node-01 +0.0s applog | boom: ?", "node-01 +0.0s syslog | boom: ?")),
    ("R009 another case", good("boom: ?", "Boom: ?")),
    ("R019", two("' loss'", r"' loss \?'")),
    ("R020", good("literals: ['boom: ']", "literals: ['boom: ', 'a boom: ']")),
    ("R021", good(r"(?P<what>\w+)", r"(?P<what>\w+)(?:.{0,999}x.{0,999}y)?")),
    ("R021 Python", python(r"bang: \w", r"bang: \w(?:.{0,999}x.{0,999}y)?")),
    ("R022", {**good(), "b.yaml": BLAST}),
    ("R023", good("  - name: fires\n", "  - name: fires\n    also: TOY009\n")),
    ("R024", good(r"pattern: 'boom: (?P<what>\w+)'", r"pattern: ['boom: (?P<what>\w+)', 'boom: d', 'boom: !']")),
    ("R024 Python", python(r'pattern=r"bang: \w"', r'pattern=[r"bang: \w", r"bang: !"]')),
    ("R025", good(r"(?P<what>\w+)", r"(?P<what>disk|link)(?: again)?")),
    ("R026", good("boom: (?P", "^big? ?boom: (?P", "| boom: disk", "| big boom: disk")),
    ("R027", {**good(), "s.yaml": "symptoms:\n  BANG: {role: effect, meaning: a bang}\n"}),
    ("R028 no action", good("role: effect, ", "role: cause, sub_domain: storage, actions: [none], ")),
    ("R028 Python", {"b.py": OWN_SYMPTOM + PYTHON}),
    ("R029 secret", good("boom: disk", "boom: disk api_key=0123456789abcdef")),
    ("R029 address", good("boom: disk", "boom: disk of 8.8.8.8 and 10.0.0.1, 192.0.2.7 and v1.2.3.4")),
    ("R029 address of six", good("boom: disk", "boom: disk of 2606:4700:4700::1111 and 2001:db8::1")),
    ("R029 person", good("boom: disk", "boom: disk, mail jane.doe@acme.com")),
    ("R029 home", good("boom: disk", "boom: disk /home/jdoe/x and /home/user/x")),
    ("R029 host", good("boom: disk", "boom: disk of gpu7.acme-corp.com, not of gpu7.example.com")),
    ("R029 context", good("  - name: fires\n", "  - name: fires\n    context: {user: jane@acme.com}\n")),
    ("R030 new", {**good(), "lock.json": lock(TOY009=1)} | {"r.yaml": "retired: {TOY009: was wrong}\n"}),
    ("R030 changed", {**good(), "lock.json": lock(TOY001=3)}),
    ("R031", {**python(), "lock.json": lock(TOY001=1, TOY002=1, TOY009=4)}),
    ("R032 no version", good("since: 0.1.0", "since: next year")),
    ("R032 later", good("since: 0.1.0", "since: 99.0.0")),
    ("R032 Python", python('since="0.1.0"', 'since="0.1"')),
    ("R033 name", python("toy-bang", "Toy bang")),
    ("R033 status", python('since="0.1.0",', 'since="0.1.0",\n    status="stabel",')),
    ("R034 table", {**good(), "tables/b.json": "{", "__init__.py": "", "sub/__init__.py": "X = 1\n"}),
    ("R034 yml", {**good(), "b.yml": GOOD}),
    ("R034 backup", {**good(), "a.yaml.orig": GOOD, ".hidden/x.txt": "x", "README.md": "x", "Makefile": "x"}),
    ("R035 context", good("  - name: fires\n", "  - name: fires\n    context: {nodez: []}\n")),
    ("R036", good("'boom: (?P<what>\\w+)'", "'^boom: (?P<what>\\w+)$'", "boom: ?", "the boom: ?")),
    ("R035 missing and extra", good("BOOM what=disk", "BOOM what=link")),
    ("R035 raises", python('yield Finding("BOOM")', "raise KeyError(match)")),
    ("R035 leaves", python('yield Finding("BOOM")', "raise SystemExit(0)")),
    ("R035 not under emits", python('yield Finding("BOOM")', 'yield Finding("BANG")')),
    ("R035 no finding", python('yield Finding("BOOM")', 'yield "BOOM"')),
    *(
        (f"R037 {option}", python('since="0.1.0",', f'since="0.1.0",\n    {option},'))
        for option in ("follow_lines=10**9", 'follow_lines="x"', "status=4", 'sources=["applog"]', "traceback=1")
    ),
    ("R037 id", python('"TOY002"', "900")),
    ("R037 name", python('"toy-bang"', "3")),
    ("R037 since", python('since="0.1.0"', "since=0.1")),
    ("R037 literals", python('["bang: "]', '"bang: "')),
    ("R037 one literal", python('["bang: "]', '["bang: ", 1]')),
    ("R037 pattern", python(r'r"bang: \w"', "5")),
    ("R037 patterns", python(r'r"bang: \w"', "(5,)")),
    ("R037 emits", python('["BOOM"]', "()")),
    ("R037 printed_by", python('PrintedBy("toy", "all", "toy.c")', '"me"')),
    ("R037 part of printed_by", python('"all"', "2")),
    ("R037 cases", python('CASES = """', 'CASES = 5\nOTHER = """')),
    ("R037 symptoms", python('CASES = """', 'SYMPTOMS = ("x",)\nCASES = """')),
    ("R037 role", {"b.py": OWN_SYMPTOM.replace("Role.CAUSE", "5") + PYTHON}),
    ("R037 no function", python("def bang(match):", "async def bang(match):")),
    ("R037 stage", {**good(), "b.py": REFINER.format(stage='"JOB"', needs="()", priority=0)}),
    ("R037 needs", {**good(), "b.py": REFINER.format(stage="RefineStage.JOB", needs='"BOOM"', priority='"x"')}),
]
