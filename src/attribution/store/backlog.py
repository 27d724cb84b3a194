"""The backlog remembers every attempt that a watcher has seen, and hands each to one worker at a time."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from attribution.contracts.context import ExecutionContext
from attribution.store.codec import pack, unpack
from attribution.store.database import Store
from attribution.store.faults import StoreDamaged
from attribution.store.identity import attempt_key, tenant_key
from attribution.store.leases import FREE, free_at, held, new_lease
from attribution.store.schema import watch_attempts, watch_deliveries, watch_results
from attribution.store.statements import insert_rows, portions, upsert

__all__ = ["Backlog", "Claim", "GivenUp", "Progress", "Sighting", "State", "attempt_key"]

_SEEN_STEP = timedelta(hours=6)
"""How old `seen_at` may grow before it is written anew: a round over what is known must not write all of it."""
_WAITS = 10
_c = watch_attempts.c


class State(StrEnum):
    """How far an attempt is."""

    WAITING = "waiting"
    DIAGNOSED = "diagnosed"
    GIVEN_UP = "given_up"


class Progress(StrEnum):
    """What is new about an attempt that was seen."""

    NEW = "new"
    CHANGED = "changed"
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class Sighting:
    """An attempt as it was found. `document` is all that a worker needs; it may begin at `ready_at`."""

    key: str
    context: ExecutionContext
    origin: str
    document: bytes
    ready_at: datetime


@dataclass(frozen=True, slots=True)
class Claim:
    """An attempt that one worker has for itself, as long as its lease is renewed."""

    key: str
    lease: str
    workload_id: str
    attempt: int
    origin: str
    tries: int
    losses: int
    ready_at: datetime
    document: bytes


@dataclass(frozen=True, slots=True)
class GivenUp:
    """An attempt that could not be diagnosed, and why."""

    label: str
    origin: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Backlog:
    """The attempts of a store. Threads, processes and machines share them; each call is one transaction."""

    store: Store

    # --- found --------------------------------------------------------------------------------------------------------

    def note(self, sightings: Sequence[Sighting], now: datetime) -> list[Progress]:
        """Remember what was seen, in one transaction; what is new of each, in order.

        What changes while an attempt waits is taken, and it waits anew, but not for ever: what keeps changing is ready
        ten times its wait after it was found. What is being worked on, diagnosed or given up
        stays as it is.
        """
        ordered = sorted(sightings, key=lambda seen: seen.key)
        digests = {seen.key: hashlib.blake2b(seen.document, digest_size=16).hexdigest() for seen in ordered}
        with self.store.read() as connection:
            known = _known(connection, list(digests))
        answers = {seen.key: _progress(known.get(seen.key), digests[seen.key]) for seen in ordered}
        stale = [key for key, row in known.items() if row.seen_at < now - _SEEN_STEP]
        fresh = [seen for seen in ordered if answers[seen.key] is not Progress.KNOWN]
        if fresh or stale:
            with self.store.write() as connection:
                for seen in fresh:
                    row = _row(seen, digests[seen.key], now)
                    if answers[seen.key] is Progress.NEW:
                        connection.execute(
                            upsert(connection, watch_attempts)
                            .values(row)
                            .on_conflict_do_nothing(index_elements=["key"])
                        )
                    else:
                        changed = {name: row[name] for name in _CHANGING}
                        changed["ready_at"] = min(seen.ready_at, _latest(known[seen.key].found_at, seen.ready_at - now))
                        idle = (_c.key == seen.key, _c.state == State.WAITING, _c.lease.is_(None))
                        connection.execute(update(watch_attempts).where(*idle).values(changed))
                for some in portions(sorted(stale)):
                    unleased = (_c.key.in_(some), _c.lease.is_(None))
                    connection.execute(update(watch_attempts).where(*unleased).values(seen_at=now))
        return [answers[seen.key] for seen in sightings]

    # --- worked on ----------------------------------------------------------------------------------------------------

    def claim(self, now: datetime, lease_secs: float) -> Claim | None:
        """The attempt that has waited longest, leased to the caller; None if there is none that is ready.

        One whose worker vanished is ready when its lease is over, and counts one more loss. Raises StoreDamaged if it
        cannot be read; it is given up then.
        """
        ready = (_c.state == State.WAITING, _c.ready_at <= now, free_at(watch_attempts, now))
        query = select(watch_attempts).where(*ready).order_by(_c.ready_at, _c.key).limit(1)
        with self.store.read() as connection:  # most often there is none: not while others wait to write
            if connection.execute(query.with_only_columns(_c.key)).one_or_none() is None:
                return None
        with self.store.write() as connection:
            row = connection.execute(query.with_for_update(skip_locked=True)).one_or_none()
            if row is None:
                return None
            losses = row.losses + (row.lease is not None)
            lease = new_lease()
            taken = {"lease": lease, "lease_until": now + timedelta(seconds=lease_secs), "losses": losses}
            connection.execute(update(watch_attempts).where(_c.key == row.key).values(taken))
        try:
            document = unpack(row.document, row.raw_size, f"the attempt {row.workload_id}")
        except StoreDamaged as error:
            self._leave(row.key, lease, {"state": State.GIVEN_UP, "reason": str(error), "changed_at": now})
            raise
        return Claim(
            row.key, lease, row.workload_id, row.attempt, row.origin, row.tries, losses, row.ready_at, document
        )

    def renew(self, leases: Sequence[str], now: datetime, lease_secs: float) -> set[str]:
        """Hold leases for so much longer; those that are still held."""
        until = now + timedelta(seconds=lease_secs)
        kept: set[str] = set()
        for some in portions(sorted(leases)):
            longer = update(watch_attempts).where(_c.lease.in_(some)).values(lease_until=until).returning(_c.lease)
            with self.store.write() as connection:
                kept.update(connection.execute(longer).scalars())
        return kept

    def release(self, claim: Claim, ready_at: datetime, reason: str | None = None) -> bool:
        """Give an attempt back untried: to be taken from `ready_at` on. False if it is another's by now."""
        return self._leave(claim.key, claim.lease, {"ready_at": ready_at, **({"reason": reason} if reason else {})})

    def retry(self, claim: Claim, ready_at: datetime, reason: str, now: datetime) -> bool:
        """Note that an attempt could not be diagnosed this time. False if it is another's by now."""
        tried = {"tries": claim.tries + 1, "ready_at": ready_at, "reason": reason, "changed_at": now}
        return self._leave(claim.key, claim.lease, tried)

    def give_up(self, claim: Claim, reason: str, now: datetime) -> bool:
        """Note that an attempt is not tried any more. False if it is another's by now."""
        tried = {"state": State.GIVEN_UP, "tries": claim.tries + 1, "reason": reason, "changed_at": now}
        return self._leave(claim.key, claim.lease, tried)

    def _leave(self, key: str, lease: str, values: dict[str, Any]) -> bool:
        left = update(watch_attempts).where(held(watch_attempts, key, lease)).values(**values, **FREE)
        with self.store.write() as connection:
            return connection.execute(left).rowcount > 0

    def complete(
        self, claim: Claim, document: bytes, sinks: Sequence[str], skipped: Sequence[str], now: datetime
    ) -> bool:
        """Keep the result of an attempt, to be delivered to each of the sinks. False if it is another's by now.

        Attempt, result and deliveries change together or not at all: from here on there is exactly one result.
        """
        done = {"state": State.DIAGNOSED, "document": b"", "reason": None, "changed_at": now, **FREE}
        named = [(sink, "pending") for sink in sinks] + [(sink, "skipped") for sink in skipped]
        shared = {"key": claim.key, "ready_at": now, "tries": 0, "made_at": now, "changed_at": now}
        with self.store.write() as connection:
            mine = update(watch_attempts).where(held(watch_attempts, claim.key, claim.lease)).values(done)
            if connection.execute(mine).rowcount == 0:
                return False
            if sinks:
                result = {"key": claim.key, "raw_size": len(document), "document": pack(document)}
                insert_rows(connection, watch_results, [result])
            insert_rows(
                connection, watch_deliveries, [{"sink": sink, "state": state, **shared} for sink, state in named]
            )
        return True

    # --- told ---------------------------------------------------------------------------------------------------------

    def counts(self, now: datetime) -> dict[str, int]:
        """How many attempts are in each state; of those that wait, those on which somebody works are `working`."""
        working = (_c.state == State.WAITING, _c.lease.is_not(None), _c.lease_until >= now)
        with self.store.read() as connection:
            rows = connection.execute(select(_c.state, func.count()).group_by(_c.state)).all()
            busy = connection.execute(select(func.count()).where(*working)).scalar_one()
        found = {state.value: 0 for state in State} | {str(state): int(count) for state, count in rows}
        return found | {State.WAITING.value: found[State.WAITING] - busy, "working": busy}

    def oldest_ready(self, now: datetime) -> datetime | None:
        """Since when the attempt is ready that is so for longest."""
        ready = (_c.state == State.WAITING, _c.ready_at <= now)
        with self.store.read() as connection:
            return connection.execute(select(_c.ready_at).where(*ready).order_by(_c.ready_at).limit(1)).scalar()

    def given_up(self, limit: int) -> Iterator[GivenUp]:
        """The attempts that were given up last, the latest first."""
        query = select(watch_attempts).where(_c.state == State.GIVEN_UP).order_by(_c.changed_at.desc(), _c.key)
        with self.store.read() as connection:
            rows = connection.execute(query.limit(limit)).all()
        for row in rows:
            yield GivenUp(_label(row), row.origin, row.reason or "no reason given", row.changed_at)

    def prune(self, before: datetime) -> int:
        """Forget what is diagnosed and delivered, or given up, and was not seen since; how many that were."""
        open_ = select(watch_deliveries.c.key).where(watch_deliveries.c.state.in_(["pending", "failed"]))
        over = (_c.state != State.WAITING, _c.seen_at < before, _c.key.not_in(open_))
        with self.store.write() as connection:
            return connection.execute(delete(watch_attempts).where(*over)).rowcount


_CHANGING = ("origin", "digest", "raw_size", "document", "ready_at", "seen_at", "changed_at")


def _known(connection: Connection, keys: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for some in portions(keys):
        query = select(_c.key, _c.digest, _c.state, _c.lease, _c.seen_at, _c.found_at).where(_c.key.in_(some))
        found.update((row.key, row) for row in connection.execute(query))
    return found


def _latest(found_at: datetime, wait: timedelta) -> datetime:
    """When what keeps changing is ready all the same."""
    return found_at + _WAITS * max(wait, timedelta(0))


def _progress(known: Any, digest: str) -> Progress:
    if known is None:
        return Progress.NEW
    is_idle = known.state == State.WAITING and known.lease is None
    return Progress.CHANGED if is_idle and known.digest != digest else Progress.KNOWN


def _row(seen: Sighting, digest: str, now: datetime) -> dict[str, Any]:
    context = seen.context
    return {
        "key": seen.key,
        "tenant": tenant_key(context.tenant),
        "cluster": context.cluster,
        "workload_id": context.workload_id,
        "attempt": context.attempt,
        "origin": seen.origin,
        "digest": digest,
        "raw_size": len(seen.document),
        "document": pack(seen.document),
        "state": State.WAITING,
        "ready_at": seen.ready_at,
        "tries": 0,
        "losses": 0,
        "found_at": now,
        "seen_at": now,
        "changed_at": now,
    }


def _label(row: Any) -> str:
    return f"{row.workload_id}, attempt {row.attempt}"
