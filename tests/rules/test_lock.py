"""A lock file changes with what rules do, and with nothing else; what changes gets its next revision."""

import json
from pathlib import Path

import pytest

from attribution.contracts.errors import ConfigurationError
from attribution.rules.loader import LOCK_NAME, load_catalog
from attribution.rules.lock import renewed, stale

from tests.rules.toys import GOOD, PYTHON, swapped

FOLDER = Path("rules")


@pytest.fixture(autouse=True)
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of two rules with a lock file."""
    monkeypatch.chdir(tmp_path)
    FOLDER.mkdir()
    write("a.yaml", GOOD)
    write("b.py", PYTHON)
    assert lock() == ("TOY001 toy-boom: new, revision 1", "TOY002 toy-bang: new, revision 1")


def write(name: str, text: str) -> None:
    (FOLDER / name).write_text(text)


def lock() -> tuple[str, ...]:
    text, changes = renewed(load_catalog([FOLDER]), FOLDER)
    write(LOCK_NAME, text)
    return changes


def told() -> list[str]:
    return [str(problem) for problem in stale(load_catalog([FOLDER]), FOLDER)]


def revisions() -> dict[str, int]:
    rules = json.loads((FOLDER / LOCK_NAME).read_text())["rules"]
    return {id: rule["revision"] for id, rule in rules.items()}


def test_what_was_just_locked_is_not_stale_and_locking_again_changes_nothing() -> None:
    before = (FOLDER / LOCK_NAME).read_text()
    assert told() == []
    assert lock() == ()
    assert (FOLDER / LOCK_NAME).read_text() == before


@pytest.mark.parametrize(
    "change",
    [
        ("why: Because.", "why: Since."),
        ("a boom}", "a loud boom}"),
        ("boom: ?", "boom: !"),
        ("status: stable", "status: preview"),
    ],
    ids=["wording", "meaning", "case", "status"],
)
def test_wording_and_cases_are_no_behaviour(change: tuple[str, str]) -> None:
    write("a.yaml", swapped(GOOD, *change))
    assert told() == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", swapped(GOOD, r"\w+", r"[a-z]+")),
        ("a.yaml", swapped(GOOD, "from: applog", "from: [applog, syslog]")),
        ("a.yaml", swapped(GOOD, "keep: [what]", "keep: []", "BOOM what=disk", "BOOM")),
        ("a.yaml", swapped(GOOD, "emit:", "generic: true\nemit:")),
        ("a.yaml", swapped(GOOD, "role: effect", "role: context")),
        ("b.py", swapped(PYTHON, 'yield Finding("BOOM")', 'yield Finding("BOOM", {"x": "1"})')),
    ],
    ids=["pattern", "source", "fields", "generic", "symptom", "code"],
)
def test_a_change_of_behaviour_is_told_until_it_is_locked_and_is_a_new_revision(name: str, text: str) -> None:
    write(name, text)
    assert "R030" in told()[0]
    assert "revision 1 of its lock file" in told()[0]
    changed = lock()
    assert any("revision 2" in change for change in changed)
    assert told() == []
    assert 2 in revisions().values()


def test_a_comment_or_docstring_of_a_python_rule_is_no_behaviour() -> None:
    write("b.py", swapped(PYTHON, "Why: Because.", "Why: Since.", "@extractor(", "# a remark\n@extractor("))
    assert told() == []


def test_an_id_is_retired_before_its_rule_goes() -> None:
    (FOLDER / "b.py").unlink()
    assert told() == [
        "rules/lock.json:4:5: R031 has the rule TOY002 (`toy-bang`), which is gone "
        "(name it under `retired:` with the reason, or bring it back)"
    ]
    with pytest.raises(ConfigurationError, match="R031"):
        renewed(load_catalog([FOLDER]), FOLDER)
    write("retired.yaml", "retired: {TOY002: it never banged}\n")
    assert told() == []
    assert lock() == ("TOY002 toy-bang: retired",)
    assert revisions() == {"TOY001": 1}


def test_a_new_name_is_told_and_is_no_new_revision() -> None:
    write("a.yaml", swapped(GOOD, "toy-boom", "toy-blast"))
    assert "which its lock file calls `toy-boom`" in told()[0]
    assert lock() == ("TOY001 toy-blast: was called toy-boom",)
    assert revisions() == {"TOY001": 1, "TOY002": 1}


def test_a_folder_without_a_lock_file_is_free() -> None:
    (FOLDER / LOCK_NAME).unlink()
    write("a.yaml", swapped(GOOD, r"\w+", r"[a-z]+"))
    assert told() == []


def test_a_lock_file_with_the_marks_of_a_merge_is_refused_with_its_place() -> None:
    write(LOCK_NAME, (FOLDER / LOCK_NAME).read_text().replace('    "TOY002"', '<<<<<<< ours\n    "TOY002"'))
    with pytest.raises(ConfigurationError, match=r"rules/lock\.json:\d+:\d+: D001"):
        told()


def test_the_lock_file_is_not_part_of_what_the_catalog_is() -> None:
    before = load_catalog([FOLDER]).digest
    (FOLDER / LOCK_NAME).unlink()
    assert load_catalog([FOLDER]).digest == before
