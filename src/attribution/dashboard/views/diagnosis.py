"""The diagnosis page in the order in which an operator asks: what, where, what now, how sure, on what evidence."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from attribution.contracts.context import ExecutionContext
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Confidence, SubDomain
from attribution.dashboard.views import states, tables
from attribution.dashboard.views.evidence import SHOWN_BLOCKS, FindingView, findings
from attribution.dashboard.views.states import Badge
from attribution.dashboard.views.tables import Table
from attribution.presentation import details, words
from attribution.presentation.answer import Answer
from attribution.presentation.facts import facts, gaps, steps

SHOWN_CONTEXT_NODES = 16
"""Nodes of the allocation that the page names."""

SHOWN_TRACE = 400
"""Lines of the trace that the page shows."""

_ASIDE = ("first failure", "impact", "device", "also seen", "harmless", "inferred")
"""Facts that say how it unfolded; the others have a place of their own on the page."""


@dataclass(frozen=True, slots=True)
class FactView:
    """A label and what it says, one text a line."""

    label: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One line of the trace; `depth` 1 is a stage, 2 a decision, 3 its reason."""

    depth: int
    text: str


@dataclass(frozen=True, slots=True)
class DiagnosisView:
    """Everything that the page shows, in its order. Texts are as logs have them: the template makes them harmless."""

    title: str
    attempt: str
    about: tuple[str, ...]
    badge: Badge
    verdict: str
    headline: str
    where: str
    steps: tuple[str, ...]
    would_decide: str
    exclude: str
    sure: str
    why: str
    facts: tuple[FactView, ...]
    findings: tuple[FindingView, ...]
    more_findings: int
    notes: tuple[str, ...]
    aside: Table[tables.GroupRow]
    noticed: Table[tables.GroupRow]
    alternatives: Table[tables.AlternativeRow]
    gaps: tuple[str, ...]
    untestable: Table[tables.UntestableRow]
    sources: Table[tables.SourceRow]
    streams: Table[tables.StreamRow]
    reports: Table[tables.ReportRow]
    trace: tuple[TraceLine, ...]
    more_trace: int
    identity: tuple[FactView, ...]


def diagnosis_view(result: AttributionBlueprintResult) -> DiagnosisView:
    """The page of one result."""
    answer = Answer(result.diagnosis)
    told = {fact.label: fact.texts for fact in facts(answer, everything=True)}
    trace = [TraceLine(depth, text) for depth, text in details.trace(answer)]
    blocks = len(answer.blocks(everything=True))
    return DiagnosisView(
        title=f"{answer.state}: {answer.verdict}",
        attempt=answer.attempt,
        about=tuple(_about(result.context)),
        badge=states.state(result.diagnosis.terminal_state),
        verdict=answer.verdict,
        headline=_headline(answer),
        where=_where(answer),
        steps=tuple(words.sentence(step) for step in steps(answer)),
        would_decide=" ".join(told.get("would decide", ())),
        exclude=" ".join(told.get("exclude", ())),
        sure=_sure(answer),
        why=" ".join(told.get("why", ())),
        facts=tuple(FactView(words.sentence(label), told[label]) for label in _ASIDE if label in told),
        findings=findings(answer),
        more_findings=max(0, blocks - SHOWN_BLOCKS),
        notes=tuple(words.sentence(note) for note in result.diagnosis.notes[: tables.SHOWN_ROWS]),
        aside=tables.aside_rows(answer),
        noticed=tables.noticed_rows(answer),
        alternatives=tables.alternative_rows(answer),
        gaps=tuple(gaps(answer)[: tables.SHOWN_ROWS]),
        untestable=tables.untestable_rows(answer),
        sources=tables.source_rows(answer),
        streams=tables.stream_rows(answer),
        reports=tables.report_rows(result.connector_reports),
        trace=tuple(trace[:SHOWN_TRACE]),
        more_trace=max(0, len(trace) - SHOWN_TRACE),
        identity=tuple(FactView(label, (text,)) for label, text in _identity(result) if text),
    )


# --- the headline -------------------------------------------------------------------------------------------------


def _headline(answer: Answer) -> str:
    """What is to blame, in one sentence without its place, which stands beside it."""
    if answer.diagnosis.sub_domain is SubDomain.NONE:
        return answer.diagnosis.summary
    kinds = list(dict.fromkeys(cause.meaning for cause in answer.causes))
    if kinds:
        joined = "or" if answer.diagnosis.sub_domain is SubDomain.AMBIGUOUS else "and"
        return words.sentence(words.listed(kinds, 3, joined))
    return answer.unsaid or answer.diagnosis.summary


def _where(answer: Answer) -> str:
    """The place of the cause; the places of all that fit, where it is not known which of them it is."""
    if answer.diagnosis.sub_domain is not SubDomain.AMBIGUOUS:
        return answer.where
    places = dict.fromkeys(answer.place(cause) for cause in answer.causes)
    return words.listed([place for place in places if place], 3, "or")


def _sure(answer: Answer) -> str:
    """How the named cause stands among the others. Never a percentage: the rules prove it or they do not."""
    diagnosis = answer.diagnosis
    if diagnosis.sub_domain is SubDomain.NONE:
        return ""
    if not answer.causes:
        return "No cause is named: only what followed from one was seen."
    if diagnosis.sub_domain is SubDomain.AMBIGUOUS:
        return f"Not sure: {words.counted(len(answer.causes), 'cause')} fit the evidence equally well."
    if answer.rivals:
        return f"The earliest that ends jobs, of {words.counted(len(diagnosis.causes), 'cause')} in a proven order."
    if answer.causes[0].confidence is Confidence.COMPOUND:
        return f"{words.counted(len(answer.causes), 'cause')} of one kind; no cause of another kind is left."
    return "One cause is left."


def _about(context: ExecutionContext) -> Iterator[str]:
    """What the attempt was, in a few words each."""
    yield from (part for part in (context.name, context.user and f"user {context.user}") if part)
    if context.cluster:
        yield f"cluster {context.cluster}"
    if context.nodes:
        yield words.counted(len(context.nodes), "node")
    if context.nranks:
        yield words.counted(context.nranks, "rank")
    if context.ended_at:
        yield f"ended {stamp(context.ended_at)}"
    elif context.started_at:
        yield f"started {stamp(context.started_at)}"


def stamp(at: datetime) -> str:
    """A time of the scheduler, to the second: `2026-05-04 03:07:41Z`."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds") + "Z"


# --- identity -----------------------------------------------------------------------------------------------------


def _identity(result: AttributionBlueprintResult) -> Iterator[tuple[str, str]]:
    context, diagnosis = result.context, result.diagnosis
    yield "Workload", diagnosis.workload_id
    yield "Attempt", str(diagnosis.attempt)
    yield "Previous attempts", words.listed(context.previous_attempts, SHOWN_CONTEXT_NODES)
    yield "Name", context.name or ""
    yield "User", context.user or ""
    yield "Cluster", context.cluster or ""
    yield "Tenant", context.tenant or ""
    yield "Scheduler", " ".join(_scheduler(context))
    yield "Submitted", stamp(context.submitted_at) if context.submitted_at else ""
    yield "Started", stamp(context.started_at) if context.started_at else ""
    yield "Ended", stamp(context.ended_at) if context.ended_at else ""
    yield "Scheduler's state", _ended(context)
    yield "Framework", context.framework or ""
    yield "Launch command", context.launch_command or ""
    yield "Nodes", words.listed([node.name for node in context.nodes], SHOWN_CONTEXT_NODES)
    yield "Ranks", f"{context.nranks:,}" if context.nranks else ""
    yield "Read off the evidence", words.listed(context.inferred, SHOWN_CONTEXT_NODES)
    yield "Scope incomplete", context.partial or ""
    yield "Catalog", f"{diagnosis.catalog.version}, digest {diagnosis.catalog.digest}"
    yield "Input digest", diagnosis.input_digest
    yield "Schema version", result.schema_version


def _scheduler(context: ExecutionContext) -> Iterator[str]:
    yield context.scheduler.value
    if context.scheduler_ids:
        yield "(" + ", ".join(f"{name} {value}" for name, value in sorted(context.scheduler_ids.items())) + ")"


def _ended(context: ExecutionContext) -> str:
    parts = (
        context.scheduler_state,
        f"exit code {context.exit_code}" if context.exit_code is not None else None,
        f"signal {context.signal}" if context.signal is not None else None,
        context.reason and f"reason {context.reason}",
    )
    return ", ".join(part for part in parts if part)
