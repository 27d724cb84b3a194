"""Records of `sacct` become attempts: requeues are attempts of one workload, components of one job are one attempt."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from attribution.blueprint.connectors.context.launch_command import shown_command
from attribution.blueprint.connectors.context.slurm_rows import JobId, Record, exit_code
from attribution.blueprint.hostlist import HostlistError
from attribution.contracts.context import ExecutionContext, Node
from attribution.contracts.vocabulary import Scheduler

_REUSED_AFTER = timedelta(days=1)
"""A requeued job is back in the queue within minutes; a record submitted this long after the end of the one before is
another job, which got the id when ids began anew."""
_OWN_ENDINGS = frozenset({"COMPLETED", "FAILED"})
"""States in which the job ended by itself, so that its exit code is one that it gave."""
_GRAVITY = (
    *("NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REQUEUED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY", "FAILED"),
    *("CANCELLED", "RUNNING", "SUSPENDED", "PENDING", "COMPLETED"),
)
"""Of the components of one job, the one whose state says most speaks for all."""
_MAX_SIGNAL = 64


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One execution of one job: its record, or one for each component of a heterogeneous job."""

    number: int
    records: tuple[Record, ...]
    before: tuple[str, ...] = ()
    """The states of the attempts before it, in order."""

    @property
    def workload(self) -> str:
        """The workload's id."""
        return self.records[0].id.workload

    @property
    def decisive(self) -> Record:
        """The record that speaks for all components."""
        return min(self.records, key=lambda record: _gravity(record.state))

    def span(self) -> tuple[datetime | None, datetime | None]:
        """When it ran."""
        started = [record.started for record in self.records if record.started]
        ended = [record.ended for record in self.records]
        start = min(started, default=None)
        end = None if None in ended else max(at for at in ended if at is not None)
        return (None if start and end and start > end else start), end

    def nodes(self) -> tuple[str, ...]:
        """The nodes of all components, each once. Raises HostlistError."""
        return tuple(dict.fromkeys(name for record in self.records for name in record.nodes()))


def attempts(found: Iterable[Record]) -> Iterator[JobAttempt]:
    """The attempts of each workload, in the order in which they were submitted."""
    by_id: dict[tuple[str, int | None], list[Record]] = {}
    for record in found:
        if record.state != "RESIZING":  # what stands before a change of size is the same attempt
            by_id.setdefault((record.id.workload, record.id.component), []).append(record)
    numbered: dict[str, dict[int, list[Record]]] = {}
    for (workload, _), own in sorted(by_id.items(), key=lambda pair: (pair[0][0], pair[0][1] or 0)):
        for number, record in _numbered(_latest_use(sorted(own, key=_submission))):
            numbered.setdefault(workload, {}).setdefault(number, []).append(record)
    for _, by_number in sorted(numbered.items(), key=lambda pair: _order(pair[1])):
        before: tuple[str, ...] = ()
        for number, own in sorted(by_number.items()):
            attempt = JobAttempt(number, tuple(own), before)
            yield attempt
            before = (*before, f"attempt {number}: {attempt.decisive.row['State']}")


def _latest_use(own: Sequence[Record]) -> Sequence[Record]:
    """The records of the job that has the id now."""
    begin = 0
    for index, (earlier, later) in enumerate(pairwise(own), 1):
        ended, submitted = earlier.ended, later.submitted
        if ended is None or submitted is None:
            continue
        if submitted - ended > _REUSED_AFTER or earlier.row["User"] != later.row["User"]:
            begin = index
    return own[begin:]


def _numbered(own: Sequence[Record]) -> Iterator[tuple[int, Record]]:
    """By the count of restarts, where Slurm tells it: old records may have been purged. Else by order."""
    told = [record.row.get("Restarts", "") for record in own]
    if all(text.isdigit() for text in told) and len(set(told)) == len(told):
        yield from ((int(text) + 1, record) for text, record in zip(told, own, strict=True))
    else:
        yield from enumerate(own, 1)


def _submission(record: Record) -> tuple[float, int]:
    index = record.row.get("DBIndex", "")
    return (record.submitted.timestamp() if record.submitted else 0.0, int(index) if index.isdigit() else 0)


def _order(by_number: Mapping[int, list[Record]]) -> tuple[int, str]:
    first: JobId = min(by_number.items())[1][0].id
    return (int(first.job), first.workload)


def _gravity(state: str) -> int:
    return _GRAVITY.index(state) if state in _GRAVITY else _GRAVITY.index("FAILED")


# --- context ----------------------------------------------------------------------------------------------------------


def context_of(attempt: JobAttempt, cluster: str | None) -> ExecutionContext:
    """What the accounting database says of an attempt."""
    record, leader = attempt.decisive, attempt.records[0]
    row = record.row
    start, end = attempt.span()
    code, signal = _ending(record)
    nodes, partial = _nodes(attempt)
    tasks = _tasks(attempt, len(nodes))
    reason = row.get("Reason", "").strip()
    return ExecutionContext(
        workload_id=attempt.workload,
        attempt=attempt.number,
        scheduler=Scheduler.SLURM,
        scheduler_ids=_ids(attempt),
        cluster=cluster or row.get("Cluster") or None,
        name=leader.row["JobName"] or None,
        user=leader.row["User"] or None,
        launch_command=shown_command(leader.row.get("SubmitLine", "")),
        submitted_at=leader.submitted,
        started_at=start,
        ended_at=end,
        scheduler_state=row["State"],
        exit_code=code,
        signal=signal,
        reason=None if reason in {"", "None"} else reason,
        nodes=tuple(Node(name=name) for name in nodes),
        nranks=tasks,
        ranks_per_node=tasks // len(nodes) if tasks and tasks % len(nodes) == 0 else None,
        previous_attempts=attempt.before,
        partial=partial,
    )


def _ids(attempt: JobAttempt) -> dict[str, str]:
    """`job` is the plain number that file names carry as `%j`; `array_job` and `array_task` are their `%A` and `%a`."""
    leader = attempt.records[0]
    ids = {"job": leader.row["JobIDRaw"].partition(".")[0]}
    if leader.id.task is not None:
        ids |= {"array_job": leader.id.job, "array_task": leader.id.task}
    if leader.id.component is not None:
        ids |= {"het_job": leader.id.job}
        ids |= {f"het_job_{record.id.component}": record.row["JobIDRaw"] for record in attempt.records}
    return ids


def _ending(record: Record) -> tuple[int | None, int | None]:
    """Exit code and signal, where the job itself gave them: those of jobs that were ended or never ran are fillers."""
    if record.state not in _OWN_ENDINGS or record.started is None:
        return None, None
    code, signal = exit_code(record.row["ExitCode"])
    if signal:  # 125 stands for running out of memory, 54 for a failed prolog; neither is a signal
        return None, signal if signal <= _MAX_SIGNAL else None
    return code, None


def _nodes(attempt: JobAttempt) -> tuple[tuple[str, ...], str | None]:
    try:
        return attempt.nodes(), None
    except HostlistError as error:
        return (), f"the list of nodes {error}"


def _tasks(attempt: JobAttempt, nodes: int) -> int | None:
    """The ranks, if the largest step ran several tasks a node: a single one may be a launcher of many ranks."""
    counts = [int(step.get("NTasks", "")) for record in attempt.records for step in _own_steps(record)]
    largest = max(counts, default=0)
    return largest if len(attempt.records) == 1 and nodes and largest > nodes else None


def _own_steps(record: Record) -> Iterator[Mapping[str, str]]:
    """The steps that the job started itself."""
    for step in record.steps:
        name = JobId.parse(step["JobID"])
        if name is not None and (name.step or "").isdigit() and step.get("NTasks", "").isdigit():
            yield step
