"""`attribution explain WORD`: the manual of a rule, a symptom, a tag, a sub_domain or a code."""

import argparse
import re
from collections.abc import Iterable, Iterator

from attribution.cli import explain_codes
from attribution.cli.catalog import add_rules_flag, load_rules
from attribution.cli.families import shown_file
from attribution.cli.manual import entries, manual, paragraph
from attribution.contracts.error_codes import CODES, FAMILIES
from attribution.contracts.errors import ConfigurationError, Place, Problem, nearest
from attribution.contracts.vocabulary import SubDomain, domain_of
from attribution.events.symptom import SymptomType
from attribution.presentation.columns import clip, visible
from attribution.presentation.manual import rule_manual, some, symptom_manual
from attribution.rules.model import Catalog, Relation, Rule
from attribution.rules.snapshot import rule_description, snapshot, symptom_description

_LIST = "see: attribution rules list"
_MAX_WORD = 64
"""Columns of an unknown word that are told again; no longer one is near to a known one."""

_ERROR_CODE = re.compile(r"[ABCDKPRTV]\d{3}", re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    codes = "a code of a GPU or switch (XID79, 149/4, SXID20034), the code of an error (R005)"
    parser.add_argument("word", help=f"a rule's id or name, a symptom, a tag, a sub_domain, {codes}")
    add_rules_flag(parser)


def run(options: argparse.Namespace) -> int:
    """Write the manual page to stdout."""
    print("\n".join(map(visible, page(load_rules(options.rules).catalog, options.word))))
    return 0


def page(catalog: Catalog, word: str) -> Iterator[str]:
    """The lines of a manual page. Raises ConfigurationError for a word that names nothing."""
    rule = catalog.rule(word)
    symptom = catalog.symptoms.get(word.upper().replace("-", "_"))
    tag = next((tag for tag in catalog.tag_meanings if tag.lower() == word.lower().removeprefix("tag:")), None)
    if rule is not None:
        yield from rule_page(catalog, rule)
        yield ""
        yield f"Written in {shown_file(rule.info.place)}"
        yield from paragraph("See also", explain_codes.code_behind(rule.info.id))
    elif symptom is not None:
        yield from symptom_page(catalog, symptom)
    elif tag is not None:
        yield from _tag(catalog, tag)
    elif word.lower() in set(SubDomain):
        yield from _sub_domain(catalog, SubDomain(word.lower()))
    elif word.upper() in catalog.retired:
        yield f"{word.upper()}  (retired)"
        yield from paragraph("", catalog.retired[word.upper()])
    elif _ERROR_CODE.fullmatch(word):
        yield from _error(word.upper())
    elif (found := explain_codes.code_page(catalog, word)) is not None:
        lines, symptoms = found
        yield from lines
        for name in symptoms:
            yield ""
            yield from symptom_page(catalog, catalog.symptoms[name])
    else:
        ids = [name for known in catalog.rules for name in (known.info.id, known.info.name)]
        known = [*ids, *catalog.symptoms, *catalog.tag_meanings, *SubDomain, *CODES]
        remedy = (len(word) <= _MAX_WORD and (nearest(word, known) or nearest(word.upper(), known))) or _LIST
        raise _unknown(f"knows no rule, symptom or code `{clip(visible(word), _MAX_WORD)}`", remedy)


def _unknown(message: str, remedy: str) -> ConfigurationError:
    return ConfigurationError([Problem(Place("explain"), "C003", message, remedy)])


def rule_page(catalog: Catalog, rule: Rule) -> Iterator[str]:
    """The lines of a rule's manual."""
    yield from manual(rule_manual(snapshot(catalog), rule_description(rule)))


def symptom_page(catalog: Catalog, symptom: SymptomType) -> Iterator[str]:
    """The lines of a symptom's manual."""
    yield from manual(symptom_manual(snapshot(catalog), symptom_description(symptom)))


# --- tags and sub_domains ---------------------------------------------------------------------------------------------


def _relations(relations: Iterable[Relation]) -> Iterator[tuple[str, str]]:
    return ((relation.info.id, relation.info.summary) for relation in relations)


def _tag(catalog: Catalog, tag: str) -> Iterator[str]:
    yield f"tag:{tag}  (tag)"
    yield from paragraph("", catalog.tag_meanings[tag])
    yield from paragraph("Symptoms", some(catalog.tags.get(tag, ()), shown=40))
    name = f"tag:{tag}"
    yield from entries("Explained by", _relations(r for r in catalog.relations if name in r.effects))
    yield from entries("Explains", _relations(r for r in catalog.relations if name in r.causes))


def _sub_domain(catalog: Catalog, sub_domain: SubDomain) -> Iterator[str]:
    yield f"{sub_domain.value}  (sub_domain of {domain_of(sub_domain).value})"
    found = [symptom for symptom in catalog.symptoms.values() if symptom.sub_domain is sub_domain]
    yield from entries("Causes", ((symptom.name, symptom.meaning) for symptom in found))
    if not found:
        yield from paragraph("", "An answer of the engine; no symptom lies there.")


# --- errors -----------------------------------------------------------------------------------------------------------


def _error(code: str) -> Iterator[str]:
    if code not in CODES:
        near = nearest(code, CODES) or f"known ones: {', '.join(name for name in CODES if name[0] == code[0])}"
        raise _unknown(f"knows no error {code}", near)
    meaning, remedy = CODES[code]
    yield f"{code}  (error, {FAMILIES[code[0]]})"
    yield from paragraph("", meaning)
    yield from paragraph("What to do", remedy)
