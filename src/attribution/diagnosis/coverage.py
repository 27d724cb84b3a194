"""What was examined, and which causes could therefore not be tested."""

from collections.abc import Iterable, Sequence

from attribution.contracts.context import ExecutionContext
from attribution.contracts.coverage import CoverageLine, Gap
from attribution.contracts.diagnosis import Untestable
from attribution.contracts.vocabulary import Role, Source, Status, SubDomain
from attribution.diagnosis.refinement import Refinement
from attribution.events.event import Event
from attribution.extraction.extract import Extraction, StreamReport
from attribution.rules.model import Catalog, Extractor, MetricExtractor, Rule, emitted_by

_EXAMINED = frozenset({Status.OK, Status.PARTIAL})


def coverage(extraction: Extraction, out_of_window: Sequence[Event]) -> tuple[CoverageLine, ...]:
    """One line per stream, in the order of their keys."""
    outside: dict[object, int] = {}
    for event in out_of_window:
        outside[event.key] = outside.get(event.key, 0) + event.count
    return tuple(_line(report, outside.get(report.stream.key, 0)) for report in extraction.reports)


def _line(report: StreamReport, out_of_window: int) -> CoverageLine:
    stream, tally = report.stream, report.tally
    return CoverageLine(
        source=stream.key.source,
        node=stream.key.node,
        node_is_guess=stream.node_is_guess,
        rank=stream.key.rank,
        stream=stream.key.stream,
        status=report.status,
        reason=report.reason,
        lines=tally.lines,
        bytes=tally.bytes,
        first_at=report.first.instant() if report.first else None,
        last_at=report.last.instant() if report.last else None,
        gaps=_gaps(report),
        truncated=stream.truncated or tally.damage is not None,
        unreadable=tally.unreadable,
        long_lines=tally.long_lines,
        masked=report.masked,
        out_of_window=out_of_window,
    )


def _gaps(report: StreamReport) -> tuple[Gap, ...]:
    """Where bytes of the stream are missing; the size of an open file is not known, so only between segments."""
    gaps, end = [], 0
    for segment in report.stream.segments:
        if segment.offset > end:
            gaps.append(Gap(start=end, end=segment.offset))
        end = segment.offset + (segment.size or 0)
    return tuple(gaps)


def untestable(
    lines: Sequence[CoverageLine],
    context: ExecutionContext,
    catalog: Catalog,
    refinement: Refinement,
    extraction: Extraction,
) -> tuple[Untestable, ...]:
    """Causes that only a source could show that is missing, empty or refused; then rules that broke."""
    found: list[Untestable] = []
    for source in Source:
        rules = [rule for rule in catalog.rules if _home(rule) is source]
        only_here = _sub_domains(rules, catalog)
        if only_here:
            found += _missing(source, only_here, [line for line in lines if line.source is source], context)
    return (*found, *_broken(catalog, refinement, extraction))


def _missing(
    source: Source, sub_domains: tuple[SubDomain, ...], lines: Sequence[CoverageLine], context: ExecutionContext
) -> Iterable[Untestable]:
    if not lines:
        yield Untestable(sub_domains=sub_domains, source=source, reason="no source")
        return
    nodes = {node.name for node in context.nodes}
    examined = {line.node for line in lines if line.status in _EXAMINED}
    # A stream without a node, and the scheduler's record, speak of the whole job.
    whole = None in examined or (source is Source.SCHEDULER and bool(examined))
    refused: dict[str, set[str]] = {}
    for line in lines:
        if line.status not in _EXAMINED and line.node not in examined:
            reason = f"{line.status.value}: {line.reason}" if line.reason else line.status.value
            refused.setdefault(reason, set()).add(line.node or "")
    for reason, members in sorted(refused.items()):
        named = tuple(sorted(member for member in members if member))
        yield Untestable(sub_domains=sub_domains, source=source, nodes=named, reason=reason)
    silent = tuple(sorted(nodes - examined - {node for members in refused.values() for node in members}))
    if silent and not whole:
        yield Untestable(sub_domains=sub_domains, source=source, nodes=silent, reason="nothing was delivered")


def _broken(catalog: Catalog, refinement: Refinement, extraction: Extraction) -> Iterable[Untestable]:
    failures = {rule for rule, _ in extraction.failures} | {rule for rule, _ in refinement.failures}
    errors = dict([*sorted(extraction.failures), *refinement.failures])
    for rule_id in sorted(failures):
        rule = catalog.rule(rule_id)
        reason = f"rule {rule_id} broke: {errors[rule_id]}"
        yield Untestable(sub_domains=_sub_domains([rule], catalog) if rule else (), reason=reason)


def _home(rule: Rule) -> Source | None:
    """The source in which a rule's message is at home: the first that it names."""
    if isinstance(rule, Extractor):
        return rule.sources[0]
    if isinstance(rule, MetricExtractor):
        return rule.extract.sources[0]
    return None


def _sub_domains(rules: Iterable[Rule], catalog: Catalog) -> tuple[SubDomain, ...]:
    """The sub_domains of the causes that these rules can find, in the order of the vocabulary."""
    names = {name for rule in rules for name in emitted_by(rule)}
    kinds = [catalog.symptoms[name] for name in names if name in catalog.symptoms]
    found = {kind.sub_domain for kind in kinds if kind.role is Role.CAUSE and kind.sub_domain}
    return tuple(sub_domain for sub_domain in SubDomain if sub_domain in found)
