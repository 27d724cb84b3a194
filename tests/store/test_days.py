"""The counts of each day are always those that counting gives, whatever was written and written again."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import column, delete, insert, select, text
from sqlalchemy import table as sa_table

from attribution.contracts.diagnosis import Device, Symptom
from attribution.contracts.vocabulary import Confidence, DeviceKind, Role, SubDomain, SymptomStatus
from attribution.store import schema
from attribution.store.columns import shortened
from attribution.store.database import Store, open_store
from attribution.store.days import Placed, day_of, is_blamed
from attribution.store.queries import ResultFilters
from attribution.store.results import write_result
from attribution.store.schema import result_causes, result_days, result_nodes, results

from tests.store.asking import count_results
from tests.store.results import NOW, cause, result
from tests.store.revisions import at_revision

DAY = 24 * 60
NAMES = ["node-01", "node-02", "a%b\0", "x" * 400, ""]
CAUSES = st.builds(
    cause,
    symptom=st.sampled_from(["XID_79", "XID_48"]),
    node=st.none() | st.sampled_from(NAMES),
    sub_domain=st.sampled_from([SubDomain.GPU_HARDWARE, SubDomain.USER_CODE]),
    confidence=st.sampled_from(Confidence),
)
WRITES = st.fixed_dictionaries(
    {
        "workload": st.sampled_from(["job-1", "job-2", "job-3"]),
        "days": st.none() | st.integers(-2, 0),
        "causes": st.lists(CAUSES, max_size=3).map(tuple),
        "user": st.none() | st.sampled_from(["ada", "", "y" * 200]),
        "tenant": st.sampled_from([None, "red"]),
        "cluster": st.sampled_from([None, "alpha", "b\0"]),
        "later": st.integers(0, 3),
    }
)


def held(store: Store) -> Counter[Placed]:
    """The counts that are kept."""
    with store.read() as connection:
        rows = connection.execute(select(result_days)).all()
    return Counter(
        {(row.facet, row.value, row.tenant, row.cluster, row.day): row.results for row in rows if row.results}
    )


def recounted(store: Store) -> Counter[Placed]:
    """The same, counted one by one."""
    found: Counter[Placed] = Counter()
    with store.read() as connection:
        for row in connection.execute(select(results)).all():
            place = (row.tenant, row.cluster or "", day_of(row.at))
            found["all", "", *place] += 1
            if row.nodes:
                found["allocated", "", *place] += row.nodes
            for name in ("terminal_state", "domain", "sub_domain", "cluster", "user"):
                if getattr(row, name) is not None:
                    found[name, getattr(row, name), *place] += 1
        seen: set[Any] = set()
        for row in connection.execute(select(result_causes)).all():
            place = (row.tenant, row.cluster, day_of(row.at))
            keys = [("cause", row.symptom)]
            if row.node is not None and is_blamed(row.confidence, row.sub_domain):
                keys.append(("blamed_node", row.node))
            for key in keys:
                found[*key, *place] += (row.result_id, key) not in seen
                seen.add((row.result_id, key))
        for row in connection.execute(select(result_nodes)).all():
            for facet, counts in (("node", row.affected), ("allocated_node", row.allocated)):
                if counts:
                    found[facet, row.node, row.tenant, row.cluster, day_of(row.at)] += 1
    return found


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(WRITES, max_size=7))
def test_any_sequence_of_writes_gives_the_counts_of_counting(store: Store, writes: list[dict[str, Any]]) -> None:
    with store.write() as connection:
        for table in (results, result_days):
            connection.execute(delete(table))
    for item in writes:
        minutes = None if item["days"] is None else item["days"] * DAY
        written = result(item["workload"], minutes, item["causes"], user=item["user"], cluster=item["cluster"])
        write_result(store, written, NOW + timedelta(days=item["later"]), item["tenant"])
    assert held(store) == recounted(store)


def test_a_name_of_any_length_is_found_as_it_reads_back() -> None:
    long = shortened("x" * 400)
    assert len(long) == 163 and shortened(long) == long
    assert shortened("x" * 163) != "x" * 163


def test_a_store_of_the_last_revision_is_counted_when_it_is_opened(store: Store, store_url: str) -> None:
    link = Device(kind=DeviceKind.NVLINK, ids={"pci": "0000:3b:00", "link": "8"})
    aside = Symptom(
        symptom="NVLINK_DOWN", role=Role.EFFECT, node="node-03", device=link, status=SymptomStatus.DEMOTED, count=2
    )
    causes = (cause(node="Node-02\0"), cause("XID_48", "node-05"), cause("XID_48", "node-05", device=link))
    write_result(store, result("job-1", 0, causes, {"symptoms": (aside,)}, user="Ada", cluster="alpha\0"), NOW)
    write_result(store, result("job-2", -DAY, (cause(confidence=Confidence.ONE_OF_SEVERAL),)), NOW, "red")
    write_result(store, result("job-3", 1), NOW)
    made = (schema.words, schema.node_names, schema.result_words, schema.result_units, result_days)
    tables = [t for t in schema.metadata.sorted_tables if t.name.startswith("result") and t not in made]
    with store.read() as connection:
        old = {table: [dict(row) for row in connection.execute(select(table)).mappings()] for table in tables}
    for table in tables:
        if table.name != "results" and "cluster" in table.c:  # as r0002 had them
            old[table] = [{name: value for name, value in row.items() if name != "cluster"} for row in old[table]]
    for row in old[schema.results]:
        nodes = sum(held["result_id"] == row["id"] for held in old[schema.result_nodes])
        words = row["search"].split("\n")
        row["search"] = " ".join(words[: len(words) - nodes])
    told_apart = (schema.results, schema.result_nodes, schema.result_causes)
    before = [everything(store, table) for table in (*made, *told_apart)]
    at_revision(store, "r0002")
    with store.write() as connection:
        for table, rows in old.items():
            if rows:
                known = [column(name, kind.type) for name, kind in table.c.items() if name in rows[0]]
                connection.execute(insert(sa_table(table.name, *known)), rows)
    open_store(store_url).close()
    assert [everything(store, table) for table in (*made, *told_apart)] == before
    assert held(store) == recounted(store)
    if store.engine.dialect.name == "postgresql":
        with store.write() as connection:
            connection.execute(text("SELECT setval('results_id_seq', 9)"))
    write_result(store, result("job-9", 1, diagnosis={"summary": "words that are new"}), NOW)
    assert count_results(store, None, ResultFilters(search="that new")) == 1


def everything(store: Store, table: Any) -> list[Any]:
    """The rows of a table, but for numbers that say nothing."""
    columns = [column for column in table.c if column.name not in {"id", "word_id"}]
    query = select(*columns)
    if table is schema.result_words:
        query = select(table.c.result_id, schema.words.c.word).join(schema.words, schema.words.c.id == table.c.word_id)
    with store.read() as connection:
        return sorted(map(repr, connection.execute(query).all()))


def test_what_a_node_only_met_does_not_count_against_it() -> None:
    assert is_blamed("single", "gpu_driver") and is_blamed("single", "network_fabric")
    assert not any(is_blamed("single", met) for met in ("storage", "scheduler", "external_service", "user_code"))
    assert not is_blamed("one_of_several", "gpu_hardware")
