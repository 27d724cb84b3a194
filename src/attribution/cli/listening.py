"""A command listens where it may, keeps its state in one folder, and stops when it is asked to."""

import asyncio
import contextlib
import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from attribution.configuration.layers import Origins
from attribution.contracts.errors import ConfigurationError, Place, Problem


def state_folder() -> Path:
    """Where a store is if none is named: `$XDG_STATE_HOME/attribution`, else `~/.local/state/attribution`.

    Raises ConfigurationError (V008) for a user without a home.
    """
    base = os.environ.get("XDG_STATE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".local" / "state") / "attribution"
    except RuntimeError:
        problem = Problem(Place("store"), "V008", "has no default for a user without a home", "set --store FILE")
        raise ConfigurationError([problem]) from None


def bound(host: str, port: int, origins: Origins, guard: str | None, flag: str = "--port") -> socket.socket:
    """A socket bound to an address, on which nobody can connect yet.

    `guard` says what to set before others than this machine may reach it; None if it is set. `origins` says where
    `host` and `port` come from, `flag` sets the port. Raises ConfigurationError: V006 the address is unknown or taken,
    V007 it is not loopback and unguarded.
    """
    host_place, port_place = Place(origins.get("host", "host")), Place(origins.get("port", "port"))
    host = host.strip("[]")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        remedy = "give an address of this machine, such as 127.0.0.1"
        message = f"names `{host}`, which is unknown: {error.strerror}"
        raise ConfigurationError([Problem(host_place, "V006", message, remedy)]) from None
    if guard is not None and not all(_is_loopback(str(address[0])) for *_, address in found):
        message = f"names `{host}`, which others can reach, and nothing asks who they are"
        raise ConfigurationError([Problem(host_place, "V007", message, f"{guard}, or listen on 127.0.0.1")])
    family, _, _, _, address = found[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise cannot_listen(port_place, host, port, error, flag) from None
    return listener


def cannot_listen(place: Place, host: str, port: int, error: OSError, flag: str = "--port") -> ConfigurationError:
    """V006: the system refuses the address, or another program took it first."""
    message = f"cannot listen on {host} port {port}: {(error.strerror or str(error)).lower()}"
    return ConfigurationError([Problem(place, "V006", message, f"choose another with {flag}, or 0 for a free one")])


def _is_loopback(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(found, "ipv4_mapped", None)
    return bool((inner or found).is_loopback)


def url_of(listener: socket.socket) -> str:
    """The address that a socket is bound to."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """A server that ends without an error when it is asked to end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as the wish to stop; a second one as the wish to stop at once."""

        def stop(number: int, frame: FrameType | None) -> None:
            self.force_exit = self.should_exit
            self.should_exit = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def config_of(app: Any, stop_secs: int, **options: Any) -> uvicorn.Config:
    """What both servers are made with: logs are the program's own, and nothing tells which server it is."""
    return uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=stop_secs, **options
    )


def serve(app: Any, listener: socket.socket, stop_secs: int, started: Callable[[], None], **options: Any) -> None:
    """Serve until SIGINT or SIGTERM, then let running requests end. `started` is called once requests are answered."""
    server = _Server(config_of(app, stop_secs, proxy_headers=False, **options))  # who connects is who connects

    async def run() -> None:
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            started()
        await serving

    asyncio.run(run())
