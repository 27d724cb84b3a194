"""How a job stands, as its own object and Kueue's Workload say it; and which attempts its history shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from attribution.blueprint.connectors.kubernetes.objects import (
    Condition,
    Object,
    at,
    conditions,
    earliest,
    event_times,
    instant,
    kind,
    number,
    text,
    things,
    uid,
)


class Standing(StrEnum):
    """How an attempt stands."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    EVICTED = "evicted"
    STUCK = "stuck"
    RUNNING = "running"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Stretch:
    """One attempt of a job: from an admission to an eviction or the end. `state` and `reason` are as printed.

    `is_current` says that the objects of the job, as they are now, speak of this attempt and of no later one.
    """

    number: int
    standing: Standing
    state: str
    reason: str | None = None
    message: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    is_current: bool = True

    @property
    def told(self) -> str:
        """How it is named among the earlier attempts of a later one."""
        at_time = f" at {self.ended_at:%Y-%m-%dT%H:%M:%SZ}" if self.ended_at else ""
        return f"{self.number}: {self.state}{at_time}"


# --- what a job's own object says -------------------------------------------------------------------------------------


def own_standing(root: Object, pods: Sequence[Object] = ()) -> Stretch:
    """How a job stands by its own word, without Kueue."""
    match kind(root):
        case "RayJob":
            return _ray(root)
        case "Pod" | "Workload":
            return _of_pods(pods)
    return _by_conditions(root)


_ENDS = {
    "Complete": Standing.SUCCEEDED,
    "Completed": Standing.SUCCEEDED,
    "Succeeded": Standing.SUCCEEDED,
    "Failed": Standing.FAILED,
    "SuccessCriteriaMet": Standing.SUCCEEDED,
    "FailureTarget": Standing.FAILED,
}
"""Conditions that end a job, those first that say more."""


def _by_conditions(root: Object) -> Stretch:
    """Job, JobSet, PyTorchJob and TrainJob: conditions that are true."""
    known = conditions(root)
    created = instant(root, "metadata", "creationTimestamp")
    started = instant(root, "status", "startTime")
    number_ = 1 + (number(root, "status", "restarts") or 0)
    for name, standing in _ENDS.items():
        found = known.get(name)
        if found is not None and found.is_true:
            ended = instant(root, "status", "completionTime") or found.at
            return _ended(number_, standing, found, started or created, ended)
    suspended = known.get("Suspended")
    if suspended is not None and suspended.is_true:
        return Stretch(number_, Standing.WAITING, "Suspended", suspended.reason or None, suspended.message or None)
    return Stretch(number_, Standing.RUNNING, "Running", started_at=started or created)


_STATE_REASONS = frozenset({"DeadlineExceeded"})
"""Reasons that say how a job ended, where its condition only says that it failed."""


def _ended(
    number_: int, standing: Standing, found: Condition, started: datetime | None, ended: datetime | None
) -> Stretch:
    state = "Succeeded" if standing is Standing.SUCCEEDED else "Failed"
    state = found.reason if found.reason in _STATE_REASONS else state
    return Stretch(number_, standing, state, found.reason or None, found.message or None, started, ended)


_RAY = {
    "SUCCEEDED": Standing.SUCCEEDED,
    "FAILED": Standing.FAILED,
    "STOPPED": Standing.FAILED,
    "RUNNING": Standing.RUNNING,
    "PENDING": Standing.RUNNING,
}


def _ray(root: Object) -> Stretch:
    status = at(root, "status")
    state, deployment = text(status, "jobStatus") or "", text(status, "jobDeploymentStatus") or ""
    standing = _RAY.get(state)
    if deployment == "Failed":
        standing, state = Standing.FAILED, state if state == "FAILED" else "Failed"
    elif deployment in {"Suspended", "Suspending"}:
        standing, state = Standing.WAITING, deployment
    elif standing is None:
        standing, state = Standing.RUNNING, deployment or "Initializing"
    reason = text(status, "reason")
    state = reason if reason in _STATE_REASONS else state
    number_ = (
        max(1, number(status, "failed") or 0) if standing is Standing.FAILED else 1 + (number(status, "failed") or 0)
    )
    ended = instant(status, "endTime") if standing in {Standing.FAILED, Standing.SUCCEEDED} else None
    started = instant(status, "startTime")
    return Stretch(number_, standing, state, reason, text(status, "message"), started, ended)


def _of_pods(pods: Sequence[Object]) -> Stretch:
    """Pods that no job owns: they have ended when each of them has."""
    phases = [text(pod, "status", "phase") for pod in pods]
    started = earliest([instant(pod, "status", "startTime") for pod in pods])
    ends = [end for pod in pods for state in _terminated(pod) if (end := instant(state, "finishedAt")) is not None]
    if phases and all(phase == "Succeeded" for phase in phases):
        return Stretch(1, Standing.SUCCEEDED, "Succeeded", started_at=started, ended_at=max(ends, default=None))
    if phases and "Failed" in phases and not {"Running", "Pending"}.intersection(filter(None, phases)):
        failed = [pod for pod in pods if text(pod, "status", "phase") == "Failed"]
        reason = next((r for pod in failed if (r := text(pod, "status", "reason"))), None)
        message = next((m for pod in failed if (m := text(pod, "status", "message"))), None)
        return Stretch(1, Standing.FAILED, "Failed", reason, message, started, max(ends, default=None))
    if "Running" in phases:
        return Stretch(1, Standing.RUNNING, "Running", started_at=started)
    return Stretch(1, Standing.WAITING, "Pending")


def _terminated(pod: Object) -> list[Object]:
    found = (at(status, "state", "terminated") for status in things(pod, "status", "containerStatuses"))
    return [state for state in found if isinstance(state, dict)]


# --- what Kueue says --------------------------------------------------------------------------------------------------

_EVICTED_EVENT = "EvictedDueTo"
_MOST_UNKNOWN = 1000
"""Evictions of one event of which only the number is known."""


def stretches(
    root: Object, workload: Object | None, events: Sequence[Object] = (), pods: Sequence[Object] = ()
) -> list[Stretch]:
    """The attempts of a job that can be told apart, the earliest first; the last one is what its objects speak of.

    Kueue keeps how often a Workload was evicted, and in conditions only how it stands now: the earlier evictions are
    in events, as long as the cluster keeps them, and in conditions that say `Previously`. An eviction of which
    neither tells is counted, so that the numbers of the later attempts do not change, and is not among these.
    """
    own = own_standing(root, pods)
    if workload is None:
        return [own]
    known = conditions(workload)
    past = _occurrences(workload, events)
    count = evictions(workload) or max(len(past), int("Evicted" in known))
    restarts = own.number - 1
    evicted = known.get("Evicted")
    is_evicted = evicted is not None and evicted.is_true
    found = [] if restarts else _past(known, past, count, is_evicted)
    if evicted is not None and is_evicted:
        ended = evicted.at
        now = Stretch(max(count, 1) + restarts, Standing.EVICTED, evicted.reason or "Evicted", ended_at=ended)
        past_secs = _past_secs(workload)
        first = ended - timedelta(seconds=past_secs) if ended and past_secs and count <= 1 else None
        found.append(replace(now, reason=_because(evicted, known), message=evicted.message or None, started_at=first))
        return found
    found.append(replace(_now(own, known), number=count + own.number))
    return found


def evictions(workload: Object) -> int:
    """How often a Workload was evicted, as Kueue counts it; 0 in versions that do not."""
    return sum(number(item, "count") or 0 for item in things(workload, "status", "schedulingStats", "evictions"))


def _past_secs(workload: Object) -> int | None:
    """How long it ran in earlier attempts; v1beta1 spells the field otherwise."""
    names = ("accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
    return next((n for name in names if (n := number(workload, "status", name))), None)


def _because(evicted: Condition, known: dict[str, Condition]) -> str:
    """The reason of an eviction with what lies behind it: who took its quota, or what it waited for."""
    behind = {"Preempted": "Preempted", "PodsReadyTimeout": "PodsReady"}.get(evicted.reason)
    condition = known.get(behind) if behind else None
    why = f"Evicted: {evicted.reason}" if evicted.reason else "Evicted"
    return f"{why} ({condition.reason})" if condition is not None and condition.reason else why


def _now(own: Stretch, known: dict[str, Condition]) -> Stretch:
    """How a Workload stands that is not evicted."""
    admitted, finished = known.get("Admitted"), known.get("Finished")
    started = admitted.at if admitted is not None and admitted.is_true else own.started_at
    if finished is not None and finished.is_true:
        if own.standing in {Standing.SUCCEEDED, Standing.FAILED}:
            return replace(own, started_at=started or own.started_at, ended_at=own.ended_at or finished.at)
        good = finished.reason == "Succeeded"
        standing = Standing.SUCCEEDED if good else Standing.FAILED
        return replace(_ended(own.number, standing, finished, started, finished.at), started_at=started)
    if own.standing in {Standing.SUCCEEDED, Standing.FAILED}:
        return replace(own, started_at=started or own.started_at)
    if admitted is not None and admitted.is_true:
        return Stretch(own.number, Standing.RUNNING, "Running", started_at=started)
    quota = known.get("QuotaReserved")
    words = (quota.reason or None, quota.message or None) if quota is not None else (None, None)
    return Stretch(own.number, Standing.WAITING, "Pending", *words)


@dataclass(frozen=True, slots=True)
class _Eviction:
    at: datetime | None
    reason: str
    message: str


def _occurrences(workload: Object, events: Sequence[Object]) -> list[_Eviction]:
    """The evictions that events tell of, the latest first. Of one that is only counted the time is not known."""
    found: list[_Eviction] = []
    told = 0
    for event in events:
        reason = text(event, "reason") or ""
        if not reason.startswith(_EVICTED_EVENT) or text(event, "involvedObject", "uid") != uid(workload):
            continue
        first, last, count = event_times(event)
        words = (reason.removeprefix(_EVICTED_EVENT), text(event, "message") or "")
        unknown = [None] * min(count - 2, _MOST_UNKNOWN) if count > 2 else []
        times = [last] if count == 1 else [last, *unknown, first]
        found += [_Eviction(moment, *words) for moment in times]
        told += 1
    timed = sorted((eviction for eviction in found if eviction.at is not None), key=_when, reverse=True)
    if len(timed) == len(found):
        return timed
    return found if told == 1 else timed[:1]  # of several events with unknown times the order is known of the last


def _when(eviction: _Eviction) -> datetime:
    assert eviction.at is not None
    return eviction.at


def _past(known: dict[str, Condition], past: Sequence[_Eviction], count: int, is_evicted: bool) -> list[Stretch]:
    """The earlier attempts that ended by an eviction whose time is known, the earliest first."""
    last = count - 1 if is_evicted else count
    told = list(past[1:] if is_evicted else past)
    requeued, evicted = known.get("Requeued"), known.get("Evicted")
    if not told and not is_evicted and evicted is not None:
        reason = requeued.reason if requeued is not None and requeued.reason else "Evicted"
        message = evicted.message.removeprefix("Previously: ")
        told = [_Eviction(requeued.at if requeued is not None else None, reason, message)]
    found = []
    for number_, eviction in zip(range(last, 0, -1), told, strict=False):
        if eviction.at is not None:
            reason = f"Evicted: {eviction.reason}"
            found.append(
                Stretch(
                    number_,
                    Standing.EVICTED,
                    eviction.reason,
                    reason,
                    eviction.message or None,
                    None,
                    eviction.at,
                    False,
                )
            )
    return found[::-1]
