"""The stage of one scenario: who said what and when, before it is laid out as files."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bench.scenarios.fleet import Fleet, Node
from bench.scenarios.job import Job


@dataclass(frozen=True)
class AppLine:
    """What a process of the job wrote at once. `rank` is None for a launcher of the node."""

    at: float
    node: int
    rank: int | None
    text: str


@dataclass(frozen=True)
class SystemLine:
    """What a program or the kernel of a node logged."""

    at: float
    program: str
    text: str
    priority: int = 6
    pid: int = 0


@dataclass
class End:
    """How the scheduler recorded the attempt. `task` is (index of the failing node, exit code, signal)."""

    at: float
    state: str = "FAILED"
    code: int = 1
    signal: int = 0
    step_state: str = "FAILED"
    reason: str = "None"
    failed_node: str = ""


@dataclass
class Shift:
    """A metric that leaves its ordinary course from a time on, on one device of one node."""

    metric: str
    node: int
    device: int
    at: float
    values: tuple[float, ...]
    until: float = float("inf")


@dataclass(frozen=True)
class Recorded:
    """What a rank's flight recorder holds when a collective hangs: whether the rank had entered it."""

    at: float
    work: int
    operation: tuple[str, int, int]
    entered: bool


@dataclass
class Scene:
    """All lines of one attempt, in no order. Times are true times; stamps inside texts are those of the writer's clock."""

    rng: random.Random
    fleet: Fleet
    job: Job
    start: float
    onset: float
    end: End
    apps: list[AppLine] = field(default_factory=list)
    systems: defaultdict[int, list[SystemLine]] = field(default_factory=lambda: defaultdict(list))
    fabric: defaultdict[int, list[tuple[float, str, str]]] = field(default_factory=lambda: defaultdict(list))
    bmc: defaultdict[int, list[tuple[float, str, str]]] = field(default_factory=lambda: defaultdict(list))
    steps: list[tuple[float, str]] = field(default_factory=list)
    controller: list[tuple[float, str]] = field(default_factory=list)
    pods: dict[int, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    shifts: list[Shift] = field(default_factory=list)
    silent_from: dict[int, float] = field(default_factory=dict)
    started: bool = True
    says_exit: bool = False
    root_nodes: set[int] = field(default_factory=set)
    root_ranks: set[int] = field(default_factory=set)
    pids: dict[int, int] = field(default_factory=dict)
    recorded: dict[int, Recorded] = field(default_factory=dict)
    dead: dict[int, float] = field(default_factory=dict)
    avoid: frozenset[int] = frozenset()

    def wall(self, node: Node | int, at: float) -> datetime:
        """What a node's clock shows."""
        return self.fleet.wall(self.fleet.nodes[node] if isinstance(node, int) else node, at)

    def pid(self, rank: int) -> int:
        """The process id of a rank, the same all along."""
        if rank not in self.pids:
            self.pids[rank] = 2000 + (rank * 2654435761 + self.job.number) % 3_900_000
        return self.pids[rank]

    def agent_pid(self, node: int) -> int:
        return 1500 + (node * 40503 + self.job.number) % 3_900_000

    def raw(self, rank: int, at: float, text: str) -> None:
        """A rank writes text as it stands."""
        self.apps.append(AppLine(at, rank // self.fleet.gpus_per_node, rank, text))

    def log(self, rank: int, at: float, level: str, message: str) -> None:
        """A rank logs through its trainer's logging."""
        node = self.fleet.node_of(rank)
        self.raw(rank, at, self.job.log(self.fleet.wall(node, at), level, rank, message))

    def c10d(self, rank: int, at: float, letter: str, line: int, text: str) -> None:
        """A rank's process group logs."""
        moment = self.fleet.wall(self.fleet.node_of(rank), at)
        self.raw(rank, at, self.job.glog(moment, letter, rank, line, text))

    def nccl(self, rank: int, at: float, where: str, text: str, level: str = "WARN") -> None:
        """A rank's NCCL prints, with the host, process, thread and device in front."""
        node, local = self.fleet.node_of(rank), rank % self.fleet.gpus_per_node
        pid = self.pid(rank)
        head = f"{node.name}:{pid}:{pid + 60 + local} [{local}]"
        self.raw(rank, at, f"{head} {where} NCCL {level} {text}" if level == "WARN" else f"{head} NCCL {level} {text}")

    def agent(self, node: int, at: float, letter: str, module: str, line: int, text: str) -> None:
        """The elastic launcher of a node logs."""
        moment = self.wall(node, at)
        text = self.job.elastic(moment, letter, self.agent_pid(node), f"torch/distributed/elastic/{module}", line, text)
        self.apps.append(AppLine(at, node, None, text))

    def agent_raw(self, node: int, at: float, text: str) -> None:
        self.apps.append(AppLine(at, node, None, text))

    def traceback(
        self, rank: int, at: float, frames: Sequence[tuple[str, int, str, str]], error: str, grouped: bool = True
    ) -> None:
        """An uncaught exception of a rank; newer libraries put the rank before every line once a group exists."""
        lines = ["Traceback (most recent call last):"]
        for path, line, function, source in frames:
            lines.append(f'  File "{path}", line {line}, in {function}')
            if source:
                lines.append(f"    {source}")
        lines.extend(error.split("\n"))
        if grouped and self.job.torch_minor >= 3:
            lines = [f"[rank{rank}]: {line}" for line in lines]
        self.raw(rank, at, "\n".join(lines))

    def kernel(self, node: int, at: float, text: str, priority: int = 4) -> None:
        """The kernel of a node logs; several lines are several records."""
        for index, line in enumerate(text.split("\n")):
            self.systems[node].append(SystemLine(at + index * 4e-6, "kernel", line, priority))

    def daemon(self, node: int, at: float, program: str, text: str, priority: int = 6, pid: int | None = None) -> None:
        """A service of a node logs."""
        if program == "systemd":
            pid = 1
        number = (700 + sum(map(ord, program)) * 7 + node * 13) % 9000 + 400 if pid is None else pid
        self.systems[node].append(SystemLine(at, program, text, priority, number))

    def xid(self, node: int, at: float, pci: str, code: int, text: str, pid: str = "") -> str:
        """The driver reports an Xid; the line without its envelope comes back."""
        line = f"NVRM: Xid (PCI:{pci}): {code}, {pid}{text}"
        self.kernel(node, at, line, 3)
        return line

    def proc(self, rank: int, name: str = "python3") -> str:
        """How an Xid line names the process of a rank."""
        return f"pid={self.pid(rank)}, name={name}, "

    def no_proc(self) -> str:
        """How an Xid line says that it knows no process."""
        return "" if self.fleet.driver.startswith(("570", "580")) else "pid='<unknown>', name=<unknown>, "

    def step(self, at: float, text: str) -> None:
        """srun or slurmstepd writes into the job's output."""
        self.steps.append((at, text))

    def shift(
        self, metric: str, node: int, device: int, at: float, *values: float, until: float = float("inf")
    ) -> None:
        self.shifts.append(Shift(metric, node, device, at, values, until))

    def frame(self, line: int, function: str, source: str = "", path: str | None = None) -> tuple[str, int, str, str]:
        """A frame of the job's own code, or of a file of the environment."""
        return (path or f"/data/job/{self.job.script}", line, function, source)

    def library(self, path: str, line: int, function: str, source: str = "") -> tuple[str, int, str, str]:
        """A frame of an installed package."""
        return (f"{self.job.site_packages}/{path}", line, function, source)

    @property
    def main(self) -> tuple[str, int, str, str]:
        return self.frame(self.job.number % 300 + 210, "<module>", "main()")

    def pick(self) -> int:
        """Any rank, but none of a node where another root is."""
        while True:
            rank = self.rng.randrange(self.fleet.ranks)
            if rank // self.fleet.gpus_per_node not in self.avoid:
                return rank

    def others(self, ranks: set[int]) -> list[int]:
        return [rank for rank in range(self.fleet.ranks) if rank not in ranks]
