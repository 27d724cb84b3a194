"""Lists, objects, logs and rights of one cluster, whichever transport carries the requests."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import tenacity

from attribution.blueprint.connectors.base import Halted, never
from attribution.blueprint.connectors.kubernetes.failures import PASSING, ClusterError, Why
from attribution.blueprint.connectors.kubernetes.objects import Object, uid
from attribution.blueprint.connectors.kubernetes.resources import POD, Resource
from attribution.blueprint.connectors.kubernetes.transport import Transport

_NAME = re.compile(r"[a-z0-9]([a-z0-9.:-]*[a-z0-9])?")
_ACCESS_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_LONGEST_WAIT_SECS = 10.0


class Cluster:
    """A client. Calls that fail for a reason that may pass are tried again for `retry_secs`; all raise ClusterError."""

    def __init__(
        self,
        transport: Transport,
        timeout_secs: float = 30.0,
        retry_secs: float = 30.0,
        page_objects: int = 500,
        answer_bytes: int = 64 << 20,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transport = transport
        self._timeout_secs = timeout_secs
        self._retry_secs = retry_secs
        self._page_objects = page_objects
        self._answer_bytes = answer_bytes
        self._sleep = sleep
        self._lock = threading.Lock()
        self._versions: dict[str, str | None] = {}

    @property
    def name(self) -> str:
        """How messages name the way to the cluster."""
        return self._transport.name

    def close(self) -> None:
        """Close the transport."""
        self._transport.close()

    def serves(self, resource: Resource) -> bool:
        """Whether the cluster knows this kind of object."""
        return self._version(resource) is not None

    def list(
        self, resource: Resource, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> Iterator[Object]:
        """The objects of one kind, page by page, each once; none where the cluster does not know the kind.

        Without a namespace, those of all. A list that becomes too old while it is read goes on from where the server
        says, or begins again: what was changed meanwhile may be missing or be there in its newer form.
        """
        version = self._version(resource)
        if version is None:
            return
        path = resource.path(version, _safe(namespace))
        query = {"limit": str(self._page_objects)}
        query |= {"labelSelector": labels} if labels else {}
        query |= {"fieldSelector": fields} if fields else {}
        seen: set[str] = set()
        restarts = 0
        mark: str | None = None
        while True:
            try:
                page = self._get(path, query | ({"continue": mark} if mark else {}))
            except ClusterError as error:
                if error.why is Why.MISSING and mark is None and resource.group:
                    return  # its group is there, with other kinds only
                if error.why is not Why.EXPIRED or mark is None or restarts == 3:
                    raise
                restarts, mark = restarts + 1, error.resume
                continue
            for item in _items(page):
                if not (own := uid(item)) or own not in seen:
                    seen |= {own} if own else set()
                    yield {"apiVersion": _api_version(resource, version), "kind": resource.kind, **item}
            metadata = page.get("metadata")
            mark = metadata.get("continue") if isinstance(metadata, dict) else None
            if not isinstance(mark, str) or not mark:
                return

    def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """One object, or None if there is none of that name."""
        version = self._version(resource)
        if version is None:
            return None
        try:
            found = self._get(resource.path(version, _safe(namespace), _safe(name)), {})
        except ClusterError as error:
            if error.why is Why.MISSING:
                return None
            raise
        return {"apiVersion": _api_version(resource, version), "kind": resource.kind, **found}

    def log(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        previous: bool = False,
        since: str | None = None,
        limit_bytes: int | None = None,
        tail_lines: int | None = None,
        halted: Halted = never,
    ) -> Iterator[bytes]:
        """The log of a container with a time stamp before each line, in pieces as they come."""
        query = {"container": container, "timestamps": "true"}
        query |= {"previous": "true"} if previous else {}
        query |= {"sinceTime": since} if since else {}
        query |= {"limitBytes": str(limit_bytes)} if limit_bytes is not None else {}
        query |= {"tailLines": str(tail_lines)} if tail_lines is not None else {}
        path = POD.path("v1", _safe(namespace), _safe(pod), "log")
        return self._transport.send(path, query, secs=self._timeout_secs, idle=True, halted=halted)

    def create(self, resource: Resource, namespace: str, thing: Mapping[str, Any]) -> None:
        """Write a new object. Raises ClusterError, of kind EXISTS where the name is taken."""
        version = self._version(resource) or resource.versions[0]
        self._post(resource.path(version, _safe(namespace)), thing)

    def may(self, verb: str, resource: Resource, namespace: str | None, part: str = "") -> bool:
        """Whether whoever asks has a right, as the cluster says."""
        attributes = {"verb": verb, "group": resource.group, "resource": resource.plural, "subresource": part}
        spec = {"resourceAttributes": attributes | ({"namespace": namespace} if namespace else {})}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
        status = self._post(_ACCESS_REVIEW, review).get("status")
        return isinstance(status, dict) and status.get("allowed") is True

    # --- requests -----------------------------------------------------------------------------------------------------

    def _version(self, resource: Resource) -> str | None:
        """The first of the versions that the cluster serves; asked once."""
        if not resource.group:
            return resource.versions[0]
        with self._lock:
            if resource.group not in self._versions:
                self._versions[resource.group] = None
                try:
                    group = self._get(f"/apis/{resource.group}", {})
                except ClusterError as error:
                    if error.why is Why.FORBIDDEN:  # who may not ask what there is may still read it
                        self._versions[resource.group] = "*"
                    elif error.why is not Why.MISSING:
                        del self._versions[resource.group]
                        raise
                else:
                    versions = group.get("versions")
                    named = versions if isinstance(versions, list) else []
                    found = [str(item.get("version")) for item in named if isinstance(item, dict)]
                    self._versions[resource.group] = ",".join(found)
            served = self._versions[resource.group]
        if served is None:
            return None
        known = resource.versions if served == "*" else tuple(v for v in resource.versions if v in served.split(","))
        return known[0] if known else None

    def _get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        return self._tried(lambda: self._whole(path, query, None))

    def _post(self, path: str, thing: Mapping[str, Any]) -> dict[str, Any]:
        body = json.dumps(thing, ensure_ascii=False).encode()
        return self._tried(lambda: self._whole(path, {}, body))

    def _tried(self, call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        policy = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, ClusterError) and error.why in PASSING),
            stop=tenacity.stop_before_delay(self._retry_secs),
            wait=_wait,
            sleep=self._sleep,
            reraise=True,
        )
        return policy(call)

    def _whole(self, path: str, query: Mapping[str, str], body: bytes | None) -> dict[str, Any]:
        held = bytearray()
        try:
            for piece in self._transport.send(path, query, body, secs=self._timeout_secs):
                held += piece
                if len(held) > self._answer_bytes:
                    remedy = "ask for fewer objects with `page_objects`, or raise `answer_bytes`"
                    raise ClusterError(
                        Why.TOO_LARGE, f"answered more than {self._answer_bytes} bytes ({remedy})", has_remedy=True
                    )
        except ClusterError as error:
            error.path = path
            raise
        try:
            found = json.loads(bytes(held))
        except (ValueError, RecursionError):
            raise ClusterError(Why.UNREADABLE, f"answered {path} with something that is no JSON") from None
        if not isinstance(found, dict):
            raise ClusterError(Why.UNREADABLE, f"answered {path} with something that is no object")
        return found


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait_secs if isinstance(error, ClusterError) else None
    return asked if asked is not None else min(0.25 * 2.0 ** (state.attempt_number - 1), _LONGEST_WAIT_SECS)


def _items(page: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    items = page.get("items")
    if items is None and "items" not in page:
        raise ClusterError(Why.UNREADABLE, "answered a list with something that is none")
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            yield item


def _api_version(resource: Resource, version: str) -> str:
    return f"{resource.group}/{version}" if resource.group else version


def _safe(name: str | None) -> str | None:
    """A name that may stand in a path. Names of objects have this form; anything else was never one."""
    if name is not None and not _NAME.fullmatch(name):
        raise ClusterError(Why.REFUSED, f"`{name[:80]}` is no name of an object")
    return name and quote(name, safe=".:-")
