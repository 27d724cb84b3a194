"""One attempt of a job on Kubernetes: its context, and the objects that are evidence of how it ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.context.kueue_memory import Recorder
from attribution.blueprint.connectors.context.launch_command import shown_command
from attribution.blueprint.connectors.foreign import one_line
from attribution.blueprint.connectors.kubernetes.cluster import Cluster
from attribution.blueprint.connectors.kubernetes.evidence import observations, told
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why
from attribution.blueprint.connectors.kubernetes.objects import (
    Object,
    at,
    earliest,
    event_times,
    instant,
    kind,
    name,
    namespace,
    number,
    owners,
    text,
    things,
    uid,
)
from attribution.blueprint.connectors.kubernetes.placement import (
    Placement,
    Seen,
    command_of,
    expected_pods,
    placed,
    seen,
)
from attribution.blueprint.connectors.kubernetes.resources import BY_KIND, EVENT, NODE
from attribution.blueprint.connectors.kubernetes.standing import Standing, Stretch
from attribution.blueprint.connectors.kubernetes.stories import JobRef, Story, pods_of
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.contracts.vocabulary import Scheduler, Status

_MARGIN = timedelta(minutes=15)
_ECHO = timedelta(seconds=10)
"""How long after an eviction events still speak of it, where another attempt follows."""
_FRAMEWORKS = {"PyTorchJob": "pytorch", "RayJob": "ray"}
_NODE_EVENTS = "default"
"""The namespace in which a cluster keeps the events of its nodes."""


@dataclass(slots=True)
class Gathered:
    """A story with what the cluster keeps of it. `refused` says which of that could not be had, by stream."""

    story: Story
    events: list[Object] = field(default_factory=list)
    nodes: dict[str, Object] = field(default_factory=dict)
    node_events: list[Object] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def workload_id(root: Object) -> str:
    """Names a job and no later one of the same name. It may stand in a path."""
    return ".".join(filter(None, (namespace(root), name(root), uid(root).replace("-", "")[-8:])))


def job_of(root: Object) -> JobRef:
    """How a job is named in the ids of a context."""
    return JobRef(namespace(root), kind(root), name(root), uid(root))


# --- what the cluster keeps -------------------------------------------------------------------------------------------


def gathered(
    cluster: Cluster, stories: Sequence[Story], pod_label: str | None, recorder: Recorder | None
) -> list[Gathered]:
    """Pods, events and nodes of the stories of one namespace. Events are read once for all of them."""
    found = [_with_pods(cluster, story, pod_label) for story in stories]
    remembered = {id(item): recorder.pods(uid(item.story.root)) if recorder else [] for item in found}
    by_uid: dict[str, list[Gathered]] = {}
    by_node: dict[str, list[Gathered]] = {}
    for item in found:
        pods = [*item.story.pods, *(own.pod for own in remembered[id(item)])]
        for thing in (*item.story.objects, *pods):
            by_uid.setdefault(uid(thing), []).append(item)
        for node in sorted({node for pod in pods if (node := text(pod, "spec", "nodeName"))}):
            by_node.setdefault(node, []).append(item)
    _add_events(cluster, namespace(stories[0].root), by_uid, found)
    _add_nodes(cluster, by_node, found)
    return found


def _with_pods(cluster: Cluster, story: Story, pod_label: str | None) -> Gathered:
    resource = BY_KIND.get(kind(story.root))
    whole = (
        cluster.get(resource, namespace(story.root), name(story.root))
        if resource and kind(story.root) != "Pod"
        else None
    )
    root = whole if whole is not None and uid(whole) == uid(story.root) else story.root
    found = Gathered(replace(story, root=root))
    if story.workload is story.root:
        found.story.workload = root
    try:
        found.story.pods = pods_of(cluster, job_of(root), pod_label)
    except ClusterError as error:
        if error.why is not Why.FORBIDDEN:
            raise
        found.refused["pods"] = error.said
    return found


def _add_events(cluster: Cluster, scope: str, by_uid: Mapping[str, list[Gathered]], found: Iterable[Gathered]) -> None:
    try:
        for event in cluster.list(EVENT, scope):
            for item in by_uid.get(text(event, "involvedObject", "uid") or "", ()):
                item.events.append(event)
    except ClusterError as error:
        for item in found:
            item.refused["events"] = error.said


def _add_nodes(cluster: Cluster, by_node: Mapping[str, list[Gathered]], found: Iterable[Gathered]) -> None:
    if not by_node:
        return
    try:
        for node in by_node:
            thing = cluster.get(NODE, None, node)
            for item in by_node[node]:
                if thing is not None:
                    item.nodes[node] = thing
    except ClusterError as error:
        for item in found:
            item.refused["nodes"] = error.said
    try:
        for event in cluster.list(EVENT, _NODE_EVENTS, fields="involvedObject.kind=Node"):
            for item in by_node.get(text(event, "involvedObject", "name") or "", ()):
                item.node_events.append(event)
    except ClusterError as error:
        for item in found:
            item.refused["node events"] = error.said


# --- one attempt ------------------------------------------------------------------------------------------------------


def attempt_of(found: Gathered, stretch: Stretch, earlier: Sequence[Stretch], recorder: Recorder | None) -> Attempt:
    """The attempt that a stretch of a story is, with its evidence."""
    root = found.story.root
    after = max((past.ended_at for past in earlier if past.ended_at), default=None)
    pods = _pods(found, stretch, after, recorder)
    started = stretch.started_at or (recorder.begin(uid(root), stretch.number) if recorder else None)
    started = started or _first_start(pods)
    if started and stretch.ended_at and started > stretch.ended_at:
        started = None
    placement = placed(pods, root)
    context = _context(found, stretch, placement, pods, started, earlier)
    evidence = tuple(_evidence(found, stretch, pods, _span(stretch, after, started)))
    where = f"{kind(root)} {namespace(root)}/{name(root)}"
    return Attempt(context, where, evidence=evidence)


def _span(
    stretch: Stretch, after: datetime | None, started: datetime | None
) -> tuple[datetime | None, datetime | None]:
    """When the events of an attempt were seen: after the last of the eviction before it, until its own."""
    begin = after + _ECHO if after else started - _MARGIN if started else None
    margin = _MARGIN if stretch.is_current else _ECHO
    return begin, stretch.ended_at + margin if stretch.ended_at else None


def _pods(found: Gathered, stretch: Stretch, after: datetime | None, recorder: Recorder | None) -> list[Seen]:
    """The pods of an attempt: those that are there, if it is the last, and those that are remembered."""
    now: list[Seen] = []
    if stretch.is_current:
        now = [own for own in seen(found.story.pods, found.story.root) if _is_younger(own.pod, after)]
    remembered = recorder.pods(uid(found.story.root), stretch.number) if recorder else []
    known = {uid(own.pod) for own in now}
    return sorted((*now, *(own for own in remembered if uid(own.pod) not in known)), key=lambda own: name(own.pod))


def _is_younger(pod: Object, after: datetime | None) -> bool:
    created = instant(pod, "metadata", "creationTimestamp") or instant(pod, "status", "startTime")
    return after is None or created is None or created >= after


def _first_start(pods: Sequence[Seen]) -> datetime | None:
    return earliest([instant(own.pod, "status", "startTime") for own in pods])


def _context(
    found: Gathered,
    stretch: Stretch,
    placement: Placement,
    pods: Sequence[Seen],
    started: datetime | None,
    earlier: Sequence[Stretch],
) -> ExecutionContext:
    root, workload = found.story.root, found.story.workload
    code, signal = exit_of([own.pod for own in pods])
    ids = {
        "namespace": namespace(root),
        "name": name(root),
        "uid": uid(root),
        "kind": kind(root),
        "api_version": text(root, "apiVersion") or "",
        "workload": name(workload) if workload is not None else "",
    }
    words = ": ".join(filter(None, (stretch.reason, stretch.message)))
    return ExecutionContext(
        workload_id=workload_id(root),
        attempt=stretch.number,
        scheduler=Scheduler.KUEUE if workload is not None else Scheduler.KUBERNETES,
        scheduler_ids={key: value for key, value in ids.items() if value},
        name=name(root) or None,
        framework=_FRAMEWORKS.get(kind(root)),
        launch_command=_command(found, pods),
        submitted_at=instant(root, "metadata", "creationTimestamp"),
        started_at=started,
        ended_at=stretch.ended_at,
        scheduler_state=stretch.state,
        exit_code=code,
        signal=signal,
        reason=one_line(words, 400) or None,
        nodes=placement.nodes,
        nranks=placement.nranks,
        ranks_per_node=placement.ranks_per_node,
        previous_attempts=tuple(past.told for past in earlier),
        inferred=placement.inferred,
        partial=_partial(found, stretch, pods, earlier),
    )


def _partial(found: Gathered, stretch: Stretch, pods: Sequence[Seen], earlier: Sequence[Stretch]) -> str | None:
    """What of the attempt is not known any more."""
    expected = expected_pods(found.story.root)
    missing = []
    if stretch.standing is Standing.WAITING:
        return None
    if "pods" in found.refused:
        missing.append(f"its pods may not be listed, so its nodes and ranks are not known ({found.refused['pods']})")
    elif not pods:
        unread = _unread_kind(found.story.root)
        why = f"it is a {unread}, whose pods are not read" if unread else "its pods are gone"
        missing.append(f"{why}, so its nodes and ranks are not known")
    elif not any(text(own.pod, "spec", "nodeName") for own in pods):
        missing.append("none of its pods was placed on a node")
    elif expected and len(pods) < expected:
        missing.append(f"{len(pods)} of its {expected} pods are known, so nodes and ranks may be missing")
    unknown = stretch.number - 1 - len(earlier)
    if unknown > 0:
        words = "attempt is" if unknown == 1 else "attempts are"
        missing.append(f"{unknown} earlier {words} only counted by the scheduler")
    return "; ".join(missing) or None


def _unread_kind(root: Object) -> str | None:
    """The kind of the job that a Workload stands for, where that is none of those that are read."""
    own = next(iter(owners(root)), None) if kind(root) == "Workload" else None
    found = text(own, "kind")
    return found if found is not None and found not in BY_KIND else None


def _command(found: Gathered, pods: Sequence[Seen]) -> str | None:
    """What the containers run, with what looks like a secret masked."""
    specs = [at(pod, "spec") for pod in found.story.pods]
    specs += [at(found.story.root, "spec", "template", "spec")]
    specs += [at(part, "template", "spec") for part in things(found.story.root, "spec", "podSets")]
    command = next((line for spec in specs if (line := command_of(spec))), None)
    return None if command is None else shown_command(command)


# --- exit codes -------------------------------------------------------------------------------------------------------

_NOT_ITS_OWN = frozenset({"ContainerStatusUnknown"})
"""Reasons of an end that the node did not see, whose exit code is made up."""


def exit_of(pods: Iterable[Object]) -> tuple[int | None, int | None]:
    """The exit code, and the signal if it was one, of the container that failed first; 0 where all ended well."""
    ends = [end for pod in pods for end in _ends(pod)]
    failed = sorted((end for end in ends if end[1] != 0), key=lambda end: (end[0] is None, end[0] or _NEVER, end[2]))
    if failed:
        code = failed[0][1]
        return code, code - 128 if 128 < code <= 128 + 64 else None
    return (0, None) if ends else (None, None)


_NEVER = datetime.max.replace(tzinfo=UTC)


def _ends(pod: Object) -> Iterator[tuple[datetime | None, int, str]]:
    """When each container of a pod ended, its exit code and the pod's name; a pod that runs on has no end yet."""
    for status in things(pod, "status", "containerStatuses"):
        state = at(status, "state", "terminated") or at(status, "lastState", "terminated")
        code = number(state, "exitCode")
        if code is not None and text(state, "reason") not in _NOT_ITS_OWN and -(2**31) <= code < 2**32:
            yield instant(state, "finishedAt"), code, name(pod)


# --- evidence ---------------------------------------------------------------------------------------------------------


def _evidence(
    found: Gathered, stretch: Stretch, pods: Sequence[Seen], span: tuple[datetime | None, datetime | None]
) -> Iterator[Observation]:
    """The objects, pods, events and nodes. Of an earlier attempt the objects say nothing: they went on."""
    if stretch.is_current:
        yield from observations("objects", found.story.objects, "the cluster does not keep the job any more")
    yield from _kept(found, "pods", (own.pod for own in pods), "the pods are gone")
    uids = {uid(own.pod) for own in pods}
    events = [event for event in _in_time(found.events, span) if _belongs(event, uids)]
    yield from _kept(found, "events", events, "the cluster keeps no event of it, or none any more")
    on = {node for own in pods if (node := text(own.pod, "spec", "nodeName"))}
    if not on:
        return
    nodes = (found.nodes[node] for node in sorted(found.nodes) if node in on)
    yield from _kept(found, "nodes", nodes, "the cluster does not have these nodes any more")
    events = [e for e in _in_time(found.node_events, span) if text(e, "involvedObject", "name") in on]
    if events or "node events" in found.refused:  # most nodes have none, and that is well
        yield from _kept(found, "node events", events, "")


def _kept(found: Gathered, stream: str, objects: Iterable[Object], none: str) -> Iterator[Observation]:
    if stream in found.refused:
        yield told(stream, Status.ERROR, found.refused[stream])
    else:
        yield from observations(stream, objects, none)


def _belongs(event: Object, pods: set[str]) -> bool:
    """Events of pods of another attempt are not this one's."""
    return text(event, "involvedObject", "kind") != "Pod" or text(event, "involvedObject", "uid") in pods


def _in_time(events: Iterable[Object], span: tuple[datetime | None, datetime | None]) -> Iterator[Object]:
    """The events that were seen within a span, in the order of their last time."""
    after, until = span
    for event in sorted(events, key=lambda e: (event_times(e)[1] or _NEVER, name(e))):
        first, last, _ = event_times(event)
        if (after is None or last is None or last >= after) and (until is None or first is None or first <= until):
            yield event
