"""A token opens the sessions of its tenant and no others; without one there is nothing but health."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request

from attribution.configuration.tokens import load_tokens
from attribution.contracts.errors import ConfigurationError
from attribution.service.watch import _is_local

from tests.service.helpers import CONTEXT, Desk, problem, serving, syslog

TOKEN_A, TOKEN_B, TOKEN_C = "a" * 20, "token-of-team-b-0001", "c" * 32
A, B = {"authorization": f"Bearer {TOKEN_A}"}, {"authorization": f"bearer  {TOKEN_B}"}
V1_OPEN = {"workload": {"id": "job-7", "nodes": ["node-01"]}, "metadata": {"cluster": "example"}}


@pytest.fixture
def guarded(shipped, tmp_path: Path) -> Iterator[Desk]:
    """A Service with tokens of two tenants; one of them is known by its hash only."""
    hashed = hashlib.sha256(TOKEN_B.encode()).hexdigest()
    (tmp_path / "tokens").write_text(
        f"# tokens\n{TOKEN_A} team-a  # ours\n\nsha256:{hashed} team-b\n{TOKEN_C} team-a\n"
    )
    with serving(shipped, tmp_path, {"tokens_file": tmp_path / "tokens"}) as desk:
        yield desk


def every_call(session: str) -> list[tuple[str, str]]:
    return [
        ("POST", "/v2/attributors"),
        ("POST", f"/v2/attributors/{session}/observations"),
        ("GET", f"/v2/attributors/{session}/attribution"),
        ("GET", f"/v2/attributors/{session}"),
        ("DELETE", f"/v2/attributors/{session}"),
        ("GET", "/v2/catalog"),
        ("GET", "/v2/catalog/snapshot"),
        ("GET", "/v2/catalog/rules/XID001"),
        ("GET", "/v2/catalog/symptoms"),
        ("GET", "/v2/collection-plan"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/docs"),
        ("GET", "/nothing"),
        ("POST", "/latest/attributor"),
        ("POST", f"/latest/attributor/{session}/observation"),
        ("GET", f"/latest/attributor/{session}/attribution"),
    ]


WRONG = (None, "", "Bearer", "Bearer ", f"Basic {TOKEN_A}", f"Bearer {TOKEN_A[:-1]}", f"Bearer {TOKEN_A} x", "Bearer é")


@pytest.mark.parametrize("value", WRONG)
def test_nothing_but_health_is_answered_without_a_token_that_is_known(guarded: Desk, value: str | None) -> None:
    session = guarded.open(headers=A)
    headers = {} if value is None else {"authorization": value.encode()}
    for method, path in every_call(session):
        answer = guarded.http.request(method, path, headers=headers)
        problem(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith('Bearer realm="attribution"')
    for path in ("/v2/healthz", "/v2/readyz"):
        assert guarded.http.get(path, headers=headers).status_code == 200


def test_every_call_of_the_api_is_in_the_list_above(guarded: Desk) -> None:
    listed = {(method, path) for method, path in every_call("{attributor_id}")}
    document = guarded.http.get("/openapi.json", headers=A).json()
    known = {(method.upper(), path) for path, calls in document["paths"].items() for method in calls}
    known -= {("GET", "/v2/healthz"), ("GET", "/v2/readyz")}
    assert {(m, p.replace("{rule_id}", "XID001")) for m, p in known} <= listed
    assert document["security"] == [{"bearer": []}]


def test_tenants_do_not_see_each_other(guarded: Desk) -> None:
    ours = guarded.open(headers=A)
    guarded.submit(ours, syslog(0), headers=A)
    theirs = guarded.open(headers=B)
    assert ours != theirs
    unknown = guarded.http.get("/v2/attributors/" + "x" * 32, headers=B).json()
    for method, path in every_call(ours):
        if ours in path:
            answer = guarded.http.request(
                method, path, headers={**B, "content-type": "application/json"}, content=b"{}"
            )
            details = problem(answer, 404, "unknown-attributor")
            assert details["detail"].replace(ours, "x" * 32) == unknown["detail"]
    assert guarded.http.get(f"/v2/attributors/{theirs}", headers=B).json()["observations"] == 0
    mine = guarded.http.get(f"/v2/attributors/{ours}", headers={"authorization": f"Bearer {TOKEN_C}"}).json()
    assert (mine["observations"], mine["tenant"]) == (1, "team-a")


def test_a_context_that_names_another_tenant_is_forbidden(guarded: Desk) -> None:
    assert guarded.open({**CONTEXT, "tenant": "team-a"}, headers=A) == guarded.open(headers=A)
    answer = guarded.http.post("/v2/attributors", json={**CONTEXT, "tenant": "team-b"}, headers=A)
    problem(answer, 403, "forbidden")
    v1 = {**V1_OPEN, "metadata": {"cluster": "example", "tenant": "team-b"}}
    problem(guarded.http.post("/latest/attributor", json=v1, headers=A), 403, "forbidden")
    assert guarded.http.post("/latest/attributor", json=v1, headers=B).status_code == 200


def test_metrics_may_be_open_to_the_same_machine(shipped, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"{TOKEN_A} team-a\n")
    settings = {"tokens_file": tmp_path / "tokens", "metrics_open_on_loopback": True}
    with serving(shipped, tmp_path, settings) as desk:
        assert desk.http.get("/metrics").status_code == 200
        problem(desk.http.get("/v2/catalog"), 401, "unauthorized")


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("::1", True), ("::ffff:127.0.0.1", True), ("::ffff:10.0.0.1", False), ("10.0.0.1", False),
     ("testclient", False), (None, False)],
)  # fmt: skip
def test_who_asks_from_the_same_machine(host: str | None, is_local: bool) -> None:
    """A socket that takes both kinds of addresses tells loopback as one mapped into the other kind."""
    scope = {"type": "http", "headers": [], "client": None if host is None else (host, 40000)}
    assert _is_local(Request(scope)) is is_local


def test_without_tokens_a_page_of_another_site_is_refused(desk: Desk) -> None:
    elsewhere = {"origin": "http://elsewhere.example"}
    details = problem(desk.http.post("/v2/attributors", json=CONTEXT, headers=elsewhere), 403, "forbidden")
    assert "token" not in details["title"]
    assert desk.open(headers={"origin": "http://localhost"})


@pytest.mark.parametrize("host", ["evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", ""])
def test_without_tokens_only_names_of_loopback_are_answered(desk: Desk, host: str) -> None:
    headers = {"host": host, "origin": f"http://{host}"}
    problem(desk.http.post("/v2/attributors", json=CONTEXT, headers=headers), 421, "misdirected")
    problem(desk.http.get("/metrics", headers={"host": host}), 421, "misdirected")
    assert desk.http.get("/v2/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000"])
def test_every_name_of_loopback_is_answered(desk: Desk, host: str) -> None:
    assert desk.open(headers={"host": host, "origin": f"http://{host}"})


def test_with_tokens_any_name_is_answered(guarded: Desk) -> None:
    assert guarded.open(headers={**A, "host": "attribution.example"})


FILES = {
    "one word": ("secret-token-0001\n", ":1:1: V002", "a token and a tenant"),
    "three words": ("\nsecret-token-0001 team a\n", ":2:1: V002", "a token and a tenant"),
    "short": ("secret team-a\n", ":1:1: V002", "16 or more letters"),
    "strange": ('secret-"token"-0001 team-a\n', ":1:1: V002", "16 or more letters"),
    "tenant": ("secret-token-0001 te/am\n", ":1:1: V002", "no plain name"),
    "twice": ("secret-token-0001 a\nsecret-token-0001 b\n", ":2:1: V003", "two tenants"),
    "empty": ("# nothing\n", ": V004", "holds no token"),
    "binary": (b"\xff\xfe", ": V001", "not UTF-8"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_tokens_file_is_told_and_its_tokens_are_not(tmp_path: Path, name: str) -> None:
    text, place, words = FILES[name]
    path = tmp_path / "tokens"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigurationError) as error:
        load_tokens(path)
    assert f"{path}{place}" in str(error.value) and words in str(error.value)
    assert "secret" not in str(error.value)


def test_a_missing_tokens_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="V001 cannot be read: No such file"):
        load_tokens(tmp_path / "none")
