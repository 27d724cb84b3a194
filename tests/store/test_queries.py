"""Lists are filtered, paged and counted; what is written meanwhile neither repeats nor hides a result."""

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attribution.contracts.context import Node
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.vocabulary import SubDomain, TerminalState
from attribution.store.database import Store
from attribution.store.queries import ALL_TENANTS, NodeRole, Order, PageRequest, ResultFilters, list_results
from attribution.store.results import write_result
from attribution.store.survey import FACETS, Counted

from tests.store.asking import count_results, facet
from tests.store.results import NOW, cause, result


@pytest.fixture
def filled(store: Store) -> Store:
    """Six results of one tenant, and one of another."""
    storage = {"sub_domain": SubDomain.STORAGE, "rule": "STO001", "meaning": "a full file system"}
    for written in (
        result("job-0", 0, (cause(),), cluster="east", user="ada", name="Llama_70B"),
        result("job-1", 1, (cause("DISK_FULL", "node-01", **storage),), cluster="east", user="bob"),
        result("job-2", 2, cluster="west", user="ada"),
        result(
            "job-3", 3, (cause(), cause("XID_48", "node-05"), cause("XID_48", "node-06")), cluster="west", user="cy"
        ),
        result("job-4", 4, (cause("XID_48", None),), user="dan", nodes=(Node(name="node-09"),)),
        result("job-5", 5, diagnosis={"terminal_state": TerminalState.RUNNING, "summary": "50% done\\ok\nNo cause"}),
    ):
        write_result(store, written, NOW)
    write_result(store, result("theirs", 6, (cause(),), user="ada"), NOW, "other")
    return store


def jobs(store: Store, order: Order = Order.OLDEST, tenant: Any = None, **filters: Any) -> str:
    """The numbers of the jobs that are listed."""
    page = list_results(store, tenant, ResultFilters(**filters), order)
    assert count_results(store, tenant, ResultFilters(**filters)) == len(page.rows)
    assert page.next is None
    return " ".join(row.workload_id.removeprefix("job-") for row in page.rows)


FILTERED: list[tuple[dict[str, Any], str]] = [
    ({}, "0 1 2 3 4 5"),
    ({"terminal_state": "failed"}, "0 1 3 4"),
    ({"terminal_state": "running"}, "5"),
    ({"domain": "platform"}, "1"),
    ({"sub_domain": "gpu_hardware"}, "0 3 4"),
    ({"cause": "XID_48"}, "3 4"),
    ({"cause": "XID_79"}, "0 3"),
    ({"cause": "XID"}, ""),
    ({"node": "node-01"}, "0 1 2 3 5"),
    ({"node": "node-01", "node_role": NodeRole.AFFECTED}, "1"),
    ({"node": "node-05"}, "3"),
    ({"node": "node-05", "node_role": NodeRole.ALLOCATED}, ""),
    ({"cluster": "west"}, "2 3"),
    ({"user": "ada"}, "0 2"),
    ({"user": "ada", "cluster": "east", "cause": "XID_79", "node": "node-02"}, "0"),
    ({"workload_id": "job-4"}, "4"),
    ({"since": NOW + timedelta(minutes=4)}, "4 5"),
    ({"until": NOW + timedelta(minutes=1)}, "0"),
    ({"since": NOW + timedelta(minutes=1), "until": NOW + timedelta(minutes=3)}, "1 2"),
    ({"search": "llama_70b"}, "0"),
    ({"search": "JOB-3"}, "3"),
    ({"search": "full SYSTEM"}, "1"),
    ({"search": "node-09"}, "4"),
    ({"search": "disk_full"}, "1"),
    ({"search": "cy"}, "3"),
    ({"search": "50%"}, "5"),
    ({"search": "done\\ok"}, "5"),
    ({"search": "l_ama"}, ""),
    ({"search": "%"}, "5"),
    ({"search": "_"}, "0 1 3 4"),
    ({"search": "job-5 cause"}, "5"),
    ({"search": "  "}, "0 1 2 3 4 5"),
    ({"search": "\0"}, ""),
    ({"user": "'; DROP TABLE results; --"}, ""),
]


def test_filters(filled: Store) -> None:
    assert [(filters, jobs(filled, **filters)) for filters, _ in FILTERED] == FILTERED


def test_odd_characters_are_found(store: Store) -> None:
    write_result(store, result("a\0b\x1ac", 0, user="tab\tÄ"), NOW)
    write_result(store, result("a\x1a0000b", 1), NOW)
    for search, found in (("a\0b", "a\0b\x1ac"), ("\x1aC", "a\0b\x1ac"), ("a\x1a0", "a\x1a0000b"), ("ä", "a\0b\x1ac")):
        assert jobs(store, search=search) == found


def test_both_orders(filled: Store) -> None:
    assert jobs(filled, Order.NEWEST) == "5 4 3 2 1 0"
    assert jobs(filled, Order.NEWEST, cause="XID_79") == "3 0"


def test_tenants_do_not_see_each_other(filled: Store) -> None:
    for filters in ({}, {"user": "ada"}, {"cause": "XID_79"}, {"node": "node-02"}, {"search": "bus"}):
        assert jobs(filled, tenant="other", **filters) == "theirs"
        assert "theirs" not in jobs(filled, **filters)
        assert jobs(filled, tenant="nobody", **filters) == ""
        assert "theirs" in jobs(filled, tenant=ALL_TENANTS, **filters)
    for name in FACETS:
        assert facet(filled, name, "nobody") == ()
    assert facet(filled, "user", "other") == (Counted("ada", 1),)
    assert facet(filled, "user", ALL_TENANTS)[0] == Counted("ada", 3)


def test_facets_count_the_commonest_first(filled: Store) -> None:
    def counted(name: str, **filters: Any) -> dict[str, int]:
        counts = facet(filled, name, None, ResultFilters(**filters))
        assert list(counts) == sorted(counts, key=lambda c: (-c.results, c.value))
        return {c.value: c.results for c in counts}

    assert counted("terminal_state") == {"failed": 4, "completed": 1, "running": 1}
    assert counted("domain") == {"hardware": 3, "none": 2, "platform": 1}
    assert counted("sub_domain") == {"gpu_hardware": 3, "none": 2, "storage": 1}
    assert counted("cause") == {"XID_48": 2, "XID_79": 2, "DISK_FULL": 1}
    assert counted("cluster") == {"east": 2, "west": 2}
    assert counted("user") == {"ada": 2, "bob": 1, "cy": 1, "dan": 1}
    assert counted("node") == {"node-02": 2, "node-01": 1, "node-05": 1, "node-06": 1}
    assert counted("node", node_role=NodeRole.ALLOCATED)["node-01"] == 5
    assert counted("user", cluster="west") == {"ada": 1, "cy": 1}
    assert counted("cluster", cluster="west") == {"east": 2, "west": 2}
    assert counted("cause", node="node-05") == {"XID_79": 1, "XID_48": 1}
    assert counted("node", cause="XID_48", node="node-99") == {"node-02": 1, "node-05": 1, "node-06": 1}
    assert facet(filled, "user", None, most=1) == (Counted("ada", 2),)


def pages(store: Store, order: Order, size: int, between: Any = lambda: None) -> list[list[str]]:
    """The workloads of every page, with something done between pages."""
    found, cursor = [], None
    while True:
        page = list_results(store, None, None, order, PageRequest(size, cursor))
        found.append([row.workload_id for row in page.rows])
        cursor = page.next
        if cursor is None:
            return found
        between()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(1, 7), order=st.sampled_from(Order), minutes=st.lists(st.integers(0, 3), max_size=9))
def test_pages_are_the_list_in_pieces(store: Store, size: int, order: Order, minutes: list[int]) -> None:
    for n, minute in enumerate(minutes):
        write_result(store, result(f"job-{n}", minute), NOW)
    whole = [row.workload_id for row in list_results(store, None, None, order).rows]
    found = pages(store, order, size)
    assert [name for page in found for name in page] == whole
    assert all(len(page) == size for page in found[:-1])


def test_pages_stay_right_while_results_come_in(store: Store) -> None:
    names = [f"job-{n:02}" for n in range(20)]
    for n, name in enumerate(names):
        write_result(store, result(name, n // 3), NOW)
    more = iter(range(1000))

    def between() -> None:
        for minute in (-1, random.Random(0).randrange(9), 99):
            write_result(store, result(f"new-{next(more)}", minute), NOW)
        write_result(store, result("job-10", 3), NOW + timedelta(days=1))  # a rerun

    seen = [name for page in pages(store, Order.NEWEST, 3, between) for name in page if name in names]
    assert sorted(seen) == names


def test_a_foreign_cursor_is_refused(filled: Store) -> None:
    for cursor in ("", "x", "é", "AAAA", "OjE", "MTo", "MTox" * 40, "LTk5OTk5OTk5OTk5OTk5OTk5OTk5OTox", "\0"):
        with pytest.raises(ConfigurationError, match="cursor: T012 "):
            list_results(filled, None, page=PageRequest(cursor=cursor))


def test_pages_have_bounds(filled: Store) -> None:
    assert len(list_results(filled, None, page=PageRequest(0)).rows) == 1
    assert len(list_results(filled, None, page=PageRequest(10**9)).rows) == 6
