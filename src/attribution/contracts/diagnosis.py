"""The Diagnosis is the engine's answer for one attempt."""

from pydantic import Field

from attribution.contracts.base import SCHEMA_VERSION, Instant, Lenient
from attribution.contracts.coverage import CoverageLine
from attribution.contracts.vocabulary import (
    Action,
    Confidence,
    DeviceKind,
    Domain,
    Role,
    Source,
    SubDomain,
    SymptomStatus,
    TerminalState,
)


class Device(Lenient):
    """The thing a finding is about. `ids` are what logs call it: `pci`, `uuid`, `index`, `link`, `port`, `name`."""

    kind: DeviceKind
    ids: dict[str, str] = Field(default_factory=dict)


class Cause(Lenient):
    """A root: what started it, as far as the evidence shows."""

    symptom: str
    meaning: str = Field(description="the symptom in words")
    sub_domain: SubDomain
    node: str | None = None
    device: Device | None = None
    rank: int | None = None
    at: Instant | None = None
    confidence: Confidence
    why: str = Field(description="why this is held to be the cause")
    rule: str = Field(description="the rule that found it")
    evidence_ids: tuple[str, ...] = Field(max_length=3, description="the decisive line first")
    actions: tuple[Action, ...] = ()


class DemotedBy(Lenient):
    """Who set a symptom aside, and why."""

    rule: str
    symptom: str | None = None
    node: str | None = None
    reason: str


class Symptom(Lenient):
    """A named finding of one node. Demoted ones stay listed."""

    symptom: str
    role: Role
    node: str | None = None
    device: Device | None = None
    rank: int | None = None
    ranks: int = Field(default=0, description="how many ranks showed it")
    status: SymptomStatus
    demoted_by: DemotedBy | None = None
    count: int = Field(description="how many lines or samples said so")
    first_at: Instant | None = None
    last_at: Instant | None = None
    evidence_ids: tuple[str, ...] = Field(default=(), max_length=3)


class Sample(Lenient):
    """One sample of a metric."""

    at: Instant
    value: float | None


class Evidence(Lenient):
    """One raw line, or one span of a metric, with where it stands and what a rule read from it."""

    id: str
    source: Source
    node: str | None = None
    rank: int | None = None
    stream: str = ""
    line: int = Field(description="1-based line of the stream; the index of the first sample for a metric")
    offset: int
    at: Instant | None = None
    at_uncertainty_secs: float | None = Field(default=None, description="null when the line carries no time of its own")
    text: str
    before: tuple[str, ...] = Field(default=(), max_length=10)
    after: tuple[str, ...] = Field(default=(), max_length=10)
    fields: dict[str, str] = Field(default_factory=dict)
    rule: str
    samples: tuple[Sample, ...] = ()


class FirstFailure(Lenient):
    """Where the trouble was first seen. Not a claim about its cause."""

    symptom: str
    node: str | None = None
    rank: int | None = None
    at: Instant | None = None
    evidence_id: str


class Impact(Lenient):
    """How much of the attempt shows any symptom: counts of nodes, ranks and GPUs."""

    nodes: int = 0
    ranks: int = 0
    gpus: int = 0


class Alternative(Lenient):
    """A cause that was considered, and what rules it out or leaves it standing."""

    symptom: str
    sub_domain: SubDomain
    node: str | None = None
    ruled_out: bool
    because: str
    evidence_ids: tuple[str, ...] = Field(default=(), max_length=3)


class Untestable(Lenient):
    """Causes that could not be tested, for lack of which source or because a rule broke."""

    sub_domains: tuple[SubDomain, ...]
    source: Source | None = None
    nodes: tuple[str, ...] = ()
    reason: str


class TraceEntry(Lenient):
    """Decisions of one rule about one symptom on one node, with how often it took them."""

    stage: str
    rule: str
    outcome: str = Field(description="fired, abstained, not_applicable, overruled or failed")
    decision: str | None = None
    symptom: str | None = None
    node: str | None = None
    count: int = 1
    reason: str = ""


class CatalogIdentity(Lenient):
    """Which rules were asked."""

    version: str
    digest: str


class Diagnosis(Lenient):
    """The verdict for one attempt, with the evidence behind every statement."""

    schema_version: str = SCHEMA_VERSION
    workload_id: str
    attempt: int
    terminal_state: TerminalState
    domain: Domain
    sub_domain: SubDomain
    summary: str = Field(description="one sentence")
    causes: tuple[Cause, ...] = ()
    affected_nodes: tuple[str, ...] = Field(default=(), description="nodes that carry an active root cause")
    interesting_nodes: tuple[str, ...] = Field(default=(), description="nodes whose symptoms were set aside")
    exclude_nodes: tuple[str, ...] = Field(default=(), description="nodes that a recovery system may avoid")
    first_failure: FirstFailure | None = None
    impact: Impact = Impact()
    symptoms: tuple[Symptom, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    untestable: tuple[Untestable, ...] = ()
    notes: tuple[str, ...] = Field(default=(), description="remarks of rules for the reader")
    would_decide: str | None = Field(default=None, description="the observation that would settle the doubt")
    actions: tuple[Action, ...] = ()
    inferred: tuple[str, ...] = Field(default=(), description="fields of the context read off the evidence")
    partial: str | None = Field(default=None, description="why the scope that the context gave is incomplete, if it is")
    coverage: tuple[CoverageLine, ...] = ()
    trace: tuple[TraceEntry, ...] = ()
    catalog: CatalogIdentity
    input_digest: str = Field(description="names the evidence, not how it was cut")

    def to_json(self) -> bytes:
        """The canonical bytes: UTF-8, keys in the order of the model, one line, ended by a newline."""
        return self.model_dump_json().encode() + b"\n"
