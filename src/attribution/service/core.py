"""What all requests of one Service share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request

from attribution.configuration.tokens import Tokens, load_tokens
from attribution.contracts.errors import ConfigurationError
from attribution.service.attributing import Attributing
from attribution.service.logs import logger
from attribution.service.memory import Rooms
from attribution.service.meters import Meters
from attribution.service.problems import UNKNOWN_ATTRIBUTOR, ServiceProblem, printable
from attribution.service.reading import MEDIA_JSON, receive
from attribution.service.rulebook import Rulebook
from attribution.service.settings import ServiceSettings
from attribution.store.sessions import ALL_TENANTS, Session, SessionLimits, Sessions, is_id

T = TypeVar("T")
_BODY, _CONTEXT = "decompressed body (`limits.decoded_bytes`)", "context (`limits.context_bytes`)"
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
    threads: CapacityLimiter
    stopping: bool = False
    rooms: Rooms = field(init=False)

    def __post_init__(self) -> None:
        self.rooms = Rooms(self.settings.limits)

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

    async def opening(self, request: Request, function: Callable[..., T], *arguments: Any) -> T:
        """What `function(*arguments, body)` makes of the body of a request that opens a session."""
        limits = self.settings.limits
        limit, what = min((limits.context_bytes, _CONTEXT), (limits.decoded_bytes, _BODY), key=lambda pair: pair[0])
        return await self._taken(request, [MEDIA_JSON], limit, what, function, *arguments)

    async def taken(self, request: Request, medias: Sequence[str], function: Callable[..., T], *arguments: Any) -> T:
        """What `function(*arguments, body)` makes of a request's body, which is given without its encoding."""
        return await self._taken(request, medias, self.settings.limits.decoded_bytes, _BODY, function, *arguments)

    async def _taken(
        self,
        request: Request,
        medias: Sequence[str],
        limit: int,
        what: str,
        function: Callable[..., T],
        *arguments: Any,
    ) -> T:
        """A body is received first, and has its room for reading only then."""
        with self.rooms.arriving() as arriving:
            body = await receive(request, self.settings.limits, medias, arriving)
            async with self.rooms.reading(limit if body.packed else len(body.data)) as room:
                body = await self.run(body.unpacked, limit, what)
                room.shrink(len(body.data))
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
        # where nobody has a token, whoever knows the name may use the session
        owner = ALL_TENANTS if tenant is None else tenant
        return self.sessions.renew(attributor_id, owner, self.clock(), self.settings.idle_secs)

    def open_sessions(self) -> int:
        """How many sessions are open, of all tenants."""
        return self.sessions.count(self.clock(), ALL_TENANTS)


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
