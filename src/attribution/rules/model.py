"""What the loader makes of rule files, whatever their form: the parts of a Catalog."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from attribution.contracts.documents import Path
from attribution.contracts.errors import Place
from attribution.contracts.plan import CollectionPlan, SourcePlan
from attribution.contracts.vocabulary import Source
from attribution.events.moment import SECOND
from attribution.events.symptom import SymptomType
from attribution.rules.api import (
    Decision,
    EventDecision,
    EventView,
    FilterStage,
    Finding,
    JobView,
    Match,
    PrintedBy,
    RefineStage,
)
from attribution.rules.schema import CaseModel, MetricExtract


@dataclass(frozen=True, slots=True)
class Written:
    """How a rule stands in its folder: where each part begins, and a digest of what decides its behaviour.

    A part is named as in a YAML rule: ("extract", "literals", 0), ("cases", 1, "given", 2). Empty for a rule that
    comes from the cache, which was faultless.
    """

    folder: str = ""
    places: Mapping[Path, Place] = field(default_factory=dict)
    behaviour: str = ""
    shipped: bool = False


@dataclass(frozen=True, slots=True)
class Retired:
    """Where an id was given up, and whether a shipped file did it."""

    place: Place
    shipped: bool


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """What a rule says about itself: its manual."""

    id: str
    name: str
    kind: str
    status: str
    since: str
    summary: str
    why: str
    misses: str
    next_step: str
    place: Place
    printed_by: PrintedBy | None = None
    cases: tuple[CaseModel, ...] = ()
    written: Written = field(default_factory=Written, compare=False, repr=False)

    def at(self, *path: str | int) -> Place:
        """Where a part of the rule stands, or the nearest part around it."""
        while path:
            if path in self.written.places:
                return self.written.places[path]
            path = path[:-1]
        return self.place


@dataclass(frozen=True, slots=True)
class Extractor:
    """A text rule. A line matches if any of `patterns` does; every match contains one of `literals`. The first of
    `sources` is where the message is at home.

    `follow_lines` and `traceback` join lines after it; `follow_pattern` must then match the joined lines and adds its
    groups. `find` turns a match into findings. Of a rule with `last`, only the last line of a stream that matches
    counts; it is looked for from behind, so that lines as common as progress cost nothing.
    """

    info: RuleInfo
    sources: tuple[Source, ...]
    literals: tuple[str, ...]
    patterns: tuple[str, ...]
    emits: tuple[str, ...]
    find: Callable[[Match], Iterable[Finding]]
    follow_lines: int = 0
    follow_pattern: str | None = None
    traceback: bool = False
    generic: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class MetricExtractor:
    """A metric rule: a condition on named series."""

    info: RuleInfo
    extract: MetricExtract
    symptom: str
    keep: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """`causes` explain `effects` within `scope`, in `order`, at most `within_us` apart (None: any distance)."""

    info: RuleInfo
    causes: tuple[str, ...]
    effects: tuple[str, ...]
    scope: str
    order: str
    within_us: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Filter:
    """A rule over the event stream (phase 2)."""

    info: RuleInfo
    stage: FilterStage
    needs: tuple[str, ...]
    emits: tuple[str, ...]
    run: Callable[[EventView], Iterable[EventDecision]]


@dataclass(frozen=True, slots=True)
class Refiner:
    """A rule over symptoms (phase 3)."""

    info: RuleInfo
    stage: RefineStage
    needs: tuple[str, ...]
    priority: int
    run: Callable[[JobView], Iterable[Decision]]


Rule = Extractor | MetricExtractor | Relation | Filter | Refiner


@dataclass(frozen=True, eq=False)
class Catalog:
    """A verified set of rules, each list sorted by id. `digest` names the content of every file it came from."""

    version: str
    digest: str
    symptoms: Mapping[str, SymptomType]
    extractors: tuple[Extractor, ...] = ()
    metrics: tuple[MetricExtractor, ...] = ()
    relations: tuple[Relation, ...] = ()
    filters: tuple[Filter, ...] = ()
    refiners: tuple[Refiner, ...] = ()
    retired: Mapping[str, str] = field(default_factory=dict)
    retired_at: Mapping[str, Retired] = field(default_factory=dict)
    tag_meanings: Mapping[str, str] = field(default_factory=dict)
    symptom_places: Mapping[Path, Place] = field(default_factory=dict)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules, sorted by id."""
        every: list[Rule] = [*self.extractors, *self.metrics, *self.relations, *self.filters, *self.refiners]
        return tuple(sorted(every, key=lambda rule: rule.info.id))

    @cached_property
    def tags(self) -> Mapping[str, tuple[str, ...]]:
        """Tag -> the names of the symptoms that carry it, sorted."""
        groups: dict[str, list[str]] = {}
        for name in sorted(self.symptoms):
            for tag in self.symptoms[name].tags:
                groups.setdefault(tag, []).append(name)
        return {tag: tuple(names) for tag, names in groups.items()}

    def at(self, symptom: str, *path: str | int) -> Place:
        """Where a part of a symptom's definition stands, or the nearest part around it."""
        for end in range(len(path), -1, -1):
            if (symptom, *path[:end]) in self.symptom_places:
                return self.symptom_places[symptom, *path[:end]]
        return Place(symptom)

    def rule(self, id_or_name: str) -> Rule | None:
        """The rule with this id or kebab-case name."""
        wanted = id_or_name.casefold()
        return next((r for r in self.rules if wanted in {r.info.id.casefold(), r.info.name.casefold()}), None)

    def emitters(self, symptom: str) -> tuple[Rule, ...]:
        """The rules that can emit a symptom."""
        return tuple(rule for rule in self.rules if symptom in emitted_by(rule))

    def plan(self, margin_us: int) -> CollectionPlan:
        """What connectors should fetch for this catalog."""
        literals: dict[Source, set[str]] = {}
        metrics: dict[Source, set[str]] = {}
        for extractor in self.extractors:
            if extractor.last:  # what every log is full of is not fetched for its last line
                continue
            for source in extractor.sources:
                literals.setdefault(source, set()).update(extractor.literals)
        for metric in self.metrics:
            for source in metric.extract.sources:
                metrics.setdefault(source, set()).update(metric.extract.metric)
        sources = tuple(
            SourcePlan(
                source=source,
                literals=tuple(sorted(literals.get(source, ()))),
                metrics=tuple(sorted(metrics.get(source, ()))),
            )
            for source in sorted({*literals, *metrics})
        )
        return CollectionPlan(catalog_digest=self.digest, sources=sources, margin_secs=margin_us // SECOND)


def emitted_by(rule: Rule) -> tuple[str, ...]:
    """The symptoms that a rule can emit."""
    if isinstance(rule, MetricExtractor):
        return (rule.symptom,)
    if isinstance(rule, Extractor | Filter):
        return rule.emits
    return ()
