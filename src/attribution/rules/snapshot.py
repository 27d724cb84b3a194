"""What a catalog says of itself, for those who may not import it: pages, clients, documentation."""

from collections.abc import Iterable
from functools import lru_cache

from attribution.contracts.diagnosis import CatalogIdentity
from attribution.contracts.exchange import (
    CatalogSnapshot,
    RelationTerms,
    RuleCase,
    RuleDescription,
    SeriesConditions,
    StageTerms,
    SymptomDescription,
    TextConditions,
)
from attribution.contracts.vocabulary import Source
from attribution.events.moment import SECOND
from attribution.events.symptom import SymptomType
from attribution.rules.model import Catalog, Extractor, Filter, MetricExtractor, Refiner, Relation, Rule, emitted_by
from attribution.rules.schema import CaseModel, MetricExtract


@lru_cache(maxsize=1)
def snapshot(catalog: Catalog) -> CatalogSnapshot:
    """Every rule, symptom and tag, sorted by id and name."""
    return CatalogSnapshot(
        catalog=CatalogIdentity(version=catalog.version, digest=catalog.digest),
        rules=tuple(rule_description(rule) for rule in catalog.rules),
        symptoms=tuple(symptom_description(catalog.symptoms[name]) for name in sorted(catalog.symptoms)),
        tags={tag: catalog.tag_meanings[tag] for tag in sorted(catalog.tag_meanings)},
    )


def rule_description(rule: Rule) -> RuleDescription:
    """The manual of one rule."""
    info, by = rule.info, rule.info.printed_by
    return RuleDescription(
        id=info.id,
        name=info.name,
        kind=info.kind,
        status=info.status,
        since=info.since,
        summary=info.summary,
        why=info.why,
        misses=info.misses,
        next_step=info.next_step,
        printed_by={"program": by.program, "versions": by.versions, "source": by.source} if by else None,
        emits=emitted_by(rule),
        reads=_sources(rule),
        text=_text(rule) if isinstance(rule, Extractor) else None,
        series=series_conditions(rule.extract) if isinstance(rule, MetricExtractor) else None,
        relation=relation_terms(rule) if isinstance(rule, Relation) else None,
        stage=_stage(rule) if isinstance(rule, Filter | Refiner) else None,
        fires_on=_case(case for case in info.cases if not case.negative),
        quiet_on=_case(case for case in info.cases if case.negative),
    )


def _sources(rule: Rule) -> tuple[Source, ...]:
    if isinstance(rule, Extractor):
        return rule.sources
    return rule.extract.sources if isinstance(rule, MetricExtractor) else ()


def _text(rule: Extractor) -> TextConditions:
    return TextConditions(
        literals=rule.literals,
        patterns=rule.patterns,
        follow_lines=rule.follow_lines,
        follow_pattern=rule.follow_pattern,
        traceback=rule.traceback,
        generic=rule.generic,
    )


def series_conditions(extract: MetricExtract) -> SeriesConditions:
    """What a metric rule asks for."""
    return SeriesConditions(**extract.when.model_dump(), metric=extract.metric, where=dict(extract.where))


def relation_terms(rule: Relation) -> RelationTerms:
    """What a relation says."""
    within_secs = None if rule.within_us is None else rule.within_us / SECOND
    return RelationTerms(
        causes=rule.causes,
        effects=rule.effects,
        scope=rule.scope,
        order=rule.order,
        within_secs=within_secs,
        reason=rule.reason,
    )


def _stage(rule: Filter | Refiner) -> StageTerms:
    priority = rule.priority if isinstance(rule, Refiner) else 0
    return StageTerms(stage=rule.stage.name, priority=priority, needs=rule.needs)


def _case(cases: Iterable[CaseModel]) -> RuleCase | None:
    """The first of some cases: a manual shows one that fires and one that does not."""
    case = next(iter(cases), None)
    return RuleCase(name=case.name, given=case.given, because=case.because) if case else None


def symptom_description(symptom: SymptomType) -> SymptomDescription:
    """The registry entry of one symptom."""
    return SymptomDescription(
        name=symptom.name,
        role=symptom.role,
        sub_domain=symptom.sub_domain,
        meaning=symptom.meaning,
        actions=symptom.actions,
        tags=symptom.tags,
        ends_job=symptom.ends_job,
        terminal_state=symptom.terminal_state,
        node_scoped=symptom.node_scoped,
        device=symptom.device,
    )
