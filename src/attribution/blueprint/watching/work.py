"""Work on one attempt: it ends with a result in the outbox, with another try later, or with a reason to give up."""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from attribution.blueprint.connectors.base import Sink
from attribution.blueprint.deadline import Deadline
from attribution.blueprint.delivery import LONGEST_WAIT_SECS, grown_secs
from attribution.blueprint.orchestrator import Orchestrator
from attribution.blueprint.watching.documents import from_document
from attribution.blueprint.watching.leases import Keeper
from attribution.blueprint.watching.logs import logger, naming, stamp, words
from attribution.blueprint.watching.meters import Meters
from attribution.blueprint.watching.pressure import Pressure
from attribution.blueprint.watching.settings import WatchSettings
from attribution.client.errors import ServiceError, ServiceProblem
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store.backlog import Backlog, Claim
from attribution.store.codec import to_json
from attribution.store.faults import StoreUnavailable

_OF_THE_ATTEMPT = frozenset({400, 404, 409, 413, 422, 500})
"""Answers of the Service that another attempt need not get. All others say that it cannot be had at all."""
_STORE_WAIT_SECS = 1.0


class Work:
    """What each worker thread does, one attempt at a time."""

    def __init__(
        self,
        orchestrator: Orchestrator,
        sinks: Mapping[str, Sink[Any]],
        backlog: Backlog,
        settings: WatchSettings,
        deadline_secs: float | None,
        meters: Meters,
        pressure: Pressure,
        keeper: Keeper,
        now: Callable[[], datetime],
    ) -> None:
        self._orchestrator = orchestrator
        self._sinks = sinks
        self._backlog = backlog
        self._settings = settings
        self._deadline_secs = deadline_secs
        self._meters = meters
        self._pressure = pressure
        self._keeper = keeper
        self._now = now
        self._lock = threading.Lock()
        self._current: dict[str, Claim] = {}

    def step(self) -> bool:
        """Take one attempt and work on it, if there is one. Whether there was. Raises StoreUnavailable."""
        if self._pressure.left_secs():
            return False
        claim = self._backlog.claim(self._now(), self._settings.lease_secs)
        if claim is None:
            return False
        with self._lock:
            self._current[claim.lease] = claim
        try:
            with self._keeper.keeping(claim.lease):
                self._done(claim, self._work(claim))
        finally:
            with self._lock:
                self._current.pop(claim.lease, None)
        return True

    def is_busy(self) -> bool:
        """Whether an attempt is being worked on."""
        with self._lock:
            return bool(self._current)

    def give_back(self) -> int:
        """Give back what is being worked on, for others to take; what its worker still comes to does not count."""
        with self._lock:
            current = list(self._current.values())
        return sum(self._backlog.release(claim, self._now()) for claim in current)

    def _done(self, claim: Claim, outcome: str) -> None:
        self._meters.diagnoses.labels(outcome).inc()
        if outcome == "lost":
            reason = "its lease was over before it was done"
            logger().warning("attempt lost", **naming(claim), reason=reason)

    def _work(self, claim: Claim) -> str:
        """How it ended."""
        if claim.losses > self._settings.losses:
            return self._give_up(claim, f"{claim.losses} workers vanished while they were at it")
        started = time.monotonic()
        try:
            attempt = from_document(claim.document)
            result = self._orchestrator.diagnosed(attempt, Deadline.after(self._deadline_secs))
        except ServiceError as error:
            if isinstance(error, ServiceProblem) and error.status in _OF_THE_ATTEMPT:
                return self._failed(claim, words(error))
            return self._postpone(claim, words(error))
        except Exception as error:  # one attempt that breaks something does not stop the others
            return self._failed(claim, words(error))
        self._pressure.ease()
        secs = time.monotonic() - started
        self._meters.diagnosis_seconds.observe(secs)
        return self._complete(claim, result, secs)

    def _complete(self, claim: Claim, result: AttributionBlueprintResult, secs: float) -> str:
        wanted = {name: _wants(sink, result) for name, sink in self._sinks.items()}
        sinks = [name for name, wants in wanted.items() if wants]
        skipped = [name for name, wants in wanted.items() if not wants]
        document = to_json(result).encode()
        is_mine = self._stored(lambda: self._backlog.complete(claim, document, sinks, skipped, self._now()))
        if not is_mine:
            return "lost"
        self._meters.delay_seconds.observe(max(0.0, (self._now() - claim.ready_at).total_seconds()))
        self._meters.observations.inc(sum(report.observations for report in result.connector_reports))
        self._meters.collected_bytes.inc(sum(report.bytes for report in result.connector_reports))
        logger().info(
            "diagnosed",
            **naming(claim),
            terminal_state=result.terminal_state.value,
            sub_domain=result.sub_domain.value,
            secs=round(secs, 2),
            sinks=len(sinks),
        )
        return "ok"

    def _postpone(self, claim: Claim, reason: str) -> str:
        """The Service cannot be had: that is no fault of the attempt, and does not count as a try."""
        wait = self._pressure.push()
        logger().warning("service cannot be had", reason=reason, wait_secs=round(wait, 1))
        later = self._now() + timedelta(seconds=wait)
        return "postponed" if self._stored(lambda: self._backlog.release(claim, later, reason)) else "lost"

    def _failed(self, claim: Claim, reason: str) -> str:
        """Try again later, a bounded number of times."""
        if claim.tries >= self._settings.retries:
            return self._give_up(claim, reason)
        wait = grown_secs(claim.tries + 1, self._settings.retry_secs, LONGEST_WAIT_SECS)
        later = self._now() + timedelta(seconds=wait)
        if not self._stored(lambda: self._backlog.retry(claim, later, reason, self._now())):
            return "lost"
        logger().warning(
            "attempt not diagnosed", **naming(claim), origin=words(claim.origin), reason=reason,
            tries=claim.tries + 1, again_at=stamp(later),
        )  # fmt: skip
        return "retried"

    def _give_up(self, claim: Claim, reason: str) -> str:
        if not self._stored(lambda: self._backlog.give_up(claim, reason, self._now())):
            return "lost"
        logger().error(
            "attempt given up",
            **naming(claim),
            origin=words(claim.origin),
            reason=reason,
            tries=claim.tries + 1,
        )
        return "given_up"

    def _stored(self, call: Callable[[], bool]) -> bool:
        """Have the store note how it ended; it is waited for as long as the lease may last."""
        until = time.monotonic() + self._settings.lease_secs
        while True:
            try:
                return call()
            except StoreUnavailable as error:
                if time.monotonic() > until:
                    return False
                logger().warning("store cannot be had", reason=words(error))
                time.sleep(_STORE_WAIT_SECS)


def _wants(sink: Sink[Any], result: AttributionBlueprintResult) -> bool:
    """What a sink wants; one that cannot say gets it."""
    try:
        return sink.wants(result)
    except Exception:  # a sink of somebody else's
        return True
