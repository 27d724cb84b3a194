"""Daemons are known by the ids in their own pid files, and only those are ever signalled."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path


class LabError(Exception):
    """The lab cannot do what was asked. The message is one sentence."""


def run(command: Sequence[str], environ: Mapping[str, str], timeout_secs: float = 60.0) -> str:
    """What a command printed. Raises LabError with its last line if it fails or takes too long."""
    try:
        ended = subprocess.run(
            command, env=dict(environ), capture_output=True, text=True, timeout=timeout_secs, check=False
        )
    except OSError as error:
        raise LabError(f"`{command[0]}` cannot be run: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"`{' '.join(command)}` did not end within {timeout_secs:g} s") from None
    if ended.returncode:
        last = ([line for line in ended.stderr.splitlines() if line.strip()] or ["it said nothing"])[-1]
        raise LabError(f"`{' '.join(command)}` ended with exit code {ended.returncode}: {last}")
    return ended.stdout


def pid_of(file: Path) -> int | None:
    """The id in a pid file, if such a process runs."""
    with suppress(OSError, ValueError):
        pid = int(file.read_text().split()[0])
        return pid if is_running(pid) else None
    return None


def is_running(pid: int) -> bool:
    """Whether a process is there. One that ended and that nobody has reaped yet is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in {"Z", "X"}


def end(pid: int | None, secs: float = 10.0) -> None:
    """Ask a process to end, and make it after a while."""
    if pid is None:
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        if not wait_for(lambda: not is_running(pid), secs):
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not is_running(pid), secs)


def kill(pid: int) -> None:
    """End a process as a power cut does."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_for(holds: Callable[[], bool], secs: float, every_secs: float = 0.1) -> bool:
    """Whether something came to hold within a time."""
    until = time.monotonic() + secs
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(every_secs)
    return True


def children(parent: int) -> list[int]:
    """The processes that a process started, and those that they started, deepest last."""
    by_parent: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                by_parent.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [parent]
    for pid in found:
        found += by_parent.get(pid, [])
    return found[1:]
