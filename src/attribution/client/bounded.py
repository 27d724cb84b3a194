"""A call ends in time, whatever the server does, and its path stands before the query of the address it is below.

A time-out of httpx is one for each read, so that a server which sends a byte now and then is never late. Here each
read and write is given what is left of the whole.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlencode

import httpcore
import httpx

_WRITTEN_AT_ONCE = 1 << 16

_until: ContextVar[float | None] = ContextVar("until", default=None)


def below(address: str, path: str, params: Mapping[str, str] | None = None) -> str:
    """The address of a path below another address, whose own query is sent with each call."""
    beyond, _, query = address.partition("#")[0].partition("?")
    both = "&".join(part for part in (query, urlencode(params or {})) if part)
    return f"{beyond.rstrip('/')}{path}" + (f"?{both}" if both else "")


@contextmanager
def within(secs: float) -> Iterator[None]:
    """All that is read and written in this thread while the block runs must be done in so much time.

    A block within another has no more time than that one.
    """
    until, outer = time.monotonic() + secs, _until.get()
    token = _until.set(until if outer is None else min(until, outer))
    try:
        yield
    finally:
        _until.reset(token)


def at_most(secs: float) -> float:
    """So much time, or what is left of that of the block `within` which this thread is."""
    until = _until.get()
    return secs if until is None else min(secs, max(0.0, until - time.monotonic()))


def in_time(client: httpx.Client) -> None:
    """Have a client heed `within`. httpx takes no network of ours, so it is put into the pools that it made."""
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        if isinstance(pool, httpcore.ConnectionPool):
            pool._network_backend = _InTime(pool._network_backend)


class _InTime(httpcore.NetworkBackend):
    """A network whose streams read and write in time."""

    def __init__(self, network: httpcore.NetworkBackend) -> None:
        self._network = network

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *args: Any, **named: Any) -> "_Stream":
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._network.connect_tcp(host, port, left, *args, **named))


class _Stream(httpcore.NetworkStream):
    """A connection that is read and written in time."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for begin in range(0, len(buffer), _WRITTEN_AT_ONCE):
            piece = buffer[begin : begin + _WRITTEN_AT_ONCE]
            self._stream.write(piece, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(timeout: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    """What is left of a time-out and of the whole. Raises `late` where nothing is."""
    until = _until.get()
    if until is None:
        return timeout
    left = until - time.monotonic()
    if left <= 0:
        raise late("it was not done in time")
    return left if timeout is None else min(timeout, left)
