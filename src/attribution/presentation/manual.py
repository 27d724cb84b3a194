"""The manual of a rule and of a symptom in the order of its reading; a terminal and a page set it their own way."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from attribution.contracts.exchange import (
    CatalogSnapshot,
    RelationTerms,
    RuleCase,
    RuleDescription,
    SeriesConditions,
    SymptomDescription,
    TextConditions,
)
from attribution.contracts.vocabulary import DeviceKind
from attribution.presentation import words

MAX_PATTERNS, MAX_EMITTED = 6, 12
"""Patterns and symptoms of one rule that its manual shows."""

SCOPES = {
    "same_gpu": "on the same GPU",
    "same_node": "on the same node",
    "same_nvlink_domain": "in the same NVLink domain",
    "same_communicator": "in the same communicator",
    "job": "anywhere in the job",
}
ORDERS = {
    "not_later": "unless the cause provably came later",
    "earlier": "only where the cause provably came first",
    "any": "whatever came first",
}
_DEVICES = {
    DeviceKind.GPU: "a GPU",
    DeviceKind.NVLINK: "an NVLink",
    DeviceKind.NVSWITCH: "an NVSwitch",
    DeviceKind.NIC: "a network adapter",
    DeviceKind.SWITCH_PORT: "a switch port",
    DeviceKind.DISK: "a disk",
    DeviceKind.CPU: "a processor",
    DeviceKind.DIMM: "a memory module",
    DeviceKind.FILESYSTEM: "a file system",
}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text, mostly with a heading. `quoted` are the pieces of it that stand as they are, between backticks."""

    heading: str
    text: str
    quoted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """Names, each with what it means; `more` of them are not shown."""

    heading: str
    rows: tuple[tuple[str, str], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Quoted:
    """Lines as they stand. The heading is a sentence of its own; `notes` say what goes with the lines."""

    heading: str
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


Section = Paragraph | Names | Quoted


@dataclass(frozen=True, slots=True)
class Manual:
    """What is told: what it is, in parentheses what kind of thing that is, and sections, none of them empty."""

    name: str
    kind: str
    sections: tuple[Section, ...]

    @property
    def title(self) -> str:
        """The first line."""
        return f"{self.name}  ({self.kind})"


def _said(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections that say something."""
    return tuple(
        item
        for item in sections
        if (item.text if isinstance(item, Paragraph) else item.rows if isinstance(item, Names) else item.lines)
    )


# --- rules --------------------------------------------------------------------------------------------------------


def rule_manual(catalog: CatalogSnapshot, rule: RuleDescription) -> Manual:
    """The manual of a rule of a catalog."""
    kind = f"{rule.kind}, {rule.status}, since {rule.since}"
    return Manual(f"{rule.id} {rule.name}", kind, _said(_rule(catalog, rule)))


def _rule(catalog: CatalogSnapshot, rule: RuleDescription) -> Iterator[Section]:
    yield Paragraph("", rule.summary)
    yield Paragraph("Why", rule.why)
    yield Paragraph("Misses", rule.misses)
    yield Paragraph("Next step", rule.next_step)
    if by := rule.printed_by:
        yield Paragraph("Printed by", f"{by.get('program', '')} {by.get('versions', '')} ({by.get('source', '')})")
    yield Paragraph("Reads", ", ".join(source.value for source in rule.reads))
    if rule.text:
        yield from _text(rule.text)
    if rule.series:
        yield Paragraph("Series", ", ".join(rule.series.metric) + _labels(rule.series))
        yield Paragraph("Asks for", asked(rule.series))
    if rule.relation:
        yield from _relation(catalog, rule.relation)
    if rule.stage:
        priority = f", priority {rule.stage.priority}" if rule.stage.priority else ""
        yield Paragraph("Stage", rule.stage.stage + priority)
        yield Paragraph("Needs", " and ".join(rule.stage.needs))
    meanings = {symptom.name: symptom.meaning for symptom in catalog.symptoms}
    emitted = [(name, meanings[name]) for name in rule.emits if name in meanings]
    yield Names("Emits", tuple(emitted[:MAX_EMITTED]), max(0, len(emitted) - MAX_EMITTED))
    if rule.fires_on:
        yield _case(f"Fires on: {rule.fires_on.name}", rule.fires_on)
    if rule.quiet_on:
        yield _case(f"Must not fire on: {rule.quiet_on.name} ({rule.quiet_on.because})", rule.quiet_on)


def _text(text: TextConditions) -> Iterator[Section]:
    yield Paragraph("Literals", " or ".join(f"`{literal}`" for literal in text.literals), text.literals)
    heading = "Pattern:" if len(text.patterns) == 1 else "Patterns, any of:"
    yield Quoted(heading, text.patterns[:MAX_PATTERNS], tuple(_beside(text)))
    if text.generic:
        yield Paragraph("Gives way", "to any other finding on the same lines")


def _beside(text: TextConditions) -> Iterator[str]:
    if len(text.patterns) > MAX_PATTERNS:
        yield f"and {len(text.patterns) - MAX_PATTERNS} more"
    after = "the line after it" if text.follow_lines == 1 else f"the {text.follow_lines} lines after it"
    if text.follow_pattern:
        yield f"and of {after}: {text.follow_pattern}"
    elif text.traceback:
        yield "with the traceback that follows, up to the exception"
    elif text.follow_lines:
        yield f"with {after}"


def _labels(series: SeriesConditions) -> str:
    return f" with {where_text(series.where)}" if series.where else ""


def where_text(where: Mapping[str, Sequence[str]]) -> str:
    """Which labels are asked for, in words."""
    return " and ".join(f"{label}={' or '.join(v or '(none)' for v in values)}" for label, values in where.items())


def asked(series: SeriesConditions) -> str:
    """What must hold of a series, in words."""
    if series.increase is not None:
        return f"a rise by {words.decimal(series.increase)}"
    if series.blank_for_secs is not None:
        return f"silence for {words.decimal(series.blank_for_secs)} s while others of its scrape go on"
    lasting = f" for {words.decimal(series.for_secs)} s" if series.for_secs else ""
    for verb, value in (("above", series.above), ("below", series.below), ("of", series.equals)):
        if value is not None:
            return f"a value {verb} {words.decimal(value)}{lasting}"
    return ""


def _relation(catalog: CatalogSnapshot, relation: RelationTerms) -> Iterator[Section]:
    for heading, names in (("Causes", relation.causes), ("Explain", relation.effects)):
        yield Names(heading, tuple((name, _meaning(catalog, name)) for name in names))
    yield Paragraph("Holds", "; ".join(terms(relation)))
    yield Paragraph("Reason given", relation.reason)


def terms(relation: RelationTerms) -> Iterator[str]:
    """Scope, order and distance of a relation in words."""
    yield SCOPES.get(relation.scope, relation.scope)
    yield ORDERS.get(relation.order, relation.order)
    if relation.within_secs is not None:
        yield f"at most {words.decimal(relation.within_secs)} s apart"


def _meaning(catalog: CatalogSnapshot, name: str) -> str:
    tag = name.removeprefix("tag:")
    if tag != name:
        return f"{catalog.tags.get(tag, '')} ({some(tagged(catalog, tag), shown=4)})"
    return next((symptom.meaning for symptom in catalog.symptoms if symptom.name == name), "")


def tagged(catalog: CatalogSnapshot, tag: str) -> tuple[str, ...]:
    """The symptoms that carry a tag, sorted."""
    return tuple(sorted(symptom.name for symptom in catalog.symptoms if tag in symptom.tags))


def some(names: Sequence[str], shown: int = 12) -> str:
    """Names in a row, the first ones and how many more."""
    return ", ".join(names) if len(names) <= shown else ", ".join(names[:shown]) + f" and {len(names) - shown} more"


def _case(heading: str, case: RuleCase) -> Quoted:
    return Quoted(heading, tuple(case.given.strip().splitlines()))


# --- symptoms -----------------------------------------------------------------------------------------------------


def symptom_manual(catalog: CatalogSnapshot, symptom: SymptomDescription) -> Manual:
    """The manual of a symptom of a catalog: its registry entry, who emits it, and what it explains."""
    place = f", {symptom.sub_domain.value}" if symptom.sub_domain else ""
    return Manual(symptom.name, f"symptom, {symptom.role.value}{place}", _said(_symptom(catalog, symptom)))


def _symptom(catalog: CatalogSnapshot, symptom: SymptomDescription) -> Iterator[Section]:
    yield Paragraph("", symptom.meaning)
    yield Paragraph("Next step", ", ".join(action.value for action in symptom.actions))
    ending = f" ({symptom.terminal_state.value})" if symptom.terminal_state else ""
    yield Paragraph("Ends a job", symptom.ends_job + ending)
    if symptom.device or symptom.node_scoped:
        device = _DEVICES[symptom.device] if symptom.device else "a node"
        yield Paragraph("About", device + ("; its node is one to avoid" if symptom.node_scoped else ""))
    yield Names("Tags", tuple((tag, catalog.tags.get(tag, "")) for tag in symptom.tags))
    emitters = [rule for rule in catalog.rules if symptom.name in rule.emits]
    yield Names("Emitted by", _named(emitters))
    names = {symptom.name, *(f"tag:{tag}" for tag in symptom.tags)}
    yield Names("Explained by", _named(r for r in catalog.rules if r.relation and names & set(r.relation.effects)))
    yield Names("Explains", _named(r for r in catalog.rules if r.relation and names & set(r.relation.causes)))


def _named(rules: Iterable[RuleDescription]) -> tuple[tuple[str, str], ...]:
    return tuple((rule.id, rule.summary) for rule in rules)
