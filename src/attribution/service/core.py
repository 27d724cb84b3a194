"""What all requests of one Service share."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from sqlalchemy import func, select

from attribution.configuration.tokens import Tokens, load_tokens
from attribution.contracts.errors import ConfigurationError
from attribution.service.attributing import Attributing
from attribution.service.logs import logger
from attribution.service.meters import Meters
from attribution.service.problems import UNKNOWN_ATTRIBUTOR, ServiceProblem, printable
from attribution.service.reading import receive
from attribution.service.rulebook import Rulebook
from attribution.service.settings import ServiceSettings
from attribution.store import schema
from attribution.store.sessions import Session, SessionLimits, Sessions, is_id

T = TypeVar("T")
STORE_THREADS = 16
"""Requests that may wait for the store, or read a body, at the same time; the event loop never does either."""


@dataclass(slots=True)
class Service:
    """The parts of a running Service. `tokens` and `stopping` may change while it runs."""

    settings: ServiceSettings
    sessions: Sessions
    rulebook: Rulebook
    attributing: Attributing
    meters: Meters
    clock: Callable[[], datetime]
    tokens: Tokens
    stopping: bool = False
    bodies: asyncio.Semaphore = field(init=False)
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(STORE_THREADS))

    def __post_init__(self) -> None:
        self.bodies = asyncio.Semaphore(self.settings.limits.bodies)

    async def reload(self) -> None:
        """Take the rules and the tokens as they stand now. What cannot be used is told, and what was stays in use."""
        outcome = await self.run(self.rulebook.reload, self.clock())
        self.meters.reloads.labels("ok" if outcome.ok else "failed").inc()
        if outcome.ok:
            self.meters.uses(self.rulebook.rules.identity)
            logger().info("catalog reloaded", digest=self.rulebook.rules.identity.digest)
        else:
            shown = [f"{item.place}: {item.code} {item.message}" for item in outcome.problems]
            logger().error("catalog not reloaded, the one before stays in use", problems=shown)
        if self.settings.tokens_file is not None:
            try:
                self.tokens = await self.run(load_tokens, self.settings.tokens_file)
            except ConfigurationError as error:
                logger().error("tokens not reloaded, those before stay in use", problems=str(error).splitlines())

    @property
    def limits(self) -> SessionLimits:
        """What one session may hold, as the store enforces it."""
        limits = self.settings.limits
        return SessionLimits(limits.session_observations, limits.session_bytes, limits.observation_bytes)

    async def taken(self, request: Request, medias: Sequence[str], function: Callable[..., T], *arguments: Any) -> T:
        """What `function(*arguments, body)` makes of a request's body. So many bodies are in memory at a time."""
        async with self.bodies:
            body = await receive(request, self.settings.limits, medias)
            return await self.run(function, *arguments, body)

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run what blocks in a thread."""
        return await to_thread.run_sync(function, *arguments, limiter=self.threads)

    async def session(self, attributor_id: str, tenant: str | None) -> Session:
        """The session, renewed. ServiceProblem (404) if it is unknown, ended, expired or another tenant's."""
        found = await self.run(self._session, attributor_id, tenant) if is_id(attributor_id) else None
        if found is None:
            raise unknown(attributor_id)
        return found

    def _session(self, attributor_id: str, tenant: str | None) -> Session | None:
        if tenant is None:  # nobody has a token, so whoever knows the name may use the session
            tenant = self._owner(attributor_id)
        return self.sessions.renew(attributor_id, tenant, self.clock(), self.settings.idle_secs)

    def _owner(self, attributor_id: str) -> str | None:
        query = select(schema.sessions.c.tenant).where(schema.sessions.c.id == attributor_id)
        with self.sessions.store.read() as connection:
            return connection.execute(query).scalar_one_or_none()

    def open_sessions(self) -> int:
        """How many sessions are open, of all tenants."""
        query = select(func.count()).select_from(schema.sessions).where(schema.sessions.c.expires_at > self.clock())
        with self.sessions.store.read() as connection:
            return int(connection.execute(query).scalar_one())


def unknown(attributor_id: str) -> ServiceProblem:
    """The problem of a session that is not there for this caller."""
    detail = f"There is no session `{printable(attributor_id)}`: it is unknown, has ended or is not yours."
    return ServiceProblem(UNKNOWN_ATTRIBUTOR, detail)


def service_of(request: Request) -> Service:
    """The Service that a request came to."""
    found: Service = request.app.state.service
    return found


def tenant_of(request: Request) -> str | None:
    """Whose token the request carries; None where no tokens are configured."""
    tenant: str | None = request.scope.get("attribution.tenant")
    return tenant
