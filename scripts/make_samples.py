"""Writes the sample bundles to `samples/`; with --check, says which of their files are stale and exits with 1.

Compressed files are compared by their content, since compressors differ between versions.
"""

import gzip
import sys
from datetime import datetime
from pathlib import Path

import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parent))

import sample_nodes
import sample_programs
from sample_parts import (
    PCI,
    WARNINGS,
    Job,
    Machine,
    Values,
    after,
    child_failed,
    coloured_style,
    connection_lost,
    evenly,
    exited,
    machines,
    peer_closed,
    python_style,
    quiet_system,
    stamped,
    starting,
    system_line,
    torch_head,
    traceback,
    training,
    utc,
    utc_style,
    watchdog_timeout,
)

FOLDER = Path(__file__).resolve().parent.parent / "samples"
FAILED = "scheduler_state: FAILED\nexit_code: 1\nreason: NonZeroExitCode"


def nvlink_signal_integrity() -> Job:
    """A link of one GPU loses its signal; each of the three nodes reports something else."""
    job = Job(
        "nvlink-signal-integrity",
        418201,
        utc("2026-05-04T02:31:00"),
        utc("2026-05-04T03:17:26"),
        machines(3, 8, 31866),
        FAILED,
    )
    one, two, three = job.machines
    fatal = utc("2026-05-04T03:06:58.112")
    for machine in job.machines:
        starting(job, f"applog/{machine.name}.log", machine, machine.ranks[:3])
        training(job, f"applog/{machine.name}.log", machine, after(fatal, -2), utc_style, 14)
    _link_lost(job, two, fatal)

    log, warned = job.log("applog/node-02.log"), after(fatal, 0.4)
    log.add(warned, utc_style(warned, "DEBUG", "data.loader", "prefetch queue 12/16, wait 0.0003s, retrying 0/5"))
    failure = "Cuda failure 'uncorrectable NVLink error detected during the execution'"
    log.add(warned, "", f"{two.thread(8)} enqueue.cc:1451 NCCL WARN {failure}")
    log.add(warned, f"{two.thread(8)} NCCL INFO group.cc:267 -> 1")
    died = after(fatal, 32.4)
    log.add(died, *child_failed(two, 8, died, -6), exited(two, 1))

    log, closed = job.log("applog/node-03.log"), after(fatal, 33.1)
    peer = "node-02.cluster.example<47810>"
    log.add(closed, *peer_closed(three, 17, closed, utc_style, peer), *connection_lost(17, peer))
    log.add(after(closed, 2), *child_failed(three, 17, after(closed, 2), 1), exited(three, 2))

    log, expired = job.log("applog/node-01.log"), after(fatal, 600.3)
    log.add(expired, utc_style(expired, "INFO", "trainer", "heartbeat: 8 processes alive, 0 failed, timeout=1800"))
    log.add(expired, *watchdog_timeout(3, expired, 88213, 16777216, 600021))
    log.add(after(expired, 6), *child_failed(one, 3, after(expired, 6), -6), exited(one, 0))
    return job


def _link_lost(job: Job, machine: Machine, fatal: datetime) -> None:
    """The system logs; the fatal line stands in line 812 of the one that matters."""
    for other in job.machines:
        if other is not machine:
            path = f"syslog/{other.name}.log"
            quiet_system(job, path, other.name, after(job.start, -1200), after(job.end, 240), 300, "iso")
    corrected = after(fatal, -241.7)
    text = (
        "kernel: EDAC MC1: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x2f31a7 "
        "offset:0x80 grain:32 syndrome:0x0)"
    )
    job.log("syslog/node-03.log").add(corrected, stamped(text, corrected, "node-03", "iso"))
    path = f"syslog/{machine.name}.log"
    quiet_system(job, path, machine.name, after(fatal, -9000), after(fatal, -3), 809, "iso")
    xid, pid = f"NVRM: Xid (PCI:{PCI[0]})", machine.pid_of(8)
    words = "0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000"
    link_down = f"{xid}: 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 ({words})"
    recovery = f"{xid}: 154, GPU recovery action changed from"
    lines = (
        (-0.000041, f"NVRM: GPU at PCI:{PCI[0]}: GPU-5f0c2a9e-71d4-4b3a-9c06-2e8d17b4a350"),
        (-0.000036, "NVRM: GPU Board Serial Number: 1654024910377"),
        *((secs, link_down) for secs in (0, 0.000188, 0.041207, 0.310955, 0.873410)),
        *((0.283114 + 0.0004 * n, f"{xid}: 45, pid={pid}, name=python3, Ch {n:08x}") for n in range(8)),
        (0.404871, f"{recovery} 0x0 (None) to 0x1 (GPU Reset Required)"),
        (0.405018, f"{recovery} 0x1 (GPU Reset Required) to 0x4 (Drain and Reset)"),
        *((0.5088 + 0.0011 * n, f"{xid}: 45, pid={pid}, name=python3, Ch {n + 8:08x}") for n in range(32)),
    )
    for secs, text in lines:
        cause = " caused by previous Xid 149" if ": 45," in text else ""
        at = after(fatal, secs)
        job.log(path).add(at, stamped(f"kernel: {text}{cause}", at, machine.name, "iso"))
    quiet_system(job, path, machine.name, after(fatal, 4), after(job.end, 240), 120, "iso")


def python_exception_one_rank() -> Job:
    """Rank 5 meets a bug of the program; the ranks of the other node wait for it until their watchdogs fire."""
    job = Job(
        "python-exception-one-rank",
        418255,
        utc("2026-05-06T13:40:12"),
        utc("2026-05-06T14:32:21"),
        machines(2, 4, 52104),
        FAILED,
    )
    one, two = job.machines
    raised = utc("2026-05-06T14:22:07.418")
    paths = {one: "applog/node-01.log.gz", two: "applog/node-02.log.gz"}
    for machine, path in paths.items():
        starting(job, path, machine, machine.ranks)
        training(job, path, machine, after(raised, -1), python_style, 9)
        system = f"syslog/{machine.name}.log"
        quiet_system(job, system, machine.name, after(job.start, -600), after(job.end, 300), 260, "iso")
    frames = (
        ("/data/job/train.py", 318, "<module>", "main()"),
        ("/data/job/train.py", 287, "main", "batch = prepare(raw, config)"),
        ("/data/job/train.py", 231, "prepare", 'mask = build_mask(raw["segment_starts"], config.window)'),
    )
    log = job.log(paths[two])
    log.add(raised, python_style(raised, "INFO", "trainer", "window schedule: entering phase 3 at sample 4194304"))
    log.add(after(raised, 0.003), *traceback(5, frames, "KeyError: 'segment_starts'"))
    log.add(after(raised, 1.6), *child_failed(two, 5, after(raised, 1.6), 1), exited(two, 1))

    log, closed = job.log(paths[one]), after(raised, 2.2)
    log.add(closed, *peer_closed(one, 3, closed, python_style, "node-02.cluster.example<39466>"))
    expired = after(raised, 600.9)
    for rank in one.ranks:
        log.add(
            after(expired, 0.02 * rank),
            *watchdog_timeout(rank, after(expired, 0.02 * rank), 40977, 8388608, 600008 + rank),
        )
    log.add(after(expired, 5), *child_failed(one, 0, after(expired, 5), -6), exited(one, 0))
    return job


def cgroup_oom() -> Job:
    """The loaders of task 9 outgrow the memory that the job asked for; the kernel kills the task, its peers notice."""
    job = Job(
        "cgroup-oom",
        418377,
        utc("2026-05-07T08:05:40"),
        utc("2026-05-07T09:41:46"),
        machines(2, 8, 87120),
        "scheduler_state: OUT_OF_MEMORY\nreason: OutOfMemory",
    )
    one, two = job.machines
    killed, booted = utc("2026-05-07T09:41:12.640231"), utc("2026-05-01T11:27:18.522027")
    paths = {one: "applog/node-01.log.gz", two: "applog/node-02.log"}
    for machine in job.machines:
        path = paths[machine]
        starting(job, path, machine, machine.ranks[:2], launcher=False)
        training(job, path, machine, after(killed, -1), python_style, 24, machine.ranks[:1])
        log = job.logs[path]
        log.lines = [(at, f"{machine.ranks[0]:2d}: {line}") for at, line in log.lines]
        quiet_system(
            job,
            f"syslog/{machine.name}.log",
            machine.name,
            after(job.start, -900),
            after(job.end, 200),
            380,
            "rfc3164",
            booted if machine is two else utc("2026-04-29T06:10:03"),
        )
    _memory_kill(job, two, killed, booted)
    job.log("applog/node-02.log").add(
        after(killed, 0.3),
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=418377.0. Some of your processes may have been "
        "killed by the cgroup out-of-memory handler.",
    )
    for machine, rank, secs in ((two, 10, 1.1), (one, 7, 1.4)):
        peer, at = "node-02.cluster.example<51022>", after(killed, secs)
        lines = [*peer_closed(machine, rank, at, python_style, peer), *connection_lost(rank, peer)]
        job.log(paths[machine]).add(at, *(f"{rank:2d}: {line}" for line in lines))
    job.log("applog/node-01.batch.log").add(
        after(killed, 3),
        "srun: error: node-02: task 9: Out Of Memory",
        "srun: Terminating StepId=418377.0",
        "slurmstepd: error: *** STEP 418377.0 ON node-01 CANCELLED AT 2026-05-07T09:41:15 ***",
        "srun: error: node-01: tasks 0-7: Terminated",
        "srun: error: node-02: tasks 8,10-15: Terminated",
        "srun: Force Terminated StepId=418377.0",
    )
    job.log("scheduler/sacct.txt").add(
        job.end,
        "JobID|JobName|State|ExitCode|Start|End|NodeList",
        "418377|train|OUT_OF_MEMORY|0:125|2026-05-07T08:05:40|2026-05-07T09:41:46|node-[01-02]",
        "418377.batch|batch|OUT_OF_MEMORY|0:125|2026-05-07T08:05:40|2026-05-07T09:41:46|node-01",
        "418377.0|python3|OUT_OF_MEMORY|0:125|2026-05-07T08:05:44|2026-05-07T09:41:46|node-[01-02]",
    )
    return job


def _memory_kill(job: Job, machine: Machine, killed: datetime, booted: datetime) -> None:
    """The kernel's account of the kill, in the system log and once more in the output of dmesg."""
    pid = machine.pid_of(9)
    group = "/system.slice/slurmstepd.scope/job_418377/step_0/user"
    account = (
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        f"CPU: 41 PID: {pid + 215} Comm: python3 Tainted: P           OE      6.8.0-52-generic #53-Ubuntu",
        "Call Trace:",
        " <TASK>",
        " dump_stack_lvl+0x76/0xa0",
        " dump_header+0x4f/0x250",
        " oom_kill_process+0x118/0x280",
        " mem_cgroup_out_of_memory+0x14b/0x160",
        " try_charge_memcg+0x6e5/0x790",
        " </TASK>",
        "memory: usage 402653184kB, limit 402653184kB, failcnt 118204",
        "swap: usage 0kB, limit 0kB, failcnt 0",
        f"Memory cgroup stats for {group}:",
        "Tasks state (memory values in pages):",
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
        *(
            f"[{machine.pid_of(r):7d}]  1000 {machine.pid_of(r)} 61184220  {7012345 + 913 * r} "
            "71204864        0             0 python3"
            for r in machine.ranks
            if r != 9
        ),
        f"[{pid:7d}]  1000 {pid} 98120117 46217330 402714624        0             0 python3",
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=user,mems_allowed=0-1,oom_memcg={group},"
        f"task_memcg={group}/task_9,task=python3,pid={pid},uid=1000",
        f"Memory cgroup out of memory: Killed process {pid} (python3) total-vm:392480468kB, anon-rss:181204116kB, "
        "file-rss:91204kB, shmem-rss:3574000kB, UID:1000 pgtables:393276kB oom_score_adj:0",
        f"oom_reaper: reaped process {pid} (python3), now anon-rss:0kB, file-rss:90112kB, shmem-rss:3574000kB",
    )
    log, kernel = job.log("syslog/node-02.log"), job.log("syslog/node-02.dmesg.log")
    for n, text in enumerate(account):
        at = after(killed, 0.000041 * n + (0.9 if text.startswith("oom_reaper") else 0))
        log.add(at, system_line(f"kernel: {text}", at, machine.name, "rfc3164", booted))
    for at, line in log.lines:
        if " kernel: [" in line:
            kernel.add(at, line.split(" kernel: ", 1)[1])


def two_suspects() -> Job:
    """A GPU of one node falls off the bus, a shard cannot be read on another; no clock tells which came first."""
    job = Job(
        "two-suspects",
        418420,
        utc("2026-05-11T09:12:30"),
        utc("2026-05-11T11:53:16"),
        machines(3, 8, 14066),
        FAILED,
    )
    one, _, three = job.machines
    about = utc("2026-05-11T11:52:40")
    for machine, uptime in zip(job.machines, (1904433, 771208, 1902114), strict=True):
        path = f"applog/{machine.name}.log" + ("" if machine is three else ".gz")
        starting(job, path, machine, machine.ranks[:2])
        training(job, path, machine, after(about, -3), python_style, 45)
        booted = after(about, -uptime)
        quiet_system(
            job,
            f"syslog/{machine.name}.log",
            machine.name,
            after(about, -uptime),
            after(job.end, 60),
            260,
            "dmesg",
            booted,
        )
        if machine is one:
            _lost_gpu(job, machine, after(about, 0.218), booted)
    log, at = job.log("applog/node-01.log.gz"), after(about, 0.7)
    log.add(at, python_style(at, "INFO", "trainer", "heartbeat: 8 processes alive, 0 failed, timeout=1800"))
    group = "[PG ID 0 PG GUID 0(default_pg) Rank 2]"
    log.add(
        at,
        f"{torch_head(2, at, 1895)} {group} Process group watchdog thread terminated with exception: "
        "CUDA error: unspecified launch failure",
    )
    log.add(after(at, 4), *child_failed(one, 2, after(at, 4), -6), exited(one, 0))

    log, at = job.log("applog/node-03.log"), after(about, 0.1)
    frames = (
        ("/data/job/train.py", 318, "<module>", "main()"),
        ("/data/job/train.py", 274, "main", "for raw in stream:"),
        ("/data/job/corpus.py", 97, "__iter__", "block = self._file.read(self._block_bytes)"),
    )
    for rank, secs in ((18, 0), (21, 0.4)):
        raised = after(at, secs)
        log.add(raised, python_style(raised, "INFO", "data.loader", f"rank {rank}: next block of shard_00217.bin"))
        log.add(raised, *traceback(rank, frames, "OSError: [Errno 5] Input/output error"))
    log.add(after(at, 5), *child_failed(three, 18, after(at, 5), 1), exited(three, 2))
    return job


def _lost_gpu(job: Job, machine: Machine, at: datetime, booted: datetime) -> None:
    """Kernel lines of a GPU that no longer answers."""
    pci = PCI[2]
    for secs, text in (
        (0, f"NVRM: GPU at PCI:{pci}: GPU-c1d7e0b4-02aa-4f6e-8e21-77b90d35fa18"),
        (0.000004, "NVRM: GPU Board Serial Number: 1654024911052"),
        (0.000009, f"NVRM: Xid (PCI:{pci}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
        (0.000014, f"NVRM: GPU {pci}.0: GPU has fallen off the bus."),
        (0.000017, f"NVRM: GPU {pci}.0: GPU serial number is 1654024911052."),
        (0.001122, "NVRM: A GPU crash dump has been created. If possible, please run"),
        (0.001125, "NVRM: nvidia-bug-report.sh as root to collect this data before"),
        (0.001127, "NVRM: the NVIDIA kernel module is unloaded."),
    ):
        job.log(f"syslog/{machine.name}.log").add(
            after(at, secs), stamped(f"kernel: {text}", after(at, secs), machine.name, "dmesg", booted)
        )


def timeouts_only() -> Job:
    """Every rank waits for the same collective until its watchdog ends it; nothing says why."""
    job = Job(
        "timeouts-only",
        418502,
        utc("2026-05-13T20:15:00"),
        utc("2026-05-13T21:48:40"),
        machines(2, 4, 66310),
        FAILED,
    )
    one, two = job.machines
    stuck = utc("2026-05-13T21:38:21.507")
    for machine in job.machines:
        starting(job, f"applog/{machine.name}.log.zst", machine, machine.ranks)
        training(job, f"applog/{machine.name}.log.zst", machine, stuck, utc_style, 16)
        for rank in machine.ranks:
            expired = after(stuck, 600.2 + 0.013 * rank)
            log = job.log(f"applog/{machine.name}.rank{rank}.stderr.log.zst")
            log.add(after(job.start, 40), *(Values(f"{job.name} {rank}").fill(t) for t in WARNINGS))
            log.add(
                expired, *watchdog_timeout(rank, expired, 271828, 33554432, 600003 + 4 * rank, "_REDUCE_SCATTER_BASE")
            )
    for task, machine in enumerate((one, two)):
        ended = after(stuck, 606 + task)
        rank = machine.ranks[1]
        job.log(f"applog/{machine.name}.log.zst").add(
            ended, *child_failed(machine, rank, ended, -6), exited(machine, task)
        )
    quiet_system(job, "syslog/node-01.log", "node-01", after(job.start, -900), after(job.end, 300), 420, "iso")
    job.log("syslog/node-02.log")
    return job


def completed_with_noise() -> Job:
    """A run that went well, with lines that look as if it had not."""
    job = Job(
        "completed-with-noise",
        418566,
        utc("2026-05-15T01:00:20"),
        utc("2026-05-15T03:24:05"),
        machines(2, 8, 23718),
        "scheduler_state: COMPLETED\nexit_code: 0",
    )
    one, two = job.machines
    done = after(job.end, -14)
    for machine in job.machines:
        path = f"applog/{machine.name}.log.zst"
        starting(job, path, machine, machine.ranks[:2])
        training(job, path, machine, after(done, -40), coloured_style, 32)
        system = f"syslog/{machine.name}.log.gz"
        quiet_system(job, system, machine.name, after(job.start, -200_000), after(job.end, 300), 420, "iso")
    _scary_lines(job, one, done)
    log = job.log("applog/node-01.log.zst")
    for n, at in enumerate(evenly(after(job.start, 400), done, 24, Values(job.name))):
        shown = [
            f"evaluate {n:2d}: {done_:3d}%|{'#' * (done_ // 5):20s}| {done_ * 4}/400 [00:{done_ * 3 // 10:02d}]"
            for done_ in range(0, 101, 10)
        ]
        log.add(at, "\r".join(shown))
    for machine in job.machines:
        at = after(done, 2)
        rank = machine.ranks[0]
        log = job.log(f"applog/{machine.name}.log.zst")
        log.add(done, coloured_style(done, "INFO", "trainer", "training finished: 4690 steps, 0 errors, 0 restarts"))
        log.add(
            at,
            f"{torch_head(rank, at, 1496, 'W')} Warning: WARNING: destroy_process_group() was not called before "
            "program exit, which can leak resources. For more info, please see "
            "https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
        )
    system = job.log("syslog/node-02.log.gz")
    for n in range(3):
        at = after(done, 3.1 + 0.0007 * n)
        text = f"kernel: NVRM: Xid (PCI:{PCI[4]}): 45, pid={two.pid_of(12)}, name=python3, Ch {n + 8:08x}"
        system.add(at, stamped(text, at, two.name, "iso"))
    at = after(job.start, -2 * 86400 + 5000)
    text = f"kernel: NVRM: Xid (PCI:{PCI[1]}): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row "
    system.add(
        at, stamped(f"{text}(0x0000000c41a7e0c0) marked for remapping, reset gpu to activate.", at, two.name, "iso")
    )
    return job


def _scary_lines(job: Job, machine: Machine, done: datetime) -> None:
    """A skipped step, a retry that worked, and errors that the hardware corrected."""
    log = job.log(f"applog/{machine.name}.log.zst")
    for secs, scale in ((611, 65536), (640, 32768), (4210, 65536)):
        at = after(job.start, secs)
        text = f"Skipping step. Attempted loss scale: {scale}, reducing to {scale // 2}"
        head = f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}] [INFO] [loss_scaler.py:190:update_scale]"
        log.add(at, f"{head} [deepspeed] OVERFLOW! Rank 0 {text}")
    at = after(job.start, 2977)
    log.add(
        at,
        coloured_style(
            at,
            "WARNING",
            "urllib3.connectionpool",
            "Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by "
            "'ReadTimeoutError(\"HTTPSConnectionPool(host='objects.example.internal', port=443): Read timed out. "
            "(read timeout=10)\")': /corpus/shard_00088.tar",
        ),
        coloured_style(after(at, 0.8), "INFO", "fetch", "GET /corpus/shard_00088.tar 200 on attempt 2/5"),
    )
    at = after(job.start, 5230)
    for text in (
        "pcieport 0000:15:01.0: AER: Correctable error message received from 0000:1b:00.0",
        "nvidia 0000:1b:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)",
        "nvidia 0000:1b:00.0:   device [10de:2330] error status/mask=00000001/0000a000",
        "nvidia 0000:1b:00.0:    [ 0] RxErr                  (First)",
        "EDAC MC1: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x4a1c07 "
        "offset:0x340 grain:32 syndrome:0x0)",
    ):
        at = after(at, 0.00003)
        job.log(f"syslog/{machine.name}.log.gz").add(at, stamped(f"kernel: {text}", at, machine.name, "iso"))


SAMPLES = (
    nvlink_signal_integrity,
    python_exception_one_rank,
    cgroup_oom,
    two_suspects,
    timeouts_only,
    completed_with_noise,
    *sample_nodes.SAMPLES,
    *sample_programs.SAMPLES,
)


# --- writing ---------------------------------------------------------------------------------------------------------


def all_files() -> dict[str, bytes]:
    """Every file of every sample by its path below `samples/`, before compression."""
    return {f"{job.name}/{path}": data for job in (make() for make in SAMPLES) for path, data in job.files().items()}


def packed(path: str, data: bytes) -> bytes:
    """The bytes of a file as its name says."""
    if path.endswith(".gz"):
        return gzip.compress(data, mtime=0)
    return zstandard.ZstdCompressor(level=19).compress(data) if path.endswith(".zst") else data


def unpacked(path: str, data: bytes) -> bytes:
    """The content of a file."""
    if path.endswith(".gz"):
        return gzip.decompress(data)
    return zstandard.ZstdDecompressor().decompress(data) if path.endswith(".zst") else data


def stale() -> list[str]:
    """Files that are not as they should be, or should not be there."""
    wanted = all_files()
    bundles = {path.partition("/")[0] for path in wanted}
    there = {
        file.relative_to(FOLDER).as_posix()
        for bundle in sorted(bundles)
        for file in (FOLDER / bundle).rglob("*")
        if file.is_file()
    }
    fresh = {path for path in there & wanted.keys() if unpacked(path, (FOLDER / path).read_bytes()) == wanted[path]}
    return sorted((there | wanted.keys()) - fresh)


def main(check: bool) -> int:
    """0 if every sample is as it should be."""
    paths, wanted = stale(), all_files()
    if check and paths:
        print(f"stale samples: {', '.join(paths)}; run: .venv/bin/python scripts/make_samples.py")
        return 1
    for path in paths:
        file = FOLDER / path
        if path not in wanted:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(packed(path, wanted[path]))
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
