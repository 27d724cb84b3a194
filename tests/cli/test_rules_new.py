"""From a pasted log line to a rule that passes: `rules new` writes all that a line can say, a person the rest."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution.cli.catalog import SHIPPED
from attribution.cli.families import OWN_FROM, family_named, next_id
from attribution.cli.rules_new import _family, _id
from attribution.cli.skeleton import skeleton_of, text_of
from attribution.contracts.vocabulary import Source
from attribution.diagnosis.verify import verify
from attribution.extraction.ruleset import RuleSets
from attribution.rules.loader import load_catalog

from tests.cli.commands import run
from tests.cli.toys import FILES, write_rules
from tests.examples import examples

LINE = "2026-05-04T03:00:01Z plugin: image quota exceeded: 2048 of 2048 MiB"
FILLED = {
    "summary": "The image quota of the node is used up.",
    "why": "The job never started.",
    "misses": "Nothing.",
    "next_step": "Remove images.",
    "program": "plugin",
    "versions": "any",
    "source": "quota.c",
    "meaning": "a full image quota",
    "sub_domain": "container_runtime",
    "actions": "[raise_limit]",
    "name": "only mentioned",
    "because": "nothing was refused",
}


def filled(text: str) -> str:
    """What a person makes of the file: every empty key gets its value."""
    return re.sub(r"^( *(?:- )?)(\w+):( *)(?:#.*)?$", _value, text, flags=re.MULTILINE)


def _value(match: re.Match[str]) -> str:
    lead, key = match[1], match[2]
    return f"{lead}{key}: {FILLED[key]}" if key in FILLED else match[0]


@pytest.mark.slow
def test_one_line_and_one_command_make_a_rule(tmp_path: Path) -> None:
    answer = run(
        "rules",
        "new",
        "--from",
        LINE,
        "--family",
        "pyxis",
        "--symptom",
        "image-quota",
        "--rules",
        "my-rules",
        cwd=tmp_path,
    )
    assert (answer.returncode, answer.stderr) == (0, "`pyxis` is taken for the family PYX\n")
    assert "attribution rules check my-rules" in answer.stdout
    path = tmp_path / "my-rules" / "image_quota.yaml"
    told = run("rules", "check", "my-rules", cwd=tmp_path)
    assert (told.returncode, told.stdout) == (2, "")
    empty = re.findall(r"D015 has no value for `(?:[a-z_0-9]+\.)*(\w+)`", told.stderr)
    assert len(empty) == len(told.stderr.splitlines())
    assert set(empty) == set(FILLED) - {"program"}, "the program stands in the line"
    path.write_text(filled(path.read_text()))
    for place in ("my-rules", "my-rules/image_quota.yaml"):
        checked = run("rules", "check", place, cwd=tmp_path)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert re.fullmatch(r"\d+ rules, \d+ patterns, \d+ symptoms: \d+ cases hold\n", checked.stdout)
    listed = run("rules", "list", "--rules", "my-rules", "--symptom", "IMAGE_QUOTA", cwd=tmp_path).stdout
    assert listed == "PYX900    extractor image-quota  The image quota of the node is used up. (preview)\n"


def test_without_a_folder_the_file_goes_to_stdout(tmp_path: Path) -> None:
    words = ("rules", "new", "--family", "PYX", "--symptom", "IMAGE_QUOTA", "--source", "scheduler", "--from")
    shown = run(*words, LINE, cwd=tmp_path)
    assert shown.stdout.startswith("id: PYX900\n") and "  from: scheduler\n" in shown.stdout
    assert shown.stdout == run(*words, "-", cwd=tmp_path, stdin=LINE + "\n").stdout
    assert list(tmp_path.iterdir()) == []


def test_a_known_symptom_is_not_defined_again(tmp_path: Path) -> None:
    shown = run("rules", "new", "--from", LINE, "--family", "gpu", "--symptom", "XID_79", cwd=tmp_path).stdout
    assert "emit: {symptom: XID_79," in shown and "\nsymptom:" not in shown


def test_a_symptom_of_ones_own_folder_is_not_defined_again(tmp_path: Path) -> None:
    write_rules(tmp_path / "own", {name: FILES[name] for name in ("lost.yaml", "symptoms.yaml")})
    words = ("rules", "new", "--from", LINE, "--family", "TOY", "--symptom", "TOY_LOST", "--rules", "own")
    assert run(*words, "--name", "toy-again", cwd=tmp_path).returncode == 0
    text = (tmp_path / "own" / "toy_again.yaml").read_text()
    assert text.startswith("id: TOY900\n") and "\nsymptom:" not in text


@pytest.mark.slow
def test_the_next_file_takes_the_next_number_and_no_file_is_overwritten(tmp_path: Path) -> None:
    words = ("rules", "new", "--from", LINE, "--family", "PYX", "--symptom", "IMAGE_QUOTA", "--rules", "own")
    assert run(*words, cwd=tmp_path).returncode == 0
    again = run(*words, cwd=tmp_path)
    assert (again.returncode, again.stderr) == (
        2,
        "attribution: own/image_quota.yaml: C005 exists already (give another --name, or remove the file)\n",
    )
    assert run(*words, "--name", "quota-again", cwd=tmp_path).returncode == 0
    assert (tmp_path / "own" / "quota_again.yaml").read_text().startswith("id: PYX901\n")


NO_TEXT = "--from: C004 is a line without any text that could gate a rule (give a line with words of its own)"


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--from", "one\ntwo", "--from: C004 holds 2 lines (give the one line that decides)"),
        ("--from", " ", "--from: C004 holds 0 lines (give the one line that decides)"),
        ("--from", "1 2 3", NO_TEXT),
        ("--from", "a bell \a rings loudly", NO_TEXT),
        ("--symptom", "9",
         "--symptom: C004 `9` is no name of a symptom (capital letters, digits and `_`, such as IMAGE_QUOTA)"),
        ("--from", "a word " * 600, "--from: C004 holds 4,200 characters, more than 4,096 "
         "(give the part of the line that decides)"),
        ("--rules", "/dev/null", "--rules: /dev/null: C001 is no folder "
         "(give a folder: the file in it gets the name of the rule)"),
        ("--family", "café", "--family: C004 `café` is no name of a family (two letters or more, such as PYX)"),
        ("--family", "1", "--family: C004 `1` is no name of a family (two letters or more, such as PYX)"),
        ("--name", "Image", "--name: C004 `Image` is no name of a rule (kebab-case, such as image-quota-used-up)"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_rule_is_refused(tmp_path: Path, flag: str, value: str, said: str) -> None:
    given = {"--from": LINE, "--family": "PYX", "--symptom": "IMAGE_QUOTA", flag: value}
    answer = run("rules", "new", *(word for pair in given.items() for word in pair), cwd=tmp_path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (2, "", f"attribution: {said}\n")


# --- what a line says -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "groups", "literal"),
    [
        ("plugin: image quota exceeded: 2048 of 2048 MiB", ["exceeded", "number"], "plugin: image quota exceeded:"),
        ("2026-05-04T03:00:01Z cannot mount /data/job on node-07: errno=5", ["path", "host", "errno"], "cannot mount"),
        ("[rank3]: lost peer 10.0.0.1:29500 (rank 12)", ["address", "rank"], "lost peer"),
        ("GPU 0000:1b:00.0 says 0x1f after 12.5 secs", ["pci", "says", "number"], None),
        ('mount of "scratch" failed, see https://example.org/x?y=1', ["mount", "url"], "failed, see"),
        ("lost rail 3 of mlx5_2 on ib0 and nvme0n1", ["rail", "device", "device_2", "device_3"], "lost rail"),
        ("cuda12 is not sm_90", [], "cuda12 is not sm_90"),
    ],
)
def test_numbers_paths_and_hosts_become_groups(line: str, groups: list[str], literal: str | None) -> None:
    found = skeleton_of(line)
    assert found is not None
    assert list(found.groups) == groups
    if literal:
        assert found.literal == literal


def test_a_record_of_a_container_runtime_is_read_as_the_scanner_does() -> None:
    record = '{"log":"plugin: image quota exceeded\\n","stream":"stderr","time":"2026-05-04T03:00:01.5Z"}'
    found = skeleton_of(record)
    assert found is not None
    assert (found.message, found.literal) == ("plugin: image quota exceeded",) * 2


def test_secrets_do_not_get_into_the_file() -> None:
    found = skeleton_of("upload refused for API_TOKEN=abcdefgh12345678 at 10.0.0.1")
    assert found is not None and "abcdefgh" not in found.message


def test_the_literal_is_the_text_that_ordinary_logs_lack() -> None:
    found = skeleton_of("step 100 loss 2.1 the frobnicator burst")
    assert found is not None and "frobnicator" in found.literal


_WORDS = st.sampled_from(
    ["plugin:", "quota", "(of)", "'a b'", '"', "12", "-3.5", "/data/job", "node-07", "10.0.0.1:80", "0x1f", "a|b",
     "x=1", "[rank3]:", "step", "{}", "\\d", "99%", "é", "#", "---", ": ", "GPU-00000000-1111-2222-3333-444444444444"]
)  # fmt: skip


@settings(max_examples=examples(60), deadline=None)
@given(words=st.lists(_WORDS, min_size=1, max_size=8))
def test_every_skeleton_passes_once_it_is_filled_in(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    found = skeleton_of(" ".join(words))
    if found is None:
        return
    folder = tmp_path_factory.mktemp("own")
    text = text_of(
        found, rule_id="TOY900", name="toy", since="0.1.0", source=Source.APPLOG, symptom="TOY", known=None
    )  # fmt: skip
    (folder / "toy.yaml").write_text(filled(text))
    assert verify(RuleSets(load_catalog([folder]))) == ()


@pytest.mark.parametrize(
    ("word", "family"), [("pyxis", "PYX"), ("PYX", "PYX"), ("sto", "STOR"), ("my-plugin", "MYPLU"), ("k8s", "K8S")]
)
def test_a_family_goes_by_its_letters(word: str, family: str) -> None:
    assert family_named(word, ["K8S", "PY", "PYX", "STOR"]) == family


def test_an_operators_numbers_are_never_the_products() -> None:
    taken = ["PYX001", "PYX007", "PYX900", "CTR950"]
    assert next_id("PYX", taken, own=False) == "PYX008"
    assert next_id("PYX", taken, own=True) == "PYX901"
    assert next_id("NEW", taken, own=True) == f"NEW{OWN_FROM}"


def test_behind_the_last_number_a_free_one_is_taken() -> None:
    assert next_id("PYX", ["PYX900", "PYX999"], own=True) == "PYX901"
    assert next_id("PYX", ["PYX001", "PYX899", "PYX900"], own=False) == "PYX002"
    assert next_id("PYX", [f"PYX{number}" for number in range(900, 1000)], own=True) is None


def test_a_family_without_a_free_number_is_told(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "ids.py").write_text("".join(f'id = "PYX{number}"\n' for number in range(900, 1000)))
    words = ("rules", "new", "--from", LINE, "--family", "PYX", "--symptom", "IMAGE_QUOTA", "--rules", "own")
    answer = run(*words, cwd=tmp_path)
    said = "--family: C004 `PYX` has no free number left (take another family)"
    assert (answer.returncode, answer.stderr) == (2, f"attribution: {said}\n")


def test_no_shipped_rule_has_an_operators_number(shipped: RuleSets) -> None:
    assert [r.info.id for r in shipped.catalog.rules if int(r.info.id[-3:]) >= OWN_FROM] == []


def test_in_the_shipped_catalog_a_rule_gets_a_number_of_ours(shipped: RuleSets) -> None:
    taken = max(int(r.info.id[-3:]) for r in shipped.catalog.rules if r.info.id.startswith("PYX"))
    assert _id(shipped.catalog, "PYX", SHIPPED / "container") == f"PYX{taken + 1:03}"
    assert _id(shipped.catalog, "PYX", None) == "PYX900"


def test_a_folder_stands_for_the_family_of_most_of_its_rules(shipped: RuleSets) -> None:
    counts = Counter(r.info.id[:-3] for r in shipped.catalog.rules if "/container/" in r.info.place.file)
    assert _family(shipped.catalog, "container") == max(sorted(counts), key=lambda name: counts[name])
