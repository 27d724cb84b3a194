"""`rules diff` tells which diagnoses move between two sets of rules, and what changed in the rules."""

import json
from pathlib import Path

import pytest

from attribution.cli.corpus import corpus_at

from tests.cli.commands import RULE, apart, run
from tests.cli.toys import FILES, LOST, write_bundle, write_rules

LINE = "2026-05-04T03:00:00Z node-01 toyd: toy device 0000:1b:00 is lost (code 7)\n"
CONTEXT = """\
workload_id: w
scheduler_state: FAILED
started_at: 2026-05-04T02:00:00Z
ended_at: 2026-05-04T04:00:00Z
nodes: [{name: node-01}, {name: node-02}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rules before and after a change, and three bundles, one of which they read."""
    few = {name: FILES[name] for name in ("stalled.yaml", "symptoms.yaml")}
    write_rules(tmp_path / "before", few)
    write_rules(
        tmp_path / "after", {**few, "lost.yaml": LOST, "stalled.yaml": few["stalled.yaml"].replace("waits", "w")}
    )
    corpus = tmp_path / "corpus"
    write_bundle(corpus / "lost", context=CONTEXT, syslog__node_01=LINE)
    write_bundle(corpus / "2026" / "quiet", context=CONTEXT, syslog__node_01="2026-05-04T03:00:00Z node-01 kernel: x\n")
    return tmp_path


def test_what_moves_is_told(folder: Path) -> None:
    answer = run("rules", "diff", "before", "after", "corpus", cwd=folder)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.splitlines() == [
        "rules      1 added, 0 removed, 1 changed",
        "  + TOY001 toy-device-lost",
        "  ~ TOY002 toy-rank-stalled",
        "symptoms   1 added, 0 removed, 0 changed",
        "  + TOY_LOST",
        "diagnoses  1 of 2 moved",
        "  lost",
        "    sub_domain     insufficient_evidence -> gpu_hardware",
        "    causes         (none) -> TOY_LOST on node-01 pci=0000:1b:00 (single)",
        "    affected_nodes (none) -> node-01",
    ]


def test_a_change_is_no_failure_unless_it_is_asked_for(folder: Path) -> None:
    words = ("rules", "diff", "--fail-on-change", "corpus")
    assert run(*words[:3], "before", "after", "corpus", cwd=folder).returncode == 1
    assert run(*words[:3], "after", "after", "corpus", cwd=folder).returncode == 0


def test_json_holds_the_same(folder: Path) -> None:
    words = ("rules", "diff", "after", "before", "corpus", "--format", "json")
    first = apart(*words, cwd=folder, PYTHONHASHSEED="1")
    assert first.stdout == apart(*words, cwd=folder, PYTHONHASHSEED="2").stdout
    found = json.loads(first.stdout)
    assert found["rules"] == {
        "added": [],
        "removed": ["TOY001 toy-device-lost"],
        "changed": ["TOY002 toy-rank-stalled"],
    }
    assert found["same"] == ["2026/quiet"] and found["unreadable"] == {} and found["old"] != found["new"]
    (moved,) = found["moved"]
    assert moved["bundle"] == "lost"
    assert moved["parts"]["sub_domain"] == [["gpu_hardware"], ["insufficient_evidence"]]
    assert "terminal_state" not in moved["parts"]


def test_shipped_rules_stand_beside_a_folder_or_alone(folder: Path) -> None:
    beside = run("rules", "diff", "shipped", "after", "corpus", cwd=folder, ATTRIBUTION_RULES=str(folder / "after"))
    assert beside.stdout.splitlines()[0] == "rules      2 added, 0 removed, 0 changed"
    alone = run("rules", "diff", "--alone", "before", "after", "corpus", "--format", "json", cwd=folder)
    assert json.loads(alone.stdout)["rules"]["added"] == ["TOY001 toy-device-lost"]
    same = run("rules", "diff", "shipped", "shipped", "corpus", cwd=folder)
    assert same.stdout.splitlines()[-1] == "diagnoses  0 of 2 moved"


def test_a_single_bundle_is_a_corpus(folder: Path) -> None:
    answer = run("rules", "diff", "before", "after", "corpus/lost", cwd=folder)
    assert "diagnoses  1 of 1 moved" in answer.stdout


def test_what_cannot_be_read_is_told(folder: Path) -> None:
    write_bundle(folder / "corpus" / "wrong", context="workload_id: w\nnodez: []\n", syslog__node_01=LINE)
    (folder / "corpus" / "broken.tar.gz").write_bytes(b"\x1f\x8bgarbage")
    (folder / "corpus" / "README.md").write_text("bundles\n")
    answer = run("rules", "diff", "before", "after", "corpus", cwd=folder)
    assert answer.returncode == 0
    lines = [line for line in answer.stdout.splitlines() if line.startswith(("unreadable", "no bundle", "diagnoses"))]
    assert lines[0] == "diagnoses  1 of 2 moved"
    assert lines[1].startswith("unreadable  broken.tar.gz: ")
    assert "D011 has the unknown key `nodez`" in lines[2] and lines[2].startswith("unreadable  wrong: ")
    assert lines[3:] == ["no bundle   README.md"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            "nowhere after corpus",
            2,
            "nowhere: C001 does not exist (give a folder of rules, or one rule file, or `shipped`)",
        ),
        ("before after nowhere", 2, "nowhere: C006 does not exist (name a bundle, or a folder of bundles)"),
        ("before after empty", 2, "empty: C006 holds no evidence bundle (name a bundle, or a folder of bundles)"),
        ("before after bad", 3, "bad: C006 holds no bundle that can be read (see above)"),
    ],
)
def test_wrong_sides_and_corpora(folder: Path, words: str, code: int, said: str) -> None:
    (folder / "empty").mkdir()
    (folder / "bad").mkdir()
    (folder / "bad" / "broken.tar").write_bytes(b"no archive")
    answer = run("rules", "diff", *words.split(), cwd=folder)
    assert (answer.returncode, answer.stderr) == (code, f"attribution: {said}\n")


def test_a_side_may_be_one_rule_file(folder: Path) -> None:
    (folder / "boom.yaml").write_text(RULE)
    answer = run("rules", "diff", "shipped", "boom.yaml", "corpus", cwd=folder)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("rules      1 added, 0 removed, 0 changed\n  + TOY901 toy-boom\n")


def test_a_bundle_that_links_lead_to_again_is_taken_once(tmp_path: Path) -> None:
    write_bundle(tmp_path / "a", applog__node_01="step 1\n")
    (tmp_path / "self").symlink_to(".")
    (tmp_path / "0-again").symlink_to("a")
    assert [name for name, _ in corpus_at(tmp_path).bundles] == ["a"]
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "b").symlink_to("../a")
    assert [name for name, _ in corpus_at(tmp_path / "links").bundles] == ["b"], "a corpus may be made of links"


def test_bundles_are_found_however_deep_and_in_order(tmp_path: Path) -> None:
    for name in ("b/x", "a", "b/c/y"):
        write_bundle(tmp_path / name, applog__node_01="step 1\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "job.out").write_text("step 1\n")
    (tmp_path / "z.tar.zst").write_bytes(b"")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("")
    (tmp_path / "note.txt").write_text("")
    found = corpus_at(tmp_path)
    assert [name for name, _ in found.bundles] == ["a", "b/c/y", "b/x", "logs", "z.tar.zst"]
    assert found.passed_over == ("note.txt",)
