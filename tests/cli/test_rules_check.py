"""`rules check` tells what is wrong and only then fails; `rules lock` writes down what rules do."""

import json
from pathlib import Path

import pytest

from attribution.cli import catalog

from tests.cli.commands import RULE, run
from tests.cli.toys import shipped_is


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `own` of one good rule, beside a small catalog in the place of the shipped one."""
    shipped_is(tmp_path / "shipped", monkeypatch)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.yaml").write_text(RULE)
    return tmp_path / "own"


def test_a_folder_in_which_all_holds(own: Path) -> None:
    answer = run("rules", "check", "--rules", "own", cwd=own.parent)
    assert answer.returncode == 0, answer.stdout
    assert answer.stdout.endswith(" cases hold\n")
    assert answer.stderr.startswith("checked in ")


def test_what_is_wrong_is_told_with_its_place_and_fails(own: Path) -> None:
    (own / "a.yaml").write_text(RULE.replace("what=disk", "what=link"))
    words = ("rules", "check", "--rules", "own")
    answer = run(*words, cwd=own.parent)
    assert answer.returncode == 1
    assert answer.stdout.splitlines()[:3] == [
        "own/a.yaml:14:5: R035 has a case `fires` of TOY901 that does not hold:",
        "    missing: node-01 +0.0s TOY_BOOM what=link",
        "    extra:   node-01 +0.0s TOY_BOOM what=disk",
    ]
    assert answer.stdout.endswith(": 1 wrong\n")
    answer = run(*words, "--format", "json", cwd=own.parent)
    (problem,) = json.loads(answer.stdout)
    assert (answer.returncode, problem["code"]) == (1, "R035")
    assert problem["place"] == {"file": "own/a.yaml", "line": 14, "column": 5}


def test_advice_is_told_on_request_and_fails_nothing(own: Path) -> None:
    (own / "a.yaml").write_text(RULE.replace(r"(?P<what>\w+)", "(?P<what>disk|link)"))
    words = ("rules", "check", "--rules", "own")
    assert "R025" not in run(*words, cwd=own.parent).stdout
    answer = run(*words, "--loosening", cwd=own.parent)
    assert answer.returncode == 0
    told = [line for line in answer.stdout.splitlines() if line.startswith("own/") and "R025" in line]
    assert told == [
        "own/a.yaml:10:51: R025 has the alternative `link` in a pattern of TOY901, and no case holds it "
        "(add a line with it, or remove it)"
    ]
    assert "advice R025, " in answer.stdout


def test_a_changed_rule_is_wrong_until_it_is_locked(own: Path) -> None:
    words = ("--rules", "own")
    first = run("rules", "lock", *words, cwd=own.parent)
    assert (first.returncode, first.stdout) == (0, "TOY901 toy-boom: new, revision 1\nown/lock.json: 1 changed\n")
    assert run("rules", "lock", *words, cwd=own.parent).stdout == "own/lock.json: nothing changed\n"
    (own / "a.yaml").write_text(RULE.replace(r"\w+", "[a-z]+"))
    answer = run("rules", "check", *words, cwd=own.parent)
    assert answer.returncode == 1
    assert answer.stdout.startswith(
        "own/a.yaml:1:1: R030 has the rule TOY901, which does something else than revision 1"
    )
    assert run("rules", "lock", *words, cwd=own.parent).stdout.startswith("TOY901 toy-boom: revision 2\n")
    assert run("rules", "check", *words, cwd=own.parent).returncode == 0


def test_a_lock_file_that_cannot_be_written_is_told(own: Path) -> None:
    (own / "lock.json").mkdir()
    answer = run("rules", "lock", "--rules", "own", cwd=own.parent)
    assert answer.returncode == 2
    said = "own/lock.json: R001 cannot be read: Is a directory (it is the lock file: check its permissions)"
    assert answer.stderr == f"attribution: {said}\n"
    (own / "lock.json").rmdir()
    (own / "lock.json").write_bytes(b"\xff")
    answer = run("rules", "lock", "own", cwd=own.parent)
    said = "own/lock.json: R001 is not UTF-8 text (take it from the last release, or remove it and lock anew)"
    assert (answer.returncode, answer.stderr) == (2, f"attribution: {said}\n")


def test_a_folder_is_locked_by_whatever_path_it_is_called(own: Path) -> None:
    (own.parent / "link").symlink_to(own)
    for path in ("own/", "../" + own.parent.name + "/own", str(own), "link"):
        (own / "lock.json").unlink(missing_ok=True)
        answer = run("rules", "lock", path, cwd=own.parent, ATTRIBUTION_RULES="link/../own")
        assert (answer.returncode, answer.stderr) == (0, "")
        assert answer.stdout.startswith("TOY901 toy-boom: new, revision 1\n")
        assert "TOY901" in (own / "lock.json").read_text()


def test_only_whole_folders_are_locked(own: Path) -> None:
    (own / "inner").mkdir()
    (own / "inner" / "b.yaml").write_text(RULE.replace("TOY901", "TOY902").replace("toy-boom", "toy-more"))
    shipped = catalog.SHIPPED
    outer = "(give that one: its lock file holds all of its rules)"
    single = "own/a.yaml: C001 is one file, and lock files are those of folders (give its folder)"
    nothing = "rules lock: C001 is given no folder of rules (give a folder of your own rules, or --shipped)"
    for words, variable, said in (
        (("own", "own/inner"), "", f"own/inner: C001 lies in another folder of rules, own {outer}"),
        (("own/inner",), "own", f"own/inner: C001 lies in another folder of rules, own {outer}"),
        ((str(shipped / "nccl"),), "", f"nccl: C001 lies in another folder of rules, shipped {outer}"),
        (("own/a.yaml",), "", single),
        ((), "own", nothing),
    ):
        answer = run("rules", "lock", *words, cwd=own.parent, ATTRIBUTION_RULES=variable)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr.startswith("attribution: ") and said in answer.stderr.splitlines()[0]
    assert list(own.parent.rglob("lock.json")) == []
    assert not (shipped / "nccl" / "lock.json").exists()


def test_codes_and_retired_ids_are_explained() -> None:
    assert "without any of the literals" in run("explain", "r005").stdout
    answer = run("explain", "CUDA007")
    assert (answer.returncode, answer.stdout) == (0, "CUDA007  (retired)\n\nFAB004 reads the same lines.\n")
