"""`attribution demo`: Service, Blueprint and pages on this machine, over the bundled samples."""

import argparse
import contextlib
import fcntl
import http.client
import json
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from attribution.bundle.reader import open_bundle
from attribution.cli.catalog import SHIPPED
from attribution.cli.children import Child, ChildFailed, Children, Stopped, children, free_port
from attribution.contracts.errors import AttributionError, ConfigurationError, Place, Problem
from attribution.presentation.columns import visible

SERVICE_PORT, WEB_PORT = 8000, 8080
_FOLDERS, _LOCK = "attribution-demo-", "lock"
ATTEMPTS = 240
"""Generated attempts, unless told otherwise."""

MOST_SAMPLES = 200
"""Samples that attempts are generated from, at most."""

START_SECS = 60
"""How long the Service may take to verify its rules and answer."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.add_argument("--once", action="store_true", help="fetch every page, stop everything and exit")
    parser.add_argument(
        "--attempts",
        type=_whole,
        metavar="N",
        help=f"generated attempts beside the samples (default: {ATTEMPTS}; with --once none)",
    )
    parser.add_argument("--store", type=Path, metavar="FOLDER", help="keep results here (default: a temporary folder)")
    parser.add_argument(
        "--samples", type=Path, metavar="FOLDER", help="evidence bundles (default: the bundled samples)"
    )


def run(options: argparse.Namespace) -> int:
    """Show everything once; then, unless `--once` is given, keep the pages until Ctrl-C."""
    samples = sample_bundles(options.samples)
    with _folder(options.store) as folder, children(folder) as running:
        try:
            attempts = options.attempts if options.attempts is not None else 0 if options.once else ATTEMPTS
            return _demo(running, folder, samples, options.once, attempts)
        except (KeyboardInterrupt, Stopped):
            _say("stopping")
            return 130 if options.once else 0
        except ChildFailed as error:
            _say(str(error))
            return 1


def sample_bundles(folder: Path | None = None) -> list[Path]:
    """The evidence bundles of a folder, sorted; without one, those that come with the product."""
    package = SHIPPED.parent
    shipped = (package / "samples", package.parents[1] / "samples")  # as installed, or in a checkout
    folder = folder or next((path for path in shipped if path.is_dir()), shipped[0])
    found = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    if not found:
        remedy = "give a folder that holds evidence bundles"
        raise ConfigurationError([Problem(Place("--samples"), "C003", f"finds no bundle in {folder}", remedy)])
    return found


def workloads_of(samples: Iterable[Path]) -> Iterator[str]:
    """Which sample each workload of the answers is, by workload; what cannot be read was told before."""
    named = []
    for path in samples:
        with contextlib.suppress(AttributionError), open_bundle(path) as evidence:
            named.append((evidence.context.workload_id, path.name))
    yield from (f"workload {visible(workload)} is the sample {visible(name)}" for workload, name in sorted(named))


@contextlib.contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    _sweep()
    made = Path(tempfile.mkdtemp(prefix=_FOLDERS))
    with (made / "starting").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (made / "starting").rename(made / _LOCK)  # under its own name it is locked from its first moment
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _sweep() -> None:
    """Delete the folders of demos that were killed: nobody holds their locks any more."""
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{_FOLDERS}*/{_LOCK}")):
        with contextlib.suppress(OSError), path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.parent, ignore_errors=True)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 5):
        raise argparse.ArgumentTypeError(f"`{visible(text)}` is no number from 0 to 99999")
    return int(text)


def _demo(running: Children, folder: Path, samples: list[Path], once: bool, attempts: int) -> int:
    started = time.monotonic()
    store = folder / "attribution.db"
    _make_store(store)
    service_url, web_url = _start(running, store)
    blueprint = [
        "run",
        "--context-static-bundles",
        ",".join(str(sample) for sample in samples),
        "--service-url",
        service_url,
        "--sinks-database-url",
        str(store),
        "--sinks-stdout-format",
        "text",
    ]
    _diagnose(running, blueprint)
    took = time.monotonic() - started
    missing = missing_pages(web_url, len(samples))
    for line in missing:
        _say(line)
    if missing:
        return 1
    for line in workloads_of(samples):
        _say(line)
    _say(f"{len(samples)} samples diagnosed over HTTP in {took:.1f} s; the list and {len(samples)} pages answer")
    if attempts:
        _generate(store, attempts)
    if not once:
        print(f"Open {web_url}/ in a browser. Ctrl-C stops everything.", flush=True)
        _stay(running)
    return 0


def _generate(path: Path, attempts: int) -> None:
    """Add a month of generated attempts, so that lists and histories have something to show."""
    from attribution.cli.demo_month import CLUSTER, DAYS, month
    from attribution.store.database import open_store
    from attribution.store.queries import ALL_TENANTS, PageRequest, get_result, list_results
    from attribution.store.results import write_result

    now = datetime.now(UTC)
    with contextlib.closing(open_store(str(path))) as store:
        rows = list_results(store, ALL_TENANTS, page=PageRequest(MOST_SAMPLES)).rows
        samples = [
            found for row in rows if row.cluster != CLUSTER if (found := get_result(store, row.key, ALL_TENANTS))
        ]
        for made in month(samples, now, attempts):
            write_result(store, made, now, made.context.tenant)
    told = f"{attempts} attempts of the last {DAYS} days are generated from the samples' diagnoses"
    _say(f"{told}: those of cluster `{CLUSTER}`; they say nothing of how often Attribution is right")


def _make_store(path: Path) -> None:
    """The pages only read, so the store must be there before they start."""
    from attribution.store.database import open_store

    open_store(str(path)).close()


@dataclass(frozen=True, slots=True)
class _Server:
    """A command that listens, how it is called, and which path answers once it is ready."""

    name: str
    command: str
    port: int
    ready: str


_SERVERS = (_Server("Service", "serve", SERVICE_PORT, "/v2/readyz"), _Server("web", "web", WEB_PORT, "/readyz"))


def _start(running: Children, store: Path) -> tuple[str, str]:
    """The addresses of the Service and the pages, once both answer."""
    begun = [(server, *_begin(running, server, server.port, store)) for server in _SERVERS]
    service, web = (_answering(running, server, child, port, store) for server, child, port in begun)
    return service, web


def _begin(running: Children, server: _Server, wanted: int, store: Path) -> tuple[Child, int]:
    """The process, and the port that was free for it."""
    port = free_port(wanted)
    taken = f" (port {server.port} is taken)" if port != server.port else ""
    _say(f"{server.name} on http://127.0.0.1:{port}{taken}")
    arguments = [server.command, "--host", "127.0.0.1", "--port", str(port), "--store", str(store)]
    return running.start(server.command, arguments), port


def _answering(running: Children, server: _Server, child: Child, port: int, store: Path) -> str:
    """The address at which it answers. A port that another program took first is given up for the next.

    Its own log says that it listens: an answer from that port alone could be another program's.
    """
    until = time.monotonic() + START_SECS
    while time.monotonic() < until:
        if child.process.poll() is not None:
            if "address already in use" not in child.last_words().lower():
                raise ChildFailed(f"`attribution {child.name}` ended at its start:\n{child.last_words()}")
            running.running.remove(child)
            child, port = _begin(running, server, port + 1, store)
        url = f"http://127.0.0.1:{port}"
        if url in child.log.read_text(errors="replace"):
            with contextlib.suppress(OSError, http.client.HTTPException):
                fetch(url + server.ready)
                return url
        time.sleep(0.05)
    raise ChildFailed(f"`attribution {child.name}` does not answer after {START_SECS} s:\n{child.last_words()}")


def _diagnose(running: Children, arguments: list[str]) -> None:
    """Run the Blueprint; what it prints is the answer of the demo."""
    sys.stdout.flush()
    child = running.start("run", arguments, stdout=sys.stdout.fileno())
    code = child.process.wait()
    if code:
        raise ChildFailed(f"`attribution run` ended with {code}:\n{child.last_words()}")


def missing_pages(web_url: str, expected: int) -> list[str]:
    """What of the list and the diagnosis pages does not answer, one sentence each."""
    try:
        listed = json.loads(fetch(f"{web_url}/attempts.json"))["attempts"]
        fetch(f"{web_url}/attempts")
    except (OSError, ValueError) as error:
        return [f"the list of attempts does not answer: {error}"]
    problems = [] if len(listed) >= expected else [f"{len(listed)} of {expected} attempts are listed"]
    for attempt in listed:
        for suffix in ("", ".json", ".md"):
            try:
                fetch(f"{web_url}{attempt['href']}{suffix}")
            except OSError as error:
                problems.append(f"{attempt['href']}{suffix} does not answer: {error}")
    return problems


def fetch(url: str) -> bytes:
    """What a local address answers. Raises OSError for anything but 200."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=30) as answer:
        body: bytes = answer.read()
    return body


def _stay(running: Children) -> None:
    """Wait for Ctrl-C, or until one of the processes ends by itself."""
    stays = {server.command for server in _SERVERS}
    while True:
        for child in running.running:
            if child.name in stays and child.process.poll() is not None:
                raise ChildFailed(f"`attribution {child.name}` ended:\n{child.last_words()}")
        time.sleep(0.2)


def _say(text: str) -> None:
    print(f"demo: {text}", file=sys.stderr, flush=True)
