"""An excerpt is a diagnosis' evidence, with the lines around it, as streams that `attribution diagnose` reads."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attribution.bundle.evidence import Evidence, EvidenceStream, StreamKey, text_segment
from attribution.contracts.coverage import CoverageLine
from attribution.contracts.diagnosis import Evidence as Item
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import METRIC_SOURCES, Format, Source, SubDomain
from attribution.presentation import words
from attribution.presentation.answer import Answer, place_of_line
from attribution.presentation.columns import clip, visible
from attribution.presentation.groups import grouped

MAX_BYTES = 16 << 20
"""Bytes of lines that an excerpt holds; what came later in time is left out and counted."""

NOTE = "this is an excerpt of its evidence: the lines that a diagnosis rests on, with those around them"

_PLACES = 2_000
"""Lines of the index in the README."""

_METRIC = re.compile(r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{(?P<labels>.*)\})?(?: +\S+)?\Z", re.DOTALL)
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*+)"')


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The evidence, what stands in the file README beside it, and how many lines found no room."""

    evidence: Evidence
    readme: str
    left_out: int


def excerpt(result: AttributionBlueprintResult) -> Excerpt:
    """The evidence of a diagnosis as a bundle: its context, which says that this is an excerpt, and its streams."""
    items = [item for item in result.diagnosis.evidence if not _is_context(item)]
    kept = list(_within(items, MAX_BYTES))
    known = grouped(result.diagnosis.coverage, lambda line: (line.source, line.stream))
    by_stream = grouped(kept, lambda item: _key(item, known.get((item.source, item.stream), ())))
    streams = [_stream(key, found) for key, found in by_stream.items()]
    given = result.context
    note = f"{given.partial}; {NOTE}" if given.partial else NOTE
    context = given.model_copy(update={"partial": note})
    ordered = sorted(streams, key=lambda stream: stream.key.sort_key())
    left_out = len(items) - len(kept)
    return Excerpt(Evidence(context, tuple(ordered)), _readme(result, kept, left_out), left_out)


def _is_context(item: Item) -> bool:
    """Whether the evidence is the record of the scheduler in the context, which has a file of its own."""
    return item.source is Source.SCHEDULER and item.stream == "context"


def _within(items: Iterable[Item], most: int) -> Iterator[Item]:
    for item in items:
        most -= sum(len(line) for line in (*item.before, item.text, *item.after)) + 60 * len(item.samples)
        if most < 0:
            return
        yield item


def _key(item: Item, known: Sequence[CoverageLine]) -> StreamKey:
    """The stream that holds a line. The line may be of another node and rank than whoever wrote it."""

    def fits(line: CoverageLine) -> tuple[bool, bool, bool]:
        return line.node != item.node, line.rank != item.rank, line.rank is not None

    if not known:
        return StreamKey(item.source, item.node, None, item.stream)
    best = min(known, key=fits)
    return StreamKey(item.source, best.node, best.rank, item.stream)


def _stream(key: StreamKey, items: Sequence[Item]) -> EvidenceStream:
    if key.source in METRIC_SOURCES and all(item.samples for item in items):
        return EvidenceStream(key, Format.PROMETHEUS_METRICS, (text_segment(_matrix(items)),))
    lines = [line for _, line in sorted(_lines(items).items())]
    return EvidenceStream(key, Format.TEXT, (text_segment("".join(f"{line}\n" for line in lines)),))


def _lines(items: Sequence[Item]) -> dict[tuple[int, int], str]:
    """The lines of a stream by their number: what was read whole goes before what was kept as context."""
    decisive = {(item.line, item.offset): _one_line(item.text) for item in items}
    numbers = {line for line, _ in decisive}
    around: dict[tuple[int, int], str] = {}
    for item in items:
        before, after = len(item.before), len(item.after)
        places = (*range(item.line - before, item.line), *range(item.line + 1, item.line + after + 1))
        for number, line in zip(places, (*item.before, *item.after), strict=True):
            if number not in numbers and not _is_cut_record(line):
                around.setdefault((number, 0), _one_line(line))
    return {**around, **decisive}


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _is_cut_record(line: str) -> bool:
    """Whether a line around is a JSON record that was shortened: a reader could make nothing of it."""
    return line.endswith("…") and line.lstrip().startswith("{")


def _matrix(items: Sequence[Item]) -> str:
    """Samples as Prometheus answers them, one series for each."""
    series: dict[str, dict[str, object]] = {}
    for item in items:
        labels = _labels(item)
        name = json.dumps(labels, sort_keys=True)
        values = [[s.at.timestamp(), "NaN" if s.value is None else repr(s.value)] for s in item.samples]
        series.setdefault(name, {"metric": labels, "values": values})
    answer = {"status": "success", "data": {"resultType": "matrix", "result": list(series.values())}}
    return json.dumps(answer) + "\n"


def _labels(item: Item) -> dict[str, str]:
    found = _METRIC.match(item.text)
    if found is None:
        return {"__name__": item.fields.get("metric", "metric")}
    labels = {name: re.sub(r"\\(.)", r"\1", value) for name, value in _LABEL.findall(found["labels"] or "")}
    return {"__name__": found["name"], **labels}


# --- what is said of it -------------------------------------------------------------------------------------------


def _readme(result: AttributionBlueprintResult, items: Sequence[Item], left_out: int) -> str:
    answer = Answer(result.diagnosis)
    cause = answer.causes[0].symptom if answer.causes else "none is named"
    blamed = result.diagnosis.sub_domain is not SubDomain.NONE
    lines = [
        f"Excerpt of the evidence of {visible(answer.attempt)}",
        "",
        "The lines that its diagnosis rests on, with up to ten lines around each, in files like those that they came",
        "from. Read it with `attribution diagnose FOLDER_OR_ARCHIVE`.",
        "",
        f"The diagnosis of the whole evidence: {words.STATES[result.diagnosis.terminal_state]},",
        f"{visible(answer.verdict)}" + (f"; first cause {visible(cause)}" if blamed else "") + ".",
        "",
        "What is left of the evidence may say less than all of it did:",
        "- at most three lines of each finding were kept, so counts are lower;",
        "- a line without a time of its own takes that of the stamped line before it, which may not be here, so that",
        "  an order that was proven may not be provable any more, and several causes may fit where one was named;",
        "- lines around a finding were shortened to 300 characters, and known secrets are masked;",
        "- line numbers and byte offsets are those of these files; where each line stood is listed below.",
        "",
    ]
    if left_out:
        lines += [f"{words.counted(left_out, 'line')} found no room in {MAX_BYTES >> 20} MiB and are left out.", ""]
    shown = items[:_PLACES]
    lines += [f"{clip(place_of_line(item), 200)}  {clip(item.rule, 40)}" for item in shown]
    if len(items) > len(shown):
        lines.append(f"and {len(items) - len(shown):,} more")
    return "\n".join([*lines, ""])
