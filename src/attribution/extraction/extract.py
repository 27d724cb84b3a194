"""Phase 1: the streams of an attempt become events, and a record of what was read."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from io import BytesIO

import msgspec

from attribution.bundle.evidence import LINE_FORMATS, Evidence, EvidenceStream, Segment, StreamKey
from attribution.bundle.names import NodeNames
from attribution.contracts.errors import EvidenceError
from attribution.contracts.vocabulary import METRIC_SOURCES, Format, Source, Status
from attribution.events.event import Device, Event, event_id, freeze
from attribution.events.moment import Basis, Moment
from attribution.extraction.clock import ClockRules
from attribution.extraction.conditions import Above, Below, Blank, Condition, Equal, Increase, Span, find
from attribution.extraction.envelopes import explode_loki
from attribution.extraction.flood import Limits
from attribution.extraction.records.reading import TELLERS, scan_records, teller_of
from attribution.extraction.ruleset import RuleSets
from attribution.extraction.scanner import Ran, Scan, scan_stream
from attribution.extraction.series import Identity, Series, host_of, merge, read_series
from attribution.extraction.windows import Tally
from attribution.rules.model import MetricExtractor
from attribution.rules.schema import MetricExtract, When

PARALLEL_BYTES = 8 << 20
"""Streams are scanned in parallel when they hold at least this much."""

MAX_METRIC_BYTES = 256 << 20
"""Bytes of one metric document; a larger one is not read, and coverage says so."""


@dataclass(frozen=True, slots=True)
class StreamReport:
    """What was read of one stream."""

    stream: EvidenceStream
    status: Status
    reason: str | None
    tally: Tally
    first: Moment | None = None
    last: Moment | None = None
    masked: int = 0
    ran: tuple[Ran, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """The events of an attempt in total order. `failures` are (rule id, error) of rules that raised, counted."""

    events: tuple[Event, ...]
    reports: tuple[StreamReport, ...]
    failures: Mapping[tuple[str, str], int] = field(default_factory=dict)


DEFAULT_LIMITS = Limits()


def extract(
    evidence: Evidence, rules: RuleSets, limits: Limits = DEFAULT_LIMITS, workers: int | None = None
) -> Extraction:
    """All events of all streams. The number of workers changes the time it takes, never the result."""
    names = NodeNames(evidence.context.nodes)
    lines = [s for s in evidence.streams if s.key.source not in METRIC_SOURCES]
    metrics = [s for s in evidence.streams if s.key.source in METRIC_SOURCES]
    scans = _scan_all(lines, evidence, rules, names, limits, workers)
    events = [event for scan in scans for event in scan.events]
    reports = [_report(stream, scan) for stream, scan in zip(lines, scans, strict=True)]
    failures: dict[tuple[str, str], int] = {}
    for scan in scans:
        for failure in scan.failures:
            failures[failure] = failures.get(failure, 0) + 1
    metric_events, metric_reports = _metrics(metrics, rules.catalog.metrics, names)
    return Extraction(
        events=tuple(sorted([*events, *metric_events], key=Event.sort_key)),
        reports=tuple(sorted([*reports, *metric_reports], key=lambda r: r.stream.key.sort_key())),
        failures=dict(sorted(failures.items())),
    )


def _scan_all(
    streams: Sequence[EvidenceStream],
    evidence: Evidence,
    rules: RuleSets,
    names: NodeNames,
    limits: Limits,
    workers: int | None,
) -> list[Scan]:
    for source in sorted({stream.key.source for stream in streams}):
        rules[source]  # built here, so that no two threads build it

    def one(stream: EvidenceStream) -> Scan:
        clock = ClockRules.of(stream.clock, evidence.context)
        tell = teller_of(stream)
        if tell is not None:
            return scan_records(stream, tell, rules[stream.key.source], clock, names, limits)
        times: list[int] = []
        readable = _as_lines(stream, times)
        if readable is None:
            return Scan()
        scan = scan_stream(readable, rules[stream.key.source], clock, names, limits)
        if stream.format is Format.RAW_LOKI_STREAMS:
            _without_order(scan, times)
        return scan

    size = sum(segment.size or 0 for stream in streams for segment in stream.segments)
    workers = workers or (os.cpu_count() or 1 if size >= PARALLEL_BYTES else 1)
    if workers == 1 or len(streams) < 2:
        return [one(stream) for stream in streams]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, streams))


def _as_lines(stream: EvidenceStream, times: list[int]) -> EvidenceStream | None:
    """The stream as one that can be scanned, or None where its format is no lines.

    Where its entries stand in no order, `times` takes their first and last time, in nanoseconds, as they are read.
    """
    if stream.format in LINE_FORMATS:
        return stream
    if stream.format is not Format.RAW_LOKI_STREAMS:
        return None
    segments = tuple(_loki_segment(segment, times) for segment in stream.segments)
    return EvidenceStream(key=stream.key, segments=segments, clock=stream.clock)


def _loki_segment(segment: Segment, times: list[int]) -> Segment:
    def opened() -> BytesIO:
        with segment.open() as source:
            body = source.read()
        try:
            entries = list(explode_loki(body))
        except EvidenceError as error:
            raise OSError(error.problems[0].message) from error
        seen = [ns for ns, _, _ in entries]
        times.extend([min(seen), max(seen)] if seen else ())
        return BytesIO(b"\n".join(msgspec.json.encode(_loki_record(*entry)) for entry in entries))

    return Segment(segment.offset, segment.first_line, opened)


def _without_order(scan: Scan, times: Sequence[int]) -> None:
    """Entries stand label set after label set, so that only their times order them."""
    scan.events = [replace(event, in_order=False) for event in scan.events]
    if times:
        scan.first, scan.last = (Moment(ns // 1000, 1) for ns in (min(times), max(times)))


def _loki_record(ns: int, labels: Mapping[str, str], line: str) -> dict[str, object]:
    """An entry as a record that keeps what its labels tell: the host, the rank, and who else wrote it."""
    rank = next((labels[name] for name in _RANK_LABELS if labels.get(name)), "")
    writer = " ".join(f"{name}={labels[name]}" for name in _WRITER_LABELS if labels.get(name))
    record: dict[str, object] = {"time": ns, "host": _host_label(labels), "stream": writer, "message": line}
    return {**record, "rank": int(rank)} if rank.isascii() and rank.isdigit() and len(rank) < 7 else record


_RANK_LABELS = ("rank", "global_rank")
_WRITER_LABELS = (*_RANK_LABELS, "filename", "pod", "pod_name", "container", "container_name", "stream")
_HOST_LABELS = ("hostname", "host", "node", "node_name", "nodename", "instance")


def _host_label(labels: Mapping[str, str]) -> str | None:
    return next((labels[name] for name in _HOST_LABELS if labels.get(name)), None)


def _report(stream: EvidenceStream, scan: Scan) -> StreamReport:
    status, reason, tally = stream.status, stream.reason, scan.tally
    if stream.format not in LINE_FORMATS | TELLERS.keys() | {Format.RAW_LOKI_STREAMS}:
        status, reason = Status.SKIPPED, reason or f"the format {stream.format.value} is not examined by this version"
    elif tally.damage:
        status = Status.PARTIAL if tally.bytes else Status.ERROR
        reason = reason or tally.damage
    elif status is Status.OK and tally.bytes == 0:
        status = Status.EMPTY
    return StreamReport(stream, status, reason, tally, scan.first, scan.last, scan.masked, tuple(scan.ran))


# --- metrics ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeSeries:
    """All series of one source and node, merged over its streams; `keys` says in which stream each was found."""

    source: Source
    node: str | None
    series: tuple[Series, ...]
    keys: Mapping[Identity, StreamKey]


def node_series(
    streams: Iterable[EvidenceStream], names: NodeNames
) -> tuple[tuple[NodeSeries, ...], tuple[StreamReport, ...]]:
    """The series of metric streams by source and node, and what was read of each stream."""
    found: dict[tuple[Source, str | None], list[tuple[Series, StreamKey]]] = {}
    reports = []
    for stream in streams:
        series, report = _read_metrics(stream)
        reports.append(report)
        for item in series:
            node = names.known(host_of(item, {})) or stream.key.node or names.resolve(host_of(item, {}))
            found.setdefault((stream.key.source, node), []).append((item, stream.key))
    groups = []
    for (source, node), items in sorted(found.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        keys = {_identity(item): key for item, key in sorted(items, key=lambda i: i[1].sort_key(), reverse=True)}
        groups.append(NodeSeries(source, node, merge(item for item, _ in items), keys))
    return tuple(groups), tuple(reports)


def _metrics(
    streams: Sequence[EvidenceStream], rules: Sequence[MetricExtractor], names: NodeNames
) -> tuple[list[Event], tuple[StreamReport, ...]]:
    groups, reports = node_series(streams, names)
    events: list[Event] = []
    for group in groups:
        for rule in rules:
            if group.source in rule.extract.sources:
                events += _metric_events(rule, group)
    return events, reports


def _identity(series: Series) -> Identity:
    return series.name, series.labels


def _read_metrics(stream: EvidenceStream) -> tuple[tuple[Series, ...], StreamReport]:
    tally = Tally()
    found: list[Series] = []
    for segment in stream.segments:
        try:
            with segment.open() as source:
                body = source.read(MAX_METRIC_BYTES + 1)
        except (OSError, EOFError) as error:
            tally.damage = str(error)
            continue
        tally.bytes += len(body)
        tally.lines += body.count(b"\n") + (bool(body) and not body.endswith(b"\n"))
        if len(body) > MAX_METRIC_BYTES:
            tally.damage = f"holds more than {MAX_METRIC_BYTES >> 20} MiB of samples"
            continue
        series, unreadable = read_series(body)
        found += series
        tally.unreadable += unreadable
    status, reason = stream.status, stream.reason
    if tally.damage:
        status, reason = Status.PARTIAL if found else Status.ERROR, reason or tally.damage
    elif status is Status.OK and not found:
        status = Status.EMPTY
        if tally.bytes:
            status, reason = Status.ERROR, reason or "holds no Prometheus samples"
    times = [sample.us for item in found for sample in item.samples]
    first = Moment(min(times), 1, Basis.UTC) if times else None
    last = Moment(max(times), 1, Basis.UTC) if times else None
    return tuple(found), StreamReport(stream, status, reason, tally, first, last)


def _metric_events(rule: MetricExtractor, group: NodeSeries) -> Iterable[Event]:
    condition = condition_of(rule.extract.when)
    for item in group.series:
        if not reads_series(rule.extract, item):
            continue
        labels = dict(item.labels)
        key = group.keys[_identity(item)]
        for number, span in enumerate(find(condition, item, group.series)):
            yield _metric_event(rule, item, labels, span, number, group.node, key)


def reads_series(extract: MetricExtract, series: Series) -> bool:
    """Whether a rule looks at a series: its name and its labels. As in PromQL, an empty label is the same as none."""
    return series.name in extract.metric and all((series.get(k) or "") in v for k, v in extract.where.items())


def _metric_event(
    rule: MetricExtractor,
    item: Series,
    labels: Mapping[str, str],
    span: Span,
    number: int,
    node: str | None,
    key: StreamKey,
) -> Event:
    device = None
    if rule.extract.device:
        ids = {
            name: next((labels[label] for label in choices if labels.get(label)), None)
            for name, choices in rule.extract.device.ids.items()
        }
        device = Device.of(rule.extract.device.kind, **ids)
    name = series_name(item)
    first = next((index for index, sample in enumerate(item.samples) if sample in span.samples), 0)
    return Event(
        id=event_id(key, name.encode(), number, rule.symptom),
        symptom=rule.symptom,
        rule=rule.info.id,
        key=key,
        node=node,
        rank=None,
        # A run that was on when the series began has no known start, so its time proves no order.
        moment=None if span.open_start else Moment(span.at_us - span.width_us, max(1, span.width_us), Basis.UTC),
        line=first + 1,
        offset=0,
        text=f"{name} {span.value}",
        device=device if device and device.ids else None,
        fields=freeze({"metric": item.name, "value": span.value, **{name: labels.get(name) for name in rule.keep}}),
        samples=span.samples,
    )


def series_name(series: Series) -> str:
    """A series as it is queried: its name and its labels."""
    return series.name + "{" + ",".join(f'{k}="{v}"' for k, v in series.labels) + "}"


def condition_of(when: When) -> Condition:
    """The condition that a rule's `when` stands for."""
    if when.increase is not None:
        return Increase(when.increase)
    if when.above is not None:
        return Above(when.above, when.for_secs)
    if when.below is not None:
        return Below(when.below, when.for_secs)
    if when.equals is not None:
        return Equal(when.equals, when.for_secs)
    assert when.blank_for_secs is not None
    return Blank(when.blank_for_secs)
