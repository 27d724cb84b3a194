"""`attribution run --watch`: what the watcher needs of the process it runs in: a store, a port, signals, log lines."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from types import FrameType

from attribution.blueprint.orchestrator import Orchestrator, Parts
from attribution.blueprint.progress import Progress
from attribution.blueprint.settings import BlueprintSettings
from attribution.blueprint.watching.exposition import exposed
from attribution.blueprint.watching.logs import logger
from attribution.blueprint.watching.meters import Meters
from attribution.blueprint.watching.watcher import Watcher
from attribution.cli.listening import bound, state_folder, url_of
from attribution.client.client import AttributionClient
from attribution.configuration.layers import Origins
from attribution.service import logs
from attribution.store.database import Store, open_store


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is opened before any work is begun."""

    store: Store
    listener: socket.socket | None


def store_url(settings: BlueprintSettings) -> str:
    """The database that remembers what was done. Raises ConfigurationError (V008) for a user without a home."""
    if settings.watch.store is not None:
        return settings.watch.store
    database = getattr(getattr(settings, "sinks", None), "database", None)
    return database.url if database is not None else str(state_folder() / "attribution.db")


@contextmanager
def prepared(settings: BlueprintSettings, origins: Origins) -> Iterator[Prepared]:
    """Open the store and bind the port of the metrics. Raises ConfigurationError if that cannot be."""
    watched = settings.watch
    with ExitStack() as stack:
        listener = None
        if watched.metrics_port is not None:
            known = {name.removeprefix("watch.metrics_"): origin for name, origin in origins.items()}
            guard = None if watched.metrics_token else "set --watch-metrics-token-file FILE"
            places = {"host": "watch.metrics_host", "port": "watch.metrics_port", **known}
            flag = "--watch-metrics-port"
            listener = bound(watched.metrics_host, watched.metrics_port, places, guard, flag)
            stack.enter_context(closing(listener))
        yield Prepared(stack.enter_context(closing(open_store(store_url(settings)))), listener)


def run(ready: Prepared, client: AttributionClient, parts: Parts, settings: BlueprintSettings) -> int:
    """Watch until SIGTERM or SIGINT."""
    watched = settings.watch
    logs.configure(watched.log_format or ("text" if sys.stderr.isatty() else "json"))
    if settings.service.url is None:
        logging.getLogger("attribution.service").setLevel(logging.WARNING)  # each call would be a line
    meters, progress = Meters(list(parts.contexts), list(parts.sinks)), Progress(watched.progress_secs)
    orchestrator = Orchestrator(
        client,
        parts,
        logger().warning,
        cluster=settings.cluster,
        tenant=settings.tenant,
        retries=settings.service.retries,
        limits=settings.service.limits,
        progress=progress,
        ends_sessions=settings.service.url is None,
    )
    watcher = Watcher(
        orchestrator,
        parts,
        ready.store,
        watched,
        settings.workers,
        meters,
        progress,
        settings.deadline_secs,
        scope=repr((settings.cluster, settings.tenant)),
    )
    _on_signals(watcher)
    with ExitStack() as stack:
        if ready.listener is not None:
            token = watched.metrics_token.get_secret_value() if watched.metrics_token else None
            stack.enter_context(exposed(ready.listener, meters.text, watcher.is_healthy, token))
            logger().info("metrics", url=f"{url_of(ready.listener)}/metrics")
        watcher.run()
    return 0


def _on_signals(watcher: Watcher) -> None:
    """The first signal lets what is begun end; a second one ends the process, and leases run out by themselves."""
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        if stopping:
            os._exit(128 + number)
        stopping = True
        watcher.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
