"""What of the web pages can be set."""

import re
from ipaddress import ip_network
from pathlib import Path

from pydantic import Field, field_validator

from attribution.configuration.secrets import Address
from attribution.contracts.base import Strict

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


class ProxySettings(Strict):
    """A proxy that has asked who the reader is, and says so in a header."""

    user_header: str | None = Field(
        default=None, description="header in which a trusted proxy names the reader; without it a request is refused"
    )
    tenant_header: str | None = Field(
        default=None, description="header in which the proxy names the reader's tenant (default: all tenants are shown)"
    )
    addresses: tuple[str, ...] = Field(
        default=("127.0.0.0/8", "::1"), description="addresses and networks that the proxy connects from"
    )

    @field_validator("user_header", "tenant_header")
    @classmethod
    def _is_header(cls, value: str | None) -> str | None:
        if value is not None and not _HEADER.fullmatch(value):
            raise ValueError("is no name of a header, such as `X-Forwarded-User`")
        return value

    @field_validator("addresses")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for item in value:
            try:
                ip_network(item)
            except ValueError:
                raise ValueError(f"`{item}` is no address or network, such as `10.0.0.0/8`") from None
        return value


class WebSettings(Strict):
    """The settings of `attribution web`."""

    host: str = Field(
        default="127.0.0.1", min_length=1, description="address to listen on; beyond loopback needs tokens or a proxy"
    )
    port: int = Field(default=8080, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    store: Address | None = Field(
        default=None,
        description="where the results are: a file, sqlite:/// or postgresql:// (default: the state folder)",
    )
    make_store: bool = Field(
        default=False, description="make the store if there is none, so that pages can start before the first result"
    )
    tokens_file: Path | None = Field(default=None, description="file with a line `token tenant` for each token")
    proxy: ProxySettings = ProxySettings()
    stop_secs: int = Field(default=10, ge=0, description="seconds that running requests have to end when stopping")
