"""Attempts that Slurm's accounting database knows, read with `sacct`; what became of their nodes with `sacctmgr`."""

import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from pathlib import Path

from pydantic import Field

from attribution.blueprint.attempt import Attempt, Found, Query, Unusable
from attribution.blueprint.connectors.base import ConnectorError, ContextConnector
from attribution.blueprint.connectors.commands import CommandError, Why
from attribution.blueprint.connectors.context.slurm_commands import SlurmCommands
from attribution.blueprint.connectors.context.slurm_evidence import (
    EVENT_FIELDS,
    NodeEvent,
    event_observation,
    event_rows,
    event_window,
    no_events,
    record_observation,
)
from attribution.blueprint.connectors.context.slurm_jobs import JobAttempt, attempts, context_of
from attribution.blueprint.connectors.context.slurm_rows import (
    LAST,
    NEEDED,
    WANTED,
    JobId,
    OutputUnreadable,
    Record,
    Row,
    records,
    rows,
)
from attribution.contracts.base import Strict
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation, Window

_AT_ONCE = 200
"""Jobs that are asked for in one call, and nodes that are named in one."""
_INVALID_FIELD = re.compile(r'Invalid field requested: "(\w+)"')
_HOUR = timedelta(hours=1)


class JobState(StrEnum):
    """The states of jobs in Slurm's accounting database."""

    BOOT_FAIL = "BOOT_FAIL"
    CANCELLED = "CANCELLED"
    COMPLETED = "COMPLETED"
    DEADLINE = "DEADLINE"
    FAILED = "FAILED"
    NODE_FAIL = "NODE_FAIL"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    PENDING = "PENDING"
    PREEMPTED = "PREEMPTED"
    REQUEUED = "REQUEUED"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    TIMEOUT = "TIMEOUT"


_NOT_FAILED = frozenset({JobState.COMPLETED, JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED})


class SlurmSettings(Strict):
    """Which jobs are looked for, and how Slurm's commands are run."""

    cluster: str | None = Field(
        default=None, description="the cluster to ask about, where the database knows several; the local one otherwise"
    )
    states: tuple[JobState, ...] = Field(
        default=tuple(state for state in JobState if state not in _NOT_FAILED),
        description="states of the jobs that are looked for; a job asked for by its id may be in any",
    )
    users: tuple[str, ...] = Field(default=(), description="only jobs of these users")
    accounts: tuple[str, ...] = Field(default=(), description="only jobs of these accounts")
    partitions: tuple[str, ...] = Field(default=(), description="only jobs of these partitions")
    all_users: bool = Field(
        default=True, description="ask for everybody's jobs, as far as Slurm's `PrivateData` lets this user see them"
    )
    lookback_secs: int = Field(
        default=86_400, ge=1, description="how long ago jobs may have ended, where no start is asked for"
    )
    node_events: bool = Field(default=True, description="ask `sacctmgr` which nodes were down or drained, and why")
    sacct: str = Field(default="sacct", min_length=1, description="the program `sacct`, by name or path")
    sacctmgr: str = Field(default="sacctmgr", min_length=1, description="the program `sacctmgr`, by name or path")
    slurm_conf: Path | None = Field(default=None, description="the configuration of Slurm, if not the usual one")
    timeout_secs: float = Field(default=60.0, gt=0, description="how long one call of a program may take")
    output_bytes: int = Field(default=256 << 20, ge=1024, description="bytes of output of one call that are read")


class SlurmContexts(ContextConnector[SlurmSettings]):
    """Finds jobs that did not complete, each execution of each as an attempt, with the records of its steps and nodes.

    `sacct` is asked for rows, not for JSON: that of 22.05 loses exit codes, and rows are whole in every version.
    """

    Settings = SlurmSettings

    def __init__(self, settings: SlurmSettings, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(settings)
        self._now = now
        self._commands = SlurmCommands(settings.timeout_secs, settings.output_bytes, settings.slurm_conf)
        self._lock = threading.Lock()
        self._known: tuple[str, ...] = ()

    def programs(self) -> tuple[str, ...]:
        """The commands of Slurm that are run."""
        return (self.settings.sacct, *((self.settings.sacctmgr,) if self.settings.node_events else ()))

    def check(self) -> str:
        """Ask for the version, the fields, and the jobs and events of the last hour."""
        version = self._commands.text([self.settings.sacct, "--version"]).strip()[:80]
        end = self._now()
        found = list(self._ended(Query(start=end - _HOUR, end=end)))
        users = len({record.row["User"] for record in found})
        told = f"{version} tells of {_counted(len(found), 'job')} of {_counted(users, 'user')} in the last hour"
        if not self.settings.node_events:
            return told
        try:
            self._commands.text(self._event_command(Window(start=end - _HOUR, end=end), ()))
        except CommandError as error:
            if error.why is not Why.CUT:
                raise ConnectorError(f"{error} (grant it, or set `node_events` to false)") from None
        return f"{told}, and of node events"

    def discover(self, query: Query) -> Iterator[Found]:
        """Jobs in the order of their ids, each with its attempts in order.

        By its id a job is found whatever its state, with all its attempts. A span of time gives the attempts that ended
        in it, in one of the states of the settings.
        """
        if query.job is not None:
            yield from self._by_id(query.job, query)
            return
        end = query.end or self._now()
        query = replace(query, start=query.start or end - timedelta(seconds=self.settings.lookback_secs), end=end)
        wanted: dict[str, set[tuple[str, str, str]]] = {}
        cut = None
        try:
            for record in self._ended(query):
                wanted.setdefault(record.id.asked, set()).add(_key(record))
        except (CommandError, OutputUnreadable) as error:  # what was read is looked at all the same
            if isinstance(error, CommandError) and error.why is not Why.CUT:
                raise
            cut = str(error)
        keys = {key for own in wanted.values() for key in own}
        for ids in _batches(sorted(wanted, key=_by_number), _AT_ONCE):
            yield from self._attempts(ids, query, lambda attempt: any(_key(own) in keys for own in attempt.records))
        if cut:
            yield Unusable("sacct", f"not all jobs of this span were looked at: {cut}")

    def _by_id(self, job: str, query: Query) -> Iterator[Found]:
        """All attempts of one job, or of all tasks of an array. A component stands for its whole job."""
        asked = JobId.parse(job)
        if asked is None:
            return
        ids = {record.id.asked for record in self._records(["--allocations", f"--jobs={asked.asked}"])}
        yield from self._attempts(sorted(ids, key=_by_number), replace(query, job=None), lambda attempt: True)

    # --- sacct --------------------------------------------------------------------------------------------------------

    def _ended(self, query: Query) -> Iterator[Record]:
        """The records, without steps, of what ended in the span of the query. Raises CommandError."""
        assert query.start is not None and query.end is not None
        # Without an end, `sacct` takes a state for one that jobs were in at the start.
        options = ["--allocations", f"--starttime={_time(query.start)}", f"--endtime={_time(query.end)}"]
        options += [f"--state={','.join(self.settings.states)}"] if self.settings.states else []
        options += [f"--nodelist={','.join(query.nodes)}"] if query.nodes else []
        return self._records(options)

    def _records(self, options: Sequence[str]) -> Iterator[Record]:
        return records(self._rows(options))

    def _rows(self, options: Sequence[str]) -> Iterator[Row]:
        """The rows of a call. Should a field be refused, it is asked again without it."""
        while True:
            fields = self._fields()
            # The mark is made anew for each call, so that no name or command line of a job can hold it.
            mark = f"\x1f{secrets.token_hex(8)}\x1f"
            command = [self.settings.sacct, "--noheader", "--parsable2", f"--delimiter={mark}", "--duplicates"]
            command += [f"--format={','.join(fields)}", *self._scope(), *options]
            try:
                yield from rows(self._commands.stream(command), fields, mark)
            except CommandError as error:
                refused = _INVALID_FIELD.search(error.stderr)
                if refused is None or refused[1] not in fields or refused[1] in (*NEEDED, LAST):
                    raise
                with self._lock:
                    self._known = tuple(name for name in fields if name != refused[1])
            else:
                return

    def _scope(self) -> Iterator[str]:
        """Whose jobs are asked for."""
        its = self.settings
        if its.all_users:
            yield "--allusers"
        if its.cluster:
            yield f"--clusters={its.cluster}"
        for option, names in (("user", its.users), ("accounts", its.accounts), ("partition", its.partitions)):
            if names:
                yield f"--{option}={','.join(names)}"

    def _fields(self) -> tuple[str, ...]:
        """The fields that this Slurm has of those that are wanted. Raises ConnectorError."""
        with self._lock:
            known = self._known
        if known:
            return known
        listed = set(self._commands.text([self.settings.sacct, "--helpformat"]).split())
        missing = [name for name in (*NEEDED, LAST) if name not in listed]
        if missing:
            raise ConnectorError(f"`{self.settings.sacct}` has no field {missing[0]}, so it is none that is known")
        known = (*(name for name in WANTED if name in listed), LAST)
        with self._lock:
            self._known = known
        return known

    # --- attempts -----------------------------------------------------------------------------------------------------

    def _attempts(self, ids: Sequence[str], query: Query, chosen: Callable[[JobAttempt], bool]) -> Iterator[Found]:
        """The attempts of some jobs that are chosen and that the query wants. What is too much at once is halved."""
        if not ids:
            return
        found: list[Record] = []
        unread = None
        try:
            for record in self._records([f"--jobs={','.join(ids)}"]):
                found.append(record)
        except OutputUnreadable as error:
            unread = str(error)
        except CommandError as error:
            if error.why is not Why.CUT:
                raise
            if len(ids) == 1:
                yield Unusable("sacct", f"the job {ids[0]} was not looked at: {error}")
                return
            for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
                yield from self._attempts(half, query, chosen)
            return
        every = [(attempt, context_of(attempt, self.settings.cluster)) for attempt in attempts(found)]
        yield from self._with_evidence([pair for pair in every if query.wants(pair[1]) and chosen(pair[0])])
        if unread:
            yield Unusable("sacct", f"not all records of these jobs were looked at: {unread}")

    def _with_evidence(self, own: Sequence[tuple[JobAttempt, ExecutionContext]]) -> Iterator[Attempt]:
        """The attempts, with what Slurm recorded of each."""
        windows = [event_window(attempt, self._now()) for attempt, _ in own]
        nodes = sorted({node.name for _, context in own for node in context.nodes})
        events = self._events([window for window in windows if window], nodes)
        for (attempt, context), window in zip(own, windows, strict=True):
            evidence = [record_observation(attempt)]
            if window is not None and context.nodes and self.settings.node_events:
                names = [node.name for node in context.nodes]
                evidence.append(events.of(names, context.cluster, window))
            yield Attempt(context, f"Slurm job {attempt.workload}", evidence=tuple(evidence))

    def _events(self, windows: Sequence[Window], nodes: Sequence[str]) -> "_Events":
        """The events of nodes in spans, and why not all of them, or none, can be had."""
        events = _Events()
        if not windows or not nodes or not self.settings.node_events:
            return events
        span = Window(start=min(window.start for window in windows), end=max(window.end for window in windows))
        printed: list[str] = []
        try:
            printed.extend(self._commands.stream(self._event_command(span, nodes)))
        except CommandError as error:
            if error.why is not Why.CUT:
                return _Events(refused=str(error))
            events.missing = str(error)
        try:
            for event in event_rows("".join(printed)):
                events.found.append(event)
        except OutputUnreadable as error:
            events.missing = events.missing or str(error)
        return events

    def _event_command(self, span: Window, nodes: Sequence[str]) -> list[str]:
        command = [self.settings.sacctmgr, "--noheader", "--parsable2", "--readonly", "show", "event"]
        command += [f"start={_time(span.start)}", f"end={_time(span.end)}", f"format={','.join(EVENT_FIELDS)}"]
        command += [f"cluster={self.settings.cluster}"] if self.settings.cluster else []
        return command + ([f"nodes={','.join(nodes)}"] if 0 < len(nodes) <= _AT_ONCE else [])


@dataclass(slots=True)
class _Events:
    """Events of nodes, and why there are none, or why some may be missing."""

    found: list[NodeEvent] = field(default_factory=list)
    refused: str | None = None
    missing: str | None = None

    def of(self, nodes: Sequence[str], cluster: str | None, window: Window) -> Observation:
        """What became of an attempt's nodes."""
        if self.refused is not None:
            return no_events(window, self.refused)
        own = [event for event in self.found if event.row["Cluster"] in {cluster, ""}]
        return event_observation(nodes, window, own, self.missing)


def _key(record: Record) -> tuple[str, str, str]:
    """What names one record among those of its job: each execution was submitted or put back at its own time."""
    return (record.row["JobID"], record.row["Submit"], record.row.get("DBIndex", ""))


def _by_number(asked: str) -> tuple[int, int]:
    job, _, task = asked.partition("_")
    return (int(job), int(task or -1))


def _batches(ids: Sequence[str], size: int) -> Iterator[list[str]]:
    left = iter(ids)
    while batch := list(islice(left, size)):
        yield batch


def _time(at: datetime) -> str:
    """As Slurm reads it; the program runs in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
