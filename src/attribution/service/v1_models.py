"""What V1 clients send and get. Keys that are not known are counted and ignored; times are epochs or ISO texts."""

import re
from datetime import UTC, datetime
from typing import Any

from pydantic import Field, StrictFloat, StrictInt, ValidationError

from attribution.contracts.base import Lenient
from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.observation import Window
from attribution.contracts.vocabulary import Format, Scheduler, Source

Whole = StrictInt | str
Time = StrictInt | StrictFloat | str | None


class Workload(Lenient):
    """The attempt, as V1 tells it."""

    id: Whole
    type: str | None = None
    srun_cmd: str | None = None
    job_start_time: Time = None
    job_end_time: Time = None
    status: str | None = None
    nranks: Whole | None = None
    ranks_per_node: Whole | None = None
    nodes: tuple[str, ...] = ()
    name: str | None = None
    username: str | None = None
    framework: str | None = None
    exit_code_signal: Whole | None = Field(default=None, description="`exit:signal`, as the scheduler prints it")


class Metadata(Lenient):
    """Who asks."""

    cluster: str | None = None
    agent: str | None = None
    tenant: str | None = None
    ruleset: str | None = None


class OpenRequest(Lenient):
    """Body of `POST /latest/attributor`."""

    workload: Workload
    metadata: Metadata = Metadata()


class OpenAnswer(Lenient):
    """Answer to `POST /latest/attributor`."""

    attributor_id: str


class TimeInterval(Lenient):
    """The span that was asked for."""

    start: Time = None
    end: Time = None


class ObservationContext(Lenient):
    """What the body of an observation is."""

    time_interval: TimeInterval | None = None
    resources: Any = None
    source: str
    format: str


class ObservationRequest(Lenient):
    """Body of `POST /latest/attributor/{id}/observation`. `body` is a text, also where it holds JSON."""

    context: ObservationContext
    body: str


class ObservationAccepted(Lenient):
    """Answer to `POST /latest/attributor/{id}/observation`."""

    observation_id: str


class NodeFault(Lenient):
    """Why a node should be avoided."""

    type: str = "NodeFault"
    symptom: str
    sub_domain: str
    summary: str


class NodeAttribution(Lenient):
    """One node; it is faulty if and only if `attributions` is not empty."""

    type: str = "NodeAttribution"
    node: str
    attributions: tuple[NodeFault, ...] = ()


class AttributionAnswer(Lenient):
    """Answer to `GET /latest/attributor/{id}/attribution`."""

    attributions: tuple[NodeAttribution, ...]


# --- unknown keys ---------------------------------------------------------------------------------------------------

_PARTS: dict[str, type[Lenient]] = {
    "workload": Workload,
    "metadata": Metadata,
    "context": ObservationContext,
    "time_interval": TimeInterval,
}


def ignored_keys(value: Any, model: type[Lenient], part: str = "request") -> dict[str, int]:
    """How many keys of each part of a request are not known."""
    if not isinstance(value, dict):
        return {}
    found: dict[str, int] = {}
    unknown = sum(1 for key in value if key not in model.model_fields)
    if unknown:
        found[part] = unknown
    for name, inner in _PARTS.items():
        if name in value and name in model.model_fields:
            found |= ignored_keys(value[name], inner, name)
    return found


# --- translation ----------------------------------------------------------------------------------------------------

_NOTHING = frozenset({"", "none", "null", "unknown", "n/a", "nan"})
_NUMBER = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,12})?")
_EXIT = re.compile(r"(\d{1,9})(?::(\d{1,9}))?")
_MILLIS, _MICROS, _NANOS = 10**11, 10**14, 10**17


def context_of(request: OpenRequest) -> ExecutionContext:
    """The context that a V1 request tells. ValueError names the key that cannot be read."""
    workload, metadata = request.workload, request.metadata
    exit_code, signal = _exit(workload.exit_code_signal)
    try:
        return ExecutionContext(
            workload_id=str(workload.id),
            scheduler=_scheduler(workload.type),
            cluster=metadata.cluster or None,
            tenant=metadata.tenant or None,
            name=workload.name or None,
            user=workload.username or None,
            framework=workload.framework or None,
            launch_command=workload.srun_cmd or None,
            started_at=instant("/workload/job_start_time", workload.job_start_time),
            ended_at=instant("/workload/job_end_time", workload.job_end_time),
            scheduler_state=workload.status or None,
            exit_code=exit_code,
            signal=signal,
            nodes=tuple({"name": name} for name in dict.fromkeys(workload.nodes) if name),
            nranks=_count("/workload/nranks", workload.nranks),
            ranks_per_node=_count("/workload/ranks_per_node", workload.ranks_per_node),
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = "/workload/" + "/".join(str(part) for part in first["loc"])
        raise ValueError(place, first["msg"].removeprefix("Value error, ")) from None


def _scheduler(kind: str | None) -> Scheduler:
    word = (kind or "").strip().lower()
    return Scheduler(word) if word in set(Scheduler) else Scheduler.STATIC


def _exit(value: Whole | None) -> tuple[int | None, int | None]:
    text = str(value if value is not None else "").strip()
    if text.lower() in _NOTHING:
        return None, None
    match = _EXIT.fullmatch(text)
    if match is None:
        raise ValueError("/workload/exit_code_signal", "is no exit code, nor `exit:signal`")
    signal = int(match[2] or 0)
    return int(match[1]), signal if 1 <= signal <= 64 else None


def _count(place: str, value: Whole | None) -> int | None:
    text = str(value if value is not None else "").strip()
    if text.lower() in _NOTHING or text == "0":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(place, "is no count")
    return int(text)


def instant(place: str, value: Time) -> datetime | None:
    """A time as V1 clients write it: seconds, milli-, micro- or nanoseconds since 1970, or ISO 8601 (without a zone:
    UTC). None where it is not known. ValueError otherwise."""
    text = str(value if value is not None else "").strip()
    if text.lower() in _NOTHING:
        return None
    try:
        if _NUMBER.fullmatch(text):
            return _from_epoch(float(text))
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(
            place, "is no time: send seconds since 1970, or ISO 8601 such as 2026-05-04T03:00:00Z"
        ) from None


def _from_epoch(number: float) -> datetime | None:
    size = abs(number)
    unit = 10**9 if size >= _NANOS else 10**6 if size >= _MICROS else 10**3 if size >= _MILLIS else 1
    return datetime.fromtimestamp(number / unit, UTC) if number > 0 else None


def window_of(interval: TimeInterval | None) -> Window | None:
    """The span that was asked for, if both ends are known."""
    if interval is None:
        return None
    start = instant("/context/time_interval/start", interval.start)
    end = instant("/context/time_interval/end", interval.end)
    return Window(start=start, end=end) if start and end else None


def source_of(word: str) -> Source:
    """The source that a V1 client names. ValueError if there is none."""
    name = word.strip().lower().replace("-", "_")
    found = {"metrics": Source.NODE_METRICS}.get(name)
    if found is None and name not in set(Source):
        raise ValueError("/context/source", f"is no known source: one of {', '.join(Source)}")
    return found or Source(name)


def format_of(word: str) -> Format:
    """The format that a V1 client names. ValueError if there is none."""
    name = word.strip().lower()
    if name not in set(Format):
        raise ValueError("/context/format", f"is no known format: one of {', '.join(Format)}")
    return Format(name)


def answer_of(diagnosis: Diagnosis, nodes: tuple[str, ...]) -> AttributionAnswer:
    """Every node of the workload; those of `exclude_nodes`, and no others, with attributions."""
    excluded = set(diagnosis.exclude_nodes)
    named = (*nodes, *(node for node in diagnosis.exclude_nodes if node not in nodes))
    return AttributionAnswer(
        attributions=tuple(
            NodeAttribution(node=node, attributions=_faults(diagnosis, node) if node in excluded else ())
            for node in named
        )
    )


def _faults(diagnosis: Diagnosis, node: str) -> tuple[NodeFault, ...]:
    found = tuple(
        NodeFault(symptom=cause.symptom, sub_domain=cause.sub_domain.value, summary=cause.meaning)
        for cause in diagnosis.causes
        if cause.node == node
    )
    whole = NodeFault(symptom="NODE", sub_domain=diagnosis.sub_domain.value, summary=diagnosis.summary)
    return found or (whole,)
