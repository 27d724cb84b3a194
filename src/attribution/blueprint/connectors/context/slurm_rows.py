"""What `sacct` prints, row by row: fields between marks that no job can forge."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.hostlist import expand
from attribution.presentation.columns import clip, visible

NEEDED = ("JobID", "JobIDRaw", "State", "ExitCode", "Submit", "Start", "End", "NodeList", "User", "JobName")
"""Fields that every Slurm has and without which nothing can be said."""

WANTED = (
    *NEEDED,
    *("DBIndex", "Cluster", "Account", "Partition", "QOS", "DerivedExitCode", "Reason", "Eligible", "TimelimitRaw"),
    *("NNodes", "NTasks", "Restarts", "FailedNode", "AllocTRES", "MaxRSS", "MaxRSSNode", "MaxRSSTask", "SubmitLine"),
)
"""Fields that are asked for where this Slurm has them: `Restarts` and `FailedNode` are younger than 22.05."""

LAST = "ElapsedRaw"
"""Always asked for last: a number, so that the end of its line is the end of the row, whatever stands before it."""

UNASSIGNED = frozenset({"", "None assigned", "None", "(null)"})
_SHOWN_ID = 40
_NO_TIME = frozenset({"", "Unknown", "None", "N/A", "(null)", "0"})
_ID = re.compile(r"(?P<job>\d+)(?:_(?P<task>\d+|\[[^\]]*\]))?(?:\+(?P<component>\d+))?(?:\.(?P<step>.+))?", re.DOTALL)


class OutputUnreadable(ConnectorError):
    """Not all that `sacct` printed can be read; what can be was handed out."""


@dataclass(frozen=True, slots=True)
class JobId:
    """A job's or step's id, taken apart: `11_2` is a task of an array, `24+1` a component, `9.batch` a step."""

    job: str
    task: str | None = None
    component: int | None = None
    step: str | None = None

    @classmethod
    def parse(cls, text: str) -> "JobId | None":
        """The parts of an id as `sacct` prints it, or None if it is none."""
        found = _ID.fullmatch(text)
        if found is None:
            return None
        component = found["component"]
        return cls(found["job"], found["task"], None if component is None else int(component), found["step"])

    @property
    def workload(self) -> str:
        """The id of the whole: components of a heterogeneous job are one workload, tasks of an array are many."""
        return self.job if self.task is None else f"{self.job}_{self.task}"

    @property
    def asked(self) -> str:
        """How to ask `sacct` for it. Tasks that were never told apart, `11_[4-9]`, can be asked for only as `11`."""
        return self.workload if self.task is None or self.task.isdigit() else self.job


Row = Mapping[str, str]
"""One row by the names of its fields; those that this Slurm does not have are missing."""


@dataclass(slots=True)
class Record:
    """The accounting record of one execution of a job, with those of its steps."""

    id: JobId
    row: Row
    steps: list[Row] = field(default_factory=list)

    @property
    def state(self) -> str:
        """Without who cancelled it: `CANCELLED by 1007` is CANCELLED."""
        return self.row["State"].partition(" ")[0].rstrip("+")

    @property
    def submitted(self) -> datetime | None:
        """When it was submitted, or put back into the queue."""
        return instant(self.row["Submit"])

    @property
    def started(self) -> datetime | None:
        """When it began to run; nothing began where no node was given."""
        return instant(self.row["Start"]) if self.nodes_text not in UNASSIGNED else None

    @property
    def ended(self) -> datetime | None:
        """When it ended."""
        return instant(self.row["End"])

    @property
    def nodes_text(self) -> str:
        """The list of nodes as it is printed."""
        return self.row["NodeList"].strip()

    def nodes(self) -> tuple[str, ...]:
        """The nodes it had, none if it got none. Raises HostlistError."""
        return () if self.nodes_text in UNASSIGNED else expand(self.nodes_text)


def rows(chunks: Iterable[str], fields: tuple[str, ...], mark: str) -> Iterator[Row]:
    """The rows of an output without header. The last field holds no line end; all others may hold anything.

    Raises OutputUnreadable at the end of an output that breaks off within a row, or that holds none.
    """
    values: list[str] = []
    rest = ""
    for chunk in chunks:
        pieces = (rest + chunk).split(mark)
        rest = pieces.pop()
        for piece in pieces:
            values.append(piece)
            if len(values) == len(fields):  # the last value of a row, and after it the first one of the next
                last, _, first = piece.partition("\n")
                values[-1] = last
                yield dict(zip(fields, values, strict=True))
                values = [first]
        if len(values) == len(fields) - 1 and "\n" in rest:
            last, _, rest = rest.partition("\n")
            yield dict(zip(fields, [*values, last], strict=True))
            values = []
    if values or rest.strip():
        remedy = "run it by hand and see what it prints, then ask again"
        raise OutputUnreadable(f"what `sacct` printed ends within a row, or is none of its rows ({remedy})")


def records(found: Iterable[Row]) -> Iterator[Record]:
    """Rows of jobs, each with the rows of its steps, which follow it and carry its index in the database.

    Raises OutputUnreadable at the end if there were rows of which no job can be told.
    """
    job: Record | None = None
    odd, first = 0, ""
    for row in found:
        identity = JobId.parse(row["JobID"])
        if identity is None:
            odd += 1
            first = first or clip(visible(row["JobID"]), _SHOWN_ID)
            continue
        if identity.step is None:
            if job is not None:
                yield job
            job = Record(identity, row)
        elif job is not None and row.get("DBIndex") == job.row.get("DBIndex"):
            job.steps.append(row)
    if job is not None:
        yield job
    if odd:
        rows_are = "1 row that `sacct` printed is" if odd == 1 else f"{odd} rows that `sacct` printed are"
        raise OutputUnreadable(f"{rows_are} of no job: `{first}` is no id of one")


def instant(text: str) -> datetime | None:
    """A time as seconds since 1970, or, where a Slurm does not honour the format, as text in UTC."""
    if text in _NO_TIME:
        return None
    try:
        return datetime.fromtimestamp(int(text), UTC) if text.isdigit() else datetime.fromisoformat(text + "+00:00")
    except (ValueError, OverflowError, OSError):
        return None


def exit_code(text: str) -> tuple[int, int]:
    """`code:signal` as numbers; steps that were lost have none."""
    code, _, signal = text.partition(":")
    return (int(code) if code.isdigit() else 0, int(signal) if signal.isdigit() else 0)
