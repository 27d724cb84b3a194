"""What a job does to itself: limits, its own code, its settings and its data."""

from bench.scenarios import cascades
from bench.scenarios.roots.common import ASYNC_ADVICE, step_frames
from bench.scenarios.scene import Scene
from bench.scenarios.shapes import shape
from bench.scenarios.truth import Finding

Frames = list[tuple[str, int, str, str]]


def raised(
    scene: Scene, sub: str, accept: tuple[str, ...], frames: Frames, error: str, root: str | None = None,
    everywhere: bool | None = None, grouped: bool = True,
) -> Finding:  # fmt: skip
    """A Python error ends one rank, or all of them at once."""
    rng, fleet, at = scene.rng, scene.fleet, scene.onset
    everywhere = rng.random() < 0.5 if everywhere is None else everywhere
    ranks = list(range(fleet.ranks)) if everywhere else [scene.pick()]
    if everywhere and fleet.ranks > 256:
        ranks = sorted(rng.sample(ranks, 256))
    for rank in ranks:
        scene.traceback(rank, at + rng.random() * (0.6 if everywhere else 0), frames, error, grouped)
    scene.root_ranks.update(ranks)
    cascades.crash(scene, ranks, at + 0.7, 1, "killed" if everywhere else None)
    node = fleet.node_of(ranks[0])
    return Finding(
        sub, accept, () if everywhere else (node,), (), None, None if everywhere else ranks[0], [root or error.split("\n")[0]], None if everywhere else at
    )  # fmt: skip


# ---- limits


@shape("gpu-memory-exhausted", "gpu_oom", "resource_limit", weight=3)
def gpu_memory(scene: Scene) -> Finding:
    index = scene.rng.randrange(scene.fleet.gpus_per_node)
    kind = "torch.OutOfMemoryError" if scene.job.torch_minor >= 5 else "torch.cuda.OutOfMemoryError"
    size = scene.rng.choice(("2.00 GiB", "512.00 MiB", "5.79 GiB", "20.00 MiB"))
    root = f"CUDA out of memory. Tried to allocate {size}"
    newer = f"{kind}: {root}. GPU {index} has a total capacity of 79.11 GiB of which 1.05 GiB is free. Process 2219 has 78.05 GiB memory in use. Of the allocated memory 70.11 GiB is allocated by PyTorch, and 5.93 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    error = scene.rng.choices((
        newer,
        f"{kind}: {root} (GPU {index}; 79.15 GiB total capacity; 70.06 GiB already allocated; 1.31 GiB free; 75.20 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.",
    ), (6, 2, 1, 1))[0]  # fmt: skip
    if root not in error:
        root = error
    return raised(scene, "resource_limit", ("resource_limit", "user_config"), step_frames(scene), error, root)


@shape("cgroup-memory-exceeded", "limits", "resource_limit", needs="syslog applog", weight=3, scheduler="slurm")
def cgroup_memory(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, job = scene.fleet.node_of(rank), scene.job
    pid = scene.pid(rank)
    told = f"Memory cgroup out of memory: Killed process {pid} (python3) total-vm:183467924kB, anon-rss:{scene.rng.randrange(40, 400)}857600kB, file-rss:1024kB, shmem-rss:0kB, UID:1004 pgtables:215040kB oom_score_adj:0"
    path = f"/slurm/uid_1004/job_{job.number}/step_0"
    scene.kernel(
        node.index,
        at,
        f"python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\nmemory: usage 1048576000kB, limit 1048576000kB, failcnt 41223\noom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg={path},task_memcg={path}/task_0,task=python3,pid={pid},uid=1004\n{told}",
        3,
    )
    if scene.rng.random() < 0.6:
        scene.kernel(
            node.index,
            at + 0.4,
            f"oom_reaper: reaped process {pid} (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
            6,
        )
    scene.root_ranks.add(rank)
    cascades.crash(scene, [rank], at + 0.3, -9, "killed")
    if job.slurm == "25.11":
        stamp = f"{scene.wall(node, at + 5):%Y-%m-%dT%H:%M:%S}.456"
        slurm = f"[{stamp}] error: Detected 1 oom_kill event in StepId={job.number}.0. Some of the step tasks have been OOM Killed."
    else:
        slurm = f"slurmstepd: error: Detected 1 oom{'-' if job.slurm == '22.05' else '_'}kill event(s) in StepId={job.number}.0. Some of your processes may have been killed by the cgroup out-of-memory handler."
    scene.step(at + 5.5, slurm)
    task = cascades.task_of(scene, rank)
    scene.steps = [
        (t, line) if f": task {task}: " not in line else (t, f"srun: error: {node.name}: task {task}: Out Of Memory")
        for t, line in scene.steps
    ]
    scene.end.step_state, scene.end.code = "OUT_OF_MEMORY", 1
    if scene.rng.random() < 0.5:
        scene.end.state, scene.end.code, scene.end.signal = "OUT_OF_MEMORY", 0, 125
    return Finding(
        "resource_limit", ("resource_limit",), (node,), (), None, None, [told, slurm], at, ("out_of_memory",)
    )


@shape("container-memory-exceeded", "limits", "resource_limit", needs="scheduler", weight=2, scheduler="kubernetes")
def container_memory(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    pid = scene.pid(rank)
    pod = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod5d1f0c3e.slice/cri-containerd-{scene.job.number:064x}.scope"
    told = f"Memory cgroup out of memory: Killed process {pid} (python3) total-vm:183467924kB, anon-rss:104857600kB, file-rss:1024kB, shmem-rss:0kB, UID:0 pgtables:215040kB oom_score_adj:979"
    scene.kernel(
        node.index,
        at,
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd,mems_allowed=0-1,oom_memcg={pod},task_memcg={pod},task=python3,pid={pid},uid=0\n{told}",
        3,
    )
    scene.pods[node.index] = {"exitCode": 137, "reason": "OOMKilled", "finished": at + 1}
    cascades.crash(scene, [rank], at + 0.3, -9, "remote")
    scene.pods[node.index] = {"exitCode": 137, "reason": "OOMKilled", "finished": at + 1}
    return Finding(
        "resource_limit", ("resource_limit",), (node,), (), None, None, ["OOMKilled", told], at, ("out_of_memory",)
    )


@shape("shared-memory-too-small", "limits", "resource_limit", weight=2)
def shared_memory(scene: Scene) -> Finding:
    worker = scene.rng.randrange(3000, 90000)
    error = f"RuntimeError: DataLoader worker (pid {worker}) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
    rank, at = scene.pick(), scene.onset
    scene.raw(
        rank,
        at - 0.1,
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\x00",
    )
    frames = [
        *step_frames(scene)[:2],
        scene.library(
            "torch/utils/data/dataloader.py", 1133, "_try_get_data", "data = self._data_queue.get(timeout=timeout)"
        ),
        scene.library("torch/utils/data/_utils/signal_handling.py", 66, "handler", "_error_if_any_worker_fails()"),
    ]
    scene.traceback(rank, at, frames, error)
    cascades.crash(scene, [rank], at + 0.4, 1)
    return Finding(
        "resource_limit",
        # The library prints this hint at every bus error; nothing here shows how full the memory was.
        ("resource_limit", "container_runtime", "insufficient_evidence"),
        (scene.fleet.node_of(rank),),
        (),
        None,
        rank,
        ["insufficient shared memory (shm)", error],
        at,
    )


@shape("too-many-open-files", "limits", "resource_limit", weight=1.2)
def open_files(scene: Scene) -> Finding:
    frames = [
        *step_frames(scene)[:2],
        scene.library(
            "torch/multiprocessing/reductions.py", 359, "reduce_storage", "fd, size = storage._share_fd_cpu_()"
        ),
    ]
    return raised(
        scene,
        "resource_limit",
        ("resource_limit", "host_os", "user_code"),
        frames,
        "OSError: [Errno 24] Too many open files",
        everywhere=False,
    )


@shape("quota-exceeded", "limits", "resource_limit", weight=1.5)
def quota(scene: Scene) -> Finding:
    frames = [
        scene.main,
        scene.frame(231, "main", "save_checkpoint(state, path)"),
        scene.library("torch/serialization.py", 850, "save", "with _open_zipfile_writer(f) as opened_zipfile:"),
    ]
    return raised(
        scene,
        "resource_limit",
        ("resource_limit", "storage"),
        frames,
        f"OSError: [Errno 122] Disk quota exceeded: '/home/{scene.job.user}/ckpt/epoch_14.pt'",
        everywhere=False,
    )


@shape("no-memory-for-kv-cache", "gpu_oom", "resource_limit", phase="load", weight=0.7)
def kv_cache(scene: Scene) -> Finding:
    frames = [
        scene.frame(31, "<module>", "engine = LLM(model=args.model, tensor_parallel_size=8)"),
        scene.library("vllm/entrypoints/llm.py", 273, "__init__", "self.llm_engine = LLMEngine.from_engine_args("),
        scene.library(
            "vllm/v1/core/kv_cache_utils.py",
            689,
            "check_enough_kv_cache_memory",
            'raise ValueError("No available memory for the cache blocks. "',
        ),
    ]
    return raised(
        scene,
        "resource_limit",
        ("resource_limit", "user_config"),
        frames,
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
        everywhere=False,
        grouped=False,
    )


# ---- own code

CODE = (
    ("AttributeError: 'NoneType' object has no attribute 'shape'", 40),
    ("AttributeError: 'Namespace' object has no attribute 'warmup_iters'", 27),
    ("TypeError: forward() got an unexpected keyword argument 'position_ids'", 60),
    ("TypeError: unsupported operand type(s) for /: 'NoneType' and 'int'", 60),
    ("KeyError: 'labels'", 60),
    ("IndexError: list index out of range", 23),
    ("NameError: name 'scheduler' is not defined", 18),
    ("ZeroDivisionError: division by zero", 14),
    ("UnboundLocalError: local variable 'loss' referenced before assignment", 10),
    ("ValueError: too many values to unpack (expected 2)", 33),
    (
        "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4095) at non-singleton dimension 1",
        25,
    ),
    (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        20,
    ),
    ("RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn", 12),
    ("NotImplementedError: layer type 'swiglu2' is not implemented", 6),
    ("RecursionError: maximum recursion depth exceeded while calling a Python object", 4),
)


@shape("python-error-in-own-code", "user_code", "user_code", weight=6)
def own_code(scene: Scene) -> Finding:
    error = scene.rng.choices([text for text, _ in CODE], [weight for _, weight in CODE])[0]
    if scene.rng.random() < 0.2:
        return _in_loader_worker(scene, error)
    frames = [
        scene.main,
        scene.frame(180, "main", "trainer.fit()"),
        scene.frame(96, "fit", "out = self.model(batch)", "/data/job/trainer.py"),
        scene.frame(41, "forward", "hidden = self.encode(batch)", "/data/job/model/net.py"),
    ]
    return raised(scene, "user_code", ("user_code",), frames, error)


def _in_loader_worker(scene: Scene, error: str) -> Finding:
    """The error comes out of a worker process of the data loader, with its own traceback within the message."""
    kind = error.split(":")[0]
    packed = f'{kind}: Caught {kind} in DataLoader worker process {scene.rng.randrange(8)}.\nOriginal Traceback (most recent call last):\n  File "{scene.job.site_packages}/torch/utils/data/_utils/worker.py", line 309, in _worker_loop\n    data = fetcher.fetch(index)  # type: ignore[possibly-undefined]\n  File "/data/job/collate.py", line 33, in collate\n    return pack(samples)\n{error}\n'
    frames = [
        scene.main,
        scene.frame(160, "main", "for batch in loader:"),
        scene.library("torch/utils/data/dataloader.py", 1325, "_next_data", "return self._process_data(data)"),
        scene.library("torch/_utils.py", 706, "reraise", "raise exception"),
    ]
    return raised(scene, "user_code", ("user_code", "data"), frames, packed, error)


@shape("graphics-exception-of-own-kernel", "gpu_compute", "user_code", needs="syslog applog", weight=1)
def graphics_exception(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, gpu = scene.fleet.node_of(rank), scene.fleet.gpu_of(rank)
    lines = []
    for count in range(scene.rng.randrange(3, 9)):
        gpc, tpc = scene.rng.randrange(8), scene.rng.randrange(9)
        lines.append(
            scene.xid(
                node.index,
                at + count * 1e-4,
                gpu.pci,
                13,
                f"Graphics SM Warp Exception on (GPC {gpc}, TPC {tpc}, SM {count % 2}): Out Of Range Address",
                scene.proc(rank),
            )
        )
        scene.xid(
            node.index,
            at + count * 1e-4 + 2e-5,
            gpu.pci,
            13,
            f"Graphics Exception: ESR 0x{0x504730 + count * 0x80:x}=0xc81000e 0x{0x504734 + count * 0x80:x}=0x0 0x{0x504728 + count * 0x80:x}=0xf812b60 0x{0x50472C + count * 0x80:x}=0x1104",
            scene.proc(rank),
        )
    scene.xid(node.index, at + 0.2, gpu.pci, 43, "Ch 00000010", scene.proc(rank))
    frames = [
        scene.main,
        scene.frame(144, "main", "loss = model(batch)"),
        scene.frame(91, "backward", "return scatter_kernel[grid](grad, index, out)", "/data/job/ops/scatter.py"),
    ]
    told = "RuntimeError: CUDA error: an illegal memory access was encountered"
    scene.traceback(rank, at + 0.5, frames, f"{told}\n{ASYNC_ADVICE}")
    cascades.crash(scene, [rank], at + 0.7, 1)
    return Finding("user_code", ("user_code", "framework", "ambiguous"), (node,), (), None, rank, [lines[0], told], at)


@shape("threads-or-memory-refused", "limits", "resource_limit", weight=1)
def threads_refused(scene: Scene) -> Finding:
    error = scene.rng.choice(
        (
            "RuntimeError: can't start new thread",
            "OSError: [Errno 12] Cannot allocate memory",
            "BlockingIOError: [Errno 11] Resource temporarily unavailable",
        )
    )
    frames = [
        *step_frames(scene)[:2],
        scene.library("torch/utils/data/dataloader.py", 1146, "__init__", "w.start()"),
        (f"/usr/lib/python{scene.job.python}/multiprocessing/popen_fork.py", 66, "_launch", "self.pid = os.fork()"),
    ]
    return raised(
        scene, "resource_limit", ("resource_limit", "host_os", "user_config"), frames, error, everywhere=False
    )


@shape("tracker-key-missing", "user_config", "user_config", phase="load", weight=0.7)
def tracker_key(scene: Scene) -> Finding:
    frames = [
        scene.main,
        scene.frame(66, "main", "wandb.init(project='pretrain')"),
        scene.library("wandb/sdk/wandb_login.py", 296, "prompt_api_key", "raise UsageError("),
    ]
    return raised(
        scene,
        "user_config",
        ("user_config", "external_service"),
        frames,
        "wandb.errors.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])",
        "api_key not configured",
        everywhere=False,
    )


@shape(
    "clients-missing-at-rendezvous",
    "desync",
    "insufficient_evidence",
    phase="launch",
    forbid="syslog metrics",
    weight=1,
)
def clients_missing(scene: Scene) -> Finding:
    total = scene.fleet.ranks
    at = scene.onset + 900
    told = f"torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. {total - 1}/{total} clients joined."
    frames = [
        scene.main,
        scene.frame(44, "setup", "dist.init_process_group('nccl')"),
        scene.library("torch/distributed/rendezvous.py", 185, "_create_c10d_store", "return TCPStore("),
    ]
    scene.traceback(0, at, frames, told, False)
    cascades.crash(scene, [0], at + 0.4, 1, "killed")
    return Finding(
        "insufficient_evidence",
        ("insufficient_evidence", "user_config", "ambiguous", "user_code"),
        (),
        (),
        None,
        None,
        [told],
        None,
    )


@shape("assertion-in-own-code", "user_code", "user_code", weight=2)
def assertion(scene: Scene) -> Finding:
    frames = [
        scene.main,
        scene.frame(180, "main", "trainer.fit()"),
        scene.frame(
            70, "fit", "assert logits.shape[0] == labels.shape[0], (logits.shape, labels.shape)", "/data/job/trainer.py"
        ),
    ]
    return raised(
        scene,
        "user_code",
        ("user_code", "data"),
        frames,
        "AssertionError: (torch.Size([8, 2048]), torch.Size([7, 2048]))",
    )


@shape("shapes-do-not-multiply", "user_code", "user_code", weight=2)
def shapes_differ(scene: Scene) -> Finding:
    frames = [
        scene.main,
        scene.frame(144, "main", "loss = model(batch)"),
        scene.frame(52, "forward", "x = self.proj(x)", "/data/job/model/net.py"),
        scene.library("torch/nn/modules/linear.py", 117, "forward", "return F.linear(input, self.weight, self.bias)"),
    ]
    return raised(
        scene,
        "user_code",
        ("user_code", "user_config"),
        frames,
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (16384x4096 and 5120x4096)",
    )


@shape("device-side-assert", "user_code", "user_code", weight=2)
def device_assert(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    told = "Assertion `srcIndex < srcSelectDimSize` failed."
    lines = "\n".join(
        f"../aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: [{scene.rng.randrange(400)},0,0], thread: [{thread},0,0] {told}"
        for thread in range(32, 44)
    )
    scene.raw(rank, at - 0.2, lines)
    scene.traceback(
        rank, at, step_frames(scene), f"RuntimeError: CUDA error: device-side assert triggered\n{ASYNC_ADVICE}"
    )
    scene.xid(
        rank // scene.fleet.gpus_per_node, at - 0.1, scene.fleet.gpu_of(rank).pci, 43, "Ch 00000010", scene.proc(rank)
    )
    cascades.crash(scene, [rank], at + 0.3, 1)
    return Finding(
        "user_code",
        ("user_code", "data", "user_config"),
        (scene.fleet.node_of(rank),),
        (),
        None,
        rank,
        [told, "device-side assert triggered"],
        at - 0.2,
    )


@shape("collectives-differ-between-ranks", "user_code", "user_code", weight=1)
def collectives_differ(scene: Scene) -> Finding:
    rank = scene.rng.randrange(1, scene.fleet.ranks)
    at = scene.onset
    told = f"Detected mismatch between collectives on ranks. Rank {rank} is running collective: CollectiveFingerPrint(SequenceNumber=411, OpType=ALLREDUCE, TensorShape=[1], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))), but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=411, OpType=BARRIER)."
    frames = [
        scene.main,
        scene.frame(190, "main", "metrics = reduce_metrics(metrics)"),
        scene.frame(22, "reduce_metrics", "dist.all_reduce(value)", "/data/job/metrics.py"),
        scene.library(
            "torch/distributed/distributed_c10d.py", 2501, "all_reduce", "work = group.allreduce([tensor], opts)"
        ),
    ]
    ranks = sorted({rank, *scene.rng.sample(range(scene.fleet.ranks), min(6, scene.fleet.ranks))})
    for other in ranks:
        scene.traceback(other, at + scene.rng.random() * 0.2, frames, f"RuntimeError: {told}")
    cascades.crash(scene, ranks, at + 0.4, 1, "killed")
    return Finding(
        "user_code",
        ("user_code", "framework"),
        (),
        (),
        None,
        None,
        ["Detected mismatch between collectives on ranks"],
        None,
    )


@shape("one-rank-waits-elsewhere", "desync", "insufficient_evidence", forbid="syslog metrics", weight=1)
def one_rank_elsewhere(scene: Scene) -> Finding:
    rng, fleet, at = scene.rng, scene.fleet, scene.onset
    odd = rng.randrange(fleet.ranks)
    work = rng.randrange(1000, 700000)
    began = at
    sample = sorted({odd, *rng.sample(range(fleet.ranks), min(fleet.ranks, 64))})
    for rank in sample:
        when = began + scene.job.timeout + rng.random() * 0.5
        if rank == odd:
            cascades.watchdog(scene, rank, when, work + 2, ("_ALLGATHER_BASE", 513, 513 * fleet.ranks), True)
        else:
            cascades.watchdog(scene, rank, when, work, ("BROADCAST", 5164000, 5164000), rank < 4)
    cascades.crash(scene, [rank for rank in sample if rank != odd][:1], at + scene.job.timeout + 3, -6, "killed")
    return Finding(
        "insufficient_evidence",
        ("insufficient_evidence", "user_code", "ambiguous"),
        (fleet.node_of(odd),),
        (),
        None,
        None,
        [],
        None,
    )


@shape("unused-parameters", "user_code", "user_code", weight=1)
def unused_parameters(scene: Scene) -> Finding:
    error = "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs participate in calculating loss. "
    frames = [
        scene.main,
        scene.frame(144, "main", "loss = model(batch)"),
        scene.library(
            "torch/nn/parallel/distributed.py", 1639, "forward", "inputs, kwargs = self._pre_forward(*inputs, **kwargs)"
        ),
    ]
    return raised(
        scene,
        "user_code",
        ("user_code", "user_config"),
        frames,
        error,
        "Expected to have finished reduction in the prior iteration",
    )


# ---- settings


@shape("port-in-use", "user_config", "user_config", phase="launch", weight=1.5)
def port_in_use(scene: Scene) -> Finding:
    at = scene.onset
    scene.started = True
    kind = "torch.distributed.DistNetworkError" if scene.job.torch_minor >= 2 else "RuntimeError"
    where = (
        "port: 29500, useIpv6: 0, code: -98, name: EADDRINUSE, message: address already in use"
        if scene.job.torch_minor >= 5
        else "The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use). The server socket has failed to bind to ?UNKNOWN? (errno: 98 - Address already in use)."
    )
    error = f"{kind}: The server socket has failed to listen on any local network address. {where}"
    frames = [
        scene.main,
        scene.frame(44, "setup", "dist.init_process_group('nccl')"),
        scene.library("torch/distributed/rendezvous.py", 258, "_env_rendezvous_handler", "store = _create_c10d_store("),
        scene.library("torch/distributed/rendezvous.py", 185, "_create_c10d_store", "return TCPStore("),
    ]
    scene.traceback(0, at, frames, error, False)
    cascades.crash(scene, [0], at + 0.3, 1, "killed")
    return Finding(
        "user_config",
        ("user_config", "scheduler"),
        (scene.fleet.nodes[0],),
        (),
        None,
        0,
        ["Address already in use", "EADDRINUSE"],
        at,
    )


@shape("checkpoint-does-not-fit", "user_config", "user_config", phase="load", weight=2)
def checkpoint_mismatch(scene: Scene) -> Finding:
    error = "RuntimeError: Error(s) in loading state_dict for GPTModel:\n\tsize mismatch for embedding.word_embeddings.weight: copying a param with shape torch.Size([50304, 4096]) from checkpoint, the shape in current model is torch.Size([51200, 4096])."
    frames = [
        scene.main,
        scene.frame(120, "main", "model.load_state_dict(state['model'])"),
        scene.library(
            "torch/nn/modules/module.py",
            2215,
            "load_state_dict",
            "raise RuntimeError('Error(s) in loading state_dict for {}:\\n\\t{}'.format(",
        ),
    ]
    return raised(
        scene,
        "user_config",
        ("user_config", "user_code"),
        frames,
        error,
        "size mismatch for embedding.word_embeddings.weight",
    )


@shape("module-missing-or-broken", "user_config", "user_config", phase="launch", weight=2)
def module_missing(scene: Scene) -> Finding:
    error, frames = scene.rng.choice((
        ("ModuleNotFoundError: No module named 'einops'", [scene.frame(9, "<module>", "from einops import rearrange")]),
        (f"ImportError: {scene.job.site_packages}/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", [scene.frame(12, "<module>", "import flash_attn"), scene.library("flash_attn/flash_attn_interface.py", 10, "<module>", "import flash_attn_2_cuda as flash_attn_cuda")]),
    ))  # fmt: skip
    return raised(scene, "user_config", ("user_config",), frames, error, everywhere=True, grouped=False)


@shape("config-file-missing", "user_config", "user_config", phase="launch", weight=2)
def config_missing(scene: Scene) -> Finding:
    frames = [
        scene.main,
        scene.frame(36, "main", "config = load_config(args.config)"),
        scene.frame(12, "load_config", "with open(path) as handle:", "/data/job/config.py"),
    ]
    return raised(
        scene,
        "user_config",
        ("user_config",),
        frames,
        "FileNotFoundError: [Errno 2] No such file or directory: 'configs/base_7b_v2.yaml'",
        everywhere=True,
        grouped=False,
    )


@shape("wrong-argument", "user_config", "user_config", phase="launch", weight=1.5)
def wrong_argument(scene: Scene) -> Finding:
    at = scene.onset
    told = f"{scene.job.script.split('/')[-1]}: error: unrecognized arguments: --micro-batchsize 2"
    for rank in range(min(scene.fleet.ranks, 128)):
        scene.raw(
            rank,
            at + scene.rng.random() * 0.4,
            f"usage: {scene.job.script.split('/')[-1]} [-h] [--micro-batch-size N] [--data-path PATH] [--seq-length N]\n{told}",
        )
    cascades.crash(scene, range(min(scene.fleet.ranks, 128)), at + 0.5, 2, "killed")
    return Finding("user_config", ("user_config",), (), (), None, None, [told], None)


@shape("socket-interface-missing", "user_config", "user_config", phase="launch", weight=1)
def interface_missing(scene: Scene) -> Finding:
    at = scene.onset
    told = "Bootstrap : no socket interface found"
    for rank in range(min(scene.fleet.ranks, 64)):
        scene.nccl(rank, at - 0.1, "", "NCCL_SOCKET_IFNAME set by environment to ib9", "INFO")
        scene.nccl(rank, at, "bootstrap.cc:45", told)
        scene.traceback(
            rank,
            at + 0.1,
            [
                scene.main,
                scene.frame(70, "setup", "dist.barrier()"),
                scene.library("torch/distributed/c10d_logger.py", 83, "wrapper", "return func(*args, **kwargs)"),
            ],
            f"torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, internal error - please report this issue to the NCCL developers, NCCL version {scene.job.nccl}\nncclInternalError: Internal check failed.\nLast error:\n{told}",
        )
    cascades.crash(scene, range(min(scene.fleet.ranks, 64)), at + 0.5, 1, "killed")
    return Finding(
        "user_config", ("user_config",), (), (), None, None, [told, "NCCL_SOCKET_IFNAME set by environment"], None
    )


@shape("more-ranks-than-gpus", "user_config", "user_config", phase="launch", weight=1)
def more_ranks(scene: Scene) -> Finding:
    at, width = scene.onset, scene.fleet.gpus_per_node
    ranks = [rank for rank in range(scene.fleet.ranks) if rank % width == width - 1]
    frames = [
        scene.main,
        scene.frame(61, "setup", "torch.cuda.set_device(local_rank)"),
        scene.library("torch/cuda/__init__.py", 420, "set_device", "torch._C._cuda_setDevice(device)"),
    ]
    for rank in ranks:
        scene.log(
            rank,
            at - 3,
            "INFO",
            f"CUDA_VISIBLE_DEVICES={','.join(str(index) for index in range(width - 1))} nproc_per_node={width}",
        )
        scene.traceback(
            rank,
            at + scene.rng.random() * 0.3,
            frames,
            f"RuntimeError: CUDA error: invalid device ordinal\n{ASYNC_ADVICE}",
            False,
        )
    cascades.crash(scene, ranks, at + 0.5, 1, "killed")
    return Finding("user_config", ("user_config", "user_code"), (), (), None, None, ["invalid device ordinal"], None)


@shape("batch-size-does-not-divide", "user_config", "user_config", phase="launch", weight=1)
def batch_size(scene: Scene) -> Finding:
    frames = [
        scene.main,
        scene.library("megatron/training/training.py", 210, "pretrain", "initialize_megatron("),
        scene.library("megatron/core/num_microbatches_calculator.py", 320, "__init__", "assert ("),
    ]
    return raised(
        scene,
        "user_config",
        ("user_config",),
        frames,
        f"AssertionError: global batch size (1000) is not divisible by micro batch size (2) times data parallel size ({scene.fleet.ranks * 3})",
        everywhere=True,
    )


@shape("no-permission-to-write", "user_config", "user_config", phase="load", weight=1)
def no_permission(scene: Scene) -> Finding:
    frames = [scene.main, scene.frame(80, "main", "os.makedirs(args.output, exist_ok=True)")]
    return raised(
        scene,
        "user_config",
        ("user_config", "storage"),
        frames,
        "PermissionError: [Errno 13] Permission denied: '/shared/projects/other/ckpt'",
        everywhere=True,
    )


@shape("cublas-unset-workspace", "user_config", "user_config", phase="load", weight=0.5)
def deterministic(scene: Scene) -> Finding:
    error = "RuntimeError: Deterministic behavior was enabled with either `torch.use_deterministic_algorithms(True)` or `at::Context::setDeterministicAlgorithms(true)`, but this operation is not deterministic because it uses CuBLAS and you have CUDA >= 10.2. To enable deterministic behavior in this case, you must set an environment variable before running your PyTorch application: CUBLAS_WORKSPACE_CONFIG=:4096:8 or CUBLAS_WORKSPACE_CONFIG=:16:8. For more information, go to https://docs.nvidia.com/cuda/cublas/index.html#results-reproducibility"
    return raised(
        scene,
        "user_config",
        ("user_config", "user_code"),
        step_frames(scene)[:3],
        error,
        "Deterministic behavior was enabled",
        everywhere=True,
    )


# ---- data


@shape("dataset-file-missing", "data", "data", phase="load", weight=2)
def dataset_missing(scene: Scene) -> Finding:
    frames = [
        *step_frames(scene)[:2],
        scene.library(
            "torch/utils/data/_utils/fetch.py",
            52,
            "fetch",
            "data = [self.dataset[idx] for idx in possibly_batched_index]",
        ),
        scene.frame(44, "__getitem__", "image = Image.open(self.files[index])", "/data/job/data.py"),
    ]
    return raised(
        scene,
        "data",
        ("data", "user_config"),
        frames,
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/set/train/images/000418321.jpg'",
        everywhere=False,
    )


@shape("dataset-file-corrupt", "data", "data", weight=2)
def dataset_corrupt(scene: Scene) -> Finding:
    error, source = scene.rng.choice((
        ("PIL.UnidentifiedImageError: cannot identify image file '/data/set/train/images/000418321.jpg'", "image = Image.open(path).convert('RGB')"),
        ("pyarrow.lib.ArrowInvalid: Could not open Parquet input source '/data/set/part-00071.parquet': Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file.", "table = pq.read_table(path)"),
        ("zlib.error: Error -3 while decompressing data: incorrect header check", "text = gzip.open(path).read()"),
        ("OSError: Unable to synchronously open file (truncated file: eof = 96, sblock->base_addr = 0, stored_eof = 2048)", "store = h5py.File(path, 'r')"),
        ("tarfile.ReadError: unexpected end of data", "for member in tarfile.open(fileobj=stream, mode='r|*'):"),
        ("json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 1021 (char 1020)", "record = json.loads(line)"),
    ))  # fmt: skip
    frames = [*step_frames(scene)[:2], scene.frame(44, "__getitem__", source, "/data/job/data.py")]
    return raised(scene, "data", ("data",), frames, error, everywhere=False)


@shape("checkpoint-file-corrupt", "data", "data", phase="load", weight=2)
def checkpoint_corrupt(scene: Scene) -> Finding:
    error, frame = scene.rng.choice((
        ("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory", scene.library("torch/serialization.py", 1005, "load", "with _open_zipfile_reader(opened_file) as opened_zipfile:")),
        ("safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer", scene.library("safetensors/torch.py", 313, "load_file", "with safe_open(filename, framework=\"pt\", device=device) as f:")),
        ("EOFError: Ran out of input", scene.library("torch/serialization.py", 1246, "_legacy_load", "magic_number = pickle_module.load(f, **pickle_load_args)")),
    ))  # fmt: skip
    frames = [
        scene.main,
        scene.frame(118, "main", "state = torch.load('/data/ckpt/step_41000/model.pt', map_location='cpu')"),
        frame,
    ]
    return raised(scene, "data", ("data", "storage"), frames, error)


@shape("loss-is-not-a-number", "data", "data", weight=1.5)
def loss_nan(scene: Scene) -> Finding:
    at = scene.onset
    scene.log(
        0,
        at - 20,
        "WARNING",
        "grad norm 318.4 is far above its average at step 41213, document 9918233 repeats one token 8192 times",
    )
    scene.log(
        0,
        at - 10,
        "WARNING",
        "grad norm 90211.7 is far above its average at step 41214, document 9918233 repeats one token 8192 times",
    )
    frames = [
        scene.main,
        scene.frame(190, "main", "check_finite(loss)"),
        scene.frame(14, "check_finite", "raise ValueError(message)", "/data/job/guards.py"),
    ]
    scene.onset = at
    return raised(
        scene,
        "data",
        ("data", "insufficient_evidence", "user_config", "user_code"),
        frames,
        "ValueError: loss is nan at step 41215, stopping training",
        everywhere=False,
    )


@shape("token-outside-vocabulary", "data", "data", weight=1)
def token_outside(scene: Scene) -> Finding:
    frames = [
        scene.main,
        scene.frame(160, "main", "for batch in loader:"),
        scene.frame(61, "collate", "raise ValueError(", "/data/job/data.py"),
    ]
    return raised(
        scene,
        "data",
        ("data", "user_code", "user_config"),
        frames,
        "ValueError: token id 151851 in /data/set/shard-0042.bin at offset 90211 is outside of the vocabulary of 151643",
        everywhere=False,
    )
