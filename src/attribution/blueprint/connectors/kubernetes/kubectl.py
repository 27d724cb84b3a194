"""The API through `kubectl`, which knows how to reach the cluster and who asks."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from urllib.parse import urlencode

from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why, of_kubectl
from attribution.blueprint.connectors.kubernetes.transport import Halted, never

_READ_BYTES = 1 << 16
_STDERR_BYTES = 1 << 16
_POLL_SECS = 0.2


class Kubectl:
    """Runs `kubectl get --raw PATH`, or `create --raw PATH -f -`: an argument list, no shell.

    Raw requests bring one page of a list at a time, and logs as they are read. The exit code is looked at before
    anything that was printed counts as an answer: a `kubectl` that may not read prints an empty list all the same.
    """

    def __init__(self, program: str, options: Sequence[str] = ()) -> None:
        self._argv = [program, *options]

    @property
    def name(self) -> str:
        """The program as it was given."""
        return self._argv[0]

    def send(
        self,
        path: str,
        query: Mapping[str, str],
        body: bytes | None = None,
        *,
        secs: float,
        idle: bool = False,
        halted: Halted = never,
    ) -> Iterator[bytes]:
        """See Transport."""
        target = f"{path}?{urlencode(query)}" if query else path
        verb = ["get", "--raw", target] if body is None else ["create", "--raw", target, "-f", "-"]
        process = self._started([*self._argv, *verb])
        try:
            if body is not None:
                _give(process, body)
            stderr = bytearray()
            yield from _pieces(process, stderr, secs, idle, halted)
            if code := process.wait(secs):
                raise of_kubectl(stderr.decode("utf-8", "replace"), code)
        except subprocess.TimeoutExpired:
            raise ClusterError(Why.LATE, f"{self.name} did not end within {secs:g} s") from None
        finally:
            _end(process)

    def close(self) -> None:
        """Nothing is held open."""

    def _started(self, argv: Sequence[str]) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(  # noqa: S603  an argument list; the program is a setting
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            remedy = "install it, give its path with `kubectl`, or set `api_url`"
            raise ClusterError(
                Why.NO_PROGRAM, f"cannot start `{self.name}`: {error.strerror or error} ({remedy})"
            ) from None


def _give(process: "subprocess.Popen[bytes]", body: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it ended before it read; its exit code tells
        process.stdin.write(body)
        process.stdin.flush()


def _pieces(
    process: "subprocess.Popen[bytes]", stderr: bytearray, secs: float, idle: bool, halted: Halted
) -> Iterator[bytes]:
    """What is printed until both outputs are closed; of the error output the end is kept in `stderr`."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    until = time.monotonic() + secs
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        waiting.register(process.stderr, selectors.EVENT_READ)
        while waiting.get_map():
            if halted():
                raise ClusterError(Why.HALTED, "was halted")
            if time.monotonic() > until:
                raise ClusterError(Why.LATE, f"did not answer within {secs:g} s")
            for key, _ in waiting.select(_POLL_SECS):
                data = os.read(key.fd, _READ_BYTES)
                if not data:
                    waiting.unregister(key.fileobj)
                elif key.fd == process.stderr.fileno():
                    stderr += data
                    del stderr[:-_STDERR_BYTES]
                else:
                    yield data
                    if idle:
                        until = time.monotonic() + secs


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the process, and what it started to log in, if it has not ended by itself."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
