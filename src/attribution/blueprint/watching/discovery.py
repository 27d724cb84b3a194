"""One round of discovery: every context connector is asked for what ran since it was last asked, and some before."""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from attribution.blueprint.attempt import Attempt, Found, Query, Unusable
from attribution.blueprint.connectors.base import ConnectorError, ContextConnector
from attribution.blueprint.orchestrator import Orchestrator, Parts
from attribution.blueprint.watching.documents import to_document
from attribution.blueprint.watching.logs import logger, stamp, words
from attribution.blueprint.watching.meters import Meters
from attribution.blueprint.watching.settings import WatchSettings
from attribution.contracts.context import ExecutionContext
from attribution.store.backlog import Backlog, Sighting
from attribution.store.identity import attempt_key
from attribution.store.keepsakes import Keepsakes, Marks, expire

_AT_ONCE = 100
"""Attempts that are noted in one transaction."""
_TOLD = 10_000
"""Things of which it is remembered that they were told, so that a round does not tell them again."""
_STILL_ON = frozenset(
    {
        *(
            "PENDING",
            "CONFIGURING",
            "RUNNING",
            "SUSPENDED",
            "RESIZING",
            "SIGNALING",
            "STOPPED",
            "COMPLETING",
            "STAGE_OUT",
        ),
        *("REQUEUED", "REQUEUE_HOLD", "QUEUED", "ADMITTED"),
    }
)
"""Scheduler states of attempts that have not ended."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A context connector with its name, and the name under which the store keeps what belongs to it."""

    name: str
    connector: ContextConnector[Any]
    owner: str


class Discovery:
    """Finds attempts and notes them in the backlog. One thread uses it."""

    def __init__(
        self,
        parts: Parts,
        orchestrator: Orchestrator,
        backlog: Backlog,
        settings: WatchSettings,
        meters: Meters,
        now: Callable[[], datetime],
        scope: str = "",
    ) -> None:
        self._orchestrator = orchestrator
        self._backlog = backlog
        self._settings = settings
        self._meters = meters
        self._now = now
        self._marks = Marks(backlog.store)
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._asked = [
            _Asked(name, connector, _owner(scope, name, connector)) for name, connector in parts.contexts.items()
        ]

    def round(self, stopped: threading.Event) -> None:
        """Ask every connector once. While too much waits, nothing is asked: the next round looks as far back."""
        started = time.monotonic()
        is_full = self._backlog.counts(self._now())["waiting"] >= self._settings.backlog
        if is_full:
            logger().warning("backlog full", waiting=self._settings.backlog)
        seen: dict[str, str] = {}
        for asked in self._asked:
            if stopped.is_set():
                return
            self._meters.rounds.labels(asked.name, "held" if is_full else self._ask(asked, seen, stopped)).inc()
        self._meters.round_seconds.observe(time.monotonic() - started)
        self._forget()

    def _ask(self, asked: _Asked, seen: dict[str, str], stopped: threading.Event) -> str:
        """How asking one connector went: ok or failed. Its mark moves only if it went well to the end."""
        begun = self._now()
        self._observe(asked)
        try:
            for batch in self._batches(asked, begun, seen):
                self._note(batch)
                if stopped.is_set():
                    return "failed"
        except ConnectorError as error:
            self._tell(asked.name, words(error))
            return "failed"
        except Exception as error:
            self._tell(asked.name, f"failed: {words(error)}")
            return "failed"
        self._marks.advance(asked.owner, begun)
        self._meters.last_round.labels(asked.name).set(begun.timestamp())
        self._recovered(asked.name)
        return "ok"

    def _observe(self, asked: _Asked) -> None:
        """Let a connector look at what lives; one that cannot is told, and asked for attempts all the same."""
        place = f"{asked.name}, looking at what lives"
        try:
            asked.connector.observe(Keepsakes(self._backlog.store, asked.owner))
        except ConnectorError as error:
            self._tell(place, words(error))
        except Exception as error:  # a connector that fails never stops the watcher
            self._tell(place, f"failed: {words(error)}")
        else:
            self._recovered(place)

    def _query(self, asked: _Asked, now: datetime) -> Query:
        """What ran since the connector was last asked, and some before for records that come late."""
        if not asked.connector.is_windowed:
            return Query()
        mark = self._marks.get(asked.owner)
        first = now - timedelta(seconds=self._settings.lookback_secs)
        start = first if mark is None else mark - timedelta(seconds=self._settings.overlap_secs)
        return Query(start=start, end=now)

    def _batches(self, asked: _Asked, now: datetime, seen: dict[str, str]) -> Iterator[list[Sighting]]:
        """What is found, a bounded number at a time; also what was found before a connector failed."""
        batch: list[Sighting] = []
        try:
            for found in asked.connector.discover(self._query(asked, now)):
                sighting = self._sighting(asked, found, now, seen)
                batch += [] if sighting is None else [sighting]
                if len(batch) >= _AT_ONCE:
                    yield batch
                    batch = []
        except Exception:
            yield batch
            raise
        yield batch

    def _sighting(self, asked: _Asked, found: Found, now: datetime, seen: dict[str, str]) -> Sighting | None:
        """What is to be noted of what was found; None if that is no attempt, has not ended, or was found before."""
        if isinstance(found, Unusable):
            self._meters.found.labels("unusable").inc()
            self._tell(found.origin, words(found.reason), is_failure=found.is_failure)
            return None
        attempt = self._orchestrator.enriched(replace(found, found_by=asked.name))
        if not _is_over(attempt.context):
            self._meters.found.labels("running").inc()
            return None
        key = attempt_key(attempt.context.tenant, attempt.context)
        before = seen.setdefault(key, attempt.origin)
        if before != attempt.origin:
            self._meters.found.labels("same").inc()
            self._tell(attempt.origin, words(f"is the same attempt as {before} ({attempt.label}): not looked at"))
            return None
        return Sighting(key, attempt.context, attempt.origin, to_document(attempt), self._ready(attempt, now))

    def _ready(self, attempt: Attempt, now: datetime) -> datetime:
        """When work may begin: the settling time after the end, or after it was found where evidence is being laid."""
        ended = None if attempt.bundle is not None else attempt.context.ended_at
        return (ended or now) + timedelta(seconds=self._settings.settle_secs)

    def _note(self, batch: list[Sighting]) -> None:
        if not batch:
            return
        for sighting, progress in zip(batch, self._backlog.note(batch, self._now()), strict=True):
            self._meters.found.labels(progress.value).inc()
            if progress == "new":
                context = sighting.context
                logger().info(
                    "found",
                    workload=words(context.workload_id),
                    attempt=context.attempt,
                    origin=words(sighting.origin),
                    ready_at=stamp(sighting.ready_at),
                )

    def _tell(self, origin: str, reason: str, is_failure: bool = True) -> None:
        """Log what is wrong, once until it changes."""
        if (origin, reason) in self._told:
            self._told.move_to_end((origin, reason))
            return
        self._told[origin, reason] = None
        if len(self._told) > _TOLD:
            self._told.popitem(last=False)
        log = logger().warning if is_failure else logger().info
        log("not usable", origin=words(origin), reason=reason)

    def _recovered(self, name: str) -> None:
        """A connector that works again tells of its next failure, also if it is the same."""
        for told in [told for told in self._told if told[0] == name]:
            del self._told[told]

    def _forget(self) -> None:
        """Forget what is done and not found any more, but nothing that the next round may find again."""
        now, keep = self._now(), timedelta(seconds=self._settings.keep_secs)
        behind = self._marks.earliest(now - keep) or now
        self._backlog.prune(min(now, behind) - keep - timedelta(seconds=self._settings.overlap_secs))
        expire(self._backlog.store, now)


def _is_over(context: ExecutionContext) -> bool:
    """Whether the scheduler does not say that an attempt is still to end."""
    state = (context.scheduler_state or "").split()
    return context.ended_at is not None or not state or state[0].upper() not in _STILL_ON


def _owner(scope: str, name: str, connector: ContextConnector[Any]) -> str:
    """Names a connector with what it asks for: another cluster, or other settings, have a mark of their own."""
    told = repr((scope, name, connector.settings.model_dump_json()))
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
