"""A handful of rules and streams made by hand, so that extraction is tested without the shipped catalog."""

from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

from attribution.bundle.evidence import EvidenceStream, Segment, StreamKey, text_segment
from attribution.bundle.names import NodeNames
from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import Place
from attribution.contracts.vocabulary import Source
from attribution.extraction.clock import ClockRules
from attribution.extraction.flood import Limits
from attribution.extraction.ruleset import RuleSet, rule_set
from attribution.extraction.scanner import Scan, scan_stream
from attribution.rules.api import Finding, Match
from attribution.rules.model import Catalog, Extractor, RuleInfo

CONTEXT = ExecutionContext.model_validate({"workload_id": "toy", "nodes": [{"name": "node-01"}, {"name": "node-02"}]})
KEY = StreamKey(Source.APPLOG, "node-01", None, "app.log")
EVERYTHING = Limits(events_per_rule=1 << 30)


def keep_groups(symptom: str) -> Callable[[Match], Iterable[Finding]]:
    return lambda match: [Finding(symptom, dict(match.groups))]


def extractor(id: str, symptom: str, literals: Iterable[str], *patterns: str, **more: Any) -> Extractor:
    """A rule that keeps its groups, unless `find` says otherwise."""
    info = RuleInfo(id, id.lower(), "extractor", "stable", "0.1.0", "s", "w", "m", "n", Place("toy"))
    more.setdefault("find", keep_groups(symptom))
    return Extractor(info, (Source.APPLOG,), tuple(literals), patterns, (symptom,), **more)


RULES = (
    extractor("TOY001", "BOOM", ["boom: "], r"boom: (?P<what>\S+)"),
    extractor("TOY002", "TRACE", ["Traceback (most recent"], r"^Traceback \(most recent call last\):", traceback=True,
              find=lambda match: [Finding("TRACE", {"says": match.follow[-1]})] if match.follow else []),
    extractor("TOY003", "TRIPLE", ["ALERT begins"], "ALERT begins", follow_lines=2,
              follow_pattern=r"(?s)code=(?P<code>\d+).*unit=(?P<unit>\w+)"),
    extractor("TOY005", "STACK", ["STACK of "], "STACK of ", follow_lines=6),
    extractor("TOY004", "LOUD", ["fatal disaster"], r"(?i)fatal disaster (?P<what>\w+)"),
    extractor("TOY006", "STEP", ["toy step"], r"toy step (?P<step>\d+)", last=True),
)  # fmt: skip


def catalog_of(*rules: Extractor) -> Catalog:
    return Catalog("0", "0", {}, extractors=rules)


def rules_of(*rules: Extractor) -> RuleSet:
    return rule_set(catalog_of(*rules), Source.APPLOG)


TOYS = rules_of(*RULES)


def scan(
    body: bytes | str | Callable[[], BinaryIO],
    rules: RuleSet = TOYS,
    key: StreamKey = KEY,
    limits: Limits = EVERYTHING,
    clock: ClockRules | None = None,
) -> Scan:
    """What a scan of one stream of one segment finds."""
    segment = Segment(0, 0, body) if callable(body) else text_segment(body)
    stream = EvidenceStream(key, segments=(segment,))
    return scan_stream(stream, rules, clock or ClockRules.of(None, CONTEXT), NodeNames(CONTEXT.nodes), limits)
