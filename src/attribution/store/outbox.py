"""The outbox holds results until each sink took them, or will never do so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import func, select, update

from attribution.contracts.result import AttributionBlueprintResult
from attribution.store.codec import from_json, unpack
from attribution.store.database import Store
from attribution.store.faults import StoreDamaged, damaged
from attribution.store.leases import FREE, free_at, held, new_lease
from attribution.store.schema import watch_attempts, watch_deliveries, watch_results
from attribution.store.statements import portions

_c = watch_deliveries.c


class DeliveryState(StrEnum):
    """What became of a result at one sink."""

    PENDING = "pending"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One result for one sink, that one worker has for itself as long as its lease is renewed."""

    key: str
    sink: str
    lease: str
    workload_id: str
    attempt: int
    tries: int
    made_at: datetime
    result: AttributionBlueprintResult


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A result that a sink did not take, and why."""

    label: str
    sink: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Undone:
    """The results that one sink has not taken: how many there are, since when, and why the last was not taken."""

    sink: str
    state: DeliveryState
    count: int
    since: datetime
    reason: str | None


@dataclass(frozen=True, slots=True)
class Outbox:
    """The deliveries of a store. Threads, processes and machines share them; each call is one transaction."""

    store: Store

    def claim(self, sinks: Sequence[str], now: datetime, lease_secs: float) -> Delivery | None:
        """The delivery to one of these sinks that has waited longest; None if there is none that is ready.

        Raises StoreDamaged if its result cannot be read; the delivery has failed then.
        """
        ready = (_c.state == DeliveryState.PENDING, _c.sink.in_(sinks), _c.ready_at <= now)
        query = (
            select(watch_deliveries)
            .where(*ready, free_at(watch_deliveries, now))
            .order_by(_c.ready_at, _c.key, _c.sink)
            .limit(1)
        )
        with self.store.read() as connection:
            if connection.execute(query.with_only_columns(_c.key)).one_or_none() is None:
                return None
        lease = new_lease()
        with self.store.write() as connection:
            row = connection.execute(query.with_for_update(skip_locked=True)).one_or_none()
            if row is None:
                return None
            taken = {"lease": lease, "lease_until": now + timedelta(seconds=lease_secs)}
            connection.execute(update(watch_deliveries).where(_c.key == row.key, _c.sink == row.sink).values(taken))
            a, r = watch_attempts.c, watch_results.c
            told = connection.execute(select(a.workload_id, a.attempt).where(a.key == row.key)).one()
            kept = connection.execute(select(r.raw_size, r.document).where(r.key == row.key)).one_or_none()
        label = f"{told.workload_id}, attempt {told.attempt}"
        try:
            result = _result(kept, label)
        except StoreDamaged as error:
            self._leave(row.key, row.sink, lease, {"state": DeliveryState.FAILED, "reason": str(error)})
            raise
        told_of = (told.workload_id, told.attempt)
        return Delivery(row.key, row.sink, lease, *told_of, row.tries, row.made_at, result)

    def renew(self, leases: Sequence[str], now: datetime, lease_secs: float) -> set[str]:
        """Hold leases for so much longer; those that are still held."""
        until = now + timedelta(seconds=lease_secs)
        kept: set[str] = set()
        for some in portions(sorted(leases)):
            longer = update(watch_deliveries).where(_c.lease.in_(some)).values(lease_until=until).returning(_c.lease)
            with self.store.write() as connection:
                kept.update(connection.execute(longer).scalars())
        return kept

    def done(self, delivery: Delivery, now: datetime) -> bool:
        """The sink has it. A result that all sinks have is not kept here any longer."""
        values = {"state": DeliveryState.DONE, "tries": delivery.tries + 1, "reason": None, "changed_at": now}
        still_open = (_c.key == delivery.key, _c.state.in_([DeliveryState.PENDING, DeliveryState.FAILED]))
        with self.store.write() as connection:
            mine = held(watch_deliveries, delivery.key, delivery.lease, _c.sink == delivery.sink)
            if connection.execute(update(watch_deliveries).where(mine).values(**values, **FREE)).rowcount == 0:
                return False
            if connection.execute(select(func.count()).where(*still_open)).scalar_one() == 0:
                connection.execute(watch_results.delete().where(watch_results.c.key == delivery.key))
        return True

    def retry(self, delivery: Delivery, ready_at: datetime, reason: str, now: datetime) -> bool:
        """The sink did not take it this time. False if the delivery is another's by now."""
        tried = {"tries": delivery.tries + 1, "ready_at": ready_at, "reason": reason, "changed_at": now}
        return self._leave(delivery.key, delivery.sink, delivery.lease, tried)

    def fail(self, delivery: Delivery, reason: str, now: datetime) -> bool:
        """The sink is not asked again; the result stays here. False if the delivery is another's by now."""
        tried = {"state": DeliveryState.FAILED, "tries": delivery.tries + 1, "reason": reason, "changed_at": now}
        return self._leave(delivery.key, delivery.sink, delivery.lease, tried)

    def release(self, delivery: Delivery) -> bool:
        """Give a delivery back untried."""
        return self._leave(delivery.key, delivery.sink, delivery.lease, {})

    def _leave(self, key: str, sink: str, lease: str, values: Mapping[str, Any]) -> bool:
        mine = held(watch_deliveries, key, lease, _c.sink == sink)
        with self.store.write() as connection:
            return connection.execute(update(watch_deliveries).where(mine).values(**values, **FREE)).rowcount > 0

    def counts(self) -> dict[tuple[str, DeliveryState], int]:
        """How many deliveries to each sink are in each state."""
        with self.store.read() as connection:
            rows = connection.execute(select(_c.sink, _c.state, func.count()).group_by(_c.sink, _c.state)).all()
        return {(sink, DeliveryState(state)): int(count) for sink, state, count in rows}

    def undone(self) -> list[Undone]:
        """What sinks have yet to take, or refused, by sink and state."""
        found: list[Undone] = []
        open_states = (DeliveryState.PENDING, DeliveryState.FAILED)
        query = (
            select(_c.sink, _c.state, func.count(), func.min(_c.made_at))
            .where(_c.state.in_(open_states))
            .group_by(_c.sink, _c.state)
            .order_by(_c.sink, _c.state)
        )
        with self.store.read() as connection:
            for sink, state, count, since in connection.execute(query).all():
                last = (
                    select(_c.reason)
                    .where(_c.sink == sink, _c.state == state, _c.reason.is_not(None))
                    .order_by(_c.changed_at.desc(), _c.key)
                    .limit(1)
                )
                reason = connection.execute(last).scalar_one_or_none()
                found.append(Undone(sink, DeliveryState(state), int(count), since, reason))
        return found

    def failed(self, limit: int, sink: str | None = None) -> Iterator[Undelivered]:
        """The deliveries that failed last, the latest first; of one sink, if it is named."""
        a = watch_attempts.c
        query = (
            select(a.workload_id, a.attempt, _c.sink, _c.reason, _c.changed_at)
            .join(watch_attempts, a.key == _c.key)
            .where(_c.state == DeliveryState.FAILED)
            .order_by(_c.changed_at.desc(), _c.key)
            .limit(limit)
        )
        query = query if sink is None else query.where(_c.sink == sink)
        with self.store.read() as connection:
            rows = connection.execute(query).all()
        for row in rows:
            label = f"{row.workload_id}, attempt {row.attempt}"
            yield Undelivered(label, row.sink, row.reason or "no reason given", row.changed_at)


def _result(row: Any, label: str) -> AttributionBlueprintResult:
    what = f"the result of {label}"
    if row is None:
        raise damaged(what)
    try:
        return from_json(unpack(row.document, row.raw_size, what), AttributionBlueprintResult)
    except ValueError:
        raise damaged(what) from None
