"""XID002: the Xids of one GPU, until it falls silent, are one burst with one lead."""

from collections.abc import Iterator, Sequence

from attribution.catalog.tables import xids
from attribution.events.event import Event
from attribution.events.moment import SECOND
from attribution.rules.api import Absorb, Annotate, EventDecision, EventView, FilterStage, event_filter

SILENCE_US = 180 * SECOND
"""A GPU that prints no Xid for this long has ended its burst."""

_NEVER_LEAD = frozenset(
    str(code) for code, entry in xids().items() if entry.role == "context" or "xid_sympathetic" in entry.tags
)
"""Codes that record, advise or clean up after another Xid."""


@event_filter(id="XID002", name="xid-burst", since="0.1.0", stage=FilterStage.EARLY, needs=("tag:xid",))
def xid_burst(view: EventView) -> Iterator[EventDecision]:
    """Xids of one GPU that follow each other within three minutes belong to one burst.

    Why: One fault prints dozens of lines, of its own code and of clean-up codes; repeats of a code say nothing new,
    and all members want to know which Xid came first.
    Misses: Bursts whose lines carry clocks that cannot be compared (a boot clock beside wall clock) stay apart.
    Nothing is absorbed into an Xid of another code: whether one explains the other is for the relations to say.
    Next step: Read the lead of the burst (`burst=` holds its code); the other members are mostly its aftermath.
    """
    for burst in _bursts(view.of("tag:xid")):
        yield from _decide(burst)


def _bursts(events: Sequence[Event]) -> list[list[Event]]:
    """The events per GPU and kind of clock, cut where the GPU was silent. Untimed ones of a GPU are one burst."""
    bursts: list[list[Event]] = []
    latest: dict[tuple[object, ...], tuple[list[Event], int]] = {}
    for event in events:
        pci = event.device.get("pci") if event.device else None
        if pci is None:
            continue
        place = (event.node, pci, event.moment and event.moment.basis)
        now = event.moment.us if event.moment else 0
        burst, before = latest.get(place, (None, 0))
        if burst is None or now - before > SILENCE_US:
            burst = []
            bursts.append(burst)
        burst.append(event)
        latest[place] = (burst, max(before, now))
    return bursts


def _decide(burst: Sequence[Event]) -> Iterator[EventDecision]:
    firsts: dict[tuple[object, ...], Event] = {}
    pointers: dict[str, str] = {}
    for event in burst:
        said = (event.symptom, event.device, event.discriminator, event.get("code"), event.get("recovery"))
        first = firsts.setdefault(said, event)
        pointer = event.get("caused_by")
        if pointer:
            pointers.setdefault(first.id, pointer)
        if first is not event:
            yield Absorb(event, first, f"repeats Xid {event.get('code')} of the same device in one burst")
    members = tuple(firsts.values())
    lead = _lead(members, tuple(pointers.values()))
    for member in members:
        if lead is not None and (len(members) > 1 or member.get("code") != lead):
            fields = {"burst": lead, "caused_by": pointers.get(member.id)}
            yield Annotate(member, f"belongs to a burst led by Xid {lead}", {k: v for k, v in fields.items() if v})


def _lead(members: Sequence[Event], pointers: Sequence[str]) -> str | None:
    """The Xid that the driver names as the earlier one, if it is there or nothing else is; else the earliest."""
    codes = [code for member in members if (code := member.get("code")) and code not in _NEVER_LEAD]
    named = next((pointer for pointer in pointers if pointer in codes or not codes), None)
    return named or (codes[0] if codes else None)


CASES = r"""
- name: a link fault and the clean-up it causes
  given: |
    node-02 +0.0s NVLINK_SIGNAL_INTEGRITY nvlink:link=4,pci=0000:1b:00 code=149
    node-02 +0.1s XID_45 gpu:pci=0000:1b:00 code=45 caused_by=149
    node-02 +0.3s XID_45 gpu:pci=0000:1b:00 code=45
    node-02 +0.4s XID_154 gpu:pci=0000:1b:00 code=154
  expect: |
    absorb node-02 +0.3s XID_45 into node-02 +0.1s XID_45
    annotate node-02 +0.0s NVLINK_SIGNAL_INTEGRITY burst=149
    annotate node-02 +0.1s XID_45 burst=149 caused_by=149
    annotate node-02 +0.4s XID_154 burst=149
- name: the earlier Xid is known only from the driver's word
  given: |
    node-02 +0.0s XID_45 gpu:pci=0000:1b:00 code=45
    node-02 +0.1s XID_45 gpu:pci=0000:1b:00 code=45 caused_by=79
  expect: |
    absorb node-02 +0.1s XID_45 into node-02 +0.0s XID_45
    annotate node-02 +0.0s XID_45 burst=79 caused_by=79
- name: repeats after a silence are a new burst
  given: |
    node-02 +0.0s XID_13 gpu:pci=0000:1b:00 code=13
    node-02 +100.0s XID_13 gpu:pci=0000:1b:00 code=13
    node-02 +281.0s XID_13 gpu:pci=0000:1b:00 code=13
  expect: |
    absorb node-02 +100.0s XID_13 into node-02 +0.0s XID_13
- name: two GPUs
  because: each GPU has a burst of its own, and a burst of one event needs no word
  given: |
    node-02 +0.0s XID_79 gpu:pci=0000:1b:00 code=79
    node-02 +0.1s XID_79 gpu:pci=0000:3b:00 code=79
    node-03 +0.1s XID_79 gpu:pci=0000:1b:00 code=79
  expect: none
- name: clean-up alone
  because: nothing says what was cleaned up after
  given: |
    node-02 +0.0s XID_43 gpu:pci=0000:1b:00 code=43
    node-02 +0.1s XID_45 gpu:pci=0000:1b:00 code=45
  expect: none
"""
