"""The AttributionBlueprintResult is what the Blueprint hands to sinks."""

from attribution.contracts.base import SCHEMA_VERSION, Instant, Lenient
from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.observation import Window
from attribution.contracts.vocabulary import Source, Status, SubDomain, TerminalState


class ConnectorReport(Lenient):
    """What one connector asked of one source for one node, what came, and what became of it at the Service."""

    connector: str
    source: Source
    node: str | None = None
    window: Window | None = None
    status: Status
    reason: str | None = None
    observations: int = 0
    lines: int = 0
    bytes: int = 0
    first_at: Instant | None = None
    last_at: Instant | None = None
    retries: int = 0
    submitted: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0


class AttributionBlueprintResult(Lenient):
    """A diagnosis with its context and with what the connectors did to get the evidence."""

    schema_version: str = SCHEMA_VERSION
    terminal_state: TerminalState
    sub_domain: SubDomain
    context: ExecutionContext
    diagnosis: Diagnosis
    connector_reports: tuple[ConnectorReport, ...] = ()
