"""TORCH130: the dumps of one process group, compared: who had not called what the others waited in."""

from collections.abc import Iterator, Sequence

from attribution.contracts.vocabulary import Role
from attribution.events.event import Event
from attribution.events.symptom import SymptomType
from attribution.rules.api import Derive, EventDecision, EventView, FilterStage, event_filter

SYMPTOMS = (
    SymptomType(
        name="RANK_BEHIND",
        role=Role.EFFECT,
        meaning="a rank that had not called the operation in which its peers waited",
        ends_job="usually",
    ),
)
_ONE_SIZE = ("all_reduce", "broadcast", "reduce", "all_gather_base", "reduce_scatter_base")
"""Operations in which all ranks pass the same number of elements, as their names end."""

_SHOWN = 8


@event_filter(
    id="TORCH130",
    name="flight-recorder-comparison",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("FLIGHT_RECORDER_STATUS",),
    emits=("RANK_BEHIND", "COLLECTIVE_MISMATCH"),
)
def flight_recorder_comparison(view: EventView) -> Iterator[EventDecision]:
    """Of the ranks of one process group that left dumps, a few are behind the others or wait in another operation.

    Why: those who wait report the hang; the one that never came is what they wait for.
    Misses: why it did not come; ranks that left no dump; groups in which most ranks are behind.
    Next step: read the log and the stack of the rank that is named, from before the others began to wait.
    """
    groups: dict[tuple[str | None, str | None], dict[int, Event]] = {}
    for event in view.of("FLIGHT_RECORDER_STATUS"):
        if event.rank is not None:
            groups.setdefault((event.get("pg"), event.get("desc")), {})[event.rank] = event
    for _, members in sorted(groups.items(), key=lambda item: (item[0][0] or "", item[0][1] or "")):
        ordered = [event for _, event in sorted(members.items())]
        yield from _behind(ordered)
        yield from _mismatch(ordered)


def _behind(members: Sequence[Event]) -> Iterator[EventDecision]:
    most = max(_enqueued(event) for event in members)
    late = [event for event in members if _enqueued(event) < most]
    if 2 * len(late) >= len(members):
        return
    for event in late:
        yield Derive(
            "RANK_BEHIND",
            (event,),
            f"{len(members) - len(late)} of its peers had called operation {most}",
            fields={"peers_enqueued": str(most)},
            absorbs=False,
        )


def _mismatch(members: Sequence[Event]) -> Iterator[EventDecision]:
    """At the first number at which several ranks wait, all are in one operation."""
    numbers = sorted({int(event.get("seq") or 0) for event in members if event.get("seq")})
    waiting = [event for event in members if numbers and event.get("seq") == str(numbers[0])]
    calls: dict[tuple[str, str], list[Event]] = {}
    for event in waiting:
        op = event.get("op") or ""
        calls.setdefault((op, event.get("numel") or "" if op.endswith(_ONE_SIZE) else ""), []).append(event)
    if len(calls) < 2:
        return
    told = "; ".join(_call(call, events) for call, events in sorted(calls.items()))
    for _, side in sorted(calls.items()):
        if 2 * len(side) <= len(waiting):
            yield Derive(
                "COLLECTIVE_MISMATCH",
                tuple(side),
                "ranks of one process group wait in different operations at one sequence number",
                fields={"calls": told},
                absorbs=False,
            )


def _enqueued(event: Event) -> int:
    return int(event.get("last_enqueued") or 0)


def _call(call: tuple[str, str], events: Sequence[Event]) -> str:
    size = f" of {call[1]} elements" if call[1] else ""
    more = f" and {len(events) - _SHOWN} more" if len(events) > _SHOWN else ""
    return f"{call[0]}{size} on rank {', '.join(str(event.rank) for event in events[:_SHOWN])}{more}"


CASES = """
- name: one rank had not called what two others waited in
  given: |
    node-01.rank0 +0.0s FLIGHT_RECORDER_STATUS pg=0 desc=default_pg last_enqueued=42 seq=42 op=nccl_all_reduce
    node-01.rank1 +0.0s FLIGHT_RECORDER_STATUS pg=0 desc=default_pg last_enqueued=41
    node-02.rank2 +0.0s FLIGHT_RECORDER_STATUS pg=0 desc=default_pg last_enqueued=42 seq=42 op=nccl_all_reduce
  expect: |
    derive node-01.rank1 +0.0s RANK_BEHIND peers_enqueued=42
- name: one rank called something else
  given: |
    node-01.rank0 +0.0s FLIGHT_RECORDER_STATUS pg=0 desc=default_pg last_enqueued=42 seq=42 op=nccl_all_reduce numel=8
    node-01.rank1 +0.0s FLIGHT_RECORDER_STATUS pg=0 desc=default_pg last_enqueued=42 seq=42 op=nccl_broadcast numel=8
    node-02.rank2 +0.0s FLIGHT_RECORDER_STATUS pg=0 desc=default_pg last_enqueued=42 seq=42 op=nccl_all_reduce numel=8
  expect: |
    derive node-01.rank1 +0.0s COLLECTIVE_MISMATCH
- name: sizes that may differ
  because: ranks may send different numbers of elements to all
  given: |
    node-01.rank0 +0.0s FLIGHT_RECORDER_STATUS pg=0 desc=default_pg last_enqueued=42 seq=42 op=nccl_all_to_all numel=8
    node-01.rank1 +0.0s FLIGHT_RECORDER_STATUS pg=0 desc=default_pg last_enqueued=42 seq=42 op=nccl_all_to_all numel=9
  expect: none
"""
