"""Who asks decides what is shown: a token or a trusted proxy names the tenant; on loopback alone, nobody is asked."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from attribution.configuration.loopback import is_loopback_name
from attribution.dashboard.problems import WebProblem, answer
from attribution.dashboard.settings import ProxySettings
from attribution.store.queries import ALL_TENANTS, Tenant

OPEN_PATHS = ("/static/", "/healthz", "/readyz")
"""Paths that show nothing of any attempt."""

_CHALLENGE = {"www-authenticate": 'Basic realm="Attribution: give a token as the password", charset="UTF-8", Bearer'}


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads, and whose attempts are shown."""

    tenant: Tenant = ALL_TENANTS


def reader_of(request: Request) -> Reader:
    """Who sent the request, as Access found it."""
    reader: Reader = request.scope["state"]["reader"]
    return reader


@dataclass(frozen=True, slots=True)
class Access:
    """What a request must bring. With neither tokens nor a proxy it must come to a name of loopback.

    `tenant_of` answers whose a token is, or None; it is None itself where no token is known. A site on another
    origin can make a browser ask loopback under a name of its own, so that without a token the name must be right.
    """

    tenant_of: Callable[[str], str | None] | None = None
    proxy: ProxySettings = field(default_factory=ProxySettings)
    host: str = "127.0.0.1"

    def admit(self, headers: Headers, peer: str | None) -> Reader:
        """The reader behind a request, or a WebProblem: 401, 403 or 421."""
        if self.tenant_of is not None and (token := _token(headers.get("authorization", ""))):
            tenant = self.tenant_of(token)
            if tenant is None:
                raise WebProblem(401, "The token is not known. Ask for one, or check its spelling.", headers=_CHALLENGE)
            return Reader(tenant)
        if self.proxy.user_header is not None and self._is_proxy(peer):
            return self._sent_by_proxy(headers)
        if self.tenant_of is not None:
            detail = "Send a token as `Authorization: Bearer …`, or give it as the password where the browser asks."
            raise WebProblem(401, detail, headers=_CHALLENGE)
        if self.proxy.user_header is not None:
            raise WebProblem(403, "These pages are read through their proxy, and this request came past it.")
        self._check_name(headers)
        return Reader()

    def _is_proxy(self, peer: str | None) -> bool:
        address = _address(peer)
        networks = (ip_network(item) for item in self.proxy.addresses)
        return address is not None and any(_within(address, network) for network in networks)

    def _sent_by_proxy(self, headers: Headers) -> Reader:
        assert self.proxy.user_header is not None
        if not headers.get(self.proxy.user_header, "").strip():
            raise WebProblem(403, f"The proxy did not say who reads: `{self.proxy.user_header}` is missing.")
        if self.proxy.tenant_header is None:
            return Reader()
        tenant = headers.get(self.proxy.tenant_header, "").strip()
        if not tenant:
            raise WebProblem(403, f"The proxy named no tenant: `{self.proxy.tenant_header}` is missing.")
        return Reader(tenant)

    def _check_name(self, headers: Headers) -> None:
        if not is_loopback_name(headers.get("host", ""), self.host):
            detail = "Without a token these pages answer to names of loopback only: ask http://localhost instead."
            raise WebProblem(421, detail)


class AccessControl:
    """Lets a request through with its reader, or answers why not."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask, then pass on."""
        if scope["type"] != "http" or scope["path"].startswith(OPEN_PATHS):
            await self._app(scope, receive, send)
            return
        peer = scope["client"][0] if scope.get("client") else None
        try:
            reader = self._access.admit(Headers(scope=scope), peer)
        except WebProblem as problem:
            await answer(Request(scope), problem)(scope, receive, send)
            return
        scope.setdefault("state", {})["reader"] = reader
        await self._app(scope, receive, send)


def _token(header: str) -> str | None:
    """The token of a header: as `Bearer`, or as the password of `Basic`, which is how a browser sends one."""
    scheme, _, given = header.partition(" ")
    if scheme.lower() == "bearer":
        return given.strip() or None
    if scheme.lower() != "basic":
        return None
    try:
        _, _, password = base64.b64decode(given, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return password or None


def _address(peer: str | None) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(peer or "")
    except ValueError:
        return None
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address


def _within(address: IPv4Address | IPv6Address, network: IPv4Network | IPv6Network) -> bool:
    return address.version == network.version and address in network
