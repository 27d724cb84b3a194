"""The trace records what every rule did, grouped by rule, symptom and node, with counts."""

from collections import Counter
from dataclasses import dataclass, field

from attribution.contracts.diagnosis import TraceEntry

FIRED, ABSTAINED, NOT_APPLICABLE, OVERRULED, FAILED = "fired", "abstained", "not_applicable", "overruled", "failed"

STAGES = ("extract", "early", "main", "node", "job", "final", "outcome", "post_outcome", "report")
"""Stages in the order in which they run."""

_Row = tuple[int, str, str, str, str, str, str]


@dataclass(slots=True)
class Trace:
    """Collects decisions. No durations: equal input gives equal bytes."""

    _rows: Counter[_Row] = field(default_factory=Counter)

    def add(
        self,
        stage: str,
        rule: str,
        outcome: str,
        *,
        decision: str | None = None,
        symptom: str | None = None,
        node: str | None = None,
        reason: str = "",
        count: int = 1,
    ) -> None:
        """Record one decision, or `count` alike."""
        row = (STAGES.index(stage), rule, outcome, decision or "", symptom or "", node or "", reason)
        self._rows[row] += count

    def entries(self) -> tuple[TraceEntry, ...]:
        """The grouped record, in the order of the stages."""
        return tuple(_entry(row, count) for row, count in sorted(self._rows.items()))


def _entry(row: _Row, count: int) -> TraceEntry:
    stage, rule, outcome, decision, symptom, node, reason = row
    return TraceEntry(
        stage=STAGES[stage],
        rule=rule,
        outcome=outcome,
        decision=decision or None,
        symptom=symptom or None,
        node=node or None,
        count=count,
        reason=reason,
    )
