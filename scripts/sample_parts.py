"""What the samples are made of: a job with its logs, and what programs print while all is well and when it is not.

Every line is made up: its shape is that of the program which prints it, its values are ours.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from noise import TEMPLATES, Values, stamped  # noqa: E402

PCI = tuple(f"0000:{bus}:00" for bus in ("1b", "43", "52", "61", "9d", "c3", "d1", "df"))
SITE = "/data/job/venv/lib/python3.11/site-packages"


def utc(text: str) -> datetime:
    """An instant out of ISO text without an offset."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def after(at: datetime, secs: float) -> datetime:
    """The instant that many seconds later."""
    return at + timedelta(seconds=secs)


@dataclass
class Log:
    """One file of a bundle: lines, and when each was written."""

    path: str
    lines: list[tuple[datetime, str]] = field(default_factory=list)

    def add(self, at: datetime, *lines: str) -> None:
        """Lines that were written together."""
        self.lines.extend((at, line) for line in lines)

    def content(self) -> bytes:
        """The file's text, in order of time."""
        return "".join(line + "\n" for _, line in sorted(self.lines, key=lambda item: item[0])).encode()


@dataclass(frozen=True)
class Machine:
    """One node of a job: its ranks, and the process that runs each."""

    name: str
    ranks: range
    pid: int

    def pid_of(self, rank: int) -> int:
        """The process of a rank."""
        return self.pid + 11 + self.ranks.index(rank)

    def thread(self, rank: int, number: int = 700) -> str:
        """What NCCL writes before a line of that rank."""
        pid = self.pid_of(rank)
        return f"{self.name}:{pid}:{pid + number} [{self.ranks.index(rank)}]"


@dataclass
class Job:
    """One workload attempt and everything that was written about it."""

    name: str
    number: int
    start: datetime
    end: datetime
    machines: tuple[Machine, ...]
    ending: str
    logs: dict[str, Log] = field(default_factory=dict)
    scheduler: str = "slurm"
    pod: str = ""
    """What its pods are called on Kubernetes, before the number of the node."""
    adapters: tuple[str, ...] = ()
    """PCI addresses of the network adapters mlx5_0, mlx5_1 ... of each node."""

    @property
    def nranks(self) -> int:
        """Ranks of all nodes."""
        return sum(len(machine.ranks) for machine in self.machines)

    def address(self, machine: Machine) -> str:
        """The node's address in the job's network."""
        return f"10.0.0.{11 + self.machines.index(machine)}"

    def log(self, path: str) -> Log:
        """The file of that path; made when first asked for."""
        return self.logs.setdefault(path, Log(path))

    def files(self) -> dict[str, bytes]:
        """Every file of the bundle before compression."""
        return {"context.yaml": self.context().encode(), **{p: log.content() for p, log in sorted(self.logs.items())}}

    def pod_of(self, machine: Machine) -> str:
        """The pod on that node."""
        return f"{self.pod}-{self.machines.index(machine)}"

    def _ids(self) -> str:
        return f"{{namespace: team, name: {self.pod}}}" if self.pod else f"{{job: '{self.number}'}}"

    def _aliases(self, machine: Machine) -> list[str]:
        pods = [self.pod_of(machine)] if self.pod else []
        return [f"{machine.name}.cluster.example", self.address(machine), *pods]

    def context(self) -> str:
        """The ExecutionContext as YAML."""
        lines = [
            f"workload_id: '{self.number}'",
            "attempt: 1",
            f"scheduler: {self.scheduler}",
            f"scheduler_ids: {self._ids()}",
            "cluster: example",
            "name: train",
            "user: user-1",
            "framework: pytorch",
            f"started_at: {self.start:%Y-%m-%dT%H:%M:%SZ}",
            f"ended_at: {self.end:%Y-%m-%dT%H:%M:%SZ}",
            *self.ending.splitlines(),
            f"nranks: {self.nranks}",
            f"ranks_per_node: {len(self.machines[0].ranks)}",
            "nodes:",
        ]
        for machine in self.machines:
            lines += [
                f"  - name: {machine.name}",
                f"    aliases: [{', '.join(self._aliases(machine))}]",
                f"    ranks: [{', '.join(map(str, machine.ranks))}]",
                "    gpus:",
                *(f"      - {{index: {i}, pci: '{PCI[i]}'}}" for i in range(len(machine.ranks))),
            ]
            if self.adapters:
                lines += [
                    "    nics:",
                    *(f"      - {{name: mlx5_{i}, pci: '{a}'}}" for i, a in enumerate(self.adapters)),
                ]
        return "\n".join(lines) + "\n"


def machines(count: int, ranks: int, pid: int) -> tuple[Machine, ...]:
    """Nodes node-01, node-02 ... with so many ranks each."""
    return tuple(
        Machine(f"node-{i + 1:02d}", range(i * ranks, (i + 1) * ranks), pid + 7411 * i * i + 1907 * i)
        for i in range(count)
    )


# --- what a job and a node print when nothing is wrong ---------------------------------------------------------------

Style = Callable[[datetime, str, str, str], str]
"""Makes a log line of instant, level, logger and message."""


def utc_style(at: datetime, level: str, logger: str, message: str) -> str:
    """Stamps in UTC, marked so."""
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z {level} {logger}: {message}"


def python_style(at: datetime, level: str, logger: str, message: str) -> str:
    """Python's own form: local time without a zone."""
    return f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} - {logger} - {level} - {message}"


def coloured_style(at: datetime, level: str, logger: str, message: str) -> str:
    """As a terminal shows it, in colours."""
    colour = {"INFO": 32, "WARNING": 33, "DEBUG": 90}[level]
    stamp = at.isoformat(timespec="milliseconds")
    return f"\x1b[90m{stamp}\x1b[0m \x1b[{colour}m{level}\x1b[0m \x1b[1m{logger}\x1b[0m: {message}"


ROUTINE = (
    ("INFO", "data.loader", "rank {rank}: opened shard_{shard}.tar ({k} samples, {gb:.1f} MB), 0 corrupt, 0 skipped"),
    ("DEBUG", "data.loader", "prefetch queue {n}/16, wait {u:.4f}s, retrying 0/5"),
    ("INFO", "fetch", "GET https://objects.example.internal/corpus/shard_{shard}.tar 200 in {ms:.1f} ms, attempt 1/5"),
    ("INFO", "trainer", "heartbeat: {k} processes alive, 0 failed, timeout=1800"),
    ("INFO", "evaluate", "held-out loss {loss:.4f}, word error rate {u:.4f}"),
    ("WARNING", "trainer", "last step took {grad:.2f} x the median"),
    ("INFO", "checkpoint", "saved shard {gpu}/8: {gb:.2f} GB in {grad:.1f}s, 0 errors"),
)
_NCCL_LATER = ("No device", "Socket", "opCount", "Split", "Destroy", "SHM", "PROFILER", "Init timings", "Enabled NVLS")
NCCL_START = tuple(t for t in TEMPLATES["nccl"] if not any(word in t for word in _NCCL_LATER))
MEGATRON = tuple(
    t for t in TEMPLATES["startup"] if t.startswith((">", " >", "make:", "    read", "    total", "using world"))
)
WARNINGS = tuple(t for t in TEMPLATES["library"] if t.startswith(("/data/job", "Token ind", "huggingface", "Some w")))
_NOT_ON_SLURM = (
    "kubelet",
    "containerd",
    "dockerd",
    "docker",
    "opensm",
    "ntpd",
    "cni0",
    "prolog",
    "task {rank}",
    "launch task",
    "with step",
)
SYSTEM = tuple(t for t in TEMPLATES["system"] if not any(word in t for word in _NOT_ON_SLURM))


def evenly(start: datetime, end: datetime, count: int, values: Values) -> Iterator[datetime]:
    """That many instants between two others, in order, not quite evenly spread."""
    for i in range(count):
        yield start + (end - start) * (i + 0.1 + 0.8 * values.rng.random()) / count


def quiet_system(
    job: Job,
    path: str,
    host: str,
    start: datetime,
    end: datetime,
    count: int,
    form: str,
    booted: datetime | None = None,
) -> None:
    """Lines of a healthy node's system log. `booted` is when second 0 of its kernel stamps was."""
    values = Values(f"{job.name} {path}", host=host)
    templates = [t for t in SYSTEM if form != "dmesg" or t.startswith("kernel: ")]
    for at in evenly(start, end, count, values):
        values.stamp = at
        job.log(path).add(at, system_line(values.fill(values.rng.choice(templates)), at, host, form, booted))


def system_line(message: str, at: datetime, host: str, form: str, booted: datetime | None) -> str:
    """One line of a system log; RFC 3164 kernel lines also carry the kernel's stamp if `booted` is known."""
    if form == "rfc3164" and booted and message.startswith("kernel: "):
        message = message.replace("kernel: ", f"kernel: [{(at - booted).total_seconds():12.6f}] ", 1)
    return stamped(message, at, host, form, booted or at)


def starting(job: Job, path: str, machine: Machine, ranks: Iterable[int], launcher: bool = True) -> None:
    """What a job prints in its first minutes: torchrun if it is the launcher, libraries, NCCL's set-up of the ranks."""
    log, values = job.log(path), Values(f"{job.name} {path} start", host=machine.name)
    values.update(nranks=job.nranks, nnodes=len(job.machines), ip=job.address(machine))
    values["comm_id"] = Values(job.name)["comm_id"]
    values.stamp = job.start
    for template in TEMPLATES["startup"][:17] if launcher else ():
        log.add(values.tick(0.05), values.fill(template.replace("{pid}", str(machine.pid))))
    for template in WARNINGS:
        log.add(values.tick(2.0), values.fill(template))
    for template in MEGATRON:
        log.add(values.tick(0.5), values.fill(template))
    for rank in ranks:
        local = machine.ranks.index(rank)
        values.update(rank=rank, gpu=local, pid=machine.pid_of(rank), tid=machine.pid_of(rank) + 413)
        values.update(peer=(rank + 1) % job.nranks, peer_gpu=(local + 1) % len(machine.ranks), bus=PCI[local][5:7])
        values["comm"] = Values(f"{job.name} {rank}")["comm"]
        for template in NCCL_START:
            log.add(values.tick(0.05), values.fill(template))


def training(
    job: Job, path: str, machine: Machine, end: datetime, style: Style, secs: float, ranks: Sequence[int] = ()
) -> None:
    """Steps until `end`, one line in so many seconds; between them, lines about `ranks` (if none, all of the node)."""
    log, values = job.log(path), Values(f"{job.name} {path} steps")
    begin, step, loss = after(job.start, 180), 100, 2.9
    for at in evenly(begin, end, int((end - begin).total_seconds() / secs), values):
        step, loss = step + 10, loss * 0.9993
        text = f"step {step} loss {loss + 0.02 * values['u']:.4f} grad_norm {values['grad']:.3f} lr 2.99e-04"
        log.add(at, style(at, "INFO", "trainer", f"{text} tokens/s {values.rng.randint(61000, 64000)} errors 0"))
        if values.rng.random() < 0.6:
            values.stamp = after(at, 0.2 * secs * values.rng.random())
            values["rank"] = values.rng.choice(ranks or machine.ranks)
            level, logger, template = values.rng.choice(ROUTINE)
            log.add(values.stamp, style(values.stamp, level, logger, values.fill(template)))


def kernel(job: Job, path: str, machine: Machine, at: datetime, *texts: str, step: float = 0.000021) -> None:
    """Lines of one node's system log, a moment apart; those without a program of their own are the kernel's."""
    for n, text in enumerate(texts):
        moment = after(at, n * step)
        tag = "" if PROGRAM.match(text) else "kernel: "
        job.log(path).add(moment, stamped(tag + text, moment, machine.name, "iso"))


PROGRAM = re.compile(r"(?:systemd|kubelet|containerd|slurmd|slurmctld|dpkg|nv-hostengine|chronyd|rasdaemon)\[\d+\]: ")


def as_journal(log: Log, booted: datetime) -> None:
    """The lines of a log in the ISO form become what `journalctl -o json` prints of them."""
    log.lines = [(at, _journal_record(at, line, booted)) for at, line in log.lines]


def _journal_record(at: datetime, line: str, booted: datetime) -> str:
    _, host, tagged = line.split(" ", 2)
    tag, _, message = tagged.partition(": ")
    program, _, pid = tag.removesuffix("]").partition("[")
    record = {
        "__REALTIME_TIMESTAMP": str(int(at.timestamp()) * 1_000_000 + at.microsecond),
        "__MONOTONIC_TIMESTAMP": str(int((at - booted).total_seconds() * 1e6)),
        "_TRANSPORT": "kernel" if program == "kernel" else "syslog",
        "PRIORITY": "3" if "NVRM: Xid" in message else "6",
        "SYSLOG_IDENTIFIER": program,
        "_HOSTNAME": host,
        "MESSAGE": message,
    }
    return json.dumps({**record, "_PID": pid} if pid else record)


def as_container(log: Log, stream: str = "stderr") -> None:
    """The lines of a log become the JSON records that a container runtime keeps of them."""
    log.lines = [
        (
            at,
            json.dumps(
                {"log": f"{line}\n", "stream": stream, "time": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06d}000Z"}
            ),
        )
        for at, line in log.lines
    ]


Series = tuple[str, dict[str, str], Sequence[float]]
"""Name, labels and values of a metric, one value at each scrape."""


def metrics(job: Job, path: str, start: datetime, secs: int, series: Sequence[Series]) -> None:
    """A file of metrics as a Prometheus server answers a range query, scraped every so many seconds."""
    result = [
        {
            "metric": {"__name__": name, **labels},
            "values": [[int(start.timestamp()) + n * secs, f"{value:g}"] for n, value in enumerate(values)],
        }
        for name, labels, values in series
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    job.log(path).add(start, json.dumps(answer))


# --- what goes wrong, as programs print it ---------------------------------------------------------------------------


def torch_head(rank: int, at: datetime, line: int, letter: str = "E") -> str:
    """Head of a line of PyTorch's C++ logger; the last digits are those of another clock."""
    nanoseconds = (at.microsecond * 977 + line * 104_729) % 1_000_000_000
    return f"[rank{rank}]:[{letter}{at.month}{at:%d %H:%M:%S}.{nanoseconds:09d} ProcessGroupNCCL.cpp:{line}]"


def watchdog_timeout(rank: int, at: datetime, seq: int, numel: int, ran_ms: int, op: str = "ALLREDUCE") -> list[str]:
    """The watchdog of a rank finds a collective that does not end, and ends the process."""
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000)"
    text = f"[Rank {rank}] Watchdog caught collective operation timeout: {work}"
    text += f" ran for {ran_ms} milliseconds before timing out."
    group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    died = f"{group} Process group watchdog thread terminated with exception: {text}"
    return [
        f"{torch_head(rank, at, 629)} {text}",
        f"{torch_head(rank, at, 2168)} {group}  failure detected by watchdog at work sequence id: {seq} PG status: "
        f"last enqueued work: {seq + 2}, last completed work: {seq - 1}",
        f"{torch_head(rank, at, 667)} Stack trace of the failed collective not found, potentially because "
        "FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.",
        f"{torch_head(rank, at, 681)} [Rank {rank}] Some NCCL operations have failed or timed out. Due to the "
        "asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
        f"{torch_head(rank, at, 695)} [Rank {rank}] To avoid data inconsistency, we are taking the entire process "
        "down.",
        f"{torch_head(rank, at, 1895)} {died}",
        "Exception raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:632 "
        "(most recent call first):",
        f"frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f41{seq:08x} in "
        f"{SITE}/torch/lib/libc10.so)",
        f"frame #1: c10d::ProcessGroupNCCL::watchdogHandler() + 0x617 (0x7f42{seq:08x} in "
        f"{SITE}/torch/lib/libtorch_cuda.so)",
        "",
        "terminate called after throwing an instance of 'c10::DistBackendError'",
        f"  what():  {died}",
    ]


def traceback(rank: int, frames: Sequence[tuple[str, int, str, str]], *message: str) -> list[str]:
    """A Python traceback as torchrun's excepthook prints it: with the rank on every line."""
    lines = ["Traceback (most recent call last):"]
    for file, number, function, code in frames:
        lines += [f'  File "{file}", line {number}, in {function}', f"    {code}"]
    return [f"[rank{rank}]: {line}" for line in (*lines, *message)]


ALL_REDUCE = (
    ("/data/job/train.py", 318, "<module>", "main()"),
    ("/data/job/train.py", 291, "main", "loss = run_step(model, batch, state)"),
    ("/data/job/train.py", 204, "run_step", "dist.all_reduce(loss, op=dist.ReduceOp.AVG)"),
    (f"{SITE}/torch/distributed/c10d_logger.py", 81, "wrapper", "return func(*args, **kwargs)"),
    (f"{SITE}/torch/distributed/distributed_c10d.py", 2806, "all_reduce", "work = group.allreduce([tensor], opts)"),
)


def peer_closed(machine: Machine, rank: int, at: datetime, style: Style, peer: str) -> list[str]:
    """NCCL finds that another process went away; a line of the program, printed just before, has the time of it."""
    warning = "misc/socket.cc:552 NCCL WARN socketProgress: Connection closed by remote peer"
    return [
        style(at, "DEBUG", "data.loader", "prefetch queue 16/16, wait 0.0001s, retrying 0/5"),
        "",
        f"{machine.thread(rank)} {warning} {peer}",
    ]


def connection_lost(rank: int, peer: str) -> list[str]:
    """A collective of a rank fails because another process went away."""
    return traceback(
        rank,
        ALL_REDUCE,
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp"
        ":3353, remote process exited or there was a network error, NCCL version 2.25.1",
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
        "Last error:",
        f"socketProgress: Connection closed by remote peer {peer}",
    )


def child_failed(machine: Machine, rank: int, at: datetime, exit_code: int) -> list[str]:
    """torchrun tells which process of its node failed first."""
    pid, local = machine.pid_of(rank), machine.ranks.index(rank)
    head = (
        f"{at.month:02d}{at:%d %H:%M:%S}.{at.microsecond:06d} {machine.pid} torch/distributed/elastic/multiprocessing"
    )
    others = [r for r in machine.ranks if r != rank]
    how = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    if exit_code == -6:
        how = f"Signal 6 (SIGABRT) received by PID {pid}"
    return [
        *(f"W{head}/api.py:898] Sending process {machine.pid_of(r)} closing signal SIGTERM" for r in others),
        f"E{head}/api.py:870] failed (exitcode: {exit_code}) local_rank: {local} (pid: {pid}) of binary: "
        "/data/job/venv/bin/python3",
        "Traceback (most recent call last):",
        '  File "/data/job/venv/bin/torchrun", line 8, in <module>',
        "    sys.exit(main())",
        f'  File "{SITE}/torch/distributed/run.py", line 892, in main',
        "    run(args)",
        f'  File "{SITE}/torch/distributed/launcher/api.py", line 270, in launch_agent',
        "    raise ChildFailedError(",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "=" * 60,
        "/data/job/train.py FAILED",
        "-" * 60,
        "Failures:",
        "  <NO_OTHER_FAILURES>",
        "-" * 60,
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : {at:%Y-%m-%d_%H:%M:%S}",
        f"  host      : {machine.name}",
        f"  rank      : {rank} (local_rank: {local})",
        f"  exitcode  : {exit_code} (pid: {pid})",
        "  error_file: <N/A>",
        f"  traceback : {how}",
        "=" * 60,
    ]


def exited(machine: Machine, task: int) -> str:
    """srun tells that a task failed."""
    return f"srun: error: {machine.name}: task {task}: Exited with exit code 1"


FAILED = "scheduler_state: FAILED\nexit_code: 1\nreason: NonZeroExitCode"
"""What the context of an attempt says that ended with exit code 1."""


def running(job: Job, machine: Machine, until: datetime, suffix: str = "log", lines: int = 50) -> str:
    """What a node's ranks print while all is well; the path of that log."""
    path = f"applog/{job.pod_of(machine) if job.pod else machine.name}.{suffix}"
    starting(job, path, machine, machine.ranks[:1])
    training(job, path, machine, until, utc_style, max(20, (until - job.start).total_seconds() / lines))
    return path
