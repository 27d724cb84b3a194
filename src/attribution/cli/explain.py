"""`attribution explain WORD`: the manual of a rule, a symptom or an Xid code."""

import argparse
import textwrap
from collections.abc import Iterator

from attribution.catalog.tables import xids
from attribution.cli.catalog import add_rules_flag, load_rules
from attribution.contracts.errors import ConfigurationError, Place, Problem, nearest
from attribution.events.symptom import SymptomType
from attribution.rules.model import Catalog, Extractor, MetricExtractor, Relation, Rule, emitted_by

WIDTH = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.add_argument("word", help="a rule id or name, a symptom, or an Xid code such as XID79")
    add_rules_flag(parser)


def run(options: argparse.Namespace) -> int:
    """Write the manual page to stdout."""
    print("\n".join(page(load_rules(options.rules).catalog, options.word)))
    return 0


def page(catalog: Catalog, word: str) -> Iterator[str]:
    """The lines of a manual page. Raises ConfigurationError for a word that names nothing."""
    rule = catalog.rule(word)
    symptom = catalog.symptoms.get(word.upper().replace("-", "_"))
    code = _xid_code(word)
    if rule is not None:
        yield from _rule(rule)
    elif symptom is not None:
        yield from _symptom(catalog, symptom)
    elif code is not None:
        yield from _xid(catalog, code)
    else:
        known = [*(r.info.id for r in catalog.rules), *(r.info.name for r in catalog.rules), *catalog.symptoms]
        remedy = nearest(word, known) or "see: attribution rules list"
        raise ConfigurationError(
            [Problem(Place("explain"), "C003", f"knows no rule, symptom or code `{word}`", remedy)]
        )


def _xid_code(word: str) -> int | None:
    digits = word.upper().removeprefix("XID").strip(" _-")
    return int(digits) if digits.isdecimal() and len(digits) <= 4 else None


def _rule(rule: Rule) -> Iterator[str]:
    info = rule.info
    yield f"{info.id} {info.name}  ({info.kind}, {info.status}, since {info.since})"
    yield from _paragraph("", info.summary)
    for heading, text in (("Why", info.why), ("Misses", info.misses), ("Next step", info.next_step)):
        yield from _paragraph(heading, text)
    if info.printed_by:
        printed = info.printed_by
        yield from _paragraph("Printed by", f"{printed.program} {printed.versions} ({printed.source})")
    if isinstance(rule, Extractor):
        yield from _paragraph("Reads", ", ".join(source.value for source in rule.sources))
    elif isinstance(rule, MetricExtractor):
        yield from _paragraph("Reads", ", ".join(rule.extract.metric))
    elif isinstance(rule, Relation):
        text = f"{', '.join(rule.causes)} explain {', '.join(rule.effects)} ({rule.scope}, {rule.order})"
        yield from _paragraph("Says", text)
    if emitted_by(rule):
        yield from _paragraph("Emits", _some(emitted_by(rule)))
    yield from _cases(rule)
    yield f"\nWritten in {info.place.file}"


def _cases(rule: Rule) -> Iterator[str]:
    fires = next((case for case in rule.info.cases if not case.negative), None)
    quiet = next((case for case in rule.info.cases if case.negative), None)
    if fires:
        yield f"\nFires on: {fires.name}"
        yield from ("    " + line for line in fires.given.strip().splitlines())
    if quiet:
        yield f"\nMust not fire on: {quiet.name} ({quiet.because})"
        yield from ("    " + line for line in quiet.given.strip().splitlines())


def _symptom(catalog: Catalog, symptom: SymptomType) -> Iterator[str]:
    place = f", {symptom.sub_domain.value}" if symptom.sub_domain else ""
    yield f"{symptom.name}  (symptom, {symptom.role.value}{place})"
    yield from _paragraph("", symptom.meaning)
    if symptom.actions:
        yield from _paragraph("Next step", ", ".join(action.value for action in symptom.actions))
    yield from _paragraph("Ends a job", symptom.ends_job)
    emitters = [f"{rule.info.id} {rule.info.name}" for rule in catalog.emitters(symptom.name)]
    yield from _paragraph("Emitted by", ", ".join(emitters))
    causes = [r for r in catalog.relations if _names(catalog, symptom.name, r.effects)]
    effects = [r for r in catalog.relations if _names(catalog, symptom.name, r.causes)]
    for heading, relations in (("Explained by", causes), ("Explains", effects)):
        if relations:
            yield from _paragraph(heading, "; ".join(f"{r.info.id} {r.info.summary}" for r in relations))


def _names(catalog: Catalog, symptom: str, names: tuple[str, ...]) -> bool:
    return any(symptom == name or symptom in catalog.tags.get(name.removeprefix("tag:"), ()) for name in names)


def _xid(catalog: Catalog, code: int) -> Iterator[str]:
    entry = xids().get(code)
    if entry is None:
        raise ConfigurationError(
            [Problem(Place("explain"), "C003", f"knows no Xid {code}", "see: attribution explain XID001")]
        )
    yield f"Xid {code} {entry.mnemonic}"
    yield from _paragraph("", entry.meaning)
    for heading, text in (
        ("Class", entry.kind),
        ("Published action", entry.immediate),
        ("Then", entry.investigatory),
        ("Ends a job", entry.ends_job),
    ):
        yield from _paragraph(heading, text or "")
    name = f"XID_{code}"
    if name in catalog.symptoms:
        yield ""
        yield from _symptom(catalog, catalog.symptoms[name])


def _paragraph(heading: str, text: str) -> Iterator[str]:
    if text:
        lead = f"{heading}: " if heading else ""
        yield ""
        yield from textwrap.wrap(lead + text, WIDTH, subsequent_indent="  " if heading else "")


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 12 else ", ".join(names[:12]) + f" and {len(names) - 12} more"
