"""A store that looks like months of a large fleet: made up from a seed, in bulk, its rows shaped as by a run."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert

from attribution.contracts.context import ExecutionContext, Gpu, Node
from attribution.contracts.diagnosis import (
    CatalogIdentity,
    Cause,
    DemotedBy,
    Device,
    Diagnosis,
    Evidence,
    FirstFailure,
    Impact,
    Symptom,
)
from attribution.contracts.result import AttributionBlueprintResult, ConnectorReport
from attribution.contracts.vocabulary import (
    Confidence,
    DeviceKind,
    Role,
    Scheduler,
    Source,
    Status,
    SubDomain,
    SymptomStatus,
    TerminalState,
    domain_of,
)
from attribution.store import days, schema
from attribution.store.database import Store
from attribution.store.results import Pieces, pieces_of
from attribution.store.statements import insert_rows

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
DAYS = 90
CATALOG = CatalogIdentity(version="0.1.0", digest="c" * 32)
NODES = [f"gpu-{n:04}" for n in range(2048)]
HOT = NODES[::34]
CLUSTERS = {"ams-1": NODES[:1024], "osl-2": NODES[1024:1536], "osl-3": NODES[1536:]}
USERS = [f"user{n:02}" for n in range(20)]
WORK, MODELS = ("pretrain", "finetune", "eval", "rlhf"), ("7b", "70b", "moe-8x22b")
SIZES = ((1, 40), (2, 15), (4, 13), (8, 12), (16, 8), (32, 5), (64, 3), (128, 2), (256, 1), (512, 0.6), (1024, 0.4))
PCI = [f"0000:{bus:02x}:00" for bus in (0x1B, 0x3B, 0x4C, 0x5D, 0x9B, 0xBB, 0xCB, 0xDB)]


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the things that go wrong."""

    symptom: str
    meaning: str
    sub_domain: SubDomain
    weight: float
    device: DeviceKind | None = None


def _kind(symptom: str, meaning: str, place: str, weight: float, device: str = "") -> Kind:
    return Kind(symptom, meaning, SubDomain(place), weight, DeviceKind(device) if device else None)


KINDS = (
    _kind("XID_79", "a GPU fell off the bus", "gpu_hardware", 5, "gpu"),
    _kind("XID_48", "uncorrectable memory error of a GPU", "gpu_hardware", 5, "gpu"),
    _kind("XID_94", "contained memory error of a GPU", "gpu_hardware", 4, "gpu"),
    _kind("XID_119", "the GPU's firmware did not answer", "gpu_driver", 4, "gpu"),
    _kind("NVLINK_SIGNAL_INTEGRITY", "NVLink signal integrity", "nvlink_fabric", 5, "nvlink"),
    _kind("NVSWITCH_FATAL", "fatal error of a switch", "nvlink_fabric", 1, "nvswitch"),
    _kind("IB_LINK_DOWN", "an InfiniBand link went down", "network_fabric", 5, "nic"),
    _kind("SWITCH_PORT_FLAPPING", "a port of a switch flaps", "network_fabric", 2, "switch_port"),
    _kind("HOST_MEMORY_ERROR", "uncorrectable memory error of a host", "host_hardware", 2, "dimm"),
    _kind("NODE_LOST", "a node was lost", "host_hardware", 4),
    _kind("KERNEL_PANIC", "the kernel panicked", "host_os", 2),
    _kind("FILE_SYSTEM_FULL", "a file system is full", "storage", 3, "filesystem"),
    _kind("FILE_SERVER_EVICTED", "the file server evicted its client", "storage", 3),
    _kind("MOUNT_MISSING", "a mount is missing", "storage", 1),
    _kind("IMAGE_PULL_DENIED", "the image may not be pulled", "container_runtime", 2),
    _kind("MODEL_HUB_UNREACHABLE", "the model hub cannot be reached", "external_service", 2),
    _kind("GPU_MEMORY_EXCEEDED", "the job asked for more memory than a GPU has", "resource_limit", 12),
    _kind("CGROUP_OOM", "a process took more memory than its limit", "resource_limit", 6),
    _kind("TIME_LIMIT", "the time limit was reached", "resource_limit", 6),
    _kind("NCCL_VERSION_MISMATCH", "ranks run different versions of NCCL", "framework", 2),
    _kind("COLLECTIVE_ORDER_DIFFERS", "ranks call collectives in different orders", "framework", 3),
    _kind("PYTHON_EXCEPTION", "an exception of the job's code", "user_code", 20),
    _kind("ASSERTION_FAILED", "an assertion failed", "user_code", 5),
    _kind("LAYOUT_DOES_NOT_FIT", "the parallel layout does not fit the ranks", "user_config", 6),
    _kind("CORRUPT_SHARD", "a shard of the data is corrupt", "data", 4),
)


def results_of(count: int, seed: int) -> Iterator[AttributionBlueprintResult]:
    """Attempts in the order in which they ended."""
    rng = random.Random(seed)
    ends = sorted(rng.uniform(0, DAYS * 86_400) for _ in range(count))
    for number, secs in enumerate(ends):
        yield attempt(rng, number, NOW - timedelta(days=DAYS) + timedelta(seconds=secs))


def attempt(rng: random.Random, number: int, ended: datetime, size: int | None = None) -> AttributionBlueprintResult:
    """One attempt on so many nodes, or on as many as are drawn."""
    size = size or rng.choices([s for s, _ in SIZES], [w for _, w in SIZES])[0]
    cluster, names = _placed(rng, size)
    fate = rng.random()
    causes, symptoms, evidence = _found(rng, names, ended) if fate < 0.55 else ((), (), ())
    state = _state(rng, fate, causes)
    sub_domain = causes[0].sub_domain if causes else SubDomain.NONE
    if causes and len(causes) > 1 and causes[0].confidence is Confidence.ONE_OF_SEVERAL:
        sub_domain = SubDomain.AMBIGUOUS
    if fate < 0.55 and rng.random() < 0.08:
        causes, sub_domain = (), SubDomain.INSUFFICIENT_EVIDENCE
    context = ExecutionContext(
        workload_id=str(480_000 + number),
        scheduler=Scheduler.SLURM,
        cluster=cluster,
        name=f"{rng.choice(WORK)}-{rng.choice(MODELS)}-{number % 97}",
        user=rng.choice(USERS),
        framework="pytorch",
        started_at=ended - timedelta(minutes=rng.randint(1, 3000)),
        ended_at=ended,
        nodes=tuple(Node(name=name, gpus=(Gpu(index=0, pci=PCI[0]),) if size < 8 else ()) for name in names),
    )
    first = causes[0] if causes else None
    blamed = tuple(sorted({cause.node for cause in causes if cause.node}))
    diagnosis = Diagnosis(
        workload_id=context.workload_id,
        attempt=1,
        terminal_state=state,
        domain=domain_of(sub_domain),
        sub_domain=sub_domain,
        summary=f"{first.meaning.capitalize()} on {first.node}." if first else f"The attempt {state.value}.",
        causes=causes,
        affected_nodes=blamed,
        interesting_nodes=tuple(sorted({item.node for item in symptoms if item.node} - set(blamed)))[:9],
        exclude_nodes=blamed[:1] if first and days.is_blamed(first.confidence, first.sub_domain) else (),
        first_failure=FirstFailure(symptom=first.symptom, node=first.node, at=first.at, evidence_id="e1")
        if first
        else None,
        impact=Impact(nodes=len(names), ranks=len(names) * 8, gpus=1),
        symptoms=symptoms,
        evidence=evidence,
        catalog=CATALOG,
        input_digest=f"{number:032x}",
    )
    reports = tuple(
        ConnectorReport(connector=connector, source=source, status=Status.OK, lines=rng.randrange(90_000))
        for connector, source in (("loki", Source.APPLOG), ("loki", Source.SYSLOG), ("sacct", Source.SCHEDULER))
    )
    return AttributionBlueprintResult(
        terminal_state=state, sub_domain=sub_domain, context=context, diagnosis=diagnosis, connector_reports=reports
    )


def _placed(rng: random.Random, size: int) -> tuple[str, list[str]]:
    """Nodes in a row and the cluster that they belong to; the larger the cluster, the more it runs."""
    fit = [name for name, nodes in CLUSTERS.items() if len(nodes) >= size]
    cluster = rng.choices(fit, [len(CLUSTERS[name]) for name in fit])[0]
    nodes = CLUSTERS[cluster]
    start = rng.randrange(len(nodes))
    return cluster, [nodes[(start + n) % len(nodes)] for n in range(size)]


def _state(rng: random.Random, fate: float, causes: tuple[Cause, ...]) -> TerminalState:
    if fate >= 0.55:
        return (
            TerminalState.COMPLETED if fate < 0.92 else rng.choice((TerminalState.CANCELLED, TerminalState.PREEMPTED))
        )
    special = {
        "TIME_LIMIT": TerminalState.TIMED_OUT,
        "CGROUP_OOM": TerminalState.OUT_OF_MEMORY,
        "NODE_LOST": TerminalState.NODE_FAILED,
        "IMAGE_PULL_DENIED": TerminalState.LAUNCH_FAILED,
    }
    return special.get(causes[0].symptom, TerminalState.FAILED) if causes else TerminalState.FAILED


Found = tuple[tuple[Cause, ...], tuple[Symptom, ...], tuple[Evidence, ...]]


def _found(rng: random.Random, names: list[str], ended: datetime) -> Found:
    kind = rng.choices(KINDS, [kind.weight for kind in KINDS])[0]
    hot = [name for name in names if name in _HOT]
    node = rng.choice(hot) if hot and rng.random() < 0.8 else rng.choice(names)
    at = ended - timedelta(seconds=rng.randint(30, 900))
    device = _device(rng, kind, node)
    several = rng.random() < 0.06 and len(names) > 1
    confidence = Confidence.ONE_OF_SEVERAL if several else Confidence.SINGLE
    causes = [_cause(kind, node, device, at, confidence)]
    if several:
        other = rng.choice(KINDS)
        causes.append(_cause(other, rng.choice(names), None, at, confidence))
    symptoms = [
        Symptom(
            symptom=cause.symptom,
            role=Role.CAUSE,
            node=cause.node,
            device=cause.device,
            status=SymptomStatus.ACTIVE,
            count=rng.randint(1, 9),
            first_at=at,
            evidence_ids=("e1",),
        )
        for cause in causes
    ]
    by = DemotedBy(rule="COL101", symptom=kind.symptom, node=node, reason="the peer was lost first")
    for name in names[:8]:
        symptoms.append(
            Symptom(
                symptom="NCCL_TIMEOUT",
                role=Role.EFFECT,
                node=name,
                status=SymptomStatus.DEMOTED,
                demoted_by=by,
                count=8,
                ranks=8,
                first_at=at + timedelta(seconds=30),
                evidence_ids=("e2",),
            )
        )
    lines = tuple(
        Evidence(
            id=f"e{n}",
            source=Source.SYSLOG,
            node=node,
            stream="messages",
            line=rng.randrange(1, 90_000),
            offset=rng.randrange(9_000_000),
            at=at,
            text=f"kernel: {kind.meaning} {rng.randrange(99)}",
            rule=kind.symptom.replace("_", "")[:8],
        )
        for n in (1, 2)
    )
    return tuple(causes), tuple(symptoms), lines


_HOT = frozenset(HOT)


def _device(rng: random.Random, kind: Kind, node: str) -> Device | None:
    if kind.device is None:
        return None
    pci = PCI[sum(node.encode()) % 8] if node in _HOT and rng.random() < 0.7 else rng.choice(PCI)
    ids = {
        DeviceKind.GPU: {"pci": pci},
        DeviceKind.NVLINK: {"pci": pci, "link": str(rng.randrange(18))},
        DeviceKind.NIC: {"name": f"mlx5_{rng.randrange(8)}", "port": "1"},
        DeviceKind.SWITCH_PORT: {"name": f"leaf-{rng.randrange(32):02}", "port": str(rng.randrange(1, 65))},
    }.get(kind.device, {"name": f"{kind.device.value}{rng.randrange(8)}"})
    return Device(kind=kind.device, ids=ids)


def _cause(kind: Kind, node: str, device: Device | None, at: datetime, confidence: Confidence) -> Cause:
    return Cause(
        symptom=kind.symptom,
        meaning=kind.meaning,
        sub_domain=kind.sub_domain,
        node=node,
        device=device,
        at=at,
        confidence=confidence,
        why="Nothing else in the evidence explains it.",
        rule=kind.symptom.replace("_", "")[:8],
        evidence_ids=("e1",),
    )


# --- in bulk ------------------------------------------------------------------------------------------------------

_AT_ONCE = 2000


def fill(store: Store, count: int, seed: int) -> None:
    """Write so many attempts into an empty store: the rows of `write_result`, many results in one transaction."""
    numbers: dict[str, int] = {}
    names: set[tuple[str, str]] = set()
    counted: Counter[days.Placed] = Counter()
    held: list[tuple[int, Pieces]] = []
    for result_id, result in enumerate(results_of(count, seed), 1):
        held.append((result_id, pieces_of(result, NOW)))
        if len(held) == _AT_ONCE:
            _write(store, held, numbers, names, counted)
            held = []
    _write(store, held, numbers, names, counted)
    kept = [{"name": name, "cluster": cluster, "folded": name.lower()} for name, cluster in sorted(names)]
    with store.write() as connection:
        insert_rows(connection, schema.node_names, kept)
        days.add_new(connection, counted)


def _write(
    store: Store,
    held: list[tuple[int, Pieces]],
    numbers: dict[str, int],
    names: set[tuple[str, str]],
    counted: Counter[days.Placed],
) -> None:
    if not held:
        return
    tables: dict[str, list[dict[str, object]]] = {}
    for result_id, pieces in held:
        at = pieces.head["at"]
        tables.setdefault("results", []).append({"id": result_id, **pieces.head})
        for table, rows in pieces.placed(result_id, at):
            tables.setdefault(table.name, []).extend(rows)
        for word in pieces.words:
            if word not in numbers:
                numbers[word] = len(numbers) + 1
                tables.setdefault("words", []).append({"id": numbers[word], "word": word})
            tables.setdefault("result_words", []).append({"result_id": result_id, "word_id": numbers[word]})
        cluster = pieces.head["cluster"] or ""
        names.update((name, cluster) for name in pieces.nodes())
        counted.update(pieces.facts(at))
    with store.write() as connection:
        for name, rows in tables.items():
            connection.execute(insert(schema.metadata.tables[name]), rows)
