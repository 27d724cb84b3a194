"""What is advised is no more drastic than what is published for an Xid, and than what the evidence carries."""

import pytest

from attribution.catalog.tables import xids
from attribution.contracts.vocabulary import (
    CAUSE_SUB_DOMAINS,
    GATED_ACTIONS,
    Action,
    Domain,
    Role,
    SubDomain,
    domain_of,
)
from attribution.extraction.ruleset import RuleSets

from tests.catalog.evidence import told

DRASTIC = {Action.RESET_GPU, Action.DRAIN_NODE, Action.REBOOT_NODE, Action.REPLACE_PART}
CARRIED = {
    "RESTART_APP": {Action.RESTART, Action.RESTART_ELSEWHERE},
    "RESET_GPU": {Action.RESET_GPU},
    "RESTART_BM": {Action.REBOOT_NODE},
    "RESTART_VM": {Action.RESTART, Action.REBOOT_NODE},
    "CHECK_MECHANICALS": {Action.INSPECT_HARDWARE, Action.INSPECT_LINK},
    "UPDATE_SWFW": {Action.UPDATE_DRIVER},
}
"""Published immediate action -> the actions of which one must be advised."""


def test_every_cause_xid_advises_its_published_action_and_nothing_more_drastic(shipped: RuleSets) -> None:
    wrong = {}
    for code, entry in xids().items():
        kind = shipped.catalog.symptoms.get(f"XID_{code}")
        if kind is None or kind.role is not Role.CAUSE or entry.immediate not in CARRIED:
            continue
        by_program = kind.sub_domain is not None and domain_of(kind.sub_domain) is Domain.WORKLOAD
        wanted = {Action.FIX_USER_CODE} if by_program else CARRIED[entry.immediate]
        drastic = set(kind.actions) & DRASTIC - wanted
        if not wanted & set(kind.actions) or drastic:
            wrong[code] = (entry.immediate, [action.value for action in kind.actions])
    assert wrong == {}


def test_every_cause_says_what_to_do(shipped: RuleSets) -> None:
    for kind in shipped.catalog.symptoms.values():
        if kind.role is Role.CAUSE:
            assert kind.sub_domain in CAUSE_SUB_DOMAINS
            assert set(kind.actions) - {Action.NONE}, kind.name
            if domain_of(kind.sub_domain) is Domain.WORKLOAD:
                assert not set(kind.actions) & DRASTIC, f"{kind.name}: hardware pays for what a program did"


XID = "node-02 kernel: NVRM: Xid (PCI:0000:52:00): 79, pid=1, name=python, GPU has fallen off the bus."
FULL = "OSError: [Errno 28] No space left on device: '/data/out/step10.pt'"
UNSURE = {
    "only the job says so": {"applog/node-02": f"05:00:00 {XID}"},
    "two causes fit": {"syslog/node-02": f"05:00:00 {XID}", "applog/node-01": f"05:00:00 {FULL}"},
}


@pytest.mark.parametrize("case", UNSURE)
def test_nothing_drastic_on_evidence_that_does_not_carry_it(case: str, shipped: RuleSets) -> None:
    got = told(shipped, UNSURE[case])
    advised = {*got.actions, *(action for cause in got.causes for action in cause.actions)}
    assert not advised & GATED_ACTIONS
    sure = told(shipped, {"syslog/node-02": f"05:00:00 {XID}"})
    assert (sure.sub_domain, Action.REBOOT_NODE in sure.actions) == (SubDomain.GPU_HARDWARE, True)
