"""Records of Slurm's accounting as sentences: jobs, steps and what became of nodes.

Versions differ in nearly every field of the JSON form: a state is a text or a list, a number is a number or an object,
an exit code of the 22.05 form is lost unless it was a signal.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from attribution.extraction.records.told import Placed, Places, Told, Unreadable, mapping, objects, plain, stamp

_NO_VALUE = frozenset({"", "None", "Unknown", "None assigned", "(null)", "N/A"})
_STATE = re.compile(r"^([A-Z_]{2,20})\+?(?: by (\S{1,64}))?$")
_ROW = re.compile(rb"\d+(?:[_+][\d\[\],%-]+)?(?:\.\w+)?\|")
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$")
_FREE_TEXT = ("JobName", "SubmitLine", "WorkDir", "Comment", "AdminComment", "SystemComment", "Reason", "Account")
"""Fields in which somebody may have written the delimiter."""
NODE_EVENTS = re.compile(rb"(?:\w+\|)*NodeName\|(?:\w+\|)*TimeStart\|(?:\w+\|)*Reason\b")
"""How `sacctmgr --parsable2 show event` begins."""
JOB_ROWS = re.compile(rb"(?:\w+\|)*(?:JobID|JobIDRaw)\|(?:[\w%/]+\|)*State\b")
"""How `sacct --parsable2` begins."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A job or a step as its record has it. `code` is `exit:signal`.

    `says_start` and `says_nodes` tell whether the record has a field for them.
    """

    id: str
    raw_id: str
    state: str
    place: Placed | None
    by: str | None = None
    code: str | None = None
    submitted: str | None = None
    started: str | None = None
    ended: str | None = None
    nodes: str | None = None
    failed_node: str | None = None
    reason: str | None = None
    says_start: bool = True
    says_nodes: bool = True

    @property
    def job(self) -> str:
        return self.id.partition(".")[0]

    @property
    def is_step(self) -> bool:
        return "." in self.id


def jobs_of_json(body: bytes) -> Iterator[Told]:
    """The sentences of what `sacct --json` prints, or slurmrestd answers. Raises Unreadable."""
    try:
        jobs = _DOCUMENT.decode(body).jobs
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unreadable(f"cannot be read as records of sacct: {error}") from None
    for placed in Places(body).place(jobs):
        job = placed.decode()
        yield from _told([_job(job, placed), *(_step(step, job, placed) for step in objects(job.get("steps")))])


def jobs_of_rows(body: bytes) -> Iterator[Told]:
    """The sentences of what `sacct --parsable2` prints. Raises Unreadable."""
    held: list[Entry] = []
    for row, placed in _rows(body, JOB_ROWS, _ROW):
        entry = _entry(row, placed)
        if entry is None:
            continue
        if held and not entry.is_step:
            yield from _told(held)
            held = []
        held.append(entry)
    yield from _told(held)


def node_events(body: bytes) -> Iterator[Told]:
    """The sentences of what `sacctmgr --parsable2 show event` prints. Raises Unreadable."""
    for row, placed in _rows(body, NODE_EVENTS, None):
        node, state = _value(row.get("NodeName")), _value(row.get("State"))
        if node is None or state is None:
            continue
        until, user = _time(row.get("TimeEnd")), _value(row.get("User"))
        words = f"Slurm set the node {plain(state, 60)}, Reason={plain(row.get('Reason'))}"
        words += f" [{plain(user, 60)}]" if user else ""
        words += f", until {until}" if until else ""
        yield Told(words, placed.offset, placed.line, _time(row.get("TimeStart")), node=node)


# --- sentences ------------------------------------------------------------------------------------------------------


def _told(entries: Sequence[Entry]) -> Iterator[Told]:
    """A job and its steps."""
    if not entries:
        return
    steps = [entry for entry in entries if entry.is_step]
    for entry in entries:
        assert entry.place is not None
        words = _words(entry)
        if not entry.is_step and _never_began(entry, steps):
            words += ", it never began"
        at = entry.ended or entry.started or entry.submitted
        ran = None if entry.is_step else f"{entry.id} {entry.started}"
        yield Told(words, entry.place.offset, entry.place.line, at, None, 1, None, ran, entry.started, entry.ended)


def _never_began(job: Entry, steps: Iterable[Entry]) -> bool:
    """Whether none of the job's own processes ran: it got no node, or its batch script gave no exit code at all."""
    if (job.says_nodes and job.nodes is None) or (job.says_start and job.started is None):
        return True
    batch = [step for step in steps if step.id.endswith(".batch")]
    return job.state == "REQUEUED" and all(step.code in {None, "0:0"} and step.state == "CANCELLED" for step in batch)


def _words(entry: Entry) -> str:
    raw = f" ({entry.raw_id})" if entry.raw_id not in {"", entry.job, entry.id} else ""
    parts = [
        f"Slurm {'step' if entry.is_step else 'job'} {entry.id}{raw} {entry.state}"
        + (f" by {plain(entry.by, 64)}" if entry.by else ""),
        f"exit code {entry.code}" if entry.code else None,
        f"failed node {plain(entry.failed_node, 200)}" if entry.failed_node else None,
        f"reason {plain(entry.reason, 120)}" if entry.reason else None,
        f"submitted {entry.submitted}" if entry.submitted and not entry.is_step else None,
        f"from {entry.started}" if entry.started else None,
        f"to {entry.ended}" if entry.ended else None,
        f"on {plain(entry.nodes, 300)}" if entry.nodes else None,
    ]
    return ", ".join(part for part in parts if part)


# --- the JSON form --------------------------------------------------------------------------------------------------


class _Jobs(msgspec.Struct):
    jobs: list[msgspec.Raw]


_DOCUMENT = msgspec.json.Decoder(_Jobs)


def _job(job: Mapping[str, Any], placed: Placed) -> Entry:
    times, state = mapping(job.get("time")), mapping(job.get("state"))
    return Entry(
        id=_job_id(job),
        raw_id=str(_number(job.get("job_id")) or ""),
        state=_state(state.get("current")),
        place=placed,
        by=_value(job.get("kill_request_user")),
        code=_code(job.get("exit_code"), _state(state.get("current"))),
        submitted=stamp(_number(times.get("submission"))),
        started=stamp(_number(times.get("start"))),
        ended=stamp(_number(times.get("end"))),
        nodes=_value(job.get("nodes")),
        failed_node=_value(job.get("failed_node")),
        reason=_value(state.get("reason")),
    )


def _job_id(job: Mapping[str, Any]) -> str:
    """As `sacct` shows it: `11_2` is a task of an array, `24+1` a component of a heterogeneous job."""
    array, het = mapping(job.get("array")), mapping(job.get("het"))
    of_array, task = _number(array.get("job_id")), _number(array.get("task_id"))
    if of_array and task is not None:
        return f"{of_array}_{task}"
    of_het, offset = _number(het.get("job_id")), _number(het.get("job_offset"))
    if of_het and offset is not None:
        return f"{of_het}+{offset}"
    return str(_number(job.get("job_id")) or "")


def _step(step: Mapping[str, Any], job: Mapping[str, Any], placed: Placed) -> Entry:
    name, times = mapping(step.get("step")), mapping(step.get("time"))
    last = str(name.get("id", "")).rpartition(".")[2]
    state = _state(step.get("state"))
    return Entry(
        id=f"{_job_id(job)}.{plain(last, 40) or '?'}",
        raw_id="",
        state=state,
        place=placed,
        code=_code(step.get("exit_code"), state),
        started=stamp(_number(times.get("start"))),
        ended=stamp(_number(times.get("end"))),
        nodes=_value(mapping(step.get("nodes")).get("range")),
    )


def _state(value: Any) -> str:
    """One state; of `PENDING, REQUEUED` the second, which tells how the attempt ended."""
    states = [item for item in value if isinstance(item, str)] if isinstance(value, list) else [value]
    known = [state for state in states if isinstance(state, str) and _STATE.match(state)]
    return "REQUEUED" if "REQUEUED" in known else known[0] if known else "UNKNOWN"


def _number(value: Any) -> int | None:
    """A number, as it is or within an object that says whether it is set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _code(value: Any, state: str) -> str | None:
    """Exit code and signal; None where the record says success of what did not succeed, as 22.05 does of every exit."""
    found = mapping(value)
    signal = mapping(found.get("signal"))
    number = _number(signal.get("signal_id")) or _number(signal.get("id")) or 0
    code = _number(found.get("return_code")) or 0
    lost = not number and not code and state not in {"COMPLETED", "RUNNING", "PENDING"}
    return None if lost else f"{code}:{number}"


# --- tables ---------------------------------------------------------------------------------------------------------


def _rows(
    body: bytes, header: re.Pattern[bytes], begins: re.Pattern[bytes] | None
) -> Iterator[tuple[dict[str, str], Placed]]:
    """The rows of a table by field, with their place. A row goes on over lines while fields are missing."""
    lines = body.split(b"\n")
    if not header.match(lines[0]):
        raise Unreadable("does not begin with the names of its fields")
    fields = lines[0].decode("utf-8", "replace").strip().rstrip("|").split("|")
    offset, held, placed = len(lines[0]) + 1, b"", Placed(b"", 0, 0)
    for number, line in enumerate(lines[1:], 1):
        is_new = begins is None or begins.match(line)
        if held and is_new and held.count(b"|") >= len(fields) - 1:
            yield from _row(fields, held, placed)
            held = b""
        if held:
            held += b" " + line
        elif line.strip() and is_new:
            held, placed = line, Placed(b"", offset, number)
        offset += len(line) + 1
    if held:
        yield from _row(fields, held, placed)


def _row(fields: Sequence[str], line: bytes, placed: Placed) -> Iterator[tuple[dict[str, str], Placed]]:
    values = line.decode("utf-8", "replace").rstrip("\r\n").split("|")
    if len(values) == len(fields) + 1 and not values[-1]:
        values.pop()  # `--parsable` ends rows with the delimiter
    extra = len(values) - len(fields)
    if extra < 0:
        return
    for wide in [None] if not extra else [name for name in _FREE_TEXT if name in fields]:
        row = _aligned(fields, values, wide, extra)
        if _fits(row):
            yield row, placed
            return


def _aligned(fields: Sequence[str], values: Sequence[str], wide: str | None, extra: int) -> dict[str, str]:
    """The row if the field `wide` holds all delimiters that are too many."""
    if wide is None:
        return dict(zip(fields, values, strict=True))
    at = fields.index(wide)
    joined = [*values[:at], "|".join(values[at : at + extra + 1]), *values[at + extra + 1 :]]
    return dict(zip(fields, joined, strict=True))


def _fits(row: Mapping[str, str]) -> bool:
    """Whether every field that has a fixed form has it."""
    times = (row.get(name, "") for name in ("Submit", "Start", "End", "TimeStart", "TimeEnd"))
    if not all(value in _NO_VALUE or value.isdigit() or _TIME.match(value) for value in times):
        return False
    return "JobID" not in row or _STATE.match(row.get("State", "")) is not None


def _entry(row: Mapping[str, str], placed: Placed) -> Entry | None:
    found = _STATE.match(row.get("State", ""))
    name = row.get("JobID") or row.get("JobIDRaw") or ""
    if found is None or not name:
        return None
    return Entry(
        id=name,
        raw_id=row.get("JobIDRaw", ""),
        state=found[1],
        place=placed,
        by=f"uid {found[2]}" if found[2] and found[2].isdigit() else found[2],
        code=_value(row.get("ExitCode")),
        submitted=_time(row.get("Submit")),
        started=_time(row.get("Start")),
        ended=_time(row.get("End")),
        nodes=_value(row.get("NodeList")),
        failed_node=_value(row.get("FailedNode")),
        reason=_value(row.get("Reason")),
        says_start="Start" in row,
        says_nodes="NodeList" in row,
    )


def _value(value: Any) -> str | None:
    """A text that says something."""
    words = plain(value)
    return None if words in _NO_VALUE else words


def _time(value: Any) -> str | None:
    """A time as the table has it; a count of seconds becomes UTC."""
    if not isinstance(value, str) or value in _NO_VALUE:
        return None
    return stamp(int(value)) if value.isdigit() and len(value) < 12 else value if _TIME.match(value) else None
