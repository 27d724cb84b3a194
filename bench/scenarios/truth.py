"""The truth of a scenario: what a careful engineer concludes from its bundle alone."""

from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from bench.scenarios.fleet import Fleet, Node, iso

SUB_DOMAINS = (
    "gpu_hardware",
    "nvlink_fabric",
    "network_fabric",
    "host_hardware",
    "gpu_driver",
    "host_os",
    "storage",
    "scheduler",
    "container_runtime",
    "external_service",
    "resource_limit",
    "framework",
    "user_code",
    "user_config",
    "data",
)
ANSWERS = (*SUB_DOMAINS, "none", "ambiguous", "insufficient_evidence")
KINDS = ("single", "two_roots", "withheld", "negative")
TERMINAL_STATES = (
    "completed",
    "failed",
    "cancelled",
    "timed_out",
    "preempted",
    "node_failed",
    "out_of_memory",
    "launch_failed",
    "running",
    "unknown",
)


@dataclass
class Finding:
    """What a root leaves behind. `at` is a true time on the first node of `nodes`; `exclude` defaults to `nodes`.

    `states` overrides what follows from the scheduler's part of the scene.
    """

    sub_domain: str
    accept: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    exclude: tuple[Node, ...] | None = None
    device: dict[str, object] | None = None
    rank: int | None = None
    root_lines: list[str] = field(default_factory=list)
    at: float | None = None
    states: tuple[str, ...] = ()


@dataclass
class Truth:
    """One `truth.yaml`."""

    id: str
    kind: str
    shape: str
    fleet: Fleet
    finding: Finding
    accept: list[str]
    states: list[str]
    metrics: bool

    def document(self) -> dict[str, Any]:
        """As it is written."""
        found = self.finding
        exclude = found.nodes if found.exclude is None else found.exclude
        document: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind,
            "shape": self.shape,
            "nodes_total": len(self.fleet.nodes),
            "sub_domain": self.accept[0],
            "accept": self.accept,
            "terminal_state": self.states[0],
            "terminal_state_accept": self.states,
            "nodes": [node.name for node in found.nodes],
            "exclude": [node.name for node in exclude],
        }
        if found.device:
            document["device"] = found.device
        if found.rank is not None:
            document["rank"] = found.rank
        if found.root_lines:
            document["root_lines"] = found.root_lines
        if found.at is not None and found.nodes:
            node = found.nodes[0]
            document["first_failure"] = {"node": node.name, "at": iso(self.fleet.wall(node, found.at).astimezone(UTC))}
        document["metrics"] = self.metrics
        return document
