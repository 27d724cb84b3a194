"""The pages of rules and symptoms say what `attribution explain` says, and where each was seen."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import httpx
import pytest

from attribution.cli.explain import page as explained
from attribution.contracts.diagnosis import CatalogIdentity
from attribution.contracts.exchange import CatalogSnapshot, RuleDescription
from attribution.dashboard.access import Access
from attribution.extraction.ruleset import RuleSets
from attribution.rules.snapshot import snapshot
from attribution.store import mentions
from attribution.store.catalogs import save_snapshot
from attribution.store.database import Store, open_store
from attribution.store.results import write_result

from tests.dashboard.conftest import NOW, client, fill, result_of
from tests.dashboard.markup import Element, promises
from tests.presentation import builders

OLD = CatalogSnapshot(
    catalog=CatalogIdentity(version="0.0.9", digest="old"),
    rules=(
        RuleDescription(
            id="NVL001",
            name="nvlink5-xid",
            kind="extractor",
            status="stable",
            since="0.0.9",
            summary="An older <b>summary</b>.",
            why="w",
            misses="m",
            next_step="n",
        ),
    ),
    symptoms=(),
)
"""As a catalog was kept before its snapshot held the whole manual."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, shipped: RuleSets) -> Iterator[Store]:
    path = str(tmp_path_factory.mktemp("catalogs") / "results.db")
    with closing(open_store(path)) as writable:
        fill(writable)
        save_snapshot(writable, OLD, NOW - timedelta(days=30))
        save_snapshot(writable, snapshot(shipped.catalog), NOW)
        for number, weeks in enumerate((1, 1, 5, 40)):
            diagnosis = builders.single().model_copy(update={"workload_id": f"old-{number}"})
            write_result(writable, result_of(diagnosis, ended_at=NOW - timedelta(weeks=weeks)), NOW, "red")
    with closing(open_store(path, read_only=True)) as found:
        yield found


def see(pages: httpx.Client, address: str, status: int = 200) -> Element:
    answer = pages.get(address)
    assert answer.status_code == status, answer.text[:300]
    return promises(answer.text)


def plain(text: str) -> list[str]:
    """The words of a text, without the marks that set it apart on a terminal."""
    return re.sub(r"[:()`]", " ", text).split()


def manual_words(page: Element) -> list[str]:
    """The words of a page's manual in their order, with its headline before them."""
    parts = [page.one("h1").text, page.one("p", class_="about").text, page.one("p", class_="lead-text").text]
    return plain(" ".join([*parts, *_texts(page.one("dl", class_="manual"))]))


def _texts(element: Element) -> Iterator[str]:
    for part in element.parts:
        if isinstance(part, Element):
            yield from _texts(part)
        else:
            yield part


@pytest.mark.parametrize(
    "name", ["NVL001", "XID001", "REL001", "XID_79", "NVLINK_SIGNAL_INTEGRITY", "NCCL_WATCHDOG_TIMEOUT"]
)
def test_a_page_says_what_the_command_says(pages: httpx.Client, shipped: RuleSets, name: str) -> None:
    room = "symptoms" if name in shipped.catalog.symptoms else "rules"
    said = [line for line in explained(shipped.catalog, name) if not line.startswith(("Written in", "See also"))]
    while not said[-1]:
        said.pop()
    assert manual_words(see(pages, f"/{room}/{name}")) == plain("\n".join(said))


def test_literals_stand_as_code(pages: httpx.Client, shipped: RuleSets) -> None:
    manual = see(pages, "/rules/NVL001").one("dl", class_="manual")
    (told,) = [div.one("dd") for div in manual.all("div") if div.all("dt")[0].text == "Literals"]
    rule = next(rule for rule in snapshot(shipped.catalog).rules if rule.id == "NVL001")
    assert rule.text is not None and [item.raw_text for item in told.all("code")] == list(rule.text.literals)
    assert "`" not in told.text


def test_every_rule_and_symptom_of_the_list_has_its_page(pages: httpx.Client, shipped: RuleSets) -> None:
    for path, number in (("/rules", len(shipped.catalog.rules)), ("/symptoms", len(shipped.catalog.symptoms))):
        page = see(pages, path)
        links = [row.one("th", scope="row").one("a").attributes["href"] for row in page.all("tr") if row.all("td")]
        assert len(links) == len(set(links)) == number
        for link in links[:: len(links) // 10]:
            see(pages, link)
            assert pages.get(f"{link}.json").status_code == 200
        twin = pages.get(page.one("footer").one("a").attributes["href"]).json()
        assert len(twin[path[1:]]) == number


def test_lists_are_narrowed_by_words_and_kinds(pages: httpx.Client) -> None:
    page = see(pages, "/rules?q=nvlink+xid&kind=extractor")
    names = [item["id"] for item in pages.get("/rules.json?q=nvlink+xid&kind=extractor").json()["rules"]]
    assert "NVL001" in names and "REL001" not in names
    chosen = page.one("nav", class_="choices").one("a", **{"aria-current": "true"})
    assert "extractor" in chosen.text and chosen.attributes["href"] == "/rules?q=nvlink+xid"
    for choice in page.one("nav", class_="choices").all("a"):
        if choice is not chosen:
            kind = choice.text.split()[0]
            shown = pages.get(choice.attributes["href"].replace("/rules?", "/rules.json?")).json()["rules"]
            assert {item["kind"] for item in shown} == {kind}
            assert len(shown) == int(choice.one("span", class_="number").text)
    causes = pages.get("/symptoms.json?role=cause&sub_domain=nvlink_fabric").json()["symptoms"]
    assert {(item["role"], item["sub_domain"]) for item in causes} == {("cause", "nvlink_fabric")}
    assert "No rule matches." in see(pages, "/rules?q=%3Cb%3Enothing").text


def test_where_a_symptom_was_seen_is_counted_by_week(pages: httpx.Client) -> None:
    page = see(pages, "/symptoms/NVLINK_SIGNAL_INTEGRITY")
    weeks = {row.one("th").text: int(row.one("td").text) for row in page.one("table", class_="narrow").all("tr")[1:]}
    assert len(weeks) == 12 and list(weeks) == sorted(weeks)
    twin = pages.get("/symptoms/NVLINK_SIGNAL_INTEGRITY.json").json()
    assert {item["first_day"]: item["attempts"] for item in twin["weeks"]} == weeks
    assert sum(weeks.values()) == twin["total"] == twin["blamed"]
    assert twin["total"] == 4, "the one of 40 weeks ago is too old"
    assert all(item["workload_id"] != "old-3" for item in twin["attempts"])
    bars = page.one("figure", class_="weeks").all("rect")
    assert len(bars) == sum(1 for count in weeks.values() if count)
    newest = page.one("table", class_="stack").one("tbody").all("tr")[0]
    assert newest.one("a").text == "job-single, attempt 2"


def test_a_rule_was_seen_where_it_read_a_line(pages: httpx.Client) -> None:
    twin = pages.get("/rules/NVL001.json").json()
    assert twin["rule"]["id"] == "NVL001" and not twin["bounded"]
    listed = pages.get("/rules.json?q=NVL001").json()
    assert next(item for item in listed["rules"] if item["id"] == "NVL001")["attempts"] == twin["total"] + 1
    assert see(pages, "/rules/XID103").all("rect") == []


def test_numbers_say_what_they_leave_out(pages: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "MOST", 2)
    assert pages.get("/rules/NVL001.json").json()["bounded"]
    assert "that were written last with it" in see(pages, "/rules/NVL001").text


def test_a_tenant_counts_its_own_attempts_only(store: Store) -> None:
    tokens = {"token-of-blue-001": "blue", "token-of-red-0001": "red"}
    blue, red = (client(store, Access(tenant_of=tokens.get), authorization=f"Bearer {token}") for token in tokens)
    assert blue.get("/rules/NVL001.json").json()["total"] < red.get("/rules/NVL001.json").json()["total"]
    seen = blue.get("/symptoms/NVLINK_SIGNAL_INTEGRITY.json").json()
    assert (seen["total"], seen["blamed"], seen["attempts"]) == (0, 0, [])
    often = {item["name"]: item["attempts"] for item in blue.get("/symptoms.json").json()["symptoms"]}
    assert often["NVLINK_SIGNAL_INTEGRITY"] == 0


def test_an_old_catalog_is_told_as_it_was(pages: httpx.Client) -> None:
    page = see(pages, "/rules/NVL001?catalog=old")
    assert page.one("p", class_="lead-text").text == "An older <b>summary</b>."
    assert [
        item.text.split(",")[0] for item in page.one("ul", class_="catalogs").all("span", **{"aria-current": "true"})
    ]
    assert page.one("ul", class_="catalogs").one("span", **{"aria-current": "true"}).text.endswith("version 0.0.9")
    assert see(pages, "/rules?catalog=old").one("tbody").one("a").attributes["href"] == "/rules/NVL001?catalog=old"
    assert pages.get("/rules/NVL001.json?catalog=old").json()["catalog"]["digest"] == "old"
    see(pages, "/rules?catalog=none", 404)


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/rules/NVL0O1", 404, "Did you mean `NVL001`?"),
        ("/rules/%3Cb%3E", 404, "No rule is called `<b>`"),
        ("/symptoms/NVLINK_SIGNAL_INTEGRIT", 404, "Did you mean `NVLINK_SIGNAL_INTEGRITY`?"),
        ("/rules?kind=extractr", 400, "it is one of extractor, metric, relation, filter, refiner"),
        ("/rules/NVL001?kind=extractor", 400, "`kind` is not a key of this page"),
        ("/symptoms?rol=cause", 400, "did you mean `role`?"),
        ("/symptoms?q=a&q=b", 400, "`q` is given twice"),
        ("/rules?q=" + "x" * 201, 400, "has more than 200 characters"),
    ],
)
def test_a_bad_address_is_told(pages: httpx.Client, address: str, status: int, said: str) -> None:
    assert said in see(pages, address, status).text


def test_without_a_catalog_the_pages_say_what_brings_one(tmp_path: object) -> None:
    with closing(open_store(f"{tmp_path}/empty.db")) as empty:
        for path in ("/rules", "/symptoms"):
            assert "attribution run" in see(client(empty), path).one("p", class_="empty").text
            assert client(empty).get(f"{path}.json").json()[path[1:]] == []
        see(client(empty), "/rules/NVL001", 404)
