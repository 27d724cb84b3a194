"""The calls in the manual of the HTTP API are made, and answered as it shows; `…` stands for anything."""

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from attribution.service.problems import KINDS
from attribution.service.settings import ServiceSettings

from tests.conftest import ROOT
from tests.service.helpers import Desk, serving

MANUAL = (ROOT / "docs" / "http-api.md").read_text()
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def calls() -> list[tuple[str, str]]:
    """(command, what it shows) of every `$ curl …` in a console block."""
    parts = [part for block in BLOCK.findall(MANUAL) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    found = []
    for part in parts:
        if part.startswith("curl "):
            # The command ends with the first line that closes its quotes.
            lines = part.rstrip("\n").split("\n")
            size = next(n for n in range(1, len(lines) + 1) if _is_whole("\n".join(lines[:n])))
            found.append(("\n".join(lines[:size]), "\n".join(lines[size:])))
    return found


def _is_whole(command: str) -> bool:
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False


def parser() -> argparse.ArgumentParser:
    curl = argparse.ArgumentParser()
    curl.add_argument("url")
    curl.add_argument("-s", action="store_true")
    curl.add_argument("-i", action="store_true", dest="head")
    curl.add_argument("-X", dest="method")
    curl.add_argument("-H", dest="headers", action="append", default=[])
    curl.add_argument("-d", dest="data")
    return curl


def answered(desk: Desk, command: str, variables: dict[str, str]) -> str:
    """What curl would print of the answer; of the head, the lines that the manual may show."""
    words = [re.sub(r"\$([A-Z]+)", lambda m: variables[m[1]], word) for word in shlex.split(command)[1:]]
    options = parser().parse_args(words)
    method = options.method or ("POST" if options.data else "GET")
    headers = dict(header.split(": ", 1) for header in options.headers)
    path = options.url.removeprefix("http://127.0.0.1:8000")
    answer = desk.http.request(method, path, headers=headers, content=options.data)
    if "attributor_id" in answer.text and answer.headers["content-type"] == "application/json":
        variables["SESSION"] = answer.json()["attributor_id"]
    variables["ETAG"] = answer.headers.get("etag", variables.get("ETAG", ""))
    return _head(answer) + answer.text if options.head else answer.text


def _head(answer: httpx.Response) -> str:
    shown = [f"{name}: {value}" for name, value in answer.headers.items() if name == "www-authenticate"]
    reason = httpx.codes.get_reason_phrase(answer.status_code)
    return "\n".join([f"HTTP/1.1 {answer.status_code} {reason}", *shown]) + ("\n\n" if answer.content else "")


@pytest.fixture
def desks(shipped, tmp_path: Path) -> Iterator[tuple[Desk, Desk]]:
    """A Service without tokens and one with."""
    (tmp_path / "tokens").write_text("the-token-of-team-a team-a\n")
    with ExitStack() as stack:
        plain = stack.enter_context(serving(shipped, tmp_path))
        guarded = stack.enter_context(serving(shipped, tmp_path, {"tokens_file": tmp_path / "tokens"}))
        yield plain, guarded


def test_every_call_is_answered_as_shown(desks: tuple[Desk, Desk]) -> None:
    variables: dict[str, str] = {}
    assert len(calls()) >= 10
    for command, shown in calls():
        desk = desks["Authorization" in command]
        found = answered(desk, command, variables)
        pattern = ".*?".join(re.escape(part) for part in shown.split("…"))
        assert re.fullmatch(pattern, found, re.DOTALL), f"{command}\n\nanswered:\n{found}\n\nshown:\n{shown}"


def test_what_is_shown_is_json() -> None:
    for command, shown in calls():
        body = shown.rpartition("\n")[2] if shown.startswith("HTTP") else shown
        if body.startswith("{"):
            whole = re.sub(r",…(?=[}\]])", "", body).replace("[…]", "[]").replace('"…"', '""')
            assert json.loads(whole), command


def test_every_kind_of_problem_is_listed() -> None:
    rows = re.findall(r"^\| (\d{3}) \| `([a-z-]+)` \|", MANUAL, re.MULTILINE)
    assert {(int(status), name) for status, name in rows} == {(kind.status, kind.name) for kind in KINDS}


def test_settings_that_are_named_exist() -> None:
    settings = ServiceSettings()
    for name, shown in re.findall(r"`([a-z_]+_secs)` \((\d+)\)|`drain_secs`", MANUAL):
        if name:
            assert getattr(settings, name) == int(shown)
    for name in re.findall(r"`limits\.([a-z_]+)`", MANUAL):
        assert hasattr(settings.limits, name), name
