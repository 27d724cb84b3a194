"""Every request is watched: it gets an id, is checked for its token, timed, counted and logged, whatever happens."""

import ipaddress
import re
import secrets
import time
import traceback
from dataclasses import dataclass
from typing import Any

import structlog
from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attribution.configuration.loopback import is_loopback_name
from attribution.service.core import Service
from attribution.service.logs import logger
from attribution.service.problems import FORBIDDEN, INTERNAL, MISDIRECTED, UNAUTHORIZED, ServiceProblem, answer

OPEN_PATHS = frozenset({"/v2/healthz", "/v2/readyz"})
"""Paths that need no token."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
CLIENT_GONE = 499
"""Status that is logged and counted for a request whose client went away."""


@dataclass(slots=True)
class Watch:
    """The outermost layer of the application."""

    app: ASGIApp
    service: Service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await _Watched(self.app, self.service, scope, receive, send).answer()


@dataclass(slots=True)
class _Watched:
    """One request."""

    app: ASGIApp
    service: Service
    scope: Scope
    receive: Receive
    send: Send
    request_id: str = ""
    status: int = 0

    async def answer(self) -> None:
        started = time.perf_counter()
        request = Request(self.scope)
        given = request.headers.get("x-request-id", "")
        self.request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        with structlog.contextvars.bound_contextvars(request=self.request_id):
            try:
                await self._checked(request)
            except ClientDisconnect:
                self.status = self.status or CLIENT_GONE
            except Exception as error:
                await self._failed(request, error)
            finally:
                self._told(time.perf_counter() - started)

    async def _checked(self, request: Request) -> None:
        try:
            self.scope["attribution.tenant"] = admitted(self.service, request)
        except ServiceProblem as problem:
            await answer(request, problem)(self.scope, self.receive, self._send)
            return
        await self.app(self.scope, self.receive, self._send)

    async def _failed(self, request: Request, error: Exception) -> None:
        """The caller learns that it failed, the log where; an error's own words may hold evidence, so nobody does."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        logger().error("request failed", error=type(error).__name__, place=f"{frame.filename}:{frame.lineno}")
        if self.status == 0:
            problem = ServiceProblem(
                INTERNAL, f"The Service failed; its log tells more about request {self.request_id}."
            )
            await answer(request, problem)(self.scope, self.receive, self._send)

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), (b"x-request-id", self.request_id.encode())]
            message = {**message, "headers": [*headers, (b"cache-control", b"no-store")]}
        await self.send(message)

    def _told(self, seconds: float) -> None:
        method = self.scope["method"] if self.scope["method"] in _METHODS else "other"
        route, status = _route(self.scope), self.status or CLIENT_GONE
        meters = self.service.meters
        meters.requests.labels(method, route, str(status)).inc()
        meters.request_seconds.labels(route).observe(seconds)
        quiet = route in OPEN_PATHS or route == "/metrics"
        tell = logger().debug if quiet and status < 400 else logger().info
        tenant = self.scope.get("attribution.tenant")
        tell("request", method=method, route=route, status=status, ms=round(seconds * 1000, 1), tenant=tenant)


def _route(scope: Scope) -> str:
    """The template of the path, or `unmatched`: never the client's own text."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "unmatched"


def admitted(service: Service, request: Request) -> str | None:
    """The tenant whose token the request carries; None where none is needed. ServiceProblem: 401, 403, 421."""
    if request.scope["path"] in OPEN_PATHS:
        return None
    if not service.tokens:
        _refuse_other_sites(request, service.settings.host)
        return None
    if request.scope["path"] == "/metrics" and service.settings.metrics_open_on_loopback and _is_local(request):
        return None
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    tenant = service.tokens.tenant_of(token.strip()) if scheme.lower() == "bearer" else None
    if tenant is None:
        challenge = 'Bearer realm="attribution"' + (', error="invalid_token"' if token else "")
        detail = "The token is not known." if token else "Send a token: `Authorization: Bearer TOKEN`."
        raise ServiceProblem(UNAUTHORIZED, detail, headers={"WWW-Authenticate": challenge})
    return tenant


def _refuse_other_sites(request: Request, listening: str) -> None:
    """Without tokens, a page of another site that a browser on this machine shows must not reach the Service."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if not is_loopback_name(host, listening):
        detail = "Without tokens the Service answers to names of loopback only: ask http://localhost instead."
        raise ServiceProblem(MISDIRECTED, detail)
    if origin is not None and origin.partition("://")[2] != host:
        raise ServiceProblem(FORBIDDEN, "Requests from pages of other sites are not answered.")


def _is_local(request: Request) -> bool:
    client: Any = request.client
    try:
        address = None if client is None else ipaddress.ip_address(client.host)
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return address is not None and (mapped or address).is_loopback
    except ValueError:
        return False
