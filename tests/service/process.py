"""A real `attribution serve` process, for tests that kill, stop or signal it.

Importing is most of a start, so processes are forked from a server that has imported the modules and done nothing else.
"""

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

START_SECS = 600
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["attribution.cli.main", "attribution.cli.serve", "pytest", "httpx"])


def _serve(flags: Sequence[str], environment: dict[str, str], log: str) -> None:
    """What the process runs: the command, with its own environment and with stderr in a file."""
    from attribution.cli.main import run

    os.environ.update(environment)
    sys.argv = ["attribution", "serve", *flags]
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 2)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    run()


class ServeProcess:
    """One process. What it says on stderr is read from a file."""

    def __init__(self, folder: Path, flags: Sequence[str], environment: dict[str, str] | None = None) -> None:
        number = sum(1 for _ in folder.glob("serve-*.log"))
        self.log = folder / f"serve-{number}.log"
        self.log.touch()
        self._seen = 0
        arguments = (tuple(flags), dict(environment or {}), str(self.log))
        self.process = _CONTEXT.Process(target=_serve, args=arguments, daemon=True)
        self.process.start()

    @property
    def said(self) -> str:
        """All that it said on stderr."""
        return self.log.read_text()

    def listening(self) -> str:
        """The address, once it listens."""
        return str(self.told("listening")["url"])

    def told(self, event: str) -> dict[str, Any]:
        """The next log line of that event."""
        until = time.monotonic() + START_SECS
        while time.monotonic() < until:
            lines = self.said.splitlines(keepends=True)
            for line in lines[self._seen :]:
                if not line.endswith("\n"):
                    break
                self._seen += 1
                if line.startswith("{") and (found := json.loads(line))["event"] == event:
                    return dict(found)
            if not self.process.is_alive() and self._seen == len(self.said.splitlines()):
                break
            time.sleep(0.005)
        raise AssertionError(f"never told `{event}`: {self.said}")

    def signal(self, number: int) -> None:
        """Send a signal."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def exit_code(self) -> int:
        """How it ended."""
        self.process.join(START_SECS)
        assert self.process.exitcode is not None, "it did not end"
        return self.process.exitcode

    def kill(self) -> None:
        """SIGKILL, and nothing is left of it."""
        self.process.kill()
        self.process.join(START_SECS)
