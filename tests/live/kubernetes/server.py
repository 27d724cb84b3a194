"""etcd, a kube-apiserver and a kubelet that only has logs, on loopback; nothing else, so nothing changes by itself."""

import json
import os
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.servers.processes import LabError, end, pid_of, run, wait_for

Thing = dict[str, Any]
ADMIN, READER, NOBODY = "admin", "reader", "nobody"
USERS = (ADMIN, READER, NOBODY)
NODES = ("node-01", "node-02")

_KINDS = {
    "Workload": ("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "workloads"),
    "JobSet": ("jobset.x-k8s.io", ("v1alpha2",), "jobsets"),
    "PyTorchJob": ("kubeflow.org", ("v1",), "pytorchjobs"),
    "TrainJob": ("trainer.kubeflow.org", ("v1alpha1",), "trainjobs"),
    "RayJob": ("ray.io", ("v1",), "rayjobs"),
    "RayCluster": ("ray.io", ("v1",), "rayclusters"),
}
_PATHS = {"Job": "apis/batch/v1/{scope}jobs", "Node": "api/v1/nodes", "Namespace": "api/v1/namespaces"}


class KubernetesServer:
    """The servers in a folder, at ports that were free. What they do not set of an object's status, tests set."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.logs = folder / "podlogs"
        self._program = program
        self._started: list[subprocess.Popen[bytes]] = []
        self._api, self._etcd, self._peer, self.kubelet_port = _free_ports(4)

    @property
    def url(self) -> str:
        """The address of the API."""
        return f"https://127.0.0.1:{self._api}"

    @property
    def ca(self) -> Path:
        """The certificate that it is trusted by."""
        return self.folder / "tls.crt"

    def token(self, user: str) -> Path:
        """The file with the token of a user."""
        return self.folder / f"{user}.token"

    def kubeconfig(self, user: str) -> Path:
        """The file by which `kubectl` asks as a user."""
        return self.folder / f"{user}.kubeconfig"

    def start(self) -> None:
        """Start all, and make the kinds, nodes and rights that the tests use. Raises LabError."""
        self._write_files()
        etcd = f"http://127.0.0.1:{self._etcd}"
        peer = f"http://127.0.0.1:{self._peer}"
        self._spawn("etcd", ["etcd", *_flags(
            data_dir=self.folder / "etcd", unsafe_no_fsync="true", listen_client_urls=etcd, advertise_client_urls=etcd,
            listen_peer_urls=peer, initial_advertise_peer_urls=peer, initial_cluster=f"default={peer}",
        )])  # fmt: skip
        self.start_kubelet()
        account = self.folder / "account.key"
        self._spawn("apiserver", [str(self._program), *_flags(
            etcd_servers=etcd, bind_address="127.0.0.1", advertise_address="127.0.0.1", secure_port=self._api,
            cert_dir=self.folder, tls_cert_file=self.ca, tls_private_key_file=self.folder / "tls.key",
            token_auth_file=self.folder / "tokens.csv", authorization_mode="RBAC", endpoint_reconciler_type="none",
            service_cluster_ip_range="10.0.0.0/24", service_account_issuer="https://kubernetes.default.svc",
            service_account_key_file=account, service_account_signing_key_file=account,
            disable_admission_plugins="ServiceAccount,TaintNodesByCondition,Priority",
        )])  # fmt: skip
        if not wait_for(self._is_ready, 120):
            raise LabError(f"the API server did not get ready: {self._last_words('apiserver')}")
        for definition in _definitions():
            self.call("POST", "apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        if not wait_for(self._has_kinds, 30):
            raise LabError("the API server does not serve the kinds of the tests")
        self._add_nodes()

    def stop(self) -> None:
        """End all of them, each by the id in its own file."""
        for name in ("apiserver", "kubelet", "etcd"):
            end(pid_of(self.folder / f"{name}.pid"))
        for process in self._started:
            process.wait()

    def stop_kubelet(self) -> None:
        """End the kubelet, as a node does that is lost."""
        end(pid_of(self.folder / "kubelet.pid"))

    def start_kubelet(self) -> None:
        """Start the kubelet."""
        files = (str(self.ca), str(self.folder / "tls.key"), str(self.logs))
        program = str(Path(__file__).with_name("kubelet.py"))
        self._spawn("kubelet", [sys.executable, program, str(self.kubelet_port), *files])

    def processes(self) -> dict[str, int]:
        """What runs now."""
        pids = {name: pid_of(self.folder / f"{name}.pid") for name in ("apiserver", "kubelet", "etcd")}
        return {name: pid for name, pid in pids.items() if pid is not None}

    def put(self, thing: Thing) -> None:
        """Make an object, and set its status, which an API server takes apart from the rest."""
        scope = thing["metadata"].get("namespace")
        path = _path(thing["kind"], scope)
        new = {key: value for key, value in thing.items() if key != "status"}
        made = self.call("POST", path, new)
        if thing.get("status") and thing["kind"] != "Event":
            name = made["metadata"]["name"]
            self.call("PATCH", f"{path}/{name}/status", {"status": thing["status"]})
        thing["metadata"]["uid"] = made["metadata"]["uid"]

    def call(self, method: str, path: str, body: Thing) -> Thing:
        """One request of the administrator. Raises LabError."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self.token(ADMIN).read_text()}", "Content-Type": kind}
        request = urllib.request.Request(f"{self.url}/{path}", json.dumps(body).encode(), headers, method=method)
        try:
            with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=self.ca)) as answer:
                found: Thing = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            raise LabError(f"{method} {path}: {error.read().decode()[:500]}") from None

    # --- how it is set up ---------------------------------------------------------------------------------------------

    def _write_files(self) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        alternative = "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"
        key, account = str(self.folder / "tls.key"), str(self.folder / "account.key")
        made = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", str(self.ca)]
        run(["openssl", "req", "-x509", *made, "-subj", "/CN=loopback", "-addext", alternative], os.environ)
        run(["openssl", "genrsa", "-out", account, "2048"], os.environ)
        groups = {ADMIN: ',"system:masters"'}
        rows = []
        for user in USERS:
            token = os.urandom(16).hex()
            self.token(user).write_text(token)
            rows.append(f"{token},{user},{user}{groups.get(user, '')}\n")
            self.kubeconfig(user).write_text(_kubeconfig(self.url, self.ca, token))
        (self.folder / "wrong.token").write_text("not-a-token")
        self.kubeconfig("wrong").write_text(_kubeconfig(self.url, self.ca, "not-a-token"))
        (self.folder / "tokens.csv").write_text("".join(rows))

    def _spawn(self, name: str, command: Sequence[str]) -> None:
        if pid_of(self.folder / f"{name}.pid") is not None:
            return
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._started.append(process)
        (self.folder / f"{name}.pid").write_text(str(process.pid))

    def _is_ready(self) -> bool:
        if "apiserver" not in self.processes():
            raise LabError(f"the API server ended: {self._last_words('apiserver')}")
        headers = {"Authorization": f"Bearer {self.token(ADMIN).read_text()}"}
        request = urllib.request.Request(f"{self.url}/readyz", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=5, context=ssl.create_default_context(cafile=self.ca)):
                return True
        except OSError:
            return False

    def _has_kinds(self) -> bool:
        environ = {**os.environ, "KUBECONFIG": str(self.kubeconfig(ADMIN))}
        try:
            for _, (group, versions, plural) in sorted(_KINDS.items()):
                run(["kubectl", "get", "--raw", f"/apis/{group}/{versions[0]}/{plural}"], environ)
        except LabError:
            return False
        return True

    def _add_nodes(self) -> None:
        for name in NODES:
            status: Thing = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
            status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": self.kubelet_port}}
            metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
            self.put({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})

    def _last_words(self, name: str) -> str:
        lines = (self.folder / f"{name}.log").read_text(errors="replace").strip().splitlines()
        return " / ".join(lines[-3:])


def _flags(**options: object) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _path(kind: str, scope: str | None) -> str:
    within = f"namespaces/{scope}/" if scope else ""
    if kind in _KINDS:
        group, versions, plural = _KINDS[kind]
        return f"apis/{group}/{versions[0]}/{within}{plural}"
    return _PATHS[kind].format(scope=within) if kind in _PATHS else f"api/v1/{within}{kind.lower()}s"


def _definitions() -> list[Thing]:
    """The kinds that are not built in: their real names and versions, and any content."""
    found = []
    for kind, (group, versions, plural) in sorted(_KINDS.items()):
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        served = [
            {"name": v, "served": True, "storage": v == versions[0], "subresources": {"status": {}}, "schema": schema}
            for v in versions
        ]
        names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
        metadata = {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests on loopback"},
        }
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": served}
        kind_of = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        found.append(kind_of | {"metadata": metadata, "spec": spec})
    return found


def _kubeconfig(url: str, ca: Path, token: str) -> str:
    cluster: Mapping[str, Any] = {"server": url, "certificate-authority": str(ca)}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "loopback", "cluster": cluster}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "context", "context": {"cluster": "loopback", "user": "user"}}],
            "current-context": "context",
        }
    )
