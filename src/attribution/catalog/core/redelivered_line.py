"""CORE002: one kernel line that reached several logs is one event."""

from collections.abc import Iterable, Iterator

from attribution.contracts.vocabulary import Source
from attribution.events.event import Event
from attribution.rules.api import Absorb, EventDecision, EventView, FilterStage, event_filter

_CLOSE_US = 2_000_000


@event_filter(id="CORE002", name="redelivered-line", since="0.1.0", stage=FilterStage.EARLY)
def redelivered_line(view: EventView) -> Iterator[EventDecision]:
    """The same finding of one node in two system logs within two seconds is one finding, delivered twice.

    Why: journal, syslog and dmesg often carry the same kernel line; counting it twice makes one error look repeated.
    Misses: deliveries whose clocks differ by more than two seconds, or of which one has no clock.
    Next step: nothing; the count of the one that stands is exact within its own log.
    """
    groups: dict[object, list[Event]] = {}
    for event in view.events:
        if event.key.source is Source.SYSLOG and event.moment is not None:
            said = (event.node, event.symptom, event.device, event.discriminator, event.fields)
            groups.setdefault(said, []).append(event)
    for events in groups.values():
        streams = _exact_first(events)
        if len(streams) < 2:
            continue
        original = [event for event in events if event.key.stream == streams[0]]
        for event in events:
            if event.key.stream != streams[0]:
                twin = next((other for other in original if _close(event, other)), None)
                if twin is not None:
                    original.remove(twin)
                    yield Absorb(event, twin, f"the same line as in {twin.key.stream}")


def _exact_first(events: Iterable[Event]) -> list[str]:
    """The streams, those first whose clock tells most exactly when the line was logged."""
    widths: dict[str, int] = {}
    for event in events:
        assert event.moment is not None
        widths[event.key.stream] = min(event.moment.width_us, widths.get(event.key.stream, event.moment.width_us))
    return sorted(widths, key=lambda stream: (widths[stream], stream))


def _close(a: Event, b: Event) -> bool:
    assert a.moment is not None and b.moment is not None
    return a.moment.basis is b.moment.basis and abs(a.moment.us - b.moment.us) <= _CLOSE_US


CASES = """
- name: journal and dmesg carry one Xid
  given: |
    node-01/dmesg +5.0s syslog | NVRM: Xid (PCI:0000:52:00): 79, pid=1, name=python, GPU has fallen off the bus.
    node-01/journal +5.4s syslog | NVRM: Xid (PCI:0000:52:00): 79, pid=1, name=python, GPU has fallen off the bus.
  expect: |
    absorb node-01 +5.4s XID_79 into node-01 +5.0s XID_79
- name: the same code on two GPUs
  because: two devices are two findings
  given: |
    node-01/dmesg +5.0s syslog | NVRM: Xid (PCI:0000:52:00): 79, pid=1, name=python, GPU has fallen off the bus.
    node-01/journal +5.4s syslog | NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=python, GPU has fallen off the bus.
  expect: none
- name: the same line twice in one log
  because: a log does not deliver a line to itself; it happened twice
  given: |
    node-01/dmesg +5.0s syslog | NVRM: Xid (PCI:0000:52:00): 79, pid=1, name=python, GPU has fallen off the bus.
    node-01/dmesg +5.4s syslog | NVRM: Xid (PCI:0000:52:00): 79, pid=1, name=python, GPU has fallen off the bus.
  expect: none
"""
