"""`attribution doctor` says of everything how it is, and what to do where it is not well."""

import io
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, closing, redirect_stdout
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from importlib.metadata import EntryPoint
from pathlib import Path
from unittest.mock import patch

import pytest

from attribution.blueprint.connectors.registry import find_connectors
from attribution.blueprint.connectors.sinks.stdout import Stdout, StdoutSettings
from attribution.blueprint.orchestrator import Parts
from attribution.blueprint.settings import BlueprintSettings
from attribution.cli.checkup import Check, Finding, Health, connector_checks, run_checks, service_checks
from attribution.cli.examination import examined
from attribution.cli.main import (
    EXIT_EVIDENCE,
    EXIT_INTERNAL,
    EXIT_POLICY,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    main,
)
from attribution.client.client import AttributionClient
from attribution.contracts.context import ExecutionContext
from attribution.store.backlog import Backlog, Claim, Sighting
from attribution.store.codec import to_json
from attribution.store.database import open_store
from attribution.store.outbox import Outbox
from attribution.testing import Reply, Server

from tests.blueprint.results import result
from tests.blueprint.test_run import environment, served
from tests.conftest import SAMPLES

TOKEN = "token-of-red-0001"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Service that asks for a token."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "tokens").write_text(f"{TOKEN} red\n")
    with served(folder, "--tokens-file", folder / "tokens") as found:
        yield found


def doctor(cwd: Path, *words: object, command: Sequence[str] = ("doctor",), **env: str) -> tuple[int, str]:
    out = io.StringIO()
    with ExitStack() as stack:
        variables = environment(XDG_STATE_HOME=str(cwd / "state"), **env)
        stack.enter_context(patch.dict(os.environ, variables, clear=True))
        stack.enter_context(chdir(cwd))
        stack.enter_context(redirect_stdout(out))
        return main([*command, *map(str, words)]), out.getvalue()


def looked(*checks: Check, secs: float = 600.0) -> list[Finding]:
    return list(run_checks(checks, secs))


@pytest.mark.slow
def test_a_healthy_set_up_is_said_to_be_so(tmp_path: Path, url: str) -> None:
    words = ("--context-static-bundles", SAMPLES[0], "--sinks-database-url", "a.db", "--service-url", url)
    open_store(str(tmp_path / "a.db")).close()
    code, text = doctor(tmp_path, *words, ATTRIBUTION_SERVICE_TOKEN=TOKEN)
    assert [line.split()[:2] for line in text.splitlines()] == [
        ["ok", "service"], ["ok", "clock"], ["ok", "context.static"], ["ok", "logs.local_files"],
        ["ok", "sinks.database"], ["ok", "store"], ["ok", "attempts"],
    ]  # fmt: skip
    assert code == 0 and "a.db can be read and written" in text


@pytest.mark.slow
def test_what_is_broken_is_said_with_what_to_do(tmp_path: Path, url: str) -> None:
    words = ("--context-static-bundles", "gone", "--sinks-webhook-url", "http://127.0.0.1:9/x", "--service-url", url)
    code, text = doctor(tmp_path, *words, "--format", "json")
    told = json.loads(text)
    broken = {one["what"]: (one["text"], one["remedy"]) for one in told["findings"] if one["health"] == "broken"}
    assert (code, told["ok"], sorted(broken)) == (1, False, ["context.static", "service", "sinks.webhook"])
    assert broken["service"][0].endswith("asks for a token, and none is set")
    assert "service.token_file" in broken["service"][1]
    assert broken["context.static"][0] == "gone: B001 does not exist (check the path)"
    assert all(remedy for _, remedy in broken.values())
    code, text = doctor(tmp_path, *words, ATTRIBUTION_SERVICE_TOKEN="wrong-token-00001")
    assert "refuses the token" in text and "wrong-token" not in text
    assert all(line.startswith(("ok", "warning", "broken", " ")) for line in text.splitlines())


def test_without_anything_configured_that_is_a_warning(tmp_path: Path) -> None:
    code, text = doctor(tmp_path)
    assert code == 0
    assert [line.split()[:2] for line in text.splitlines() if not line.startswith(" ")] == [
        ["ok", "service"], ["warning", "context"], ["ok", "logs.local_files"], ["ok", "sinks.stdout"], ["ok", "store"],
    ]  # fmt: skip
    assert "does not exist yet" in text and not (tmp_path / "state").exists(), "a look makes nothing"


def test_each_thing_that_is_not_well_has_its_own_remedy() -> None:
    parts = Parts({}, {}, {"stdout": Stdout(StdoutSettings())})
    found = looked(*connector_checks(parts, find_connectors()))
    assert [one.remedy for one in found if one.what == "context"] == ["configure one in the section `context`"]


def test_a_service_that_is_away_is_broken_and_its_clock_unknown(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        settings = BlueprintSettings.model_validate(
            {"service": {"url": f"http://127.0.0.1:{nobody.getsockname()[1]}", "timeout_secs": 5}}
        )
        service, clock = looked(*service_checks(settings))
    assert (service.health, clock.health) == (Health.BROKEN, Health.WARNING)
    assert "attribution serve" in service.remedy


@pytest.mark.parametrize(
    ("ahead", "health", "text"),
    [
        (0, Health.OK, "agrees"),
        (-2, Health.OK, "agrees"),
        (60, Health.WARNING, "behind the Service's"),
        (-60, Health.WARNING, "ahead of the Service's"),
        (-3600, Health.BROKEN, "ahead of the Service's"),
        (None, Health.WARNING, "does not tell its time"),
    ],
)
def test_clocks_are_compared(ahead: float | None, health: Health, text: str) -> None:
    told = "" if ahead is None else format_datetime(datetime.now(UTC) + timedelta(seconds=ahead))
    _, check = service_checks(BlueprintSettings.model_validate({"service": {"url": "http://service"}}))
    with patch.object(AttributionClient, "told_time", lambda *_: told):
        (found,) = looked(check)
    assert found.health is health and text in found.text and (found.remedy or health is Health.OK)


def test_the_time_of_a_service_behind_a_gateway_that_wants_a_query() -> None:
    with Server(lambda request: Reply(clock_secs=3600)) as server:
        endpoint = {"service": {"url": f"{server.url}/base?team=a"}}
        _, check = service_checks(BlueprintSettings.model_validate(endpoint))
        (found,) = looked(check)
    assert "behind the Service's" in found.text
    assert [(request.path, request.params) for request in server.requests] == [("/base/v2/healthz", {"team": "a"})]


class Programmed(Stdout):
    """A sink that starts programs."""

    def programs(self) -> tuple[str, ...]:
        return ("sh", "no-such-program", "/no/such/program", __file__)

    def check(self) -> str:
        raise OSError("broke \x1b")


def test_programs_are_looked_for_and_any_error_is_told() -> None:
    broken = EntryPoint("bad", "no.such:Thing", "attribution.connectors")
    sinks = {"one": Programmed(StdoutSettings()), "two": Programmed(StdoutSettings())}
    found = looked(*connector_checks(Parts({}, {}, sinks), find_connectors([broken])))  # type: ignore[arg-type]
    told = {one.what: (one.health, one.text) for one in found}
    assert told["sinks.one"] == (Health.BROKEN, "broke \\x1b")
    assert told["program sh"][0] is Health.OK
    assert told["program no-such-program"] == (Health.BROKEN, "is not on PATH")
    assert told["program /no/such/program"] == (Health.BROKEN, "does not exist")
    assert told[f"program {__file__}"] == (Health.BROKEN, "may not be executed")
    assert told["connector bad"][0] is Health.WARNING
    assert len([one for one in found if one.what.startswith("program")]) == 4, "each is told once"


def test_checks_run_side_by_side_and_none_of_them_for_ever() -> None:
    both = [socket.socketpair(), socket.socketpair()]

    def meet(mine: socket.socket, other: socket.socket) -> list[Finding]:
        mine.send(b"x")
        other.recv(1)
        return [Finding("meets", Health.OK, "the other")]

    with both[0][0] as a, both[0][1] as b, both[1][0] as c, both[1][1] as d:
        meetings = [Check("one", lambda: meet(a, d), ""), Check("two", lambda: meet(c, b), "")]
        assert [found.health for found in looked(*meetings)] == [Health.OK, Health.OK]
    slow = Check("slow", lambda: time.sleep(30) or [], "wait")
    begun: list[str] = []
    next_one = Check("next", lambda: begun.append("next") or [], "", after="slow")  # type: ignore[func-returns-value]
    *_, left = looked(slow, next_one, secs=0.05)
    assert (left.health, left.remedy, begun) == (Health.BROKEN, "see `slow`", [])
    assert left.text == "was not looked at: `slow`, which comes before it, did not answer within 0.05 s"
    (found,) = looked(slow, secs=0.05)
    assert (found.health, found.text, found.remedy) == (Health.BROKEN, "did not answer within 0.05 s", "wait")


def claimed(backlog: Backlog, name: str, now: datetime) -> Claim:
    """An attempt that was found and whose work was begun."""
    backlog.note([Sighting(name * 32, ExecutionContext(workload_id=name), f"at {name}", b"x", now)], now)
    claim = backlog.claim(now, 60)
    assert claim is not None
    return claim


def test_what_the_watcher_gave_up_is_shown(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    with closing(open_store(str(tmp_path / "w.db"))) as store:
        backlog, outbox = Backlog(store), Outbox(store)
        backlog.give_up(claimed(backlog, "a", now), "no \x1b answer", now)
        backlog.complete(claimed(backlog, "b", now), to_json(result("b")).encode(), ["hook"], [], now)
        delivery = outbox.claim(["hook"], now, 60)
        assert delivery is not None and outbox.fail(delivery, "answered 400", now)
    code, text = doctor(tmp_path, "--watch-store", "w.db")
    assert code == 0
    assert "1 given up, the last of them a, attempt 1 (at a): no \\x1b answer" in text
    assert "1 result failed for good since" in text
    assert "Z, the last of them b, attempt 1: answered 400" in text
    assert "once the sink takes it: attribution run --job ID" in text
    assert (text.count("answered 400"), text.count("hook")) == (1, 1), "one finding for one sink"


def test_what_failed_and_what_waits_are_one_finding_of_their_sink(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    with closing(open_store(str(tmp_path / "w.db"))) as store:
        backlog, outbox = Backlog(store), Outbox(store)
        for name in ("a", "b"):
            backlog.complete(claimed(backlog, name, now), to_json(result(name)).encode(), ["hook", "other"], [], now)
        for sink in ("hook", "other"):
            delivery = outbox.claim([sink], now, 60)
            assert delivery is not None and outbox.fail(delivery, f"{sink} said no", now)
    _, text = doctor(tmp_path, "--watch-store", "w.db")
    (hook,) = [line for line in text.splitlines() if "sink hook" in line]
    assert hook.startswith("warning") and "1 result failed for good" in hook and "1 result wait" in hook
    assert "hook said no" in hook and "other said no" not in hook


def test_what_waits_for_a_sink_is_shown(tmp_path: Path) -> None:
    """How many, since when, why, and what to do: also where nothing failed for good."""
    made = datetime(2026, 5, 4, 3, 0, tzinfo=UTC)
    with closing(open_store(str(tmp_path / "w.db"))) as store:
        backlog, outbox = Backlog(store), Outbox(store)
        for number, name in enumerate("abc"):
            now = made + timedelta(minutes=number)
            backlog.complete(
                claimed(backlog, name, now), to_json(result(name)).encode(), ["gone", "stdout", "webhook"], [], now
            )
        delivery = outbox.claim(["webhook"], now, 60)
        assert delivery is not None and outbox.retry(delivery, now, "answered 503: \x1b full", now)
    code, text = doctor(
        tmp_path, "--watch-store", "w.db", "--sinks-webhook-url", "http://127.0.0.1:9/hook",
        "--sinks-stdout-format", "json",
    )  # fmt: skip
    lines = " ".join(text.split())
    assert code == 1, "nobody listens at the webhook"
    since = "since 2026-05-04T03:00:00Z"
    assert f"sink gone 3 results wait for it {since} -> configure `sinks.gone` again" in lines
    assert f"ok sink stdout 3 results wait to be offered, the oldest {since}" in lines
    told = (
        f"warning sink webhook 3 results not taken yet, the oldest {since}; the last answer: answered 503: \\x1b full"
    )
    assert f"{told} -> put right what it says" in lines


def test_a_store_that_its_sink_makes_is_seen_whole(tmp_path: Path) -> None:
    for number in range(3):
        code, text = doctor(
            tmp_path, "--sinks-database-url", f"new-{number}.db", "--context-static-bundles", SAMPLES[0]
        )
        assert code == 0 and "warning" not in text
        assert "can be read and written" in text


def test_all_of_it_has_one_time() -> None:
    """The store is looked at while others still are; what it waits for is the sink that may make it."""
    with patch("attribution.cli.examination.run_checks", return_value=iter(())) as ran:
        examined(BlueprintSettings(), Parts({}, {}, {}), find_connectors([]), 5.0)
    (checks, secs), _ = ran.call_args
    assert (ran.call_count, secs) == (1, 5.0)
    assert [(check.what, check.after) for check in checks if check.after] == [("store", "sinks.database")]


@pytest.mark.parametrize("place", ["/proc/x/y.db", "/dev/null/y.db"])
def test_a_store_that_cannot_be_made_is_broken_whoever_asks(tmp_path: Path, place: str) -> None:
    """Rights say nothing of a file system that takes no files, and nothing at all to root."""
    code, text = doctor(tmp_path, "--watch-store", f"sqlite:///{place}")
    assert code == 1 and "broken   store" in text and "cannot be made in" in text
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_not_there_is_tried_and_nothing_of_it_stays(tmp_path: Path) -> None:
    code, text = doctor(tmp_path, "--watch-store", "new/folder/w.db")
    assert code == 0 and "does not exist yet" in text
    assert list(tmp_path.iterdir()) == []


def test_both_ways_to_check_end_alike_and_the_page_of_the_exit_codes_knows_all(tmp_path: Path) -> None:
    words = ("--watch-store", "/proc/x/y.db")
    assert doctor(tmp_path, *words)[0] == doctor(tmp_path, *words, command=("run", "--check"))[0] == EXIT_POLICY
    page = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()
    table = page.partition("## Exit codes")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:4] for line in table.splitlines() if line.startswith("| ") and line[2].isdigit()]
    codes = {code.strip(): commands for code, commands, _ in rows}
    known = (0, EXIT_POLICY, EXIT_USAGE, EXIT_EVIDENCE, EXIT_UNAVAILABLE, EXIT_INTERNAL)
    assert list(codes) == [*map(str, known), "130, 143"]
    assert "`run --check`, `doctor`" in codes[str(EXIT_POLICY)]


def test_a_store_that_cannot_be_used_is_broken(tmp_path: Path) -> None:
    (tmp_path / "w.db").write_text("no database at all, but a text that is longer than a header\n" * 9)
    code, text = doctor(tmp_path, "--watch-store", "w.db")
    assert code == 1 and "broken   store" in text
    (tmp_path / "empty.db").touch()
    code, text = doctor(tmp_path, "--watch-store", "empty.db")
    assert code == 0 and "warning  store" in text and "has no tables" in text
    assert (tmp_path / "empty.db").stat().st_size == 0
