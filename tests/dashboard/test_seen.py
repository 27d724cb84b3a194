"""What was seen before the attempt on the same node, device and by the same cause is told with links."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from attribution.contracts.context import Gpu, Node
from attribution.contracts.diagnosis import Device, Diagnosis
from attribution.contracts.vocabulary import DeviceKind
from attribution.dashboard.views.query import read
from attribution.store.database import Store, open_store
from attribution.store.results import write_result

from tests.dashboard.conftest import NOW, client, result_of
from tests.dashboard.markup import Element, promises
from tests.dashboard.test_decided import address_of
from tests.presentation import builders


@pytest.fixture
def month(tmp_path: object) -> Iterator[Store]:
    """The same fault three times within 30 days, another on its node, one that came later; and a stranger's."""
    other = builders.cause("HOST_OOM", "host memory exhausted", builders.metric().causes[1].sub_domain)
    with closing(open_store(f"{tmp_path}/month.db")) as store:
        for days, workload, causes in (
            (0, "now", None),
            (2, "last", None),
            (12, "before", None),
            (20, "oom", (other,)),
            (40, "long-ago", None),
            (-1, "later", None),
        ):
            diagnosis = builders.single() if causes is None else builders.single().model_copy(update={"causes": causes})
            named = diagnosis.model_copy(update={"workload_id": workload})
            write_result(store, result_of(named, ended_at=NOW - timedelta(days=days)), NOW, None)
        foreign = builders.single().model_copy(update={"workload_id": "foreign"})
        write_result(store, result_of(foreign, ended_at=NOW - timedelta(days=1)), NOW, "blue")
        yield store


def seen(store: Store, workload: str) -> Element:
    pages = client(store)
    return promises(pages.get(address_of(pages, workload)).text).one("section", class_="verdict")


def test_the_node_the_device_and_the_cause_are_counted_with_the_last_attempts(month: Store) -> None:
    rows = [item.text for item in seen(month, "last").one("div", class_="seen").all("li")]
    assert rows == [
        "Hardware, driver or system of the same node, node-02: 0 in the 7 days before, 2 in the 30 days before; "
        "last before, attempt 2 2026-04-22, "
        "NVLink signal integrity (Xid 149, sub-code 4), oom, attempt 2 2026-04-14, host memory exhausted",
        "Same device, GPU 0000:1b:00 · link 8: 0 in the 7 days before, 1 in the 30 days before; "
        "last before, attempt 2 2026-04-22, NVLink signal integrity (Xid 149, sub-code 4)",
        "Same cause, NVLink signal integrity: 0 in the 7 days before, 1 in the 30 days before; "
        "last before, attempt 2 2026-04-22",
    ]


def test_what_was_never_seen_says_so(month: Store) -> None:
    rows = [item.text for item in seen(month, "long-ago").one("div", class_="seen").all("li")]
    assert rows == [
        "Not in the 30 days before: hardware, driver or system of the same node (node-02), same device "
        "(GPU 0000:1b:00 · link 8), same cause (NVLink signal integrity)"
    ]


def test_the_counts_lead_to_a_list_of_what_they_count(month: Store) -> None:
    pages = client(month)
    for item in seen(month, "last").one("div", class_="seen").all("li")[::2]:
        address = item.all("a")[0].attributes["href"]
        path, _, query = address.partition("?")
        listed = pages.get(f"{path}.json?{query}").json()
        assert f"{listed['total']} in the 30 days before" in item.text
        assert read([("since", listed["filters"]["since"])], NOW).filters.since is not None


def test_a_gpu_that_a_log_calls_by_its_index_is_the_one_that_the_context_knows(month: Store) -> None:
    by_index = Device(kind=DeviceKind.GPU, ids={"index": "3", "link": "8"})
    causes = (builders.single().causes[0].model_copy(update={"device": by_index}),)
    diagnosis = builders.single().model_copy(update={"causes": causes, "workload_id": "by-index"})
    nodes = (Node(name="node-02", gpus=(Gpu(index=3, pci="0000:1b:00"),)),)
    write_result(month, result_of(diagnosis, ended_at=NOW, nodes=nodes), NOW, None)
    row = seen(month, "by-index").one("div", class_="seen").all("li")[1]
    assert row.text.startswith("Same device, GPU 3 · link 8: 2 in the 7 days before, 3 in the 30 days before")
    assert row.all("a")[0].attributes["href"].startswith("/devices/node-02/gpu/0000:1b:00/link/8?")


def test_the_headline_leads_to_the_node_and_the_device(month: Store) -> None:
    links = {a.text: a.attributes["href"] for a in seen(month, "last").one("p", class_="where").all("a")}
    assert links == {
        "node-02": "/nodes/node-02",
        "0000:1b:00": "/devices/node-02/gpu/0000:1b:00",
        "8": "/devices/node-02/gpu/0000:1b:00/link/8",
    }


def test_where_several_causes_fit_each_is_compared(month: Store) -> None:
    shape = builders.ambiguous().model_copy(update={"workload_id": "either"})
    write_result(month, result_of(shape, ended_at=NOW), NOW, None)
    seen_node, seen_device, never = [item.text for item in seen(month, "either").one("div", class_="seen").all("li")]
    assert seen_node.startswith(
        "Hardware, driver or system of the same node, node-02: 2 in the 7 days before, 4 in the 30 days before; last "
    )
    assert seen_device.startswith("Same device, GPU 0000:1b:00: 2 in the 7 days before, 3 in the 30 days before; last ")
    assert never == (
        "Not in the 30 days before: same cause (Xid 48), hardware, driver or system of the same node (node-07), "
        "same cause (Python exception)"
    )


def test_what_was_one_of_several_is_never_told_as_a_cause(month: Store) -> None:
    for days, workload in ((1, "unsure"), (0, "either")):
        shape = builders.ambiguous().model_copy(update={"workload_id": workload})
        write_result(month, result_of(shape, ended_at=NOW - timedelta(days=days)), NOW, None)
    rows = [item.text for item in seen(month, "either").one("div", class_="seen").all("li")]
    assert not any("unsure" in row for row in rows if not row.startswith("Same cause"))
    assert rows[2] == (
        "Same cause, Xid 48: 1 in the 7 days before, 1 in the 30 days before "
        "(1 of the 1 only as one of several causes that fit); last unsure, attempt 2 2026-05-03, "
        "one of several that fit"
    )


def test_where_no_cause_is_named_nothing_is_compared(month: Store) -> None:
    shape: Diagnosis = builders.insufficient().model_copy(update={"workload_id": "nothing"})
    write_result(month, result_of(shape, ended_at=NOW), NOW, None)
    assert not seen(month, "nothing").all("div", class_="seen")
