"""A cluster in memory: its API over HTTP as a real one answers it, and a `kubectl` that asks it."""

import base64
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from attribution.testing import Reply, Request, Server

Thing = dict[str, Any]

GROUPS = {
    "batch": ["v1"],
    "kueue.x-k8s.io": ["v1beta2", "v1beta1"],
    "jobset.x-k8s.io": ["v1alpha2"],
    "kubeflow.org": ["v1"],
    "trainer.kubeflow.org": ["v1alpha1"],
    "ray.io": ["v1"],
}
PLURALS = {
    "Pod": "pods",
    "Event": "events",
    "Node": "nodes",
    "Workload": "workloads",
    "Job": "jobs",
    "JobSet": "jobsets",
    "PyTorchJob": "pytorchjobs",
    "TrainJob": "trainjobs",
    "RayJob": "rayjobs",
    "RayCluster": "rayclusters",
}
TOKEN = "a-token-of-the-test"
BOTH_WAYS = pytest.mark.parametrize("reached", [pytest.param("kubectl", marks=pytest.mark.slow), "api"], indirect=True)
"""What depends on how a cluster is asked. `kubectl` is a process for each request, so all else goes by the API."""


@dataclass
class Cluster:
    """Objects, logs and rights. `denied` holds `verb plural[/part]`; `ages` how many lists expire after a page."""

    objects: list[Thing] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=lambda: dict(GROUPS))
    denied: set[str] = field(default_factory=set)
    logs: dict[str, Reply] = field(default_factory=dict)
    ages: int = 0
    token: str | None = TOKEN
    created: list[Thing] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)

    def add(self, *things: Thing) -> "Cluster":
        self.objects += things
        return self

    def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        if self.token is not None and request.headers.get("authorization") != f"Bearer {self.token}":
            return status(401, "Unauthorized", "Unauthorized")
        parts = request.path.strip("/").split("/")
        if parts[:2] == ["apis", "authorization.k8s.io"]:
            return self._review(json.loads(request.body))
        if parts[0] == "apis" and len(parts) == 2:
            return self._group(parts[1])
        group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
        version = f"{group}/{parts[2]}" if group else parts[1]
        scope = None
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            scope, rest = rest[1], rest[2:]
        return self._answer(request, version, group, scope, rest)

    def _answer(self, request: Request, version: str, group: str, scope: str | None, rest: list[str]) -> Reply:
        plural, name, part = (*rest, None, None)[:3]
        verb = "create" if request.method == "POST" else "get" if name else "list"
        if (f"{verb} {plural}" + (f"/{part}" if part else "")) in self.denied:
            return forbidden(verb, f"{plural}/{part}" if part else str(plural), group, scope)
        if group and version.partition("/")[2] not in self.groups.get(group, []):
            return status(404, "NotFound", "the server could not find the requested resource")
        if verb == "create":
            return self._create(json.loads(request.body), str(plural))
        if part == "log":
            return self._log(request, scope, str(name))
        found = [t for t in self.objects if PLURALS[t["kind"]] == plural and _group_of(t) == group]
        if scope is not None:
            found = [thing for thing in found if thing["metadata"].get("namespace") == scope]
        if name is None:
            return self._page(request, [_as(thing, version) for thing in found if _selected(thing, request.params)])
        for thing in found:
            if thing["metadata"]["name"] == name:
                return Reply(body=json.dumps(_as(thing, version)))
        return status(404, "NotFound", f'{plural} "{name}" not found')

    def _group(self, group: str) -> Reply:
        if group not in self.groups:
            return status(404, "NotFound", "the server could not find the requested resource")
        versions = [{"groupVersion": f"{group}/{v}", "version": v} for v in self.groups[group]]
        return Reply(body=json.dumps({"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": versions}))

    def _page(self, request: Request, found: list[Thing]) -> Reply:
        """A page of a list. Its items do not say their kind, as those of a real server do not."""
        limit = int(request.params.get("limit", "0")) or len(found)
        mark = request.params.get("continue")
        start = 0
        if mark:
            try:
                start, is_fresh = json.loads(base64.urlsafe_b64decode(mark))
            except ValueError:
                return status(400, "BadRequest", "invalid continue token: continue key is not valid")
            if self.ages and is_fresh:
                self.ages -= 1
                words = "The provided continue parameter is too old to display a consistent list result."
                return status(410, "Expired", words, **{"continue": _mark(start, False)})
        metadata: Thing = {"resourceVersion": "7"}
        if start + limit < len(found):
            metadata |= {"continue": _mark(start + limit, True), "remainingItemCount": len(found) - start - limit}
        items = [{k: v for k, v in t.items() if k not in {"kind", "apiVersion"}} for t in found[start : start + limit]]
        return Reply(body=json.dumps({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}))

    def _log(self, request: Request, scope: str | None, pod: str) -> Reply:
        if not any(t["kind"] == "Pod" and t["metadata"]["name"] == pod for t in self.objects):
            return status(404, "NotFound", f'pods "{pod}" not found')
        container = request.params["container"]
        is_previous = request.params.get("previous") == "true"
        reply = self.logs.get(f"{pod}/{container}" + (" (previous)" if is_previous else ""))
        if reply is None and is_previous:
            words = f'previous terminated container "{container}" in pod "{pod}" not found'
            return status(400, "BadRequest", words)
        if reply is None:
            return Reply(content_type="text/plain")
        if reply.status != 200 or reply.endless:
            return reply
        lines = reply.data.decode("utf-8", "surrogateescape").splitlines(keepends=True)
        since = request.params.get("sinceTime")
        lines = [line for line in lines if since is None or line[:19] >= since[:19]]
        if "tailLines" in request.params:
            lines = lines[-int(request.params["tailLines"]) :]
        data = "".join(lines).encode("utf-8", "surrogateescape")
        data = data[: int(request.params["limitBytes"])] if "limitBytes" in request.params else data
        return Reply(body=data, content_type="text/plain")

    def _create(self, thing: Thing, plural: str) -> Reply:
        name = thing["metadata"]["name"]
        if any(known["metadata"]["name"] == name for known in self.created):
            return status(409, "AlreadyExists", f'{plural} "{name}" already exists')
        self.created.append(thing)
        return Reply(201, json.dumps(thing))

    def _review(self, review: Thing) -> Reply:
        asked = review["spec"]["resourceAttributes"]
        part = f"/{asked['subresource']}" if asked.get("subresource") else ""
        allowed = f"{asked['verb']} {asked['resource']}{part}" not in self.denied
        return Reply(201, json.dumps(review | {"status": {"allowed": allowed}}))


def _mark(start: int, is_fresh: bool) -> str:
    return base64.urlsafe_b64encode(json.dumps([start, is_fresh]).encode()).decode()


def _group_of(thing: Thing) -> str:
    return thing["apiVersion"].partition("/")[0] if "/" in thing["apiVersion"] else ""


def _as(thing: Thing, version: str) -> Thing:
    return thing | {"apiVersion": version}


def _selected(thing: Thing, params: Mapping[str, str]) -> bool:
    labels = thing["metadata"].get("labels", {})
    for term in filter(None, params.get("labelSelector", "").split(",")):
        key, given, value = term.partition("=")
        if key not in labels or (given and labels[key] != value):
            return False
    for term in filter(None, params.get("fieldSelector", "").split(",")):
        path, _, value = term.partition("=")
        held: Any = thing
        for key in path.split("."):
            held = held.get(key, {})
        if held != value:
            return False
    return True


def status(code: int, reason: str, message: str, **metadata: str) -> Reply:
    """An error as an API server writes it."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
    return Reply(code, json.dumps(body | {"message": message, "reason": reason, "code": code}))


def forbidden(verb: str, resource: str, group: str, scope: str | None) -> Reply:
    full = f"{resource}.{group}" if group else resource
    where = f'in the namespace "{scope}"' if scope else "at the cluster scope"
    words = f'{full} is forbidden: User "reader" cannot {verb} resource "{resource}" in API group "{group}" {where}'
    return status(403, "Forbidden", words)


def stamped(lines: Iterable[str], minute: int = 2) -> str:
    """A log as a kubelet gives it with time stamps."""
    return "".join(f"2026-05-04T03:{minute:02d}:{n % 60:02d}.{n:09d}Z {line}\n" for n, line in enumerate(lines))


_KUBECTL = '''\
#!{python} -IS
"""Asks the double as kubectl asks a server, and prints what kubectl prints. It starts fast: tests start it often."""
import json, socket, sys
arguments = sys.argv[1:]
with open({calls!r}, "a") as calls:
    calls.write(json.dumps(arguments) + "\\n")
path = arguments[arguments.index("--raw") + 1]
body = sys.stdin.buffer.read() if "create" in arguments else b""
method = "POST" if "create" in arguments else "GET"
head = "%s %s HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer %s\\r\\n"
head += "Connection: close\\r\\nContent-Length: %d\\r\\n\\r\\n"
try:
    server = socket.create_connection(({host!r}, {port}))
except OSError:
    for n in range(5):
        sys.stderr.write('E0504 03:00:00.123456    77 memcache.go:265] "Unhandled Error" err="no group list"\\n')
    sys.exit("The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?")
server.sendall((head % (method, path, {token!r}, len(body))).encode() + body)
answer = server.makefile("rb")
code = int(answer.readline().split()[1])
left = 0
while (line := answer.readline().strip()):
    if line.lower().startswith(b"content-length:"):
        left = int(line.split(b":")[1])
if 200 <= code < 300:
    while piece := answer.read1(65536):
        left -= len(piece)
        sys.stdout.buffer.write(piece)
        sys.stdout.flush()
    sys.exit("error: unexpected EOF" if left > 0 else 0)
status = json.loads(answer.read())
if code == 401:
    sys.exit("error: You must be logged in to the server (Unauthorized)")
reason = status["reason"]
if reason == "Forbidden" and "/log?" not in path:
    print('{{"apiVersion": "v1", "items": [], "kind": "List", "metadata": {{"resourceVersion": ""}}}}')
sys.exit("Error from server" + (" (%s)" % reason if reason else "") + ": " + status["message"])
'''


class FakeKubectl:
    """An executable `kubectl` in a folder. `calls` are the arguments of each call."""

    def __init__(self, folder: Path, url: str, token: str = TOKEN) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._calls = folder / "calls.jsonl"
        self.path = folder / "kubectl"
        host, _, port = url.removeprefix("http://").partition(":")
        filled = _KUBECTL.format(python=sys.executable, calls=str(self._calls), token=token, host=host, port=int(port))
        self.path.write_text(filled)
        self.path.chmod(0o755)

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self._calls.read_text().splitlines()] if self._calls.exists() else []


@dataclass
class Reached:
    """A cluster, and the settings by which a connector reaches it."""

    cluster: Cluster
    server: Server
    settings: dict[str, Any]
