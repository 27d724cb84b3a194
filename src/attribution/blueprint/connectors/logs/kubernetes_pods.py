"""Logs of the containers of an attempt's pods, as their nodes still keep them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from pydantic import Field, field_validator

from attribution.blueprint.attempt import Attempt, asked_window
from attribution.blueprint.connectors.base import DEADLINE, Collector, ConnectorError, Halted
from attribution.blueprint.connectors.kubernetes.access import (
    Connection,
    KubernetesAccess,
    explained,
    programs,
    require,
)
from attribution.blueprint.connectors.kubernetes.cluster import Cluster
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why
from attribution.blueprint.connectors.kubernetes.logs import Log, LogQuery, read
from attribution.blueprint.connectors.kubernetes.objects import Object, instant, name, number, text, things, written
from attribution.blueprint.connectors.kubernetes.placement import ranks_of
from attribution.blueprint.connectors.kubernetes.resources import BY_KIND, POD
from attribution.blueprint.connectors.kubernetes.side_by_side import side_by_side
from attribution.blueprint.connectors.kubernetes.stories import JobRef, pods_of
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Scheduler, Source, Status


class KubernetesPodsSettings(KubernetesAccess):
    """Which pods are read, and how much of them."""

    namespace: str | None = Field(
        default=None,
        min_length=1,
        description="where the pods are of attempts that do not say it, and where rights are checked",
    )
    selector: str | None = Field(
        default=None,
        min_length=1,
        description="label selector of the pods of attempts that name no job of Kubernetes; may hold `{workload_id}`",
    )
    pod_label: str | None = Field(
        default=None,
        min_length=1,
        description="label whose value groups pods without a job, as the connector `kueue` has it",
    )
    containers: tuple[str, ...] = Field(default=(), description="containers whose logs are read; all if not given")
    log_bytes: int = Field(
        default=32 << 20,
        ge=2048,
        description="bytes of one log, of which half are read from its start and half from its end",
    )
    logs_at_once: int = Field(default=8, ge=1, le=64, description="logs that are read at the same time")
    piece_bytes: int = Field(default=1 << 20, ge=1024, description="bytes of text in one observation")

    @field_validator("selector")
    @classmethod
    def _has_known_places(cls, value: str | None) -> str | None:
        if value is not None and set("{}") & set(value.replace("{workload_id}", "")):
            raise ValueError("may hold `{workload_id}` and no other place")
        return value


class KubernetesPods(Collector[KubernetesPodsSettings]):
    """Reads the log of every container of every pod, of init containers and of the run before a restart too."""

    Settings = KubernetesPodsSettings

    def __init__(self, settings: KubernetesPodsSettings) -> None:
        super().__init__(settings)
        self._connection = Connection(settings)

    @property
    def sources(self) -> frozenset[Source]:
        """What containers print is the log of the application."""
        return frozenset({Source.APPLOG})

    def check(self) -> str:
        """Ask for the rights that are used, and list pods."""
        try:
            cluster = self._connection.cluster()
            require(cluster, self.settings.namespace, [("list", POD, ""), ("get", POD, "log")])
            has_pods = next(iter(cluster.list(POD, self.settings.namespace)), None) is not None
        except ClusterError as error:
            raise ConnectorError(explained(error, self._connection.name)) from None
        return f"may read pods and their logs through {cluster.name}{'' if has_pods else ', and sees no pod now'}"

    def programs(self) -> tuple[str, ...]:
        """`kubectl`, unless the API is asked."""
        return programs(self.settings)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def collect(self, attempt: Attempt, plan: CollectionPlan, halted: Halted) -> Iterator[Observation]:
        """Pod by pod in the order of nodes and names; for a node whose pods are gone, that they are.

        The plan's literals are not asked for: the API cannot filter, and what stands around a line is needed.
        """
        context = attempt.context
        job, selector = _job(context), self._selector(context)
        if job is None and selector is None:
            yield from _told(
                context, Status.SKIPPED, "the attempt names no job of Kubernetes, and no `selector` is set"
            )
            return
        if halted():
            yield from _told(context, Status.SKIPPED, DEADLINE)
            return
        try:
            cluster = self._connection.cluster()
            pods = self._pods(cluster, job, selector)
            root = _root(cluster, job)
        except ClusterError as error:
            yield from _told(context, Status.ERROR, explained(error, self._connection.name))
            return
        own = sorted(_of_attempt(pods, context), key=lambda pod: (text(pod, "spec", "nodeName") or "", name(pod)))
        window = asked_window(context, plan.margin_secs)
        since = window.start if window else _since(context, plan)
        until = window.end if window else None
        starts = [
            partial(self._read, cluster, pod, root, target, since, until, halted)
            for pod in own
            for target in _targets(pod, self.settings.containers)
        ]
        for piece in side_by_side(starts, self.settings.logs_at_once):
            yield _late(piece) if piece.body and halted() else piece
        yield from _missing(context, own)

    # --- one log ------------------------------------------------------------------------------------------------------

    def _read(
        self,
        cluster: Cluster,
        pod: Object,
        root: Object,
        target: "_Target",
        since: datetime | None,
        until: datetime | None,
        halted: Halted,
    ) -> Iterator[Observation]:
        ranks = ranks_of(pod, root) if target.is_main else ()
        log = Log(
            node=text(pod, "spec", "nodeName"),
            rank=ranks[0] if len(ranks) == 1 else None,
            stream=f"{name(pod)}/{target.container}{' (previous)' if target.is_previous else ''}",
        )
        if log.node is None:
            yield log.told(Status.EMPTY, "the pod was never placed on a node, so it printed nothing")
            return
        if halted():
            yield log.told(Status.SKIPPED, DEADLINE)
            return
        query = LogQuery(
            namespace=text(pod, "metadata", "namespace") or "",
            pod=name(pod),
            container=target.container,
            is_previous=target.is_previous,
            since=written(since) if since else None,
            until=until,
            bytes=self.settings.log_bytes,
            piece_bytes=self.settings.piece_bytes,
        )
        yield from read(cluster, log, query, halted)
        if target.is_previous and target.restarts > 1:
            kept = f"the container was started {target.restarts + 1} times; only its last two logs are kept"
            yield log.told(Status.PARTIAL, kept)

    def _pods(self, cluster: Cluster, job: JobRef | None, selector: str | None) -> list[Object]:
        if job is not None:
            return pods_of(cluster, job, self.settings.pod_label)
        return list(cluster.list(POD, self.settings.namespace, labels=selector or ""))

    def _selector(self, context: ExecutionContext) -> str | None:
        return self.settings.selector and self.settings.selector.replace("{workload_id}", context.workload_id)


def _late(piece: Observation) -> Observation:
    """Says of a piece that was read ahead that there is no time for it any more."""
    status = Status.PARTIAL if piece.offset else Status.SKIPPED
    return Log(piece.node, piece.rank, piece.stream).told(status, DEADLINE)


@dataclass(frozen=True, slots=True)
class _Target:
    """A container, or its run before the last restart."""

    container: str
    is_main: bool
    is_previous: bool
    restarts: int


def _targets(pod: Object, wanted: Sequence[str]) -> Iterator[_Target]:
    """The containers of a pod in the order in which they are started; a run before a restart comes first."""
    statuses = {
        text(status, "name"): status
        for part in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        for status in things(pod, "status", part)
    }
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(things(pod, "spec", part)):
            called = text(container, "name")
            if called is None or (wanted and called not in wanted):
                continue
            restarts = number(statuses.get(called), "restartCount") or 0
            is_main = part == "containers" and position == 0
            if restarts:
                yield _Target(called, is_main, True, restarts)
            yield _Target(called, is_main, False, restarts)


def _job(context: ExecutionContext) -> JobRef | None:
    """The job of an attempt that was found in a cluster."""
    if context.scheduler not in {Scheduler.KUEUE, Scheduler.KUBERNETES}:
        return None
    found = [context.scheduler_ids.get(key) for key in ("namespace", "kind", "name", "uid")]
    return JobRef(*(value for value in found if value)) if all(found) else None


def _root(cluster: Cluster, job: JobRef | None) -> Object:
    """The job's own object, which says how its pods are counted; nothing where it is gone or may not be read."""
    resource = BY_KIND.get(job.kind) if job else None
    if job is None or resource is None or resource is POD:
        return {}
    try:
        return cluster.get(resource, job.namespace, job.name) or {}
    except ClusterError as error:
        if error.why is not Why.FORBIDDEN:
            raise
        return {}


def _since(context: ExecutionContext, plan: CollectionPlan) -> datetime | None:
    return context.started_at - timedelta(seconds=plan.margin_secs) if context.started_at else None


def _of_attempt(pods: Sequence[Object], context: ExecutionContext) -> list[Object]:
    """The pods of this attempt: those that its nodes are also called by, and of others those made before its end.

    Where the nodes of the attempt are known by pods, only pods without a node are such others.
    """
    names = {alias for node in context.nodes for alias in node.aliases}
    named = {name(pod) for pod in pods if name(pod) in names}
    is_known = bool(named) or (bool(names) and context.scheduler in {Scheduler.KUEUE, Scheduler.KUBERNETES})
    others = (pod for pod in pods if name(pod) not in named and not (is_known and text(pod, "spec", "nodeName")))
    early = {name(pod) for pod in others if not _is_later(pod, context.ended_at)}
    return [pod for pod in pods if name(pod) in named | early]


def _is_later(pod: Object, ended: datetime | None) -> bool:
    created = instant(pod, "metadata", "creationTimestamp")
    return ended is not None and created is not None and created > ended


def _missing(context: ExecutionContext, pods: Sequence[Object]) -> Iterator[Observation]:
    """The nodes of which no pod is there any more."""
    read_from = {text(pod, "spec", "nodeName") for pod in pods}
    gone = "the pods of this node are gone, and their logs with them"
    for node in context.nodes:
        if node.name not in read_from:
            yield Log(node.name, None, "").told(Status.ERROR, gone)
    if not pods and not context.nodes:
        yield Log(None, None, "").told(Status.ERROR, "no pod of the attempt is there any more, so its logs are gone")


def _told(context: ExecutionContext, status: Status, reason: str) -> Iterator[Observation]:
    nodes: list[str | None] = [node.name for node in context.nodes]
    for node in nodes or [None]:
        yield Log(node, None, "").told(status, reason)
