"""How a cluster is reached: the settings that all connectors to Kubernetes share."""

import threading
from pathlib import Path

from pydantic import Field, field_validator

from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.kubernetes.api import Api
from attribution.blueprint.connectors.kubernetes.cluster import Cluster
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why
from attribution.blueprint.connectors.kubernetes.kubectl import Kubectl
from attribution.blueprint.connectors.kubernetes.resources import Resource
from attribution.configuration.secrets import http_address
from attribution.contracts.base import Strict


class KubernetesAccess(Strict):
    """Through `kubectl`, unless the address of the API is given."""

    kubectl: str = Field(default="kubectl", min_length=1, description="the program, by name or path")
    kubeconfig: Path | None = Field(
        default=None, description="the file that `kubectl` reads; its own default if not given"
    )
    kubectl_context: str | None = Field(
        default=None, description="which context of that file; its current one if not given"
    )
    api_url: str | None = Field(
        default=None,
        description="address of the API, such as https://kubernetes.default.svc; `kubectl` is not used then",
    )
    token_file: Path | None = Field(
        default=None, description="file with the bearer token for `api_url`, read anew for each request"
    )
    ca_file: Path | None = Field(default=None, description="PEM file with the authorities that `api_url` is trusted by")
    timeout_secs: float = Field(default=30.0, gt=0, description="how long one answer may take, and each piece of a log")
    retry_secs: float = Field(default=30.0, ge=0, description="how long a call is tried again before it is given up")
    page_objects: int = Field(default=500, ge=1, description="objects of a list in one answer")
    answer_bytes: int = Field(default=64 << 20, ge=1024, description="bytes of one answer above which it is given up")

    @field_validator("api_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None and not set(value).isdisjoint("@?#"):
            raise ValueError("holds more than a host and a path; the token is that of `token_file`")
        return value if value is None else http_address(value)


def connect(access: KubernetesAccess) -> Cluster:
    """A client as the settings say; nothing is asked yet. Raises ClusterError."""
    if access.api_url is not None:
        transport: Api | Kubectl = Api(access.api_url, access.token_file, access.ca_file)
    else:
        transport = Kubectl(*kubectl_argv(access))
    return Cluster(transport, access.timeout_secs, access.retry_secs, access.page_objects, access.answer_bytes)


def kubectl_argv(access: KubernetesAccess) -> list[str]:
    """The program with the options that say which cluster is asked."""
    options = ["--kubeconfig", str(access.kubeconfig)] if access.kubeconfig else []
    options += ["--context", access.kubectl_context] if access.kubectl_context else []
    return [access.kubectl, *options]


class Connection:
    """The client of one connector: made when it is first asked for, shared by its threads."""

    def __init__(self, access: KubernetesAccess) -> None:
        self._access = access
        self._lock = threading.Lock()
        self._client: Cluster | None = None

    def cluster(self) -> Cluster:
        """The client. Raises ClusterError if it cannot be made."""
        with self._lock:
            if self._client is None:
                self._client = connect(self._access)
            return self._client

    @property
    def name(self) -> str:
        """How messages name the way to the cluster, also before it was taken."""
        return self._access.api_url or " ".join(kubectl_argv(self._access))

    def close(self) -> None:
        """Close the connections; whoever asks again gets new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None


def programs(access: KubernetesAccess) -> tuple[str, ...]:
    """The programs that are started."""
    return () if access.api_url is not None else (access.kubectl,)


def require(cluster: Cluster, namespace: str | None, rights: "list[tuple[str, Resource, str]]") -> None:
    """Raise ConnectorError that names the rights that are missing and how to grant them."""
    missing = []
    for verb, resource, part in rights:
        if not cluster.may(verb, resource, namespace if resource.is_namespaced else None, part):
            missing.append(f"{verb} {resource.qualified}{f'/{part}' if part else ''}")
    if missing:
        scope = f"in the namespace {namespace}" if namespace else "in all namespaces"
        raise ConnectorError(
            f"may not {', '.join(missing)} {scope} (bind a role that allows it to whoever {cluster.name} asks as: "
            f"see examples/kueue/rbac.yaml)"
        )


_REMEDIES = {
    Why.UNAUTHORIZED: "give credentials that the cluster knows: a kubeconfig, or `token_file`",
    Why.FORBIDDEN: "grant that right: see examples/kueue/rbac.yaml",
    Why.MISSING: "see whether that is an API server, and whether its version serves this",
    Why.UNAVAILABLE: "see whether the API server runs and can be reached from here",
    Why.LATE: "see whether the API server is overloaded, or raise `timeout_secs`",
    Why.BUSY: "ask less often, or raise `retry_secs`",
    Why.UNREADABLE: "see whether that is an API server",
    Why.REFUSED: "see the settings that say which cluster is asked",
}


def explained(error: ClusterError, at: str) -> str:
    """What a refusal means for who set the connector up; `at` is the name of what was asked.

    What was asked for is told where the refusal is that it is not there, and the name where the refusal lacks it.
    """
    remedy = _REMEDIES.get(error.why)
    if remedy is None or error.has_remedy:
        return error.said
    what = f" for {error.path}" if error.why is Why.MISSING and error.path else ""
    way = f" through {at}" if at not in error.said else ""
    return f"{error.said} ({f'asked{what}{way}; ' if what or way else ''}{remedy})"
