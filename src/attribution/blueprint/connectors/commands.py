"""A program is run without a shell, for a limited time, and its output is read as it comes, up to a limit."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum

from attribution.blueprint.connectors.base import ConnectorError, Halted, never
from attribution.client.bounded import at_most

_CHUNK_BYTES = 1 << 16
_STDERR_END_BYTES = 1 << 15
"""Bytes that are kept of each end of what a program says on stderr: it may begin with the cause, or end with it."""
_POLL_SECS = 0.2


class Why(Enum):
    """Why a program gave no answer, or not all of it."""

    NOT_STARTED = "not started"
    LATE = "late"
    CUT = "cut"
    HALTED = "halted"
    FAILED = "failed"


class CommandError(ConnectorError):
    """A program gave no answer, or not all of it; what it wrote before was handed out.

    `stderr` is what it said there: both ends of it, where it is long. `code` is its exit code, or the signal that ended
    it as a negative number; 0 if it did not end by itself.
    """

    def __init__(self, why: Why, message: str, code: int = 0, stderr: str = "") -> None:
        self.why = why
        self.code = code
        self.stderr = stderr
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a program may take: `secs` until it has ended, or with `idle` until it writes again; `bytes` of output."""

    secs: float
    bytes: int | None = None
    idle: bool = False


def output(
    argv: Sequence[str],
    bounds: Bounds,
    *,
    given: bytes = b"",
    environment: Mapping[str, str] | None = None,
    halted: Halted = never,
) -> Generator[bytes]:
    """What a program writes, in pieces as they come. Raises CommandError; a program that is left is ended.

    `given` is written to its input. That it failed is known only at the end, from its exit code. A program has no more
    time than the block `within` which it is started.
    """
    bounds = replace(bounds, secs=at_most(bounds.secs))
    process = _started(argv, environment)
    try:
        said = _BothEnds()
        yield from _pieces(argv[0], process, bounds, given, said, halted)
        code = _ended(argv[0], process, bounds.secs)
        if code:
            told = str(said)
            raise CommandError(Why.FAILED, f"`{argv[0]}` ended with {ending(code)}{_last_words(told)}", code, told)
    finally:
        _end(process)


def ending(code: int) -> str:
    """What a program ended with, in words: its exit code, or with a negative number the signal that ended it."""
    return f"exit code {code}" if code > 0 else f"signal {-code}"


def _started(argv: Sequence[str], environment: Mapping[str, str] | None) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(  # noqa: S603  a list of arguments; the program is a setting
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise CommandError(Why.NOT_STARTED, f"there is no program `{argv[0]}`") from None
    except OSError as error:
        raise CommandError(Why.NOT_STARTED, f"`{argv[0]}` cannot be run: {error.strerror or error}") from None


def _pieces(
    name: str, process: "subprocess.Popen[bytes]", bounds: Bounds, given: bytes, said: "_BothEnds", halted: Halted
) -> Iterator[bytes]:
    """What is written until both outputs are closed, while the input is given."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    os.set_blocking(process.stdin.fileno(), False)
    until, left = time.monotonic() + bounds.secs, bounds.bytes
    open_outputs = 2
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdin, selectors.EVENT_WRITE)
        waiting.register(process.stdout, selectors.EVENT_READ)
        waiting.register(process.stderr, selectors.EVENT_READ)
        while open_outputs:
            if halted():
                raise CommandError(Why.HALTED, f"`{name}` was halted")
            if (wait := until - time.monotonic()) <= 0:
                what = "did not end" if process.poll() is None else "left its output held open and that was not closed"
                raise CommandError(Why.LATE, f"`{name}` {what} within {bounds.secs:g} s")
            for key, _ in waiting.select(min(wait, _POLL_SECS)):
                if key.fileobj is process.stdin:
                    given = _give(key.fd, given)
                    if not given:
                        waiting.unregister(key.fileobj)
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, _CHUNK_BYTES)
                if not chunk:
                    waiting.unregister(key.fileobj)
                    open_outputs -= 1
                elif key.fileobj is process.stderr:
                    said.add(chunk)
                else:
                    yield chunk[:left]
                    until = time.monotonic() + bounds.secs if bounds.idle else until
                    left = None if left is None else left - len(chunk)
                    if left is not None and left < 0:
                        raise CommandError(Why.CUT, f"`{name}` wrote more than {bounds.bytes} bytes")


def _give(descriptor: int, data: bytes) -> bytes:
    """Write what fits; what is left. A program that does not read its input is given no more."""
    try:
        return data[os.write(descriptor, data) :] if data else b""
    except BlockingIOError:
        return data
    except OSError:  # its exit code tells why it did not read
        return b""


def _ended(name: str, process: "subprocess.Popen[bytes]", secs: float) -> int:
    try:
        return process.wait(secs)
    except subprocess.TimeoutExpired:
        raise CommandError(Why.LATE, f"`{name}` closed its output and did not end within {secs:g} s") from None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End what is still running of it and of all that it started, also where it ended itself before."""
    with suppress(ProcessLookupError, PermissionError):  # nothing of its group is left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


@dataclass(slots=True)
class _BothEnds:
    """The first and the last bytes of a text that may be long."""

    first: bytearray = field(default_factory=bytearray)
    last: bytearray = field(default_factory=bytearray)
    lost: int = 0

    def add(self, chunk: bytes) -> None:
        room = _STDERR_END_BYTES - len(self.first)
        self.first += chunk[:room]
        self.last += chunk[room:]
        if (over := len(self.last) - _STDERR_END_BYTES) > 0:
            self.lost += over
            del self.last[:over]

    def __str__(self) -> str:
        between = f"\n({self.lost} bytes are left out)\n".encode() if self.lost else b""
        return (bytes(self.first) + between + bytes(self.last)).decode("utf-8", "replace")


def _last_words(stderr: str) -> str:
    """The last line that a program said: earlier ones tell of tries, the last one of what came of them."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f": {lines[-1][:300]}" if lines else " and said nothing"
