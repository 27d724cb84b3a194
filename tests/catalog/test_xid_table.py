"""The table of Xid codes is complete, uses the closed vocabularies, and agrees with the rules made from it."""

import pytest

from attribution.catalog.gpu import nvlink5, xid
from attribution.catalog.tables import table, xids
from attribution.contracts.vocabulary import CAUSE_SUB_DOMAINS, Action, Domain, Role, SubDomain, domain_of
from attribution.events.symptom import SymptomType
from attribution.extraction.decoders import results

SYMPTOMS: tuple[SymptomType, ...] = (*xid.SYMPTOMS, *nvlink5.SYMPTOMS)


def test_vocabularies() -> None:
    for entry in xids().values():
        Role(entry.role)
        assert all(Action(action) for action in entry.actions)
        assert entry.kind in {"hardware", "driver_firmware", "application", "informational", "fabric", "ambiguous"}
        assert entry.position in {"primary", "secondary", "either", "informational", "unknown"}
        assert {*entry.follows, *entry.leads_to} <= set(xids())
        assert entry.meaning and "xid" in entry.tags


def test_causes_are_whole_and_others_name_no_place() -> None:
    for symptom in SYMPTOMS:
        if symptom.role is Role.CAUSE:
            assert symptom.sub_domain in CAUSE_SUB_DOMAINS
            assert symptom.actions
        else:
            assert symptom.sub_domain is None
            assert not symptom.node_scoped


def test_only_hardware_and_platform_faults_mark_a_node() -> None:
    for symptom in SYMPTOMS:
        if symptom.node_scoped:
            assert symptom.sub_domain is not None
            assert domain_of(symptom.sub_domain) in {Domain.HARDWARE, Domain.PLATFORM}


def test_applications_are_not_blamed_on_hardware() -> None:
    for code in (11, 13, 25, 31, 69, 108, 137):
        entry = xids()[code]
        assert (entry.role, entry.sub_domain, entry.node_scoped) == ("cause", SubDomain.USER_CODE, False)


@pytest.mark.parametrize("code", [43, 45])
def test_clean_up_is_never_a_root(code: int) -> None:
    assert xids()[code].role == "effect"
    assert "xid_sympathetic" in xids()[code].tags


@pytest.mark.parametrize("code", [63, 92, 154, 156, 160])
def test_records_and_advice_only_inform(code: int) -> None:
    assert xids()[code].role == "context"


def test_retired_codes_are_never_blamed() -> None:
    assert all(entry.role != "cause" for entry in xids().values() if entry.status in {"retired", "reserved"})


def test_names_are_unique_and_leave_nvlink5_to_its_rule() -> None:
    names = [symptom.name for symptom in SYMPTOMS]
    assert len(set(names)) == len(names)
    assert not {f"XID_{code}" for code in range(144, 151)} & set(names)


def test_tags() -> None:
    tags = {symptom.name: set(symptom.tags) for symptom in SYMPTOMS}
    assert all("xid" in given for given in tags.values())
    for symptom in SYMPTOMS:
        if symptom.role is Role.CAUSE:
            assert "gpu_fault" in symptom.tags
    assert not any(
        {"xid_application", "gpu_engine_fault"} & given and "gpu_hard_fault" in given for given in tags.values()
    )


def test_recovery_actions_and_cuda_hints() -> None:
    document = table("xid")
    assert [row["value"] for row in document["recovery_actions"]] == list(range(6))
    assert all(Action(action) for row in document["recovery_actions"] for action in row["actions"])
    for hint in document["cuda_error_hints"]:
        assert results.CUDA[hint["code"]].name == hint["name"]
        assert set(hint["xids"]) <= set(xids())
