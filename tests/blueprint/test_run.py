"""`attribution run` as a user runs it."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, chdir, closing, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import httpx
import pytest
from sqlalchemy import func, select

from attribution.blueprint.connectors.base import Kind
from attribution.blueprint.connectors.registry import find_connectors
from attribution.blueprint.deadline import Deadline
from attribution.bundle.reader import open_bundle
from attribution.cli.main import explained, main
from attribution.client.in_process import InProcess
from attribution.configuration.tokens import load_tokens
from attribution.contracts.errors import AttributionError, Place, Problem
from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.access import Access
from attribution.dashboard.app import create_app
from attribution.dashboard.settings import ProxySettings
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets
from attribution.store import schema
from attribution.store.database import open_store
from attribution.store.faults import StoreUnavailable
from attribution.store.queries import get_result, list_results

from tests.conftest import SAMPLES

ATTRIBUTION = Path(sys.executable).with_name("attribution")
IN_PROCESS = (
    "attribution: no Service is configured (service.url), so one runs within this process; its sessions end with it"
)


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ATTRIBUTION_", "NO_COLOR"))}
    return {**kept, **more}


def apart(*words: object) -> subprocess.CompletedProcess[str]:
    """`attribution run` in a process of its own."""
    return subprocess.run(
        [ATTRIBUTION, "run", *map(str, words)], env=environment(), capture_output=True, encoding="utf-8", timeout=600
    )


def run(*words: object, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, which has imported it already; a Service must be named."""
    out, err, handler = io.StringIO(), io.StringIO(), signal.getsignal(signal.SIGTERM)
    with ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, handler)
        stack.enter_context(patch.dict(os.environ, environment(**env), clear=True))
        stack.enter_context(chdir(cwd or Path.cwd()))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        try:
            code = main(["run", *map(str, words)])
        except AttributionError as error:
            code = explained(error)
    return subprocess.CompletedProcess([], code, out.getvalue(), err.getvalue())


def told(answer: subprocess.CompletedProcess[str]) -> list[str]:
    """What stands on stderr, without the note on the Service in this process."""
    return [line.removeprefix("attribution: ") for line in answer.stderr.splitlines() if line != IN_PROCESS]


def workloads(answer: subprocess.CompletedProcess[str]) -> list[str]:
    return [json.loads(line)["context"]["workload_id"] for line in answer.stdout.splitlines()]


def serve(folder: Path, port: int = 0, *flags: object) -> subprocess.Popen[bytes]:
    """A Service in a process of its own, over the sessions of this folder."""
    with (folder / "service.log").open("w") as log:
        words = [ATTRIBUTION, "serve", "--port", str(port), "--store", folder / "sessions.db", "--log-format", "json"]
        return subprocess.Popen([*words, *map(str, flags)], env=environment(), stdout=log, stderr=log)


def address(process: subprocess.Popen[bytes], folder: Path) -> str:
    """Where a Service listens, once it does."""
    until = time.monotonic() + 600
    while time.monotonic() < until and process.poll() is None:
        for line in (folder / "service.log").read_text().splitlines():
            if json.loads(line).get("event") == "listening":
                return str(json.loads(line)["url"])
        time.sleep(0.05)
    raise AssertionError(f"the Service does not listen: {(folder / 'service.log').read_text()}")


@contextmanager
def served(folder: Path, *flags: object) -> Iterator[str]:
    """The address of a Service that ends with the block."""
    process = serve(folder, 0, *flags)
    try:
        yield address(process, folder)
    finally:
        process.terminate()
        process.wait(600)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One Service for all tests that do not need one of their own."""
    with served(tmp_path_factory.mktemp("service")) as found:
        yield found


@pytest.mark.slow
def test_all_samples_within_the_process(shipped: RuleSets) -> None:
    answer = apart("--context-static-bundles", SAMPLES[0].parent / "*", "--format", "ndjson")
    assert answer.returncode == 0, answer.stderr
    results = [json.loads(line) for line in answer.stdout.splitlines()]
    for result, sample in zip(results, SAMPLES, strict=True):
        with open_bundle(sample) as evidence:
            assert result["diagnosis"] == json.loads(diagnose(evidence, shipped).to_json())
    assert IN_PROCESS in answer.stderr.splitlines()
    assert told(answer)[-1] == f"{len(SAMPLES)} attempts diagnosed"


def test_text_is_for_people(url: str) -> None:
    answer = run("--context-static-bundles", SAMPLES[2], "--service-url", url, "--sinks-stdout-width", 100)
    assert answer.returncode == 0 and "\x1b" not in answer.stdout
    title, headline, *_ = answer.stdout.splitlines()
    assert title.startswith("workload ") and headline.startswith("failed · ")
    assert max(map(len, answer.stdout.splitlines())) <= 100


def test_only_what_is_asked_for(url: str) -> None:
    folder = SAMPLES[0].parent
    with open_bundle(SAMPLES[2]) as evidence:
        context = evidence.context
    words = ("--context-static-bundles", folder / "*", "--format", "ndjson", "--service-url", url)
    for flags in (("--job", context.scheduler_ids["job"]), ("--workload", context.workload_id)):
        answer = run(*words, *flags)
        assert (answer.returncode, workloads(answer)) == (0, [context.workload_id])
    span = ("--start", context.started_at.isoformat(), "--end", context.ended_at.isoformat())
    answer = run(*words, "--nodes", "node-[01-04]", *span)
    assert (answer.returncode, workloads(answer)) == (0, [context.workload_id])
    answer = run(*words, "--job", "no-such-job")
    assert (answer.returncode, answer.stdout) == (3, "")
    assert told(answer)[-1] == "no attempt was found for job no-such-job"


def test_nodes_and_times_without_a_scheduler(tmp_path: Path, url: str) -> None:
    for node in ("node-01", "node-02"):
        (tmp_path / node).mkdir()
        (tmp_path / node / "messages").write_text(f"2026-05-04T03:00:00Z {node} kernel: usb 1-1: new device\n")
    files = json.dumps([{"source": "syslog", "path": str(tmp_path / "{node}" / "messages")}])
    span = ("--start", "2026-05-04T02:30:00Z", "--end", "2026-05-04T05:30:00+02:00", "--service-url", url)
    answer = run("--nodes", "node-[01-03]", *span, "--logs-local-files-files", files, "--format", "json")
    assert answer.returncode == 0, answer.stderr
    result = json.loads(answer.stdout)
    assert result["context"]["workload_id"] == "node-01.and-2-more.20260504T023000Z"
    reports = {report["node"]: (report["status"], report["lines"]) for report in result["connector_reports"]}
    assert reports == {"node-01": ("ok", 1), "node-02": ("ok", 1), "node-03": ("empty", 0)}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--nodes", "node-[1"], "--nodes: P002 has brackets that do not match (write node-[01-04],node-07)"),
        (["--start", "yesterday"], "--start: P003 has `yesterday`, which is no time (write a time with its offset, "
         "such as 2026-05-04T03:00:00Z)"),
        (["--end", "2026-05-04T03:00:00"], "--end: P003 has `2026-05-04T03:00:00`, which lacks its offset from UTC "
         "(write a time with its offset, such as 2026-05-04T03:00:00Z)"),
        (["--start", "2026-05-04T03:00:00Z", "--end", "2026-05-04T02:00:00Z"],
         "--end: P004 is before --start (give the later time last)"),
        (["--workers", "0"], "--workers: D014 has `workers: 0`: input should be greater than or equal to 1 "
         "(attempts that are worked on at the same time)"),
        *((["--service-url", url], "--service-url: D014 has a wrong `service.url`: is no address such as "
           "https://host.example:8000") for url in ("service:8000", "http://[::1/x", "http://h:99999", "http://h:p")),
        (["--sinks-webhook-url", "http://[::1/x"], "--sinks-webhook-url: D014 has a wrong `sinks.webhook.url`: is no "
         "address such as https://host.example:8000"),
        (["--service-url", "http://127.0.0.1:9", "--rules", ".", "--context-static-bundles", "gone"],
         "--rules: P005 has no effect on another Service (give --rules to `attribution serve`)"),
        (
            ["--context-static-bundles", ""],
            "context.static: P007 cannot be used: has neither `bundles` nor `contexts` to look at (see its settings)",
        ),
        (["--config", "gone.yaml"], "gone.yaml: K004 cannot be read: No such file or directory (check the path)"),
        (["--config", "logs.yaml"], "logs.yaml:3:3: P001 has the connector `elastic` in `logs`, which is not installed "
         f"(installed: {', '.join(find_connectors().known[Kind.LOGS])}; others come with packages that declare them)"),
        (["--config", "lsf.yaml"], "lsf.yaml:1:11: P001 has the connector `lsf` in `context`, which is not installed "
         f"(installed: {', '.join(find_connectors().known[Kind.CONTEXT])}; "
         "others come with packages that declare them)"),
        (["--config", "pattern.yaml"], "pattern.yaml:4:26: D014 has a wrong `logs.local_files.files.0.path`: has the "
         "placeholder `{host}`; known: {workload_id}, {job_id}, {array_job_id}, "
         "{array_task_id}, {attempt}, {name}, {user}, {cluster}, {namespace}, {uid}, {step}, {node}, {rank}, {stream}"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_sentence(tmp_path: Path, words: list[str], problem: str) -> None:
    (tmp_path / "logs.yaml").write_text("logs:\n  local_files:\n  elastic: {url: 'http://elastic'}\n")
    (tmp_path / "lsf.yaml").write_text("context: {lsf: {}}\n")
    (tmp_path / "pattern.yaml").write_text(
        "logs:\n  local_files:\n    files:\n      - {source: syslog, path: '/logs/{host}'}\n"
    )
    answer = run(*words, cwd=tmp_path)
    assert (answer.returncode, answer.stdout, told(answer)) == (2, "", [problem])


def test_a_variable_that_is_a_slip_is_told() -> None:
    answer = run(ATTRIBUTION_SERVICE_URLS="http://service")
    assert answer.returncode == 2
    assert told(answer) == [
        "environment ATTRIBUTION_SERVICE_URLS: K001 is no setting (did you mean `ATTRIBUTION_SERVICE_URL`?)"
    ]


def test_without_anything_to_find_attempts_with_that_is_told(url: str) -> None:
    told_ = (
        "attribution: context: P006 does not say where attempts are (give --context-static-bundles, or --nodes, "
        "--start and --end, or a connector in the section `context`)\n"
    )
    for words in (["--service-url", url], [], ["--nodes", "node-01"]):  # no Service is started for it
        answer = run(*words)
        assert (answer.returncode, answer.stdout, answer.stderr) == (2, "", told_)


def test_one_bundle_that_cannot_be_read_is_told_and_the_others_are_diagnosed(tmp_path: Path, url: str) -> None:
    bundles = json.dumps([str(SAMPLES[0]), str(tmp_path / "gone"), str(SAMPLES[1])])
    answer = run("--context-static-bundles", bundles, "--format", "ndjson", "--service-url", url)
    assert (answer.returncode, len(workloads(answer))) == (3, 2)
    assert told(answer) == [f"{tmp_path}/gone: B001 does not exist (check the path)", "2 attempts diagnosed"]


def test_a_service_that_is_away_is_told_for_each_attempt() -> None:
    words = ("--service-url", "http://127.0.0.1:9", "--service-retry-secs", "0.3")
    answer = run("--context-static-bundles", f"{SAMPLES[0]},{SAMPLES[1]}", *words)
    assert (answer.returncode, answer.stdout) == (69, "")
    assert len(told(answer)) == 3 and told(answer)[-1] == "0 of 2 attempts diagnosed"
    for line in told(answer)[:2]:
        assert "no diagnosis: the Service at http://127.0.0.1:9 gave no answer: " in line


def test_a_sink_that_cannot_be_opened_is_told_before_anything_is_begun(tmp_path: Path) -> None:
    answer = run("--context-static-bundles", SAMPLES[0], "--sinks-database-url", tmp_path)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == f"attribution: {tmp_path}: T004 is a folder (give the path of a file)\n"


def test_a_result_that_no_sink_takes_is_printed(tmp_path: Path, url: str) -> None:
    """The database is lost after it was opened."""
    words = ("--context-static-bundles", SAMPLES[0], "--sinks-database-url", tmp_path / "a.db", "--service-url", url,
             "--delivery-retry-secs", "0")  # fmt: skip
    lost = StoreUnavailable([Problem(Place("a.db"), "T011", "is full", "make room")])
    with patch("attribution.blueprint.connectors.sinks.database.write_result", side_effect=lost):
        answer = run(*words)
        assert answer.returncode == 69
        assert [line.partition(": ")[2] for line in told(answer)] == [
            "database did not take the result: a.db: T011 is full (make room)",
            "no sink took the result, so it is printed as JSON",
        ]
        printed = AttributionBlueprintResult.model_validate_json(answer.stdout)
        with open_bundle(SAMPLES[0]) as evidence:
            assert printed.context.workload_id == evidence.context.workload_id
        answer = run(*words, "--format", "ndjson")  # the other sink has it
        assert (answer.returncode, len(workloads(answer)), len(told(answer))) == (69, 1, 1)


@pytest.mark.slow
def test_what_a_token_s_blueprint_wrote_its_pages_show(tmp_path: Path, shipped: RuleSets) -> None:
    """The context names no tenant: the Service says whose token it was. The diagnosis is that of the command line."""
    (tmp_path / "tokens").write_text("token-of-red-0001 red\ntoken-of-blue-001 blue\n")
    database = tmp_path / "results.db"
    with served(tmp_path, "--tokens-file", tmp_path / "tokens") as url:
        words = ("--context-static-bundles", SAMPLES[0], "--sinks-database-url", database, "--service-url", url)
        answer = run(*words, ATTRIBUTION_SERVICE_TOKEN="token-of-red-0001")
    assert answer.returncode == 0, answer.stderr
    with closing(open_store(str(database), read_only=True)) as store:
        access = Access(load_tokens(tmp_path / "tokens").tenant_of, ProxySettings(), "127.0.0.1")
        listed = {}
        with httpx.Client(transport=InProcess(create_app(store, access)), base_url="http://127.0.0.1") as pages:
            for name, token in (("red", "token-of-red-0001"), ("blue", "token-of-blue-001")):
                answered = pages.get("/attempts.json", headers={"Authorization": f"Bearer {token}"})
                listed[name] = answered.json()["attempts"]
        (kept,) = list_results(store, "red").rows
        result = get_result(store, kept.key, "red")
    assert (len(listed["red"]), listed["blue"]) == (1, [])
    with open_bundle(SAMPLES[0]) as evidence:
        assert evidence.context.tenant is None
        assert result is not None and result.context.tenant == "red"
        assert result.diagnosis.to_json() == diagnose(evidence, shipped).to_json()


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(url: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [ATTRIBUTION, "run", "--context-static-bundles", SAMPLES[0], "--service-url", url],
            env=environment(), stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=600,
        )  # fmt: skip
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr.splitlines()) == (0, [])


def test_the_settings_in_force_are_shown(tmp_path: Path) -> None:
    (tmp_path / "blueprint.yaml").write_text("workers: 4\nsinks:\n  stdout:\n  database: {url: a.db}\n")
    (tmp_path / "token").write_text("s3cret\n")
    words = ("--config", "blueprint.yaml", "--show-config", "--format", "json", "--service-token-file", "token")
    answer = run(*words, cwd=tmp_path, ATTRIBUTION_CLUSTER="example")
    assert (answer.returncode, answer.stderr) == (0, "") and "s3cret" not in answer.stdout
    shown = {line.split()[0]: line.split(None, 2)[1:] for line in answer.stdout.splitlines()}
    assert shown["workers"] == ["4", "blueprint.yaml:1:1"]
    assert shown["cluster"] == ["example", "environment ATTRIBUTION_CLUSTER"]
    assert shown["service.token"] == ["***", "--service-token-file"]
    assert shown["sinks.stdout.format"] == ["json", "--sinks-stdout-format"]
    assert shown["sinks.database.url"] == ["a.db", "blueprint.yaml:4:14"]
    assert shown["logs.local_files.piece_bytes"] == ["1048576", "default"]


def test_everything_can_be_checked_as_the_doctor_does(tmp_path: Path, url: str) -> None:
    words = ("--context-static-bundles", SAMPLES[0], "--sinks-database-url", tmp_path / "a.db", "--service-url", url,
             "--watch-store", tmp_path / "w.db")  # fmt: skip
    answer = run("--check", *words)
    assert answer.returncode == 0, answer.stdout
    names = [line.split()[1] for line in answer.stdout.splitlines()]
    assert names == ["service", "clock", "context.static", "logs.local_files", "sinks.database", "store"]
    with redirect_stdout(io.StringIO()) as out, patch.dict(os.environ, environment(), clear=True):
        assert main(["doctor", *map(str, words)]) == 0
    assert out.getvalue() == answer.stdout
    answer = run("--check", "--context-static-bundles", tmp_path / "gone", "--service-url", "http://127.0.0.1:9",
                 "--service-retry-secs", "0", "--watch-store", tmp_path / "w.db")  # fmt: skip
    assert answer.returncode == 1
    broken = [line.split()[1] for line in answer.stdout.splitlines() if line.startswith("broken")]
    assert broken == ["service", "context.static"]


def test_the_deadline_gives_what_there_is(tmp_path: Path, url: str) -> None:
    logs = tmp_path / "bundle" / "applog"
    logs.mkdir(parents=True)
    (logs / "node-01.log").write_text("2026-05-04T03:00:00Z step 1\n")
    words = ("--context-static-bundles", tmp_path / "bundle", "--service-url", url, "--format", "json")
    answer = run(*words, "--deadline-secs", 60)
    assert answer.returncode == 0 and json.loads(answer.stdout)["connector_reports"][0]["status"] == "ok"
    answer = run(*words, "--deadline-secs", "0.001")
    more = " before the deadline (give more time with --deadline-secs, or ask for fewer attempts)"
    late = {"static: did not find all attempts", f"bundle, attempt 1 ({tmp_path}/bundle): no diagnosis: was not begun"}
    assert answer.returncode == 69 and told(answer), "whether it was found by then or not"
    assert set(told(answer)) <= {one + more for one in late}


def test_the_deadline_counts_from_when_the_service_is_ready() -> None:
    """Its start within the process takes longer than the whole deadline."""
    begun = []

    @contextmanager
    def slow(*given: object) -> Iterator[None]:
        begun.append(time.monotonic())
        time.sleep(0.05)
        yield

    class Seen(Exception):
        """The run begins."""

    def seen(self: object, query: object, deadline: Deadline) -> None:
        assert deadline.at is not None
        begun.append(deadline.at)
        raise Seen

    with (
        patch("attribution.cli.run._client", slow),
        patch("attribution.cli.run.Orchestrator.run", seen),
        pytest.raises(Seen),
    ):
        run("--context-static-bundles", SAMPLES[0], "--deadline-secs", "1")
    assert begun[1] - begun[0] >= 1.05


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_that_waits(number: signal.Signals) -> None:
    """The Service takes the call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        away = ("--service-url", f"http://127.0.0.1:{silent.getsockname()[1]}")
        words = [ATTRIBUTION, "run", "--context-static-bundles", SAMPLES[0], *away]
        process = subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, encoding="utf-8")
        with process, silent.accept()[0]:
            process.send_signal(number)
            _, errors = process.communicate(timeout=600)
    assert (process.returncode, errors) == ({signal.SIGINT: 130, signal.SIGTERM: 143}[number], "")


@pytest.mark.slow
def test_a_signal_leaves_nothing_of_the_service_within_the_process(tmp_path: Path) -> None:
    words = [ATTRIBUTION, "run", "--context-static-bundles", SAMPLES[0], "--format", "ndjson"]
    variables = environment(TMPDIR=str(tmp_path))
    with subprocess.Popen(
        words, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("attribution: no Service is configured")
        until = time.monotonic() + 600
        while not list(tmp_path.glob("attribution-*")) and time.monotonic() < until:
            time.sleep(0.01)
        process.terminate()
        process.communicate(timeout=600)
    assert process.returncode in {143, 0} and list(tmp_path.glob("attribution-*")) == []


def test_what_stands_on_stderr_cannot_drive_a_terminal(tmp_path: Path, url: str) -> None:
    answer = run("--context-static-bundles", tmp_path / "\x1b[31mgone", "--service-url", url)
    assert answer.returncode == 3 and "gone" in answer.stderr and "\x1b" not in answer.stderr


# --- processes ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_blueprints_share_one_service_and_one_store(tmp_path: Path, shipped: RuleSets) -> None:
    """Both are at overlapping attempts at the same time; each is in the store once, as the command line has it."""
    database = f"sqlite:///{tmp_path}/results.db"
    shares = (SAMPLES[:5], SAMPLES[1:])
    with served(tmp_path) as url:
        runs = [
            subprocess.Popen(
                [
                    ATTRIBUTION, "run", "--service-url", url, "--sinks-database-url", database, "--workers", "3",
                    "--logs-local-files-piece-bytes", str(4096 * (number + 1)), "--service-batch-observations", "20",
                    "--context-static-bundles", ",".join(map(str, share)),
                ],
                env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
            )
            for number, share in enumerate(shares)
        ]  # fmt: skip
        answers = [process.communicate(timeout=600) for process in runs]
    assert [process.returncode for process in runs] == [0, 0], answers
    expected = {}
    for sample in SAMPLES:
        with open_bundle(sample) as evidence:
            expected[evidence.context.workload_id] = diagnose(evidence, shipped).to_json()
    with closing(open_store(database, read_only=True)) as store:
        with store.read() as connection:
            assert connection.execute(select(func.count()).select_from(schema.results)).scalar_one() == len(SAMPLES)
            assert connection.execute(select(func.count()).select_from(schema.catalogs)).scalar_one() == 1
        found = list_results(store, None).rows
        results = [get_result(store, listed.key, None) for listed in found]
    assert {result.context.workload_id: result.diagnosis.to_json() for result in results if result} == expected


@pytest.mark.slow
def test_a_service_that_is_killed_and_comes_back_is_waited_for(tmp_path: Path, shipped: RuleSets) -> None:
    """Killed amid a run; what it had acknowledged is still there, and the diagnosis is that of the command line."""
    sample = SAMPLES[0]
    process = serve(tmp_path)
    run_ = None
    try:
        url = address(process, tmp_path)
        run_ = subprocess.Popen(
            [
                ATTRIBUTION, "run", "--service-url", url, "--context-static-bundles", sample, "--format", "ndjson",
                "--logs-local-files-piece-bytes", "1024", "--service-batch-observations", "1",
                "--service-retry-secs", "120",
            ],
            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        _until_held(tmp_path / "sessions.db", 5)
        process.kill()
        process.wait(600)
        assert run_.poll() is None, "the run was over before the Service was killed"
        process = serve(tmp_path, int(url.rpartition(":")[2]))
        output, errors = run_.communicate(timeout=600)
    finally:
        process.kill()
        process.wait(600)
        if run_ is not None:
            run_.kill()
    assert (run_.returncode, errors) == (0, "")
    result = AttributionBlueprintResult.model_validate_json(output)
    with open_bundle(sample) as evidence:
        assert result.diagnosis.to_json() == diagnose(evidence, shipped).to_json()
    reports = result.connector_reports
    assert sum(report.submitted for report in reports) == sum(report.accepted + report.duplicate for report in reports)


def _until_held(database: Path, count: int) -> None:
    """Wait until the sessions of a Service hold so many observations."""
    with closing(open_store(str(database), read_only=True)) as store:
        until = time.monotonic() + 600
        while time.monotonic() < until:
            with store.read() as connection:
                if connection.execute(select(func.count()).select_from(schema.observations)).scalar_one() >= count:
                    return
            time.sleep(0.005)
    raise AssertionError("the Service accepts nothing")
