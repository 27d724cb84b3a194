"""The watcher runs discovery, workers and sinks side by side until it is asked to stop, and then lets them end."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from attribution.blueprint.orchestrator import Orchestrator, Parts
from attribution.blueprint.progress import Progress
from attribution.blueprint.watching.discovery import Discovery
from attribution.blueprint.watching.leases import Keeper
from attribution.blueprint.watching.logs import logger, words
from attribution.blueprint.watching.meters import Meters
from attribution.blueprint.watching.pressure import Pressure
from attribution.blueprint.watching.sending import Sending
from attribution.blueprint.watching.settings import WatchSettings
from attribution.blueprint.watching.work import Work
from attribution.contracts.errors import AttributionError
from attribution.store.backlog import Backlog
from attribution.store.database import Store
from attribution.store.outbox import DeliveryState, Outbox

_IDLE_SECS = 1.0
"""How often an idle thread asks the store for work."""
_POLL_SECS = 0.1
_STORE_WAIT_SECS = 5.0


def utc_now() -> datetime:
    """The clock of a watcher."""
    return datetime.now(UTC)


class Watcher:
    """One process that watches. Several may share a store: each attempt is worked on by one of them."""

    def __init__(
        self,
        orchestrator: Orchestrator,
        parts: Parts,
        store: Store,
        settings: WatchSettings,
        workers: int,
        meters: Meters,
        progress: Progress,
        deadline_secs: float | None = None,
        scope: str = "",
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._orchestrator = orchestrator
        self._settings = settings
        self._workers = workers
        self._meters = meters
        self._progress = progress
        self._now = now
        self._stopped = threading.Event()
        self._ended = threading.Event()
        self._rounded_at = time.monotonic()
        self._backlog, self._outbox = Backlog(store), Outbox(store)
        self._pressure = Pressure()
        self._keepers = [
            Keeper(table.renew, now, settings.lease_secs, meters) for table in (self._backlog, self._outbox)
        ]
        self._discovery = Discovery(parts, orchestrator, self._backlog, settings, meters, now, scope)
        shared = (self._backlog, settings, deadline_secs, meters, self._pressure, self._keepers[0], now)
        self._work = Work(orchestrator, parts.sinks, *shared)
        self._sendings = [
            Sending(name, sink, orchestrator, self._outbox, settings, meters, self._keepers[1], now)
            for name, sink in parts.sinks.items()
        ]

    def stop(self) -> None:
        """Begin nothing more, and let `run` return when what is begun has ended or its time is over."""
        self._stopped.set()

    def is_healthy(self) -> bool:
        """Whether discovery still goes round, or rests because the Service cannot be had."""
        late = time.monotonic() - self._rounded_at
        return late < 10 * self._settings.interval_secs + 600 or self._pressure.left_secs() > 0

    def run(self) -> None:
        """Watch until `stop` is called."""
        self._say_what_waits()
        steps = [self._work.step] * self._workers + [sending.step for sending in self._sendings]
        keepers = [lambda keeper=keeper: keeper.run(self._ended) for keeper in self._keepers]
        loops: list[Callable[[], None]] = [self._discover, *(lambda step=step: self._loop(step) for step in steps)]
        for number, loop in enumerate([*keepers, *loops]):
            threading.Thread(target=loop, name=f"watch-{number}", daemon=True).start()
        while not self._stopped.wait(min(_IDLE_SECS, self._settings.progress_secs)):
            self._say_how_far()
        self._end()

    # --- threads ------------------------------------------------------------------------------------------------------

    def _discover(self) -> None:
        """Round after round; while the Service cannot be had, the next round waits."""
        while not self._stopped.is_set():
            started = time.monotonic()
            try:
                self._discovery.round(self._stopped)
                self._count()
            except Exception as error:  # whatever it is, the next round may do better
                logger().error("round failed", reason=words(error))
            self._rounded_at = time.monotonic()
            rest = self._settings.interval_secs - (time.monotonic() - started)
            self._stopped.wait(max(0.0, rest))
            while (held := self._pressure.left_secs()) and not self._stopped.wait(held):
                pass

    def _loop(self, step: Callable[[], bool]) -> None:
        """One step after the other; a store that does not answer is asked again."""
        while not self._stopped.is_set():
            try:
                rest = 0.0 if step() else _IDLE_SECS
            except BrokenPipeError:
                logger().info("standard output is closed")
                return self.stop()
            except AttributionError as error:
                logger().warning("store cannot be had", reason=words(error))
                rest = _STORE_WAIT_SECS
            except Exception as error:  # a thread that ends would be missed by nobody
                logger().error("internal error", reason=words(error))
                rest = _STORE_WAIT_SECS
            if rest:
                self._stopped.wait(rest)
        return None

    def _end(self) -> None:
        """Wait for what is begun, as long as it may take; give back what is not done by then."""
        logger().info("stopping", shutdown_secs=self._settings.shutdown_secs)
        until = time.monotonic() + self._settings.shutdown_secs
        busy: Sequence[Work | Sending] = [self._work, *self._sendings]
        while any(one.is_busy() for one in busy) and time.monotonic() < until:
            time.sleep(_POLL_SECS)
        try:
            given_back = self._work.give_back()  # a sink may have what it is being offered: that waits for its lease
        except AttributionError as error:  # its leases end by themselves
            logger().warning("store cannot be had", reason=words(error))
            given_back = 0
        self._orchestrator.stop()
        self._ended.set()
        logger().info("stopped", given_back=given_back)

    # --- told ---------------------------------------------------------------------------------------------------------

    def _say_how_far(self) -> None:
        self._meters.held.set(1 if self._pressure.left_secs() else 0)
        for sentence in self._progress.due():
            logger().info("collecting", progress=words(sentence))

    def _say_what_waits(self) -> None:
        """What the store holds of earlier runs, and what nobody will take away."""
        counts = self._backlog.counts(self._now())
        pending = {sink: n for (sink, state), n in self._outbox.counts().items() if state is DeliveryState.PENDING}
        logger().info("watching", store=self._backlog.store.place, workers=self._workers, **counts)
        for sink in sorted(pending.keys() - {sending.name for sending in self._sendings}):
            logger().warning("results wait for a sink that is not configured", sink=words(sink), count=pending[sink])

    def _count(self) -> None:
        """Set the gauges that the store knows."""
        now = self._now()
        for state, count in self._backlog.counts(now).items():
            self._meters.attempts.labels(state).set(count)
        oldest = self._backlog.oldest_ready(now)
        self._meters.oldest_ready_seconds.set((now - oldest).total_seconds() if oldest else 0)
        counts = self._outbox.counts()
        for sending in self._sendings:
            for state in (DeliveryState.PENDING, DeliveryState.FAILED):
                self._meters.undelivered.labels(sending.name, state.value).set(counts.get((sending.name, state), 0))
