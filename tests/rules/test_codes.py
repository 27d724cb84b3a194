"""Each mistake in a rule folder is told with its code, its place, one sentence and what to do.

`golden/R005.txt` holds what is told of each bad folder whose name begins with R005; UPDATE_GOLDEN=1 rewrites them.
"""

import os
from itertools import groupby
from pathlib import Path

import pytest

from attribution.contracts.error_codes import ADVICE, CODES
from attribution.contracts.errors import ConfigurationError, Problem
from attribution.diagnosis.exercise import loosenings
from attribution.diagnosis.lint import lint
from attribution.extraction.ruleset import RuleSets
from attribution.rules.loader import load_catalog

from tests.rules.toys import BAD, BLAST, GOOD, PYTHON, Files, relation, swapped

GOLDEN = Path(__file__).parent / "golden"
BESIDE_SHIPPED = {"R038"}
"""Told only of rules that stand beside shipped ones."""
TOLD = [code for code in CODES if code[0] in "DR" and code not in BESIDE_SHIPPED]
"""The codes of rules and of the documents they are written in."""
FOLDERS = {
    code: list(folders) for code, folders in groupby(sorted(BAD, key=lambda bad: bad[0]), lambda bad: bad[0][:4])
}


def told(files: Files, advice: bool = False) -> list[Problem]:
    """What loading and checking a folder of these files tells; its paths show as `rules/…`."""
    for name, text in files.items():
        path = Path("rules") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    Path("rules").mkdir(exist_ok=True)
    try:
        rules = RuleSets(load_catalog([Path("rules")]))
        return [*lint(rules, [Path("rules")]), *(loosenings(rules.catalog) if advice else ())]
    except ConfigurationError as error:
        return list(error.problems)


@pytest.mark.parametrize("code", TOLD)
def test_what_is_told(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    for number, (name, files) in enumerate(FOLDERS[code]):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        problems = told(files, advice=code in ADVICE)
        assert code in {problem.code for problem in problems}, f"{name}: {[str(p) for p in problems]}"
        shown.append("".join(f"{line}\n" for line in (f"# {name}", *map(str, problems))))
    text = "\n".join(shown)
    path = GOLDEN / f"{code}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert path.read_text("utf-8") == text, f"if this is meant: UPDATE_GOLDEN=1 pytest {Path(__file__).name}"


def test_every_bad_folder_and_every_golden_file_has_a_code() -> None:
    assert set(FOLDERS) == set(TOLD)
    assert {path.stem for path in GOLDEN.iterdir()} == set(TOLD)


def test_nothing_is_told_of_good_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert told({"a.yaml": GOOD, "b.py": PYTHON}) == []


@pytest.mark.parametrize("file", ["a.yaml", "b.yaml"])
def test_one_declaration_is_enough_for_two_rules_on_the_same_lines(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"a.yaml": GOOD, "b.yaml": BLAST}
    other = {"a.yaml": "TOY003", "b.yaml": "TOY001"}[file]
    files[file] = swapped(files[file], "  - name: fires\n", f"  - name: fires\n    also: {other}\n")
    assert told(files) == []


RELATED = relation("REL001", "one", "BOOM", "BLAST").replace(" A\n", " BOOM\n").replace("node-01 B ", "node-01 BLAST ")


@pytest.mark.parametrize(
    "more",
    [
        {"b.yaml": BLAST.replace("emit:", "generic: true\nemit:")},
        {"b.yaml": BLAST, "r.yaml": RELATED},
    ],
    ids=["generic", "relation"],
)
def test_what_the_catalog_settles_needs_no_declaration(
    more: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "R022" not in {problem.code for problem in told({"a.yaml": GOOD, **more})}
