"""A command on disk that answers as a test says, in place of `sacct`, `kubectl` and their like."""

import json
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_SCRIPT = """\
#!{python}
import json, os, re, sys, time
folder = {folder!r}
arguments = sys.argv[1:]
with open(os.path.join(folder, "calls.jsonl"), "a") as calls:
    calls.write(json.dumps(arguments) + "\\n")
with open(os.path.join(folder, "answers.json")) as file:
    answers = json.load(file)
for number, answer in enumerate(answers):
    if not re.search(answer["arguments"], " ".join(arguments)):
        continue
    limit = answer["times"]
    if limit is not None:
        used = os.path.join(folder, "used-%d" % number)
        with open(used, "a+b") as count:
            count.write(b".")
            count.flush()
            if count.tell() > limit:
                continue
    time.sleep(answer["wait_secs"])
    out = answer["stdout"].encode("utf-8", "surrogateescape")
    while True:
        sys.stdout.buffer.write(out)
        sys.stdout.buffer.flush()
        if not answer["endless"]:
            break
    sys.stderr.write(answer["stderr"])
    sys.exit(answer["exit_code"])
sys.stderr.write("no answer for: " + " ".join(arguments) + "\\n")
sys.exit(64)
"""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What the command prints when `arguments`, a regular expression, is found in its arguments joined by spaces.

    It answers so `times` times, if that is given. `endless` repeats stdout for as long as somebody reads.
    """

    arguments: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    wait_secs: float = 0.0
    endless: bool = False
    times: int | None = None


class FakeCommand:
    """An executable file `folder/name`. The first answer that fits is given; without one it exits with 64."""

    def __init__(self, folder: Path, name: str, answers: Sequence[CommandAnswer]) -> None:
        self._state = folder / f".{name}"
        self._state.mkdir(parents=True, exist_ok=True)
        self.path = folder / name
        self.path.write_text(_SCRIPT.format(python=sys.executable, folder=os.fspath(self._state)))
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        self.answer_with(answers)

    def answer_with(self, answers: Sequence[CommandAnswer]) -> None:
        """Answer so from now on."""
        (self._state / "answers.json").write_text(json.dumps([asdict(answer) for answer in answers]))

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of each call so far."""
        file = self._state / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
