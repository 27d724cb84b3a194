"""Incidents that begin on a node or in the fabric between nodes: hardware, driver, operating system, storage."""

from datetime import datetime

from sample_parts import (
    FAILED,
    PCI,
    Job,
    Machine,
    Values,
    after,
    as_journal,
    child_failed,
    connection_lost,
    exited,
    kernel,
    machines,
    metrics,
    peer_closed,
    quiet_system,
    running,
    starting,
    traceback,
    utc,
    utc_style,
    watchdog_timeout,
)


def peer_lost(job: Job, machine: Machine, path: str, rank: int, at: datetime, peer: str) -> None:
    """A rank finds that its peer went away, and its launcher ends the node."""
    job.log(path).add(at, *peer_closed(machine, rank, at, utc_style, peer), *connection_lost(rank, peer))
    done = after(at, 3)
    job.log(path).add(done, *child_failed(machine, rank, done, 1), exited(machine, job.machines.index(machine)))


def gpu_memory_uncorrectable() -> Job:
    """GPU memory of node-01 loses data; the metrics count it, the journal tells which process had it."""
    job = Job(
        "gpu-memory-uncorrectable",
        418611,
        utc("2026-05-18T08:50:10"),
        utc("2026-05-18T10:14:52"),
        machines(2, 8, 41377),
        FAILED,
    )
    one, two = job.machines
    lost = utc("2026-05-18T10:14:33.218442")
    booted = utc("2026-04-30T05:12:44")
    for machine in job.machines:
        path = running(job, machine, after(lost, -2), "log.zst", 60)
        journal = f"syslog/{machine.name}.journal.json"
        quiet_system(job, journal, machine.name, after(job.start, -600), after(job.end, 120), 45, "iso")
        if machine is one:
            _double_bit(job, journal, one, lost)
            frames = (
                ("/data/job/train.py", 318, "<module>", "main()"),
                ("/data/job/train.py", 296, "main", "total += loss.item()"),
            )
            raised = after(lost, 0.41)
            log = job.log(path)
            log.add(
                raised, utc_style(raised, "INFO", "trainer", "heartbeat: 8 processes alive, 0 failed, timeout=1800")
            )
            log.add(
                raised, *traceback(4, frames, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered")
            )
            log.add(after(raised, 2), *child_failed(one, 4, after(raised, 2), 1), exited(one, 0))
        else:
            earlier = after(lost, -2011)
            note = "Disabling ECC single-bit error interrupts in framebuffer at logical partition 5, "
            note += "due to high error rate"
            kernel(job, journal, two, earlier, f"NVRM: Xid (PCI:{PCI[6]}): 92, pid='<unknown>', name=<unknown>, {note}")
            peer_lost(job, two, path, 11, after(lost, 3.2), "node-01.cluster.example<40212>")
        as_journal(job.log(journal), booted)
    labels = {"gpu": "4", "UUID": "GPU-90a7d3c1-4be2-4a55-8d0f-61c0b7f2ea93", "pci_bus_id": "00000000:9D:00.0"}
    labels.update(device="nvidia4", Hostname="node-01", instance="node-01:9400")
    count = 30
    rose = [0.0] * 28 + [1.0] * 2
    other = {**labels, "gpu": "5", "device": "nvidia5", "UUID": "GPU-17c3c5c8-9f1e-4d63-b5b2-0a5f5be3d0a4"}
    other["pci_bus_id"] = "00000000:C3:00.0"
    temperatures = Values(job.name).rng
    metrics(
        job,
        "metrics/dcgm.json",
        after(lost, -28 * 15 + 6),
        15,
        (
            ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", labels, rose),
            ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", other, [0.0] * count),
            ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", labels, rose),
            ("DCGM_FI_DEV_XID_ERRORS", labels, [0.0] * 28 + [94.0] * 2),
            ("DCGM_FI_DEV_GPU_TEMP", labels, [float(temperatures.randint(61, 66)) for _ in range(count)]),
            ("DCGM_FI_DEV_GPU_TEMP", other, [float(temperatures.randint(60, 65)) for _ in range(count)]),
        ),
    )
    return job


def _double_bit(job: Job, path: str, machine: Machine, at: datetime) -> None:
    """The driver finds an error that it cannot correct, sets the row aside, and ends the process that used it."""
    xid = f"NVRM: Xid (PCI:{PCI[4]})"
    unknown = "pid='<unknown>', name=<unknown>"
    kernel(
        job,
        path,
        machine,
        at,
        f"NVRM: GPU at PCI:{PCI[4]}: GPU-90a7d3c1-4be2-4a55-8d0f-61c0b7f2ea93",
        "NVRM: GPU Board Serial Number: 1654024913388",
        f"{xid}: 48, {unknown}, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at "
        "physAddr 0x2f70c41a60 partition 7, subpartition 1.",
        f"{xid}: 63, {unknown}, Row Remapper: New row (0x0000002f70c41a60) marked for remapping, reset gpu to "
        f"activate.",
        f"{xid}: 94, pid={machine.pid_of(4)}, name=python3, Contained: FB DED (0x7,0x1). RST: No, D-RST: No",
        step=0.0121,
    )
    pid = machine.pid_of(4)
    for n in range(6):
        text = f"{xid}: 45, pid={pid}, name=python3, Ch {n + 8:08x} caused by previous Xid 94"
        kernel(job, path, machine, after(at, 0.62 + 0.0009 * n), text)


def cable_overheated() -> Job:
    """The module of a cable overheats, its link goes down, and every connection over it runs out of retries."""
    job = Job(
        "cable-overheated",
        418640,
        utc("2026-05-19T18:00:05"),
        utc("2026-05-19T19:27:40"),
        machines(3, 8, 20951),
        FAILED,
        adapters=("0000:1a:00.0", "0000:42:00.0", "0000:5c:00.0", "0000:d2:00.0"),
    )
    *_, three = job.machines
    hot = utc("2026-05-19T19:27:02.518207")
    for machine in job.machines:
        path = running(job, machine, after(hot, -1), "log" if machine is three else "log.zst", 40)
        system = f"syslog/{machine.name}.log"
        quiet_system(job, system, machine.name, after(job.start, -300), after(job.end, 200), 40, "iso")
        power = "mlx5_pcie_event:299:(pid 4512): Detected insufficient power on the PCIe slot (27W)."
        kernel(job, system, machine, after(job.start, -240), f"mlx5_core 0000:1a:00.0: {power}")
        if machine is not three:
            gone = after(hot, 21.4 + 0.3 * machine.ranks[0])
            log = job.log(path)
            log.add(gone, utc_style(gone, "DEBUG", "data.loader", "prefetch queue 16/16, wait 0.0001s, retrying 0/5"))
            log.add(gone, _retries_used_up(machine, machine.ranks[2], "10.0.0.13<51188>", "mlx5_2"))
            log.add(after(gone, 0.1), *connection_lost(machine.ranks[2], "node-03.cluster.example<51188>"))
            log.add(after(gone, 4), *child_failed(machine, machine.ranks[2], after(gone, 4), 1))
    system, port = "syslog/node-03.log", "mlx5_core 0000:5c:00.0"
    kernel(
        job,
        system,
        three,
        hot,
        f"{port}: mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 2, Cable error, High "
        f"Temperature",
    )
    kernel(job, system, three, after(hot, 1.31), f"{port} ibs3: Link down")
    pid = three.pid_of(18)
    died = after(hot, 31)
    for n in range(3):
        text = f"NVRM: Xid (PCI:{PCI[2]}): 45, pid={pid}, name=python3, Ch {n + 8:08x}"
        kernel(job, system, three, after(died, 0.0007 * n), text)
    log = job.log("applog/node-03.log")
    seen = after(hot, 20.9)
    log.add(seen, utc_style(seen, "INFO", "trainer", "heartbeat: 8 processes alive, 0 failed, timeout=1800"))
    log.add(seen, _retries_used_up(three, 18, "10.0.0.12<42240>", "mlx5_2"))
    log.add(after(seen, 0.1), *connection_lost(18, "node-02.cluster.example<42240>"))
    log.add(after(died, -1), *child_failed(three, 18, after(died, -1), 1), exited(three, 2))
    labels = {"device": "mlx5_2", "port": "1", "instance": "node-03:9100"}
    metrics(
        job,
        "metrics/infiniband.json",
        after(hot, -600 + 7),
        30,
        (
            ("node_infiniband_link_downed_total", labels, [2.0] * 20 + [3.0] * 2),
            ("node_infiniband_link_downed_total", {**labels, "device": "mlx5_0"}, [1.0] * 22),
            ("node_infiniband_symbol_error_total", labels, [float(n * n // 8) for n in range(22)]),
        ),
    )
    return job


def _retries_used_up(machine: Machine, rank: int, peer: str, adapter: str) -> str:
    """NCCL gets no answer over InfiniBand."""
    found = f"Got completion from peer {peer} with status=12 opcode=0 len=0 vendor err 129 (Recv)"
    where = f"localGid fe80::ec0d:9a03:{rank:x} remoteGidsfe80::ec0d:9a04:{rank:x} hca {adapter}"
    return f"{machine.thread(rank)} transport/net_ib.cc:2284 NCCL WARN NET/IB : {found} {where}"


def memory_module_failed() -> Job:
    """A memory module of node-02 fails. Only system logs are left: the job wrote its own to a disk that is gone."""
    job = Job(
        "memory-module-failed",
        418655,
        utc("2026-05-20T02:10:00"),
        utc("2026-05-20T05:33:21"),
        machines(2, 8, 61204),
        "scheduler_state: FAILED\nsignal: 7\nreason: RaisedSignal:7(Bus_error)",
    )
    one, two = job.machines
    failed = utc("2026-05-20T05:33:07.902117")
    for machine in job.machines:
        path = f"syslog/{machine.name}.log"
        quiet_system(job, path, machine.name, after(job.start, -600), after(job.end, 300), 70, "iso")
    for n, secs in enumerate((-9120, -5441, -3120, -2007)):
        text = f"EDAC MC0: {n + 1} CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 "
        text += f"(channel:1 slot:0 page:0x18c{n}b7 offset:0x1c0 grain:32 syndrome:0x0)"
        kernel(job, "syslog/node-01.log", one, after(failed, secs), text)
    pid = two.pid_of(13)
    kernel(
        job,
        "syslog/node-02.log",
        two,
        failed,
        "mce: [Hardware Error]: Machine check events logged",
        "EDAC skx MC3: HANDLING MCE MEMORY ERROR",
        "EDAC skx MC3: CPU 56: Machine Check Event: 0x0 Bank 13: 0xbc00000001010091",
        "EDAC MC3: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#1_DIMM#0 (channel:1 slot:0 page:0x6f1b20c "
        "offset:0x740 grain:32 syndrome:0x0)",
        f"Memory failure: 0x6f1b20c: Sending SIGBUS to python3:{pid} due to hardware memory corruption",
        "Memory failure: 0x6f1b20c: recovery action for dirty LRU page: Recovered",
    )
    later = after(failed, 6)
    stamp = f"{later:%m/%d/%Y | %H:%M:%S}"
    job.log("bmc/node-02.sel.log").add(
        later,
        "  1 | 03/02/2026 | 11:20:41 | Event Logging Disabled SEL | Log area reset/cleared | Asserted",
        f"  2 | {stamp} | Memory CPU1_DIMM_F1 | Uncorrectable ECC (UnCorrectable ECC) | Asserted",
    )
    return job


def driver_updated_under_job() -> Job:
    """An unattended update changed the driver's libraries of node-03, whose kernel still runs the old module."""
    job = Job(
        "driver-updated-under-job",
        418701,
        utc("2026-05-21T06:45:00"),
        utc("2026-05-21T06:51:12"),
        machines(3, 4, 33187),
        FAILED,
    )
    *_, three = job.machines
    failed = utc("2026-05-21T06:45:38.771203")
    for machine in job.machines:
        path = f"applog/{machine.name}.log.gz"
        starting(job, path, machine, machine.ranks[:0])
        system = f"syslog/{machine.name}.log"
        quiet_system(job, system, machine.name, after(job.start, -3000), after(job.end, 100), 40, "iso")
        if machine is three:
            continue
        expired = after(failed, 301 + 0.2 * machine.ranks[0])
        text = "Timed out after 301 seconds waiting for clients. 8/12 clients joined."
        log = job.log(path)
        log.add(expired, utc_style(expired, "INFO", "trainer", "waiting for all processes"))
        log.add(expired, *_init_failed(machine.ranks[0], f"torch.distributed.DistStoreError: {text}"))
        log.add(after(expired, 2), *child_failed(machine, machine.ranks[0], after(expired, 2), 1))
    updated = after(job.start, -1502)
    for n, package in enumerate(("libnvidia-compute-570", "nvidia-utils-570")):
        text = f"dpkg[88120]: upgrade {package}:amd64 570.124.06-0ubuntu1 570.133.20-0ubuntu1"
        kernel(job, "syslog/node-03.log", three, after(updated, 4.0 * n), text)
    for n, rank in enumerate(three.ranks):
        kernel(
            job,
            "syslog/node-03.log",
            three,
            after(failed, 0.02 * n),
            "NVRM: API mismatch: the client has the version 570.133.20, but",
            "NVRM: this kernel module has the version 570.124.06.  Please",
            "NVRM: make sure that this kernel module and all NVIDIA driver",
            "NVRM: components have the same version.",
        )
        raised = after(failed, 0.6 + 0.03 * n)
        message = (
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        )
        message += (
            "NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver "
        )
        message += "/ cuda driver combination"
        log = job.log("applog/node-03.log.gz")
        log.add(raised, utc_style(raised, "INFO", "trainer", f"rank {rank}: setting device"))
        log.add(raised, *_init_failed(rank, message))
    ended = after(failed, 3)
    log.add(ended, *child_failed(three, three.ranks[0], ended, 1), exited(three, 2))
    return job


def _init_failed(rank: int, message: str) -> list[str]:
    """A rank cannot begin."""
    frames = (
        ("/data/job/train.py", 318, "<module>", "main()"),
        ("/data/job/train.py", 240, "main", "world = start(config)"),
    )
    return traceback(rank, frames, message)


def kernel_panic() -> Job:
    """The kernel of node-02 panics over a bug in a file system; Slurm loses the node and ends the job."""
    job = Job(
        "kernel-panic",
        418733,
        utc("2026-05-22T12:00:30"),
        utc("2026-05-22T15:21:55"),
        machines(3, 8, 75310),
        "scheduler_state: NODE_FAIL\nreason: NodeFail",
    )
    one, two, three = job.machines
    died = utc("2026-05-22T15:16:41.330518")
    for machine in job.machines:
        running(job, machine, after(died, -1), "log.zst", 36)
        system = f"syslog/{machine.name}.log"
        until = after(died, -9) if machine is two else after(job.end, 300)
        quiet_system(job, system, machine.name, after(job.start, -300), until, 40, "iso")
    kernel(
        job,
        "syslog/node-02.log",
        two,
        died,
        "BUG: kernel NULL pointer dereference, address: 0000000000000058",
        "#PF: supervisor read access in kernel mode",
        "#PF: error_code(0x0000) - not-present page",
        "Oops: 0000 [#1] PREEMPT SMP NOPTI",
        "CPU: 71 PID: 39144 Comm: kworker/u385:3 Tainted: P           OE      6.8.0-52-generic #53-Ubuntu",
        "Workqueue: writeback wb_workfn (flush-253:2)",
        "RIP: 0010:xfs_bmapi_convert_delalloc+0x1d2/0x4f0 [xfs]",
        "Call Trace:",
        " <TASK>",
        " xfs_map_blocks+0x1a1/0x3e0 [xfs]",
        " iomap_do_writepage+0x2c9/0x870",
        " </TASK>",
        "---[ end trace 0000000000000000 ]---",
        "Kernel panic - not syncing: Fatal exception",
    )
    back = after(died, 262.4)
    boot = (
        "Linux version 6.8.0-52-generic (buildd@host-17) (x86_64-linux-gnu-gcc-13 (Ubuntu 13.3.0) 13.3.0) "
        "#53-Ubuntu SMP",
        "Command line: BOOT_IMAGE=/boot/vmlinuz-6.8.0-52-generic root=/dev/nvme0n1p2 ro crashkernel=512M",
    )
    kernel(job, "syslog/node-02.log", two, back, *boot)
    ended = f"{after(died, 303.2):%Y-%m-%dT%H:%M:%S}"
    job.log("scheduler/slurmctld.log").add(
        after(died, 300),
        f"[{after(died, -1800):%Y-%m-%dT%H:%M:%S}.114] sched: Allocate JobId=418732 NodeList=node-[07-08] #CPUs=384",
        f"[{after(died, 300):%Y-%m-%dT%H:%M:%S}.871] error: Nodes node-02 not responding, setting DOWN",
        f"[{ended}.204] Killing JobId=418733 on failed node node-02",
        f"[{after(died, 330):%Y-%m-%dT%H:%M:%S}.530] Node node-02 rebooted 64 secs ago",
    )
    job.log("applog/node-01.batch.log").add(
        after(died, 303),
        f"slurmstepd: error: *** JOB 418733 ON node-01 CANCELLED AT {ended} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR "
        "DETAILS ***",
        "srun: error: Node failure on node-02",
        "srun: error: node-01: tasks 0-7: Killed",
        "srun: error: node-03: tasks 16-23: Killed",
    )
    for machine, rank in ((one, 4), (three, 20)):
        closed = after(died, 41.5 + rank)
        peer = "node-02.cluster.example<38812>"
        lines = peer_closed(machine, rank, closed, utc_style, peer)
        job.log(f"applog/{machine.name}.log.zst").add(closed, *lines)
    return job


def file_server_evicts_clients() -> Job:
    """The file server throws out the clients of every node; checkpoints fail and tasks hang."""
    job = Job(
        "file-server-evicts-clients",
        418760,
        utc("2026-05-23T21:30:00"),
        utc("2026-05-24T00:12:28"),
        machines(3, 8, 54010),
        FAILED,
    )
    lost = utc("2026-05-24T00:10:12.640881")
    target, server = "work-OST0011", "10.0.0.201@o2ib"
    for n, machine in enumerate(job.machines):
        path = running(job, machine, after(lost, -1), "log" if n == 1 else "log.gz", 36)
        system = f"syslog/{machine.name}.log"
        quiet_system(job, system, machine.name, after(job.start, -300), after(job.end, 200), 40, "iso")
        client = f"{target}-osc-ffff9d{n}1c7a2000"
        at = after(lost, 0.3 * n)
        waits = f"Connection to {target} (at {server}) was lost; in progress operations using this service will"
        kernel(job, system, machine, at, f"Lustre: {client}: {waits} wait for recovery to complete")
        kernel(
            job,
            system,
            machine,
            after(at, 101.2),
            f"LustreError: 167-0: {client}: This client was evicted by {target}; in progress operations using this "
            "service will fail.",
            f"LustreError: 48120:0:(file.c:246:ll_close_inode_openhandle()) {client}: inode [0x200000bd1:0x1f:0x0] mdc "
            "close failed: rc = -108",
            f"Lustre: {client}: Connection restored to {target} (at {server})",
            step=0.013,
        )
        frames = (
            ("/data/job/train.py", 318, "<module>", "main()"),
            ("/data/job/train.py", 301, "main", "save(model, step)"),
            ("/data/job/checkpoint.py", 66, "save", "out.write(block)"),
        )
        raised = after(at, 101.9)
        log = job.log(path)
        for rank in machine.ranks[:2]:
            log.add(
                raised, utc_style(raised, "INFO", "checkpoint", f"rank {rank}: writing step-4200/shard-{rank:02d}.bin")
            )
            error = "OSError: [Errno 108] Cannot send after transport endpoint shutdown"
            log.add(raised, *traceback(rank, frames, error))
        log.add(after(raised, 3), *child_failed(machine, machine.ranks[0], after(raised, 3), 1), exited(machine, n))
    hung = after(lost, 96.1)
    kernel(
        job,
        "syslog/node-02.log",
        job.machines[1],
        hung,
        f"INFO: task python3:{job.machines[1].pid_of(9)} blocked for more than 120 seconds.",
        "      Tainted: P           OE      6.8.0-52-generic #53-Ubuntu",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    )
    return job


def switch_fatal() -> Job:
    """A switch inside node-02 stops; the Fabric Manager and every GPU behind it report it in their own words."""
    job = Job(
        "switch-fatal",
        418802,
        utc("2026-05-25T04:20:00"),
        utc("2026-05-25T05:02:31"),
        machines(2, 8, 29433),
        FAILED,
    )
    one, two = job.machines
    fatal = utc("2026-05-25T05:01:48.407333")
    for machine in job.machines:
        path = running(job, machine, after(fatal, -1), "log.gz", 36)
        system = f"syslog/{machine.name}.log"
        quiet_system(job, system, machine.name, after(job.start, -300), after(job.end, 200), 40, "iso")
        if machine is one:
            peer_lost(job, one, path, 6, after(fatal, 3.9), "node-02.cluster.example<44120>")
            continue
        raised = after(fatal, 0.5)
        log = job.log(path)
        log.add(raised, utc_style(raised, "INFO", "trainer", "heartbeat: 8 processes alive, 0 failed, timeout=1800"))
        failure = "Cuda failure 'uncorrectable NVLink error detected during the execution'"
        log.add(raised, *(f"{two.thread(rank)} enqueue.cc:1451 NCCL WARN {failure}" for rank in (9, 12, 15)))
        log.add(after(raised, 2), *child_failed(two, 9, after(raised, 2), -6), exited(two, 1))
    head = "nvidia-nvswitch1: SXid (PCI:0000:06:00.0)"
    kernel(
        job,
        "syslog/node-02.log",
        two,
        fatal,
        f"{head}: 22003, Fatal, Link 12 MINION HALT (First)",
        f"{head}: 22003, Severity 1 Engine instance 12 Sub-engine instance 00",
        f"{head}: 22003, Data {{0x00000210, 0x00000210, 0x00000000, 0x00000200, 0x00000000, 0x00000000, 0x00000000, "
        "0x00000000, 0x00000000}",
        f"{head}: 20034, Fatal, Link 13 LTSSM Fault Up",
        f"{head}: 20034, Severity 1 Engine instance 13 Sub-engine instance 00",
    )
    for n, gpu in enumerate((1, 4, 7)):
        words = "0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0"
        text = f"NVRM: Xid (PCI:{PCI[gpu]}): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link"
        kernel(job, "syslog/node-02.log", two, after(fatal, 0.18 + 0.002 * n), f"{text} {3 + n}({words})")
    stamp = f"{fatal:%b %d %Y %H:%M:%S}"
    manager = "on fid 0 on NVSwitch pci bus id 00000000:06:00.0 physical id 1 port"
    job.log("fabric_manager/node-02.log").add(
        job.start,
        "[May 25 2026 04:19:12] [INFO] [tid 2210] multicast group 0 is allocated.",
        f"[{stamp}] [ERROR] [tid 2218] detected NVSwitch fatal error 22003 {manager} 12",
        f"[{stamp}] [ERROR] [tid 2218] detected NVSwitch fatal error 20034 {manager} 13",
    )
    return job


def firmware_unresponsive() -> Job:
    """The firmware of a GPU stops answering; the driver names the monitoring tool that happened to ask it."""
    job = Job(
        "firmware-unresponsive",
        418935,
        utc("2026-06-05T15:00:00"),
        utc("2026-06-05T16:24:50"),
        machines(2, 8, 46115),
        FAILED,
    )
    one, two = job.machines
    silent = utc("2026-06-05T16:13:58.660124")
    for machine in job.machines:
        path = running(job, machine, after(silent, -1), "log.zst", 36)
        system = f"syslog/{machine.name}.log"
        quiet_system(job, system, machine.name, after(job.start, -300), after(job.end, 200), 40, "iso")
        if machine is one:
            expired = after(silent, 612.4)
            for n, rank in enumerate((0, 4)):
                at = after(expired, 0.03 * n)
                job.log(path).add(at, *watchdog_timeout(rank, at, 60412, 16777216, 600009 + n))
            done = after(expired, 5)
            job.log(path).add(done, *child_failed(one, 0, done, -6), exited(one, 0))
    xid = f"NVRM: Xid (PCI:{PCI[5]}): 119, pid=3310, name=nvidia-smi,"
    for n, function in enumerate(("76 (GSP_RM_CONTROL) (0x20801702 0x4)", "76 (GSP_RM_CONTROL) (0x2080a097 0x4)")):
        text = f"{xid} Timeout after 6s of waiting for RPC response from GPU5 GSP! Expected function {function}."
        kernel(job, "syslog/node-02.log", two, after(silent, 6.01 * n), text)
    text = (
        f"NVRM: Rate limiting GSP RPC error prints for GPU at PCI:{PCI[5]} (printing 1 of every 30).  The GPU likely "
    )
    kernel(job, "syslog/node-02.log", two, after(silent, 12.2), text + "needs to be reset.")
    advice = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    kernel(job, "syslog/node-02.log", two, after(silent, 12.3), f"NVRM: Xid (PCI:{PCI[5]}): 154, {advice}")
    hung = after(silent, 246)
    kernel(
        job,
        "syslog/node-02.log",
        two,
        hung,
        f"INFO: task python3:{two.pid_of(13)} blocked for more than 122 seconds.",
        "      Tainted: P           OE      6.8.0-52-generic #53-Ubuntu",
    )
    return job


SAMPLES = (
    gpu_memory_uncorrectable,
    switch_fatal,
    cable_overheated,
    memory_module_failed,
    driver_updated_under_job,
    firmware_unresponsive,
    kernel_panic,
    file_server_evicts_clients,
)
