"""CORE007: what the training outlived did not end it."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.events.event import Event
from attribution.events.moment import SECOND, Basis
from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_LONG_US = 1800 * SECOND
"""How long training must have gone on. Steps take seconds; a rank that lost a peer waits, and prints none."""


_CLOCKS_CHANGE_US = 3600 * SECOND
"""How far a clock of an unknown zone may jump within a log when the hour changes."""


@event_filter(id="CORE007", name="outlived", since="0.1.0", stage=FilterStage.MAIN, needs=("tag:progress",))
def outlived(view: EventView) -> Iterator[EventDecision]:
    """A finding is set aside where the same log, or any of the job if that one shows none, shows training half an hour
    after the last line that says so.

    Why: programs catch exceptions and restart workers, devices correct errors; a job that then trained for half an
    hour ended of something else.
    Misses: other logs without an offset from UTC, which prove no time; workers that do not wait for each other; damage
    that takes longer to show. Within one log without an offset it takes an hour more.
    Next step: look at what came last.
    """
    latest: dict[tuple[object, Basis], int] = {}
    for sign in view.of("tag:progress"):
        if sign.moment is not None and sign.moment.basis in {Basis.UTC, Basis.LOCAL}:
            for place in (sign.key, None):
                of_log = place, sign.moment.basis
                latest[of_log] = max(sign.moment.us, latest.get(of_log, 0))
    for event in view.events:
        end = _end_us(event)
        if end is None or event.moment is None or view.types[event.symptom].role is Role.CONTEXT:
            continue
        is_local = event.moment.basis is Basis.LOCAL
        elsewhere = None if is_local else latest.get((None, Basis.UTC))
        last = latest.get((event.key, event.moment.basis), elsewhere)
        if last is not None and last - end > _LONG_US + (_CLOCKS_CHANGE_US if is_local else 0):
            yield SetContext(event, f"survived: the training went on for {(last - end) // (60 * SECOND)} minutes")


def _end_us(event: Event) -> int | None:
    """When the last line or sample said so, at the latest; None where no clock that counts tells that."""
    moment = event.until or event.moment
    if moment is None or moment.basis not in {Basis.UTC, Basis.LOCAL} or moment.inherited:
        return None
    return max(moment.us + moment.width_us, *(sample.us for sample in event.samples), 0)


CASES = """
- name: an exception that was caught, and an error that was corrected
  given: |
    node-01 +0.0s PYTHON_EXCEPTION
    node-02 +60.0s XID_94 gpu:pci=0000:52:00
    node-01 +7200.0s TRAINING_PROGRESS
    node-01 +7300.0s CUDA_OUT_OF_MEMORY
  expect: |
    context node-01 +0.0s PYTHON_EXCEPTION
    context node-02 +60.0s XID_94
- name: some steps later
  because: ranks print what they had in hand; that is no half hour of training
  given: |
    node-01 +0.0s PYTHON_EXCEPTION
    node-01 +60.0s TRAINING_PROGRESS
  expect: none
"""
