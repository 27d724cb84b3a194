"""Runs `attribution` as a user does, away from any terminal."""

import os
import subprocess
import sys
from pathlib import Path

ATTRIBUTION = Path(sys.executable).with_name("attribution")
_UNSET = {"NO_COLOR", "COLUMNS", "FORCE_COLOR", "ATTRIBUTION_RULES"}


def run(*words: str, cwd: Path | None = None, stdin: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """What the command answered."""
    kept = {name: value for name, value in os.environ.items() if name not in _UNSET}
    return subprocess.run(
        [ATTRIBUTION, *words],
        cwd=cwd,
        env={**kept, **env},
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


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
