"""TORCH107: ranks never met because the name of rank 0 is not known where they run."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Action, Role, SubDomain
from attribution.events.symptom import SymptomType
from attribution.rules.api import Derive, EventDecision, EventView, FilterStage, event_filter

SYMPTOMS = (
    SymptomType(
        name="TORCH_STORE_NAME_UNKNOWN",
        role=Role.CAUSE,
        meaning="a name of rank 0 that nobody knows",
        sub_domain=SubDomain.USER_CONFIG,
        actions=(Action.FIX_USER_CONFIG,),
        tags=("app_failure",),
        ends_job="usually",
    ),
)

_UNKNOWN = frozenset({"-2", "-5", "8"})
"""What the resolver says of a name that does not exist, on Linux and elsewhere. -3 is a resolver that is away."""


@event_filter(
    id="TORCH107",
    name="torch-store-name-unknown",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("TORCH_STORE_NAME_UNRESOLVED", "TORCH_STORE_UNREACHABLE"),
    emits=("TORCH_STORE_NAME_UNKNOWN",),
)
def torch_store_name_unknown(view: EventView) -> Iterator[EventDecision]:
    """The name of rank 0 was not found, and then the store under that same name was not reached.

    Why: a failed look-up alone is a warning that many starts show; with a time-out on the same name it is the reason.
    Misses: names that are known and belong to another machine.
    Next step: set MASTER_ADDR, or the rendezvous endpoint, to a name that every node of the job can look up.
    """
    given_up = {event.get("host") for event in view.of("TORCH_STORE_UNREACHABLE")}
    for event in view.of("TORCH_STORE_NAME_UNRESOLVED"):
        if event.get("gai") in _UNKNOWN and event.get("host") in given_up:
            yield Derive(
                "TORCH_STORE_NAME_UNKNOWN",
                (event,),
                "the store under a name that was not found was never reached",
                fields={"host": event.get("host")},
                absorbs=False,
            )
            return


CASES = r"""
- name: never found, then given up
  given: |
    node-02.rank8 +0.0s TORCH_STORE_NAME_UNRESOLVED host=trainer-0 gai=-2
    node-02.rank8 +60.0s TORCH_STORE_UNREACHABLE host=trainer-0
  expect: |
    derive node-02.rank8 +0.0s TORCH_STORE_NAME_UNKNOWN host=trainer-0
- name: found in the end
  because: the store that was not reached has another name
  given: |
    node-02.rank8 +0.0s TORCH_STORE_NAME_UNRESOLVED host=trainer-0 gai=-2
    node-02.rank8 +60.0s TORCH_STORE_UNREACHABLE host=10.0.0.1
  expect: none
- name: a resolver that is away
  because: the name may well exist
  given: |
    node-02.rank8 +0.0s TORCH_STORE_NAME_UNRESOLVED host=trainer-0 gai=-3
    node-02.rank8 +60.0s TORCH_STORE_UNREACHABLE host=trainer-0
  expect: none
"""
