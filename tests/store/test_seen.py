"""Where rules and symptoms were seen, what connectors gave and what was missing are counted alike in both databases."""

from datetime import timedelta

import pytest

from attribution.contracts.diagnosis import Evidence, Symptom, Untestable
from attribution.contracts.result import ConnectorReport
from attribution.contracts.vocabulary import Role, Source, Status, SubDomain, SymptomStatus
from attribution.store import connectors, mentions, untested
from attribution.store.connectors import LastGood, given
from attribution.store.database import Store
from attribution.store.queries import ALL_TENANTS
from attribution.store.results import write_result

from tests.store.results import NOW, cause, result

LINE = Evidence(id="e1", source=Source.SYSLOG, stream="syslog", line=1, offset=0, text="a", rule="XID079")
FINDING = Symptom(
    symptom="XID_79", meaning="m", role=Role.CAUSE, status=SymptomStatus.ACTIVE, node="node-02", count=1, ranks=0
)
REPORTS = (
    ConnectorReport(connector="loki", source=Source.SYSLOG, node="node-01", status=Status.OK, lines=3),
    ConnectorReport(connector="loki", source=Source.SYSLOG, node="node-02", status=Status.ERROR, reason="refused"),
)
LOST = Untestable(sub_domains=(SubDomain.STORAGE,), source=Source.BMC, reason="half \ud800 a pair")


@pytest.fixture
def filled(store: Store) -> Store:
    told = {
        "evidence": (LINE, LINE.model_copy(update={"id": "e2"})),
        "symptoms": (FINDING, FINDING),
        "untestable": (LOST,),
    }
    for minutes, tenant in ((0, "red"), (10, "red"), (20, "blue")):
        written = result(f"job-{minutes}", minutes, (cause(), cause()), told, REPORTS)
        write_result(store, written, NOW, tenant)
    return store


def test_a_result_counts_once_and_for_its_tenant(filled: Store) -> None:
    for seen in (mentions.of_rule(filled, "red", "XID079", NOW), mentions.of_symptom(filled, "red", "XID_79", NOW)):
        assert [item.workload_id for item in seen.newest] == ["job-10", "job-0"]
        assert seen.times == (NOW + timedelta(minutes=10), NOW) and not seen.bounded
    everyone = mentions.of_rule(filled, ALL_TENANTS, "XID079", NOW + timedelta(minutes=1), shown=1)
    assert [item.workload_id for item in everyone.newest] == ["job-20"] and len(everyone.times) == 2
    assert mentions.of_rule(filled, None, "XID079", NOW).newest == ()
    assert mentions.blamed(filled, "red", "XID_79", NOW) == 2
    assert mentions.rules_often(filled, "red") == mentions.Often({"XID079": 2}, 2)
    assert mentions.symptoms_often(filled, ALL_TENANTS) == mentions.Often({"XID_79": 3}, 3)


def test_what_others_wrote_later_takes_nobodys_place(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "MOST", 2)
    for minutes in (30, 40):
        write_result(filled, result(f"job-{minutes}", minutes, (cause(),), {"symptoms": (FINDING,)}), NOW, "blue")
    seen = mentions.of_symptom(filled, "red", "XID_79", NOW)
    assert [item.workload_id for item in seen.newest] == ["job-10", "job-0"]


def test_reports_are_told_with_the_newest_reason(filled: Store) -> None:
    newer = (REPORTS[1].model_copy(update={"reason": "timed out"}),)
    write_result(filled, result("job-30", 30, (), {}, newer), NOW, "red")
    found = given(filled, "red", NOW)
    told = [(item.status, item.reason, item.reports, item.results, item.lines) for item in found.reports]
    assert told == [("error", "timed out", 3, 3, 0), ("ok", None, 2, 2, 6)]
    assert found.last_good == (LastGood("loki", "syslog", NOW + timedelta(minutes=10)),)
    assert [(item.node, item.results, item.of) for item in found.silent] == [("node-02", 3, 3)]
    assert found.reports[0].last_at == NOW + timedelta(minutes=30)


def test_large_attempts_bound_how_many_are_looked_at(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "MOST_REPORTS", 3)
    found = given(filled, ALL_TENANTS, NOW)
    assert (found.results, found.bounded, found.first_at) == (1, True, NOW + timedelta(minutes=20))
    monkeypatch.setattr(connectors, "MOST_REPORTS", 4)
    assert given(filled, ALL_TENANTS, NOW).results == 2


def test_what_was_missing_is_read_whatever_it_holds(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    found = untested.untested(filled, "red", NOW)
    assert found.of == 2
    assert [(item.source, item.results, item.sub_domains) for item in found.rows] == [("bmc", 2, ("storage",))]
    monkeypatch.setattr(untested, "MOST_BYTES", 1)
    assert untested.untested(filled, "red", NOW).of == 1, "one is always read"
