"""The page of connectors tells who reported how, who gives nothing, and what could not be tested for it."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import httpx
import pytest

from attribution.contracts.diagnosis import Untestable
from attribution.contracts.result import ConnectorReport
from attribution.contracts.vocabulary import Source, Status, SubDomain
from attribution.dashboard.access import Access
from attribution.store import connectors
from attribution.store.database import Store, open_store
from attribution.store.results import write_result

from tests.dashboard.conftest import NOW, client, result_of
from tests.dashboard.markup import Element, promises
from tests.presentation import builders

HOSTILE = "refused <script>alert(1)</script> \x1b[2J\u202e"


def report(node: str | None, status: Status, **more: Any) -> ConnectorReport:
    return ConnectorReport(connector="loki", source=Source.SYSLOG, node=node, status=status, **more)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Three attempts of today of tenant red, one of ten days ago, and one of blue."""
    path = str(tmp_path_factory.mktemp("coverage") / "results.db")
    lost = Untestable(sub_domains=(SubDomain.NVLINK_FABRIC,), source=Source.NODE_METRICS, reason=HOSTILE)
    with closing(open_store(path)) as writable:
        for hours, tenant, reports in (
            (1, "red", [report("node-01", Status.OK, lines=7), report("node-02", Status.ERROR, reason=HOSTILE)]),
            (2, "red", [report("node-01", Status.OK, lines=5), report("node-02", Status.EMPTY)]),
            (3, "red", [report("node-01", Status.EMPTY), report("node-02", Status.OK, lines=3)]),
            (240, "red", [report(None, Status.PARTIAL, lines=1, rejected=4, reason="cut")]),
            (1, "blue", [ConnectorReport(connector="promql", source=Source.NODE_METRICS, status=Status.OK)]),
        ):
            diagnosis = builders.single().model_copy(update={"workload_id": f"job-{hours}", "untestable": (lost, lost)})
            result = result_of(diagnosis, *reports, ended_at=NOW - timedelta(hours=hours))
            write_result(writable, result, NOW, tenant)
    with closing(open_store(path, read_only=True)) as found:
        yield found


@pytest.fixture
def red(store: Store) -> httpx.Client:
    tokens = {"token-of-red-0001": "red"}
    return client(store, Access(tenant_of=tokens.get), authorization="Bearer token-of-red-0001")


def see(pages: httpx.Client, address: str, status: int = 200) -> Element:
    answer = pages.get(address)
    assert answer.status_code == status
    return promises(answer.text)


def cells(page: Element, section: str) -> list[list[str]]:
    """The rows of the table of a section."""
    body = page.one("section", **{"aria-labelledby": section}).one("tbody")
    return [[part.text for part in row.parts if isinstance(part, Element)] for row in body.all("tr")]


def test_reports_are_counted_by_how_they_ended(red: httpx.Client) -> None:
    page = see(red, "/coverage")
    assert page.one("p", role="status").text == "What the connectors gave for 3 attempts that ended in the last 7 days"
    told = [row[:6] for row in cells(page, "reports")]
    assert told == [
        ["loki", "system log", "○ empty", "2", "2", "0"],
        ["loki", "system log", "■ error", "1", "1", "0"],
        ["loki", "system log", "● ok", "3", "3", "15"],
    ]
    assert "<script>" in cells(page, "reports")[1][-1] and "\\x1b[2J" in cells(page, "reports")[1][-1]
    assert cells(page, "good") == [["loki", "system log", "● ok", "2026-05-04 11:00"]]


def test_nodes_that_give_nothing_come_first_and_lead_to_their_page(red: httpx.Client) -> None:
    page = see(red, "/coverage")
    assert [row[:4] for row in cells(page, "silent")] == [["node-02", "loki", "system log", "2 of 3 attempts"]]
    section = page.one("section", **{"aria-labelledby": "silent"})
    assert section.one("a").attributes["href"] == "/nodes/node-02"


def test_what_could_not_be_tested_counts_an_attempt_once(red: httpx.Client) -> None:
    row = cells(see(red, "/coverage"), "untested")[0]
    assert (row[0], row[2], row[3]) == ("node metrics", "3 of 3", "NVLink fabric")


def test_the_twin_has_it_all_for_a_longer_time(red: httpx.Client) -> None:
    answer = red.get("/coverage.json?days=30").json()
    assert (answer["days"], answer["attempts"], answer["bounded"], answer["untested_of"]) == (30, 4, False, 4)
    partial = next(row for row in answer["reports"] if row["status"] == "partial")
    assert (partial["rejected"], partial["reason"], partial["results"]) == (4, "cut", 1)
    assert answer["last_good"] == [{"connector": "loki", "source": "syslog", "at": "2026-05-04T11:00:00+00:00"}]
    assert [row["node"] for row in answer["silent_nodes"]] == ["node-02"]


def test_another_tenants_connectors_are_not_told(red: httpx.Client) -> None:
    assert "promql" not in red.get("/coverage.json?days=365").text


def test_a_bound_is_told(red: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "WINDOW", 2)
    assert red.get("/coverage.json").json()["bounded"]
    assert "the newest" in see(red, "/coverage").one("p", role="status").text


@pytest.mark.parametrize("days", ["0", "366", "-1", "x", "٣", "1e2"])
def test_a_bad_number_of_days_is_told(red: httpx.Client, days: str) -> None:
    assert "write 1 to 365" in see(red, f"/coverage?days={days}", 400).text


def test_an_empty_time_is_told(tmp_path: object) -> None:
    with closing(open_store(f"{tmp_path}/empty.db")) as empty:
        assert "No connector reported" in see(client(empty), "/coverage?days=1").one("p", class_="empty").text
