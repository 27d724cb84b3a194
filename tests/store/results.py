"""Results made up for tests: plain ones by hand, and any that the contract allows."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from attribution.contracts.context import ExecutionContext, Node
from attribution.contracts.coverage import CoverageLine
from attribution.contracts.diagnosis import (
    Alternative,
    CatalogIdentity,
    Cause,
    DemotedBy,
    Device,
    Diagnosis,
    Evidence,
    FirstFailure,
    Sample,
    Symptom,
    Untestable,
)
from attribution.contracts.observation import Window
from attribution.contracts.result import AttributionBlueprintResult, ConnectorReport
from attribution.contracts.vocabulary import (
    CAUSE_SUB_DOMAINS,
    Action,
    Confidence,
    DeviceKind,
    Domain,
    Role,
    Source,
    Status,
    SubDomain,
    SymptomStatus,
    TerminalState,
    domain_of,
)

NOW = datetime(2026, 5, 4, 3, 6, 58, 112345, tzinfo=UTC)


def cause(symptom: str = "XID_79", node: str | None = "node-02", **more: Any) -> Cause:
    """A cause of one GPU."""
    filled = {
        "meaning": "a GPU fell off the bus",
        "sub_domain": SubDomain.GPU_HARDWARE,
        "device": Device(kind=DeviceKind.GPU, ids={"pci": "0000:1b:00", "index": "3"}),
        "confidence": Confidence.SINGLE,
        "why": "nothing explains it",
        "rule": "XID079",
        "evidence_ids": ("e1",),
        **more,
    }
    return Cause(symptom=symptom, node=node, **filled)


def result(
    workload_id: str = "job-1",
    minutes: int | None = 0,
    causes: tuple[Cause, ...] = (),
    diagnosis: dict[str, Any] | None = None,
    reports: tuple[ConnectorReport, ...] = (),
    **context: Any,
) -> AttributionBlueprintResult:
    """A result of two nodes that ended some minutes after NOW."""
    known = ExecutionContext(
        workload_id=workload_id,
        **{
            "ended_at": NOW + timedelta(minutes=minutes) if minutes is not None else None,
            "nodes": (Node(name="node-01"), Node(name="node-02")),
            **context,
        },
    )
    sub_domain = causes[0].sub_domain if causes else SubDomain.NONE
    answer = Diagnosis(
        workload_id=workload_id,
        attempt=known.attempt,
        **{
            "terminal_state": TerminalState.FAILED if causes else TerminalState.COMPLETED,
            "domain": domain_of(sub_domain),
            "sub_domain": sub_domain,
            "summary": "A GPU of node-02 fell off the bus." if causes else "It completed.",
            "causes": causes,
            "affected_nodes": tuple(sorted({c.node for c in causes if c.node})),
            "catalog": CatalogIdentity(version="0.1.0", digest="c" * 32),
            "input_digest": "i" * 32,
            **(diagnosis or {}),
        },
    )
    return AttributionBlueprintResult(
        terminal_state=answer.terminal_state,
        sub_domain=answer.sub_domain,
        context=known,
        diagnosis=answer,
        connector_reports=reports,
    )


TEXTS = st.text(alphabet=st.characters() | st.sampled_from("\0\x1a\ud800\udc00%_\\"), max_size=8)
NAMES = st.text(alphabet=st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0\x1a"), min_size=1, max_size=8)
TIMES = st.datetimes(timezones=st.just(UTC))
WHOLE = st.integers(-(2**70), 2**70)
NODES = st.none() | TEXTS


def tuples(of: st.SearchStrategy[Any], most: int = 3, **more: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    """Tuples of a few."""
    return st.lists(of, max_size=most, **more).map(tuple)


DEVICES = st.none() | st.builds(Device, kind=st.sampled_from(DeviceKind), ids=st.dictionaries(TEXTS, TEXTS, max_size=2))
DIAGNOSES = st.builds(
    Diagnosis,
    workload_id=TEXTS,
    attempt=st.integers(1, 9),
    terminal_state=st.sampled_from(TerminalState),
    domain=st.sampled_from(Domain),
    sub_domain=st.sampled_from(SubDomain),
    summary=TEXTS,
    causes=tuples(
        st.builds(
            Cause,
            symptom=TEXTS,
            meaning=TEXTS,
            sub_domain=st.sampled_from(CAUSE_SUB_DOMAINS),
            node=NODES,
            device=DEVICES,
            rank=st.none() | WHOLE,
            at=st.none() | TIMES,
            confidence=st.sampled_from(Confidence),
            why=TEXTS,
            rule=TEXTS,
            evidence_ids=tuples(TEXTS),
            actions=tuples(st.sampled_from(Action)),
        )
    ),
    affected_nodes=tuples(TEXTS),
    interesting_nodes=tuples(TEXTS),
    exclude_nodes=tuples(TEXTS),
    first_failure=st.none()
    | st.builds(FirstFailure, symptom=TEXTS, node=NODES, at=st.none() | TIMES, evidence_id=TEXTS),
    symptoms=tuples(
        st.builds(
            Symptom,
            symptom=TEXTS,
            role=st.sampled_from(Role),
            node=NODES,
            device=DEVICES,
            rank=st.none() | WHOLE,
            ranks=WHOLE,
            status=st.sampled_from(SymptomStatus),
            demoted_by=st.none() | st.builds(DemotedBy, rule=TEXTS, symptom=st.none() | TEXTS, reason=TEXTS),
            count=WHOLE,
            first_at=st.none() | TIMES,
            last_at=st.none() | TIMES,
            evidence_ids=tuples(TEXTS),
        )
    ),
    evidence=tuples(
        st.builds(
            Evidence,
            id=TEXTS,
            source=st.sampled_from(Source),
            node=NODES,
            rank=st.none() | WHOLE,
            stream=TEXTS,
            line=WHOLE,
            offset=WHOLE,
            at=st.none() | TIMES,
            at_uncertainty_secs=st.none() | st.floats(allow_nan=False),
            text=TEXTS,
            before=tuples(TEXTS),
            fields=st.dictionaries(TEXTS, TEXTS, max_size=2),
            rule=TEXTS,
            samples=tuples(st.builds(Sample, at=TIMES, value=st.none() | st.floats(allow_nan=False))),
        )
    ),
    alternatives=tuples(
        st.builds(
            Alternative, symptom=TEXTS, sub_domain=st.sampled_from(SubDomain), ruled_out=st.booleans(), because=TEXTS
        ),
        1,
    ),
    untestable=tuples(st.builds(Untestable, sub_domains=tuples(st.sampled_from(SubDomain)), reason=TEXTS), 1),
    coverage=tuples(
        st.builds(CoverageLine, source=st.sampled_from(Source), node=NODES, status=st.sampled_from(Status)), 1
    ),
    catalog=st.builds(CatalogIdentity, version=TEXTS, digest=TEXTS),
    input_digest=TEXTS,
)
REPORTS = st.builds(
    ConnectorReport,
    connector=TEXTS,
    source=st.sampled_from(Source),
    node=NODES,
    window=st.none() | st.builds(Window, start=TIMES, end=TIMES),
    status=st.sampled_from(Status),
    reason=st.none() | TEXTS,
    lines=WHOLE,
    bytes=WHOLE,
    rejected=WHOLE,
    first_at=st.none() | TIMES,
    last_at=st.none() | TIMES,
)
CONTEXTS = st.builds(
    ExecutionContext,
    workload_id=NAMES,
    attempt=st.integers(1, 2**70),
    cluster=st.none() | TEXTS,
    tenant=st.none() | TEXTS,
    name=st.none() | TEXTS,
    user=st.none() | TEXTS,
    submitted_at=st.none() | TIMES,
    nodes=tuples(st.builds(Node, name=NAMES, aliases=tuples(TEXTS)), unique_by=lambda node: node.name),
)
RESULTS = st.builds(
    AttributionBlueprintResult,
    terminal_state=st.sampled_from(TerminalState),
    sub_domain=st.sampled_from(SubDomain),
    context=CONTEXTS,
    diagnosis=DIAGNOSES,
    connector_reports=tuples(REPORTS),
)
