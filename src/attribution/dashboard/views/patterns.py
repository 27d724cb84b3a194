"""Every component in every state, made from values that no log gave: for whoever changes the sheet, and for tests."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from attribution.contracts.context import ExecutionContext, Node
from attribution.contracts.diagnosis import (
    CatalogIdentity,
    Cause,
    DemotedBy,
    Device,
    Diagnosis,
    Evidence,
    FirstFailure,
    Impact,
    Sample,
    Symptom,
)
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import (
    Action,
    Confidence,
    DeviceKind,
    Role,
    Source,
    Status,
    SubDomain,
    SymptomStatus,
    TerminalState,
    domain_of,
)
from attribution.dashboard.views import coverage, states
from attribution.dashboard.views.catalog import CatalogChoice, Choice
from attribution.dashboard.views.decision import Branch
from attribution.dashboard.views.diagnosis import DiagnosisView, diagnosis_view
from attribution.dashboard.views.manual import ManualView, NameView, SectionView
from attribution.dashboard.views.states import Badge
from attribution.dashboard.views.weeks import Strip, strip

HOSTILE = (
    "<script>alert('hostile')</script>",
    "<img src=x onerror=alert('hostile')>",
    "</code></li><h1>not a heading</h1>",
    '"><svg onload=alert(1)> {{ 7 * 7 }} ${7*7} %s',
    "\x1b[31mred\x1b[2J\x1b]8;;http://example.com\x07link\x1b]8;;\x07",
    "right to left \u202egnirts\u202c, zero\u200bwidth, bell\x07, null\x00",
    "javascript:alert(1) data:text/html,<script>alert(1)</script>",
    "long " + "x" * 20_000,
)
"""Texts that a log may hold; a page shows them and does nothing else."""

_NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
_START = datetime(2026, 5, 4, 3, 6, 58, tzinfo=UTC)
_KEY = "0" * 32
"""Of no attempt: what is shown here leads nowhere."""

_GPU = Device(kind=DeviceKind.GPU, ids={"pci": "0000:1b:00", "index": "0"})


@dataclass(frozen=True, slots=True)
class PatternsView:
    """What the page shows, in its order."""

    states: tuple[Badge, ...]
    statuses: tuple[Badge, ...]
    verdicts: tuple[DiagnosisView, ...]
    hostile: DiagnosisView
    branches: tuple[Branch, ...]
    weeks: Strip
    manual: ManualView
    choices: tuple[Choice, ...]
    catalogs: tuple[CatalogChoice, ...]


def patterns_view() -> PatternsView:
    """The page."""
    return PatternsView(
        states=tuple(states.state(value) for value in TerminalState),
        statuses=tuple(coverage.badge(value) for value in Status),
        verdicts=tuple(diagnosis_view(_result(*shape), _KEY, ()) for shape in _SHAPES),
        hostile=diagnosis_view(hostile_result(), _KEY, ()),
        branches=(
            Branch("Did the attempt end well?", "no", "", "it failed", True),
            Branch("Is one cause left?", "yes", "That one is named.", "", True),
            Branch("Are several left?", "", "", "not asked: the question above decided", False),
        ),
        weeks=strip([_NOW - timedelta(days=days) for days in (0, 1, 8, 9, 10, 30, 31, 60)], _NOW),
        manual=ManualView("ABC001 a-name", "extractor, stable, since 0.1.0", "A sentence.", _SECTIONS),
        choices=(Choice("chosen", "12", "/patterns", True), Choice("not chosen", "1,024", "/patterns", False)),
        catalogs=(
            CatalogChoice("0.2.0", "b" * 16, "2026-05-04", "/patterns", True),
            CatalogChoice("0.1.0", "a" * 16, "2026-04-01", "/patterns", False),
        ),
    )


_SECTIONS = (
    SectionView("Why", text="A paragraph with a heading."),
    SectionView(
        "Emits", names=(NameView("A_SYMPTOM", "with a page", "/symptoms"), NameView("tag:a", "without", "")), more=12
    ),
    SectionView("Patterns, any of", lines=("^a (?P<group>[0-9]+)", HOSTILE[0]), notes=("and 3 more",)),
)

_SHAPES = (
    (TerminalState.FAILED, SubDomain.NVLINK_FABRIC, 1),
    (TerminalState.OUT_OF_MEMORY, SubDomain.AMBIGUOUS, 2),
    (TerminalState.FAILED, SubDomain.INSUFFICIENT_EVIDENCE, 0),
    (TerminalState.COMPLETED, SubDomain.NONE, 0),
    (TerminalState.CANCELLED, SubDomain.SCHEDULER, 1),
)


def _result(state: TerminalState, sub_domain: SubDomain, causes: int) -> AttributionBlueprintResult:
    """A result with as many causes, an effect that was set aside, and a metric."""
    own = SubDomain.NVLINK_FABRIC if sub_domain is SubDomain.AMBIGUOUS else sub_domain
    found = tuple(
        _cause(number, own, Confidence.SINGLE if causes == 1 else Confidence.ONE_OF_SEVERAL) for number in range(causes)
    )
    seen = tuple(_symptom(cause) for cause in found)
    return _made(
        Diagnosis(
            workload_id="job-1",
            attempt=2,
            terminal_state=state,
            domain=domain_of(sub_domain),
            sub_domain=sub_domain,
            summary="One sentence says what happened.",
            causes=found,
            affected_nodes=tuple(cause.node for cause in found if cause.node),
            exclude_nodes=("node-01",) if sub_domain is SubDomain.NVLINK_FABRIC else (),
            first_failure=FirstFailure(symptom="NCCL_WATCHDOG_TIMEOUT", node="node-03", at=_START, evidence_id="e9"),
            impact=Impact(nodes=3, ranks=24),
            symptoms=(*seen, _aside(), _aside(None)) if state is not TerminalState.COMPLETED else (),
            evidence=(_line("e0"), _line("e1"), _metric(), _line("e9")),
            would_decide="The system log of node-02." if causes != 1 else None,
            actions=(Action.RESTART_ELSEWHERE,),
            catalog=CatalogIdentity(version="0.1.0", digest="a" * 16),
            input_digest="b" * 16,
        )
    )


def hostile_result() -> AttributionBlueprintResult:
    """A result in which every text that a log gives is hostile."""
    lines = tuple(
        _line(f"h{place}", text, node=HOSTILE[0], stream=HOSTILE[1], fields={HOSTILE[0]: HOSTILE[5]})
        for place, text in enumerate(HOSTILE)
    )
    cause = _cause(0, SubDomain.USER_CODE, Confidence.SINGLE).model_copy(
        update={"meaning": HOSTILE[0], "node": HOSTILE[4], "why": HOSTILE[5], "evidence_ids": ("h0", "h4", "h7")}
    )
    return _made(
        _result(TerminalState.FAILED, SubDomain.USER_CODE, 1).diagnosis.model_copy(
            update={
                "workload_id": HOSTILE[2],
                "summary": HOSTILE[1],
                "causes": (cause,),
                "symptoms": (_symptom(cause), _aside()),
                "evidence": lines,
                "notes": HOSTILE,
                "first_failure": None,
            }
        )
    )


def _made(diagnosis: Diagnosis) -> AttributionBlueprintResult:
    nodes = tuple(Node(name=f"node-{number:02}") for number in range(1, 4))
    context = ExecutionContext(
        workload_id=diagnosis.workload_id,
        attempt=diagnosis.attempt,
        started_at=_START - timedelta(minutes=30),
        ended_at=_START + timedelta(minutes=2),
        nodes=nodes,
    )
    return AttributionBlueprintResult(
        terminal_state=diagnosis.terminal_state,
        sub_domain=diagnosis.sub_domain,
        context=context,
        diagnosis=diagnosis,
    )


def _cause(number: int, sub_domain: SubDomain, confidence: Confidence) -> Cause:
    return Cause(
        symptom="XID_79",
        meaning="a GPU that fell off the bus",
        sub_domain=sub_domain,
        node=f"node-0{number + 1}",
        device=_GPU,
        at=_START,
        confidence=confidence,
        why="Nothing else in the evidence explains it.",
        rule="XID001",
        evidence_ids=(f"e{number}", "metric"),
        actions=(Action.DRAIN_NODE, Action.RESTART_ELSEWHERE),
    )


def _symptom(cause: Cause) -> Symptom:
    return Symptom(
        symptom=cause.symptom,
        role=Role.CAUSE,
        node=cause.node,
        device=cause.device,
        status=SymptomStatus.ACTIVE,
        count=1,
        first_at=cause.at,
        last_at=cause.at,
        evidence_ids=cause.evidence_ids[:1],
    )


def _aside(at: datetime | None = _START + timedelta(seconds=41)) -> Symptom:
    """An effect; with no time it is told without a place in the timeline."""
    return Symptom(
        symptom="NCCL_WATCHDOG_TIMEOUT",
        role=Role.EFFECT,
        node="node-03",
        rank=7,
        ranks=8,
        status=SymptomStatus.DEMOTED,
        demoted_by=DemotedBy(rule="REL001", symptom="XID_79", node="node-01", reason="its peer was gone"),
        count=8,
        first_at=at,
        last_at=at,
        evidence_ids=("e9",),
    )


def _line(
    name: str,
    text: str = "node-01 kernel: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.",
    node: str = "node-01",
    stream: str = "messages",
    fields: dict[str, str] | None = None,
) -> Evidence:
    return Evidence(
        id=name,
        source=Source.SYSLOG,
        node=node,
        stream=stream,
        line=812,
        offset=90_112,
        at=_START,
        at_uncertainty_secs=40.0 if name == "e1" else 0.000001,
        text=text,
        before=("the line before it",),
        after=("the line after it", HOSTILE[0]),
        fields=fields if fields is not None else {"code": "79"},
        rule="XID001",
    )


def _metric() -> Evidence:
    samples = tuple(
        Sample(at=_START + timedelta(seconds=15 * n), value=None if n == 5 else 60.0 + n) for n in range(12)
    )
    return Evidence(
        id="metric",
        source=Source.NODE_METRICS,
        node="node-01",
        stream="DCGM_FI_DEV_GPU_TEMP",
        line=1,
        offset=0,
        at=_START,
        at_uncertainty_secs=15,
        text='DCGM_FI_DEV_GPU_TEMP{gpu="0"} 71',
        rule="MET001",
        samples=samples,
    )
