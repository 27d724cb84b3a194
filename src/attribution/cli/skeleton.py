"""A skeleton is the rule file that one pasted log line asks for, with what only a person knows left empty."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from attribution.contracts.vocabulary import Role, Source
from attribution.events.symptom import SymptomType
from attribution.extraction.clock import ClockRules
from attribution.extraction.envelopes import unwrap
from attribution.extraction.gate import noise
from attribution.extraction.lines import Line, peel
from attribution.extraction.masking import mask
from attribution.extraction.windows import clean
from attribution.rules.notation import Fact
from attribution.rules.patterns import compile_pattern

MAX_LINE = 4096
"""Characters of a line that a rule may be made from: a pattern of all of a longer one would not be cheap to search."""

MIN_LITERAL = 5
"""Characters of the shortest text that can gate a rule."""

_HOST = (
    r"(?:[a-z]{1,12}[0-9]{0,4}-)*(?:node|gpu|host|compute|worker|dgx|hgx|login|rack|n|c|r)-?[0-9]{1,6}"
    r"(?:\.[a-z][\w-]*)*"
)
_VARIABLE = re.compile(
    r"""(?P<url>\b[a-z][a-z0-9+]{1,9}://[^\s'"<>]+)
    |(?P<quoted>(?<=")[^"]*(?=")|(?<=')[^']*(?='))
    |(?P<path>(?<![\w/.])/[^\s:,;'"()\[\]=]+)
    |(?P<uuid>\b(?:GPU-|MIG-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)
    |(?P<pci>\b(?:[0-9a-f]{4,8}:)[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?\b)
    |(?P<address>\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]{1,5})?\b)
    |(?P<host>\b"""
    + _HOST
    + r"""\b)
    |(?P<device>\b(?:mlx[0-9]_[0-9]+|hsn[0-9]+|ib[0-9]{1,2}|bond[0-9]{1,2}|eth[0-9]{1,2}|nvme[0-9]+n[0-9]+)\b)
    |(?P<hex>\b0x[0-9a-f]+\b)
    |(?P<decimal>(?<![\w.])-?[0-9]+\.[0-9]+(?![\w.]*[0-9.]))
    |(?P<number>(?<![\w.])-?[0-9]+(?![\w]))""",
    re.IGNORECASE | re.VERBOSE,
)
_SHAPES = {
    "url": r"\S+",
    "path": r"/[^\s:,;'\"()]+",
    "uuid": r"[\w-]{36,40}",
    "pci": r"[0-9a-fA-F:.]{7,16}",
    "address": r"[0-9.]{7,15}(?::\d+)?",
    "host": r"[\w.-]+",
    "device": r"\w+",
    "hex": r"0x[0-9a-fA-F]+",
    "decimal": r"-?\d+(?:\.\d+)?",
    "number": r"-?\d+",
}
_SELF_NAMED = {"url", "path", "uuid", "pci", "address", "host", "device"}
_NAME_BEFORE = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,23})(?:\[| ?[=:] ?| (?:is |of )?|\()['\"]?$")
_NO_NAMES = frozenset({"a", "after", "an", "and", "are", "as", "at", "by", "for", "from", "in", "is", "no", "not", "of",
    "on", "or", "than", "the", "to", "with"})  # fmt: skip
_EDGES = " \t\"'()[]<>&,"
"""Characters that say nothing at the edge of a literal, or that envelopes write in another way."""

_STAMP = "2026-01-01T00:00:00.000+00:00 "
_PROGRAM = re.compile(r"^([A-Za-z][\w.-]{1,31}): ")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the line: a constant text, or a variable with the group it becomes and the shape it has."""

    text: str
    group: str = ""
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What a line says about the rule for it."""

    message: str
    parts: tuple[Part, ...]
    literal: str
    pattern: str
    program: str | None

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(part.group for part in self.parts if part.group)


def skeleton_of(line: str) -> Skeleton | None:
    """The skeleton for a line as it was pasted, secrets masked; None where no text of it could gate a rule."""
    told = _told(mask(clean(line.encode("utf-8", "replace")).decode("utf-8"))[0].strip())
    if not told.message.replace("\t", " ").isprintable():
        return None  # no YAML file can hold it as it stands
    message, header = _under_a_stamp(told.message)
    parts = tuple(_parts(message))
    literal = _rarest(part.text for part in parts if not part.group)
    if literal is None:
        return None
    start = f"^(?:{_escaped(header)})?" if header else "^"
    pattern = start + "".join(f"(?P<{p.group}>{p.shape})" if p.group else _escaped(p.text) for p in parts)
    program = told.program or (found[1] if (found := _PROGRAM.match(message)) else None)
    return Skeleton(message, parts, literal, pattern, program)


def _told(line: str) -> Line:
    """The line without its prefixes; of a record in JSON the text inside it, as the scanner hands it to rules."""
    inner = unwrap(line, ClockRules())
    return inner[0] if inner else peel(line, ClockRules())


def _under_a_stamp(message: str) -> tuple[str, str]:
    """The message as it reads behind a time stamp, and what is then taken for a log header before it."""
    inner = message
    while (deeper := peel(_STAMP + inner, ClockRules()).message) != inner and inner.endswith(deeper):
        inner = deeper
    return inner, message[: len(message) - len(inner)]


def _parts(message: str) -> Iterator[Part]:
    end = 0
    taken: set[str] = set()
    for match in _VARIABLE.finditer(message):
        if not match[0]:
            continue
        kind = match.lastgroup or ""
        before = message[end : match.start()]
        if before:
            yield Part(before)
        quote = message[match.start() - 1]
        shape = f"[^{quote}]*" if kind == "quoted" else _SHAPES[kind]
        yield Part(match[0], _group(kind, before, taken), shape)
        end = match.end()
    if end < len(message):
        yield Part(message[end:])


def _group(kind: str, before: str, taken: set[str]) -> str:
    """A name for a variable: what it is, or the word that stands before it."""
    named = _NAME_BEFORE.search(before)
    word = named[1].lower() if named and named[1].lower() not in _NO_NAMES else ""
    base = kind if kind in _SELF_NAMED else word or {"hex": "code", "quoted": "name"}.get(kind, "number")
    name = next(n for i in range(1, len(taken) + 2) if (n := base if i == 1 else f"{base}_{i}") not in taken)
    taken.add(name)
    return name


def _rarest(texts: Iterable[str]) -> str | None:
    """The constant text that ordinary logs hold least often; of several alike the longest, then the first."""
    sample = noise()
    usable = [bare for text in texts if len(bare := text.strip(_EDGES)) >= MIN_LITERAL]
    return min(usable, key=lambda text: (sample.count(text.encode()), -len(text)), default=None)


def _escaped(text: str) -> str:
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def text_of(
    found: Skeleton,
    *,
    rule_id: str,
    name: str,
    since: str,
    source: Source,
    symptom: str,
    known: SymptomType | None,
) -> str:
    """The YAML file. `known` is the symptom's entry, if there is one; else the file defines it."""
    program = f" {_quoted(found.program)}" if found.program else "   # which program prints it"
    keep = f", keep: [{', '.join(found.groups)}]" if found.groups else ""
    expected = Fact("node-01", None, 0, symptom, None, tuple(sorted(_fields(found).items())))
    lines = [
        f"id: {rule_id}",
        f"name: {name}",
        "status: preview",
        f"since: {since}",
        "summary:   # what was found, in one sentence",
        "why:       # why that matters",
        "misses:    # what it does not see",
        "next_step: # what to do about it",
        "printed_by:",
        f"  program:{program}",
        "  versions: # which versions print it so, such as '>=2.0', or any",
        "  source:   # where the shape of the message is known from",
        "extract:",
        f"  from: {source.value}",
        f"  literals: [{_quoted(found.literal)}]",
        f"  pattern: {_quoted(found.pattern)}",
        f"emit: {{symptom: {symptom}{keep}}}",
        *([] if known else _symptom()),
        "cases:",
        "  - name: as it was seen",
        "    given: |",
        f"      node-01 +0.0s {source.value} | {found.message}",
        "    expect: |",
        f"      {expected.text(with_time=True)}",
        "  - name:    # a line that looks alike and must not fire",
        "    because: # why it must not",
        "    given: |",
        f"      node-01 +0.0s {source.value} | a line that only mentions it: {found.literal}",
        "    expect: none",
    ]
    return "\n".join(lines) + "\n"


def _symptom() -> Iterator[str]:
    roles = ", ".join(role.value for role in Role)
    yield "symptom:"
    yield f"  role: cause # {roles}: only a cause can be a root"
    yield "  meaning:    # in words that go on with 'the cause is ...'"
    yield "  sub_domain: # where it lies, such as container_runtime; only of a cause"
    yield "  actions:    # what to do, such as [raise_limit]"
    yield "  ends_job: usually # yes, usually, sometimes or no"


def _fields(found: Skeleton) -> dict[str, str]:
    """What the pattern reads from its own line."""
    match = compile_pattern(found.pattern).search(found.message)
    # a case has no way to write a quote within a value; what it leaves out is not compared
    return {name: match[name] for name in found.groups if '"' not in match[name]} if match else {}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
