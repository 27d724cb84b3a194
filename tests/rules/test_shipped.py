"""The shipped rules, samples and their documentation keep what they ask of others."""

import re
from pathlib import Path

import pytest

from attribution.bundle.compression import open_plain
from attribution.cli.catalog import SHIPPED, load_rules
from attribution.contracts.error_codes import CODES
from attribution.diagnosis.lint import lint
from attribution.extraction.neutral import finds

from tests.conftest import SAMPLES


@pytest.mark.slow
def test_nothing_is_told_of_the_shipped_rules() -> None:
    assert [str(problem) for problem in lint(load_rules(fresh=True), [SHIPPED])] == []


def test_the_codes_are_listed_in_the_documentation(root: Path) -> None:
    text = (root / "docs" / "error-codes.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", text, re.MULTILINE)
    assert {code: (meaning, remedy) for code, meaning, remedy in rows} == CODES


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_samples_are_neutral(sample: Path) -> None:
    found = []
    for path in sorted(p for p in sample.rglob("*") if p.is_file()):
        with open_plain(path) as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
        found += [(path.name, number, find) for number, line in enumerate(lines, 1) for find in finds(line)]
    assert found == []
