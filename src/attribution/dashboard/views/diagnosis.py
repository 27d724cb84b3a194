"""The diagnosis page in the order in which an operator asks: what, where, what now, how sure, on what evidence."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Cause
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Confidence, SubDomain
from attribution.dashboard.views import links, moments, states, tables
from attribution.dashboard.views.decision import Branch, decision_tree
from attribution.dashboard.views.evidence import SHOWN_BLOCKS, FindingView, findings
from attribution.dashboard.views.seen import SeenRow
from attribution.dashboard.views.spans import of_attempt
from attribution.dashboard.views.states import Badge
from attribution.dashboard.views.steps import Step, steps
from attribution.dashboard.views.strips import Strip, strips
from attribution.dashboard.views.tables import Table
from attribution.dashboard.views.timeline import Timeline, timeline
from attribution.presentation import words
from attribution.presentation.answer import Answer
from attribution.presentation.columns import clip
from attribution.presentation.facts import facts, gaps, out_of_time
from attribution.presentation.facts import steps as next_steps
from attribution.store.units import Pcis, place_of, units

SHOWN_CONTEXT_NODES = 16
"""Nodes of the allocation that the page names."""

SHOWN_PLACES = 3
"""Places that the headline names one by one."""

SHOWN_GAPS = 3
"""What was not examined, as the headline tells it; the section has the rest."""

_NAME_COLUMNS, _ABOUT_COLUMNS = 160, 60

_ASIDE = ("first failure", "impact", "device", "also seen", "harmless", "inferred")
"""Facts that say how it unfolded; the others have a place of their own on the page."""


@dataclass(frozen=True, slots=True)
class FactView:
    """A label and what it says, one text a line."""

    label: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a place, such as a node or a GPU: its `name`, and what stands around that.

    `copied` says that a command wants the name: it gets a button.
    """

    lead: str
    name: str
    tail: str
    href: str
    copied: bool


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of the decision in one line."""

    number: int
    title: str
    lead: str


@dataclass(frozen=True, slots=True)
class DiagnosisView:
    """Everything that the page shows, in its order. Texts are as logs have them: the template makes them harmless."""

    title: str
    attempt: str
    about: tuple[str, ...]
    badge: Badge
    verdict: str
    headline: str
    key: str
    where: tuple[tuple[Part, ...], ...]
    joined: str
    more_places: int
    steps: tuple[str, ...]
    would_decide: str
    exclude: str
    sure: str
    why: tuple[str, ...]
    unexamined: tuple[str, ...]
    more_unexamined: int
    seen: tuple[SeenRow, ...]
    timeline: Timeline | None
    strips: tuple[Strip, ...]
    more_strips: int
    facts: tuple[FactView, ...]
    findings: tuple[FindingView, ...]
    more_findings: int
    notes: tuple[str, ...]
    aside: Table[tables.GroupRow]
    out_of_time: str
    noticed: Table[tables.GroupRow]
    alternatives: Table[tables.AlternativeRow]
    gaps: tuple[str, ...]
    untestable: Table[tables.UntestableRow]
    sources: Table[tables.SourceRow]
    streams: Table[tables.StreamRow]
    reports: Table[tables.ReportRow]
    phases: tuple[Phase, ...]
    branches: tuple[Branch, ...]
    identity: tuple[FactView, ...]


def diagnosis_view(
    result: AttributionBlueprintResult, key: str, seen: tuple[SeenRow, ...] = (), now: datetime | None = None
) -> DiagnosisView:
    """The page of one result; `key` is its name in addresses, `seen` what was seen before."""

    def href(item: str) -> str:
        return links.evidence(key, item)

    answer = Answer(result.diagnosis)
    told = {fact.label: fact.texts for fact in facts(answer, everything=True)}
    drawn = timeline(result, href)
    shown, more_strips = strips(result, drawn.scale, href) if drawn else ((), 0)
    places = _places(answer, Pcis(result.context), _history(result.context, now))
    not_seen = gaps(answer)
    blocks = len(answer.blocks(everything=True))
    return DiagnosisView(
        title=f"{answer.state}: {answer.verdict}",
        attempt=f"{clip(result.diagnosis.workload_id, _NAME_COLUMNS)}, attempt {result.diagnosis.attempt}",
        about=tuple(_about(result.context)),
        badge=states.state(result.diagnosis.terminal_state),
        verdict=answer.verdict,
        headline=_headline(answer),
        key=key,
        where=tuple(places[:SHOWN_PLACES]),
        joined="or" if result.diagnosis.sub_domain is SubDomain.AMBIGUOUS else "and",
        more_places=max(0, len(places) - SHOWN_PLACES),
        steps=tuple(words.sentence(step) for step in next_steps(answer)),
        would_decide=" ".join(told.get("would decide", ())),
        exclude=" ".join(told.get("exclude", ())),
        sure=_sure(answer),
        why=tuple(_why(answer)),
        unexamined=tuple(not_seen[:SHOWN_GAPS]),
        more_unexamined=max(0, len(not_seen) - SHOWN_GAPS),
        seen=seen,
        timeline=drawn,
        strips=shown,
        more_strips=more_strips,
        facts=tuple(FactView(words.sentence(label), told[label]) for label in _ASIDE if label in told),
        findings=findings(answer, href),
        more_findings=max(0, blocks - SHOWN_BLOCKS),
        notes=tuple(words.sentence(note) for note in result.diagnosis.notes[: tables.SHOWN_ROWS]),
        aside=tables.aside_rows(answer, href),
        out_of_time=out_of_time(answer),
        noticed=tables.noticed_rows(answer, href),
        alternatives=tables.alternative_rows(answer, href),
        gaps=tuple(not_seen[: tables.SHOWN_ROWS]),
        untestable=tables.untestable_rows(answer),
        sources=tables.source_rows(answer),
        streams=tables.stream_rows(answer),
        reports=tables.report_rows(result.connector_reports),
        phases=tuple(_phase(step) for step in steps(result, key, most=0)),
        branches=decision_tree(answer),
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


def lead_causes(answer: Answer) -> tuple[Cause, ...]:
    """The cause that counts first; the first few of those that fit, where it is not known which of them it is."""
    if answer.diagnosis.sub_domain is SubDomain.NONE:
        return ()
    return answer.causes[: SHOWN_PLACES if answer.diagnosis.sub_domain is SubDomain.AMBIGUOUS else 1]


def _history(context: ExecutionContext, now: datetime | None) -> dict[str, str]:
    """The keys by which the history of a node has this attempt."""
    at = context.ended_at or context.started_at or context.submitted_at or now
    return of_attempt(context.cluster, at, now or at) if at else {"cluster": context.cluster or ""}


def _places(answer: Answer, pcis: Pcis, keys: Mapping[str, str]) -> list[tuple[Part, ...]]:
    """The places of the causes in parts that can be copied; of many, their nodes."""
    if answer.diagnosis.sub_domain is SubDomain.NONE:
        return []
    if answer.diagnosis.sub_domain is SubDomain.AMBIGUOUS or len(answer.causes) == 1:
        return list(
            dict.fromkeys(place for cause in answer.causes if (place := tuple(_parts(answer, cause, pcis, keys))))
        )
    names = words.natural(cause.node for cause in answer.causes if cause.node)
    return [(_node(answer, name, keys),) for name in names]


def _parts(answer: Answer, cause: Cause, pcis: Pcis, keys: Mapping[str, str]) -> Iterator[Part]:
    if cause.node:
        yield _node(answer, cause.node, keys)
    if cause.device:
        known = units(cause.device, cause.node, pcis)
        pieces = words.device(cause.device).split(" · ")
        for place, piece in enumerate(pieces):
            lead, _, name = piece.strip().rpartition(" ")
            unit = known[min(place, len(known) - 1)] if known else ""
            href = links.unit(place_of(cause.device, cause.node), unit, **keys) if unit else ""
            yield Part(f"{clip(lead, _NAME_COLUMNS)} " if lead else "", clip(name, _NAME_COLUMNS), "", href, place == 0)
    if cause.rank is not None:
        ranks = answer.ranks(cause)
        yield Part("rank ", str(cause.rank), f" and {ranks - 1:,} more" if ranks > 1 else "", "", False)


def _node(answer: Answer, name: str, keys: Mapping[str, str]) -> Part:
    marked = answer.node(name)
    return Part("", clip(name, _NAME_COLUMNS), marked[len(name) :], links.node(name, **keys), True)


def _phase(step: Step) -> Phase:
    return Phase(step.number, step.title, step.lead)


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
        place = words.SUB_DOMAINS[diagnosis.sub_domain]
        counted = words.counted(len(answer.causes), "cause")
        return f"{counted}, all of one sub-domain ({place}); none of another is left."
    return "One cause is left."


def _why(answer: Answer) -> Iterator[str]:
    """Why the cause that counts first is held to be it; of several that fit, each says which of them is meant."""
    causes = lead_causes(answer)
    for cause in causes:
        place = answer.where_of(cause.node, cause.device, None)
        which = words.sentence(cause.meaning) + (f" on {place}" if place else "")
        yield f"{which}: {cause.why}" if len(causes) > 1 else cause.why


def _about(context: ExecutionContext) -> Iterator[str]:
    """What the attempt was, in a few words each."""
    named = ("", context.name), ("user ", context.user), ("cluster ", context.cluster)
    yield from (kind + clip(name, _ABOUT_COLUMNS) for kind, name in named if name)
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
    return f"{moments.second(at)}Z"


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
