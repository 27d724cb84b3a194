"""Streams of records are scanned by their sentences; what is found stands at the record's place in the document."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from attribution.bundle.evidence import EvidenceStream, Segment, StreamKey, text_segment
from attribution.bundle.names import NodeNames
from attribution.contracts.vocabulary import Format, Source
from attribution.events.event import Event
from attribution.events.moment import Moment
from attribution.extraction.clock import ClockRules
from attribution.extraction.flood import Limits
from attribution.extraction.lines import peel
from attribution.extraction.records import flight_recorder, kubernetes, slurm
from attribution.extraction.records.told import MAX_SENTENCES, Told, Unreadable
from attribution.extraction.ruleset import RuleSet
from attribution.extraction.scanner import Ran, Scan, scan_stream

MAX_BYTES = 256 << 20
"""Bytes of one document; a larger one is not read, and coverage says so."""

_HEAD = 4096
_Teller = Callable[[bytes], Iterable[Told]]

TELLERS: Mapping[Format, _Teller] = {
    Format.SACCT_JSON: slurm.jobs_of_json,
    Format.SACCT_PARSABLE2: slurm.jobs_of_rows,
    Format.KUBERNETES_OBJECTS: kubernetes.objects_of,
    Format.NCCL_FLIGHT_RECORDER: flight_recorder.status_of,
}
"""Formats that are told as sentences."""


def teller_of(stream: EvidenceStream) -> _Teller | None:
    """How the stream is told, or None if it is read as it is."""
    found = TELLERS.get(stream.format)
    if found is None and stream.format is Format.TEXT and stream.key.source is Source.SCHEDULER:
        head = _head(stream)
        if slurm.NODE_EVENTS.match(head):
            return slurm.node_events
        return slurm.jobs_of_rows if slurm.JOB_ROWS.match(head) else None
    return found


def scan_records(
    stream: EvidenceStream, tell: _Teller, rules: RuleSet, clock: ClockRules, names: NodeNames, limits: Limits
) -> Scan:
    """All events of a stream of records, in the order of the sentences. Records of a scheduler are of no node."""
    damage: list[str] = []
    size = lines = 0
    told: list[Told] = []
    for segment in stream.segments:
        body = _body(segment, damage)
        size += len(body)
        lines += body.count(b"\n") + (bool(body) and not body.endswith(b"\n"))
        found = _sentences(tell, body, damage) if body.strip() else ()
        told += (replace(t, offset=t.offset + segment.offset, line=t.line + segment.first_line) for t in found)
    if len(told) > MAX_SENTENCES:
        damage.append(f"tells of more than {MAX_SENTENCES} things; the rest was not examined")
    told = told[:MAX_SENTENCES]
    scan = scan_stream(_as_text(stream, told), rules, clock, names, limits)
    scan.events = [_at_its_place(event, told, clock) for event in scan.events]
    scan.ran = [Ran(t.attempt, _at(t.began, clock), _at(t.ended, clock)) for t in told if t.attempt]
    scan.tally.bytes, scan.tally.lines, scan.tally.damage = size, lines, damage[0] if damage else None
    return scan


def _head(stream: EvidenceStream) -> bytes:
    if not stream.segments or stream.segments[0].offset:
        return b""
    try:
        with stream.segments[0].open() as source:
            return source.read(_HEAD)
    except (OSError, EOFError):
        return b""  # the scan says what is wrong with it


def _body(segment: Segment, damage: list[str]) -> bytes:
    try:
        with segment.open() as source:
            body = source.read(MAX_BYTES + 1)
    except (OSError, EOFError) as error:
        damage.append(str(error) or type(error).__name__)
        return b""
    if len(body) > MAX_BYTES:
        damage.append(f"holds more than {MAX_BYTES >> 20} MiB of records")
        return b""
    return body


def _sentences(tell: _Teller, body: bytes, damage: list[str]) -> Sequence[Told]:
    found: list[Told] = []
    try:
        for told in islice(tell(body), MAX_SENTENCES + 1):
            found.append(told)
    except Unreadable as error:
        damage.append(str(error))
    return found


def _as_text(stream: EvidenceStream, told: Iterable[Told]) -> EvidenceStream:
    text = "".join(f"{sentence.text()}\n" for sentence in told)
    key = stream.key
    if key.source is Source.SCHEDULER:
        key = StreamKey(key.source, None, None, key.stream)
    return EvidenceStream(key=key, segments=(text_segment(text),), clock=stream.clock)


def _at_its_place(event: Event, told: Sequence[Told], clock: ClockRules) -> Event:
    """The event with the place of its record, and no time that only the sentence before it had."""
    sentence = told[event.line - 1]
    return replace(
        event,
        line=sentence.line + 1,
        offset=sentence.offset,
        moment=event.moment if sentence.at else None,
        count=max(event.count, sentence.count),
        until=_until(sentence, clock),
        in_order=False,
    )


def _until(sentence: Told, clock: ClockRules) -> Moment | None:
    return _at(sentence.until, clock) if sentence.until != sentence.at else None


def _at(stamp: str | None, clock: ClockRules) -> Moment | None:
    return peel(stamp, clock).moment if stamp else None
