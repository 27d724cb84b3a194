"""TORCH105: launchers without a common rendezvous id wait for each other in vain."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Action, Role, SubDomain
from attribution.events.symptom import SymptomType
from attribution.rules.api import Derive, EventDecision, EventView, FilterStage, event_filter

SYMPTOMS = (
    SymptomType(
        name="TORCHRUN_RUN_IDS_DIFFER",
        role=Role.CAUSE,
        meaning="launchers without a common rendezvous id",
        sub_domain=SubDomain.USER_CONFIG,
        actions=(Action.FIX_USER_CONFIG,),
        tags=("app_failure",),
        ends_job="usually",
    ),
)


@event_filter(
    id="TORCH105",
    name="torchrun-run-ids-differ",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("TORCHRUN_RUN_ID_GENERATED", "TORCH_RENDEZVOUS_FAILED"),
    emits=("TORCHRUN_RUN_IDS_DIFFER",),
)
def run_ids_differ(view: EventView) -> Iterator[EventDecision]:
    """A launcher made up its rendezvous id, and then its rendezvous failed.

    Why: each launcher makes up another id, so they never meet; on one node nobody notices.
    Misses: launchers that were given different ids.
    Next step: pass the same rendezvous id, endpoint and number of nodes to every launcher.
    """
    parts = (view.of("TORCHRUN_RUN_ID_GENERATED")[0], view.of("TORCH_RENDEZVOUS_FAILED")[0])
    yield Derive("TORCHRUN_RUN_IDS_DIFFER", parts, "the rendezvous of a made-up id failed", absorbs=False)


CASES = r"""
- name: a made-up id and a failed rendezvous
  given: |
    node-01 +0.0s TORCHRUN_RUN_ID_GENERATED run_id=77120394
    node-01 +60.0s TORCH_RENDEZVOUS_FAILED error=RendezvousTimeoutError
  expect: |
    derive node-01 +0.0s TORCHRUN_RUN_IDS_DIFFER run_id=77120394
- name: a made-up id alone
  because: on one node it is harmless
  given: |
    node-01 +0.0s TORCHRUN_RUN_ID_GENERATED run_id=77120394
  expect: none
"""
