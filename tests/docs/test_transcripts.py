"""Transcripts in the docs are what the commands print, and examples in the docs are what the loader accepts."""

import re
import subprocess
from pathlib import Path

import pytest

from attribution.cli.families import OWN_FROM
from attribution.contracts.vocabulary import CAUSE_SUB_DOMAINS, Action
from attribution.rules.api import FilterStage, RefineStage
from attribution.rules.modules import ALLOWED_IMPORTS

from tests.docs.transcripts import COMMAND, DOCS, ROOT, WORKSPACES, renewed


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[pytest.mark.slow] * (path.name in WORKSPACES), id=path.name) for path in DOCS]
)
def test_a_transcript_is_what_the_command_prints(path: Path) -> None:
    """If this fails: python -m tests.docs.transcripts, and read the difference."""
    assert renewed(path) == path.read_text()


@pytest.mark.parametrize("name", ["README.md", "writing-rules.md"])
def test_there_are_transcripts(name: str) -> None:
    (path,) = [path for path in DOCS if path.name == name]
    assert re.search(r"^```console\n\$ attribution .+\n.+", path.read_text(), re.MULTILINE)


def test_a_transcript_that_is_no_longer_true_is_found(tmp_path: Path) -> None:
    stale = tmp_path / "stale.md"
    stale.write_text("```console\n$ attribution --version\nattribution 0.0.0\n\n$ attribution frobnicate\n```\n")
    assert re.fullmatch(
        r"```console\n\$ attribution --version\nattribution [1-9\d.]+\n\n\$ attribution frobnicate\n```\n",
        renewed(stale),
    )


def test_writing_rules_names_every_sub_domain_and_action() -> None:
    text = (ROOT / "docs" / "writing-rules.md").read_text()
    assert [name for name in (*CAUSE_SUB_DOMAINS, *Action) if f"`{name}`" not in text] == []


def test_writing_rules_names_every_import_and_stage_of_a_python_rule() -> None:
    text = (ROOT / "docs" / "writing-rules.md").read_text()
    stages = [f"{stage.__class__.__name__}.{stage.name}" for stage in (*RefineStage, FilterStage.EARLY)]
    assert [name for name in (*ALLOWED_IMPORTS, *stages) if f"`{name}`" not in text] == []


@pytest.mark.slow
def test_the_rule_of_the_contributing_guide_is_accepted(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    block = re.search(r"^   ```yaml\n(.*?)^   ```", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    rule = "\n".join(line[3:] for line in block[1].splitlines())
    number = re.search(r"^id: CTR(\d{3})$", rule, re.MULTILINE)
    assert number is not None and int(number[1]) < OWN_FROM, "it goes into the shipped catalog"
    (tmp_path / "rule.yaml").write_text(rule.replace(f"CTR{number[1]}", "CTR900"))
    run = subprocess.run([COMMAND, "rules", "check", "--rules", tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert (
        "CTR900"
        in subprocess.run(
            [COMMAND, "rules", "list", "--rules", tmp_path], capture_output=True, text=True, check=True
        ).stdout
    )
