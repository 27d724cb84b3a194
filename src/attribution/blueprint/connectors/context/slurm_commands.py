"""Slurm's commands are run without a shell, for a limited time, and read only up to a limit."""

import codecs
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from attribution.blueprint.connectors.base import ConnectorError

_CHUNK = 1 << 16
_STDERR_BYTES = 1 << 16
_POLL_SECS = 0.5


class CommandFailed(ConnectorError):
    """A command ended badly. `stderr` is what it wrote there, cut to its begin."""

    def __init__(self, message: str, stderr: str = "") -> None:
        self.stderr = stderr
        super().__init__(message)


class CommandCut(ConnectorError):
    """A command wrote more than is read; what came before was handed out."""


@dataclass(frozen=True, slots=True)
class Runner:
    """How commands are run: for how long at most, and how much of their output is read."""

    timeout_secs: float
    output_bytes: int
    slurm_conf: Path | None = None

    def stream(self, argv: Sequence[str]) -> Iterator[str]:
        """The output as it comes. Raises CommandFailed when the command cannot be run, hangs or fails, CommandCut."""
        process = self._started(argv)
        assert process.stdout is not None and process.stderr is not None
        errors = bytearray()
        try:
            yield from self._read(argv[0], process.stdout, process.stderr, errors)
            code = process.wait(_POLL_SECS)
        except subprocess.TimeoutExpired:
            raise CommandFailed(f"`{argv[0]}` closed its output and did not end") from None
        finally:
            _end(process)
            process.stdout.close()
            process.stderr.close()
        if code:
            told = errors.decode("utf-8", "replace")
            raise CommandFailed(f"`{argv[0]}` ended with {_code(code)}{_said(told)}", told)

    def text(self, argv: Sequence[str]) -> str:
        """The whole output of a command that writes little."""
        return "".join(self.stream(argv))

    def _started(self, argv: Sequence[str]) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(  # noqa: S603  a list of arguments, no shell
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment(),
                start_new_session=True,
            )
        except FileNotFoundError:
            remedy = "install Slurm's client commands, or set its path"
            raise CommandFailed(f"there is no program `{argv[0]}` ({remedy})") from None
        except OSError as error:
            raise CommandFailed(f"`{argv[0]}` cannot be run: {error.strerror or error}") from None

    def _environment(self) -> dict[str, str]:
        """Ours, but for what would change the answer: times come as seconds since 1970 and are read in UTC."""
        kept = {name: value for name, value in os.environ.items() if name not in {"SACCT_FORMAT", "SLURM_CLUSTERS"}}
        kept |= {"TZ": "UTC", "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"}
        return kept | ({"SLURM_CONF": str(self.slurm_conf)} if self.slurm_conf else {})

    def _read(self, name: str, output: IO[bytes], errors: IO[bytes], told: bytearray) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        until = time.monotonic() + self.timeout_secs
        left = self.output_bytes
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(errors, selectors.EVENT_READ)
            while selector.get_map():
                wait = until - time.monotonic()
                if wait <= 0:
                    remedy = "see whether slurmdbd answers, ask for a shorter span, or raise `timeout_secs`"
                    raise CommandFailed(f"`{name}` did not end within {self.timeout_secs:g} s ({remedy})")
                for key, _ in selector.select(min(wait, _POLL_SECS)):
                    chunk = os.read(key.fd, _CHUNK)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is errors:
                        told += chunk[: _STDERR_BYTES - len(told)]
                    else:
                        yield decoder.decode(chunk[:left])
                        left -= len(chunk)
                        if left < 0:
                            remedy = "ask for a shorter span, or raise `output_bytes`"
                            raise CommandCut(f"`{name}` wrote more than {self.output_bytes} bytes ({remedy})")
        yield decoder.decode(b"", final=True)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is still running, with all that it started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _code(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {-code}"


def _said(stderr: str) -> str:
    """The last line that a command wrote to stderr: earlier ones tell of tries, the last one of what came of them."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f": {lines[-1][:300]}" if lines else " and said nothing"
