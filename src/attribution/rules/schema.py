"""The YAML forms of rules, of their cases and of the symptom registry."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from attribution.contracts.base import Strict
from attribution.contracts.vocabulary import Action, DeviceKind, Role, Source, SubDomain, TerminalState

SYMPTOM_NAME = r"^[A-Z][A-Z0-9_]*$"
SymptomName = Annotated[str, Field(pattern=SYMPTOM_NAME, description="in capitals, such as DISK_FULL")]
RULE_ID = r"^[A-Z][A-Z0-9]{1,7}\d{3}$"
RULE_NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
RuleId = Annotated[str, Field(pattern=RULE_ID, description="family and number, such as PYX001")]
RuleName = Annotated[str, Field(pattern=RULE_NAME, description="what was found, in kebab-case")]
Status = Literal["preview", "stable", "deprecated"]
STATUSES: tuple[str, ...] = get_args(Status)
Text = Annotated[str, Field(min_length=1)]
EndsJob = Literal["yes", "usually", "sometimes", "no"]


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Many = Annotated[tuple[Text, ...], BeforeValidator(_one_or_many), Field(min_length=1)]
Sources = Annotated[tuple[Source, ...], BeforeValidator(_one_or_many), Field(min_length=1)]


class CaseModel(Strict):
    """One case. A negative one (`expect: none`) says why it must not fire."""

    name: Text = Field(description="what is seen, in a few words")
    because: Text | None = Field(default=None, description="why nothing must fire")
    context: dict[str, Any] = Field(default_factory=dict, description="fields of the ExecutionContext it plays in")
    given: Text
    expect: Text
    also: Annotated[tuple[RuleId, ...], BeforeValidator(_one_or_many)] = Field(
        default=(), description="other rules that are meant to fire on these lines too"
    )

    @property
    def negative(self) -> bool:
        return self.expect.strip() == "none"


class PrintedByModel(Strict):
    """Which program prints the message, in which versions, and where its shape is known from."""

    program: Text = Field(description="which program prints it")
    versions: Text = Field(description="which versions print it so, such as '>=2.0', or any")
    source: Text = Field(description="where the shape of the message is known from")


class SymptomModel(Strict):
    """One entry of the symptom registry."""

    role: Role
    meaning: Text = Field(description="in words that go on with 'the cause is'")
    sub_domain: SubDomain | None = Field(default=None, description="where it lies, see docs/writing-rules.md")
    actions: tuple[Action, ...] = Field(default=(), description="what to do, such as [raise_limit]")
    tags: tuple[str, ...] = ()
    ends_job: EndsJob = "usually"
    terminal_state: TerminalState | None = None
    node_scoped: bool = False
    device: DeviceKind | None = None
    recovers: tuple[Text, ...] = Field(default=(), description="symptoms or tags (`tag:NAME`) whose trouble it ends")

    @model_validator(mode="after")
    def _causes_are_whole(self) -> "SymptomModel":
        if self.role is Role.CAUSE and self.sub_domain is None:
            raise ValueError("a symptom of role `cause` needs a `sub_domain`")
        if self.role is Role.CAUSE and not self.actions:
            raise ValueError("a symptom of role `cause` needs `actions`")
        return self


class SymptomsFile(Strict):
    """A file of symptoms that several rules share, and of the tags that relations use."""

    tags: dict[str, Text] = Field(default_factory=dict, description="tag -> what its symptoms have in common")
    symptoms: dict[SymptomName, SymptomModel]


class RetiredFile(Strict):
    """A file of ids that were given up, each with the reason; none is ever used again."""

    retired: dict[RuleId, Text]


class Follow(Strict):
    """Joins lines after the matching one. `pattern` must match them (joined by newlines) and adds its groups."""

    lines: int = Field(ge=1, le=60)
    pattern: Text | None = None


class Extract(Strict):
    """Which lines: from which sources, gated by which literals, matched by which patterns."""

    sources: Sources = Field(alias="from")
    literals: Many
    pattern: Many
    follow: Follow | None = None
    traceback: bool = False
    last: bool = Field(default=False, description="only the last line of a stream that matches counts")

    @model_validator(mode="after")
    def _stands_alone(self) -> "Extract":
        if self.last and (self.follow or self.traceback):
            raise ValueError("`last` does not go with `follow` or `traceback`")
        return self


class DeviceModel(Strict):
    """The device a finding is about: id -> the group (or label) that holds it."""

    kind: DeviceKind
    ids: dict[str, Text]


class Emit(Strict):
    """What a match becomes. `keep`, `node`, `rank`, `key` and the ids of `device` name groups of the pattern."""

    symptom: SymptomName
    keep: tuple[str, ...] = ()
    set: dict[str, str] = Field(default_factory=dict)
    device: DeviceModel | None = None
    node: str | None = Field(default=None, description="the group that names it; `none`: it is about no node")
    rank: str | None = None
    key: tuple[str, ...] = Field(default=(), description="groups that keep findings of one symptom apart")


Number = Annotated[float, Field(allow_inf_nan=False)]


class When(Strict):
    """A condition on a series; exactly one of the first five."""

    increase: Number | None = Field(default=None, gt=0, description="by how much a counter rises")
    above: Number | None = Field(default=None, description="a value that samples are larger than")
    below: Number | None = Field(default=None, description="a value that samples are smaller than")
    equals: Number | None = Field(default=None, description="the value of the samples")
    blank_for_secs: Number | None = Field(default=None, gt=0, description="how long a series is silent, others not")
    for_secs: Number = Field(default=0, ge=0, description="how long `above`, `below` or `equals` must hold")

    @model_validator(mode="after")
    def _one(self) -> "When":
        levels = (self.above, self.below, self.equals)
        given = [v for v in (*levels, self.increase, self.blank_for_secs) if v is not None]
        if len(given) != 1:
            raise ValueError("needs exactly one of `increase`, `above`, `below`, `equals`, `blank_for_secs`")
        if self.for_secs and levels == (None, None, None):
            raise ValueError("`for_secs` goes with `above`, `below` or `equals`")
        return self


Label = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
LabelValues = Annotated[tuple[str, ...], BeforeValidator(_one_or_many), Field(min_length=1)]


class DeviceLabels(Strict):
    """The device a series is about: id -> the labels that may hold it, first found wins."""

    kind: DeviceKind
    ids: dict[str, Many]


class MetricExtract(Strict):
    """Which series, and what must hold of them."""

    sources: Sources = Field(alias="from")
    metric: Many
    where: dict[Label, LabelValues] = Field(
        default_factory=dict, description="label -> the value, or the values of which it has one; '' is no such label"
    )
    when: When
    device: DeviceLabels | None = None

    @model_validator(mode="after")
    def _name_is_no_label(self) -> "MetricExtract":
        if "__name__" in self.where:
            raise ValueError("`where` names `__name__`: name series under `metric`")
        return self


class MetricEmit(Strict):
    """What a span becomes. `keep` names labels."""

    symptom: SymptomName
    keep: tuple[str, ...] = ()


class RelationModel(Strict):
    """`causes` explain `effects`; names are symptoms or `tag:NAME`. In `reason`, {cause} is the cause's meaning."""

    causes: Many
    effects: Many
    scope: Literal["same_gpu", "same_node", "same_nvlink_domain", "same_communicator", "job"]
    order: Literal["not_later", "earlier", "any"] = "not_later"
    within_secs: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    reason: Text = Field(description="why the effect gives way; {cause} stands for the meaning of the cause")

    @field_validator("reason")
    @classmethod
    def _has_known_places(cls, reason: str) -> str:
        unknown = set(re.findall(r"\{[^{}]*\}", reason)) - {"{cause}"}
        if unknown:
            raise ValueError(f"has {sorted(unknown)[0]}, and {{cause}} is all that is filled in")
        return reason


class RuleBase(Strict):
    """What every rule says about itself."""

    id: RuleId
    name: RuleName
    status: Status
    since: Text
    summary: Text = Field(description="what was found, in one sentence")
    why: Text = Field(description="why that matters")
    misses: Text = Field(description="what it does not see")
    next_step: Text = Field(description="what to do about it")
    cases: tuple[CaseModel, ...]


class ExtractorFile(RuleBase):
    """A text rule: one line (or one joined record) becomes one finding."""

    kind: Literal["extractor"] = "extractor"
    printed_by: PrintedByModel
    extract: Extract
    emit: Emit
    generic: bool = Field(default=False, description="gives way to any other finding on the same lines")
    symptom: SymptomModel | None = Field(default=None, description="defines the symptom that the rule emits")


class MetricFile(RuleBase):
    """A metric rule: a condition on named series becomes one finding per span."""

    kind: Literal["metric"]
    printed_by: PrintedByModel
    extract: MetricExtract
    emit: MetricEmit
    symptom: SymptomModel | None = None


class RelationFile(RuleBase):
    """A relation between symptoms."""

    kind: Literal["relation"]
    relation: RelationModel


KINDS: dict[str, type[ExtractorFile] | type[MetricFile] | type[RelationFile]] = {
    "extractor": ExtractorFile,
    "metric": MetricFile,
    "relation": RelationFile,
}


class CasesModel(Strict):
    """The `CASES` of a Python rule."""

    cases: tuple[CaseModel, ...]
