"""Results leave the outbox: each sink is offered its own in turn, and a sink that fails holds up no other."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from attribution.blueprint.connectors.base import Sink, SinkRefused
from attribution.blueprint.delivery import LONGEST_WAIT_SECS, wait_secs
from attribution.blueprint.orchestrator import Orchestrator
from attribution.blueprint.watching.leases import Keeper
from attribution.blueprint.watching.logs import logger, naming, stamp, words
from attribution.blueprint.watching.meters import Meters
from attribution.blueprint.watching.settings import WatchSettings
from attribution.store.faults import StoreDamaged
from attribution.store.outbox import Delivery, Outbox


class Sending:
    """What the thread of one sink does, one result at a time."""

    def __init__(
        self,
        name: str,
        sink: Sink[Any],
        orchestrator: Orchestrator,
        outbox: Outbox,
        settings: WatchSettings,
        meters: Meters,
        keeper: Keeper,
        now: Callable[[], datetime],
    ) -> None:
        self.name = name
        self._sink = sink
        self._orchestrator = orchestrator
        self._outbox = outbox
        self._settings = settings
        self._meters = meters
        self._keeper = keeper
        self._now = now
        self._busy = threading.Event()

    def step(self) -> bool:
        """Offer the sink one result, if there is one. Whether there was. Raises StoreUnavailable, BrokenPipeError."""
        try:
            delivery = self._outbox.claim([self.name], self._now(), self._settings.lease_secs)
        except StoreDamaged as error:
            self._meters.deliveries.labels(self.name, "failed").inc()
            logger().error("result damaged", sink=self.name, reason=words(error))
            return True
        if delivery is None:
            return False
        self._busy.set()
        try:
            with self._keeper.keeping(delivery.lease):
                outcome = self._deliver(delivery)
        finally:
            self._busy.clear()
        self._meters.deliveries.labels(self.name, outcome).inc()
        return True

    def is_busy(self) -> bool:
        """Whether a result is being offered."""
        return self._busy.is_set()

    def _deliver(self, delivery: Delivery) -> str:
        """How it went."""
        result = delivery.result
        try:
            self._sink.write(result, lambda: self._orchestrator.catalog(result.diagnosis.catalog.digest))
        except BrokenPipeError:  # the reader of stdout has seen enough
            self._outbox.release(delivery)
            raise
        except Exception as error:  # a sink that fails stops nothing
            return self._not_taken(delivery, error)
        if not self._outbox.done(delivery, self._now()):
            return "lost"
        logger().info("delivered", **naming(delivery), sink=self.name)
        return "done"

    def _not_taken(self, delivery: Delivery, error: Exception) -> str:
        now, told = self._now(), {**naming(delivery), "sink": self.name, "reason": words(error)}
        # what waited for its turn behind others was not offered yet
        is_late = delivery.tries > 0 and now - delivery.made_at > timedelta(seconds=self._settings.delivery_secs)
        if is_late or isinstance(error, SinkRefused):
            if not self._outbox.fail(delivery, words(error), now):
                return "lost"
            logger().error("delivery failed", **told)
            return "failed"
        wait = wait_secs(delivery.tries + 1, error, self._settings.retry_secs, LONGEST_WAIT_SECS)
        later = now + timedelta(seconds=min(wait, LONGEST_WAIT_SECS))
        if not self._outbox.retry(delivery, later, words(error), now):
            return "lost"
        logger().warning("not delivered", **told, tries=delivery.tries + 1, again_at=stamp(later))
        return "retried"
