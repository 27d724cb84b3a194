"""The connector keeps the rules of all connectors, and reads pages."""

import json

from line_service.connector import LineService, LineServiceSettings

from attribution.blueprint.attempt import Attempt
from attribution.contracts.context import ExecutionContext
from attribution.contracts.plan import CollectionPlan
from attribution.testing import HttpCollectorCompliance, Reply, Request, Server, collected

CONTEXT = {
    "workload_id": "job-7",
    "started_at": "2026-05-04T03:00:00Z",
    "ended_at": "2026-05-04T04:00:00Z",
    "nodes": [{"name": "node-01"}, {"name": "node-02"}],
}
ATTEMPT = Attempt(ExecutionContext.model_validate(CONTEXT), "test")


def service(request: Request) -> Reply:
    """Two pages of each host."""
    host, after = request.params["host"], int(request.params.get("after", "0"))
    lines = [f"May  4 03:00:{second:02} {host} kernel: line {second}" for second in range(after, after + 2)]
    return Reply(body=json.dumps({"lines": lines, "next": None if after else 2}))


class TestLineService(HttpCollectorCompliance):
    """The rules of all connectors that ask a server."""

    def connector(self, url: str, timeout_secs: float, retry_secs: float, answer_bytes: int) -> LineService:
        settings = {"timeout_secs": timeout_secs, "retry_secs": retry_secs, "answer_bytes": answer_bytes}
        return LineService(LineServiceSettings.model_validate({"url": url, **settings}))

    def attempt(self) -> Attempt:
        return ATTEMPT

    def healthy(self, request: Request) -> Reply:
        return service(request)

    def nothing(self, request: Request) -> Reply:
        return Reply(body='{"lines": [], "next": null}')

    def long_line(self, request: Request) -> Reply:
        return Reply(body=json.dumps({"lines": ["x" * (3 << 20)], "next": None}))


def test_pages_make_one_stream() -> None:
    with Server(service) as server:
        collector = LineService(LineServiceSettings(url=server.url))
        found = collected(collector, ATTEMPT, CollectionPlan(catalog_digest="d"))
        collector.close()
    first, second, *_ = found
    assert (first.node, first.offset, first.first_line) == ("node-01", 0, 0)
    assert (second.node, second.offset, second.first_line) == ("node-01", len(first.body), 2)


def test_what_is_not_read_is_said() -> None:
    with Server(service) as server:
        collector = LineService(LineServiceSettings(url=server.url, pages=1))
        found = collected(collector, ATTEMPT, CollectionPlan(catalog_digest="d"))
        collector.close()
    assert [item.reason for item in found if item.node == "node-01"][-1] == "more than 1 pages; the rest was not read"
