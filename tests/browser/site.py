"""The pages on loopback over a store of diagnosed samples, a generated month, and hostile text."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import uvicorn

from attribution.bundle.reader import open_bundle
from attribution.cli.demo_month import month
from attribution.contracts.result import AttributionBlueprintResult, ConnectorReport
from attribution.contracts.vocabulary import Source, Status
from attribution.dashboard.access import Access
from attribution.dashboard.app import create_app
from attribution.dashboard.views import links, patterns
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets
from attribution.rules.snapshot import snapshot
from attribution.store.catalogs import save_snapshot
from attribution.store.database import Store, open_store
from attribution.store.queries import ALL_TENANTS, get_result
from attribution.store.results import write_result

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FEW = (
    "nvlink-signal-integrity", "cable-overheated", "two-suspects", "timeouts-only", "completed-with-noise",
    "cgroup-oom", "preempted-by-queue", "python-exception-one-rank", "gpu-memory-uncorrectable",
)  # fmt: skip
"""Samples of every shape that an answer can have."""

NOW = datetime(2026, 6, 10, 4, tzinfo=UTC)
"""When the pages are looked at: soon after the newest sample."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where the pages are, the keys of some attempts (by the name of the sample, and `hostile`), and a piece of
    evidence of `nvlink-signal-integrity`."""

    url: str
    keys: dict[str, str]
    evidence_id: str

    def attempt(self, name: str) -> str:
        """The address of the diagnosis of a sample."""
        return self.url + links.attempt(self.keys[name])


def diagnosed(name: str, rules: RuleSets) -> AttributionBlueprintResult:
    """A sample's result, with the reports that a connector would have given for it."""
    with open_bundle(SAMPLES / name) as evidence:
        diagnosis = diagnose(evidence, rules)
        reports = tuple(
            ConnectorReport(
                connector="loki",
                source=line.source,
                node=line.node,
                status=line.status,
                reason=line.reason,
                lines=line.lines,
                observations=1,
                submitted=1,
                accepted=1,
            )
            for line in diagnosis.coverage
        )
        refused = [ConnectorReport(connector="promql", source=Source.BMC, node="node-02", status=Status.ERROR)]
        return AttributionBlueprintResult(
            terminal_state=diagnosis.terminal_state,
            sub_domain=diagnosis.sub_domain,
            context=evidence.context,
            diagnosis=diagnosis,
            connector_reports=(*reports, *refused),
        )


def fill(
    path: Path, rules: RuleSets, names: tuple[str, ...] = FEW, attempts: int = 70, hostile: bool = True
) -> dict[str, str]:
    """Write a store: the samples, generated attempts of the month before NOW, and a hostile one."""
    results = [diagnosed(name, rules) for name in names]
    with closing(open_store(str(path))) as store:
        save_snapshot(store, snapshot(rules.catalog), NOW)
        for made in month(results, NOW, attempts):
            write_result(store, made, NOW, None)
        keys = {name: write_result(store, made, NOW, None).id for name, made in zip(names, results, strict=True)}
        if hostile:
            made = patterns.hostile_result()
            context = made.context.model_copy(update={"name": patterns.HOSTILE[0], "user": patterns.HOSTILE[1]})
            keys["hostile"] = write_result(store, made.model_copy(update={"context": context}), NOW, None).id
    return keys


def decisive(store: Store, key: str) -> str:
    """The id of the decisive line of an attempt."""
    result = get_result(store, key, ALL_TENANTS)
    assert result is not None
    return result.diagnosis.causes[0].evidence_ids[0]


@contextmanager
def serving(path: Path, keys: dict[str, str]) -> Iterator[Site]:
    """The pages of a store on a free port."""
    with closing(open_store(str(path), read_only=True)) as store:
        config = uvicorn.Config(
            create_app(store, Access(), lambda: NOW), host="127.0.0.1", port=0, log_config=None, ws="none"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        try:
            port = server.servers[0].sockets[0].getsockname()[1]
            yield Site(f"http://127.0.0.1:{port}", keys, decisive(store, keys["nvlink-signal-integrity"]))
        finally:
            server.should_exit = True
            thread.join()
