"""A Service in this process, spoken to over HTTP as from outside."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from attribution.client.in_process import InProcess
from attribution.contracts.errors import Problem
from attribution.extraction.ruleset import RuleSets
from attribution.service.app import create_app
from attribution.service.core import Service
from attribution.service.settings import ServiceSettings
from attribution.store.database import open_store
from attribution.store.sessions import Sessions

JSON = {"content-type": "application/json"}
START = datetime(2026, 5, 4, 3, 0, tzinfo=UTC)
XID_79 = "kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
CONTEXT = {
    "workload_id": "job-7",
    "cluster": "example",
    "started_at": "2026-05-04T02:31:00Z",
    "ended_at": "2026-05-04T03:17:26Z",
    "scheduler_state": "FAILED",
    "nodes": [{"name": "node-01"}, {"name": "node-02"}],
}


class Clock:
    """A time that tests move."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 4, 4, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def later(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass(frozen=True)
class Desk:
    """A running Service and a client of it."""

    http: httpx.Client
    service: Service
    app: Any
    clock: Clock

    def open(self, context: Mapping[str, Any] = CONTEXT, **more: Any) -> str:
        """The id of a session."""
        answer = self.http.post("/v2/attributors", json=context, **more)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["attributor_id"])

    def submit(self, session: str, *observations: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """What became of a batch."""
        body = {"observations": observations}
        answer = self.http.post(f"/v2/attributors/{session}/observations", json=body, **more)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def attribution(self, session: str) -> dict[str, Any]:
        """The attribution of a session."""
        answer = self.http.get(f"/v2/attributors/{session}/attribution")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def metric(self, name: str, **labels: str) -> float:
        """The value of one sample of the metrics."""
        value = self.service.meters.registry.get_sample_value(name, labels)
        return 0.0 if value is None else value


def syslog(second: int, text: str = XID_79, node: str = "node-02", offset: int = 0) -> dict[str, Any]:
    """An observation of one kernel line."""
    body = f"{(START + timedelta(seconds=second)).isoformat()} {node} {text}\n"
    return {"source": "syslog", "node": node, "stream": f"syslog/{node}.log", "offset": offset, "body": body}


@contextmanager
def serving(
    rules: RuleSets | Callable[[], RuleSets],
    folder: Path,
    settings: Mapping[str, Any] | None = None,
    verify_rules: Callable[[RuleSets], Sequence[Problem]] = lambda _rules: (),
    store: str | None = None,
) -> Iterator[Desk]:
    """A Service over a store in a folder. The cases of the rules are run only if a test asks for it."""
    clock, opened = Clock(), open_store(store or str(folder / "sessions.db"))
    load = rules if callable(rules) else lambda: rules
    app = create_app(load, ServiceSettings.model_validate(settings or {}), Sessions(opened), clock, verify_rules)
    transport = InProcess(app, app.router.lifespan_context(app))
    try:
        with httpx.Client(transport=transport, base_url="http://localhost", timeout=600) as http:
            yield Desk(http, app.state.service, app, clock)
    finally:
        transport.close()
        opened.close()


def problem(answer: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """The problem details of an answer, whose shape is checked."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    details = dict(json.loads(answer.content))
    assert details["type"] == f"urn:attribution:problem:{kind}"
    assert details["status"] == status
    assert details["title"] and details["detail"] and details["instance"].startswith("/")
    return details
