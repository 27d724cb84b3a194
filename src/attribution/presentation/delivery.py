"""What of the evidence did not arrive, or not whole, as connectors and the Service tell it."""

from collections.abc import Iterator

from attribution.contracts.result import AttributionBlueprintResult, ConnectorReport
from attribution.contracts.vocabulary import Status
from attribution.presentation import words
from attribution.presentation.columns import wrap
from attribution.presentation.markdown import prose

SHOWN = 20
"""Reports that are shown; the rest is counted."""

_LABEL = "    = delivery       "


def faults(result: AttributionBlueprintResult) -> list[str]:
    """One sentence for each source and node whose evidence did not arrive whole."""
    told = [_told(report) for report in result.connector_reports if report.status not in {Status.OK, Status.EMPTY}]
    return told if len(told) <= SHOWN + 1 else [*told[:SHOWN], f"and {len(told) - SHOWN:,} more like these"]


def _told(report: ConnectorReport) -> str:
    what = words.SOURCES[report.source] + (f" of {report.node}" if report.node else "")
    why = f": {report.reason}" if report.reason else ""
    return f"{report.connector}, {what}, {words.STATUSES[report.status]}{why}"


def as_text(result: AttributionBlueprintResult, width: int) -> Iterator[str]:
    """The faults as lines below a diagnosis."""
    lead = _LABEL
    for fault in faults(result):
        for line in wrap(fault, width - len(lead)):
            yield lead + line
            lead = " " * len(lead)


def as_markdown(result: AttributionBlueprintResult) -> list[str]:
    """The faults as a section below a diagnosis."""
    found = faults(result)
    return ["", "### Delivery", "", *(f"- {prose(fault)}" for fault in found)] if found else []
