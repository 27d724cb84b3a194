"""The pages of docs/catalog as text: an index, a page for each family, one of symptoms, one of relations."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from attribution.cli.families import family_of, folder_of
from attribution.contracts.vocabulary import SubDomain, domain_of
from attribution.events.symptom import SymptomType
from attribution.presentation.manual import asked, terms, where_text
from attribution.presentation.markdown import code, fenced, prose
from attribution.rules.model import Catalog, Extractor, Filter, MetricExtractor, Refiner, Relation, Rule, emitted_by
from attribution.rules.schema import CaseModel
from attribution.rules.snapshot import relation_terms, series_conditions

NOTICE = "<!-- Written by scripts/write_catalog_docs.py: change the rules, not this page. -->"
MAX_NAMES = 24
"""Names of a list that are written out; a rule for all Xids emits hundreds of symptoms."""


def pages(catalog: Catalog, about: Mapping[str, str]) -> dict[str, str]:
    """File name -> content. `about` says of each folder of rules what its rules read."""
    folders: dict[str, list[Rule]] = {}
    for rule in catalog.rules:
        folders.setdefault(folder_of(rule), []).append(rule)
    found = {f"{folder}.md": _family(catalog, folder, rules, about) for folder, rules in sorted(folders.items())}
    found["README.md"] = _index(catalog, folders, about)
    found["symptoms-of-causes.md"] = _causes(catalog)
    found["symptoms-of-effects.md"] = _effects(catalog)
    found["relations-and-tags.md"] = _relations(catalog)
    return {name: "\n".join([NOTICE, "", *lines]).rstrip() + "\n" for name, lines in sorted(found.items())}


def about_folders(root: Path) -> dict[str, str]:
    """Folder of a catalog -> the docstring of its package."""
    found = {}
    for path in sorted(root.glob("*/__init__.py")):
        found[path.parent.name] = path.read_text(encoding="utf-8").strip().strip('"').splitlines()[0]
    return found


# --- index ------------------------------------------------------------------------------------------------------------


def _index(catalog: Catalog, folders: Mapping[str, list[Rule]], about: Mapping[str, str]) -> Iterator[str]:
    yield "# Catalog"
    yield ""
    yield f"{len(catalog.rules)} rules and {len(catalog.symptoms)} symptoms. The command line tells the same:"
    yield "`attribution explain ID`, `attribution rules list`. How to add a rule: [writing rules](../writing-rules.md)."
    yield ""
    yield "| family | ids | rules | what it reads or decides |"
    yield "| --- | --- | ---: | --- |"
    for folder, rules in sorted(folders.items()):
        ids = ", ".join(sorted({family_of(rule) for rule in rules}))
        yield f"| [{folder}]({folder}.md) | {ids} | {len(rules)} | {prose(about.get(folder, ''), in_table=True)} |"
    yield ""
    yield "* [Causes](symptoms-of-causes.md): the symptoms that may be a root, by sub_domain"
    yield "* [Effects and context](symptoms-of-effects.md): the symptoms that never are"
    yield "* [Relations and tags](relations-and-tags.md): which symptom explains which"


# --- rules ------------------------------------------------------------------------------------------------------------


def _family(catalog: Catalog, folder: str, rules: Iterable[Rule], about: Mapping[str, str]) -> Iterator[str]:
    listed = list(rules)
    yield f"# {folder}"
    yield ""
    yield prose(about.get(folder, ""))
    yield ""
    for rule in listed:
        yield f"* [{rule.info.id}](#{_anchor(rule)}) {prose(rule.info.summary)}"
    for rule in listed:
        yield ""
        yield from _rule(catalog, rule)


def _anchor(rule: Rule) -> str:
    return f"{rule.info.id} {rule.info.name}".lower().replace(" ", "-")


def _rule(catalog: Catalog, rule: Rule) -> Iterator[str]:
    info = rule.info
    yield f"## {info.id} {info.name}"
    yield ""
    yield f"{prose(info.summary)} *({info.kind}, {info.status}, since {info.since})*"
    yield ""
    yield f"* **Why it matters**: {prose(info.why)}"
    yield f"* **What it misses**: {prose(info.misses)}"
    yield f"* **What to do**: {prose(info.next_step)}"
    if info.printed_by:
        by = info.printed_by
        yield f"* **Printed by**: {prose(f'{by.program} {by.versions} ({by.source})')}"
    for heading, text in _conditions(rule):
        yield f"* **{heading}**: {text}"
    emitted = emitted_by(rule)
    if emitted:
        yield f"* **Emits**: {_symptom_links(catalog, emitted)}"
    fires = next((case for case in info.cases if not case.negative), None)
    quiet = next((case for case in info.cases if case.negative), None)
    if fires:
        yield from _case(f"Fires on: {prose(fires.name)}", fires)
    if quiet:
        because = f" ({prose(quiet.because)})" if quiet.because else ""
        yield from _case(f"Must not fire on: {prose(quiet.name)}{because}", quiet)


def _case(title: str, case: CaseModel) -> Iterator[str]:
    yield ""
    yield title
    yield ""
    yield from fenced(case.given.strip("\n").splitlines())


def _conditions(rule: Rule) -> Iterator[tuple[str, str]]:
    if isinstance(rule, Extractor):
        yield "Reads", ", ".join(source.value for source in rule.sources)
    elif isinstance(rule, MetricExtractor):
        yield "Reads", ", ".join(code(name) for name in rule.extract.metric)
        if rule.extract.where:
            yield "Labels", code(where_text(rule.extract.where))
        yield "Asks for", asked(series_conditions(rule.extract))
    elif isinstance(rule, Relation):
        yield "Causes", ", ".join(code(name) for name in rule.causes)
        yield "Effects", ", ".join(code(name) for name in rule.effects)
        yield "Holds", "; ".join(terms(relation_terms(rule)))
    elif isinstance(rule, Filter | Refiner):
        yield "Stage", rule.stage.name
        if rule.needs:
            yield "Needs", ", ".join(code(name) for name in rule.needs)


def _symptom_links(catalog: Catalog, names: Iterable[str]) -> str:
    listed = list(names)
    links = [_symptom_link(catalog.symptoms[name]) for name in listed[:MAX_NAMES]]
    return ", ".join(links) + (f" and {len(listed) - MAX_NAMES} more" if len(listed) > MAX_NAMES else "")


def _symptom_link(symptom: SymptomType) -> str:
    page = "causes" if symptom.sub_domain else "effects"
    return f"[{symptom.name}](symptoms-of-{page}.md#{symptom.name.lower()})"


# --- symptoms ---------------------------------------------------------------------------------------------------------


def _causes(catalog: Catalog) -> Iterator[str]:
    yield "# Causes"
    yield ""
    yield "What may be the root of a failure, by the sub_domain in which it lies. A tag stands for all that"
    yield "[relations](relations-and-tags.md) say of it; named are only the relations that name the symptom itself."
    for sub_domain in SubDomain:
        found = [symptom for symptom in catalog.symptoms.values() if symptom.sub_domain is sub_domain]
        if found:
            yield ""
            yield f"## {sub_domain.value}"
            yield ""
            yield f"Domain {domain_of(sub_domain).value}, {len(found)} symptoms."
            yield from _symptoms(catalog, found)


def _effects(catalog: Catalog) -> Iterator[str]:
    yield "# Effects and context"
    yield ""
    yield "An effect may be where trouble was first seen, but is never its root; context only informs."
    for role in ("effect", "context"):
        found = [s for s in catalog.symptoms.values() if s.sub_domain is None and s.role.value == role]
        if found:
            yield ""
            yield f"## {role}"
            yield from _symptoms(catalog, found)


def _symptoms(catalog: Catalog, found: Iterable[SymptomType]) -> Iterator[str]:
    for symptom in found:
        yield ""
        yield f"### {symptom.name}"
        yield ""
        ends = f", ends a job: {symptom.ends_job}" + (f" ({s})" if (s := symptom.terminal_state) else "")
        yield f"{prose(symptom.meaning)} *({symptom.role.value}{ends})*"
        yield ""
        if symptom.actions:
            yield f"* **What to do**: {', '.join(action.value for action in symptom.actions)}"
        emitters = [_rule_link(rule) for rule in catalog.emitters(symptom.name)]
        if emitters:
            yield f"* **Emitted by**: {', '.join(emitters)}"
        yield from _explanations(catalog, symptom)


def _explanations(catalog: Catalog, symptom: SymptomType) -> Iterator[str]:
    tags = [f"tag:{tag}" for tag in symptom.tags]
    related = [tag for tag in tags if any(tag in (*r.causes, *r.effects) for r in catalog.relations)]
    for heading, sides in (("Explained by", [(r, r.effects) for r in catalog.relations]),
                           ("Explains", [(r, r.causes) for r in catalog.relations])):  # fmt: skip
        named = [_rule_link(relation) for relation, names in sides if symptom.name in names]
        if named:
            yield f"* **{heading}**: {', '.join(named)}"
    if related:
        links = ", ".join(f"[{tag[4:]}](relations-and-tags.md#{tag[4:].lower()})" for tag in related)
        yield f"* **Tags in relations**: {links}"


def _rule_link(rule: Rule) -> str:
    return f"[{rule.info.id}]({folder_of(rule)}.md#{_anchor(rule)})"


# --- relations --------------------------------------------------------------------------------------------------------


def _relations(catalog: Catalog) -> Iterator[str]:
    yield "# Relations and tags"
    yield ""
    yield "A relation says that its causes explain its effects, within a scope and an order. `tag:NAME` stands for all"
    yield "symptoms that carry the tag."
    yield ""
    yield "| relation | causes | effects | holds |"
    yield "| --- | --- | --- | --- |"
    for relation in catalog.relations:
        causes, effects = (" ".join(code(name) for name in names) for names in (relation.causes, relation.effects))
        yield f"| {_rule_link(relation)} | {causes} | {effects} | {'; '.join(terms(relation_terms(relation)))} |"
    yield ""
    yield "# Tags"
    for tag, meaning in sorted(catalog.tag_meanings.items()):
        yield ""
        yield f"## {tag}"
        yield ""
        yield prose(meaning)
        yield ""
        for heading, sides in (("Explained by", [(r, r.effects) for r in catalog.relations]),
                               ("Explains", [(r, r.causes) for r in catalog.relations])):  # fmt: skip
            named = [_rule_link(relation) for relation, names in sides if f"tag:{tag}" in names]
            if named:
                yield f"* **{heading}**: {', '.join(named)}"
        needed = [_rule_link(r) for r in catalog.rules if isinstance(r, Filter | Refiner) and f"tag:{tag}" in r.needs]
        if needed:
            yield f"* **Needed by**: {', '.join(needed)}"
        members = catalog.tags.get(tag, ())
        if members:
            yield f"* **Symptoms**: {_symptom_links(catalog, members)}"
