"""Machines: memory and processors, power, local disks, the kernel, and what the operating system does to a job."""

from bench.scenarios import cascades
from bench.scenarios.roots.common import step_frames
from bench.scenarios.scene import Scene
from bench.scenarios.shapes import shape
from bench.scenarios.truth import Finding


@shape("machine-check-panic", "host", "host_hardware", needs="syslog", weight=2, withhold=False, pair=False)
def machine_check_panic(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    cpu, bank = scene.rng.randrange(96), scene.rng.choice((1, 7, 13, 17))
    if scene.rng.random() < 0.7:
        told = f"mce: [Hardware Error]: CPU {cpu}: Machine Check Exception: 5 Bank {bank}: be00000000800400"
        scene.kernel(
            node.index,
            at,
            f"{told}\nmce: [Hardware Error]: RIP !INEXACT! 10:<ffffffff8d4a2f06> {{mwait_idle+0x76/0x180}}\nmce: [Hardware Error]: TSC 1f2c3a7700d2 ADDR 3fff81ea4f40 MISC 86\nmce: [Hardware Error]: PROCESSOR 0:806f8 TIME {int(at)} SOCKET 1 APIC 80 microcode 2b0004b1\nmce: [Hardware Error]: Machine check: Processor context corrupt\nKernel panic - not syncing: Fatal local machine check",
            0,
        )
    else:
        told = "{1}[Hardware Error]: event severity: fatal"
        scene.kernel(
            node.index,
            at,
            f"{{1}}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 0\n{told}\n{{1}}[Hardware Error]:  Error 0, type: fatal\n{{1}}[Hardware Error]:   section_type: memory error\n{{1}}[Hardware Error]:   error_type: 3, multi-bit ECC\nKernel panic - not syncing: Fatal hardware error!",
            0,
        )
    scene.bmc[node.index].append((at + 2, "Processor #0x51", "IERR | Asserted"))
    cascades.node_lost(scene, node.index, at + 0.001)
    return Finding(
        "host_hardware",
        ("host_hardware",),
        (node,),
        None,
        {"kind": "cpu"},
        None,
        [told, "Kernel panic - not syncing: Fatal"],
        at,
    )


@shape("memory-uncorrectable-kills-rank", "host", "host_hardware", needs="syslog", weight=1.5, pair=True)
def memory_uncorrectable(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    page = f"0x{scene.rng.getrandbits(28):x}"
    told = f"EDAC MC{scene.rng.randrange(4)}: 1 UE memory read error on CPU_SrcID#1_MC#2_Chan#1_DIMM#0 (channel:1 slot:0 page:{page} offset:0x0 grain:32 -  err_code:0x00a0:0x0091)"
    scene.kernel(node.index, at, told, 2)
    second = f"Memory failure: {page}: Killing python3:{scene.pid(rank)} due to hardware memory corruption"
    scene.kernel(
        node.index,
        at + 0.02,
        f"mce: Uncorrected hardware memory error in user-access at 3f{scene.rng.getrandbits(32):08x}\n{second}",
        3,
    )
    scene.bmc[node.index].append((at + 3, "Memory #0x87", "Uncorrectable ECC | Asserted"))
    scene.root_ranks.add(rank)
    cascades.crash(scene, [rank], at + 0.3, -7)
    return Finding("host_hardware", ("host_hardware",), (node,), None, {"kind": "dimm"}, None, [told, second], at)


@shape("power-supply-lost", "host", "host_hardware", needs="bmc", weight=1.2)
def power_supply_lost(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    scene.bmc[node.index] += [
        (at - 1, "Power Supply #0x64", "Power Supply AC lost | Asserted"),
        (at - 0.5, "Power Supply #0x65", "Power Supply AC lost | Asserted"),
        (at, "Power Unit #0x0b", "Power off/down | Asserted"),
    ]
    cascades.node_lost(scene, node.index, at)
    return Finding(
        "host_hardware",
        ("host_hardware",),
        (node,),
        None,
        None,
        None,
        ["Power Supply AC lost", "Power off/down"],
        at - 1,
    )


@shape("overheated-shutdown", "host", "host_hardware", needs="syslog", weight=0.8)
def overheated_shutdown(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    for cpu in (0, 2, 5):
        scene.kernel(
            node.index,
            at - 40 + cpu,
            f"mce: CPU{cpu}: Package temperature above threshold, cpu clock throttled (total events = {scene.rng.randrange(9000, 200000)})",
            2,
        )
    told = "thermal thermal_zone0: critical temperature reached, shutting down"
    scene.kernel(node.index, at, told, 0)
    scene.bmc[node.index] += [
        (at - 50, "Fan #0x42", "Lower Critical going low | Asserted"),
        (at - 20, "Temperature #0x31", "Upper Non-recoverable going high | Asserted"),
    ]
    scene.daemon(node.index, at + 0.5, "systemd-logind", "System is powering down.", 6)
    cascades.node_lost(scene, node.index, at + 3)
    return Finding(
        "host_hardware",
        ("host_hardware",),
        (node,),
        None,
        None,
        None,
        [told, "temperature above threshold", "Lower Critical going low"],
        at,
    )


@shape("local-disk-dead", "host", "host_hardware", needs="syslog applog", weight=1.5, pair=True)
def local_disk_dead(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    told = "nvme nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff"
    scene.kernel(node.index, at, told, 3)
    scene.kernel(
        node.index,
        at + 6,
        "nvme nvme2: Disabling device after reset failure: -19\nI/O error, dev nvme2n1, sector 1863341824 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 0\nEXT4-fs error (device nvme2n1): __ext4_find_entry:1682: inode #2: comm python3: reading directory lblock 0\nEXT4-fs (nvme2n1): Remounting filesystem read-only",
        3,
    )
    path = "/local/scratch/cache/shard-00041.bin"
    error = f"OSError: [Errno 5] Input/output error: '{path}'"
    scene.traceback(
        rank,
        at + 6.5,
        [
            scene.main,
            scene.frame(120, "main", "cache.put(sample)"),
            scene.frame(41, "put", "handle.write(buffer)", "/data/job/cache.py"),
        ],
        error,
    )
    scene.root_ranks.add(rank)
    cascades.crash(scene, [rank], at + 6.7, 1)
    return Finding(
        "host_hardware", ("host_hardware", "storage"), (node,), None, {"kind": "disk"}, None, [told, error], at
    )


@shape("kernel-panic", "host", "host_os", needs="syslog", weight=1.5)
def kernel_panic(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    comm = f"CPU: 44 PID: 3318 Comm: kworker/44:2 Tainted: P           OE     {scene.fleet.kernel}"
    told, text = scene.rng.choice((
        ("BUG: unable to handle page fault for address: ffffb3c2c0a41000", f"#PF: supervisor read access in kernel mode\nOops: 0000 [#1] SMP NOPTI\n{comm}\nRIP: 0010:tcp_ack+0x31a/0x1260\nKernel panic - not syncing: Fatal exception in interrupt"),
        ("general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#1] SMP NOPTI", f"{comm}\nRIP: 0010:__list_del_entry_valid+0x2c/0x9a\nKernel panic - not syncing: Fatal exception"),
        ("watchdog: BUG: soft lockup - CPU#18 stuck for 26s! [kworker/18:1:2210]", f"{comm}\nKernel panic - not syncing: softlockup: hung tasks"),
        ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 12", f"{comm}\nKernel panic - not syncing: Hard LOCKUP"),
        ("INFO: task kworker/u193:2:1123 blocked for more than 120 seconds.", f"      Tainted: P           OE     {scene.fleet.kernel}\nKernel panic - not syncing: hung_task: blocked tasks"),
    ))  # fmt: skip
    text = f"{told}\n{text}"
    scene.kernel(node.index, at, text, 0)
    cascades.node_lost(scene, node.index, at + 0.001)
    return Finding("host_os", ("host_os",), (node,), None, None, None, [told, "Kernel panic - not syncing"], at)


@shape("soft-lockups", "host", "host_os", needs="syslog applog", weight=1, withhold=True)
def soft_lockups(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    lines = []
    for count in range(6):
        cpu = scene.rng.randrange(96)
        lines.append(f"watchdog: BUG: soft lockup - CPU#{cpu} stuck for {22 + count}s! [python3:{scene.pid(rank)}]")
        scene.kernel(node.index, at + count * 24, lines[-1], 0)
    scene.kernel(
        node.index,
        at + 60,
        "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\nrcu: \t18-...!: (1 GPs behind) idle=5f2/1/0x4000000000000000 softirq=91 fqs=0",
        3,
    )
    scene.root_ranks.update(node.ranks)
    cascades.hang(scene, node.ranks, at)
    return Finding("host_os", ("host_os",), (node,), None, None, None, lines, at)


@shape("node-wide-memory-exhausted", "host", "host_os", needs="syslog", weight=1, pair=True)
def node_wide_memory(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    pid = scene.pid(rank)
    told = f"Out of memory: Killed process {pid} (python3) total-vm:183467924kB, anon-rss:60857600kB, file-rss:1024kB, shmem-rss:0kB, UID:1004 pgtables:215040kB oom_score_adj:0"
    scene.kernel(
        node.index,
        at,
        f"backup-agent invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0\n[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n[   8123]     0  8123 401523311 398120412 3201024        0             0 backup-agent\n[{pid:7d}]  1004 {pid} 45866981 15214400 215040        0             0 python3\noom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/slurm/uid_1004,task=python3,pid={pid},uid=1004\n{told}\noom_reaper: reaped process {pid} (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        3,
    )
    scene.shift("node_memory_MemAvailable_bytes", node.index, 0, at - 240, 8e11, 4e11, 1e11, 2e10, 6e8)
    scene.root_ranks.add(rank)
    cascades.crash(scene, [rank], at + 0.4, -9)
    return Finding(
        "host_os",
        ("host_os", "resource_limit"),
        (node,),
        None,
        None,
        None,
        [told, "global_oom"],
        at,
        ("failed", "out_of_memory"),
    )


@shape("reboot-in-mid-run", "maintenance", "host_os", needs="syslog wall", weight=2)
def reboot_in_mid_run(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    scene.daemon(node.index, at - 3, "systemd-logind", "System is rebooting.", 6)
    told = "Reached target System Reboot."
    scene.daemon(node.index, at - 1, "systemd", "Stopping User Manager for UID 1004...", 6, 1)
    scene.daemon(node.index, at - 0.4, "systemd", told, 6, 1)
    scene.daemon(node.index, at - 0.2, "systemd-shutdown", "Sending SIGTERM to remaining processes...", 5, 1)
    scene.daemon(node.index, at - 0.1, "systemd-journald", "Received SIGTERM from PID 1 (systemd-shutdow).", 6, 339)
    cascades.node_lost(scene, node.index, at)
    return Finding(
        "host_os",
        ("host_os", "scheduler"),
        (node,),
        None,
        None,
        None,
        [told, "System is rebooting.", "Sending SIGTERM to remaining"],
        at - 3,
    )


@shape("node-lost-without-a-word", "maintenance", "scheduler", needs="applog scheduler", forbid="bmc metrics", weight=2)
def node_lost_without_a_word(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    cascades.node_lost(scene, node.index, at)
    return Finding("scheduler", ("scheduler", "insufficient_evidence"), (node,), None, None, None, [], at)


@shape("file-handles-of-the-node", "limits", "host_os", needs="syslog applog", weight=0.6)
def file_handles_of_the_node(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    told = "VFS: file-max limit 1000000 reached"
    scene.kernel(node.index, at - 0.5, told, 4)
    error = "OSError: [Errno 23] Too many open files in system: '/data/set/train/shard-00311.tar'"
    scene.traceback(
        rank,
        at,
        [
            *step_frames(scene)[:2],
            scene.frame(33, "__getitem__", "with open(path, 'rb') as handle:", "/data/job/data.py"),
        ],
        error,
    )
    scene.root_ranks.add(rank)
    cascades.crash(scene, [rank], at + 0.2, 1)
    return Finding("host_os", ("host_os", "resource_limit"), (node,), None, None, None, [told, error], at - 0.5)


@shape("locked-memory-limit", "limits", "host_os", phase="launch", weight=0.7)
def locked_memory(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    told = "Call to ibv_reg_mr failed with error Cannot allocate memory"
    for rank in node.ranks:
        scene.nccl(rank, at, "misc/ibvwrap.cc:262", told)
        frames = [
            scene.main,
            scene.frame(70, "setup", "dist.barrier()"),
            scene.library("torch/distributed/c10d_logger.py", 83, "wrapper", "return func(*args, **kwargs)"),
        ]
        scene.traceback(
            rank,
            at + 0.2,
            frames,
            f"torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version {scene.job.nccl}\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\n{told}",
        )
    cascades.crash(scene, node.ranks, at + 0.5, 1, "killed")
    return Finding("host_os", ("host_os", "resource_limit", "user_config"), (node,), (node,), None, None, [told], at)
