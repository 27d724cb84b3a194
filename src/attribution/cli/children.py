"""Commands run as processes of their own that never outlive the one that started them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

PATIENCE_SECS = 15
"""How long a process may take to stop before it is killed."""


class Stopped(BaseException):
    """A signal asks this process to stop."""


class ChildFailed(Exception):
    """A process ended, or did not answer, before it was of use. The message ends with what it said last."""


@dataclass(slots=True)
class Child:
    """A running command. What it says on stderr is kept in `log`."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def last_words(self, lines: int = 5) -> str:
        """The end of what it said on stderr."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


@dataclass(slots=True)
class Children:
    """Processes that are stopped when the block is left, last started first stopped."""

    folder: Path
    running: list[Child] = field(default_factory=list)

    def start(self, name: str, arguments: Sequence[str], stdout: int | IO[bytes] | None = None) -> Child:
        """Start `attribution ARGUMENTS`. It stops when this process ends, even if that is killed."""
        log = self.folder / f"{name}.log"
        with log.open("wb") as stderr:
            process = subprocess.Popen(  # noqa: S603  our own command
                [sys.executable, "-m", "attribution.cli.leashed", *arguments],
                stdin=subprocess.PIPE,
                stdout=stdout if stdout is not None else stderr,
                stderr=stderr,
                env=environment(),
                start_new_session=True,  # Ctrl-C reaches this process alone, which then stops the others in order
            )
        child = Child(name, process, log)
        self.running.append(child)
        return child

    def stop(self) -> None:
        """Ask every process to stop, and kill those that do not."""
        for child in reversed(self.running):
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + PATIENCE_SECS
        for child in reversed(self.running):
            try:
                child.process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
            if child.process.stdin:
                child.process.stdin.close()
        self.running.clear()


def environment() -> dict[str, str]:
    """The environment without settings meant for other runs, and without a proxy between local processes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ATTRIBUTION_")}
    local = ",".join(part for part in (os.environ.get("NO_PROXY"), "127.0.0.1") if part)
    return {**kept, "NO_PROXY": local, "no_proxy": local}


@contextlib.contextmanager
def children(folder: Path) -> Iterator[Children]:
    """Processes for the length of a block. SIGTERM and SIGHUP leave the block as Ctrl-C does; nothing is left over."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    found = Children(folder)
    try:
        yield found
    finally:
        handlers[signal.SIGINT] = signal.getsignal(signal.SIGINT)
        for number in handlers:
            signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave anything running
        found.stop()
        for number, handler in handlers.items():
            signal.signal(number, handler)


def free_port(wanted: int, tries: int = 100) -> int:
    """The first port from `wanted` on that nobody listens on at loopback."""
    for port in range(wanted, wanted + tries):
        with socket.socket() as probe:
            if sys.platform == "linux":  # elsewhere this would take a port beside one that listens everywhere
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port
    raise ChildFailed(f"every port from {wanted} to {wanted + tries - 1} is taken")
