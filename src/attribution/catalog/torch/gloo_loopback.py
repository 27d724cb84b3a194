"""TORCH104: Gloo could not connect ranks because one of them announced its loopback address."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Action, Role, SubDomain
from attribution.events.event import Event
from attribution.events.symptom import SymptomType
from attribution.rules.api import Derive, EventDecision, EventView, FilterStage, event_filter

SYMPTOMS = (
    SymptomType(
        name="GLOO_LOOPBACK_ADDRESS",
        role=Role.CAUSE,
        meaning="a rank that announced its loopback address to the others",
        sub_domain=SubDomain.USER_CONFIG,
        actions=(Action.FIX_USER_CONFIG,),
        tags=("app_failure",),
        ends_job="usually",
    ),
)


@event_filter(
    id="TORCH104",
    name="gloo-loopback-address",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("GLOO_CONNECT_FAILED", "GLOO_LOOPBACK_FALLBACK"),
    emits=("GLOO_LOOPBACK_ADDRESS",),
)
def gloo_loopback_address(view: EventView) -> Iterator[EventDecision]:
    """Gloo fell back to the loopback address, and then could not connect the ranks, over that address or an unnamed one.

    Why: the fallback alone is a warning that every such node prints; with a failed connection it is the reason.
    Misses: fallbacks of which the warning was not logged.
    Next step: set GLOO_SOCKET_IFNAME on all nodes, or let each host name resolve to the node's own address.
    """
    failed = [event for event in view.of("GLOO_CONNECT_FAILED") if _over_loopback(event)]
    if failed:
        parts = (view.of("GLOO_LOOPBACK_FALLBACK")[0], failed[0])
        remote = next((event.get("remote") for event in failed if event.get("remote")), None)
        yield Derive(
            "GLOO_LOOPBACK_ADDRESS",
            parts,
            "the fallback to the loopback address was followed by a failed connection",
            fields={"remote": remote},
            absorbs=False,
        )


def _over_loopback(event: Event) -> bool:
    remote = event.get("remote")
    return remote is None or remote.startswith("127.") or remote in {"::1", "::ffff:127.0.0.1"}


CASES = r"""
- name: the fallback, then refused connections
  given: |
    node-02.rank8 +0.0s GLOO_LOOPBACK_FALLBACK
    node-02.rank8 +60.0s GLOO_CONNECT_FAILED remote=127.0.0.1
  expect: |
    derive node-02.rank8 +0.0s GLOO_LOOPBACK_ADDRESS remote=127.0.0.1
- name: a connection over a real address
  because: the fallback was not what failed
  given: |
    node-02.rank8 +0.0s GLOO_LOOPBACK_FALLBACK
    node-02.rank8 +60.0s GLOO_CONNECT_FAILED remote=10.0.0.1
  expect: none
"""
