"""Who asks decides what is shown, and whoever may not is told why."""

import base64
from collections.abc import Mapping

import pytest
from starlette.datastructures import Headers

from attribution.dashboard.access import Access, Reader
from attribution.dashboard.problems import WebProblem
from attribution.dashboard.settings import ProxySettings

TOKENS = {"token-of-red-0001": "red", "token-of-blue-001": "blue"}
PROXY = ProxySettings(user_header="X-User", tenant_header="X-Tenant", addresses=("10.0.0.0/8",))


def basic(password: str) -> str:
    """How a browser sends a token."""
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


def refused(access: Access, headers: Mapping[str, str], peer: str = "127.0.0.1") -> WebProblem:
    """Why a request is not let through."""
    with pytest.raises(WebProblem) as caught:
        access.admit(Headers(headers), peer)
    return caught.value


@pytest.mark.parametrize("header", ["Bearer token-of-red-0001", basic("token-of-red-0001")])
def test_a_token_names_its_tenant(header: str) -> None:
    access = Access(tenant_of=TOKENS.get)
    assert access.admit(Headers({"authorization": header, "host": "example"}), "10.1.1.1") == Reader("red")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic !", basic(""), basic("wrong"), "Digest x"])
def test_a_wrong_or_missing_token_is_asked_for(header: str) -> None:
    problem = refused(Access(tenant_of=TOKENS.get), {"authorization": header, "host": "localhost"})
    assert problem.status == 401
    assert problem.headers["www-authenticate"].startswith("Basic ")


def test_a_trusted_proxy_names_the_reader_and_the_tenant() -> None:
    access = Access(proxy=PROXY)
    assert access.admit(Headers({"x-user": "ana", "x-tenant": "red"}), "10.2.3.4") == Reader("red")
    assert access.admit(Headers({"x-user": "ana", "x-tenant": "red"}), "::ffff:10.2.3.4") == Reader("red")
    assert refused(access, {"x-tenant": "red"}, "10.2.3.4").status == 403
    assert refused(access, {"x-user": "ana"}, "10.2.3.4").status == 403


@pytest.mark.parametrize("peer", ["11.0.0.1", "::1", "", "testclient"])
def test_nobody_else_may_say_what_a_proxy_says(peer: str) -> None:
    headers = {"x-user": "ana", "x-tenant": "red", "host": "localhost"}
    assert refused(Access(proxy=PROXY), headers, peer).status == 403
    assert refused(Access(tenant_of=TOKENS.get, proxy=PROXY), headers, peer).status == 401


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "node-01"])
def test_on_loopback_nobody_is_asked(host: str) -> None:
    assert Access(host="node-01").admit(Headers({"host": host}), "127.0.0.1") == Reader()


@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example:8080", "127.0.0.1.evil.example"])
def test_a_foreign_name_of_loopback_is_refused(host: str) -> None:
    assert refused(Access(), {"host": host}).status == 421
