"""What is counted is what is there: whole days, pieces of days, searches, and the newest where that is said."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attribution.store import survey as counting
from attribution.store.database import Store
from attribution.store.queries import ALL_TENANTS, NodeRole, ResultFilters, list_results
from attribution.store.results import write_result
from attribution.store.survey import FACETS

from tests.store.asking import count_results, facet, groups, survey
from tests.store.results import NOW, cause, result

START = datetime(2026, 5, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def month(store: Store) -> Store:
    """Twenty attempts over four days of two tenants, some at the very turn of a day."""
    for n in range(20):
        causes = (cause(f"XID_{n % 3}", f"node-{n % 4}"),) if n % 2 else ()
        causes += (cause("XID_9", f"Node-{n % 5}"),) if n % 5 == 0 else ()
        ended = START + 5 * n * HOUR if n % 3 else START + timedelta(days=n % 4)
        written = result(f"job-{n}", 0, causes, ended_at=ended, user=f"user{n % 3}", cluster="east" if n % 2 else None)
        write_result(store, written, NOW, "red" if n % 7 == 0 else None)
    return store


MOMENTS = st.none() | st.integers(-2, 110).map(lambda hours: START + hours * HOUR)
FILTERS = st.builds(
    ResultFilters,
    terminal_state=st.none() | st.sampled_from(["failed", "completed"]),
    cause=st.none() | st.sampled_from(["XID_1", "XID_9", "XID"]),
    node=st.none() | st.sampled_from(["node-01", "node-1", "Node-0"]),
    user=st.none() | st.sampled_from(["user0", "user1"]),
    search=st.none() | st.sampled_from(["xid_9", "NODE-1", "job user1", "job-1", "bus gpu", "nowhere"]),
    since=MOMENTS,
    until=MOMENTS,
)


def expected(store: Store, tenant: Any, filters: ResultFilters, name: str) -> Counter[str]:
    """The values of a facet, counted by listing the results of each one."""
    found: Counter[str] = Counter()
    for value in VALUES[name]:
        asked = {name: value} | ({"node_role": NodeRole.AFFECTED} if name == "node" else {})
        kept = {key: getattr(filters, key) for key in KEYS if key not in {name, "node_role" if name == "node" else ""}}
        found[value] = len(list_results(store, tenant, ResultFilters(**{**kept, **asked})).rows)
    return +found


KEYS = ("terminal_state", "cause", "node", "node_role", "user", "search", "since", "until")
VALUES = {
    "terminal_state": ["failed", "completed"],
    "cause": ["XID_0", "XID_1", "XID_2", "XID_9"],
    "user": ["user0", "user1", "user2"],
    "node": [*(f"node-{n}" for n in range(4)), *(f"Node-{n}" for n in range(5))],
}


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters=FILTERS, tenant=st.sampled_from([None, "red", ALL_TENANTS, "nobody"]), few=st.sampled_from([0, 2_000]))
def test_counts_are_those_of_listing(month: Store, filters: ResultFilters, tenant: Any, few: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attribution.store.selection.FEW", few)
        found = survey(month, tenant, filters, tuple(VALUES), 50)
        assert found.total == len(list_results(month, tenant, filters).rows)
        assert not found.more
        for name in VALUES:
            counted = {item.value: item.results for item in found.facets[name].values}
            assert counted == expected(month, tenant, filters, name), name
            assert found.facets[name].of is None and not found.facets[name].more


def test_what_is_bounded_says_so(month: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "WINDOW", 3)
    monkeypatch.setattr(counting, "COUNTED", 2)
    narrowed = ResultFilters(terminal_state="failed", user="user1")
    found = survey(month, ALL_TENANTS, narrowed, ("cause", "user"))
    assert (found.total, found.more) == (2, True)
    assert found.facets["cause"].of == 3 and sum(item.results for item in found.facets["cause"].values) >= 3
    newest = list_results(month, ALL_TENANTS, narrowed).rows[:3]
    assert {item.value for item in found.facets["cause"].values} >= {row.cause for row in newest}
    assert count_results(month, ALL_TENANTS, ResultFilters(terminal_state="failed")) > 3
    assert facet(month, "cause", ALL_TENANTS, most=1)[0].value == "XID_1"
    assert survey(month, ALL_TENANTS, None, ("cause",), 1).facets["cause"].more


def test_a_word_that_many_have_is_found_row_by_row(month: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [row.workload_id for row in list_results(month, None, ResultFilters(search="xid_ node-1 job")).rows]
    assert whole
    for many in (0, 1, 3):
        for name in ("MANY", "FEW"):
            monkeypatch.setattr(f"attribution.store.selection.{name}", many)
        rows = list_results(month, None, ResultFilters(search="xid_ node-1 job")).rows
        assert [row.workload_id for row in rows] == whole
    for module in ("selection", "queries", "survey"):
        monkeypatch.setattr(f"attribution.store.{module}.SCANNED", 1)
    found = survey(month, None, ResultFilters(search="job"), ("user",))
    assert (found.total, found.more, found.facets["user"].of) == (1, True, 1)


def test_groups_count_and_tell_the_last(month: Store) -> None:
    for filters in (ResultFilters(), ResultFilters(user="user1"), ResultFilters(since=START + 7 * HOUR)):
        for by in ("cause", "node"):
            found = groups(month, ALL_TENANTS, by, filters)
            assert found.values == len(found.rows) and not found.more
            for row in found.rows:
                asked = {by: row.value} | ({"node_role": NodeRole.AFFECTED} if by == "node" else {})
                kept = {"user": filters.user, "since": filters.since}
                rows = list_results(month, ALL_TENANTS, ResultFilters(**{**kept, **asked})).rows
                assert (row.results, row.last_at) == (len(rows), rows[0].at)
    assert len(groups(month, None, "cause", most=1).rows) == 1 and groups(month, None, "cause", most=1).more
    assert groups(month, "nobody", "cause").rows == ()


@pytest.mark.parametrize(
    "name", ["%", '"', "/", "..", "a b", "\u202eevil", "x" * 1_000_000, "_", "'; DROP TABLE words; --"]
)
def test_hostile_names_are_only_names(store: Store, name: str) -> None:
    write_result(store, result("job-1", 0, (cause(node=name),), user=name, name=name), NOW)
    write_result(store, result("job-2", 1, (cause(node="other"),), user="other"), NOW)
    read_back = facet(store, "node", None)
    assert {item.results for item in read_back} == {1} and len(read_back) == 2
    for asked in (name, next(item.value for item in read_back if item.value != "other")):
        for filters in ({"user": asked}, {"node": asked}, {"node": asked, "node_role": NodeRole.AFFECTED}):
            assert [row.workload_id for row in list_results(store, None, ResultFilters(**filters)).rows] == ["job-1"]
    rows = list_results(store, None, ResultFilters(search=name[:200])).rows
    assert "job-1" in {row.workload_id for row in rows}
    assert set(FACETS) == set(survey(store, None, ResultFilters(search=name[:200])).facets)
