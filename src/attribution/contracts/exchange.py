"""What the Service and its clients say to each other over HTTP (version 2), beside the contracts they carry."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from attribution.contracts.base import Instant, Lenient, Strict
from attribution.contracts.coverage import CoverageLine
from attribution.contracts.diagnosis import CatalogIdentity, Diagnosis
from attribution.contracts.observation import Observation
from attribution.contracts.vocabulary import Action, DeviceKind, Role, Source, SubDomain, TerminalState

MEDIA_NDJSON = "application/x-ndjson"
"""Media type of a batch that carries one Observation a line."""

MEDIA_PROBLEM = "application/problem+json"
"""Media type of every answer that is an error (RFC 9457)."""

PROBLEM_TYPE = "urn:attribution:problem:"
"""Begins the `type` of every problem; the name of its kind follows."""


class ObservationBatch(Strict):
    """Body of `POST /v2/attributors/{id}/observations` as JSON; as NDJSON it is one Observation a line."""

    observations: tuple[Observation, ...]


class SessionOpened(Lenient):
    """Answer to `POST /v2/attributors`, whose body is the ExecutionContext."""

    attributor_id: str
    expires_at: Instant = Field(description="when the session ends unless a call renews it")
    catalog: CatalogIdentity
    tenant: str | None = Field(default=None, description="whose session it is: the token's tenant, or the context's")


class ObservationAnswer(Lenient):
    """What became of one observation of a batch."""

    index: int = Field(ge=0, description="0-based position in the batch")
    digest: str | None = Field(default=None, description="names the observation; missing if it could not be read")
    outcome: Literal["accepted", "duplicate", "rejected"]
    reason: str | None = Field(default=None, description="why it was rejected, one sentence")


class BatchAnswer(Lenient):
    """What became of a batch. What is accepted or duplicate is durable before this is sent."""

    accepted: int
    duplicate: int
    rejected: int
    observations: tuple[ObservationAnswer, ...]

    @staticmethod
    def of(answers: Iterable[ObservationAnswer]) -> "BatchAnswer":
        """The answers in the order of the batch, with how many there are of each kind."""
        ordered = tuple(sorted(answers, key=lambda answer: answer.index))
        counts = {name: sum(a.outcome == name for a in ordered) for name in ("accepted", "duplicate", "rejected")}
        return BatchAnswer(**counts, observations=ordered)


class Attribution(Lenient):
    """The diagnosis over everything accepted so far. `revision` grows only when the diagnosis changes."""

    revision: int = Field(ge=1)
    diagnosis: Diagnosis


class SessionState(Lenient):
    """What a session holds."""

    attributor_id: str
    workload_id: str
    attempt: int
    cluster: str | None = None
    tenant: str | None = None
    created_at: Instant
    expires_at: Instant
    observations: int = Field(description="accepted so far")
    bytes: int = Field(description="of their bodies, decoded")
    revision: int = Field(description="of the last diagnosis; 0 before the first")
    coverage: tuple[CoverageLine, ...] = ()


class TextConditions(Lenient):
    """Which lines a text rule reads, and which of its patterns must match them."""

    literals: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    follow_lines: int = 0
    follow_pattern: str | None = None
    traceback: bool = False
    generic: bool = Field(default=False, description="gives way to any other finding on the same lines")


class SeriesConditions(Lenient):
    """Which series a metric rule reads, and what must hold of them; one of the first five is set."""

    increase: float | None = None
    above: float | None = None
    below: float | None = None
    equals: float | None = None
    blank_for_secs: float | None = None
    for_secs: float = 0
    metric: tuple[str, ...] = ()
    where: dict[str, tuple[str, ...]] = Field(default={})


class RelationTerms(Lenient):
    """Which symptoms explain which, and when; names are symptoms or `tag:NAME`."""

    causes: tuple[str, ...]
    effects: tuple[str, ...]
    scope: str
    order: str
    within_secs: float | None = None
    reason: str = ""


class StageTerms(Lenient):
    """When a filter or refiner runs, and which symptoms must be there."""

    stage: str
    priority: int = 0
    needs: tuple[str, ...] = ()


class RuleCase(Lenient):
    """One case of a rule. A negative one says why nothing must fire."""

    name: str
    given: str
    because: str | None = None


class RuleDescription(Lenient):
    """One rule as `attribution explain` tells it. An older snapshot lacks what it asks for."""

    id: str
    name: str
    kind: str
    status: str
    since: str
    summary: str
    why: str
    misses: str
    next_step: str
    printed_by: dict[str, str] | None = None
    emits: tuple[str, ...] = ()
    reads: tuple[Source, ...] = ()
    text: TextConditions | None = None
    series: SeriesConditions | None = None
    relation: RelationTerms | None = None
    stage: StageTerms | None = None
    fires_on: RuleCase | None = None
    quiet_on: RuleCase | None = None


class SymptomDescription(Lenient):
    """One symptom of the registry."""

    name: str
    role: Role
    sub_domain: SubDomain | None = None
    meaning: str
    actions: tuple[Action, ...] = ()
    tags: tuple[str, ...] = ()
    ends_job: str = ""
    terminal_state: TerminalState | None = None
    node_scoped: bool = False
    device: DeviceKind | None = None


class CatalogSnapshot(Lenient):
    """Everything the loaded catalog says of itself; the same digest always has the same content."""

    catalog: CatalogIdentity
    rules: tuple[RuleDescription, ...]
    symptoms: tuple[SymptomDescription, ...]
    tags: dict[str, str] = Field(default={}, description="tag -> what its symptoms have in common")


class CatalogReload(Lenient):
    """What came of an attempt to load the rules anew. If it failed, the rules before it stay in use."""

    at: Instant
    ok: bool
    problems: tuple["ProblemItem", ...] = ()


class CatalogState(CatalogSnapshot):
    """Answer to `GET /v2/catalog`: the catalog in use, and what came of the last attempt to replace it."""

    cases: int = Field(description="cases of the rules; all of them hold")
    reloads: int = Field(default=0, description="attempts to load the rules anew since the Service started")
    last_reload: CatalogReload | None = None


class SymptomList(Lenient):
    """Answer to `GET /v2/catalog/symptoms`."""

    catalog: CatalogIdentity
    symptoms: tuple[SymptomDescription, ...]


class Health(Lenient):
    """Answer to `GET /v2/healthz` and `/v2/readyz`."""

    status: Literal["ok"] = "ok"


class ProblemItem(Lenient):
    """One thing that is wrong with a request: where, what, and what to do."""

    place: str
    code: str
    message: str
    remedy: str = ""


class ProblemDetails(Lenient):
    """The one shape of every error answer (RFC 9457)."""

    type: str = Field(description="names the kind of problem; stable")
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    instance: str | None = None
    problems: tuple[ProblemItem, ...] = ()
