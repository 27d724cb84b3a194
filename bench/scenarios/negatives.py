"""Attempts where nothing is broken: they completed, were cancelled or ran into their limit, whatever their logs say."""

from bench.scenarios import cascades, noise
from bench.scenarios.fleet import iso, utc
from bench.scenarios.roots.workload import own_code
from bench.scenarios.scene import Scene
from bench.scenarios.shapes import shape
from bench.scenarios.truth import Finding

HOUR, DAY = 3600, 86400


def completed(scene: Scene, accept: tuple[str, ...] = ("none",)) -> Finding:
    """The attempt ends by itself and well."""
    end = scene.end
    noise.finish(scene, scene.onset + 2)
    end.at, end.state, end.code, end.step_state = scene.onset + 20, "COMPLETED", 0, "COMPLETED"
    return Finding("none", accept)


@shape("healthy-with-scary-lines", "harmless", "none", weight=2, negative=True)
def healthy(scene: Scene) -> Finding:
    rng, at = scene.rng, scene.onset
    for _ in range(6):
        when = at - rng.uniform(60, 900)
        scene.log(scene.pick(), when, "WARNING", rng.choice((
            "error budget of shard 17: 0 errors, 0 timeouts",
            "gradient overflow detected on 0 ranks, fatal=False",
            "failed to import apex.normalization, using the torch implementation instead",
            "no failure detected by health check, watchdog timeout is 600 s",
            "CUDA out of memory guard is off, peak memory 71.2 GiB",
            "connection refused by metrics sidecar, will retry; training is not affected",
        )))  # fmt: skip
    return completed(scene)


@shape("teardown-noise", "harmless", "none", weight=2, negative=True)
def teardown(scene: Scene) -> Finding:
    rng, at = scene.rng, scene.onset
    found = completed(scene)
    for rank in sorted(rng.sample(range(scene.fleet.ranks), min(16, scene.fleet.ranks))):
        scene.c10d(
            rank,
            at + 6 + rng.random(),
            "W",
            1250,
            "WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
        )
    rank = scene.pick()
    scene.raw(
        rank,
        at + 7,
        "[W TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=81, addr=[10.1.0.12]:41834, remote=[10.1.0.11]:29500): failed to recv, got 0 bytes\nException raised from recvBytes at ../torch/csrc/distributed/c10d/Utils.hpp:670 (most recent call first):",
    )
    scene.raw(
        rank,
        at + 7.5,
        'Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f1a2c3d4e50>\nTraceback (most recent call last):\n  File "'
        + scene.job.site_packages
        + '/torch/utils/data/dataloader.py", line 1478, in __del__\n    self._shutdown_workers()\n  File "'
        + scene.job.site_packages
        + '/torch/utils/data/dataloader.py", line 1461, in _shutdown_workers\n    if w.is_alive():\n  File "/usr/lib/python'
        + scene.job.python
        + "/multiprocessing/process.py\", line 160, in is_alive\n    assert self._parent_pid == os.getpid(), 'can only test a child process'\nAssertionError: can only test a child process",
    )
    scene.raw(
        scene.pick(),
        at + 8,
        f"{scene.job.site_packages}/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 12 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '",
    )
    return found


@shape("teardown-channels-on-a-healthy-node", "harmless", "none", needs="syslog applog", weight=1, negative=True)
def teardown_channels(scene: Scene) -> Finding:
    found = completed(scene)
    rank = scene.pick()
    for count in range(5):
        scene.xid(
            rank // scene.fleet.gpus_per_node,
            scene.onset + 12 + count * 0.01,
            scene.fleet.gpu_of(rank).pci,
            45,
            f"Ch {count + 8:08x}",
            scene.proc(rank),
        )
    return found


@shape("cancelled-by-its-owner", "harmless", "scheduler", scheduler="slurm", weight=2, negative=True)
def cancelled(scene: Scene) -> Finding:
    _cancel(scene, "CANCELLED by 1004")
    return Finding("scheduler", ("scheduler",), states=("cancelled",))


def _cancel(scene: Scene, state: str) -> None:
    at, job = scene.onset, scene.job
    moment, head = f"{scene.wall(0, at):%Y-%m-%dT%H:%M:%S}", scene.fleet.nodes[0].name
    if job.slurm == "25.11":
        scene.step(
            at,
            f"[{moment}.425] error: *** JOB {job.number} ON {head} CANCELLED AT {moment} DUE to SIGNAL Terminated ***",
        )
        scene.step(
            at + 0.01,
            f"[{moment}.431] error: *** STEP {job.number}.0 ON {head} CANCELLED AT {moment} DUE to SIGNAL Terminated ***",
        )
    else:
        scene.step(at, f"slurmstepd: error: *** STEP {job.number}.0 ON {head} CANCELLED AT {moment} ***")
        scene.step(at + 0.01, f"slurmstepd: error: *** JOB {job.number} ON {head} CANCELLED AT {moment} ***")
    cascades.terminated(scene, at + 0.3)
    scene.controller.append((at, f"_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={job.number} uid 1004"))
    scene.end.at, scene.end.state, scene.end.code, scene.end.signal, scene.end.step_state = (
        at + 6,
        state,
        0,
        0,
        "CANCELLED",
    )


@shape(
    "cancelled-with-sympathetic-flood",
    "harmless",
    "scheduler",
    needs="syslog applog",
    scheduler="slurm",
    weight=2,
    negative=True,
)
def cancelled_flood(scene: Scene) -> Finding:
    _cancel(scene, "CANCELLED by 1004")
    _flood(scene, scene.onset + 2)
    return Finding("scheduler", ("scheduler",), states=("cancelled",))


def _flood(scene: Scene, at: float) -> None:
    rng = scene.rng
    for node in scene.fleet.nodes[:32]:
        for gpu in node.gpus:
            for channel in range(rng.randrange(1, 5)):
                scene.xid(
                    node.index,
                    at + rng.random() * 2,
                    gpu.pci,
                    45,
                    f"Ch {channel + 8:08x}",
                    scene.proc(node.ranks[gpu.index]),
                )
        if rng.random() < 0.3:
            scene.kernel(
                node.index,
                at + 1,
                "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
                3,
            )


@shape("time-limit", "harmless", "scheduler", scheduler="slurm", weight=2, negative=True)
def time_limit(scene: Scene) -> Finding:
    at, job = scene.onset, scene.job
    moment, head = f"{scene.wall(0, at):%Y-%m-%dT%H:%M:%S}", scene.fleet.nodes[0].name
    stamp = f"[{moment}.007] error:" if job.slurm == "25.11" else "slurmstepd: error:"
    scene.step(at, f"{stamp} *** STEP {job.number}.0 ON {head} CANCELLED AT {moment} DUE TO TIME LIMIT ***")
    scene.step(at + 0.01, f"{stamp} *** JOB {job.number} ON {head} CANCELLED AT {moment} DUE TO TIME LIMIT ***")
    cascades.terminated(scene, at + 0.3)
    scene.controller.append((at, f"Time limit exhausted for JobId={job.number}"))
    scene.end.at, scene.end.state, scene.end.code, scene.end.step_state = at + 6, "TIMEOUT", 0, "CANCELLED"
    if scene.rng.random() < 0.4:
        _flood(scene, at + 2)
    return Finding("scheduler", ("scheduler",), states=("timed_out",))


@shape("old-fault-of-the-node-completed", "harmless", "none", needs="syslog applog wall", weight=2, negative=True)
def old_fault(scene: Scene) -> Finding:
    _old(scene)
    return completed(scene)


def _old(scene: Scene) -> None:
    """Faults of days ago that still stand in a node's log."""
    rank = scene.pick()
    node, gpu = rank // scene.fleet.gpus_per_node, scene.fleet.gpu_of(rank)
    at = scene.start - scene.rng.uniform(2, 9) * DAY
    code, text = scene.rng.choice((
        (79, "GPU has fallen off the bus."),
        (48, "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x18f31d80 partition 16, subpartition 3."),
        (119, "Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4)."),
        (95, "Uncontained: LTC TAG (0x5,0x0). RST: Yes, D-RST: No"),
    ))  # fmt: skip
    scene.xid(node, at, gpu.pci, code, text, scene.no_proc())
    nic = scene.fleet.nodes[node].nics[gpu.index]
    scene.kernel(node, at + 3000, f"mlx5_core {nic.pci} {nic.netdev}: Link down", 6)
    for index in range(20):
        scene.daemon(node, at + index * 9000, "systemd", f"Started Session {3000 + index} of User root.", 6, 1)


@shape(
    "old-fault-of-the-node-and-own-error",
    "harmless",
    "user_code",
    needs="syslog applog wall",
    weight=1.5,
    negative=True,
)
def old_fault_own_error(scene: Scene) -> Finding:
    _old(scene)
    return own_code(scene)


@shape("port-flap-that-recovered", "harmless", "none", needs="syslog applog", weight=1.5, negative=True)
def flap_recovered(scene: Scene) -> Finding:
    rank = scene.pick()
    node = scene.fleet.node_of(rank)
    nic = node.nics[rank % scene.fleet.gpus_per_node]
    at = scene.onset - scene.rng.uniform(0.2, 0.8) * min(HOUR, scene.onset - scene.start)
    scene.kernel(node.index, at, f"mlx5_core {nic.pci} {nic.netdev}: Link down", 6)
    scene.kernel(node.index, at + 2.4, f"mlx5_core {nic.pci} {nic.netdev}: Link up", 6)
    return completed(scene)


@shape("download-that-was-retried", "harmless", "none", weight=1.5, negative=True)
def retried(scene: Scene) -> Finding:
    at = scene.start + 20
    for attempt in range(1, 4):
        scene.log(
            0,
            at + attempt * 5,
            "WARNING",
            f"download failed (attempt {attempt}/5): 503 Server Error: Service Unavailable for url: https://huggingface.co/org/base-7b/resolve/main/model.safetensors, retrying",
        )
    scene.log(0, at + 30, "INFO", "download of model.safetensors complete after 4 attempts")
    return completed(scene)


@shape("overflow-steps-skipped", "harmless", "none", weight=1, negative=True)
def overflow(scene: Scene) -> Finding:
    for index in range(6):
        scene.log(
            0,
            scene.onset - 400 + index * 40,
            "INFO",
            f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {65536 >> index}, reducing to {32768 >> index}",
        )
    scene.log(0, scene.onset - 100, "WARNING", "loss is nan on micro batch 3, batch skipped, continuing")
    return completed(scene)


@shape("corrected-errors", "harmless", "none", needs="syslog applog", weight=1.5, negative=True)
def corrected(scene: Scene) -> Finding:
    rank = scene.pick()
    node, gpu = rank // scene.fleet.gpus_per_node, scene.fleet.gpu_of(rank)
    span = scene.onset - scene.start
    for _ in range(8):
        at = scene.start + scene.rng.random() * span
        scene.kernel(
            node,
            at,
            f"mce: [Hardware Error]: Machine check events logged\nEDAC MC1: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x{scene.rng.getrandbits(28):x} offset:0x40 grain:32 syndrome:0x0 -  err_code:0x0101:0x0090)",
            4,
        )
        scene.kernel(
            node,
            at + 1,
            f"pcieport 0000:15:01.0: AER: Corrected error received: {gpu.pci}.0\nnvidia {gpu.pci}.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\nnvidia {gpu.pci}.0:   device [10de:2330] error status/mask=00000001/0000a000\nnvidia {gpu.pci}.0:    [ 0] RxErr                  (First)",
            4,
        )
    scene.shift("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", node, gpu.index, scene.start, 3, 3, 4, 4, 5)
    return completed(scene)


@shape("handled-errors-of-samples", "harmless", "none", weight=1.5, negative=True)
def handled(scene: Scene) -> Finding:
    for index in range(4):
        rank = scene.pick()
        at = scene.onset - scene.rng.uniform(30, 600)
        scene.log(rank, at, "ERROR", f"sample {91000 + index} could not be decoded, skipped")
        scene.raw(
            rank,
            at + 0.001,
            "Traceback (most recent call last):\n  File \"/data/job/data.py\", line 44, in __getitem__\n    image = Image.open(path).convert('RGB')\nOSError: image file is truncated (17 bytes not processed)",
        )
        scene.log(rank, at + 0.01, "INFO", "continuing with the next sample")
    return completed(scene)


@shape("memory-guard-halves-the-batch", "harmless", "none", weight=1, negative=True)
def guard(scene: Scene) -> Finding:
    at = scene.start + 30
    scene.log(
        0,
        at,
        "WARNING",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. caught, trying batch size 16 instead of 32",
    )
    scene.log(0, at + 9, "INFO", "batch size 16 fits, continuing")
    return completed(scene)


@shape("storage-pause-that-recovered", "harmless", "none", needs="syslog applog", weight=1, negative=True)
def pause(scene: Scene) -> Finding:
    at = scene.onset - min(900.0, (scene.onset - scene.start) / 2)
    for node in scene.fleet.nodes[:40]:
        begin = at + scene.rng.random() * 3
        scene.kernel(node.index, begin, "nfs: server 10.9.1.5 not responding, still trying", 4)
        scene.kernel(node.index, begin + 21, "nfs: server 10.9.1.5 OK", 4)
    return completed(scene)


@shape("interrupted-by-hand", "harmless", "scheduler", scheduler="slurm", launcher="srun", weight=1, negative=True)
def interrupted(scene: Scene) -> Finding:
    at, job = scene.onset, scene.job
    scene.step(at, "srun: interrupt (one more within 1 sec to abort)")
    scene.step(at + 0.4, f"srun: StepId={job.number}.0 tasks 0-{scene.fleet.ranks - 1}: running")
    scene.step(at + 0.6, f"srun: sending Ctrl-C to StepId={job.number}.0")
    for rank in sorted(scene.rng.sample(range(scene.fleet.ranks), min(8, scene.fleet.ranks))):
        scene.traceback(rank, at + 1, [scene.main, scene.frame(144, "main", "loss.backward()")], "KeyboardInterrupt")
    scene.step(at + 1, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    moment, head = f"{scene.wall(0, at):%Y-%m-%dT%H:%M:%S}", scene.fleet.nodes[0].name
    scene.step(at + 1.1, f"slurmstepd: error: *** STEP {job.number}.0 ON {head} CANCELLED AT {moment} ***")
    scene.end.at, scene.end.state, scene.end.code, scene.end.step_state = at + 8, "CANCELLED by 1004", 0, "CANCELLED"
    return Finding("scheduler", ("scheduler", "user_config", "insufficient_evidence"), states=("cancelled", "failed"))


@shape(
    "active-deadline",
    "harmless",
    "scheduler",
    needs="applog scheduler",
    scheduler="kubernetes",
    weight=1,
    negative=True,
)
def deadline(scene: Scene) -> Finding:
    at = scene.onset
    scene.events.append(
        {
            "at": at,
            "kind": "PyTorchJob",
            "name": scene.job.name,
            "type": "Normal",
            "reason": "PyTorchJobFailed",
            "message": f"Job {scene.job.name} has failed because it was active longer than specified deadline",
            "by": "pytorchjob-controller",
        }
    )
    stamp = iso(utc(at), 0)
    condition = {
        "type": "Failed",
        "status": "True",
        "reason": "PyTorchJobFailed",
        "message": f"Job {scene.job.name} has failed because it was active longer than specified deadline",
        "lastTransitionTime": stamp,
    }
    scene.objects.append(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": scene.job.name, "namespace": "ml"},
            "spec": {"runPolicy": {"activeDeadlineSeconds": int(at - scene.start)}},
            "status": {"startTime": iso(utc(scene.start), 0), "completionTime": stamp, "conditions": [condition]},
        }
    )
    for index in range(len(scene.fleet.nodes)):
        cascades.signalled(scene, index, at + 0.5 + scene.rng.random())
        scene.pods[index] = {"exitCode": 143, "reason": "Error", "finished": at + 8}
        scene.events.append(
            {
                "at": at + 0.3,
                "kind": "Pod",
                "name": f"{scene.job.name}-worker-{index}",
                "type": "Normal",
                "reason": "Killing",
                "message": "Stopping container pytorch",
            }
        )
    scene.end.at, scene.end.state = at + 10, "DEADLINE"
    return Finding("scheduler", ("scheduler",), states=("timed_out",))
