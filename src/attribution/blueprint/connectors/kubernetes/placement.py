"""Pods say which nodes an attempt ran on, and by their index which ranks were where."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from attribution.blueprint.connectors.kubernetes.objects import Object, at, kind, label, name, number, text, things
from attribution.contracts.context import Node

_MAX_INDEX = 10**6
_MAX_PROCESSES = 1024

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_JOB_INDEX = "jobset.sigs.k8s.io/job-index"
_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
_REPLICA_TYPE = ("training.kubeflow.org/replica-type", "replica-type")
_REPLICA_INDEX = ("training.kubeflow.org/replica-index", "replica-index")
_POD_INDEX = ("kueue.x-k8s.io/pod-group-pod-index", "apps.kubernetes.io/pod-index")

_NPROC_VARIABLES = ("PET_NPROC_PER_NODE", "NPROC_PER_NODE")
_NPROC_FLAG = re.compile(r"--nproc[-_]per[-_]node[= ]+([\w]+)")
_LAUNCHERS = re.compile(
    r"\b(?:torchrun|torch\.distributed\.(?:run|launch)|accelerate|deepspeed|mpirun|mpiexec|horovodrun|srun|ray)\b"
)
_PYTHON = re.compile(r"(?:\S*/)?python[\d.]*(?: |$)")


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an attempt ran. `inferred` names what was worked out and not said."""

    nodes: tuple[Node, ...] = ()
    nranks: int | None = None
    ranks_per_node: int | None = None
    inferred: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """A pod, and the ranks of its processes where they are known."""

    pod: Object
    ranks: tuple[int, ...] = ()


def seen(pods: Sequence[Object], root: Object) -> list[Seen]:
    """Pods as they are now, with their ranks."""
    return [Seen(pod, ranks_of(pod, root)) for pod in pods]


def placed(pods: Sequence[Seen], root: Object) -> Placement:
    """The nodes in the order of their names, with the ranks of their pods as far as those are known."""
    ranks: dict[str, set[int]] = {}
    aliases: dict[str, set[str]] = {}
    sizes: set[int] = set()
    for found in pods:
        pod, own = found.pod, found.ranks
        node = text(pod, "spec", "nodeName")
        if node is None:
            continue
        ranks.setdefault(node, set()).update(own)
        aliases.setdefault(node, set()).update(_names(pod))
        sizes |= {len(own)} if own else set()
    shared = {alias for alias, count in Counter(a for own in aliases.values() for a in own).items() if count > 1}
    nodes = tuple(
        Node(name=node, aliases=tuple(sorted(aliases[node] - shared - {node})), ranks=tuple(sorted(ranks[node])))
        for node in sorted(ranks)
    )
    per_node = {len(own) for own in ranks.values()}
    processes = next(iter(sizes)) if len(sizes) == 1 else None
    expected = expected_pods(root)
    return Placement(
        nodes=nodes,
        nranks=processes * expected if processes and expected else None,
        ranks_per_node=per_node.pop() if len(per_node) == 1 and 0 not in per_node else None,
        inferred=("ranks",) if any(ranks.values()) else (),
    )


def ranks_of(pod: Object, root: Object) -> tuple[int, ...]:
    """The ranks of the processes in a pod, or none where its index or the number of processes is not known."""
    index = index_of(pod, root)
    processes = _processes(pod, root)
    if index is None or processes is None or not 0 <= index <= _MAX_INDEX:
        return ()
    return tuple(range(index * processes, (index + 1) * processes))


def index_of(pod: Object, root: Object) -> int | None:
    """The place of a pod among those of its job, counted from 0."""
    said = next((n for key in ("RANK", "NODE_RANK", "PET_NODE_RANK") if (n := _variable(pod, key)) is not None), None)
    if said is not None:
        return said
    role, replica = label(pod, *_REPLICA_TYPE), _number(label(pod, *_REPLICA_INDEX))
    if role is not None and replica is not None:
        has_master = at(root, "spec", "pytorchReplicaSpecs", "Master") is not None
        return replica + (1 if role.lower() == "worker" and has_master else 0)
    completion = _number(label(pod, COMPLETION_INDEX))
    job, of = _number(label(pod, _JOB_INDEX)), label(pod, _REPLICATED_JOB)
    if completion is not None and job is not None and of is not None and kind(root) == "JobSet":
        return _set_index(root, of, job, completion)
    if completion is not None:
        return completion
    return _number(label(pod, *_POD_INDEX))


def _set_index(root: Object, of: str, job: int, completion: int) -> int | None:
    """The place within a JobSet: its jobs follow each other in the order of its spec."""
    before = 0
    for part in things(root, "spec", "replicatedJobs"):
        spec = at(part, "template", "spec")
        size = number(spec, "completions") or number(spec, "parallelism") or 1
        if text(part, "name") == of:
            return before + job * size + completion
        before += size * (number(part, "replicas") or 1)
    return None


def expected_pods(root: Object) -> int | None:
    """How many pods run side by side when all of a job's do."""
    spec = at(root, "spec")
    match kind(root):
        case "Job":
            return number(spec, "completions") or number(spec, "parallelism") or 1
        case "JobSet":
            parts = things(spec, "replicatedJobs")
            return sum((number(p, "replicas") or 1) * (_job_pods(at(p, "template", "spec"))) for p in parts) or None
        case "PyTorchJob":
            replicas = at(spec, "pytorchReplicaSpecs")
            roles = replicas.values() if isinstance(replicas, Mapping) else ()
            return sum(number(role, "replicas") or 1 for role in roles) or None
        case "TrainJob":
            return number(spec, "trainer", "numNodes")
        case "Workload":
            return sum(number(part, "count") or 0 for part in things(spec, "podSets")) or None
    return None


def _job_pods(spec: Object) -> int:
    return number(spec, "completions") or number(spec, "parallelism") or 1


def command_of(spec: Object) -> str | None:
    """What the first container of a pod's spec runs, if the spec says it."""
    container = next(things(spec, "containers"), {})
    parts = [part for key in ("command", "args") for part in at(container, key) or () if isinstance(part, str)]
    return " ".join(parts) or None


def _processes(pod: Object, root: Object) -> int | None:
    """How many processes of the job run in a pod: what a launcher is told, else one for a plain program."""
    command = command_of(at(pod, "spec")) or ""
    flag = _NPROC_FLAG.search(command)
    said = [_literal(pod, key) for key in _NPROC_VARIABLES]
    said += [flag[1] if flag else None, _word(at(root, "spec", "nprocPerNode"))]
    said += [_word(at(root, "spec", "trainer", "numProcPerNode"))]
    for word in filter(None, said):
        count = _gpus(pod) if word in {"gpu", "auto"} else _number(word)
        return count if count and count <= _MAX_PROCESSES else None
    gpus = _gpus(pod)
    if _LAUNCHERS.search(command):
        return 1 if gpus is not None and gpus <= 1 else None
    return 1 if _PYTHON.match(command) or gpus is None or gpus <= 1 else None


def _gpus(pod: Object) -> int | None:
    """The GPUs that the pod asks for, None where it asks for none."""
    found = 0
    for container in things(pod, "spec", "containers"):
        limits = at(container, "resources", "limits")
        for key in limits if isinstance(limits, Mapping) else ():
            if isinstance(key, str) and key.endswith(("/gpu", ".com/gpu")):
                found += number(limits, key) or 0
    return found or None


def _variables(pod: Object) -> Iterator[Object]:
    for container in things(pod, "spec", "containers"):
        yield from things(container, "env")


def _literal(pod: Object, key: str) -> str | None:
    """The value of a variable of a container, also one that is taken from a label or annotation of the pod."""
    for variable in _variables(pod):
        if text(variable, "name") != key:
            continue
        if value := text(variable, "value"):
            return value
        path = text(variable, "valueFrom", "fieldRef", "fieldPath") or ""
        if found := _FIELD.fullmatch(path):
            return label(pod, found[1])
    return None


_FIELD = re.compile(r"metadata\.(?:annotations|labels)\['([^']+)'\]")


def _variable(pod: Object, key: str) -> int | None:
    return _number(_literal(pod, key))


def _number(word: str | None) -> int | None:
    return int(word) if word and word.isascii() and word.isdigit() and len(word) < 8 else None


def _word(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _names(pod: Object) -> Iterator[str]:
    """What logs may call the node by: the pod's name and addresses, and the node's own address."""
    yield name(pod)
    hostname, subdomain = text(pod, "spec", "hostname"), text(pod, "spec", "subdomain")
    if hostname:
        yield hostname
        if subdomain:
            yield f"{hostname}.{subdomain}"
    for key in ("podIP", "hostIP"):
        if address := text(pod, "status", key):
            yield address
