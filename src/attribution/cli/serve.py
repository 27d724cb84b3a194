"""`attribution serve`: the Service over HTTP, on loopback unless there are tokens."""

import argparse
import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from attribution.cli.catalog import load_rules, verified
from attribution.cli.listening import bound, cannot_listen, config_of, state_folder, url_of
from attribution.configuration.flags import add_flags, given_flags
from attribution.configuration.layers import load
from attribution.contracts.errors import Place
from attribution.extraction.ruleset import RuleSets
from attribution.service import logs
from attribution.service.app import create_app
from attribution.service.core import Service
from attribution.service.settings import ServiceSettings
from attribution.store.database import Store, open_store
from attribution.store.sessions import Sessions

LEFT_SECS = 1.0
"""How long threads have to end after the last request was answered or given up."""

_KEEP_ALIVE_SECS = 65
"""Longer than the minute after which load balancers give up a connection, so that they do so first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="a YAML file of settings")
    add_flags(parser, ServiceSettings)


def run(options: argparse.Namespace) -> int:
    """Serve until a signal ends it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there are rules to load anew
    settings, origins = load(ServiceSettings, options.config, os.environ, given_flags(options))
    logs.configure(settings.log_format or ("text" if sys.stderr.isatty() else "json"))
    guard = None if settings.tokens_file else "set --tokens-file FILE"
    listener = bound(settings.host, settings.port, origins, guard)
    try:
        store = open_store(settings.store or str(state_folder() / "sessions.db"))
        try:
            app = build(settings, store)
            asyncio.run(_Server(app, settings).serve(sockets=[listener]))
        finally:
            store.close()
    finally:
        listener.close()
    _leave()
    return 0


def build(settings: ServiceSettings, store: Store) -> FastAPI:
    """The application with the shipped rules and those of `settings.rules`, every case verified."""
    started = time.perf_counter()

    def rules() -> RuleSets:
        return load_rules(settings.rules, environment=False)

    app = create_app(rules, settings, Sessions(store), verify_rules=verified)
    service: Service = app.state.service
    catalog = service.rulebook.rules.sets.catalog
    secs = round(time.perf_counter() - started, 2)
    logs.logger().info("catalog verified", rules=len(catalog.rules), digest=catalog.digest, secs=secs)
    return app


# --- running --------------------------------------------------------------------------------------------------------


class _Server(uvicorn.Server):
    """uvicorn with signals of its own: SIGTERM and SIGINT drain and stop, SIGHUP loads the rules anew."""

    def __init__(self, app: FastAPI, settings: ServiceSettings) -> None:
        super().__init__(
            config_of(
                app,
                settings.stop_secs,
                lifespan="on",
                ws="none",
                loop="asyncio",
                timeout_keep_alive=_KEEP_ALIVE_SECS,
            )
        )
        self._service: Service = app.state.service
        self._drain_secs = settings.drain_secs
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Handle signals in the event loop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say where."""
        listeners = sockets or []
        try:
            await super().startup(sockets)
        except OSError as error:  # two programs may bind one address; the first to listen has it
            await self.lifespan.shutdown()
            host, port = listeners[0].getsockname()[:2]
            raise cannot_listen(Place("port"), host, port, error) from None
        for listener in listeners:
            logs.logger().info("listening", url=url_of(listener))

    def _stop(self) -> None:
        if self._service.stopping:
            self.should_exit = self.force_exit = True
            return
        self._service.stopping = True
        logs.logger().info("stopping", drain_secs=self._drain_secs)
        self._begin(self._drained())

    async def _drained(self) -> None:
        await asyncio.sleep(self._drain_secs)
        self.should_exit = True

    def _reload(self) -> None:
        self._begin(self._service.reload())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _leave() -> None:
    """End the process even if an attribution that nobody waits for still runs: all that counts is in the store."""
    until = time.monotonic() + LEFT_SECS
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread() and not thread.daemon]
    for thread in others:
        thread.join(max(0.0, until - time.monotonic()))
    left = [thread.name for thread in others if thread.is_alive()]
    if left:
        logs.logger().warning("stopped with work left", threads=len(left))
        sys.stderr.flush()
        os._exit(0)
    logs.logger().info("stopped")
