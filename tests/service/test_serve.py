"""`attribution serve` as a process: what it refuses, where it listens, how it reloads and stops."""

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from attribution.cli.listening import bound
from attribution.cli.serve import _Server
from attribution.contracts.errors import ConfigurationError
from attribution.extraction.ruleset import RuleSets
from attribution.service.app import create_app
from attribution.service.settings import ServiceSettings
from attribution.store.database import open_store
from attribution.store.sessions import Sessions

from tests.service.helpers import CONTEXT, syslog
from tests.service.process import ServeProcess
from tests.service.test_catalog import FAILING, RULE

COMMAND = Path(sys.executable).parent / "attribution"


@contextlib.contextmanager
def process(folder: Path, *flags: str | Path, **environment: str) -> Iterator[ServeProcess]:
    given = ["--port", "0", "--store", folder / "sessions.db", *flags]
    found = ServeProcess(folder, [str(flag) for flag in given], environment)
    try:
        yield found
    finally:
        found.kill()


def refused(folder: Path, *flags: str | Path) -> str:
    """What it says when it does not start."""
    with process(folder, *flags) as serve:
        assert serve.exit_code() == 2
        assert "Traceback" not in serve.said and "listening" not in serve.said
        return serve.said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"])
def test_beyond_loopback_there_must_be_tokens(tmp_path: Path, host: str) -> None:
    told = refused(tmp_path, "--host", host)
    assert told.startswith(f"attribution: --host: V007 names `{host}`, which others can reach")
    assert "--tokens-file" in told


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.9.1", "::1", "[::1]"])
def test_every_loopback_address_may_do_without(tmp_path: Path, host: str) -> None:
    if ":" in host:
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            pytest.skip("this machine has no IPv6")
    with process(tmp_path, "--host", host) as serve:
        assert httpx.get(serve.listening() + "/v2/readyz").json() == {"status": "ok"}


def test_with_tokens_it_may_listen_anywhere(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("a-token-of-team-a team-a\n")
    with process(tmp_path, "--host", "0.0.0.0", ATTRIBUTION_TOKENS_FILE=str(tmp_path / "tokens")) as serve:
        port = serve.listening().rpartition(":")[2]
        assert httpx.get(f"http://127.0.0.1:{port}/v2/catalog").status_code == 401


def test_a_port_that_is_taken_is_told_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        told = refused(tmp_path, "--port", port)
    assert told.count("\n") == 1
    assert f"attribution: --port: V006 cannot listen on 127.0.0.1 port {port}: address already in use" in told


def test_a_port_that_another_takes_meanwhile_is_told_in_one_sentence(tmp_path: Path, shipped: RuleSets) -> None:
    """Two programs may bind one port; the first that listens has it."""
    settings, store = ServiceSettings(), open_store(str(tmp_path / "sessions.db"))
    app = create_app(lambda: shipped, settings, Sessions(store), verify_rules=lambda _rules: ())
    with bound("127.0.0.1", 0, {}, None) as listener, socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(listener.getsockname())
        other.listen()
        with pytest.raises(ConfigurationError, match=r"V006 cannot listen on 127\.0\.0\.1 port \d+: address already"):
            asyncio.run(_Server(app, settings).serve(sockets=[listener]))
    store.close()


@pytest.mark.slow
def test_a_failing_case_stops_it_before_it_listens(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "toy.yaml").write_text(FAILING)
    told = refused(tmp_path, "--rules", tmp_path / "rules")
    assert "R035 has a case `the quota is used up` of TST900 that does not hold:" in told


def test_what_is_wrong_is_told_with_its_key_place_and_remedy(tmp_path: Path) -> None:
    config = tmp_path / "serve.yaml"
    config.write_text("idle_secs: -1\nlimits:\n  body_byte: 1\n")
    told = refused(tmp_path, "--config", config, "--stop-secs", "soon")
    assert f"{config}:1:1: D014 has `idle_secs: -1`" in told
    assert f"{config}:3:3: D011 has the unknown key `limits.body_byte` (did you mean `body_bytes`?)" in told
    assert "--stop-secs: D014" in told
    assert f"{tmp_path / 'none'}: V001 cannot be read" in refused(tmp_path, "--tokens-file", tmp_path / "none")
    assert f"{tmp_path / 'none'}: C001 does not exist" in refused(tmp_path, "--rules", tmp_path / "none")
    assert "secret" not in refused(tmp_path, "--store", "postgresql://user:secret@127.0.0.1:1/x")


def test_the_command_refuses_as_the_process_does() -> None:
    run = subprocess.run([COMMAND, "serve", "--host", "0.0.0.0"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("attribution: --host: V007 names `0.0.0.0`")


@pytest.mark.slow
def test_a_signal_loads_the_rules_anew_only_if_they_pass(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "toy.yaml").write_text(RULE)
    with process(tmp_path, "--rules", rules) as serve:
        url = serve.listening()
        before = httpx.get(url + "/v2/catalog").json()
        (rules / "toy.yaml").write_text(FAILING)
        serve.signal(signal.SIGHUP)
        told = serve.told("catalog not reloaded, the one before stays in use")
        assert "TST900" in told["problems"][0] and told["level"] == "error"
        after = httpx.get(url + "/v2/catalog").json()
        assert after["catalog"] == before["catalog"]
        assert after["last_reload"]["problems"][0]["code"] == "R035"
        (rules / "toy.yaml").write_text(RULE.replace("a full quota", "no quota"))
        serve.signal(signal.SIGHUP)
        serve.told("catalog reloaded")
        assert httpx.get(url + "/v2/catalog").json()["catalog"] != before["catalog"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_told(tmp_path: Path, number: signal.Signals) -> None:
    with process(tmp_path) as serve:
        url = serve.listening()
        assert httpx.get(url + "/v2/healthz").status_code == 200
        serve.signal(number)
        serve.told("stopping")
        assert serve.exit_code() == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(url + "/v2/healthz")


def test_while_it_drains_it_is_not_ready_and_answers(tmp_path: Path) -> None:
    with process(tmp_path, "--drain-secs", "2") as serve:
        url = serve.listening()
        serve.signal(signal.SIGTERM)
        serve.told("stopping")
        answer = httpx.get(url + "/v2/readyz")
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:attribution:problem:not-ready")
        assert httpx.post(url + "/v2/attributors", json=CONTEXT).status_code == 200
        assert serve.exit_code() == 0


def slow_body(started: threading.Event, secs: float) -> Iterator[bytes]:
    yield b'{"observations": ['
    started.set()
    time.sleep(secs)
    yield b"]}"


def test_a_running_request_is_answered_before_it_stops(tmp_path: Path) -> None:
    with process(tmp_path) as serve, ThreadPoolExecutor() as pool:
        url = serve.listening()
        session = httpx.post(url + "/v2/attributors", json=CONTEXT).json()["attributor_id"]
        started = threading.Event()
        path = f"{url}/v2/attributors/{session}/observations"
        body, headers = slow_body(started, 1.0), {"content-type": "application/json"}
        running = pool.submit(httpx.post, path, content=body, headers=headers)
        assert started.wait(600)
        time.sleep(0.2)
        serve.signal(signal.SIGTERM)
        assert running.result().status_code == 200
        assert serve.exit_code() == 0


def test_a_request_that_does_not_end_is_given_up(tmp_path: Path) -> None:
    with process(tmp_path, "--stop-secs", "1") as serve:
        host, _, port = serve.listening().removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"POST /v2/attributors HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            time.sleep(0.3)
            serve.signal(signal.SIGTERM)
            assert serve.exit_code() == 0


def test_log_lines_tell_requests_and_no_evidence(tmp_path: Path) -> None:
    with process(tmp_path) as serve:
        url = serve.listening()
        with httpx.Client(base_url=url, headers={"x-request-id": "r-1"}) as http:
            session = http.post("/v2/attributors", json=CONTEXT).json()["attributor_id"]
            http.post(f"/v2/attributors/{session}/observations", json={"observations": [syslog(0)]})
            http.get(f"/v2/attributors/{session}/attribution")
        lines = [serve.told("request") for _ in range(3)]
        assert [line["status"] for line in lines] == [200] * 3
        assert [line["request"] for line in lines] == ["r-1"] * 3
        assert lines[2]["route"] == "/v2/attributors/{attributor_id}/attribution"
        assert {"method", "ms", "tenant", "level", "at"} <= lines[0].keys()
        assert "Xid" not in serve.said and session not in serve.said
