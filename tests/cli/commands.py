"""Runs `attribution` as a user does, away from any terminal."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, chdir
from pathlib import Path
from unittest.mock import patch

from attribution.cli import main

ATTRIBUTION = Path(sys.executable).with_name("attribution")
_UNSET = ("NO_COLOR", "COLUMNS", "FORCE_COLOR", "ATTRIBUTION_")


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of this process without those that change an answer, and `more`."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith(_UNSET)}, **(more or {})}


def apart(*words: object, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """What the command answered in a process of its own."""
    return subprocess.run(
        [ATTRIBUTION, *map(str, words)],
        cwd=cwd,
        env=environment(env),
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )


def run(*words: object, cwd: Path | None = None, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, which has imported everything already: most of a short command is its start."""
    given, out, err = (io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8") for text in (stdin, "", ""))
    with ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        stack.enter_context(patch.dict(os.environ, environment(env), clear=True))
        stack.enter_context(chdir(cwd or Path.cwd()))
        stack.enter_context(
            patch.multiple(sys, argv=["attribution", *map(str, words)], stdin=given, stdout=out, stderr=err)
        )
        try:
            main.run()
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess([], int(code or 0), _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


RULE = """\
id: TOY901
name: toy-boom
status: stable
since: 0.1.0
summary: It went boom.
why: Because.
misses: Nothing.
next_step: Look.
printed_by: {program: toy, versions: all, source: toy.c}
extract: {from: applog, literals: ['toy boom: '], pattern: 'toy boom: (?P<what>\\w+)'}
emit: {symptom: TOY_BOOM, keep: [what]}
symptom: {role: effect, meaning: a boom}
cases:
  - name: fires
    given: |
      node-01 +0.0s applog | toy boom: disk
    expect: |
      node-01 +0.0s TOY_BOOM what=disk
  - name: quiet
    because: nothing after it
    given: |
      node-01 +0.0s applog | toy boom: ?
    expect: none
"""
