"""Lists, groups, histories and hot spots say the same on both twins, keep to their tenant, and lead where they say."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from attribution.contracts.context import Node
from attribution.contracts.diagnosis import Device
from attribution.contracts.vocabulary import DeviceKind, SubDomain
from attribution.dashboard.access import Access
from attribution.dashboard.views import links
from attribution.dashboard.views.hot_spots import hot_spots_view, surprise
from attribution.dashboard.views.keys import BadQuery
from attribution.dashboard.views.spans import read_span
from attribution.dashboard.views.strip import strip
from attribution.dashboard.views.summary import percent
from attribution.store import survey as counting
from attribution.store.database import Store, open_store
from attribution.store.histories import DayLine
from attribution.store.hot_spots import Fleet, HotSpot, HotSpots
from attribution.store.results import write_result
from attribution.store.units import UnitKind

from tests.dashboard.conftest import NOW, client
from tests.dashboard.markup import Element, promises
from tests.store.results import cause, result

LINK = Device(kind=DeviceKind.NVLINK, ids={"pci": "0000:1b:00", "link": "8"})
PORT = Device(kind=DeviceKind.SWITCH_PORT, ids={"name": "leaf/3", "port": "../12"})
EVIL = "<b>\u202e../evil.json"
TOKENS = {"token-of-red-0001": "red", "token-of-blue-001": "blue"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A month of ten nodes, of which node-04 is hot, and a node and a port with names that are not nice."""
    path = str(tmp_path_factory.mktemp("lists") / "results.db")
    nodes = tuple(Node(name=f"node-{n:02}") for n in range(10))
    network: dict[str, Any] = {"sub_domain": SubDomain.NETWORK_FABRIC}
    causes: list[tuple[Any, ...]] = [() for _ in range(14)]
    causes += [(cause("NVLINK_ERROR", "node-04", device=LINK),) for _ in range(6)]
    causes += [(cause("PORT_DOWN", EVIL, device=PORT, **network),) for _ in range(2)]
    with closing(open_store(path)) as writable:
        for n, found in enumerate(causes):
            ended = NOW - timedelta(hours=11 * n)
            write_result(writable, result(f"job-{n}", 0, found, ended_at=ended, nodes=nodes, user=f"user{n % 2}"), NOW)
        theirs = result("theirs", 0, (cause("SECRET_CAUSE", "their-node", device=LINK),), ended_at=NOW)
        write_result(writable, theirs, NOW, "red")
    with closing(open_store(path, read_only=True)) as opened:
        yield opened


@pytest.fixture
def pages(fleet: Store) -> Iterator[httpx.Client]:
    with client(fleet) as found:
        yield found


def see(pages: httpx.Client, address: str, status: int = 200) -> Element:
    answer = pages.get(address)
    assert answer.status_code == status, answer.text
    return promises(answer.text)


# --- the list -------------------------------------------------------------------------------------------------------


def test_the_summary_counts_the_day_and_the_week_and_leads_there(pages: httpx.Client) -> None:
    page, answer = see(pages, "/attempts"), pages.get("/attempts.json").json()
    day, week = page.one("section", **{"aria-label": "Summary"}).all("div", class_="span")
    assert day.one("p", class_="sum").text == "4 attempts, 1 failed (25 %)"
    assert week.one("p", class_="sum").text == "17 attempts, 3 failed (18 %)"
    assert answer["summary"]["24h"] == {
        "attempts": 4,
        "failed": 1,
        "terminal_state": {"completed": 3, "failed": 1},
        "cause": {"SECRET_CAUSE": 1},
    }
    for link in week.all("a"):
        found = pages.get(link.attributes["href"].replace("/attempts?", "/attempts.json?")).json()
        digits = "".join(char for char in link.text.rpartition(" ")[2] if char.isdigit())
        if link.text != "Last 7 days":
            assert found["total"] == int(digits), link.text


def test_attempts_are_grouped_by_cause_and_by_node(pages: httpx.Client) -> None:
    page = see(pages, "/attempts?group=cause&user=user0")
    rows = [[cell.text for cell in row.all("td")[:2]] for row in page.one("tbody").all("tr")]
    answer = pages.get("/attempts.json?group=cause&user=user0").json()
    assert [(group["value"], group["results"]) for group in answer["groups"]] == [("NVLINK_ERROR", 3), ("PORT_DOWN", 1)]
    assert rows == [["3", "27 %"], ["1", "9 %"]]
    assert answer["attempts"] == [] and answer["next"] is None and answer["groups_among"] is None
    for row, group in zip(page.one("tbody").all("tr"), answer["groups"], strict=True):
        link = row.one("th").all("a")[0].attributes["href"]
        assert "group" not in link and "user=user0" in link
        assert pages.get(link.replace("/attempts?", "/attempts.json?")).json()["total"] == group["results"]
    by_node = see(pages, "/attempts?group=node").one("tbody").all("tr")
    assert [row.one("th").all("a")[0].text for row in by_node][:1] == ["node-04"]
    assert by_node[0].one("th").all("a")[1].attributes["href"] == "/nodes/node-04"
    grouped = see(pages, "/attempts?group=node&limit=1")
    assert [cell.text for cell in grouped.one("thead").all("th")][1] == "Root here"
    assert "Not shown: 2 rarer nodes; narrow the list to see them." in grouped.text
    assert "An attempt with several causes" not in grouped.text
    ways = [a.attributes["href"] for a in see(pages, "/attempts?sort=oldest").one("nav", class_="ways").all("a")]
    assert all(pages.get(way).status_code == 200 for way in ways)
    for role, count in (("", ""), ("&node_role=affected", "6")):
        chosen = see(pages, f"/attempts?node=node-04{role}").one("section", **{"aria-labelledby": "facet-node"})
        assert chosen.one("a", **{"aria-current": "true"}).one("span", class_="number").text == count
    assert "No attempt matches" in see(pages, "/attempts?group=node&q=nothing").one("p", class_="empty").text


def test_attempts_without_a_root_are_not_told_as_none(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "results.db"))) as store:
        write_result(store, result("job-9", 1, ()), NOW)
        with client(store) as pages:
            for by, told in (("node", "has a root on a node"), ("cause", "has a cause that is named")):
                page = see(pages, f"/attempts?group={by}")
                assert page.one("p", class_="empty").text == f"Of 1 attempt none {told}."


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ({"ended_at": NOW - timedelta(hours=3)}, "3 h ago"),
        ({"started_at": NOW - timedelta(hours=3)}, "started; no end is known"),
        ({"submitted_at": NOW - timedelta(hours=3)}, "submitted; no end is known"),
        ({}, "diagnosed; no end is known"),
    ],
)
def test_a_time_that_is_no_end_is_told_as_what_it_is(tmp_path: Path, times: dict[str, Any], told: str) -> None:
    with closing(open_store(str(tmp_path / "results.db"))) as store:
        write_result(store, result("job-9", 0, (), **{"ended_at": None, **times}), NOW)
        with client(store) as pages:
            (row,) = see(pages, "/attempts").one("tbody").all("tr")
            assert row.one("td", **{"data-label": "Ended"}).one("span").text == told


def test_the_oldest_may_come_first(pages: httpx.Client) -> None:
    newest = [row["workload_id"] for row in pages.get("/attempts.json").json()["attempts"]]
    found: list[str] = []
    address: str | None = "/attempts.json?sort=oldest&limit=5"
    while address:
        answer = pages.get(address).json()
        found += [row["workload_id"] for row in answer["attempts"]]
        address = answer["next"]
    assert found == newest[::-1]
    page = see(pages, "/attempts?sort=oldest&limit=5")
    assert page.one("nav", class_="pages").one("a", rel="next").text == "Newer"
    chosen = [a.text for a in page.one("nav", class_="ways").all("a", **{"aria-current": "true"})]
    assert chosen == ["✓ all time", "✓ One by one", "✓ Oldest first"]


def test_the_form_sends_each_key_once(pages: httpx.Client) -> None:
    address = "/attempts?q=node&node=node-04&node_role=affected&user=ana&since=30d&cluster=c&sort=oldest"
    form = see(pages, address).one("form")
    fields = [(field.attributes["name"], field.attributes.get("value", "")) for field in form.all("input")]
    assert len({name for name, _ in fields}) == len(fields)
    emptied = [(name, "" if name in {"node", "user"} else value) for name, value in fields]
    assert pages.get("/attempts", params=emptied).status_code == 200
    assert dict(fields) | {"since": "30d", "until": ""} == dict(fields), "the fields hold what was asked"


def test_what_is_bounded_is_said(pages: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "WINDOW", 4)
    monkeypatch.setattr(counting, "COUNTED", 3)
    page = see(pages, "/attempts?user=user0&terminal_state=failed")
    assert page.one("p", role="status").text.startswith("At least 3 attempts")
    facet = page.one("section", **{"aria-labelledby": "facet-cause"})
    assert facet.one("p", class_="more").text == "among the newest 4 that match"
    answer = pages.get("/attempts.json?user=user0&terminal_state=failed").json()
    assert (answer["total"], answer["total_is_at_least"], answer["facets_among"]["cause"]) == (3, True, 4)
    grouped = see(pages, "/attempts?group=cause&user=user0&terminal_state=failed")
    assert "Counted among the newest 4 that match." in grouped.text
    assert pages.get("/attempts.json").json()["facets_among"] == dict.fromkeys(answer["facets"])


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/attempts?group=user", "`group` cannot be `user`: it is one of cause, node"),
        ("/attempts?group=node&sort=oldest", "`sort` is given with `group`"),
        ("/attempts?sort=bigest", "`sort` cannot be `bigest`"),
        ("/attempts?q=1+2+3+4+5+6+7+8+9", "`q` has more than 8 words: leave some out"),
        ("/attempts?group=cause&after=x", "`after` is given with `group`"),
        ("/nodes?days=0", "`days` is no number of days: write 1 to 90"),
        ("/nodes/node-04?part=caused", "`part` cannot be `caused`: it is one of"),
        ("/nodes/node-04?after=nowhere", "`after` leads nowhere"),
        ("/hot-spots?span=7", "`span` is not a key of this page"),
        ("/devices/node-04/gpu/x?days=9&days=9", "`days` is given twice"),
    ],
)
def test_what_is_wrong_is_told_on_both_twins(pages: httpx.Client, address: str, told: str) -> None:
    assert told in see(pages, address, 400).text
    path, _, query = address.partition("?")
    assert pages.get(f"{path}.json?{query}").json()["problems"][0]["remedy"]


# --- histories ------------------------------------------------------------------------------------------------------


def test_nodes_are_listed_by_failures(pages: httpx.Client) -> None:
    page, answer = see(pages, "/nodes"), pages.get("/nodes.json").json()
    rows = [[row.one("th").text, *(cell.text for cell in row.all("td"))] for row in page.one("tbody").all("tr")]
    assert rows[0][:2] == ["node-04", "6"] and rows[0][3] == "22"
    assert [item["node"] for item in answer["nodes"]] == ["node-04", EVIL, "their-node"]
    assert answer["nodes"][0] | {"last_at": None} == {
        "href": "/nodes/node-04",
        "cluster": "",
        "node": "node-04",
        "attempts": 22,
        "affected": 6,
        "blamed": 6,
        "last_at": None,
    }
    assert [item["node"] for item in pages.get("/nodes.json?q=DE-0").json()["nodes"]] == ["node-04"]
    assert "No node" in see(pages, "/nodes?q=zzz").one("p", class_="empty").text
    for row in page.one("tbody").all("tr"):
        see(pages, row.one("a").attributes["href"])


def test_the_history_of_a_node(pages: httpx.Client) -> None:
    page, answer = see(pages, "/nodes/node-04"), pages.get("/nodes/node-04.json").json()
    assert answer["roles"] == {"allocated": 22, "affected": 6, "interesting": 0, "excluded": 0, "attempts": 22}
    assert sum(day["causes"] for day in answer["days"]) == 6
    assert [(item["unit"], item["causes"]) for item in answer["units"]] == [
        ("gpu 0000:1b:00", 6),
        ("gpu 0000:1b:00 link 8", 6),
    ]
    assert len(page.one("section", **{"aria-labelledby": "attempts"}).all("tr")) == 23
    causes = pages.get("/nodes/node-04.json?part=cause").json()["attempts"]
    assert {row["cause"] for row in causes} == {"NVLINK_ERROR"} and len(causes) == 6
    assert "possible causes that were set aside" in page.text and "Possible causes set aside" in page.text
    drawing = page.one("svg", class_="days-strip")
    assert drawing.attributes["role"] == "img" and "6 with a root here" in drawing.attributes["aria-label"]
    assert len(drawing.all("title")) == sum(1 for day in answer["days"] for n in ("attempts", "causes") if day[n])
    assert len(page.one("details").one("tbody").all("tr")) == len(answer["days"])
    assert "No attempt" in see(pages, "/nodes/nobody").one("p", class_="empty").text


def test_every_link_of_a_history_leads_to_a_page(pages: httpx.Client) -> None:
    seen: set[str] = set()
    todo = ["/hot-spots", "/nodes"]
    while todo:
        address = todo.pop()
        if address not in seen and urlsplit(address).path.startswith(("/hot-spots", "/nodes", "/devices")):
            seen.add(address)
            found = see(pages, address).one("main").all("a")
            todo += [
                link.attributes["href"].partition("#")[0] for link in found if "days=" not in link.attributes["href"]
            ]
    assert {"/nodes/node-04", "/devices/node-04/gpu/0000:1b:00/link/8"} <= seen
    assert links.node(EVIL) in seen


def test_the_history_of_a_part(pages: httpx.Client) -> None:
    address = links.unit("node-04", "gpu 0000:1b:00 link 8")
    page, answer = see(pages, address), pages.get(links.twin(address)).json()
    assert page.one("h1").text == "GPU 0000:1b:00 · link 8 of node-04"
    assert answer["parts"] == {"cause": 6, "candidate": 0, "finding": 0, "aside": 0}
    assert [entry["symptoms"] for entry in answer["attempts"]] == [["NVLINK_ERROR"]] * 6
    assert page.one("p", class_="crumbs").all("a")[-1].attributes["href"] == "/devices/node-04/gpu/0000:1b:00"
    port = links.unit("", "switch leaf/3 port ../12")
    assert pages.get(links.twin(port)).json()["node"] is None
    assert see(pages, port).one("h1").text == "switch leaf/3 · port ../12"
    assert "Nothing was found" in see(pages, "/devices/node-04/gpu/none").one("p", class_="empty").text


@pytest.fixture
def several(tmp_path: object) -> Iterator[httpx.Client]:
    """Nodes of one name in two clusters, which failed three months ago, and one of no cluster."""
    old = NOW - timedelta(days=80)
    fault = (cause("NVLINK_ERROR", "node-04", device=LINK),)
    with closing(open_store(f"{tmp_path}/several.db")) as store:
        for n, cluster in enumerate(("alpha", "alpha", "alpha", "beta", None)):
            ended = old + timedelta(hours=n)
            write_result(store, result(f"{cluster}-{n}", 0, fault, ended_at=ended, cluster=cluster), NOW)
            named = (cause("NVLINK_ERROR", "node-05", device=LINK),)
            if cluster:
                write_result(store, result(f"new-{n}", 0, named, ended_at=ended, cluster=cluster), NOW)
        with client(store) as found:
            yield found


def test_a_node_of_each_cluster_has_its_own_history(several: httpx.Client) -> None:
    key = next(row["href"] for row in several.get("/attempts.json?cluster=beta&q=beta-3").json()["attempts"])
    page = see(several, key)
    node, part = [a.attributes["href"] for a in page.one("p", class_="where").all("a")][:2]
    assert node == "/nodes/node-04?cluster=beta&until=2026-02-13"
    assert "hardware, driver or system of the same node (node-04)" in page.one("div", class_="seen").text
    for address, text, chosen in (
        (node, "in cluster beta", "beta"),
        (part, "in cluster beta", "beta"),
        ("/nodes/node-04", "in no cluster", "none"),
    ):
        found = see(several, address)
        assert found.one("h1").text.endswith(text)
        ways = [a.text for a in found.one("nav", class_="ways", **{"aria-label": "Time"}).all("a")]
        assert ways[-3:] == [f"✓ {name}" if name == chosen else name for name in ("none", "alpha", "beta")]
    answer = several.get(links.twin(node)).json()
    assert answer["roles"]["affected"] == 1 and len(answer["attempts"]) == 1
    assert (answer["cluster"], answer["clusters"]) == ("beta", ["alpha", "beta"])
    assert several.get("/nodes/node-05.json").json()["cluster"] == "beta", "where it was seen last"
    assert several.get("/nodes/node-04.json?days=90").json()["cluster"] is None


def test_lists_of_units_tell_clusters_apart_and_lead_to_what_they_count(several: httpx.Client) -> None:
    rows = several.get("/nodes.json?days=90").json()["nodes"]
    told = [(row["cluster"], row["node"], row["affected"]) for row in rows]
    assert told[:2] == [("alpha", "node-04", 3), ("alpha", "node-05", 3)] and len(told) == 5
    units = several.get("/hot-spots.json?days=90").json()["units"]
    assert {(row["cluster"], row["failures"]) for row in units} == {("alpha", 3)}
    for row in [*rows, *units]:
        found = several.get(links.twin(row["href"])).json()
        counted = found["roles"]["affected"] if "roles" in found else found["parts"]["cause"]
        assert counted == row.get("affected", row.get("failures"))
    assert "cluster alpha" in see(several, "/hot-spots?days=90").one("main").text
    assert [row["node"] for row in several.get("/nodes.json?days=90&cluster=beta").json()["nodes"]] == [
        "node-04",
        "node-05",
    ]
    assert several.get("/hot-spots.json?days=90&cluster=beta").json()["fleet"]["attempts"] == 2
    assert see(several, "/nodes?cluster=beta").one("input", name="cluster").attributes["value"] == "beta"


def test_where_there_is_one_cluster_none_is_told(pages: httpx.Client) -> None:
    for address in ("/nodes", "/nodes/node-04", "/hot-spots", "/devices/node-04/gpu/0000:1b:00"):
        assert "luster" not in see(pages, address).one("main").text


def test_a_history_is_seen_up_to_any_time(several: httpx.Client) -> None:
    assert "No attempt in the last 30 days." in see(several, "/nodes/node-04?cluster=alpha").text
    page = see(several, "/nodes/node-04?cluster=alpha&until=2026-02-13")
    ways = {a.text: a.attributes["href"] for a in page.one("nav", **{"aria-label": "Time"}).all("a")}
    assert ways["up to now"] == "/nodes/node-04?cluster=alpha"
    assert ways["7 days"] == "/nodes/node-04?cluster=alpha&until=2026-02-13&days=7"
    assert page.one("nav", **{"aria-label": "Time"}).text.startswith("Up to 2026-02-13")
    for until, number in (
        ("2026-02-13", 3),
        ("2026-02-12", 0),
        (f"{NOW - timedelta(days=80, hours=-2):%Y-%m-%dT%H:%M:%S}Z", 2),
    ):
        found = several.get(f"/nodes/node-04.json?cluster=alpha&until={until}&days=7").json()
        assert (found["roles"]["affected"], len(found["attempts"])) == (number, number), until
        part = several.get(f"/devices/node-04/gpu/0000:1b:00.json?cluster=alpha&until={until}").json()
        assert part["parts"]["cause"] == number == len(part["attempts"])
    for until in ("x", "0001-01-02", "1970-02-01"):
        see(several, f"/nodes/node-04?until={until}", 400)
    listed = see(several, "/attempts?cluster=beta").one("tbody").all("tr")
    for row in listed:
        address = row.all("a")[-1].attributes["href"]
        assert several.get(links.twin(address)).json()["attempts"]


def test_names_of_logs_are_inert_and_asked_for_as_they_are(pages: httpx.Client) -> None:
    answer = pages.get(links.twin(links.node(EVIL))).json()
    assert answer["node"] == EVIL and answer["roles"]["affected"] == 2
    assert "<b>\\u202e../evil.json" in see(pages, links.node(EVIL)).one("h1").text


# --- hot spots ------------------------------------------------------------------------------------------------------


def test_what_fails_more_often_than_the_fleet_is_told_with_how_likely_it_is(pages: httpx.Client) -> None:
    page, answer = see(pages, "/hot-spots"), pages.get("/hot-spots.json").json()
    hot = [row for row in answer["units"] if row["stands_out"]]
    assert {(row["kind"], row["node"], row["unit"]) for row in hot} == {
        ("node", "node-04", ""),
        ("gpu", "node-04", "gpu 0000:1b:00"),
        ("link", "node-04", "gpu 0000:1b:00 link 8"),
    }
    assert page.one("h1").text == "3 hot spots"
    node = page.one("section", **{"aria-labelledby": "kind-node"}).all("tbody")[0].one("tr")
    told = {cell.attributes["data-label"]: cell.text for cell in node.all("td")}
    assert told["Failures"] == "6" and told["How surprising"] == surprise(
        next(row["by_chance"] for row in hot if row["kind"] == "node")
    )
    assert pages.get("/hot-spots.json?days=1").json()["units"] == []
    assert see(pages, "/hot-spots?days=1").one("h1").text == "No hot spot"


def test_what_does_not_stand_out_is_counted_as_it_is_shown() -> None:
    fleet = Fleet(NOW, 99, 99, 99, {UnitKind.NODE: 99}, {UnitKind.NODE: 99})
    row = HotSpot(UnitKind.NODE, "", "node-01", "", 3, 9, 3.0, 0.9, stands_out=False)
    for count, told in ((1, "1"), (15, "15"), (16, "the 15 least likely of 16")):
        (kind,) = hot_spots_view(read_span([], NOW), HotSpots(fleet, (row,) * count), ("",), NOW).kinds
        assert (kind.others_word, len(kind.others)) == (told, min(count, 15))


def test_a_tenant_sees_its_own_only(fleet: Store) -> None:
    access = Access(tenant_of=TOKENS.get)
    for tenant, own in (("token-of-red-0001", True), ("token-of-blue-001", False)):
        mine = client(fleet, access, authorization=f"Bearer {tenant}")
        addresses = ["/attempts?group=cause", "/attempts?group=node", "/nodes", "/nodes/node-04", "/hot-spots"]
        text = "".join(mine.get(a).text + mine.get(links.twin(a)).text for a in addresses)
        assert "job-" not in text and "NVLINK_ERROR" not in text and "leaf" not in text
        assert ("their-node" in text) is own
        fleet_seen = mine.get("/hot-spots.json").json()["fleet"]
        assert (fleet_seen["attempts"], fleet_seen["nodes"]) == ((1, 2) if own else (0, 0))
        assert mine.get("/attempts.json").json()["summary"]["7d"]["attempts"] == int(own)
        link = mine.get("/devices/node-04/gpu/0000:1b:00/link/8.json").json()
        assert sum(link["parts"].values()) == 0


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chance", "told"),
    [
        (1.0, "no surprise: chance gives some unit as much"),
        (0.0099, "by chance in one of 100 such fleets"),
        (1 / 2_399, "by chance in one of 2,300 such fleets"),
        (1e-12, "by chance in less than one of a billion such fleets"),
        (0.0, "by chance in less than one of a billion such fleets"),
    ],
)
def test_a_chance_is_said_in_words_and_never_rarer_than_it_is(chance: float, told: str) -> None:
    assert surprise(chance) == told


def test_a_share_is_never_rounded_to_nothing_or_all() -> None:
    shares = [percent(*pair) for pair in ((0, 9), (1, 900), (899, 900), (900, 900), (1, 3), (1, 0))]
    assert shares == ["0 %", "< 1 %", "> 99 %", "100 %", "33 %", "–"]


def test_bars_stay_within_the_drawing() -> None:
    since = NOW.replace(hour=0)
    for span in (1, 7, 30, 90):
        lines = [DayLine(since + timedelta(days=day), 1 + day, day % 3, day % 2) for day in range(span)]
        drawn = strip(lines, since, span)
        for lane in drawn.lanes:
            for bar in lane.bars:
                assert bar.x >= 0 and bar.x + bar.width <= drawn.width and bar.width > 0
                assert lane.y - 28 <= bar.y and bar.y + bar.height == lane.y
        assert len(drawn.rows) == span


def test_the_address_of_a_history_is_checked() -> None:
    assert read_span([], NOW).days == 30 and read_span([("days", "7")], NOW).days == 7
    for days in ("0", "91", "x", "٣", "-1", "7.0"):
        with pytest.raises(BadQuery):
            read_span([("days", days)], NOW)
