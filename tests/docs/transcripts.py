"""Transcripts of the docs, run again. `python -m tests.docs.transcripts` writes what the commands print now.

A document of WORKSPACES plays in a folder of its own: a file whose path stands in a comment before its block
(`<!-- file: my-rules/x.yaml -->`) is written there, and its commands run one after the other.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sys.executable).parent / "attribution"
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
WORKSPACES = {"writing-rules.md"}

_BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>[\w./-]+) -->\n+)?^```(?P<form>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)


def commands(body: str) -> Iterator[tuple[str, str]]:
    """(command, what it shows) of a console block."""
    for part in _PROMPT.split(body)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def output_of(command: str, folder: Path) -> str:
    """What a command prints in 80 columns: its answer, and what it says of an error."""
    words = shlex.split(command)
    if words[0] == "cat":
        return (folder / words[1]).read_text()
    kept = {name: value for name, value in os.environ.items() if name != "ATTRIBUTION_RULES"}
    settings = [word for word in words if re.match(r"[A-Z_]+=", word)]
    environment = {**kept, "COLUMNS": "80", "NO_COLOR": "1", **dict(word.split("=", 1) for word in settings)}
    words = words[len(settings) :]
    assert words[0] == "attribution", command
    run = subprocess.run(
        [COMMAND, *words[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode in {0, 1, 2, 3}, run.stderr
    return run.stdout + (run.stderr if run.returncode >= 2 else "")


def renewed(path: Path) -> str:
    """A document with every transcript as its command prints it now. One that shows nothing is left alone."""
    if path.name not in WORKSPACES:
        return _renewed(path.read_text(), ROOT, everything=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "samples").symlink_to(ROOT / "samples")
        return _renewed(path.read_text(), folder, everything=True)


def _renewed(text: str, folder: Path, *, everything: bool) -> str:
    def block(match: re.Match[str]) -> str:
        if match["file"]:
            file = folder / match["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(match["body"])
        if match["form"] != "console":
            return match[0]
        return "```console\n" + "".join(_step(*step, folder, everything) for step in commands(match["body"])) + "```"

    return _BLOCK.sub(block, text)


def _step(command: str, shown: str, folder: Path, everything: bool) -> str:
    known = re.match(r"(?:[A-Z_]+=\S+ )*attribution |cat ", command)
    if not known or not (everything or shown.strip()):
        return f"$ {command}\n{shown}"
    blank = shown[len(shown.rstrip("\n")) + 1 :] if shown.strip() else ""
    return f"$ {command}\n{output_of(command, folder).rstrip()}\n{blank}"


if __name__ == "__main__":
    for path in DOCS:
        text = renewed(path)
        if text != path.read_text():
            path.write_text(text)
            print(f"renewed {path.relative_to(ROOT)}")
