"""How long every page of the dashboard takes over a store of many attempts, asked in-process, and how large it is.

    python bench/dashboard.py [--attempts 100000] [--store FILE] [--rounds 20] [--only /nodes]

The store is made once from a seed; with --store it is kept there and used again. A page that misses its bar ends in
exit code 1.
"""

import argparse
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attribution.bundle.reader import open_bundle
from attribution.cli.catalog import load_rules
from attribution.client.in_process import InProcess
from attribution.contracts.result import AttributionBlueprintResult, ConnectorReport
from attribution.contracts.vocabulary import Status
from attribution.dashboard.access import Access
from attribution.dashboard.app import create_app
from attribution.dashboard.collector import settle
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets
from attribution.rules.snapshot import snapshot
from attribution.store.catalogs import save_snapshot
from attribution.store.database import Store, open_store
from attribution.store.identity import ALL_TENANTS
from attribution.store.queries import list_results
from attribution.store.results import write_result
from attribution.store.selection import ResultFilters, reading
from attribution.store.survey import survey_in

from bench.attempts import CATALOG, HOT, NOW, PCI, fill
from bench.scenarios.generate import scenario

LIST_BAR_MS, LARGE_BAR_MS, LARGE_BAR_BYTES = 100.0, 300.0, 1_000_000
EXCERPT_BAR_MS = 2_000.0
LARGE, LARGE_SHAPE = "large-attempt", "nvlink5-fatal"


@dataclass(frozen=True, slots=True)
class Asked:
    """An address, and what its answer may cost."""

    address: str
    bar_ms: float = LIST_BAR_MS
    bar_bytes: int = LARGE_BAR_BYTES


@dataclass(frozen=True, slots=True)
class Measured:
    """What the answers to one address cost."""

    asked: Asked
    status: int
    p50_ms: float
    p95_ms: float
    max_ms: float
    cpu_ms: float
    size: int

    @property
    def passes(self) -> bool:
        """Whether it was answered within its bar."""
        fits = self.p95_ms <= self.asked.bar_ms and self.size <= self.asked.bar_bytes
        return self.status == 200 and fits


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--attempts", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--store", type=Path, help="a file to keep the store in, or one that was kept")
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--only", default="", help="addresses that begin with this")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="attribution-bench-") as folder:
        path = given.store or Path(folder) / "attempts.db"
        if not path.exists():
            make(path, given.attempts, given.seed)
        with closing(open_store(str(path), read_only=True)) as store:
            print(f"{machine()}; {path.stat().st_size / 1e6:,.0f} MB of {list_size(store):,} attempts")
            return report(store, given.rounds, given.only)


def make(path: Path, attempts: int, seed: int) -> None:
    """Write the store, with one attempt of 1,024 nodes that ended last."""
    began = time.monotonic()
    with closing(open_store(str(path))) as store:
        fill(store, attempts, seed)
        rules = load_rules(environment=False)
        write_result(store, large_attempt(rules, seed), NOW)
        shipped = snapshot(rules.catalog)
        for held in (shipped, shipped.model_copy(update={"catalog": CATALOG})):
            save_snapshot(store, held, NOW)
    print(f"made {attempts:,} attempts in {time.monotonic() - began:,.0f} s")


def large_attempt(rules: RuleSets, seed: int) -> AttributionBlueprintResult:
    """An attempt of 1,024 nodes, generated with a log of each node and rank, and diagnosed as any other."""
    with tempfile.TemporaryDirectory(prefix="attribution-bench-") as folder:
        truth = scenario(seed, 0, Path(folder), most=1024, size=1024, only=LARGE_SHAPE)
        with open_bundle(Path(folder) / truth.id / "bundle") as evidence:
            diagnosis = diagnose(evidence, rules).model_copy(update={"workload_id": LARGE})
            began, ended = NOW - timedelta(hours=3), NOW - timedelta(minutes=1)
            time = {"submitted_at": began, "started_at": began, "ended_at": ended}
            context = evidence.context.model_copy(update={"workload_id": LARGE, **time})
    streams = Counter((line.source, line.node) for line in diagnosis.coverage)
    return AttributionBlueprintResult(
        terminal_state=diagnosis.terminal_state,
        sub_domain=diagnosis.sub_domain,
        context=context,
        diagnosis=diagnosis,
        connector_reports=tuple(
            ConnectorReport(connector="loki", source=source, node=node, status=Status.OK, observations=number)
            for (source, node), number in streams.items()
        ),
    )


def machine() -> str:
    """What the figures hold for."""
    load = os.getloadavg()[0]
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return f"{os.cpu_count()} cores, load {load:.1f}, {platform.machine()}, {versions}"


def list_size(store: Store) -> int:
    """How many attempts there are."""
    with reading(store, ALL_TENANTS) as asking:
        return survey_in(asking, ResultFilters(), (), 0).total


def report(store: Store, rounds: int, only: str) -> int:
    """Ask every address, print what it took, and answer 1 if a bar was missed."""
    app = create_app(store, Access(), lambda: NOW)
    settle()  # as `attribution web` does
    found: list[Measured] = []
    with httpx.Client(transport=InProcess(app), base_url="http://127.0.0.1:8080", timeout=60) as client:
        for asked in addresses(client, store):
            if asked.address.startswith(only):
                found.append(measure(client, asked, rounds))
                print(line(found[-1]), flush=True)
    missed = [item for item in found if not item.passes]
    worst = max((item.p95_ms for item in found if item.asked.bar_ms == LIST_BAR_MS), default=0.0)
    print("columns: p50, p95 and max of the time that an answer took, the median of the processor's time, size, status")
    print(f"{len(found)} addresses, {len(missed)} beyond their bar; the worst p95 of a list is {worst:.0f} ms")
    return 1 if missed else 0


def line(item: Measured) -> str:
    """One line of the table."""
    mark = " " if item.passes else "!"
    times = f"{item.p50_ms:7.1f} {item.p95_ms:7.1f} {item.max_ms:7.1f} ms, cpu {item.cpu_ms:6.1f} ms"
    return f"{mark} {times} {item.size / 1000:7.1f} kB  {item.status}  {item.asked.address}"


def measure(client: httpx.Client, asked: Asked, rounds: int) -> Measured:
    """Ask one address again and again; the first answer, which fills caches, is not counted."""
    answer = client.get(asked.address)
    spent: list[float] = []
    worked: list[float] = []
    for _ in range(rounds):
        began, busy = time.perf_counter(), time.process_time()
        answer = client.get(asked.address)
        spent.append((time.perf_counter() - began) * 1000)
        worked.append((time.process_time() - busy) * 1000)
    p50, p95 = statistics.median(spent), statistics.quantiles(spent, n=20, method="inclusive")[-1]
    size = len(answer.content)
    return Measured(asked, answer.status_code, p50, p95, max(spent), statistics.median(worked), size)


def addresses(client: httpx.Client, store: Store) -> Iterator[Asked]:
    """Every page in every form, and lists with every kind of filter."""
    hot, quiet = HOT[1], "gpu-0005"
    filters = [
        "",
        "terminal_state=failed",
        "sub_domain=user_code",
        "cause=PYTHON_EXCEPTION",
        "cause=NVSWITCH_FATAL",
        "cluster=ams-1",
        "user=user07",
        f"node={hot}",
        f"node={hot}&node_role=affected",
        f"node={quiet}&node_role=allocated",
        "terminal_state=failed&sub_domain=gpu_hardware",
        "terminal_state=completed&user=user03",
        "user=user07&cluster=osl-2",
        "cause=XID_79&cluster=osl-2",
        f"terminal_state=failed&node={hot}",
        "q=pretrain-70b",
        "q=failed",
        "q=exception+gpu-00",
        "q=481234",
        "q=xid_79+user07",
        f"q={hot}",
        "q=nothing-has-this",
        "q=bus&terminal_state=failed",
        "since=24h",
        "since=7d",
        "since=30d",
        "since=2026-03-01+03:00&until=2026-04-11+09:30",
        "since=7d&terminal_state=failed",
        "since=30d&user=user07&sub_domain=user_code",
        "sort=oldest",
        "limit=200",
    ]
    for query in filters:
        yield Asked(f"/attempts?{query}" if query else "/attempts")
    for query in ("", "user=user07", "since=7d", "terminal_state=failed&cluster=ams-1", "q=gpu"):
        for by in ("cause", "node"):
            yield Asked(f"/attempts?group={by}&{query}" if query else f"/attempts?group={by}")
    yield Asked("/attempts.json")
    yield Asked("/attempts.json?terminal_state=failed&limit=200")
    for query in ("limit=200", "limit=200&terminal_state=failed"):
        yield Asked(deep(client, f"/attempts.json?{query}").replace(".json", "", 1))
    for address in histories(hot, quiet):
        yield Asked(address)
        path, _, query = address.partition("?")
        yield Asked(f"{path}.json?{query}" if query else f"{path}.json")
    for address in ("/rules", "/rules/PY001", "/symptoms", "/symptoms/PYTHON_EXCEPTION", "/coverage"):
        yield from (Asked(address), Asked(f"{address}.json"))
    yield from (Asked("/patterns"), Asked("/healthz"), Asked("/readyz"))
    yield from diagnoses(client, store)


def diagnoses(client: httpx.Client, store: Store) -> Iterator[Asked]:
    """What is shown of one attempt: of the one with the most nodes."""
    for row in list_results(store, None, ResultFilters(workload_id=LARGE)).rows:
        of = f"/attempts/{row.key}"
        evidence = client.get(f"{of}.json").json()["diagnosis"]["evidence"][0]["id"]
        for page in (of, f"{of}/decided", f"{of}/evidence/{evidence}"):
            yield Asked(page, LARGE_BAR_MS)
            yield Asked(f"{page}.json", LARGE_BAR_MS, 10 * LARGE_BAR_BYTES)
        yield from (Asked(f"{of}.md", LARGE_BAR_MS), Asked(f"{of}/excerpt.tar.gz", EXCERPT_BAR_MS))


def histories(hot: str, quiet: str) -> Iterator[str]:
    """The histories of nodes and of their parts, and what stands out."""
    yield from ("/nodes", "/nodes?days=7", "/nodes?days=90", "/nodes?q=gpu-00")
    yield from (f"/nodes/{hot}", f"/nodes/{quiet}", f"/nodes/{hot}?days=90", f"/nodes/{hot}?part=allocated")
    pci = PCI[sum(hot.encode()) % 8]
    yield from (f"/devices/{hot}/gpu/{pci}", f"/devices/{hot}/gpu/{pci}?days=90")
    yield from ("/hot-spots", "/hot-spots?days=7", "/hot-spots?days=90")


def deep(client: httpx.Client, address: str) -> str:
    """The address of a page far down a list."""
    for _ in range(30):
        older = client.get(address).json()["next"]
        if older is None:
            break
        address = older
    return address


if __name__ == "__main__":
    sys.exit(main())
