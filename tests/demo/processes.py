"""Commands as processes of their own, and whether any that they started is left."""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PATIENCE_SECS = 600
_LINE = re.compile(r"http://127\.0\.0\.1:(\d+)")


class Command:
    """A running `attribution` command whose stdout and stderr are read as they come."""

    def __init__(self, *arguments: str | Path, **environment: str) -> None:
        self.mark = f"mark-{uuid.uuid4().hex}"
        command = [sys.executable, "-c", "from attribution.cli.main import run; run()", *map(str, arguments)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment, "TEST_MARK": self.mark},
        )

    def told(self, text: str, stream: str = "stderr") -> str:
        """The next line that holds a text."""
        pipe: IO[str] | None = getattr(self.process, stream)
        assert pipe is not None
        seen = []
        for line in pipe:
            seen.append(line)
            if text in line:
                return line
        raise AssertionError(f"never said {text!r}, but:\n{''.join(seen)}")

    def ended(self) -> tuple[int, str, str]:
        """The exit code and what is left of stdout and stderr."""
        stdout, stderr = self.process.communicate(timeout=PATIENCE_SECS)
        return self.process.returncode, stdout, stderr

    def left(self) -> list[int]:
        """Processes that it started and that still run; empty where this system does not tell."""
        return sorted(pid for pid in _pids() if pid != self.process.pid and self.mark in _environment(pid))

    def none_left(self) -> bool:
        """Whether every process that it started ends."""
        until = time.monotonic() + PATIENCE_SECS
        while self.left() and time.monotonic() < until:
            time.sleep(0.1)
        return not self.left()


def port(line: str) -> int:
    """The port of an address in a line."""
    found = _LINE.search(line)
    assert found, line
    return int(found[1])


def _pids() -> list[int]:
    proc = Path("/proc")
    return [int(path.name) for path in proc.iterdir() if path.name.isdecimal()] if proc.is_dir() else []


def _environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


@contextmanager
def command(*arguments: str | Path, **environment: str) -> Iterator[Command]:
    """A command that is killed at the end of the block if it still runs, with all that it started."""
    found = Command(*arguments, **environment)
    try:
        yield found
    finally:
        for pid in found.left():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        found.process.kill()
        found.process.communicate()
