"""The pages answer with HTML and JSON alike, only to whom they may, and say in a sentence what is wrong."""

import json
import re
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from attribution.contracts.errors import Place, Problem
from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.access import Access
from attribution.dashboard.headers import POLICY
from attribution.dashboard.pages import attempts
from attribution.dashboard.views import links
from attribution.store.database import Store, open_store
from attribution.store.faults import DatabaseDamaged, StoreUnavailable
from attribution.store.results import write_result

from tests.dashboard.conftest import NOW, client
from tests.dashboard.markup import Element, promises
from tests.presentation import builders
from tests.store.results import result

TOKENS = {"token-of-red-0001": "red", "token-of-blue-001": "blue"}


def rows(page: Element) -> list[Element]:
    """The attempts of a list page."""
    return page.one("table").one("tbody").all("tr") if page.all("table") else []


def listed(page: Element) -> list[str]:
    """What the list calls its attempts."""
    return [row.one("th").one("a").text for row in rows(page)]


def see(pages: httpx.Client, address: str, status: int = 200) -> Element:
    """A page, after checking what holds for every answer."""
    answer = pages.get(address)
    assert answer.status_code == status, answer.text[:500]
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return promises(answer.text)


# --- the list -----------------------------------------------------------------------------------------------------


def test_the_newest_attempt_comes_first_with_what_is_known_of_it(pages: httpx.Client) -> None:
    page = see(pages, "/attempts")
    assert len(listed(page)) == len(builders.SHAPES)
    first = rows(page)[0]
    assert [cell.text for cell in first.all("td")] == [
        "2026-05-04 11:00:00 1 h ago",
        "■ failed",
        "NVLink signal integrity (Xid 149, sub-code 4) NVLink fabric",
        "node-02 of 2 nodes",
    ]
    assert first.one("th").text == "job-single, attempt 2 <i>train</i> · ana · cluster-a · red"
    assert first.one("time").attributes["datetime"] == "2026-05-04T11:00:00+00:00"


def test_what_is_not_one_cause_is_not_told_as_one(pages: httpx.Client) -> None:
    told = {row.one("th").one("a").text: row.all("td")[2].text for row in rows(see(pages, "/attempts"))}
    assert told["job-ambiguous, attempt 2"].startswith("Several causes fit an uncorrectable GPU memory error")
    assert told["job-insufficient, attempt 2"].startswith("No cause is in the evidence")
    assert told["job-none, attempt 2"] == "Nothing wrong"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("terminal_state=node_failed", ["compound"]),
        ("sub_domain=ambiguous", ["ambiguous"]),
        ("cause=HOST_OOM", ["metric"]),
        ("node=node-09&node_role=affected", ["compound"]),
        ("user=ben&since=4h", ["user_code", "ambiguous"]),
        ("since=2026-05-04+08:00&until=2026-05-04T09:00Z", ["ambiguous"]),
        ("q=JOB-MET+node-02", ["metric"]),
        ("q=job-met+node-77", []),
        ("q=job-met", ["metric"]),
        ("cluster=elsewhere", []),
        ("q=%25", []),
    ],
)
def test_filters_narrow_the_list(pages: httpx.Client, query: str, names: list[str]) -> None:
    page = see(pages, f"/attempts?{query}")
    assert listed(page) == [f"job-{name}, attempt 2" for name in names]
    answer = pages.get(f"/attempts.json?{query}").json()
    assert [item["workload_id"] for item in answer["attempts"]] == [f"job-{name}" for name in names]
    assert answer["total"] == len(names)
    if not names:
        assert "No attempt matches" in page.one("p", class_="empty").text


def test_the_form_shows_what_is_asked_and_keeps_what_was_chosen(pages: httpx.Client) -> None:
    page = see(pages, "/attempts?q=%22%3E%3Cb%3E&node=node-02&terminal_state=failed&limit=7")
    form = page.one("form")
    given = {item.attributes["name"]: item.attributes["value"] for item in form.all("input")}
    assert given == {
        "q": '"><b>',
        "node": "node-02",
        "user": "",
        "since": "",
        "until": "",
        "terminal_state": "failed",
        "limit": "7",
    }
    assert 'text "><b>, state failed, node node-02' in page.one("p", role="status").text


def test_facets_count_what_is_there_and_lead_to_it(pages: httpx.Client) -> None:
    page = see(pages, "/attempts?user=ana")
    facet = page.one("section", **{"aria-labelledby": "facet-terminal_state"})
    counts = {}
    for item in facet.all("a"):
        word, number = item.all("span")[0].text, int(item.one("span", class_="number").text)
        counts[word] = number
        assert len(listed(see(pages, item.attributes["href"]))) == number, word
    assert counts == {"failed": 3, "node failed": 1, "out of memory": 1}
    chosen = page.one("nav", id="facets").one("a", **{"aria-current": "true"})
    assert chosen.text == "✓ chosen: ana 5"
    assert chosen.attributes["href"] == "/attempts"


def test_every_facet_of_a_node_counts_what_its_link_lists(pages: httpx.Client) -> None:
    facet = see(pages, "/attempts").one("section", **{"aria-labelledby": "facet-node"})
    for item in facet.all("a"):
        if "evil" not in item.text:
            shown = len(listed(see(pages, item.attributes["href"])))
            assert shown == int(item.one("span", class_="number").text), item.text


def test_pages_lead_through_every_attempt_once(pages: httpx.Client) -> None:
    everything = listed(see(pages, "/attempts"))
    found: list[str] = []
    address = "/attempts?limit=4"
    for _ in range(10):
        page = see(pages, address)
        found += listed(page)
        older = page.one("nav", class_="pages").all("a", rel="next")
        if not older:
            break
        address = older[0].attributes["href"]
    assert found == everything
    assert page.one("a", rel="first").attributes["href"] == "/attempts?limit=4"


def test_the_json_twin_is_linked_and_its_pages_lead_on(pages: httpx.Client) -> None:
    page = see(pages, "/attempts?limit=4&user=ana")
    twin = page.one("footer").one("a").attributes["href"]
    answer = pages.get(twin).json()
    assert [item["href"] for item in answer["attempts"]] == [row.all("a")[0].attributes["href"] for row in rows(page)]
    assert answer["filters"] == {"user": "ana", "limit": "4"}
    older = pages.get(answer["next"]).json()
    assert len(older["attempts"]) == 1 and older["next"] is None
    assert {"value": "failed", "results": 3} in answer["facets"]["terminal_state"]


def test_an_empty_store_says_what_fills_it(tmp_path: object) -> None:
    store = open_store(f"{tmp_path}/empty.db")
    page = see(client(store), "/attempts")
    assert "attribution run" in page.one("p", class_="empty").text
    store.close()


def test_a_program_that_accepts_json_gets_the_twin(pages: httpx.Client) -> None:
    for address in ("/attempts?user=ana", "/rules", "/coverage", "/nodes/node-02", "/hot-spots"):
        twin = pages.get(links.twin(address))
        told = pages.get(address, headers={"accept": "application/json"})
        assert told.headers["content-type"] == "application/json" and told.headers["vary"] == "accept"
        assert told.json() == twin.json()
        for accept in ("text/html,application/json", "*/*"):
            assert pages.get(address, headers={"accept": accept}).headers["content-type"].startswith("text/html")
    (item,) = pages.get("/attempts?q=job-single", headers={"accept": "application/json"}).json()["attempts"]
    ticket = pages.get(f"{item['href']}.md", headers={"accept": "application/json"})
    assert ticket.headers["content-type"].startswith("text/markdown")


# --- the diagnosis ------------------------------------------------------------------------------------------------


def test_every_attempt_of_the_list_has_its_page_and_twins(pages: httpx.Client) -> None:
    for row in rows(see(pages, "/attempts")):
        address = row.all("a")[0].attributes["href"]
        page = see(pages, address)
        downloads = {item.text: item.attributes for item in page.one("p", class_="downloads").all("a")}
        result = AttributionBlueprintResult.model_validate_json(pages.get(downloads["Download JSON"]["href"]).content)
        markdown = pages.get(downloads["Download Markdown"]["href"])
        assert markdown.headers["content-type"].startswith("text/markdown")
        assert markdown.text.startswith("## ") and markdown.text.endswith("\n")
        told = re.findall(r"^- \[[^]]+\]\((http\S+)\)$", markdown.text, re.MULTILINE)
        assert len(told) >= 3 and all(pages.get(link).status_code == 200 for link in told)
        whole = f"http://127.0.0.1:8080{address}"
        assert f"- [the diagnosis]({whole})\n- [how it was decided]({whole}/decided)\n" in markdown.text
        assert downloads["Download JSON"]["download"].endswith(".json")
        assert address == urlsplit(downloads["Download JSON"]["href"]).path.removesuffix(".json")
        assert result.diagnosis.terminal_state == result.terminal_state


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("attribution.example:8443", "http://attribution.example:8443"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("evil.example)](javascript:alert(1)//", ""),
        ("a b", ""),
        ("x" * 300, ""),
        ("", ""),
    ],
)
def test_a_ticket_has_links_only_under_an_address_that_is_known(store: Store, host: str, origin: str) -> None:
    access = Access(tenant_of=TOKENS.get)
    red = client(store, access, authorization="Bearer token-of-red-0001", host=host)
    (row,) = rows(see(red, "/attempts"))
    address = row.all("a")[0].attributes["href"]
    told = red.get(f"{address}.md").text
    assert (f"- [the diagnosis]({origin}{address})\n" in told) is bool(origin)
    assert ("On the dashboard" in told) is bool(origin) and "javascript" not in told


@pytest.mark.parametrize("key", ["0" * 32, "x", "0" * 31, "..%2f..%2fetc", "%00", "A" * 32, "0" * 5000])
def test_an_unknown_attempt_is_told(pages: httpx.Client, key: str) -> None:
    assert "There is no such page" in see(pages, f"/attempts/{key}", 404).one("h1").text
    problem = pages.get(f"/attempts/{key}.json")
    assert problem.headers["content-type"] == "application/problem+json"
    assert problem.json()["status"] == 404


# --- what is wrong ------------------------------------------------------------------------------------------------


def test_a_bad_address_names_the_key_and_the_remedy_on_both_twins(pages: httpx.Client) -> None:
    page = see(pages, "/attempts?terminal_state=faild&%1b%5b2J=%3Cb%3E", 400)
    told = [item.text for item in page.one("main").all("li")]
    assert "`terminal_state` cannot be `faild`: did you mean `failed`?" in told
    assert any(r"\x1b[2J" in item for item in told)
    problem = pages.get("/attempts.json?after=nowhere").json()
    assert problem["status"] == 400
    assert problem["problems"][0]["place"] == "?after" and problem["problems"][0]["remedy"]


def test_nothing_can_be_written(pages: httpx.Client) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = pages.request(method, "/attempts")
        assert answer.status_code == 405
        promises(answer.text)


@pytest.mark.parametrize("address", ["/nowhere", "/attempts/", "/static/nowhere", "/static/../app.py"])
def test_what_is_not_there_is_told_in_a_page(pages: httpx.Client, address: str) -> None:
    see(pages, address, 404)


def test_a_store_that_does_not_answer_is_told_without_its_place(
    pages: httpx.Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object, **__: object) -> None:
        raise StoreUnavailable([Problem(Place(store.place), "T011", "cannot be used now: database is locked")])

    monkeypatch.setattr(attempts, "list_in", locked)
    page = see(pages, "/attempts", 503)
    assert "Try again" in page.text and store.place not in page.text
    answer = pages.get("/attempts.json")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_what_breaks_is_told_without_what_broke(pages: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret of the program")

    monkeypatch.setattr(attempts, "list_in", broken)
    assert "secret" not in see(pages, "/attempts", 500).text


# --- who may read -------------------------------------------------------------------------------------------------


def test_a_tenant_sees_its_own_attempts_only(store: Store) -> None:
    access = Access(tenant_of=TOKENS.get)
    red = client(store, access, authorization="Bearer token-of-red-0001")
    blue = client(store, access, authorization="Bearer token-of-blue-001")
    assert listed(see(red, "/attempts")) == ["job-single, attempt 2"]
    assert listed(see(blue, "/attempts")) == ["job-ambiguous, attempt 2"]
    address = rows(see(red, "/attempts"))[0].all("a")[0].attributes["href"]
    for suffix in ("", ".json", ".md"):
        assert red.get(address + suffix).status_code == 200
        assert blue.get(address + suffix).status_code == 404
    facets = json.dumps(blue.get("/attempts.json").json()["facets"])
    assert "NVLINK" not in facets and "node-09" not in facets


@pytest.mark.parametrize("address", ["/", "/attempts", "/attempts.json", f"/attempts/{'0' * 32}", "/nowhere"])
def test_without_a_token_nothing_is_shown(store: Store, address: str) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}):
        answer = client(store, Access(tenant_of=TOKENS.get), **headers).get(address)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Basic")
        assert "job-" not in answer.text
        if not address.endswith(".json"):
            promises(answer.text)


def test_the_sheet_and_the_health_need_no_token(store: Store) -> None:
    pages = client(store, Access(tenant_of=TOKENS.get))
    assert pages.get("/static/attribution.css").headers["content-type"].startswith("text/css")
    assert pages.get("/static/icon.svg").headers["content-type"].startswith("image/svg+xml")
    assert pages.get("/healthz").json() == pages.get("/readyz").json() == {"status": "ok"}


def test_the_sheet_loads_nothing_and_knows_both_schemes(pages: httpx.Client) -> None:
    sheet = pages.get("/static/attribution.css").text
    assert not re.search(r"url\(|@import|https?:", sheet)
    assert "prefers-color-scheme: dark" in sheet


def test_the_front_door_leads_to_the_list(pages: httpx.Client) -> None:
    answer = pages.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/attempts")


@pytest.mark.parametrize(
    "path",
    ["", ".json", ".md", "/excerpt.tar.gz", "/decided", "/decided.json", "/evidence/e1", "/evidence/e1.json"],
)
def test_a_key_that_a_page_of_an_attempt_does_not_know_is_refused(pages: httpx.Client, path: str) -> None:
    (row,) = rows(see(pages, "/attempts?q=job-single"))
    address = row.all("a")[0].attributes["href"] + path
    assert pages.get(address).status_code == 200
    answer = pages.get(f"{address}?days=7")
    assert answer.status_code == 400 and "`days` is not a key of this page" in answer.text


def test_a_key_is_refused_where_a_page_has_none(pages: httpx.Client) -> None:
    assert "`x` is not a key of this page: this page has none" in see(pages, "/patterns?x=1", 400).text


# --- the file of the store ----------------------------------------------------------------------------------------


def test_a_file_that_is_moved_away_or_replaced_is_noticed(tmp_path: Path) -> None:
    path, backup = tmp_path / "results.db", tmp_path / "backup.db"
    for file, name in ((path, "job-old"), (backup, "job-restored")):
        with closing(open_store(str(file))) as writable:
            write_result(writable, result(name, 0, ()), NOW)
    with closing(open_store(str(path), read_only=True)) as store, client(store) as pages:
        assert [row["workload_id"] for row in pages.get("/attempts.json").json()["attempts"]] == ["job-old"]
        path.rename(tmp_path / "away.db")
        assert pages.get("/readyz").status_code == pages.get("/attempts").status_code == 503
        backup.rename(path)
        assert pages.get("/readyz").status_code == 200
        assert [row["workload_id"] for row in pages.get("/attempts.json").json()["attempts"]] == ["job-restored"]


def test_a_damaged_database_is_told_as_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "results.db"
    with closing(open_store(str(path))) as writable:
        for number in range(40):
            write_result(writable, result(f"job-{number}", number, ()), NOW)
    with closing(open_store(str(path), read_only=True)) as store, client(store) as pages:
        with path.open("r+b") as file:  # all but the page of the schema
            file.seek(4096)
            file.write(b"\xff" * (path.stat().st_size - 4096))
        for address in ("/attempts", "/readyz"):
            answer = pages.get(address)
            assert answer.status_code == 503
            assert "must restore it from a backup" in answer.text
    assert "T010 is damaged" in caplog.text
    with pytest.raises(DatabaseDamaged) as told, closing(open_store(str(path))):
        pass
    assert "restore the database from a backup" in str(told.value)
