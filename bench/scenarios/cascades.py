"""What the rest of the job prints once something broke: peers, watchdogs, launchers, the scheduler."""

from collections.abc import Iterable

from bench.scenarios import launchers
from bench.scenarios.scene import Recorded, Scene

WATCHDOG_LINES = {1: (474, 488, 494), 2: (523, 537, 543), 3: (563, 577, 583), 4: (607, 621, 627)}
FATAL_ADVICE = (
    "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, "
    "subsequent GPU operations might run on corrupted/incomplete data."
)
DUMP_ADVICE = (
    "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of "
    "collectives is not same for all ranks or the scheduled collective, for some reason, didn't run. Additionally, "
    "this can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library "
    "(e.g. NCCL), etc. "
)
OPERATIONS = (
    ("ALLREDUCE", 16777216, 16777216),
    ("_ALLGATHER_BASE", 8388608, 67108864),
    ("_REDUCE_SCATTER_BASE", 67108864, 8388608),
    ("COALESCED", 4194304, 4194304),
    ("BROADCAST", 5164000, 5164000),
)
FRAMES = (
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f2a4c1b9f86 in {home}/lib/libc10.so)",
    "frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long, "
    "std::ratio<1l, 1000l> > >) + 0x1d2 (0x7f2a4d3f8a42 in {home}/lib/libtorch_cuda.so)",
    "frame #2: c10d::ProcessGroupNCCL::watchdogHandler() + 0x233 (0x7f2a4d3ff6b3 in {home}/lib/libtorch_cuda.so)",
    "frame #3: c10d::ProcessGroupNCCL::ncclCommWatchdog() + 0x14d (0x7f2a4d4016fd in {home}/lib/libtorch_cuda.so)",
    "frame #4: <unknown function> + 0xdc253 (0x7f2a9a0b0253 in /lib/x86_64-linux-gnu/libstdc++.so.6)",
    "frame #5: <unknown function> + 0x94ac3 (0x7f2a9c494ac3 in /lib/x86_64-linux-gnu/libc.so.6)",
)


def task_of(scene: Scene, rank: int) -> int:
    """The task of the step that a rank belongs to."""
    return rank // scene.fleet.gpus_per_node if scene.job.launcher == "torchrun" else rank


def watchdog(scene: Scene, rank: int, at: float, work: int, operation: tuple[str, int, int], full: bool) -> None:
    """A rank's watchdog gives up on a collective that began one time-out ago, and ends the process."""
    job, minor = scene.job, scene.job.torch_minor
    caught, some, taking = WATCHDOG_LINES.get(minor, (632, 681, 695) if minor == 5 else (633, 685, 699))
    name, numel_in, numel_out = operation
    ran = job.timeout * 1000 + scene.rng.randrange(3, 999)
    tag = f"[Rank {rank}]" if minor < 4 else f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    said = (
        f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum={work}, OpType={name}, NumelIn={numel_in}, "
        f"NumelOut={numel_out}, Timeout(ms)={job.timeout * 1000}) ran for {ran} milliseconds before timing out."
    )
    scene.c10d(rank, at, "E", caught, f"[Rank {rank}] {said}")
    pending, done = work + scene.rng.randrange(0, 3), work - 1
    if minor >= 6:
        scene.c10d(
            rank, at + 0.01, "E", 2268, f"{tag}  failure detected by watchdog at work sequence id: {work} PG status: "
            f"last enqueued work: {pending}, last completed work: {done}",
        )  # fmt: skip
    elif minor >= 4:
        scene.c10d(
            rank, at + 0.01, "E", 1785, f"{tag} Exception (either an error or timeout) detected by watchdog at work: "
            f"{work}, last enqueued NCCL work: {pending}, last completed NCCL work: {done}.",
        )  # fmt: skip
    if minor >= 4 and full:
        scene.c10d(
            rank, at + 0.02, "E", 1288, f"{tag} Received a dump signal due to a collective timeout from this local rank "
            f"and we will try our best to dump the debug info. Last enqueued NCCL work: {pending}, last completed NCCL "
            f"work: {done}.{DUMP_ADVICE}",
        )  # fmt: skip
    scene.c10d(rank, at + 0.3, "E", some, f"{tag} {FATAL_ADVICE}")
    scene.c10d(
        rank, at + 0.3, "E", taking, f"{tag} To avoid data inconsistency, we are taking the entire process down."
    )
    ended = f"{tag} Process group watchdog thread terminated with exception: [Rank {rank}] {said}"
    scene.c10d(rank, at + 0.31, "E", 1182 if minor < 4 else 1895, ended)
    lines = ["terminate called after throwing an instance of 'c10::DistBackendError'", f"  what():  {ended}"]
    if full:
        lines.append(
            "Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:"
            f"{caught} (most recent call first):"
        )
        lines += [frame.format(home=job.torch_home) for frame in FRAMES]
    scene.raw(rank, at + 0.32, "\n".join(lines))


def remote_error(scene: Scene, rank: int, at: float, peer: int) -> None:
    """A rank sees its peer's connection close and raises."""
    job, address = scene.job, scene.fleet.node_of(peer)
    port = 30000 + (peer * 31 + rank) % 29000
    told = f"socketProgress: Connection closed by remote peer {address.name}<{port}>"
    scene.nccl(rank, at, "misc/socket.cc:49" if job.torch_minor < 4 else "misc/socket.cc:881", told)
    scene.nccl(
        rank, at + 0.001, "proxy.cc:1495" if job.torch_minor < 4 else "proxy.cc:1521",
        f"[Service thread] Could not receive type from localRank {rank % scene.fleet.gpus_per_node}, res=3, closed=0",
    )  # fmt: skip
    scene.traceback(
        rank,
        at + 0.05,
        [
            scene.main,
            scene.frame(187, "main", "loss = trainer.step(batch)"),
            scene.library("torch/distributed/c10d_logger.py", 83, "wrapper", "return func(*args, **kwargs)"),
            scene.library("torch/distributed/distributed_c10d.py", 2501, "all_reduce", "work = group.allreduce([tensor], opts)"),
        ],
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2006, "
        f"remote process exited or there was a network error, NCCL version {job.nccl}\n"
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
        f"Last error:\n{told}",
    )  # fmt: skip


def async_error(scene: Scene, rank: int, at: float, last: str, code: str = "ncclRemoteError") -> None:
    """A rank's watchdog finds a broken communicator and ends the process."""
    meaning = {
        "ncclRemoteError": "remote process exited or there was a network error",
        "ncclUnhandledCudaError": "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "ncclSystemError": "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        "ncclInternalError": "internal error - please report this issue to the NCCL developers",
    }[code]
    explains = {
        "ncclRemoteError": "A call failed possibly due to a network error or a remote process exiting prematurely.",
        "ncclUnhandledCudaError": "Call to CUDA function failed.",
        "ncclSystemError": "System call (e.g. socket, malloc) or external library call failed or device error. ",
        "ncclInternalError": "Internal check failed.",
    }[code]
    minor = scene.job.torch_minor
    tag = f"[Rank {rank}]" if minor < 4 else f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    text = f"NCCL error: {meaning}, NCCL version {scene.job.nccl}\n{code}: {explains}\nLast error:\n{last}"
    scene.c10d(
        rank,
        at,
        "E",
        1182 if minor < 4 else 1895,
        f"{tag} Process group watchdog thread terminated with exception: {text}",
    )
    full = [
        "Exception raised from checkForNCCLErrorsInternal at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1723 (most recent call first):",
        *(frame.format(home=scene.job.torch_home) for frame in FRAMES[:1]),
    ]
    scene.raw(
        rank,
        at + 0.01,
        "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  "
        + f"{tag} "
        + text
        + "\n"
        + "\n".join(full),
    )


def child_failed(scene: Scene, node: int, at: float, failures: dict[int, int]) -> None:
    """The elastic launcher of a node reports its failed ranks (rank to exit code, negative for a signal)."""
    width = scene.fleet.gpus_per_node
    first, code = next(iter(failures.items()))
    for rank in scene.fleet.nodes[node].ranks:
        if rank not in failures:
            scene.agent(
                node, at, "W", "multiprocessing/api.py", 897,
                f"Sending process {scene.pid(rank)} closing signal SIGTERM",
            )  # fmt: skip
    binary = f"/opt/env/bin/python{scene.job.python}" if scene.job.number % 2 else "/usr/bin/python3"
    scene.agent(
        node, at + 0.6, "E", "multiprocessing/api.py", 869,
        f"failed (exitcode: {code}) local_rank: {first % width} (pid: {scene.pid(first)}) of binary: {binary}",
    )  # fmt: skip
    host = scene.fleet.nodes[node].name
    moment = scene.wall(node, at)
    rule = "-" * 60
    blocks = []
    for index, (rank, exit_code) in enumerate(failures.items()):
        name = {-6: "SIGABRT", -9: "SIGKILL", -11: "SIGSEGV", -7: "SIGBUS", -15: "SIGTERM"}.get(exit_code)
        trace = (
            f"Signal {-exit_code} ({name}) received by PID {scene.pid(rank)}"
            if name
            else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
        )
        blocks.append(
            f"[{index}]:\n  time      : {moment:%Y-%m-%d_%H:%M:%S}\n  host      : {host}\n"
            f"  rank      : {rank} (local_rank: {rank % width})\n  exitcode  : {exit_code} (pid: {scene.pid(rank)})\n"
            f"  error_file: <N/A>\n  traceback : {trace}"
        )
    others = "\n".join(blocks[1:]) if len(blocks) > 1 else "  <NO_OTHER_FAILURES>"
    home = scene.job.torch_home
    scene.agent_raw(
        node,
        at + 0.7,
        "Traceback (most recent call last):\n"
        f'  File "/opt/env/bin/torchrun", line 8, in <module>\n    sys.exit(main())\n'
        f'  File "{home}/distributed/elastic/multiprocessing/errors/__init__.py", line 355, in wrapper\n'
        "    return f(*args, **kwargs)\n"
        f'  File "{home}/distributed/run.py", line 918, in main\n    run(args)\n'
        f'  File "{home}/distributed/launcher/api.py", line 269, in launch_agent\n    raise ChildFailedError(\n'
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
        f"{'=' * 60}\n{scene.job.script} FAILED\n{rule}\nFailures:\n{others}\n{rule}\n"
        f"Root Cause (first observed failure):\n{blocks[0]}\n{'=' * 60}",
    )
    scene.says_exit = True


def signalled(scene: Scene, node: int, at: float, signal: int = 15) -> None:
    """The elastic launcher of a node is told to end and passes it on."""
    scene.agent(
        node, at, "W", "agent/server/api.py", 704, "Received Signals.SIGTERM death signal, shutting down workers"
    )
    for rank in scene.fleet.nodes[node].ranks:
        scene.agent(
            node, at + 0.01, "W", "multiprocessing/api.py", 897,
            f"Sending process {scene.pid(rank)} closing signal SIGTERM",
        )  # fmt: skip
    home = scene.job.torch_home
    scene.agent_raw(
        node,
        at + 0.4,
        "Traceback (most recent call last):\n"
        f'  File "{home}/distributed/elastic/agent/server/api.py", line 711, in run\n'
        "    result = self._invoke_run(role)\n"
        f'  File "{home}/distributed/elastic/multiprocessing/api.py", line 84, in _terminate_process_handler\n'
        '    raise SignalException(f"Process {os.getpid()} got signal: {sigval}", sigval=sigval)\n'
        "torch.distributed.elastic.multiprocessing.api.SignalException: "
        f"Process {scene.agent_pid(node)} got signal: {signal}",
    )


def slurm_kill(scene: Scene, at: float, node: int, task: str, how: str, why: str = "") -> None:
    """srun reports the first bad task and ends the step everywhere."""
    job, fleet = scene.job, scene.fleet
    head = fleet.nodes[0].name
    moment = f"{scene.wall(0, at):%Y-%m-%dT%H:%M:%S}"
    scene.step(at, f"srun: error: {fleet.nodes[node].name}: {task}: {how}")
    if job.slurm == "22.05":
        scene.step(at + 0.01, f"srun: launch/slurm: _step_signal: Terminating StepId={job.number}.0")
        scene.step(at + 0.2, f"slurmstepd: error: *** STEP {job.number}.0 ON {head} CANCELLED AT {moment} ***")
    elif job.slurm == "23.11":
        scene.step(at + 0.01, f"srun: Terminating StepId={job.number}.0")
        scene.step(at + 0.2, f"slurmstepd: error: *** STEP {job.number}.0 ON {head} CANCELLED AT {moment} ***")
    else:
        scene.step(at + 0.01, f"srun: Terminating StepId={job.number}.0")
        stamp = f"{scene.wall(0, at + 0.2):%Y-%m-%dT%H:%M:%S}.{int(at * 1000) % 1000:03d}"
        scene.step(at + 0.2, f"[{stamp}] error: *** STEP {job.number}.0 ON {head} CANCELLED AT {moment}{why or ' DUE TO TASK FAILURE'} ***")  # fmt: skip
    width = fleet.gpus_per_node if job.launcher == "srun" else 1
    for index, other in enumerate(fleet.nodes[:64]):
        if index != node and index not in scene.silent_from:
            first = index * width
            tasks = f"tasks {first}-{first + width - 1}" if width > 1 else f"task {first}"
            scene.step(at + 1 + index * 0.01, f"srun: error: {other.name}: {tasks}: Terminated")
    scene.step(at + 6, f"srun: Force Terminated StepId={job.number}.0")
    scene.says_exit = True


def crash(
    scene: Scene, ranks: Iterable[int], at: float, code: int = 1, peers: str | None = None, end_state: str = "FAILED"
) -> None:
    """Ranks have died of themselves; their launcher, their peers and the scheduler follow. Negative codes are signals."""
    dead = sorted(ranks)
    for rank in dead:
        scene.dead.setdefault(rank, at + 1)
    rng, fleet, job = scene.rng, scene.fleet, scene.job
    peers = peers or rng.choices(("killed", "remote", "timeout"), (6, 3, 1))[0]
    nodes = sorted({rank // fleet.gpus_per_node for rank in dead})
    everyone = len(dead) > fleet.ranks * 0.6
    ended = at
    if job.launcher == "torchrun":
        for node in nodes:
            mine = [rank for rank in dead if rank // fleet.gpus_per_node == node]
            child_failed(scene, node, at + rng.uniform(0.4, 2.5), dict.fromkeys(mine, code))
        ended = at + 5
    elif job.launcher != "srun":
        launchers.failed(scene, dead, at + rng.uniform(0.4, 2.5), code)
        ended = at + 5
    if not everyone and peers == "remote":
        watchers = rng.sample(scene.others(set(dead)), min(fleet.ranks - len(dead), rng.randrange(2, 9)))
        for rank in sorted(watchers):
            remote_error(scene, rank, at + rng.uniform(0.3, 3), dead[0])
        if job.launcher == "torchrun":
            for node in sorted({rank // fleet.gpus_per_node for rank in watchers} - set(nodes)):
                mine = sorted(rank for rank in watchers if rank // fleet.gpus_per_node == node)
                child_failed(scene, node, at + 3.5 + rng.random(), dict.fromkeys(mine, 1))
        ended = max(ended, at + 8)
    elif not everyone and peers == "timeout":
        _watchdogs(scene, set(dead), at)
        ended = at + job.timeout + 12
    if dead[0] == 0 and not everyone and job.torch_minor >= 5:
        _store_gone(scene, set(dead), at + 1.3)
    finish(scene, ended, nodes[0], task_of(scene, dead[0]), code, end_state)


def _store_gone(scene: Scene, dead: set[int], at: float) -> None:
    """The first rank held the store; monitors of other ranks cannot ask it any more."""
    others = scene.others(dead)
    address = scene.fleet.nodes[0].address
    for rank in sorted(scene.rng.sample(others, min(12, len(others)))):
        moment = scene.fleet.wall(scene.fleet.node_of(rank), at)
        stamp = f"{moment.month}{moment:%d %H:%M:%S}.{moment.microsecond * 1000:09d}"
        mine = f"addr=[{scene.fleet.node_of(rank).address}]:{40000 + rank % 20000}, remote=[{address}]:29500"
        scene.raw(
            rank, at, f"[rank{rank}]:[W{stamp} TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd={60 + rank % 40}, "
            f"{mine}): failed to recv, got 0 bytes\n"
            "Exception raised from recvBytes at ../torch/csrc/distributed/c10d/Utils.hpp:670 (most recent call first):",
        )  # fmt: skip
        scene.c10d(
            rank, at + 0.002, "W", 1659, f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Failed to check the \"should dump\" "
            "flag on TCPStore, (maybe TCPStore server has shut down too early), with error: failed to recv, got 0 bytes",
        )  # fmt: skip


def _watchdogs(scene: Scene, silent: set[int], at: float, operation: tuple[str, int, int] | None = None) -> int:
    """Every rank that is not silent times out on the collective it waits in; the sequence number comes back."""
    rng, fleet = scene.rng, scene.fleet
    work, operation = rng.randrange(300, 900000), operation or rng.choice(OPERATIONS)
    waiting = [rank for rank in scene.others(silent) if rank // fleet.gpus_per_node not in scene.silent_from]
    began = at + rng.uniform(0.2, 4)
    detail = set(waiting[:4]) | set(rng.sample(waiting, min(12, len(waiting))))
    for rank in waiting:
        if len(waiting) > 600 and rank not in detail and rng.random() < 0.5:
            continue
        watchdog(scene, rank, began + scene.job.timeout + rng.uniform(0.005, 0.9), work, operation, rank in detail)
    if scene.job.torch_minor >= 5:
        told = sorted(detail - {waiting[0]})
        for rank in told if rng.random() < 0.5 else ():
            _notified(scene, rank, began + scene.job.timeout + 0.95, waiting[0], work)
        for rank in [*waiting[:64], *sorted(silent)[:16]]:
            scene.recorded[rank] = Recorded(began, work, operation, rank not in silent)
    return work


def _notified(scene: Scene, rank: int, at: float, first: int, work: int) -> None:
    """A rank hears from another that a collective timed out, and its monitor ends it if nothing else does."""
    tag = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    scene.c10d(rank, at, "E", 1682, f"{tag} Observed flight recorder dump signal from another rank via TCPStore.")
    scene.c10d(
        rank, at + 0.001, "E", 1743, f"{tag} Received a dump signal due to a collective timeout from  rank {first} and we "
        f"will try our best to dump the debug info. Last enqueued NCCL work: {work}, last completed NCCL work: "
        f"{work - 1}.{DUMP_ADVICE}",
    )  # fmt: skip
    if scene.rng.random() < 0.4:
        scene.c10d(
            rank, at + 60, "F", 1557, f"{tag} [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Terminating the process after "
            "attempting to dump debug info, due to collective timeout or exception.",
        )  # fmt: skip


def hang(scene: Scene, stuck: Iterable[int], at: float, lost_node: bool = False) -> None:
    """Ranks stop making progress; all the others wait for them until their watchdogs give up."""
    silent = set(stuck)
    fleet, job = scene.fleet, scene.job
    _watchdogs(scene, silent, at)
    ended = at + job.timeout + 6
    waiting = [rank for rank in scene.others(silent) if rank // fleet.gpus_per_node not in scene.silent_from]
    first = waiting[0] if waiting else min(silent)
    if job.launcher == "torchrun":
        nodes = sorted({rank // fleet.gpus_per_node for rank in waiting})
        for node in nodes[:40]:
            mine = [rank for rank in waiting if rank // fleet.gpus_per_node == node]
            child_failed(scene, node, ended + scene.rng.random() * 2, dict.fromkeys(mine[:2], -6))
        ended += 8
    elif job.launcher != "srun":
        launchers.failed(scene, [first], ended, -6)
    finish(scene, ended, first // fleet.gpus_per_node, task_of(scene, first), -6)


def finish(scene: Scene, at: float, node: int, task: int, code: int, state: str = "FAILED") -> None:
    """The scheduler's part of a failed attempt."""
    job, end = scene.job, scene.end
    end.at, end.state = at + 8, state
    if job.scheduler == "slurm":
        if job.launcher not in ("torchrun", "srun"):
            end.code, end.signal, end.step_state = 1, 0, "CANCELLED"
        elif job.launcher == "torchrun":
            slurm_kill(scene, at, node, f"task {task}", "Exited with exit code 1")
            end.code, end.signal = 1, 0
        elif code < 0:
            name = {
                -6: "Aborted (core dumped)",
                -9: "Killed",
                -11: "Segmentation fault (core dumped)",
                -7: "Bus error (core dumped)",
            }
            slurm_kill(scene, at, node, f"task {task}", name.get(code, "Terminated"))
            end.code = 128 - code if job.slurm == "25.11" else -code
        else:
            slurm_kill(scene, at, node, f"task {task}", f"Exited with exit code {code}")
            end.code = code
        if job.launcher in ("torchrun", "srun"):
            end.step_state = "CANCELLED" if job.slurm != "23.11" else "FAILED"
        if job.launcher == "torchrun":
            for index in range(min(len(scene.fleet.nodes), 64)):
                if index != node and index not in scene.silent_from and scene.rng.random() < 0.5:
                    signalled(scene, index, at + 0.4 + scene.rng.random())
    else:
        if job.launcher == "torchrun":
            for index in range(min(len(scene.fleet.nodes), 64)):
                if index != node and index not in scene.pods and index not in scene.silent_from:
                    signalled(scene, index, at + 2 + scene.rng.random())
        for index in range(len(scene.fleet.nodes)):
            mine = index == node
            scene.pods.setdefault(
                index,
                {"exitCode": 1 if mine else 143, "reason": "Error", "finished": at + (0 if mine else 4)},
            )
        end.code = 1


def terminated(scene: Scene, at: float) -> None:
    """The scheduler ends a step that had nothing wrong with it, and the launchers pass it on."""
    launcher = scene.job.launcher
    if launcher == "torchrun":
        for index in range(len(scene.fleet.nodes)):
            signalled(scene, index, at + scene.rng.random())
    elif launcher != "srun":
        launchers.told_to_end(scene, at)
        return
    scene.step(at + 1, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    width = scene.fleet.gpus_per_node if launcher == "srun" else 1
    for index, node in enumerate(scene.fleet.nodes[:64]):
        tasks = f"tasks {index * width}-{index * width + width - 1}" if width > 1 else f"task {index}"
        scene.step(at + 2, f"srun: error: {node.name}: {tasks}: Terminated")


def node_lost(scene: Scene, node: int, at: float, peers: str | None = None) -> None:
    """A machine is gone at a moment: it says nothing more, its peers lose it, the scheduler finds out later."""
    rng, fleet, job = scene.rng, scene.fleet, scene.job
    scene.silent_from[node] = at
    gone = set(fleet.nodes[node].ranks)
    peers = peers or rng.choice(("remote", "remote", "timeout"))
    name = fleet.nodes[node].name
    if peers == "remote":
        watchers = sorted(rng.sample(scene.others(gone), min(fleet.ranks - len(gone), rng.randrange(3, 10))))
        for rank in watchers:
            remote_error(scene, rank, at + rng.uniform(1, 15), rng.choice(sorted(gone)))
    noticed = at + rng.uniform(60, 290)
    if peers == "timeout":
        _watchdogs(scene, gone, at)
        noticed = min(noticed, at + job.timeout - 5)
    scene.end.at = noticed + 10
    if job.scheduler == "slurm":
        moment = f"{scene.wall(0, noticed):%Y-%m-%dT%H:%M:%S}"
        head = next(other.name for other in fleet.nodes if other.index != node)
        why = "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
        stamp = f"[{moment}.{int(noticed * 1000) % 1000:03d}] error:" if job.slurm == "25.11" else "slurmstepd: error:"
        scene.step(noticed, f"srun: error: Node failure on {name}")
        scene.step(noticed + 0.1, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
        scene.step(noticed + 0.2, f"{stamp} *** STEP {job.number}.0 ON {head} CANCELLED AT {moment} {why} ***")
        scene.step(noticed + 0.3, f"{stamp} *** JOB {job.number} ON {head} CANCELLED AT {moment} {why} ***")
        scene.controller.append((noticed - 20, f"error: Nodes {name} not responding"))
        scene.controller.append((noticed, f"error: Nodes {name} not responding, setting DOWN"))
        scene.controller.append((noticed, f"_job_complete: JobId={job.number} WEXITSTATUS 0"))
        scene.end.state, scene.end.code, scene.end.step_state = (
            "NODE_FAIL",
            1 if job.slurm == "25.11" else 0,
            "CANCELLED",
        )
        scene.end.failed_node = name
        scene.says_exit = True
    else:
        for index in range(len(fleet.nodes)):
            if index == node:
                scene.pods[index] = {"lost": True, "finished": noticed}
            else:
                scene.pods[index] = {"exitCode": 1, "reason": "Error", "finished": noticed}
        scene.events.append(
            {"at": noticed, "kind": "Node", "name": name, "type": "Normal", "reason": "NodeNotReady",
             "message": f"Node {name} status is now: NodeNotReady", "by": "node-controller"}
        )  # fmt: skip
        scene.end.state, scene.end.failed_node = "NODE_LOST", name
