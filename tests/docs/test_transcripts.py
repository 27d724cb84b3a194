"""Transcripts in the docs are what the commands print, and examples in the docs are what the loader accepts."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = Path(sys.executable).parent / "attribution"


def transcripts() -> list[tuple[str, str, str]]:
    """(document, command, what it shows) of every `$ attribution …` in a console block."""
    found = []
    for path in DOCS:
        for block in BLOCK.findall(path.read_text()):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                if command.startswith("attribution ") and shown.strip():
                    found.append((path.name, command, shown.rstrip("\n")))
    return found


@pytest.mark.parametrize(("document", "command", "shown"), transcripts(), ids=lambda value: str(value)[:60])
def test_a_transcript_is_what_the_command_prints(document: str, command: str, shown: str) -> None:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    words = shlex.split(command)
    run = subprocess.run([COMMAND, *words[1:]], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.rstrip("\n") == shown, f"{document}: run `{command}` with COLUMNS=80 and copy what it prints"


def test_the_readme_shows_a_transcript() -> None:
    assert any(document == "README.md" for document, _, _ in transcripts())


def test_the_rule_of_the_contributing_guide_is_accepted(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    block = re.search(r"^   ```yaml\n(.*?)^   ```", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    rule = "\n".join(line[3:] for line in block[1].splitlines())
    (tmp_path / "rule.yaml").write_text(rule)
    run = subprocess.run([COMMAND, "rules", "check", "--rules", tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert (
        "CTR900"
        in subprocess.run(
            [COMMAND, "rules", "list", "--rules", tmp_path], capture_output=True, text=True, check=True
        ).stdout
    )
