"""The ExecutionContext says what was run, where and when."""

from collections import Counter
from typing import Annotated

from pydantic import Field, model_validator

from attribution.contracts.base import Instant, Strict
from attribution.contracts.vocabulary import Scheduler

MAX_RANK = 2**31 - 1
"""The largest rank, and number of ranks."""


class Gpu(Strict):
    """One GPU of a node. `pci` is domain:bus:device, four hexadecimal digits of domain, as in Xid lines."""

    index: int = Field(ge=0)
    pci: str | None = None
    uuid: str | None = None
    serial: str | None = None


class Nic(Strict):
    """One network interface of a node, such as `mlx5_0` with its netdev and PCI address."""

    name: str
    netdev: str | None = None
    pci: str | None = None


class Node(Strict):
    """One allocated node. `aliases` are other names that logs may use for it: FQDN, IP address, pod name."""

    name: str = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    ranks: tuple[Annotated[int, Field(ge=0, le=MAX_RANK)], ...] = ()
    gpus: tuple[Gpu, ...] = ()
    nics: tuple[Nic, ...] = ()
    nvlink_domain: str | None = None
    rack: str | None = None
    switch_ports: tuple[str, ...] = ()


class ExecutionContext(Strict):
    """One workload attempt. Every field but `workload_id` may be missing; what was inferred is named in `inferred`."""

    workload_id: str = Field(min_length=1)
    attempt: int = Field(default=1, ge=1, description="1-based; a requeued or restarted job has several attempts")
    scheduler: Scheduler = Scheduler.STATIC
    scheduler_ids: dict[str, str] = Field(
        default_factory=dict, description="job, array, step and het ids; or namespace, name and uid"
    )
    cluster: str | None = None
    tenant: str | None = None
    name: str | None = None
    user: str | None = None
    framework: str | None = None
    launch_command: str | None = None
    submitted_at: Instant | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    scheduler_state: str | None = Field(default=None, description="as the scheduler prints it, such as NODE_FAIL")
    exit_code: int | None = Field(default=None, ge=-(2**31), le=2**32 - 1)
    signal: int | None = Field(default=None, ge=1, le=64)
    reason: str | None = Field(default=None, description="the scheduler's reason, as it prints it")
    nodes: tuple[Node, ...] = ()
    nranks: int | None = Field(default=None, ge=1, le=MAX_RANK)
    ranks_per_node: int | None = Field(default=None, ge=1, le=MAX_RANK)
    previous_attempts: tuple[str, ...] = ()
    inferred: tuple[str, ...] = Field(default=(), description="fields that were read off the evidence, not given")
    partial: str | None = Field(default=None, description="why the scope is incomplete, if it is")

    @model_validator(mode="after")
    def _consistent(self) -> "ExecutionContext":
        if self.started_at and self.ended_at and self.ended_at < self.started_at:
            raise ValueError("`ended_at` is before `started_at`")
        twice = sorted(name for name, count in Counter(node.name for node in self.nodes).items() if count > 1)
        if twice:
            raise ValueError(f"node `{twice[0]}` is listed twice")
        return self
