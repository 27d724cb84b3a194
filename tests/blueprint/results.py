"""Results and snapshots made by hand."""

from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import CatalogIdentity, Diagnosis
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.result import AttributionBlueprintResult, ConnectorReport
from attribution.contracts.vocabulary import Domain, Source, Status, SubDomain, TerminalState

CATALOG = CatalogIdentity(version="1", digest="c1")
SNAPSHOT = CatalogSnapshot(catalog=CATALOG, rules=(), symptoms=())


def result(workload_id: str = "job-7", *reports: ConnectorReport, **context: object) -> AttributionBlueprintResult:
    diagnosis = Diagnosis(
        workload_id=workload_id,
        attempt=1,
        terminal_state=TerminalState.FAILED,
        domain=Domain.UNKNOWN,
        sub_domain=SubDomain.INSUFFICIENT_EVIDENCE,
        summary="No cause is in the evidence.",
        catalog=CATALOG,
        input_digest="e",
    )
    return AttributionBlueprintResult(
        terminal_state=diagnosis.terminal_state,
        sub_domain=diagnosis.sub_domain,
        context=ExecutionContext.model_validate({"workload_id": workload_id, **context}),
        diagnosis=diagnosis,
        connector_reports=reports,
    )


def report(**changes: object) -> ConnectorReport:
    given = {"connector": "local_files", "source": Source.SYSLOG, "node": "node-01", "status": Status.OK, **changes}
    return ConnectorReport.model_validate(given)
