"""V1 bodies carry no place within a stream, so they are joined by what they say: order, cut and repetition are gone.

A body is kept as it came. When an attribution is asked for, the entries of all Loki bodies of a source become one
stream for each node and set of labels, sorted by time; the samples of all Prometheus bodies one document for each
node.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from attribution.bundle.names import NodeNames
from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import EvidenceError, Place, Problem
from attribution.contracts.observation import Observation, Window
from attribution.contracts.vocabulary import METRIC_SOURCES, Format, Source, Status
from attribution.extraction.envelopes import explode_loki
from attribution.extraction.series import Series, host_of, merge, read_series, refusal

PREFIX = "v1/"
"""Streams of V1 observations begin with it; what follows names the content."""

_HOSTS = ("hostname", "host", "node", "node_name", "nodename", "instance")
_NO_WRITER = frozenset({"level", "detected_level", "severity"})
"""Labels that differ from line to line of one writer."""

Entry = tuple[int, str, str]
"""(nanoseconds since 1970, host, line)"""


class _Named(msgspec.Struct):
    hostname: str = ""
    host: str = ""


class _Line(_Named):
    attributes: _Named = msgspec.field(default_factory=_Named)


_LINE = msgspec.json.Decoder(_Line)


def observation_of(source: Source, form: Format, body: str, window: Window | None) -> Observation:
    """A V1 body as an observation whose stream names its content. EvidenceError if the body cannot be read."""
    content = f"{source}\0{form}\0{body}".encode("utf-8", "surrogatepass")
    stream = PREFIX + hashlib.blake2b(content, digest_size=16).hexdigest()
    status, reason = Status.OK, None
    if form is Format.RAW_LOKI_STREAMS:
        status = Status.OK if any(True for _ in list(explode_loki(body.encode()))) else Status.EMPTY
    elif form is Format.PROMETHEUS_METRICS:
        if source not in METRIC_SOURCES:
            problem = Problem(Place("body"), "E003", f"holds metrics, and `{source.value}` is no source of metrics")
            raise EvidenceError([problem])
        status, reason = _metric_status(body.encode())
    elif not body:
        status = Status.EMPTY
    return Observation(
        source=source, format=form, stream=stream, window=window, body=body, status=status, reason=reason
    )


def _metric_status(body: bytes) -> tuple[Status, str | None]:
    series, unreadable = read_series(body)
    if (why := refusal(body)) is not None:
        return Status.ERROR, why
    if not series and unreadable:
        remedy = "send an answer of the Prometheus query API, or its `result`"
        raise EvidenceError([Problem(Place("body"), "E003", "holds no Prometheus samples", remedy)])
    if unreadable:
        return Status.PARTIAL, f"{unreadable} samples or series could not be read"
    return (Status.OK if series else Status.EMPTY), None


def joined(context: ExecutionContext, observations: Iterable[Observation]) -> Iterator[Observation]:
    """The observations with those of V1 joined; all others pass as they are."""
    logs: dict[Source, list[Observation]] = {}
    metrics: dict[Source, list[Observation]] = {}
    for item in observations:
        if not item.stream.startswith(PREFIX) or item.node is not None:
            yield item
        elif item.format is Format.RAW_LOKI_STREAMS:
            logs.setdefault(item.source, []).append(item)
        elif item.format is Format.PROMETHEUS_METRICS:
            metrics.setdefault(item.source, []).append(item)
        else:
            yield item
    names = NodeNames(context.nodes)
    for source in sorted(logs):
        yield from _logs(source, logs[source], names)
    for source in sorted(metrics):
        yield from _metrics(source, metrics[source], names)


# --- Loki -----------------------------------------------------------------------------------------------------------


def _logs(source: Source, items: Sequence[Observation], names: NodeNames) -> Iterator[Observation]:
    writers: dict[tuple[str, str], set[Entry]] = {}
    for item in items:
        for ns, labels, line in explode_loki(item.body.encode()):
            host = _host(labels, line)
            node = names.resolve(host) or ""
            writers.setdefault((node, _writer(labels)), set()).add((ns, host or "", line))
    for node, writer in sorted(writers):
        records = [
            msgspec.json.encode({"time": ns, "host": host or None, "message": line}).decode()
            for ns, host, line in sorted(writers[node, writer])
        ]
        body = "\n".join(records) + "\n"
        yield Observation(source=source, node=node or None, stream=f"loki/{writer}", body=body)
    if not writers:
        yield Observation(source=source, stream="loki/", status=Status.EMPTY)


def _writer(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()) if name not in _NO_WRITER)


def _host(labels: Mapping[str, str], line: str) -> str | None:
    """Whose line it is: what a label says, else what the line says in its own record."""
    named = next((labels[name] for name in _HOSTS if labels.get(name)), None)
    if named is not None or not line.startswith("{"):
        return named
    try:
        record = _LINE.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return record.attributes.hostname or record.attributes.host or record.hostname or record.host or None


# --- Prometheus -----------------------------------------------------------------------------------------------------


def _metrics(source: Source, items: Sequence[Observation], names: NodeNames) -> Iterator[Observation]:
    found: dict[str, list[Series]] = {}
    for series in merge(series for item in items for series in read_series(item.body.encode())[0]):
        found.setdefault(names.resolve(host_of(series, {})) or "", []).append(series)
    for node in sorted(found):
        body = msgspec.json.encode([_matrix(series) for series in found[node]]).decode()
        form = Format.PROMETHEUS_METRICS
        yield Observation(source=source, format=form, node=node or None, stream="prometheus", body=body)
    worst = sorted({(item.status, item.reason or "") for item in items if item.status is not Status.OK})
    if not found or any(status is not Status.EMPTY for status, _ in worst):
        status = next(
            (s for s in (Status.ERROR, Status.PARTIAL) if any(s is known for known, _ in worst)), Status.EMPTY
        )
        reason = "; ".join(reason for _, reason in worst if reason) or None
        form = Format.PROMETHEUS_METRICS
        yield Observation(source=source, format=form, stream="prometheus/refused", status=status, reason=reason)


def _matrix(series: Series) -> dict[str, object]:
    """One series as an item of a matrix answer, with times to the microsecond."""
    values = [[_seconds(sample.us), _number(sample.value)] for sample in series.samples]
    return {"metric": {"__name__": series.name, **dict(series.labels)}, "values": values}


def _seconds(us: int) -> str:
    return f"{us // 1_000_000}.{us % 1_000_000:06}"


def _number(value: float | None) -> str:
    return "NaN" if value is None else repr(value).replace("inf", "Inf")
