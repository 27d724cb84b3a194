"""A watcher whose threads a test runs by hand, one step at a time, on a clock of its own."""

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from structlog.testing import capture_logs

from attribution.blueprint.attempt import Found, Query
from attribution.blueprint.connectors.base import Collector, ContextConnector, Memory, Sink
from attribution.blueprint.orchestrator import Orchestrator, Parts
from attribution.blueprint.progress import Progress
from attribution.blueprint.watching.discovery import Discovery
from attribution.blueprint.watching.leases import Keeper
from attribution.blueprint.watching.meters import Meters
from attribution.blueprint.watching.pressure import Pressure
from attribution.blueprint.watching.sending import Sending
from attribution.blueprint.watching.settings import WatchSettings
from attribution.blueprint.watching.work import Work
from attribution.store.backlog import Backlog
from attribution.store.database import Store
from attribution.store.outbox import Outbox

from tests.blueprint.conftest import FAST
from tests.blueprint.fakes import FakeCollector, FakeService, FakeSink, Nothing, lines

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def at(secs: float) -> datetime:
    return NOW + timedelta(seconds=secs)


class Scripted(ContextConnector[Nothing]):
    """Finds what `found` holds now; an exception among it is raised. Keeps what it was asked."""

    Settings = Nothing

    def __init__(self, *found: Found | Exception, windowed: bool = True) -> None:
        super().__init__(Nothing())
        self.found: list[Found | Exception] = list(found)
        self.queries: list[Query] = []
        self.observed = 0
        self.is_windowed = windowed  # type: ignore[misc]

    def check(self) -> str:
        return "fine"

    def observe(self, memory: Memory) -> None:
        self.observed += 1
        memory.put("rounds", str(int(memory.get("rounds") or 0) + 1), 3600)
        self.kept = dict(memory.items())

    def discover(self, query: Query) -> Iterator[Found]:
        self.queries.append(query)
        for item in list(self.found):
            if isinstance(item, Exception):
                raise item
            yield item


class Steps:
    """One watcher over a store. `logs` are the events that were logged."""

    def __init__(
        self,
        store: Store,
        context: ContextConnector[Any],
        service: FakeService | None = None,
        collectors: Sequence[Collector[Any]] = (),
        sinks: dict[str, Sink[Any]] | None = None,
        **settings: Any,
    ) -> None:
        self.secs = 0.0
        self.service = service or FakeService()
        self.sink = FakeSink()
        self.settings = WatchSettings.model_validate({"settle_secs": 60, "lease_secs": 60, **settings})
        named = {
            f"logs-{number}": collector for number, collector in enumerate(collectors or [FakeCollector(lines(1))])
        }
        self.parts = Parts({"fake": context}, named, {"sink": self.sink} if sinks is None else sinks)
        self.meters = Meters(["fake"], list(self.parts.sinks))
        self.orchestrator = Orchestrator(
            self.service.client(), self.parts, print, retries=FAST, progress=Progress(30), cluster="example"
        )
        self.backlog, self.outbox = Backlog(store), Outbox(store)
        self.pressure = Pressure(lambda: self.secs)
        shared = (self.backlog, self.settings)
        self.discovery = Discovery(self.parts, self.orchestrator, *shared, self.meters, self.now)
        keeper = Keeper(self.backlog.renew, self.now, self.settings.lease_secs, self.meters)
        self.keeper = keeper
        self.work = Work(
            self.orchestrator, self.parts.sinks, *shared, None, self.meters, self.pressure, keeper, self.now
        )
        self.sendings = {
            name: Sending(name, sink, self.orchestrator, self.outbox, self.settings, self.meters, keeper, self.now)
            for name, sink in self.parts.sinks.items()
        }
        self.logs: list[dict[str, Any]] = []

    def now(self) -> datetime:
        return at(self.secs)

    def round(self) -> None:
        with capture_logs() as logs:
            self.discovery.round(threading.Event())
        self.logs += [dict(line) for line in logs]

    def run(self) -> int:
        """Work and deliver until nothing is ready; how many attempts were worked on."""
        count = 0
        with capture_logs() as logs:
            while self.work.step():
                count += 1
            for sending in self.sendings.values():
                while sending.step():
                    pass
        self.logs += [dict(line) for line in logs]
        return count

    def pass_by(self, secs: float) -> "Steps":
        self.secs += secs
        return self

    def events(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.logs if line["event"] == name]

    @property
    def results(self) -> list[str]:
        return [result.context.workload_id for result in self.sink.results]

    def metric(self, name: str, **labels: str) -> float | None:
        return self.meters.registry.get_sample_value(f"attribution_watch_{name}", labels)
