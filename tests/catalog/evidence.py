"""Small attempts made of texts, through the shipped rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from attribution.bundle.evidence import Evidence, EvidenceStream, StreamKey, text_segment
from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.vocabulary import Source
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

RAN = {"started_at": "2026-05-04T00:00:00Z", "ended_at": "2026-05-04T09:00:00Z", "scheduler_state": "FAILED"}


def told(
    rules: RuleSets,
    texts: dict[str, str],
    nodes: int = 16,
    nodes_given: Sequence[Mapping[str, Any]] | None = None,
    **context: Any,
) -> Diagnosis:
    """The diagnosis of streams named `source/node[.rank3]`; `HH:MM:SS ` before a line becomes a full stamp."""
    named = nodes_given or [{"name": f"node-{number:02}"} for number in range(1, nodes + 1)]
    given = {"nodes": named, **RAN, **context}
    execution = ExecutionContext.model_validate({"workload_id": "toy", **given})
    return diagnose(Evidence(execution, tuple(_stream(name, text) for name, text in sorted(texts.items()))), rules)


def _stream(name: str, text: str) -> EvidenceStream:
    source, _, place = name.partition("/")
    node, _, rank = place.partition(".rank")
    key = StreamKey(Source(source), node, int(rank) if rank else None, "case.log")
    return EvidenceStream(key, segments=(text_segment("".join(map(_stamped, text.strip().splitlines()))),))


def _stamped(line: str) -> str:
    line = line.strip(" ") if line[:1].isdigit() else line
    return f"2026-05-04T{line[:8]}Z{line[8:]}\n" if line[2:3] == line[5:6] == ":" else f"{line}\n"
