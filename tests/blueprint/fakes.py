"""A Service, connectors and a clock that do as a test wants."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import zstandard

from attribution.blueprint.attempt import Attempt, Found, Query
from attribution.blueprint.connectors.base import Collected, Collector, ContextConnector, Halted, Sink
from attribution.blueprint.deadline import Deadline
from attribution.blueprint.orchestrator import Orchestrator, Parts, Summary
from attribution.client.client import AttributionClient, BatchLimits
from attribution.client.retry import Retries
from attribution.contracts.base import Strict
from attribution.contracts.context import ExecutionContext
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Source

from tests.blueprint.conftest import FAST
from tests.blueprint.results import CATALOG, SNAPSHOT, result

Fault = Callable[[httpx.Request, int], httpx.Response | None]


class FakeService:
    """Accepts everything, unless `fault` answers a request (given with how many came to its path before) or raises."""

    def __init__(self, fault: Fault = lambda request, count: None) -> None:
        self.fault = fault
        self.calls: list[str] = []
        self.contexts: list[dict[str, Any]] = []
        self.held: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        name = path.rsplit("/", 1)[-1]
        with self._lock:
            before = self.calls.count(name)
            self.calls.append(name)
        answer = self.fault(request, before)
        if answer is not None:
            return answer
        with self._lock:
            return httpx.Response(200, json=self._answer(name, request))

    def _answer(self, name: str, request: httpx.Request) -> object:
        if name == "collection-plan":
            return {"catalog_digest": "c1"}
        if name == "snapshot":
            return SNAPSHOT.model_dump(mode="json")
        if name == "attributors":
            self.contexts.append(json.loads(request.content))
            workload = self.contexts[-1]["workload_id"]
            expires = "2026-05-05T00:00:00Z"
            return {"attributor_id": workload, "expires_at": expires, "catalog": CATALOG.model_dump()}
        if name == "observations":
            lines = observations_of(request)
            self.held += lines
            answers = [{"index": index, "outcome": "accepted"} for index in range(len(lines))]
            return {"accepted": len(lines), "duplicate": 0, "rejected": 0, "observations": answers}
        workload = request.url.path.split("/")[-2]
        return {"revision": 1, "diagnosis": result(workload).diagnosis.model_dump(mode="json")}

    def client(self, retries: Retries = FAST) -> AttributionClient:
        """A client of it."""
        return AttributionClient("http://service", transport=httpx.MockTransport(self), retries=retries)


def observations_of(request: httpx.Request) -> list[dict[str, Any]]:
    """The observations of a batch."""
    body = zstandard.ZstdDecompressor().decompressobj().decompress(request.content)
    return [json.loads(line) for line in body.splitlines()]


def problem(status: int, detail: str) -> httpx.Response:
    """An error answer."""
    return httpx.Response(status, json={"type": "urn:x", "title": "No", "status": status, "detail": detail})


class Nothing(Strict):
    """No settings."""


class FakeContexts(ContextConnector[Nothing]):
    """Finds what it is told to find; an exception among it is raised."""

    Settings = Nothing

    def __init__(self, *found: Found | Exception) -> None:
        super().__init__(Nothing())
        self.found = found

    def check(self) -> str:
        return "fine"

    def discover(self, query: Query) -> Iterator[Found]:
        for item in self.found:
            if isinstance(item, Exception):
                raise item
            yield item


class FakeCollector(Collector[Nothing]):
    """Delivers what a function gives."""

    Settings = Nothing

    def __init__(
        self,
        give: Callable[[Attempt, Halted], Iterator[Observation | Collected]],
        sources: Sequence[Source] = (Source.SYSLOG,),
    ) -> None:
        super().__init__(Nothing())
        self.give = give
        self._sources = frozenset(sources)

    def check(self) -> str:
        return "fine"

    @property
    def sources(self) -> frozenset[Source]:
        return self._sources

    def collect(self, attempt: Attempt, plan: CollectionPlan, halted: Halted) -> Iterator[Observation | Collected]:
        return self.give(attempt, halted)


class FakeSink(Sink[Nothing]):
    """Keeps results, or fails on those of some workloads."""

    Settings = Nothing

    def __init__(self, *fails: str) -> None:
        super().__init__(Nothing())
        self.fails = fails
        self.results: list[AttributionBlueprintResult] = []
        self.catalogs: list[CatalogSnapshot] = []

    def check(self) -> str:
        return "fine"

    def write(self, result: AttributionBlueprintResult, catalog: Callable[[], CatalogSnapshot]) -> None:
        if result.context.workload_id in self.fails:
            raise RuntimeError("the disk is full")
        self.results.append(result)
        self.catalogs.append(catalog())


class Clock:
    """Time that goes on only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def observation(body: str = "line\n", offset: int = 0, node: str | None = "node-01", **more: object) -> Observation:
    return Observation.model_validate(
        {"source": "syslog", "node": node, "stream": "messages", "offset": offset, "body": body, **more}
    )


def attempt(workload_id: str, *nodes: str, **context: object) -> Attempt:
    given = {"workload_id": workload_id, "nodes": [{"name": name} for name in nodes], **context}
    return Attempt(ExecutionContext.model_validate(given), f"found {workload_id}")


def lines(count: int) -> Callable[[Attempt, Halted], Iterator[Observation]]:
    """So many observations of one stream."""

    def give(of: Attempt, halted: Halted) -> Iterator[Observation]:
        return (observation(offset=5 * number) for number in range(count))

    return give


class Run:
    """One run of the orchestrator over fakes, with what was told and written."""

    def __init__(
        self,
        client: AttributionClient,
        found: Sequence[Found | Exception],
        collectors: Sequence[Collector[Any]],
        sinks: Sequence[Sink[Any]] | None = None,
        deadline: Deadline = Deadline(),  # noqa: B008  frozen
        retries: Retries = FAST,
        limits: BatchLimits = BatchLimits(),  # noqa: B008  frozen
        **more: Any,
    ) -> None:
        self.told: list[str] = []
        self.sink = FakeSink()
        named = {f"logs-{number}": collector for number, collector in enumerate(collectors)}
        sinks = [self.sink] if sinks is None else sinks
        parts = Parts({"static": FakeContexts(*found)}, named, {f"sink-{n}": sink for n, sink in enumerate(sinks)})
        orchestrator = Orchestrator(client, parts, self.told.append, retries=retries, limits=limits, **more)
        self.summary: Summary = orchestrator.run(Query(), deadline)

    @property
    def results(self) -> dict[str, AttributionBlueprintResult]:
        return {result.context.workload_id: result for result in self.sink.results}
