"""An Attempt is one execution to be diagnosed, and where its evidence lies if that is known."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation, Window


@dataclass(frozen=True, slots=True)
class Bundle:
    """An evidence bundle, and the context that takes the place of its own, if one was given."""

    path: Path
    given: ExecutionContext | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt. `origin` says where it was found, in words for people.

    `evidence` is what the connector that found it, `found_by`, was told of it on the way, such as scheduler records.
    It is submitted before anything else is collected.
    """

    context: ExecutionContext
    origin: str
    bundle: Bundle | None = None
    evidence: tuple[Observation, ...] = ()
    found_by: str = "context"

    @property
    def identity(self) -> tuple[str | None, str | None, str, int]:
        """What makes it this attempt and no other."""
        context = self.context
        return (context.tenant, context.cluster, context.workload_id, context.attempt)

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.context.workload_id}, attempt {self.context.attempt}"


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something that was found and is no attempt. It is a failure unless it was only passed over."""

    origin: str
    reason: str
    is_failure: bool = True


Found = Attempt | Unusable


@dataclass(frozen=True, slots=True)
class Query:
    """Which attempts are asked for; what is not said holds for all.

    `job` is the scheduler's name of a job (or the workload's id), `nodes` and the span say where and when it ran.
    """

    job: str | None = None
    workload: str | None = None
    nodes: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None

    @property
    def is_narrow(self) -> bool:
        """Whether something in particular is asked for."""
        return self != Query()

    def wants(self, context: ExecutionContext) -> bool:
        """Whether an attempt is one of those asked for. One that does not say where or when it ran may be."""
        if self.job is not None and self.job not in _job_ids(context):
            return False
        if self.workload is not None and self.workload not in {context.workload_id, context.name}:
            return False
        names = {name for node in context.nodes for name in (node.name, *node.aliases)}
        if self.nodes and names and not names.intersection(self.nodes):
            return False
        starts_late = self.end is not None and context.started_at is not None and context.started_at > self.end
        ends_early = self.start is not None and context.ended_at is not None and context.ended_at < self.start
        return not starts_late and not ends_early

    def __str__(self) -> str:
        said = {
            "job": self.job,
            "workload": self.workload,
            "nodes": ", ".join(self.nodes) or None,
            "start": self.start and _written(self.start),
            "end": self.end and _written(self.end),
        }
        return ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)


def _job_ids(context: ExecutionContext) -> set[str]:
    """What the job is known by. The index of a task within its array is no id: `--job 2` is not every third task."""
    return {context.workload_id, *(value for key, value in context.scheduler_ids.items() if key != "array_task")}


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def asked_window(context: ExecutionContext, margin_secs: int) -> Window | None:
    """The span in which evidence counts, if the context says when the attempt ran."""
    if context.started_at is None or context.ended_at is None:
        return None
    margin = timedelta(seconds=margin_secs)
    try:
        return Window(start=context.started_at - margin, end=context.ended_at + margin)
    except OverflowError:
        return None
