"""TORCH102: which ranks of a process group are behind the others, or printed no timeout at all."""

from collections.abc import Iterator, Sequence

from attribution.contracts.context import ExecutionContext
from attribution.events.event import Event
from attribution.events.symptom import Symptom
from attribution.rules.api import Decision, JobView, Note, RefineStage, refiner

_SHOWN = 8


@refiner(id="TORCH102", name="watchdog-lag", since="0.1.0", stage=RefineStage.JOB, needs=("NCCL_WATCHDOG_TIMEOUT",))
def watchdog_lag(job: JobView) -> Iterator[Decision]:
    """Names the ranks that wait at an earlier operation than others, and those of the job that report no timeout.

    Why: a hang is reported by those who wait; the one they wait for is behind or silent.
    Misses: why a rank came late; and nothing is said of groups that the lines do not tell apart.
    Next step: read the logs of the ranks named, from before the time-out began to run.
    """
    timeouts = job.all("NCCL_WATCHDOG_TIMEOUT")
    groups: dict[str | None, list[tuple[Event, Symptom]]] = {}
    for symptom in timeouts:
        for event in symptom.events:
            groups.setdefault(event.get("pg"), []).append((event, symptom))
    for pg, members in sorted(groups.items(), key=lambda item: item[0] or ""):
        whole_job = pg in {None, "0"} and all(_is_default(event) for event, _ in members)
        if pg is not None or whole_job:
            yield from _behind(members)
        if whole_job:
            yield from _silent(members, job.context)


def _is_default(event: Event) -> bool:
    return event.get("group_rank") is not None and (event.rank is None or str(event.rank) == event.get("group_rank"))


def _behind(members: Sequence[tuple[Event, Symptom]]) -> Iterator[Decision]:
    """A remark if the ranks of one group are not at one operation."""
    counted = [(event, symptom) for event, symptom in members if event.get("seq") and _rank(event) is not None]
    field = "last_enqueued" if counted and all(_number(event, "last_enqueued") for event, _ in counted) else "seq"
    at: dict[int, set[int]] = {}
    for event, _ in counted:
        at.setdefault(_number(event, field) or 0, set()).add(_rank(event) or 0)
    if len(at) < 2:
        return
    least, most = min(at), max(at)
    symptom = next(s for event, s in counted if _number(event, field) == least)
    verb = "had called operations up to" if field == "last_enqueued" else "timed out in operation"
    text = f"{_ranks(at[least])} {verb} {least}, {_ranks(at[most])} {verb} {most}: look at the ranks that are behind"
    yield Note(symptom, text)


def _silent(members: Sequence[tuple[Event, Symptom]], context: ExecutionContext) -> Iterator[Decision]:
    """A remark if most ranks of the job report a timeout, and few do not."""
    expected = {rank for node in context.nodes for rank in node.ranks} or set(range(context.nranks or 0))
    heard = {rank for event, _ in members if (rank := _rank(event)) is not None}
    silent = expected - heard
    if silent and len(silent) < len(heard & expected):
        verb = "reports" if len(silent) == 1 else "report"
        yield Note(members[0][1], f"{_ranks(silent)} {verb} no timeout: look there first")


def _rank(event: Event) -> int | None:
    return event.rank if event.rank is not None else _number(event, "group_rank")


def _number(event: Event, field: str) -> int | None:
    text = event.get(field)
    return int(text) if text and text.isdecimal() and len(text) < 19 else None


def _ranks(ranks: set[int]) -> str:
    shown = ", ".join(str(rank) for rank in sorted(ranks)[:_SHOWN])
    more = f" and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else ""
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {shown}{more}"


CASES = r"""
- name: one rank is two operations behind
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=3124 op=_ALLGATHER_BASE
    node-02.rank1 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=3122 op=BROADCAST
  expect: |
    note node-02 NCCL_WATCHDOG_TIMEOUT
- name: one rank of the job is silent
  context: {nranks: 4, nodes: [{name: node-01, ranks: [0, 1]}, {name: node-02, ranks: [2, 3]}]}
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=7 op=ALLREDUCE
    node-01.rank1 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=7 op=ALLREDUCE
    node-02.rank2 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=2 seq=7 op=ALLREDUCE
  expect: |
    note node-01 NCCL_WATCHDOG_TIMEOUT
- name: all wait in one operation
  because: nobody is behind
  context: {nranks: 2}
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=7 op=ALLREDUCE
    node-01.rank1 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=7 op=ALLREDUCE
  expect: none
- name: ranks of groups that are not named
  because: numbers of different groups cannot be compared
  context: {nranks: 16}
  given: |
    node-01.rank0 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=0 seq=9 op=ALLREDUCE
    node-01.rank9 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=1 seq=7 op=ALLREDUCE
  expect: none
- name: one rank alone
  because: most of the job is silent, as where only one log was collected
  context: {nranks: 8}
  given: |
    node-01.rank2 +0.0s NCCL_WATCHDOG_TIMEOUT group_rank=2 seq=7 op=ALLREDUCE
  expect: none
"""
