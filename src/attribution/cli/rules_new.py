"""`attribution rules new`: a rule file made from one pasted log line, to be filled in and checked."""

import argparse
import contextlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import attribution
from attribution.cli.catalog import SHIPPED, load_rules
from attribution.cli.families import FAMILY, family_named, family_of, folder_of, next_id
from attribution.cli.skeleton import MAX_LINE, Skeleton, skeleton_of, text_of
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.contracts.vocabulary import METRIC_SOURCES, Source
from attribution.rules.model import Catalog
from attribution.rules.schema import RULE_ID, RULE_NAME, SYMPTOM_NAME

HELP = "write the file of a new rule, made from one log line"
SOURCES = [s.value for s in Source if s not in METRIC_SOURCES and s is not Source.FLIGHT_RECORDER]

_ID_IN_FILE = re.compile(rf"""^\s*id\s*[:=]\s*["']?({RULE_ID.strip("^$")})\b""", re.MULTILINE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the action."""
    parser.add_argument(
        "--from", dest="line", required=True, metavar="LINE", help="the log line; `-` reads it from stdin"
    )
    parser.add_argument("--family", required=True, metavar="NAME", help="letters of the id, such as PYX or pyxis")
    parser.add_argument(
        "--symptom", required=True, metavar="NAME", help="what it emits; a new one is defined in the file"
    )
    parser.add_argument("--name", help="kebab-case name of the rule (default: the symptom's)")
    parser.add_argument("--source", choices=SOURCES, default="applog", help="where such lines stand (default: applog)")
    parser.add_argument(
        "--rules", type=Path, metavar="DIR", help="write the file into this folder of rules (default: to stdout)"
    )


def run(options: argparse.Namespace) -> int:
    """Write the rule file, and say what to do next."""
    found, symptom = _understood(options)
    catalog = _catalog(options.rules)
    family = _family(catalog, options.family)
    if family != options.family.upper():
        print(f"`{options.family}` is taken for the family {family}", file=sys.stderr)
    name = options.name or _name(catalog, symptom)
    text = text_of(
        found,
        rule_id=_id(catalog, family, options.rules),
        name=name,
        since=attribution.__version__,
        source=Source(options.source),
        symptom=symptom,
        known=catalog.symptoms.get(symptom),
    )
    if options.rules is None:
        print(text, end="")
        return 0
    path = options.rules / f"{name.replace('-', '_')}.yaml"
    _write(path, text)
    print(f"{path.as_posix()} is written. Fill in what is empty, then run:")
    print(f"  attribution rules check {options.rules.as_posix()}")
    return 0


def _catalog(folder: Path | None) -> Catalog:
    """The rules that the new one stands beside; without its own folder while that holds unfinished files."""
    if folder is not None and folder.is_dir():
        with contextlib.suppress(ConfigurationError):
            return load_rules([folder]).catalog
    return load_rules().catalog


def _understood(options: argparse.Namespace) -> tuple[Skeleton, str]:
    """The skeleton and the symptom. Raises ConfigurationError with all that is wrong with what was given."""
    line = sys.stdin.read() if options.line == "-" else options.line
    symptom = options.symptom.upper().replace("-", "_")
    problems = []
    found = None
    if options.rules and options.rules.exists() and not options.rules.is_dir():
        remedy = "give a folder: the file in it gets the name of the rule"
        problems.append(Problem(Place(f"--rules: {options.rules}"), "C001", "is no folder", remedy))
    if len(line) > MAX_LINE:
        message = f"holds {len(line):,} characters, more than {MAX_LINE:,}"
        problems.append(Problem(Place("--from"), "C004", message, "give the part of the line that decides"))
    elif (count := len(line.strip().splitlines())) != 1:
        problems.append(Problem(Place("--from"), "C004", f"holds {count} lines", "give the one line that decides"))
    elif not (found := skeleton_of(line)):
        remedy = "give a line with words of its own"
        problems.append(Problem(Place("--from"), "C004", "is a line without any text that could gate a rule", remedy))
    if not re.search(SYMPTOM_NAME, symptom):
        remedy = "capital letters, digits and `_`, such as IMAGE_QUOTA"
        problems.append(Problem(Place("--symptom"), "C004", f"`{options.symptom}` is no name of a symptom", remedy))
    if len(family_named(options.family, ())) < 2 or not FAMILY.fullmatch(options.family):
        remedy = "two letters or more, such as PYX"
        problems.append(Problem(Place("--family"), "C004", f"`{options.family}` is no name of a family", remedy))
    if options.name and not re.search(RULE_NAME, options.name):
        remedy = "kebab-case, such as image-quota-used-up"
        problems.append(Problem(Place("--name"), "C004", f"`{options.name}` is no name of a rule", remedy))
    if problems or found is None:
        raise ConfigurationError(problems)
    return found, symptom


def _name(catalog: Catalog, symptom: str) -> str:
    base = symptom.lower().replace("_", "-").strip("-")
    names = (base if number == 1 else f"{base}-{number}" for number in range(1, 1000))
    return next(name for name in names if catalog.rule(name) is None)


def _id(catalog: Catalog, family: str, folder: Path | None) -> str:
    """The next free id: among the operators' numbers, unless the file goes into the shipped catalog.

    Raises ConfigurationError for a family without a free number.
    """
    own = folder is None or not folder.resolve().is_relative_to(SHIPPED.resolve())
    taken = [*(rule.info.id for rule in catalog.rules), *catalog.retired, *_ids_in(folder)]
    free = next_id(family, taken, own=own)
    if free is None:
        message = f"`{family}` has no free number left"
        raise ConfigurationError([Problem(Place("--family"), "C004", message, "take another family")])
    return free


def _family(catalog: Catalog, word: str) -> str:
    """The family that a word stands for; of a folder's name the one that most of its rules belong to."""
    in_folder = Counter(family_of(rule) for rule in catalog.rules if folder_of(rule) == word.lower())
    if in_folder:
        return max(sorted(in_folder), key=lambda name: in_folder[name])
    return family_named(word, sorted({family_of(rule) for rule in catalog.rules}))


def _ids_in(folder: Path | None) -> Iterator[str]:
    """The ids that the files of a folder claim. They are read as text, since some may be unfinished."""
    files: Sequence[Path] = sorted(folder.rglob("*")) if folder and folder.is_dir() else ()
    for path in files:
        if path.suffix in {".yaml", ".py"} and path.is_file():
            yield from _ID_IN_FILE.findall(path.read_text(encoding="utf-8", errors="replace"))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        problem = Problem(Place(path.as_posix()), "C005", "exists already", "give another --name, or remove the file")
        raise ConfigurationError([problem]) from error
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        raise ConfigurationError([Problem(Place(path.as_posix()), "C005", message)]) from error
