"""TORCH101: timeouts of one process group, compared: at one sequence number all ranks must be in one operation."""

from collections.abc import Iterator, Mapping, Sequence

from attribution.events.event import Event
from attribution.rules.api import Annotate, Derive, EventDecision, EventView, FilterStage, event_filter

_ONE_SIZE = frozenset(
    {"ALLREDUCE", "ALLREDUCE_COALESCED", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"}
)
"""Operations in which all ranks pass the same number of elements."""

_BETWEEN_TWO = frozenset({"SEND", "RECV", "RECVANYSOURCE", "COALESCED", "UNKNOWN"})
"""Operations that differ between ranks by nature, or that stand for several."""

_TELLING = 16
"""Groups that the lines do not name are told apart only by chance; below this number two of them often agree."""

_SHOWN = 8

Variant = tuple[str, str | None, str | None]


@event_filter(
    id="TORCH101",
    name="watchdog-comparison",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("NCCL_WATCHDOG_TIMEOUT",),
    emits=("COLLECTIVE_MISMATCH",),
)
def watchdog_comparison(view: EventView) -> Iterator[EventDecision]:
    """Ranks of one process group that timed out in different operations, or sizes, at one number are out of step.

    Why: the watchdogs report a hang; only their comparison shows that the program called different things on its ranks.
    Misses: ranks that wait at different numbers (one is only behind), and groups that the lines do not tell apart.
    Next step: find the branch before this operation that depends on the rank or on data that differs between ranks.
    """
    progress = _progress(view.of("TORCH_WATCHDOG_STATUS"))
    groups: dict[str | None, list[Event]] = {}
    for event in view.of("NCCL_WATCHDOG_TIMEOUT"):
        known = progress.get(_point(event), {})
        pg = event.get("pg") or known.get("pg")
        if known:
            yield Annotate(event, "the watchdog's next line names the process group", fields={**known, "pg": pg})
        groups.setdefault(pg, []).append(event)
    for pg, events in sorted(groups.items(), key=lambda item: item[0] or ""):
        if pg is not None or all(_is_default(event) for event in events):
            yield from _mismatch(events, least=0 if pg is not None else _TELLING)


def _point(event: Event) -> tuple[object, ...]:
    return event.key, event.rank, event.get("group_rank"), event.get("seq")


def _progress(events: Sequence[Event]) -> Mapping[tuple[object, ...], dict[str, str | None]]:
    """What the status lines say, per rank and sequence number; nothing where two groups say different things."""
    found: dict[tuple[object, ...], dict[str, str | None]] = {}
    for event in events:
        said = {name: event.get(name) for name in ("pg", "last_enqueued", "last_completed")}
        known = found.setdefault(_point(event), said)
        if known.get("pg") != said["pg"]:
            known.clear()
    return found


def _is_default(event: Event) -> bool:
    """Whether the rank within the group may be the rank within the job."""
    return event.get("group_rank") is not None and (event.rank is None or str(event.rank) == event.get("group_rank"))


def _mismatch(events: Sequence[Event], least: int) -> Iterator[EventDecision]:
    by_number: dict[int, dict[str, list[Event]]] = {}
    for event in events:
        seq, member = event.get("seq"), event.get("group_rank")
        if seq and member and event.get("op") and event.get("op") not in _BETWEEN_TWO and int(seq) > least:
            by_number.setdefault(int(seq), {}).setdefault(member, []).append(event)
    for number in sorted(by_number):
        members = by_number[number]
        if any(len({_variant(event) for event in said}) > 1 for said in members.values()):
            return  # one rank in two operations at one number: these lines come from more than one group
        calls: dict[Variant, list[str]] = {}
        for member, said in sorted(members.items(), key=lambda item: int(item[0])):
            calls.setdefault(_variant(said[0]), []).append(member)
        if _differ(tuple(calls)):
            told = "; ".join(_call(variant, ranks) for variant, ranks in sorted(calls.items()))
            for side in _sides(calls, members):
                yield Derive(
                    "COLLECTIVE_MISMATCH",
                    side,
                    "ranks of one process group wait in different operations at one sequence number",
                    fields={"seq": str(number), "calls": told},
                    absorbs=False,
                )
            return


def _sides(
    calls: Mapping[Variant, Sequence[str]], members: Mapping[str, Sequence[Event]]
) -> Iterator[tuple[Event, ...]]:
    """The events of each call that no majority made: those few are out of step, or all are where there is none."""
    for _, ranks in sorted(calls.items()):
        if 2 * len(ranks) <= len(members):
            yield tuple(event for rank in ranks for event in members[rank])


def _variant(event: Event) -> Variant:
    return event.get("op") or "", event.get("numel_in"), event.get("numel_out")


def _differ(calls: Sequence[Variant]) -> bool:
    operations = {operation for operation, _, _ in calls}
    if len(operations) != 1:
        return len(operations) > 1
    inputs = {given for _, given, _ in calls if given is not None}
    outputs = {got for _, _, got in calls if got is not None}
    return operations <= _ONE_SIZE and (len(inputs) > 1 or len(outputs) > 1)


def _call(variant: Variant, ranks: Sequence[str]) -> str:
    size = f" of {variant[1]} elements" if variant[1] else ""
    more = f" and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else ""
    return f"{variant[0]}{size} on rank {', '.join(ranks[:_SHOWN])}{more}"


CASES = r"""
- name: two sizes of one operation
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=3122 op=_ALLGATHER_BASE numel_in=41973 numel_out=82933
    node-01.rank1 +0.9s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=3122 op=_ALLGATHER_BASE numel_in=262712309 numel_out=525423605
  expect: |
    derive node-01.rank0 +0.0s COLLECTIVE_MISMATCH seq=3122
    derive node-01.rank1 +0.9s COLLECTIVE_MISMATCH seq=3122
- name: two operations in a named group, early
  given: |
    node-01 +0.0s applog | [rank4]:[E101 00:00:00.1 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600038 milliseconds before timing out.
    node-01 +0.0s applog | [rank4]:[E101 00:00:00.2 ProcessGroupNCCL.cpp:2271] [PG ID 1 PG GUID 7 Rank 0]  failure detected by watchdog at work sequence id: 3 PG status: last enqueued work: 3, last completed work: 2
    node-01 +0.0s applog | [rank5]:[E101 00:00:00.1 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600038 milliseconds before timing out.
    node-01 +0.0s applog | [rank5]:[E101 00:00:00.2 ProcessGroupNCCL.cpp:2271] [PG ID 1 PG GUID 7 Rank 1]  failure detected by watchdog at work sequence id: 3 PG status: last enqueued work: 3, last completed work: 2
  expect: |
    annotate node-01.rank4 +0.0s NCCL_WATCHDOG_TIMEOUT pg=7 last_enqueued=3
    annotate node-01.rank5 +0.0s NCCL_WATCHDOG_TIMEOUT pg=7 last_enqueued=3
    derive node-01.rank4 +0.0s COLLECTIVE_MISMATCH seq=3
    derive node-01.rank5 +0.0s COLLECTIVE_MISMATCH seq=3
- name: one rank against three
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=57 op=ALLREDUCE numel_in=8
    node-01.rank1 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=57 op=ALLREDUCE numel_in=8
    node-02.rank2 +0.3s NCCL_WATCHDOG_TIMEOUT group_rank=2 seq=57 op=BROADCAST numel_in=1
    node-02.rank3 +0.4s NCCL_WATCHDOG_TIMEOUT group_rank=3 seq=57 op=ALLREDUCE numel_in=8
  expect: |
    derive node-02.rank2 +0.3s COLLECTIVE_MISMATCH seq=57
- name: one rank is behind
  because: different numbers do not show that the ranks took different paths
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=3124 op=_ALLGATHER_BASE numel_in=513 numel_out=3065
    node-01.rank1 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=3122 op=BROADCAST numel_in=5164 numel_out=5164
  expect: none
- name: ranks of groups that are not named
  because: rank 5 is rank 1 of some group, which may be another than rank 0's
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=57 op=ALLREDUCE numel_in=8
    node-01.rank5 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=57 op=BROADCAST numel_in=1
  expect: none
- name: a small number in groups that are not named
  because: every group counts from one, so small numbers meet by chance
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=1 op=ALLREDUCE numel_in=8
    node-01.rank1 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=1 op=BROADCAST numel_in=1
  expect: none
- name: a gather of uneven parts
  because: ranks may pass parts of different sizes there
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=57 op=ALLTOALL_BASE numel_in=8 numel_out=8
    node-01.rank1 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=57 op=ALLTOALL_BASE numel_in=9 numel_out=9
  expect: none
"""
