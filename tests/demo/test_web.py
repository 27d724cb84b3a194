"""`attribution web` says where it is, stops when asked to, and refuses in one sentence what it must not do."""

import os
import signal
import socket
from pathlib import Path

import httpx
import pytest

from attribution.cli.web import PREFIX
from attribution.configuration.layers import load
from attribution.contracts.errors import ConfigurationError
from attribution.dashboard.settings import WebSettings
from attribution.service.settings import ServiceSettings
from attribution.store.database import open_store

from tests.demo.processes import command, port

pytestmark = pytest.mark.slow
"""Each test starts a process."""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """An empty store."""
    path = tmp_path / "results.db"
    open_store(str(path)).close()
    return path


def fetched(number: int, path: str, **headers: str) -> httpx.Response:
    """What the pages answer."""
    return httpx.get(f"http://127.0.0.1:{number}{path}", headers=headers, trust_env=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_tells_its_address_and_stops_when_asked(database: Path, number: signal.Signals) -> None:
    with command("web", "--store", database, "--port", "0") as web:
        told = port(web.told("attribution web: http://127.0.0.1:"))
        assert fetched(told, "/attempts.json").json()["attempts"] == []
        assert "server" not in fetched(told, "/attempts").headers
        os.kill(web.process.pid, number)
        code, stdout, stderr = web.ended()
        assert (code, stdout, stderr) == (0, "", "")


def test_a_store_that_is_missing_is_made_if_that_is_asked_for(tmp_path: Path) -> None:
    with command("web", "--store", tmp_path / "new.db", "--port", "0", ATTRIBUTION_WEB_MAKE_STORE="true") as web:
        assert fetched(port(web.told("http://")), "/attempts.json").json()["attempts"] == []


def test_settings_come_from_a_file_the_environment_and_flags(database: Path, tmp_path: Path) -> None:
    config = tmp_path / "web.yaml"
    config.write_text(f"port: 1\nstore: {tmp_path / 'elsewhere.db'}\n")
    with command("web", "--config", config, "--port", "0", ATTRIBUTION_WEB_STORE=str(database)) as web:
        assert fetched(port(web.told("http://")), "/readyz").status_code == 200


def test_tokens_are_asked_for(database: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("token-of-red-0001 red\n")
    with command("web", "--store", database, "--port", "0", "--tokens-file", tokens) as web:
        number = port(web.told("http://"))
        assert fetched(number, "/attempts").status_code == 401
        assert fetched(number, "/attempts", authorization="Bearer token-of-red-0001").status_code == 200


def test_a_header_that_says_where_a_request_came_from_is_not_believed(database: Path) -> None:
    proxy = ("--proxy-user-header", "X-User", "--proxy-addresses", "10.9.9.9")
    with command("web", "--store", database, "--port", "0", *proxy) as web:
        headers = {"x-forwarded-for": "10.9.9.9", "x-user": "ana"}
        assert fetched(port(web.told("http://")), "/attempts", **headers).status_code == 403


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--host", "0.0.0.0"], "--host: V007 names `0.0.0.0`, which others can reach, and nothing asks who they are"),
        (["--host", "nowhere.invalid"], "nowhere.invalid"),
        (["--port", "65536"], "port"),
        (["--store", "{tmp}/missing.db"], "missing.db: T006 does not exist yet"),
        (["--tokens-file", "{tmp}/missing"], "missing: V001 cannot be read"),
        (["--proxy-addresses", "10.0.0.0/99"], "`10.0.0.0/99` is no address or network"),
        (["--proxy-user-header", "X User"], "is no name of a header"),
    ],
)
def test_what_it_must_not_do_is_one_sentence(database: Path, tmp_path: Path, flags: list[str], told: str) -> None:
    given = [flag.format(tmp=tmp_path) for flag in flags]
    with command("web", "--store", database, *([] if "--port" in flags else ["--port", "0"]), *given) as web:
        code, stdout, stderr = web.ended()
    assert code == 2 and not stdout
    assert told in stderr and len(stderr.splitlines()) == 1, stderr


def test_a_taken_port_is_told(database: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with command("web", "--store", database, "--port", str(number)) as web:
            code, _, stderr = web.ended()
    assert code == 2
    assert f"--port: V006 cannot listen on 127.0.0.1 port {number}: address already in use" in stderr
    assert len(stderr.splitlines()) == 1


def test_the_service_passes_over_the_variables_of_the_pages() -> None:
    environ = {"ATTRIBUTION_WEB_TOKENS_FILE": "web", "ATTRIBUTION_TOKENS_FILE": "service"}
    settings, _ = load(ServiceSettings, None, environ, {})
    assert settings.tokens_file == Path("service")
    pages, _ = load(WebSettings, None, environ, {}, PREFIX)
    assert pages.tokens_file == Path("web")
    with pytest.raises(ConfigurationError, match="did you mean `ATTRIBUTION_WEB_TOKENS_FILE`"):
        load(WebSettings, None, {"ATTRIBUTION_WEB_TOKEN_FILE": "web"}, {}, PREFIX)
