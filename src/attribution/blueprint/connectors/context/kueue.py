"""Attempts of jobs on Kubernetes, with or without Kueue, read off the objects that the cluster keeps."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pydantic import Field, field_validator

from attribution.blueprint.attempt import Attempt, Found, Query, Unusable
from attribution.blueprint.connectors.base import ConnectorError, ContextConnector, Memory
from attribution.blueprint.connectors.context.kueue_attempts import Gathered, attempt_of, gathered, workload_id
from attribution.blueprint.connectors.context.kueue_memory import Recorder
from attribution.blueprint.connectors.kubernetes.access import (
    Connection,
    KubernetesAccess,
    explained,
    programs,
    require,
)
from attribution.blueprint.connectors.kubernetes.cluster import Cluster
from attribution.blueprint.connectors.kubernetes.failures import ClusterError
from attribution.blueprint.connectors.kubernetes.objects import (
    Object,
    conditions,
    instant,
    label,
    name,
    namespace,
    text,
    things,
    uid,
)
from attribution.blueprint.connectors.kubernetes.resources import EVENT, JOBS, NODE, POD, WORKLOAD
from attribution.blueprint.connectors.kubernetes.standing import Standing, Stretch, evictions, stretches
from attribution.blueprint.connectors.kubernetes.stories import Stories, Story

T = TypeVar("T")


class KueueSettings(KubernetesAccess):
    """Which cluster is asked, for which jobs, and which of their attempts count."""

    namespaces: tuple[str, ...] = Field(default=(), description="where jobs run; all namespaces if not given")
    labels: tuple[str, ...] = Field(
        default=(), description="labels that a job must have, such as `team=vision`; all jobs if not given"
    )
    only_queued: bool = Field(default=False, description="leave out jobs that Kueue does not manage")
    pod_label: str | None = Field(
        default=None, min_length=1, description="label whose value groups pods without a job into one workload"
    )
    standings: tuple[Standing, ...] = Field(
        default=(Standing.FAILED, Standing.EVICTED, Standing.STUCK),
        description="attempts that count: `failed`, `evicted`, `stuck`, `succeeded`, `running`, `waiting`; "
        "one that is asked for by name counts always",
    )
    stuck_secs: int = Field(
        default=900, ge=0, description="how long a pod waits for its image or node until it is stuck"
    )
    lookback_secs: int = Field(
        default=86400, ge=1, description="how long ago an attempt ended, where no span is asked for"
    )
    remember_secs: int = Field(
        default=7 * 86400, ge=60, description="how long `--watch` remembers where pods ran after it saw them last"
    )

    @field_validator("labels")
    @classmethod
    def _are_labels(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for item in value:
            if not item.partition("=")[0] or "=" not in item:
                raise ValueError(f"`{item}` is no label such as `team=vision`")
        return value


_STUCK = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "RunContainerError",
    }
)
"""Reasons for which a container waits that do not go away by waiting."""


_RECOVERY = "WaitForRecovery"
"""Why Kueue holds that pods are not ready which have been: one failed, or its node was lost."""


class Kueue(ContextConnector[KueueSettings]):
    """Finds the attempts of Jobs, JobSets, PyTorchJobs, TrainJobs, RayJobs and groups of pods."""

    Settings = KueueSettings

    def __init__(self, settings: KueueSettings) -> None:
        super().__init__(settings)
        self._connection = Connection(settings)
        self._lock = threading.Lock()
        self._recorder: Recorder | None = None

    def check(self) -> str:
        """Ask for every right that is used, and list one kind of job."""
        return self._asked(self._checked)

    def _checked(self, cluster: Cluster) -> str:
        kinds = [resource for resource in (WORKLOAD, *JOBS) if cluster.serves(resource)]
        rights = [("list", resource, "") for resource in (*kinds, POD, EVENT)]
        for scope in self.settings.namespaces or (None,):
            require(cluster, scope, rights)
        require(cluster, "default", [("list", EVENT, "")])
        require(cluster, None, [("get", NODE, "")])
        count = len(self._stories(cluster).all())
        seen = f"sees {count} job{'s' if count != 1 else ''} through {cluster.name}"
        return f"{seen} (kinds: {', '.join(found.kind for found in kinds)})"

    def programs(self) -> tuple[str, ...]:
        """`kubectl`, unless the API is asked."""
        return programs(self.settings)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def observe(self, memory: Memory) -> None:
        """Remember where the pods of the jobs run that run now, and since when."""
        with self._lock:
            if self._recorder is None or self._recorder.memory is not memory:
                self._recorder = Recorder(memory, self.settings.remember_secs)
            recorder = self._recorder
        self._asked(lambda cluster: recorder.note(self._stories(cluster), cluster))

    def discover(self, query: Query) -> Iterator[Found]:
        """The attempts that are wanted, by namespace, name and number; what may not be listed is told first."""
        try:
            yield from self._discover(query, self._connection.cluster())
        except ClusterError as error:
            raise ConnectorError(explained(error, self._connection.name)) from None

    # --- what is asked for --------------------------------------------------------------------------------------------

    def _discover(self, query: Query, cluster: Cluster) -> Iterator[Found]:
        stories = self._stories(cluster)
        for refused_kind, error in sorted(stories.refused.items()):
            yield Unusable(f"kind {refused_kind}", explained(error, self._connection.name))
        stuck = self._stuck(stories, cluster) if Standing.STUCK in self.settings.standings else {}
        since = datetime.now(UTC) - timedelta(seconds=self.settings.lookback_secs)
        chosen: dict[str, list[Story]] = {}
        for story in stories.all():
            is_asked = self._selected(story) and _is_asked(query, story)
            if is_asked and (_is_named(query) or self._may_count(story, story.key in stuck, since, query)):
                chosen.setdefault(namespace(story.root), []).append(story)
        for scope in sorted(chosen):
            for found in gathered(cluster, chosen[scope], self.settings.pod_label, self._recorder):
                yield from self._attempts(found, query, stuck.get(found.story.key), since)

    def _attempts(self, found: Gathered, query: Query, stuck: str | None, since: datetime) -> Iterator[Attempt]:
        known = stretches(found.story.root, found.story.workload, found.events, found.story.pods)
        for index, stretch in enumerate(known):
            is_last = index == len(known) - 1
            own = stretch if not (is_last and stuck and stretch.ended_at is None) else _as_stuck(stretch, stuck)
            if not _is_named(query):
                is_old = query.start is None and own.ended_at is not None and own.ended_at < since
                if own.standing not in self.settings.standings or is_old:
                    continue
            attempt = attempt_of(found, own, known[:index], self._recorder)
            if _wants(query, attempt):
                yield attempt

    def _selected(self, story: Story) -> bool:
        wanted = (item.partition("=")[::2] for item in self.settings.labels)
        if any(label(story.root, key) != value for key, value in wanted):
            return False
        return story.workload is not None or not self.settings.only_queued

    def _may_count(self, story: Story, is_stuck: bool, since: datetime, query: Query) -> bool:
        """Whether one of its attempts may be wanted, as far as can be told without its events."""
        now = stretches(story.root, story.workload, (), story.pods)[-1]
        counted = self.settings.standings
        if is_stuck or (now.standing in counted and _may_lie_in(now, since, query)):
            return True
        if Standing.EVICTED not in counted or story.workload is None:
            return False
        return _was_evicted(story.workload, since if query.start is None else query.start)

    def _stuck(self, stories: Stories, cluster: Cluster) -> dict[tuple[str, str, str], str]:
        """The stories that wait in vain: for their pods to recover, or for what the first of their pods waits for."""
        before = datetime.now(UTC) - timedelta(seconds=self.settings.stuck_secs)
        found: dict[tuple[str, str, str], str] = {}
        for story in stories.all():
            ready = conditions(story.workload).get("PodsReady") if story.workload is not None else None
            if (
                ready is not None
                and ready.reason == _RECOVERY
                and not ready.is_true
                and ready.at
                and ready.at <= before
            ):
                found[story.key] = _RECOVERY
        for scope in stories.scopes:
            for pod in sorted(cluster.list(POD, scope, fields="status.phase=Pending"), key=name):
                created = instant(pod, "metadata", "creationTimestamp") or instant(pod, "status", "startTime")
                why = _waits_for(pod)
                own = stories.of(pod)
                if own is not None and why and created is not None and created <= before:
                    found.setdefault(own.key, why)
        return found

    # --- the cluster --------------------------------------------------------------------------------------------------

    def _stories(self, cluster: Cluster) -> Stories:
        return Stories(cluster, self.settings.namespaces, self.settings.pod_label)

    def _asked(self, call: Callable[[Cluster], T]) -> T:
        """What a call gives. Raises ConnectorError with what is to be done about a refusal."""
        try:
            return call(self._connection.cluster())
        except ClusterError as error:
            raise ConnectorError(explained(error, self._connection.name)) from None


def _waits_for(pod: Object) -> str | None:
    """Why a pod cannot start, if it says so: a container's reason, or that no node takes it."""
    for part in ("initContainerStatuses", "containerStatuses"):
        for status in things(pod, "status", part):
            reason = text(status, "state", "waiting", "reason")
            if reason in _STUCK:
                return reason
    scheduled = conditions(pod).get("PodScheduled")
    return scheduled.reason if scheduled is not None and not scheduled.is_true and scheduled.reason else None


def _as_stuck(stretch: Stretch, why: str) -> Stretch:
    return replace(stretch, standing=Standing.STUCK, state=why, reason=None, message=None)


def _is_named(query: Query) -> bool:
    return query.job is not None or query.workload is not None


def _is_asked(query: Query, story: Story) -> bool:
    """Whether a story has the name that is asked for: of its job or its Workload, with or without the namespace."""
    scope, job = namespace(story.root), name(story.root)
    own = workload_id(story.root)
    names = {own, job, f"{scope}/{job}", uid(story.root)}
    if story.workload is not None:
        names |= {name(story.workload), f"{scope}/{name(story.workload)}", uid(story.workload)}
    if query.job is not None and query.job not in names:
        return False
    return query.workload is None or query.workload in {own, job}


def _wants(query: Query, attempt: Attempt) -> bool:
    """Whether an attempt lies where and when it is asked for; its name was looked at before."""
    return replace(query, job=None, workload=None).wants(attempt.context)


def _was_evicted(workload: Object, since: datetime) -> bool:
    """Whether a Workload was evicted, and its last eviction may have been since then."""
    known = conditions(workload)
    if not evictions(workload) and "Evicted" not in known:
        return False
    told = [known.get("Requeued"), known.get("Evicted")]
    last = max((found.at for found in told if found is not None and found.at), default=None)
    return last is None or last >= since


def _may_lie_in(stretch: Stretch, since: datetime, query: Query) -> bool:
    if stretch.ended_at is None:
        return True
    start = query.start or (since if query.end is None else None)
    return start is None or stretch.ended_at >= start
