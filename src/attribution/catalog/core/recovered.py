"""CORE008: trouble that ended before the job failed is not what ended the job."""

from collections.abc import Iterator, Sequence

from attribution.events.event import Event, event_order
from attribution.events.moment import SECOND, Moment, Order
from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_LASTS_US = 3600 * SECOND
"""How long after an interruption a job may still fail of it: collectives wait for 10 to 60 minutes."""

_FAILURES = ("tag:app_failure", "tag:collective_echo", "tag:cuda_error", "tag:process_end")
_NAMES = ("interface", "mount", "path", "pci", "port", "server", "target")
"""Fields that say which of several servers, links or mounts a finding is about."""


@event_filter(id="CORE008", name="recovered", since="0.1.0", stage=FilterStage.MAIN)
def recovered(view: EventView) -> Iterator[EventDecision]:
    """Trouble is set aside where the same place then reports its end, and the job failed only long after that, if at all.

    Why: file servers stop answering and links flap every week, and jobs wait and go on. What counts is whether the job
    failed while it lasted, or within the hour in which waits for it run out.
    Misses: jobs that fail hours later of a connection that never came back, although its link did.
    Next step: nothing for this job; trouble that comes back often is worth a look.
    """
    failures = view.of(*_FAILURES)
    progress = view.of("tag:progress")
    for name in sorted(view.types):
        ends = view.of(name) if view.types[name].recovers else ()
        if ends:
            yield from _over(view.of(*view.types[name].recovers), ends, failures, progress)


def _over(
    troubles: Sequence[Event], ends: Sequence[Event], failures: Sequence[Event], progress: Sequence[Event]
) -> Iterator[EventDecision]:
    for trouble in troubles:
        end = next((e for e in ends if _one_place(trouble, e) and event_order(trouble, e) is Order.BEFORE), None)
        others = (failure for failure in failures if failure.symptom != trouble.symptom)
        if end is None or any(_may_follow(trouble, end, failure, progress) for failure in others):
            continue
        yield SetContext(trouble, "it was over before the job failed" if failures else "it was over soon")


def _may_follow(trouble: Event, end: Event, failure: Event, progress: Sequence[Event]) -> bool:
    """Whether a failure may be of the trouble: not provably before it, nor after it was over and the job went on."""
    if event_order(failure, trouble) is Order.BEFORE:
        return False
    if any(event_order(end, sign) is Order.BEFORE and event_order(sign, failure) is Order.BEFORE for sign in progress):
        return False
    return not _apart(end.moment, failure.moment)


def _apart(end: Moment | None, failure: Moment | None) -> bool:
    if end is None or failure is None or end.basis is not failure.basis:
        return False
    return not end.inherited and failure.us - end.us > _LASTS_US


def _one_place(trouble: Event, end: Event) -> bool:
    """Whether both speak of one thing of one node: no name that both give differs."""
    if trouble.node != end.node:
        return False
    ours, theirs = _names(trouble), _names(end)
    shared = ours.keys() & theirs.keys()
    return all(ours[name] == theirs[name] for name in shared) and bool(shared or not ours or not theirs)


def _names(event: Event) -> dict[str, str]:
    named = {name: value for name, value in event.fields if name in _NAMES}
    return named | (dict(event.device.ids) if event.device else {})


CASES = """
- name: a file server answers again
  given: |
    node-01 +0.0s syslog | nfs: server 10.0.0.9 not responding, still trying
    node-01 +40.0s syslog | nfs: server 10.0.0.9 OK
  expect: |
    context node-01 +0.0s STORAGE_NOT_ANSWERING
- name: a link that came up, and a job that failed hours later
  given: |
    node-01 +0.0s syslog | mlx5_core 0000:a1:00.0 ens7np1: Link down
    node-01 +5.0s syslog | mlx5_core 0000:a1:00.0 ens7np1: Link up
    node-01 +9000.0s PYTHON_EXCEPTION
  expect: |
    context node-01 +0.0s NET_LINK_DOWN
- name: the training went on before it failed
  given: |
    node-01 +0.0s syslog | mlx5_core 0000:a1:00.0 ens7np1: Link down
    node-01 +5.0s syslog | mlx5_core 0000:a1:00.0 ens7np1: Link up
    node-01 +300.0s TRAINING_PROGRESS
    node-01 +400.0s PYTHON_EXCEPTION
  expect: |
    context node-01 +0.0s NET_LINK_DOWN
- name: the job failed right after it
  because: connections that broke meanwhile stay broken
  given: |
    node-01 +0.0s syslog | mlx5_core 0000:a1:00.0 ens7np1: Link down
    node-01 +5.0s syslog | mlx5_core 0000:a1:00.0 ens7np1: Link up
    node-01 +40.0s NCCL_WATCHDOG_TIMEOUT
  expect: none
- name: another server answers
  because: the one that was lost still does not
  given: |
    node-01 +0.0s syslog | nfs: server 10.0.0.9 not responding, still trying
    node-01 +40.0s syslog | nfs: server 10.0.0.8 OK
  expect: none
- name: lost again
  because: the last word is that it does not answer
  given: |
    node-01 +0.0s syslog | nfs: server 10.0.0.9 OK
    node-01 +40.0s syslog | nfs: server 10.0.0.9 not responding, still trying
  expect: none
"""
