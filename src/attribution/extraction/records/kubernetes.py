"""Objects of Kubernetes and Kueue as sentences: pods, jobs of every kind, workloads, nodes and events."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from attribution.extraction.records.told import Placed, Places, Told, Unreadable, mapping, objects, plain

_Object = Mapping[str, Any]

MAX_DEPTH = 4
"""Lists within lists that are opened."""

MAX_TAIL = 40
"""Last lines of a message that are told each by itself: containers leave the end of their log there."""

_QUIET_WAITS = frozenset({"ContainerCreating", "PodInitializing"})
_DECISIVE = {
    "Workload": ("Finished", "Evicted", "Preempted", "PodsReady", "QuotaReserved", "Admitted"),
    "Pod": ("DisruptionTarget", "PodScheduled", "Ready"),
}
"""Conditions that are told; of jobs of every other kind all are, but for those of their beginning."""
_BEGINNING = frozenset({"Created", "Queued", "StartupPolicyCompleted", "StartupPolicyInProgress"})
_STATUS_KINDS = ("jobStatus", "jobDeploymentStatus")


def objects_of(body: bytes) -> Iterator[Told]:
    """The sentences of what `kubectl get -o json` prints: an object, a list of any kinds, or one of either a line."""
    for placed in _documents(body):
        thing = placed.decode()
        tell = _TELLERS.get(str(thing.get("kind")), _job)
        began = _word(mapping(thing.get("status")).get("startTime")) if thing.get("kind") == "Pod" else None
        for told in tell(thing):
            attempt = "pods" if began else None
            yield replace(told, offset=placed.offset, line=placed.line, attempt=attempt, began=began)


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


_ITEMS = msgspec.json.Decoder(_List)
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_RAW = msgspec.json.Decoder(msgspec.Raw)


def _documents(body: bytes) -> Iterator[Placed]:
    """Every object that is no list, with its place. Raises Unreadable."""
    places = Places(body)
    try:
        whole = [_RAW.decode(body)]
    except (msgspec.DecodeError, RecursionError) as error:
        try:  # one document a line, as watches print them
            whole = [_RAW.decode(line) for line in body.split(b"\n") if line.strip()]
        except (msgspec.DecodeError, RecursionError):
            raise Unreadable(f"cannot be read as objects of Kubernetes: {error}") from None
    for raw in whole:
        yield from places.place(_opened(raw, MAX_DEPTH))


def _opened(raw: msgspec.Raw, depth: int) -> Iterator[msgspec.Raw]:
    data = bytes(raw).lstrip()
    try:
        inner = _ARRAY.decode(data) if data[:1] == b"[" else _ITEMS.decode(data).items if depth else None
    except (msgspec.DecodeError, RecursionError):
        inner = None
    if inner is None:
        yield raw
        return
    for item in inner:
        yield from _opened(item, depth - 1)


# --- kinds ----------------------------------------------------------------------------------------------------------


def _pod(pod: _Object) -> Iterator[Told]:
    status, node = mapping(pod.get("status")), _word(mapping(pod.get("spec")).get("nodeName"))
    name = f"pod/{_name(pod)}"
    if reason := _word(status.get("reason")):
        yield Told(
            f"{name} {_word(status.get('phase')) or ''}, reason: {reason}: {plain(status.get('message'))}", node=node
        )
    for condition in _conditions(pod, "Pod"):
        at = _word(condition.get("lastTransitionTime"))
        yield Told(f"{name} {_condition(condition)}", at=at, node=node)
    for group in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for container in objects(status.get(group)):
            yield from _container(name, container, node)


def _container(name: str, container: _Object, node: str | None) -> Iterator[Told]:
    title = f"{name} container {plain(container.get('name'), 64)}"
    for key, when in (("lastState", " before"), ("state", "")):
        state = mapping(container.get(key))
        waiting, ended, running = (mapping(state.get(word)) for word in ("waiting", "terminated", "running"))
        if waiting and _word(waiting.get("reason")) not in _QUIET_WAITS:
            yield Told(
                f"{title} waits, reason: {_word(waiting.get('reason'))}: {plain(waiting.get('message'))}", node=node
            )
        if running:
            yield Told(f"{title} runs", at=_word(running.get("startedAt")), node=node)
        if ended:
            at = _word(ended.get("finishedAt"))
            signal = f", signal {ended['signal']}" if isinstance(ended.get("signal"), int) else ""
            words = (
                f"{title} ended{when}, reason: {_word(ended.get('reason'))}, exit code {ended.get('exitCode')}{signal}"
            )
            yield Told(words, at=at, node=node)
            yield from _tail(ended.get("message"), at, node)


def _tail(message: Any, at: str | None, node: str | None) -> Iterator[Told]:
    """The last lines of a message, each as it is: they are lines of the job's own log."""
    lines = [line.rstrip() for line in message.split("\n") if line.strip()] if isinstance(message, str) else []
    for line in lines[-MAX_TAIL:]:
        yield Told(line[:2000], at=at, node=node)


def _node(thing: _Object) -> Iterator[Told]:
    name = _word(mapping(thing.get("metadata")).get("name"))
    for condition in objects(mapping(thing.get("status")).get("conditions")):
        healthy = condition.get("status") == ("True" if condition.get("type") == "Ready" else "False")
        unknown = condition.get("status") == "Unknown" and condition.get("type") != "Ready"
        if not healthy and not unknown:
            yield Told(f"Node {_condition(condition)}", at=_word(condition.get("lastTransitionTime")), node=name)


def _event(event: _Object) -> Iterator[Told]:
    about, source = mapping(event.get("involvedObject") or event.get("regarding")), mapping(event.get("source"))
    kind, name = _word(about.get("kind")) or "object", plain(about.get("name"), 253)
    series, message = mapping(event.get("series")), event.get("message") or event.get("note")
    first = _word(event.get("firstTimestamp")) or _word(event.get("eventTime")) or _created(event)
    last = _word(series.get("lastObservedTime")) or _word(event.get("lastTimestamp")) or first
    count = next((n for n in (series.get("count"), event.get("count")) if isinstance(n, int) and 0 < n < 10**9), 1)
    node = name if kind == "Node" else _word(source.get("host"))
    words = (
        f"{_word(event.get('type')) or 'Normal'} {_word(event.get('reason'))} {kind.lower()}/{name} {plain(message)}"
    )
    if count > 1:
        words += f" (x{count} until {last})"
    yield Told(words, at=first, until=last, count=count, node=node)


def _job(thing: _Object) -> Iterator[Told]:
    """Jobs of every kind: what their conditions say, and for those that have none, their state."""
    kind, status = plain(thing.get("kind"), 64), mapping(thing.get("status"))
    if not kind or kind == "List" or not status:
        return
    name = f"{kind} {_name(thing)}"
    for condition in _conditions(thing, kind):
        at = _word(condition.get("lastTransitionTime")) or _word(condition.get("lastUpdateTime"))
        yield Told(f"{name} {_condition(condition)}", at=at)
    state = " ".join(f"{key}={word}" for key in _STATUS_KINDS if (word := _word(status.get(key))))
    if state:
        at = _word(status.get("endTime"))
        first, _, rest = status["message"].partition("\n") if isinstance(status.get("message"), str) else ("", "", "")
        reason = f" {word}:" if (word := _word(status.get("reason"))) else ""
        yield Told(f"{name} {state}{reason} {plain(first)}", at=at)
        yield from _tail(rest, at, None)
    for unhealthy in objects(status.get("unhealthyNodes")):
        if node := _word(unhealthy.get("name")):
            yield Told(f"{name} unhealthyNodes: {node}", node=node)
    if isinstance(ready := status.get("ready"), int) and ready > 0:
        yield Told(f"{name} has {ready} ready pods", at=_word(status.get("startTime")))


_TELLERS: Mapping[str, Callable[[_Object], Iterator[Told]]] = {"Pod": _pod, "Node": _node, "Event": _event}


# --- small help -----------------------------------------------------------------------------------------------------


def _conditions(thing: _Object, kind: str) -> Iterator[_Object]:
    """The conditions that tell how the thing stands or ended, in the order given."""
    decisive = _DECISIVE.get(kind)
    for condition in objects(mapping(thing.get("status")).get("conditions")):
        name = _word(condition.get("type"))
        if name in decisive if decisive else name not in _BEGINNING:
            yield condition


def _condition(condition: _Object) -> str:
    message = plain(condition.get("message"))
    if condition.get("status") == "False" and message.startswith("Previously: "):
        message = "this was true of an earlier attempt"
    parts = (_word(condition.get("reason")), message)
    return f"{_word(condition.get('type'))}={_word(condition.get('status'))} " + ": ".join(p for p in parts if p)


def _name(thing: _Object) -> str:
    metadata = mapping(thing.get("metadata"))
    return "/".join(filter(None, (plain(metadata.get("namespace"), 63), plain(metadata.get("name"), 253))))


def _created(thing: _Object) -> str | None:
    return _word(mapping(thing.get("metadata")).get("creationTimestamp"))


def _word(value: Any) -> str | None:
    """A short text without blanks; None where there is none."""
    words = plain(value, 253)
    return words.replace(" ", "_") if words else None
