"""`attribution rules diff OLD NEW CORPUS`: which diagnoses of a corpus move when the rules change."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from attribution.bundle.reader import open_bundle
from attribution.cli.catalog import SHIPPED, check_folders, load_folders
from attribution.cli.corpus import corpus_at
from attribution.contracts.diagnosis import Cause, Diagnosis
from attribution.contracts.errors import AttributionError, EvidenceError, Place, Problem
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets
from attribution.presentation.columns import visible
from attribution.rules.model import Catalog, Rule

HELP = "tell which diagnoses of a corpus move when the rules change"
SHIPPED_WORD = "shipped"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the action."""
    said = (
        f"a folder of your own rules or one rule file, loaded beside the shipped ones, or `{SHIPPED_WORD}`: those alone"
    )
    parser.add_argument("old", metavar="OLD", help=said)
    parser.add_argument("new", metavar="NEW", help="the same, after the change")
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="an evidence bundle, or a folder of bundles")
    parser.add_argument(
        "--alone", action="store_true", help="OLD and NEW are whole catalogs, not to be loaded beside the shipped rules"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to write it (default: text)")
    parser.add_argument("--fail-on-change", action="store_true", help="exit with 1 if a diagnosis moved")


def run(options: argparse.Namespace) -> int:
    """Write the difference to stdout."""
    old, new = load_side(options.old, alone=options.alone), load_side(options.new, alone=options.alone)
    found = compare(old, new, options.corpus)
    if options.format == "json":
        print(json.dumps(asdict(found), indent=2))
    else:
        print("\n".join(text(found)))
    if not found.moved and not found.same:
        places = [Problem(Place(visible(f"{options.corpus}")), "C006", "holds no bundle that can be read", "see above")]
        raise EvidenceError(places)
    return 1 if options.fail_on_change and found.moved else 0


def load_side(word: str, *, alone: bool) -> RuleSets:
    """The rules that OLD or NEW stands for. `$ATTRIBUTION_RULES` is not asked: a comparison names both its sides."""
    if word == SHIPPED_WORD:
        return load_folders([SHIPPED])
    folder = Path(word)
    check_folders([folder], or_else=f", or `{SHIPPED_WORD}`")
    return load_folders([folder] if alone else [SHIPPED, folder])


# --- what differs -----------------------------------------------------------------------------------------------------

Answer = Mapping[str, tuple[str, ...]]
"""The parts of a diagnosis that are compared, each as its sorted values."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Names that are only in the new rules, only in the old ones, or in both with another content."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """A bundle whose diagnosis differs; for each part that does, the old and the new values."""

    bundle: str
    parts: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs. `unreadable` are bundles with the reason; `passed_over` are files that are no bundles."""

    old: str
    new: str
    rules: Changes
    symptoms: Changes
    moved: tuple[Moved, ...]
    same: tuple[str, ...]
    unreadable: Mapping[str, str]
    passed_over: tuple[str, ...]


def compare(old: RuleSets, new: RuleSets, corpus: Path) -> Difference:
    """What two sets of rules make of every bundle of a corpus."""
    found = corpus_at(corpus)
    moved: list[Moved] = []
    same: list[str] = []
    unreadable: dict[str, str] = {}
    for name, path in found.bundles:
        try:
            with open_bundle(path) as evidence:
                before, after = answer_of(diagnose(evidence, old)), answer_of(diagnose(evidence, new))
        except AttributionError as error:
            unreadable[name] = "; ".join(str(problem) for problem in error.problems)
            continue
        parts = {part: (before[part], after[part]) for part in before if before[part] != after[part]}
        if parts:
            moved.append(Moved(name, parts))
        else:
            same.append(name)
    return Difference(
        old=old.catalog.digest,
        new=new.catalog.digest,
        rules=_changes(_rule_contents(old.catalog), _rule_contents(new.catalog)),
        symptoms=_changes(_symptom_contents(old.catalog), _symptom_contents(new.catalog)),
        moved=tuple(moved),
        same=tuple(same),
        unreadable=unreadable,
        passed_over=found.passed_over,
    )


def answer_of(diagnosis: Diagnosis) -> Answer:
    """What is compared of a diagnosis."""
    return {
        "terminal_state": (diagnosis.terminal_state.value,),
        "sub_domain": (diagnosis.sub_domain.value,),
        "causes": tuple(sorted(_cause(cause) for cause in diagnosis.causes)),
        "affected_nodes": tuple(sorted(diagnosis.affected_nodes)),
        "exclude_nodes": tuple(sorted(diagnosis.exclude_nodes)),
    }


def _cause(cause: Cause) -> str:
    device = "".join(f" {name}={value}" for name, value in sorted(cause.device.ids.items())) if cause.device else ""
    return f"{cause.symptom} on {cause.node or 'no node'}{device} ({cause.confidence.value})"


def _rule_contents(catalog: Catalog) -> Mapping[str, bytes]:
    """Each rule by id and name, with the bytes of its file: one rule, one file."""
    return {f"{rule.info.id} {rule.info.name}": _content(rule) for rule in catalog.rules}


def _content(rule: Rule) -> bytes:
    return Path(rule.info.place.file).read_bytes()


def _symptom_contents(catalog: Catalog) -> Mapping[str, bytes]:
    return {name: repr(symptom).encode() for name, symptom in catalog.symptoms.items()}


def _changes(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Changes:
    return Changes(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(name for name in old.keys() & new.keys() if old[name] != new[name])),
    )


# --- as text ----------------------------------------------------------------------------------------------------------


def text(found: Difference) -> Iterator[str]:
    """The difference in lines."""
    yield from _changed("rules", found.rules)
    yield from _changed("symptoms", found.symptoms)
    total = len(found.moved) + len(found.same)
    yield f"diagnoses  {len(found.moved)} of {total} moved"
    for moved in found.moved:
        yield f"  {visible(moved.bundle)}"
        for part, (before, after) in moved.parts.items():
            yield from _part(part, before, after)
    for name, reason in found.unreadable.items():
        yield f"unreadable  {visible(name)}: {visible(reason)}"
    yield from (f"no bundle   {visible(name)}" for name in found.passed_over)


def _part(part: str, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """One line where single values differ, else a line for each that went or came."""
    if len(before) <= 1 and len(after) <= 1:
        old, new = (visible(values[0]) if values else "(none)" for values in (before, after))
        yield f"    {part:14} {old} -> {new}"
        return
    yield from (f"    {part:14} - {visible(value)}" for value in before if value not in after)
    yield from (f"    {part:14} + {visible(value)}" for value in after if value not in before)


def _changed(noun: str, changes: Changes) -> Iterator[str]:
    counts = f"{len(changes.added)} added, {len(changes.removed)} removed, {len(changes.changed)} changed"
    yield f"{noun:9}  {counts}"
    for mark, names in (("+", changes.added), ("-", changes.removed), ("~", changes.changed)):
        yield from (f"  {mark} {name}" for name in names)
