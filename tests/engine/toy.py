"""A toy catalog and events made by hand, so that the engine is tested without the shipped rules."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attribution.bundle.evidence import Evidence, EvidenceStream, StreamKey, text_segment
from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.errors import Place
from attribution.contracts.vocabulary import Action, Role, Source, SubDomain, TerminalState
from attribution.diagnosis.engine import conclude
from attribution.events.event import Device, Event, event_id
from attribution.events.moment import SECOND, Basis, Moment
from attribution.events.symptom import SymptomType
from attribution.extraction.extract import Extraction, StreamReport
from attribution.extraction.ruleset import RuleSets
from attribution.extraction.windows import Tally
from attribution.rules.api import FilterStage, RefineStage
from attribution.rules.model import Catalog, Filter, Refiner, Relation, RuleInfo

EPOCH_US = 1_777_863_600 * SECOND
"""2026-05-04T03:00:00Z."""


def kind(name: str, role: Role = Role.CAUSE, **more: Any) -> SymptomType:
    fields: dict[str, Any] = {"sub_domain": SubDomain.GPU_HARDWARE, "actions": (Action.RESET_GPU,), "ends_job": "yes"}
    if role is not Role.CAUSE:
        fields = {"ends_job": "yes"}
    return SymptomType(name, role, f"a {name.lower()}", **{**fields, **more})


TYPES = {
    t.name: t
    for t in (
        kind("GPU_LOST", node_scoped=True, tags=("fault",)),
        kind("LINK_DOWN", node_scoped=True, sub_domain=SubDomain.NVLINK_FABRIC, tags=("fault",)),
        kind("BUG", sub_domain=SubDomain.USER_CODE, actions=(Action.FIX_USER_CODE,), tags=("fault",)),
        kind("WARNING", ends_job="sometimes", sub_domain=SubDomain.HOST_HARDWARE),
        kind("HARMLESS", ends_job="no", sub_domain=SubDomain.HOST_HARDWARE),
        kind("OOM", sub_domain=SubDomain.RESOURCE_LIMIT, terminal_state=TerminalState.OUT_OF_MEMORY),
        kind("TIME_LIMIT", sub_domain=SubDomain.SCHEDULER, terminal_state=TerminalState.TIMED_OUT),
        kind("CANCELLED", sub_domain=SubDomain.SCHEDULER, terminal_state=TerminalState.CANCELLED),
        kind("ECHO", Role.EFFECT, tags=("echo",)),
        kind("ABORT", Role.EFFECT, tags=("echo",)),
        kind("PEER_LOST", Role.EFFECT, tags=("collective_echo",)),
        kind("PROCESS_END", Role.EFFECT, tags=("process_end",)),
        kind("DONE", Role.CONTEXT, terminal_state=TerminalState.COMPLETED),
        kind("SAMPLED", Role.CONTEXT, terminal_state=TerminalState.RUNNING),
        kind("NOT_CREATED", Role.EFFECT, ends_job="sometimes", terminal_state=TerminalState.LAUNCH_FAILED),
        kind("NO_MACHINE", sub_domain=SubDomain.SCHEDULER, terminal_state=TerminalState.LAUNCH_FAILED),
        kind("NODE_LOST", sub_domain=SubDomain.SCHEDULER, terminal_state=TerminalState.NODE_FAILED),
    )
}


def info(id: str, kind_: str = "relation") -> RuleInfo:
    return RuleInfo(id, id.lower(), kind_, "stable", "0.1.0", "s", "w", "m", "n", Place("toy"))


def relation(
    id: str,
    causes: Sequence[str],
    effects: Sequence[str],
    scope: str = "job",
    order: str = "not_later",
    within: int | None = None,
) -> Relation:
    return Relation(
        info(id), tuple(causes), tuple(effects), scope, order, within and within * SECOND, "{cause} came first"
    )


def refiner(
    id: str, run: Callable[..., Any], stage: RefineStage = RefineStage.JOB, priority: int = 0, needs: Sequence[str] = ()
) -> Refiner:
    return Refiner(info(id, "refiner"), stage, tuple(needs), priority, run)


def event_filter(
    id: str,
    run: Callable[..., Any],
    stage: FilterStage = FilterStage.EARLY,
    needs: Sequence[str] = (),
    emits: Sequence[str] = (),
) -> Filter:
    return Filter(info(id, "filter"), stage, tuple(needs), tuple(emits), run)


ECHO_RELATION = relation("REL001", ["tag:fault"], ["tag:echo"])


def catalog(*rules: Relation | Refiner | Filter, types: Iterable[SymptomType] = TYPES.values()) -> Catalog:
    return Catalog(
        version="toy",
        digest="toy",
        symptoms={t.name: t for t in types},
        relations=tuple(r for r in rules if isinstance(r, Relation)),
        filters=tuple(r for r in rules if isinstance(r, Filter)),
        refiners=tuple(r for r in rules if isinstance(r, Refiner)),
    )


def event(
    symptom: str,
    node: str | None = "node-01",
    secs: float | None = 0.0,
    *,
    source: Source = Source.SYSLOG,
    rank: int | None = None,
    basis: Basis = Basis.UTC,
    stream: str | None = None,
    pci: str | None = None,
    offset: int = 0,
    **fields: str,
) -> Event:
    """One event of its own stream, unless `stream` says otherwise."""
    text = f"{symptom} {node} {secs} {rank} {pci} {offset} {sorted(fields.items())}"
    key = StreamKey(source, node, rank, stream or text)
    moment = None if secs is None else Moment(EPOCH_US + round(secs * SECOND), 1000, basis)
    device = Device.of("gpu", pci=pci) if pci else None
    return Event(
        event_id(key, text.encode(), 0), symptom, "TOY001", key, node, rank, moment, 1, offset, text,
        device=device, fields=tuple(sorted(fields.items())), discriminator=fields.get("key", ""),
    )  # fmt: skip


def conclude_toy(
    events: Iterable[Event],
    *rules: Relation | Refiner | Filter,
    context: dict[str, Any] | None = None,
    guesses: Iterable[str] = (),
    failures: dict[tuple[str, str], int] | None = None,
) -> Diagnosis:
    """The diagnosis of events that were extracted already; nodes of `guesses` have guessed names."""
    found = tuple(sorted(events, key=Event.sort_key))
    ran = {"started_at": "2026-05-04T03:00:00Z", "ended_at": "2026-05-04T04:00:00Z"}
    execution = ExecutionContext.model_validate({"workload_id": "toy", **ran, **(context or {})})
    streams = tuple(
        EvidenceStream(key, segments=(text_segment("x\n"),), node_is_guess=key.node in set(guesses))
        for key in sorted({e.key for e in found}, key=StreamKey.sort_key)
    )
    reports = tuple(StreamReport(s, s.status, None, Tally(bytes=2, lines=1)) for s in streams)
    extraction = Extraction(found, reports, failures or {})
    return conclude(Evidence(execution, streams), extraction, RuleSets(catalog(*rules)))
