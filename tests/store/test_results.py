"""A result reads back as it was written, once for each attempt, with the pieces that pages ask about."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import Table, func, select, update

from attribution.contracts.context import Node
from attribution.contracts.diagnosis import Device, Evidence, Symptom
from attribution.contracts.observation import Window
from attribution.contracts.result import AttributionBlueprintResult, ConnectorReport
from attribution.contracts.vocabulary import DeviceKind, Role, Source, Status, SymptomStatus
from attribution.store import schema
from attribution.store.database import Store
from attribution.store.faults import StoreDamaged
from attribution.store.queries import ALL_TENANTS, get_result, get_row, list_results
from attribution.store.results import write_result

from tests.examples import examples
from tests.store.asking import count_results
from tests.store.results import NOW, RESULTS, cause, result


def rows(store: Store, table: Table, *names: str) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        query = select(*[table.c[name] for name in names]).order_by(*table.primary_key.columns)
        return [tuple(row) for row in connection.execute(query)]


def counts(store: Store) -> dict[str, int]:
    with store.read() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (schema.results, *schema.CHILDREN)
        }


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(written=RESULTS)
def test_a_result_reads_back_equal(store: Store, written: AttributionBlueprintResult) -> None:
    key = write_result(store, written, NOW, tenant="t")
    assert get_result(store, key, "t") == written
    listed = get_row(store, key, "t")
    assert listed is not None
    assert listed.summary == written.diagnosis.summary
    assert (listed.workload_id, listed.user, listed.at) == (
        written.context.workload_id,
        written.context.user,
        written.context.submitted_at or NOW,
    )
    assert listed.attempt == min(written.context.attempt, 2**63 - 1)


def test_the_pieces_are_there_to_be_asked(store: Store) -> None:
    symptom = Symptom(
        symptom="NCCL_TIMEOUT", role=Role.EFFECT, node="node-03", status=SymptomStatus.DEMOTED, count=4, ranks=2
    )
    line = Evidence(
        id="e1", source=Source.SYSLOG, node="node-02", line=812, offset=9000, at=NOW, text="Xid 79", rule="XID079"
    )
    report = ConnectorReport(
        connector="files",
        source=Source.SYSLOG,
        node="node-02",
        window=Window(start=NOW, end=NOW + timedelta(hours=1)),
        status=Status.PARTIAL,
        reason="one file is unreadable",
        submitted=3,
        accepted=2,
        rejected=1,
    )
    diagnosis = {"symptoms": (symptom,), "evidence": (line,), "interesting_nodes": ("node-03",)}
    diagnosis["exclude_nodes"] = ("node-02",)
    write_result(store, result(causes=(cause(at=NOW),), diagnosis=diagnosis, reports=(report,)), NOW, "t")
    assert rows(store, schema.result_nodes, "node", "allocated", "affected", "interesting", "excluded") == [
        ("node-01", True, False, False, False),
        ("node-02", True, True, False, True),
        ("node-03", False, False, True, False),
    ]
    names = ("tenant", "symptom", "sub_domain", "node", "device_kind", "device", "caused_at", "rule")
    assert rows(store, schema.result_causes, *names) == [
        ("t", "XID_79", "gpu_hardware", "node-02", "gpu", "index=3 pci=0000:1b:00", NOW, "XID079")
    ]
    assert rows(store, schema.result_symptoms, "symptom", "role", "status", "node", "count", "ranks") == [
        ("NCCL_TIMEOUT", "effect", "demoted", "node-03", 4, 2)
    ]
    assert rows(store, schema.result_evidence, "evidence_id", "source", "node", "line", "at", "text") == [
        ("e1", "syslog", "node-02", 812, NOW, "Xid 79")
    ]
    names = ("connector", "status", "reason", "window_end", "submitted", "accepted", "rejected")
    assert rows(store, schema.result_reports, *names) == [
        ("files", "partial", "one file is unreadable", NOW + timedelta(hours=1), 3, 2, 1)
    ]


def test_a_rerun_replaces_and_never_doubles(store: Store) -> None:
    first = result(causes=(cause(), cause("XID_48", "node-01")))
    other = result("job-2")
    key = write_result(store, first, NOW)
    write_result(store, other, NOW)
    later = NOW + timedelta(hours=1)
    rerun = result(causes=(cause("XID_95"),), user="somebody")
    assert write_result(store, rerun, later) == key
    assert get_result(store, key, None) == rerun
    assert counts(store)["results"] == counts(store)["result_documents"] == 2
    assert rows(store, schema.result_causes, "symptom") == [("XID_95",)]
    row = get_row(store, key, None)
    assert row is not None
    assert (row.cause, row.user, row.first_written_at, row.written_at) == ("XID_95", "somebody", NOW, later)
    before = counts(store)
    write_result(store, rerun, later)
    assert counts(store) == before


def test_a_result_without_times_keeps_its_place(store: Store) -> None:
    key = write_result(store, result(minutes=None), NOW)
    write_result(store, result(minutes=None), NOW + timedelta(hours=1))
    row = get_row(store, key, None)
    assert row is not None and row.at == NOW
    assert rows(store, schema.result_nodes, "at") == [(NOW,), (NOW,)]
    write_result(store, result(minutes=9), NOW + timedelta(hours=2))
    row = get_row(store, key, None)
    assert row is not None and row.at == NOW + timedelta(minutes=9)


def test_attempts_clusters_and_tenants_are_apart(store: Store) -> None:
    for tenant in (None, "x", "y"):
        for more in ({}, {"attempt": 2}, {"cluster": "a"}):
            write_result(store, result(**more), NOW, tenant)  # type: ignore[arg-type]
    assert count_results(store, ALL_TENANTS) == 9
    for tenant in (None, "x", "y"):
        page = list_results(store, tenant)
        assert len(page.rows) == 3
        assert {row.tenant for row in page.rows} == {tenant}
    key = write_result(store, result(), NOW, "x")
    for stranger in (None, "y", ""):
        assert get_result(store, key, stranger) is None
        assert get_row(store, key, stranger) is None
    assert get_result(store, key, ALL_TENANTS) == get_result(store, key.id, "x") == result()


def test_writers_at_once_leave_one_whole_result(store: Store) -> None:
    written = [result(causes=tuple(cause(f"S{n}_{m}") for m in range(n + 1)), user=f"user-{n}") for n in range(6)]
    errors: list[Exception] = []
    barrier = threading.Barrier(6)

    def write(n: int) -> None:
        barrier.wait(600)
        try:
            for _ in range(5):
                write_result(store, written[n], NOW)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert errors == []
    (row,) = list_results(store, None).rows
    last = get_result(store, row.key, None)
    assert last in written
    assert rows(store, schema.result_causes, "symptom") == [(c.symptom,) for c in last.diagnosis.causes]


def test_names_of_any_length(store: Store) -> None:
    names = ["n" * 5000 + end for end in ("a", "b")]
    key = write_result(store, result("w" * 5000, user="u" * 5000, nodes=tuple(Node(name=n) for n in names)), NOW)
    row = get_row(store, key, None)
    assert row is not None
    assert row.user is not None and len(row.user) < 200
    assert len(rows(store, schema.result_nodes, "node")) == 2


def test_a_large_result(store: Store) -> None:
    lines = tuple(
        Evidence(id=f"e{n}", source=Source.APPLOG, node="node-01", line=n, offset=n, text="x" * 500, rule="R")
        for n in range(4000)
    )
    written = result(causes=(cause(),), diagnosis={"evidence": lines})
    assert get_result(store, write_result(store, written, NOW), None) == written
    assert counts(store)["result_evidence"] == 4000


def test_a_damaged_result_is_told(store: Store) -> None:
    key = write_result(store, result(), NOW)
    with store.write() as connection:
        connection.execute(update(schema.result_documents).values(document=b"garbage"))
    with pytest.raises(StoreDamaged, match=f"the result {key} is damaged"):
        get_result(store, key, None)


def test_an_unknown_key_is_nothing(store: Store) -> None:
    for key in ("", "0" * 32, "\0", "x" * 9999):
        assert get_result(store, key, None) is None
        assert get_row(store, key, None) is None


def test_half_a_surrogate_pair_survives_as_a_key(store: Store) -> None:
    written = result()
    odd = written.diagnosis.model_copy(
        update={"causes": (cause(device=Device(kind=DeviceKind.GPU, ids={"\ud800": "x"})),)}
    )
    written = written.model_copy(update={"diagnosis": odd})
    assert get_result(store, write_result(store, written, NOW), None) == written
