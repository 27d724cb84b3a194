"""SVC101: where a hub could not be reached after its name was not resolved, the name is the reason."""

from collections.abc import Iterator

from attribution.events.moment import Order
from attribution.rules.api import Derive, EventDecision, EventView, FilterStage, event_filter


@event_filter(
    id="SVC101",
    name="hub-name-not-resolved",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("HUB_NAME_RETRIED", "HUB_UNREACHABLE"),
    emits=("NAME_NOT_RESOLVED",),
)
def hub_name_not_resolved(view: EventView) -> Iterator[EventDecision]:
    """Requests that are tried again for a name that was not resolved explain that the hub was not reached then.

    Why: the last line names the hub, which is well; the fault lies with DNS, or with nodes that have no way out.
    Misses: hubs that are not reached for another reason after the name was resolved at last.
    Next step: resolve the name on the nodes; without a way out, fill the cache beforehand and set the offline mode.
    """
    for failed in view.of("HUB_UNREACHABLE"):
        tried = tuple(
            event
            for event in view.of("HUB_NAME_RETRIED")
            if event.key == failed.key and view.order(event, failed) is Order.BEFORE
        )
        if tried:
            fields = {"what": tried[0].get("what")}
            yield Derive("NAME_NOT_RESOLVED", tried, "the hub was then given up", fields, absorbs=False)


CASES = """
- name: given up
  given: |
    node-01 +0.0s applog | (MaxRetryError("Caused by NameResolutionError: Failed to resolve 'hub.example' ([Errno -3])") thrown while requesting HEAD https://hub.example/m/config.json
    node-01 +9.0s applog | OSError: We couldn't connect to 'https://hub.example' to load the files, and couldn't find them in the cached files.
  expect: |
    derive node-01 +0.0s NAME_NOT_RESOLVED
- name: the hub was not reached before
  because: what came later is no reason
  given: |
    node-01 +0.0s applog | OSError: We couldn't connect to 'https://hub.example' to load the files, and couldn't find them in the cached files.
    node-01 +9.0s applog | (MaxRetryError("Caused by NameResolutionError: Failed to resolve 'hub.example' ([Errno -3])") thrown while requesting HEAD https://hub.example/m/config.json
  expect: none
"""
