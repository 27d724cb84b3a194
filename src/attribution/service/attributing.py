"""Attributing runs the engine over what a session holds, off the event loop, and remembers the answer."""

import asyncio
import hashlib
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from anyio import CapacityLimiter, to_thread

from attribution.bundle.evidence import assemble
from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.observation import Observation
from attribution.diagnosis.engine import diagnose
from attribution.service.logs import logger
from attribution.service.meters import Meters
from attribution.service.problems import BUSY, LATE, ServiceProblem
from attribution.service.rulebook import Rulebook, Rules
from attribution.service.settings import Limits
from attribution.service.v1_evidence import joined
from attribution.store.sessions import Session, Sessions

READS = 3
"""How often a session is read again because it changed meanwhile; then the answer is given but not remembered."""


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """A diagnosis and its canonical bytes. `digest` names the bytes."""

    diagnosis: Diagnosis
    body: bytes
    digest: str


@dataclass(frozen=True, slots=True)
class Attributed:
    """The diagnosis of what a session holds, and how often it changed until now."""

    revision: int
    diagnosed: Diagnosed

    @property
    def etag(self) -> str:
        """Names this answer."""
        return f'"{self.revision}-{self.diagnosed.digest[:16]}"'


Key = tuple[str, str, str]
"""(session, mark of its content, catalog digest)"""


class Memory:
    """The diagnoses used last, up to a number of bytes. Safe to use from several threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._held: OrderedDict[Key, Diagnosed] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Diagnosed | None:
        """What is remembered under a key."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: Key, diagnosed: Diagnosed) -> None:
        """Remember a diagnosis, and forget older ones of the same session and beyond the limit."""
        with self._lock:
            for old in [old for old in self._held if old[0] == key[0]]:
                self._size -= len(self._held.pop(old).body)
            self._held[key] = diagnosed
            self._size += len(diagnosed.body)
            while self._size > self._limit:
                self._size -= len(self._held.popitem(last=False)[1].body)

    def __len__(self) -> int:
        return len(self._held)


class Attributing:
    """One at a time for each session, so that its revision only grows; `limits.attributions` at a time over all."""

    def __init__(
        self,
        sessions: Sessions,
        rulebook: Rulebook,
        limits: Limits,
        cache_bytes: int,
        meters: Meters,
        threads: CapacityLimiter,
    ) -> None:
        self._sessions = sessions
        self._rulebook = rulebook
        self._limits = limits
        self._meters = meters
        self._store_threads = threads
        self._memory = Memory(cache_bytes)
        self._pool: ThreadPoolExecutor | None = None
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}
        self._tasks: set[asyncio.Task[Attributed]] = set()

    async def attribute(self, session: Session) -> Attributed:
        """The diagnosis over everything accepted before this call. Raises SessionGone if the session ends meanwhile.

        ServiceProblem (503) if too many wait already, or it takes longer than the limit; the work then goes on, and
        its answer is there for a later call.
        """
        if len(self._tasks) >= self._limits.attributions + self._limits.waiting_attributions:
            raise ServiceProblem.later(BUSY, f"{len(self._tasks)} attributions are waiting or running already.", 2)
        task = asyncio.create_task(self._in_turn(session))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        done, _ = await asyncio.wait({task}, timeout=self._limits.attribution_secs)
        if not done:
            detail = f"The attribution takes longer than {self._limits.attribution_secs:g} s; it goes on, ask again."
            raise ServiceProblem.later(LATE, detail, 5)
        return task.result()

    def close(self) -> None:
        """Give up what has not begun, and the threads when they have ended."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._limits.attributions, thread_name_prefix="attribution")
        return self._pool

    def _ended(self, task: asyncio.Task[Attributed]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger().warning("attribution failed", error=type(error).__name__)

    async def _in_turn(self, session: Session) -> Attributed:
        lock, waiting = self._turns.get(session.id, (asyncio.Lock(), 0))
        self._turns[session.id] = (lock, waiting + 1)
        try:
            async with lock:
                return await self._attribute(session)
        finally:
            lock, waiting = self._turns[session.id]
            if waiting == 1:
                del self._turns[session.id]
            else:
                self._turns[session.id] = (lock, waiting - 1)

    async def _attribute(self, session: Session) -> Attributed:
        rules, limiter = self._rulebook.rules, self._store_threads
        mark = await to_thread.run_sync(self._mark, session.id, limiter=limiter)
        found = self._memory.get((session.id, mark, rules.identity.digest))
        if found is not None:
            self._meters.attributions_cached.inc()
        else:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._threads(), self._diagnose, session, rules)
        note = self._sessions.note_diagnosis
        revision = await to_thread.run_sync(note, session.id, found.digest, limiter=limiter)
        return Attributed(revision, found)

    def _mark(self, session_id: str) -> str:
        return self._sessions.content(session_id).mark

    def _diagnose(self, session: Session, rules: Rules) -> Diagnosed:
        started = time.perf_counter()
        context, observations, mark = self._content(session)
        evidence, rejected = assemble(context, joined(context, observations))
        del observations
        if rejected:
            logger().error("accepted observations contradict each other", count=len(rejected))
        diagnosis = diagnose(evidence, rules.sets)
        body = diagnosis.to_json()
        found = Diagnosed(diagnosis, body, hashlib.blake2b(body, digest_size=16).hexdigest())
        if mark is not None:
            self._memory.put((session.id, mark, rules.identity.digest), found)
        self._meters.attributed(diagnosis, time.perf_counter() - started)
        return found

    def _content(self, session: Session) -> tuple[ExecutionContext, tuple[Observation, ...], str | None]:
        """Context and observations of one moment with their mark; without a mark if they changed all the while."""
        mark = self._mark(session.id)
        for _ in range(READS):
            context, observations = self._read(session)
            before, mark = mark, self._mark(session.id)
            if mark == before:
                return context, observations, mark
        return context, observations, None

    def _read(self, session: Session) -> tuple[ExecutionContext, tuple[Observation, ...]]:
        return self._sessions.context(session.id), tuple(self._sessions.observations(session.id))
