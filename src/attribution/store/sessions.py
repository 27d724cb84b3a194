"""A session holds the evidence of one attempt until it is ended or was idle for too long."""

import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, delete, func, select, update

from attribution.contracts.context import ExecutionContext
from attribution.contracts.exchange import ObservationAnswer
from attribution.contracts.observation import Observation
from attribution.store.codec import from_json, to_json, unpack
from attribution.store.database import Store
from attribution.store.faults import SessionGone, damaged
from attribution.store.identity import ALL_TENANTS, Tenant, attempt_key, owned_by, tenant_key
from attribution.store.ingest import SessionLimits, Totals, held_digests, judge, prepare
from attribution.store.schema import observations, sessions
from attribution.store.statements import insert_rows, upsert

__all__ = ["ALL_TENANTS", "ContentMark", "Session", "SessionGone", "SessionLimits", "Sessions", "is_id"]

_AT_ONCE, _AT_ONCE_BYTES = 200, 8 << 20
_RENEWAL_STEPS = 64
_ID_BYTES = 24


@dataclass(frozen=True, slots=True)
class Session:
    """One attempt that a client tells about. `revision` is that of the last diagnosis, 0 before the first.

    Its context may be large and most calls do without it: `Sessions.context` reads it.
    """

    id: str
    tenant: str | None
    created_at: datetime
    expires_at: datetime
    revision: int


@dataclass(frozen=True, slots=True)
class ContentMark:
    """What a session holds. `mark` changes when and only when its context or its set of observations does."""

    count: int
    bytes: int
    mark: str


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of a store. Threads and processes share them; each call is one or two transactions."""

    store: Store

    def open(
        self,
        context: ExecutionContext,
        tenant: str | None,
        now: datetime,
        idle_secs: float,
        limit: int | None = None,
    ) -> Session | None:
        """The session of this attempt, with this context from now on; made if there is none that is still alive.

        None if it would have to be made, and the tenant has `limit` of them.
        """
        key, ends = attempt_key(tenant, context), now + timedelta(seconds=idle_secs)
        counters = {"observations": 0, "bytes": 0, "largest": 0, "content": "", "revision": 0}
        made = {
            "id": secrets.token_urlsafe(_ID_BYTES),
            "key": key,
            "tenant": tenant_key(tenant),
            "context": to_json(context),
            "created_at": now,
            "expires_at": ends,
            **counters,
        }
        with self.store.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.key == key, sessions.c.expires_at <= now))
            if limit is not None and self._full(connection, key, tenant, now, limit):
                return None
            statement = upsert(connection, sessions).values(made)
            changed = {"context": statement.excluded.context, "expires_at": statement.excluded.expires_at}
            statement = statement.on_conflict_do_update(index_elements=["key"], set_=changed)
            return _session(connection.execute(statement.returning(*_COLUMNS)).one())

    def _full(self, connection: Connection, key: str, tenant: str | None, now: datetime, limit: int) -> bool:
        known = connection.execute(select(sessions.c.id).where(sessions.c.key == key)).one_or_none()
        return known is None and connection.execute(_count(now, tenant)).scalar_one() >= limit

    def get(self, attributor_id: str, tenant: Tenant, now: datetime) -> Session | None:
        """The session of this tenant; None if it is unknown, ended, expired or not this tenant's."""
        if not is_id(attributor_id):
            return None
        query = select(*_COLUMNS).where(*_alive(attributor_id, now), *owned_by(sessions.c.tenant, tenant))
        with self.store.read() as connection:
            row = connection.execute(query).one_or_none()
        return _session(row) if row else None

    def context(self, session_id: str) -> ExecutionContext:
        """What was run, where and when, as the session was opened last. Raises SessionGone, StoreDamaged."""
        with self.store.read() as connection:
            text = connection.execute(select(sessions.c.context).where(sessions.c.id == session_id)).scalar()
        if text is None:
            raise SessionGone(session_id)
        try:
            return from_json(text, ExecutionContext)
        except ValueError:
            raise damaged("the context of a session") from None

    def renew(self, attributor_id: str, tenant: Tenant, now: datetime, idle_secs: float) -> Session | None:
        """As `get`, with the session's end moved to `now` and `idle_secs`.

        What moves it by less than a 64th of `idle_secs` is not written, so that reading stays reading.
        """
        session, ends = self.get(attributor_id, tenant, now), now + timedelta(seconds=idle_secs)
        if session is None or abs(ends - session.expires_at) < timedelta(seconds=idle_secs / _RENEWAL_STEPS):
            return session
        with self.store.write() as connection:
            changed = update(sessions).where(*_alive(session.id, now)).values(expires_at=ends)
            still_there = connection.execute(changed).rowcount > 0
        return replace(session, expires_at=ends) if still_there else None

    def count(self, now: datetime, tenant: Tenant) -> int:
        """How many sessions of this tenant are alive."""
        with self.store.read() as connection:
            return connection.execute(_count(now, tenant)).scalar_one()

    def add(
        self, session: Session, batch: Sequence[tuple[int, Observation]], now: datetime, limits: SessionLimits
    ) -> list[ObservationAnswer]:
        """Keep what is new. An answer for each (index, observation), in order; what is accepted is durable.

        An observation whose digest is held is a duplicate. One whose bytes contradict those held is rejected as
        `conflict: …`, one that is too much as `limit: …`. Raises SessionGone.
        """
        digests = list(dict.fromkeys(observation.digest for _, observation in batch))
        with self.store.read() as connection:
            before = _totals(connection, session.id, now)
            held = held_digests(connection, session.id, digests)
        pieces = prepare(session.id, batch, held, limits)  # compresses: not while others wait
        if all(piece.observation.digest in held for piece in pieces):
            return [ObservationAnswer(index=p.index, digest=p.observation.digest, outcome="duplicate") for p in pieces]
        with self.store.write() as connection:
            totals = _totals(connection, session.id, now, lock=True)
            if totals.content != before.content:
                held = held_digests(connection, session.id, digests)
            verdict = judge(connection, session.id, pieces, held, totals, limits)
            if verdict.rows:
                insert_rows(connection, observations, verdict.rows)
                grown = verdict.totals
                connection.execute(
                    update(sessions)
                    .where(sessions.c.id == session.id)
                    .values(
                        observations=grown.observations, bytes=grown.bytes, largest=grown.largest, content=grown.content
                    )
                )
        return verdict.answers

    def observations(self, session_id: str) -> Iterator[Observation]:
        """All that was accepted, by source, node, rank, stream, offset and digest; a few MiB in memory at a time.

        Raises SessionGone if the session is ended meanwhile.
        """
        c = observations.c
        query = (
            select(c.digest, func.length(c.body).label("size"))
            .where(c.session_id == session_id)
            .order_by(c.stream_key, c.start, c.digest)
        )
        with self.store.read() as connection:
            order = [(row.digest, row.size) for row in connection.execute(query)]
        for digests in _batches(order):
            yield from self._load(session_id, digests)

    def _load(self, session_id: str, digests: Sequence[str]) -> Iterator[Observation]:
        c = observations.c
        query = select(c.digest, c.description, c.raw_size, c.body)
        with self.store.read() as connection:
            found = connection.execute(query.where(c.session_id == session_id, c.digest.in_(digests)))
            rows = {row.digest: row for row in found}
        for digest in digests:
            if digest not in rows:
                raise SessionGone(session_id)
            yield _observation(rows.pop(digest))

    def content(self, session_id: str) -> ContentMark:
        """How much the session holds, and a mark of what. Raises SessionGone."""
        c = sessions.c
        query = select(c.observations, c.bytes, c.content, c.context).where(c.id == session_id)
        with self.store.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise SessionGone(session_id)
        mark = hashlib.blake2b(f"{row.content} {row.context}".encode(), digest_size=16).hexdigest()
        return ContentMark(row.observations, row.bytes, mark)

    def note_diagnosis(self, session_id: str, diagnosis_digest: str) -> int:
        """The revision of this diagnosis: one more than before if it is not the one noted last. Raises SessionGone."""
        c = sessions.c
        query = select(c.revision, c.diagnosis_digest).where(c.id == session_id)
        with self.store.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is not None and row.diagnosis_digest == diagnosis_digest:
            return int(row.revision)
        with self.store.write() as connection:
            row = connection.execute(query.with_for_update()).one_or_none()
            if row is None:
                raise SessionGone(session_id)
            if row.diagnosis_digest == diagnosis_digest:
                return int(row.revision)
            changed = {"revision": row.revision + 1, "diagnosis_digest": diagnosis_digest}
            connection.execute(update(sessions).where(c.id == session_id).values(changed))
            return int(row.revision) + 1

    def end(self, session_id: str) -> bool:
        """Delete the session and its evidence; False if it is gone already."""
        with self.store.write() as connection:
            return connection.execute(delete(sessions).where(sessions.c.id == session_id)).rowcount > 0

    def expire(self, now: datetime) -> int:
        """Delete the sessions whose time is over, with their evidence; answer how many."""
        with self.store.read() as connection:
            ids = connection.execute(select(sessions.c.id).where(sessions.c.expires_at <= now)).scalars().all()
        count = 0
        for session_id in ids:  # one at a time, so that nobody waits long; renewed meanwhile is not over
            with self.store.write() as connection:
                over = delete(sessions).where(sessions.c.id == session_id, sessions.c.expires_at <= now)
                count += connection.execute(over).rowcount
        return count


_COLUMNS = tuple(sessions.c[name] for name in ("id", "tenant", "created_at", "expires_at", "revision"))


def is_id(text: str) -> bool:
    """Whether a text can be the id of a session at all."""
    return re.fullmatch(r"[A-Za-z0-9_-]{32}", text) is not None


def _count(now: datetime, tenant: Tenant) -> Select[int]:
    return select(func.count()).where(*owned_by(sessions.c.tenant, tenant), sessions.c.expires_at > now)


def _alive(session_id: str, now: datetime) -> tuple[Any, ...]:
    return (sessions.c.id == session_id, sessions.c.expires_at > now)


def _session(row: Any) -> Session:
    return Session(row.id, row.tenant or None, row.created_at, row.expires_at, row.revision)


def _totals(connection: Connection, session_id: str, now: datetime, lock: bool = False) -> Totals:
    c = sessions.c
    query = select(c.observations, c.bytes, c.largest, c.content).where(*_alive(session_id, now))
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise SessionGone(session_id)
    return Totals(row.observations, row.bytes, row.largest, row.content)


def _batches(order: Sequence[tuple[str, int]]) -> Iterator[Sequence[str]]:
    """Digests in order, few enough that their bodies fit in memory together."""
    batch: list[str] = []
    size = 0
    for digest, bytes_ in order:
        if batch and (len(batch) == _AT_ONCE or size + bytes_ > _AT_ONCE_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(digest)
        size += bytes_
    if batch:
        yield batch


def _observation(row: Any) -> Observation:
    raw = unpack(row.body, row.raw_size, f"the body of observation {row.digest}")
    described = from_json(row.description, Observation)
    return described.model_copy(update={"body": raw.decode("utf-8", "surrogatepass")})
