"""SVC102: of requests to one service, that which ended the program goes before those that were tried again."""

import re
from collections.abc import Iterator

from attribution.events.event import Event
from attribution.rules.api import Absorb, EventDecision, EventView, FilterStage, SetContext, event_filter

_REQUESTS = (
    "CERTIFICATE_REFUSED",
    "HUB_UNREACHABLE",
    "MODEL_SERVICE_FAILED",
    "NAME_NOT_RESOLVED",
    "OBJECT_STORE_BUSY",
    "OBJECT_STORE_REFUSED",
    "PROXY_REFUSED",
    "SERVICE_RATE_LIMITED",
    "SERVICE_SERVER_ERROR",
    "SERVICE_UNREACHABLE",
)
_AGAIN = re.compile(
    r"\b(?:[Tt]rying again|[Ww]ill (?:retry|try again)|[Rr]etry(?:ing)? (?:in|after|again|request)|[Rr]etrying\b"
    r"|[Aa]ttempt \d{1,4} ?(?:/|of) ?\d{1,4})"
)
_RAISED = re.compile(r"\b\w{1,80}(?:\.\w{1,80}){0,8}\.\w{0,80}(?:Error|Exception|Timeout)\b(?:: |$)")
"""An exception with its module, as it is printed at the end of a traceback."""


@event_filter(id="SVC102", name="retried-requests", since="0.1.0", stage=FilterStage.MAIN)
def retried_requests(view: EventView) -> Iterator[EventDecision]:
    """A failed request of which the program says that it tries again stands behind one of which it does not.

    Why: the rank whose request was not tried again is the one that ended; what others tried again went well or came
    later.
    Misses: programs that say of the last attempt too that they try again.
    Next step: nothing.
    """
    raised = [event for event in view.of(*_REQUESTS) if _RAISED.search(event.text) and not _is_retried(event)]
    for name in _REQUESTS:
        events = view.of(name)
        final = next((event for event in events if not _is_retried(event)), None)
        for event in events:
            if not _is_retried(event):
                continue
            if final is not None:
                yield Absorb(event, final, "the program tried it again")
            elif raised:
                yield SetContext(event, "the program tried it again, and ended of another request")


def _is_retried(event: Event) -> bool:
    return _AGAIN.search(event.text) is not None


CASES = """
- name: one rank tries again, another ends
  given: |
    node-01.rank0 +0.0s applog | WARNING download of org/base failed, trying again in 20s: 502 Server Error: Bad Gateway for url: https://hub.example/api
    node-02.rank4 +40.0s applog | requests.exceptions.HTTPError: 502 Server Error: Bad Gateway for url: https://hub.example/api
  expect: |
    absorb node-01.rank0 +0.0s SERVICE_SERVER_ERROR into node-02.rank4 +40.0s SERVICE_SERVER_ERROR
- name: what ends the program is another kind of failure
  given: |
    node-01.rank0 +0.0s applog | WARNING download of org/base failed, trying again in 20s: 502 Server Error: Bad Gateway for url: https://hub.example/api
    node-02.rank4 +40.0s applog | requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='hub.example', port=443): Read timed out. (read timeout=10)
  expect: |
    context node-01.rank0 +0.0s SERVICE_SERVER_ERROR
- name: all are tried again
  because: the last of them may have ended the program
  given: |
    node-01.rank0 +0.0s applog | WARNING attempt 1/3: 502 Server Error: Bad Gateway for url: https://hub.example/api
    node-01.rank0 +40.0s applog | WARNING attempt 2/3: 502 Server Error: Bad Gateway for url: https://hub.example/api
  expect: none
"""
