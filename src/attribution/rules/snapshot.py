"""What a catalog says of itself, for those who may not import it: pages, clients, documentation."""

from attribution.contracts.diagnosis import CatalogIdentity
from attribution.contracts.exchange import CatalogSnapshot, RuleDescription, SymptomDescription
from attribution.events.symptom import SymptomType
from attribution.rules.model import Catalog, Rule, emitted_by


def snapshot(catalog: Catalog) -> CatalogSnapshot:
    """Every rule and symptom, sorted by id and name."""
    return CatalogSnapshot(
        catalog=CatalogIdentity(version=catalog.version, digest=catalog.digest),
        rules=tuple(rule_description(rule) for rule in catalog.rules),
        symptoms=tuple(symptom_description(catalog.symptoms[name]) for name in sorted(catalog.symptoms)),
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
    )


def symptom_description(symptom: SymptomType) -> SymptomDescription:
    """The registry entry of one symptom."""
    return SymptomDescription(
        name=symptom.name,
        role=symptom.role,
        sub_domain=symptom.sub_domain,
        meaning=symptom.meaning,
        actions=symptom.actions,
        tags=symptom.tags,
    )
