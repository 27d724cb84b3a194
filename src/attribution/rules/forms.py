"""What a rule file, or a decorated function, becomes: a rule of the catalog."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attribution.contracts.errors import Place
from attribution.events.event import Device
from attribution.events.moment import SECOND
from attribution.rules.api import NOWHERE, Finding, Match, PrintedBy
from attribution.rules.model import Extractor, Filter, Refiner, Relation, Rule, RuleInfo, Written
from attribution.rules.options import ExtractorOptions, FilterOptions, RefinerOptions
from attribution.rules.schema import Emit, ExtractorFile, RelationFile, RuleBase

HEADINGS = ("Why", "Misses", "Next step")
"""What the docstring of a Python rule has besides its first paragraph."""


def info_of(file: RuleBase, place: Place, written: Written) -> RuleInfo:
    printed = getattr(file, "printed_by", None)
    return RuleInfo(
        id=file.id,
        name=file.name,
        kind=getattr(file, "kind", "extractor"),
        status=file.status,
        since=file.since,
        summary=_flat(file.summary),
        why=_flat(file.why),
        misses=_flat(file.misses),
        next_step=_flat(file.next_step),
        place=place,
        printed_by=PrintedBy(printed.program, printed.versions, printed.source) if printed else None,
        cases=file.cases,
        written=written,
    )


def extractor_of(info: RuleInfo, file: ExtractorFile) -> Extractor:
    follow = file.extract.follow
    return Extractor(
        info=info,
        sources=file.extract.sources,
        literals=file.extract.literals,
        patterns=file.extract.pattern,
        emits=(file.emit.symptom,),
        find=finder(file.emit),
        follow_lines=follow.lines if follow else 0,
        follow_pattern=follow.pattern if follow else None,
        traceback=file.extract.traceback,
        generic=file.generic,
        last=file.extract.last,
    )


def finder(emit: Emit) -> Callable[[Match], Iterable[Finding]]:
    """The function that a declarative `emit` stands for."""

    def find(match: Match) -> Iterable[Finding]:
        groups = match.groups
        fields = {**{name: groups.get(name) for name in emit.keep}, **emit.set}
        device = None
        if emit.device:
            device = Device.of(emit.device.kind, **{name: groups.get(group) for name, group in emit.device.ids.items()})
        rank = groups.get(emit.rank) if emit.rank else None
        yield Finding(
            symptom=emit.symptom,
            fields=fields,
            device=device if device and device.ids else None,
            node=NOWHERE if emit.node == "none" else groups.get(emit.node) if emit.node else None,
            rank=int(rank) if rank and rank.isdecimal() and len(rank) < 9 else None,
            discriminator="|".join(groups.get(name) or "" for name in emit.key),
        )

    return find


def relation_of(info: RuleInfo, file: RelationFile) -> Relation:
    relation = file.relation
    within = None if relation.within_secs is None else round(relation.within_secs * SECOND)
    return Relation(
        info, relation.causes, relation.effects, relation.scope, relation.order, within, _flat(relation.reason)
    )


def python_rule(info: RuleInfo, options: ExtractorOptions | FilterOptions | RefinerOptions, function: Any) -> Rule:
    if isinstance(options, ExtractorOptions):
        return Extractor(
            info=info,
            sources=options.sources,
            literals=options.literals,
            patterns=options.pattern,
            emits=options.emits,
            find=function,
            follow_lines=options.follow_lines,
            traceback=options.traceback,
            generic=options.generic,
        )
    if isinstance(options, FilterOptions):
        return Filter(info, options.stage, options.needs, options.emits, function)
    return Refiner(info, options.stage, options.needs, options.priority, function)


def manual(docstring: str) -> Mapping[str, str]:
    """The parts of a rule's docstring: the first paragraph under "", then each heading's text."""
    parts: dict[str, list[str]] = {"": []}
    current = ""
    for line in inspect.cleandoc(docstring).splitlines():
        heading, colon, rest = line.partition(":")
        if colon and heading in HEADINGS:
            current, line = heading, rest
        parts.setdefault(current, []).append(line.strip())
    return {heading: " ".join(" ".join(lines).split()) for heading, lines in parts.items()}


def _flat(text: str) -> str:
    return " ".join(text.split())
