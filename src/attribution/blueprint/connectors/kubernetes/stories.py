"""A story is a job with what belongs to it: its Workload in Kueue, the jobs it made, and its pods."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from attribution.blueprint.connectors.kubernetes.cluster import Cluster
from attribution.blueprint.connectors.kubernetes.evidence import trimmed
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why
from attribution.blueprint.connectors.kubernetes.objects import Object, kind, label, name, namespace, owners, text, uid
from attribution.blueprint.connectors.kubernetes.resources import JOBS, POD, RAY_CLUSTER, WORKLOAD, Resource

POD_GROUP = "kueue.x-k8s.io/pod-group-name"
_CLIMB = 8
"""Owners above an object; no real chain is longer."""
_ROOT_KINDS = frozenset(resource.kind for resource in JOBS)


@dataclass(slots=True)
class Story:
    """What belongs to one job. `children` are the jobs and clusters that it made, `pods` what is there of those.

    For pods that no job owns, and for jobs of kinds that are not read, the root is their Workload; for pods that Kueue
    does not know, the first of them, under the name of their group.
    """

    root: Object
    workload: Object | None = None
    children: list[Object] = field(default_factory=list)
    pods: list[Object] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, str]:
        """An order of stories that does not change."""
        return (namespace(self.root), name(self.root), uid(self.root))

    @property
    def objects(self) -> Iterator[Object]:
        """Its objects but the pods: from the whole to the parts."""
        if self.workload is not None and self.workload is not self.root:
            yield self.workload
        if kind(self.root) != "Pod":
            yield self.root
        yield from sorted(self.children, key=lambda child: (kind(child), name(child)))


class Stories:
    """The jobs of some namespaces, or of all, and to which of them an object belongs.

    `refused` holds the kinds that may not be listed. Raises ClusterError where nothing may be.
    """

    def __init__(self, cluster: Cluster, namespaces: Sequence[str], pod_label: str | None = None) -> None:
        self._cluster = cluster
        self._pod_label = pod_label
        self._owned: dict[str, Object] = {}
        self._found: dict[str, Story] = {}
        self.scopes: tuple[str | None, ...] = tuple(namespaces) or (None,)
        self.refused: dict[str, ClusterError] = {}
        self._read()

    def all(self) -> list[Story]:
        """The stories in their order."""
        return sorted({id(story): story for story in self._found.values()}.values(), key=lambda story: story.key)

    def of(self, thing: Object) -> Story | None:
        """The story that an object belongs to, by its owners or by the label of its group."""
        for _ in range(_CLIMB):
            if story := self._found.get(uid(thing)):
                return story
            above = next((found for o in owners(thing) if (found := self._owned.get(text(o, "uid") or ""))), None)
            if above is None:
                break
            thing = above
        group = label(thing, *_group_labels(self._pod_label)) if kind(thing) == "Pod" else None
        return self._found.get(_group(namespace(thing), group)) if group else None

    def _read(self) -> None:
        for scope in self.scopes:
            for resource in (*JOBS, RAY_CLUSTER):
                self._owned |= {uid(thing): trimmed(thing) for thing in self._listed(resource, scope)}
        for key, thing in self._owned.items():
            if kind(thing) in _ROOT_KINDS and not any(text(o, "uid") in self._owned for o in owners(thing)):
                self._found[key] = Story(thing)
        for key, thing in self._owned.items():
            if key not in self._found and (story := self.of(thing)) is not None:
                story.children.append(thing)
        for scope in self.scopes:
            for workload in self._listed(WORKLOAD, scope):
                self._add_workload(trimmed(workload))
            if self._pod_label:
                self._add_groups(scope, self._pod_label)
        if len(self.refused) == len({*JOBS, RAY_CLUSTER, WORKLOAD}):
            raise next(iter(self.refused.values()))

    def _listed(self, resource: Resource, scope: str | None, labels: str = "") -> Iterator[Object]:
        try:
            yield from self._cluster.list(resource, scope, labels)
        except ClusterError as error:
            if error.why is not Why.FORBIDDEN:
                raise
            self.refused.setdefault(resource.kind, error)

    def _add_workload(self, workload: Object) -> None:
        """A Workload belongs to the job that owns it; one that pods own, or what is not read, stands for itself."""
        story = self.of(workload)
        if story is None:
            pods = [text(owner, "uid") or "" for owner in owners(workload) if text(owner, "kind") == "Pod"]
            story = self._found[uid(workload)] = Story(workload)
            self._found[_group(namespace(workload), name(workload))] = story
            self._owned |= dict.fromkeys(pods, workload)
        if story.workload is None or _age(workload) > _age(story.workload):
            story.workload = workload

    def _add_groups(self, scope: str | None, key: str) -> None:
        """Pods that have the label and that nothing else explains, by its value; the oldest names the group."""
        for pod in sorted(self._listed(POD, scope, key), key=_age):
            group = label(pod, key)
            if group is None:
                continue
            story = self.of(pod)
            if story is None:
                named = {"name": group, "namespace": namespace(pod), "uid": uid(pod)}
                story = self._found[_group(namespace(pod), group)] = Story(
                    {"apiVersion": "v1", "kind": "Pod", "metadata": named}
                )
            if kind(story.root) == "Pod":
                story.pods.append(pod)


def _group(scope: str, group: str) -> str:
    return f"group {scope}/{group}"


def _group_labels(pod_label: str | None) -> tuple[str, ...]:
    return (POD_GROUP, *([pod_label] if pod_label else []))


def _age(thing: Object) -> tuple[str, str]:
    return (text(thing, "metadata", "creationTimestamp") or "", uid(thing))


# --- the pods of one job ----------------------------------------------------------------------------------------------

_SELECTORS = {
    "Job": "job-name",
    "JobSet": "jobset.sigs.k8s.io/jobset-name",
    "TrainJob": "jobset.sigs.k8s.io/jobset-name",
    "PyTorchJob": "training.kubeflow.org/job-name",
}
"""The label by which the pods of a job are found; its value is the job's name."""


@dataclass(frozen=True, slots=True)
class JobRef:
    """Names a job, as the ids of an attempt's context do."""

    namespace: str
    kind: str
    name: str
    uid: str


def pods_of(cluster: Cluster, job: JobRef, pod_label: str | None = None) -> list[Object]:
    """The pods of one job, in the order of their names. Pods of another job of the same name are not among them."""
    found = {
        name(pod): pod for selector in _selectors(cluster, job, pod_label) for pod in _labelled(cluster, job, selector)
    }
    if job.kind == "Workload" and not found:
        found = _owning_pods(cluster, job)
    if job.kind in {"Job", "PyTorchJob"}:
        found = {key: pod for key, pod in found.items() if job.uid in {text(o, "uid") for o in owners(pod)}}
    return [found[key] for key in sorted(found)]


def _labelled(cluster: Cluster, job: JobRef, selector: str) -> Iterator[Object]:
    return cluster.list(POD, job.namespace, labels=selector)


def _selectors(cluster: Cluster, job: JobRef, pod_label: str | None) -> Iterator[str]:
    if key := _SELECTORS.get(job.kind):
        yield f"{key}={job.name}"
    if job.kind in {"Workload", "Pod"}:
        yield from (f"{key}={job.name}" for key in _group_labels(pod_label))
    if job.kind == "RayJob":
        yield f"job-name={job.name}"
        for found in cluster.list(RAY_CLUSTER, job.namespace):
            if job.uid in {text(owner, "uid") for owner in owners(found)}:
                yield f"ray.io/cluster={name(found)}"


def _owning_pods(cluster: Cluster, job: JobRef) -> dict[str, Object]:
    """The pods that own a Workload: one, for a pod that is queued alone."""
    workload = cluster.get(WORKLOAD, job.namespace, job.name)
    own = owners(workload) if workload is not None else []
    found = (cluster.get(POD, job.namespace, text(o, "name") or "") for o in own if text(o, "kind") == "Pod")
    return {name(pod): pod for pod in found if pod is not None}
