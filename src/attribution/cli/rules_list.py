"""`attribution rules list`: the rules, all or those that some filters leave."""

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from attribution.cli.catalog import add_rules_flag, load_rules
from attribution.cli.families import family_of, folder_of
from attribution.contracts.errors import ConfigurationError, Place, Problem, nearest
from attribution.contracts.vocabulary import SubDomain
from attribution.presentation.columns import visible
from attribution.rules.api import expand
from attribution.rules.model import Catalog, Filter, Refiner, Relation, Rule, emitted_by
from attribution.rules.schema import KINDS as KINDS_IN_YAML
from attribution.rules.schema import STATUSES
from attribution.rules.snapshot import rule_description

HELP = "list the rules"
KINDS = (*KINDS_IN_YAML, "filter", "refiner")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the action. Filters of one flag widen, different flags narrow."""
    many: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--family", metavar="NAME", **many, help="prefix of the id (PYX) or folder (container)")
    parser.add_argument("--symptom", metavar="NAME", **many, help="emits this symptom, needs it or relates it")
    parser.add_argument("--sub-domain", metavar="NAME", **many, help="emits a symptom of this sub_domain")
    parser.add_argument("--status", choices=STATUSES, **many, help="preview, stable or deprecated")
    parser.add_argument("--kind", choices=KINDS, **many, help="extractor, metric, relation, filter or refiner")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to write them (default: text)")
    add_rules_flag(parser)


def run(options: argparse.Namespace) -> int:
    """Write the list to stdout."""
    catalog = load_rules(options.rules).catalog
    _check(catalog, options)
    rules = [rule for rule in catalog.rules if _is_wanted(catalog, rule, options)]
    if options.format == "json":
        print(json.dumps([_row(catalog, rule) for rule in rules], indent=2))
        return 0
    width = max((len(rule.info.name) for rule in rules), default=0)
    for rule in rules:
        mark = "" if rule.info.status == "stable" else f" ({rule.info.status})"
        print(visible(f"{rule.info.id:9} {rule.info.kind:9} {rule.info.name:{width}}  {rule.info.summary}{mark}"))
    if not rules:
        print("no rule is left by these filters")
    return 0


def _check(catalog: Catalog, options: argparse.Namespace) -> None:
    """Refuse a filter that no rule could ever pass."""
    families = sorted({name for rule in catalog.rules for name in (family_of(rule), folder_of(rule))})
    problems = list(_unknown("--family", options.family, families, "see the ids of: attribution rules list"))
    problems += _unknown("--symptom", options.symptom, catalog.symptoms, "see: attribution rules list --format json")
    known = [sub_domain.value for sub_domain in SubDomain]
    problems += _unknown("--sub-domain", options.sub_domain, known, "one of: " + ", ".join(known))
    if problems:
        raise ConfigurationError(problems)


def _unknown(flag: str, given: list[str], known: Any, remedy: str) -> Iterator[Problem]:
    folded = {name.casefold() for name in known}
    for name in given:
        if name.casefold() not in folded:
            yield Problem(Place(flag), "C002", f"knows no `{name}`", nearest(name, known) or remedy)


def _is_wanted(catalog: Catalog, rule: Rule, options: argparse.Namespace) -> bool:
    def passes(wanted: list[str], *held: str) -> bool:
        return not wanted or not {name.casefold() for name in wanted}.isdisjoint(name.casefold() for name in held)

    return (
        passes(options.family, family_of(rule), folder_of(rule))
        and passes(options.symptom, *concerned(catalog, rule))
        and passes(options.sub_domain, *sub_domains_of(catalog, rule))
        and passes(options.status, rule.info.status)
        and passes(options.kind, rule.info.kind)
    )


def concerned(catalog: Catalog, rule: Rule) -> tuple[str, ...]:
    """The symptoms that a rule emits, needs or relates."""
    names: tuple[str, ...] = emitted_by(rule)
    if isinstance(rule, Relation):
        names += (*rule.causes, *rule.effects)
    elif isinstance(rule, Filter | Refiner):
        names += rule.needs
    return tuple(expand(names, catalog.tags))


def sub_domains_of(catalog: Catalog, rule: Rule) -> tuple[str, ...]:
    """The sub_domains of the symptoms that a rule emits."""
    emitted = [catalog.symptoms[name].sub_domain for name in emitted_by(rule)]
    return tuple(sorted({sub_domain.value for sub_domain in emitted if sub_domain}))


def _row(catalog: Catalog, rule: Rule) -> Mapping[str, Any]:
    told = rule_description(rule).model_dump(mode="json")
    return {**told, "family": family_of(rule), "folder": folder_of(rule), "sub_domains": sub_domains_of(catalog, rule)}
