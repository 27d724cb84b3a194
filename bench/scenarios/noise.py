"""Benign chatter: what jobs and nodes write when nothing is wrong, scary words in their harmless use included."""

import random
from datetime import UTC
from typing import Any

from bench.scenarios.scene import Scene

AGENT_START = (
    "\n*****************************************\nSetting OMP_NUM_THREADS environment variable for each process to be 1 "
    "in default, to avoid your system being overloaded, please further tune the variable for optimal performance in "
    "your application as needed. \n*****************************************"
)
APP_WARNINGS = (
    "{pkgs}/transformers/utils/generic.py:441: FutureWarning: `torch.utils._pytree._register_pytree_node` is "
    "deprecated. Please use `torch.utils._pytree.register_pytree_node` instead.\n  _torch_pytree._register_pytree_node(",
    "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling "
    "parallelism to avoid deadlocks...\nTo disable this warning, you can either:\n\t- Avoid using `tokenizers` before the "
    "fork if possible\n\t- Explicitly set the environment variable TOKENIZERS_PARALLELISM=(true | false)",
    "{pkgs}/torch/utils/checkpoint.py:87: UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n"
    "  warnings.warn(",
    "/data/job/model/layers.py:{n}: FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. Please use "
    "`torch.amp.autocast('cuda', args...)` instead.\n  with torch.cuda.amp.autocast():",
    "{pkgs}/torch/nn/parallel/distributed.py: UserWarning: Grad strides do not match bucket view strides. This may indicate "
    "grad was not created according to the gradient layout contract, or that the param's strides changed since DDP was "
    "constructed.  This is not an error, but may impair performance.",
    "{pkgs}/torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: 'libjpeg.so.9: cannot open shared "
    "object file: No such file or directory'If you don't plan on using image functionality from `torchvision.io`, you can "
    "ignore this warning.\n  warn(",
    "WARNING:urllib3.connectionpool:Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after "
    "connection broken by 'ReadTimeoutError(\"HTTPSConnectionPool(host='metrics.example.org', port=443): Read timed out. "
    "(read timeout=10)\")': /api/v1/push",
    "wandb: WARNING Saving files without folders. If you want to preserve subdirectories pass base_path to wandb.save",
    "[W socket.cpp:436] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 97 - Address family not "
    "supported by protocol).",
    "[W socket.cpp:663] [c10d] The client socket cannot be initialized to connect to [10.1.0.11]:29500 (errno: 97 - Address "
    "family not supported by protocol).",
    "{clock}: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on. You may see slightly "
    "different numerical results due to floating-point round-off errors from different computation orders.",
    "WARNING: could not find the metadata file /data/ckpt/latest_checkpointed_iteration.txt\n"
    "    will not load any checkpoints and will start from random",
    "INFO: NaN check enabled, error_on_nonfinite=True, max_retries=3",
)
NCCL_INFO = (
    "NET/Plugin: Failed to find ncclCollNetPlugin_v8 symbol.",
    "NET/Plugin: No plugin found (libnccl-net.so), using internal implementation",
    "NCCL_IB_DISABLE set by environment to 0.",
    "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB [RO]; OOB eth0:{address}<0>",
    "Using non-device net plugin version 0",
    "Setting affinity for GPU {local} to ffff,ffffffff",
    "NVLS multicast support is available on dev {local}",
    "Channel 00/0 : {rank}[{local}] -> {peer}[{local}] [send] via NET/IB/{local}/GDRDMA",
    "Connected all rings",
    "Connected all trees",
    "threadThresholds 8/8/64 | 512/8/64 | 512 | 512",
    "TUNER/Plugin: Failed to find ncclTunerPlugin_v2, using internal tuner instead.",
    "NCCL_ASYNC_ERROR_HANDLING is deprecated, use TORCH_NCCL_ASYNC_ERROR_HANDLING instead",
)
# What a node logs: who, what, with which priority and how often.
SYSTEM: tuple[tuple[str, str, int, int], ...] = (
    ("systemd", "Started Session {n} of User root.", 6, 6),
    ("systemd", "session-{n}.scope: Deactivated successfully.", 6, 5),
    ("systemd", "Starting Daily apt download activities...", 6, 1),
    ("systemd", "Started system activity accounting tool.", 6, 2),
    ("systemd-logind", "New session {n} of user root.", 6, 4),
    ("sshd", "Accepted publickey for root from 10.9.0.4 port {port} ssh2: ED25519 SHA256:c2FtcGxl", 6, 3),
    ("sshd", "error: kex_exchange_identification: Connection closed by remote host", 3, 2),
    ("sshd", "Connection reset by 10.9.0.{small} port {port} [preauth]", 6, 2),
    ("CRON", "(root) CMD (command -v debian-sa1 > /dev/null && debian-sa1 1 1)", 6, 5),
    ("chronyd", "Selected source 10.9.0.2", 6, 2),
    ("node_exporter", 'ts={iso} caller=collector.go:169 level=error msg="collector failed" name=textfile duration_seconds=0.000{small} err="failed to open textfile directory: no such file or directory"', 6, 3),
    ("nv-hostengine", "DCGM health watch: PCIe: Healthy, Memory: Healthy, NVLink: Healthy, 0 errors found", 6, 3),
    ("nv-hostengine", "[[WARN]] Field 202 PCIe replay counter of GPU {gpu}: {small}, below threshold", 4, 1),
    ("nvidia-persistenced", "device {pci}.0 - persistence mode enabled.", 6, 1),
    ("smartd", "Device: /dev/nvme0, SMART Usage Attribute: 194 Temperature changed from 38 to 4{gpu}", 6, 2),
    ("smartd", "Device: /dev/nvme1, number of Error Log entries increased from {small} to {small}", 5, 1),
    ("kernel", "perf: interrupt took too long ({n} > 3927), lowering kernel.perf_event_max_sample_rate to 50000", 6, 2),
    ("kernel", "TCP: request_sock_TCP: Possible SYN flooding on port 29500. Sending cookies.  Check SNMP counters.", 6, 1),
    ("kernel", "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x{hex} offset:0x40 grain:32 syndrome:0x0 -  err_code:0x0101:0x0090)", 4, 1),
    ("kernel", "pcieport 0000:15:01.0: AER: Corrected error received: {pci}.0", 4, 1),
    ("kernel", "nvidia {pci}.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", 4, 1),
    ("kernel", "mlx5_core {nic}: mlx5_cmd_out_err:838:(pid {n}): ACCESS_REG(0x805) op_mod(0x1) failed, status bad resource(0x5), syndrome (0x305684), err(-22)", 3, 2),
    ("kernel", "mlx5_core {nic}: mlx5_pcie_event:299:(pid {n}): Detected insufficient power on the PCIe slot (27W).", 6, 1),
    ("kernel", "systemd-journald[412]: Data hash table of /run/log/journal/system.journal has a fill level at 75.0, suggesting rotation.", 6, 1),
    ("kernel", "audit: type=1400 audit({n}.{n}:{n}): apparmor=\"DENIED\" operation=\"open\" profile=\"snap.lxd\" name=\"/proc/sys/kernel\"", 5, 2),
    ("kernel", "hrtimer: interrupt took {n} ns", 6, 1),
    ("kernel", "sched: RT throttling activated", 4, 1),
    ("kernel", "nvme nvme1: Using 64 I/O queues", 6, 1),
    ("kernel", "loop{gpu}: detected capacity change from 0 to {n}", 6, 1),
    ("rsyslogd", "action 'action-2-builtin:omfwd' resumed (module 'builtin:omfwd') [v8.2112.0]", 6, 1),
    ("snapd", "storehelpers.go:958: cannot refresh: snap has no updates available: \"core22\"", 6, 1),
    ("dbus-daemon", "[system] Failed to activate service 'org.bluez': timed out (service_start_timeout=25000ms)", 5, 1),
    ("multipathd", "sda: failed to get udev uid: No data available", 4, 1),
)  # fmt: skip
SLURM_DAEMON = (
    ("slurmd", "launch task StepId={job}.0 request from UID:1004 GID:1004 HOST:10.1.0.2 PORT:{port}", 6, 2),
    ("slurmd", "debug:  _rpc_health_check: health check script ran for 2 sec, 0 failures", 6, 2),
)
KUBE_DAEMON = (
    ("kubelet", 'I{klog}.{n}0 {n} kubelet.go:2431] "SyncLoop (PLEG): event for pod" pod="ml/trainer" event="ContainerStarted"', 6, 2),
    ("kubelet", 'E{klog}.{n}0 {n} summary_sys_containers.go:83] "Failed to get system container stats" err="failed to get cgroup stats" containerName="/system.slice/docker.service"', 6, 2),
    ("containerd", 'time="{second}Z" level=warning msg="cleaning up after shim disconnected" namespace=k8s.io', 6, 1),
)  # fmt: skip


def system_line(rng: random.Random, scene: Scene, node: int, at: float) -> None:
    """One ordinary line in a node's system log."""
    pool = SYSTEM + (SLURM_DAEMON if scene.job.scheduler == "slurm" else KUBE_DAEMON)
    weights = _WEIGHTS[scene.job.scheduler]
    program, text, priority, _ = rng.choices(pool, cum_weights=weights)[0]
    place = scene.fleet.nodes[node]
    gpu = rng.randrange(len(place.gpus))
    values: dict[str, Any] = {
        "n": rng.randrange(3000, 90000),
        "port": rng.randrange(32000, 60000),
        "small": rng.randrange(1, 9),
        "gpu": gpu,
        "pci": place.gpus[gpu].pci,
        "nic": place.nics[gpu].pci,
        "hex": f"{rng.getrandbits(24):x}",
        "job": scene.job.number,
        "iso": f"{scene.wall(node, at).astimezone(UTC):%Y-%m-%dT%H:%M:%S}.000Z",
        "second": f"{scene.wall(node, at).astimezone(UTC):%Y-%m-%dT%H:%M:%S}",
        "klog": f"{scene.wall(node, at):%m%d %H:%M:%S}",
    }
    text = text.format_map(values)
    if program == "kernel":
        scene.kernel(node, at, text, priority)
    else:
        scene.daemon(node, at, program, text, priority)


def _weights(pool: tuple[tuple[str, str, int, int], ...]) -> list[int]:
    total, result = 0, []
    for entry in pool:
        total += entry[3]
        result.append(total)
    return result


_WEIGHTS = {"slurm": _weights(SYSTEM + SLURM_DAEMON), "kubernetes": _weights(SYSTEM + KUBE_DAEMON)}


def nodes(scene: Scene) -> None:
    """Ordinary lines of every node, from a while before the attempt to its end."""
    rng, size = scene.rng, len(scene.fleet.nodes)
    usual = 28 if size <= 16 else 18 if size <= 128 else 12
    for node in range(size):
        begin = scene.start - 900
        end = scene.silent_from.get(node, scene.end.at + 30)
        count = usual * 4 if node in scene.root_nodes else rng.randrange(usual // 2, usual + 1)
        for _ in range(count):
            system_line(rng, scene, node, rng.uniform(begin, end))


def app(scene: Scene, until: float) -> None:
    """The job's ordinary output: start of every rank, warnings of a few, progress of one."""
    rng, fleet, job = scene.rng, scene.fleet, scene.job
    begin = scene.start
    if job.launcher == "torchrun":
        for node in range(len(fleet.nodes)):
            scene.agent(node, begin + 2 + rng.random(), "W", "../run.py", 793, AGENT_START)
    verbose = rng.random() < 0.45
    per_rank = 6 if fleet.ranks <= 128 else 3 if fleet.ranks <= 1024 else 1
    for rank in range(fleet.ranks):
        at = begin + 9 + rng.random() * 3
        scene.log(
            rank,
            at,
            "INFO",
            f"initialized process group, rank {rank} of {fleet.ranks}, device cuda:{rank % fleet.gpus_per_node}",
        )
        for index in range(per_rank if verbose else 0):
            text = NCCL_INFO[(rank + index * 5) % len(NCCL_INFO)].format(
                rank=rank,
                local=rank % fleet.gpus_per_node,
                peer=(rank + fleet.gpus_per_node) % fleet.ranks,
                address=fleet.node_of(rank).address,
            )
            scene.nccl(rank, at + 1 + index * 0.2, "", text, "INFO")
    for _ in range(rng.randrange(2, 9)):
        at, rank = begin + rng.uniform(4, 20), scene.pick()
        clock = f"{scene.wall(fleet.node_of(rank), at):%Y-%m-%d %H:%M:%S}.000000"
        scene.raw(
            rank, at, rng.choice(APP_WARNINGS).format(n=rng.randrange(20, 400), pkgs=job.site_packages, clock=clock)
        )
    if until - begin > 60:
        progress(scene, begin + 30, until)
    if rng.random() < 0.12 and until - begin > 200:
        at = rng.uniform(begin + 60, until - 60)
        scene.raw(0, at, "wandb: Network error (ConnectTimeout), entering retry loop.")
        scene.raw(0, at + 13.1, "wandb: Network error resolved after 0:00:13.1, resuming normal operation.")


def progress(scene: Scene, begin: float, until: float) -> None:
    """Steps that go well, as the trainer prints them; a bundle holds the tail of them."""
    rng, job = scene.rng, scene.job
    count = rng.randrange(25, 70)
    span = until - begin
    pace = min(span / count, rng.uniform(1.5, 30))
    step = rng.randrange(1, 60000)
    loss = rng.uniform(1.6, 7)
    rank = scene.fleet.ranks - 1 if job.trainer == "megatron" else 0
    for index in range(count):
        at = until - (count - index) * pace
        loss *= 1 - 0.001 * rng.random()
        text = step_text(rng, job.trainer, step + index, loss, pace)
        if job.trainer == "hf":
            scene.raw(rank, at, text)  # it prints its steps past its logging
        else:
            scene.log(rank, at, "INFO", text)
        if index and index % 20 == 0:
            scene.log(rank, at + 0.1, "INFO", f"saving checkpoint at iteration {step + index} to /data/ckpt, 0 errors")


def step_text(rng: random.Random, trainer: str, step: int, loss: float, pace: float) -> str:
    """One step's line."""
    match trainer:
        case "megatron":
            return (
                f" iteration {step:8d}/  500000 | consumed samples: {step * 1024:12d} | elapsed time per iteration (ms): "
                f"{pace * 1000:.1f} | learning rate: 1.500E-04 | global batch size:  1024 | lm loss: {loss:.6E} | loss scale: 1.0 | "
                f"grad norm: {rng.uniform(0.1, 1.2):.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"
            )
        case "deepspeed":
            return f"step={step}, skipped=0, lr=[0.00015], mom=[(0.9, 0.95)] loss: {loss:.4f} iter time (s): {pace:.3f}"
        case "lightning":
            return f"Epoch 0: step {step}, train_loss={loss:.3f}, v_num=0, {1 / pace:.2f}it/s"
        case "hf":
            return f"{{'loss': {loss:.4f}, 'grad_norm': {rng.uniform(0.1, 1.2):.4f}, 'learning_rate': 1.5e-05, 'epoch': {step / 10000:.2f}}}"
        case _:
            return f"step {step} loss {loss:.4f} grad_norm {rng.uniform(0.1, 1.2):.3f} step_time {pace:.2f}s errors 0"


def finish(scene: Scene, at: float) -> None:
    """What the trainer writes when all its steps are done."""
    rng, fleet = scene.rng, scene.fleet
    steps, seconds = rng.randrange(2000, 90000), scene.onset - scene.start
    match scene.job.trainer:
        case "megatron":
            moment = scene.wall(fleet.node_of(fleet.ranks - 1), at)
            scene.raw(fleet.ranks - 1, at, f"[after training is done] datetime: {moment:%Y-%m-%d %H:%M:%S} ")
            scene.raw(0, at + 1, f"saving checkpoint at iteration {steps:7d} to /data/ckpt in torch_dist format")
            scene.raw(
                0, at + 4, f"  successfully saved checkpoint from iteration {steps:7d} to /data/ckpt [ t 1/1, p 1/1 ]"
            )
        case "hf":
            scene.log(
                0,
                at,
                "INFO",
                "\n\nTraining completed. Do not forget to share your model on huggingface.co/models =)\n\n",
            )
            scene.raw(
                0,
                at + 0.2,
                f"{{'train_runtime': {seconds:.4f}, 'train_samples_per_second': {steps * 8 / seconds:.3f}, "
                f"'train_steps_per_second': {steps / seconds:.3f}, 'train_loss': {rng.uniform(1.2, 3):.6f}, 'epoch': 1.0}}",
            )
            scene.log(0, at + 1, "INFO", "Saving model checkpoint to /data/ckpt/final")
        case "lightning":
            scene.raw(0, at, f"`Trainer.fit` stopped: `max_steps={steps}` reached.")
        case _:
            told = rng.choice((
                "training finished, 0 failed steps, final checkpoint saved to /data/ckpt/final",
                f"Training complete: {steps} steps in {seconds:.0f} s, no failures",
                f"done training at step {steps}, model saved to /data/ckpt/final",
            ))  # fmt: skip
            scene.log(0, at, "INFO", told)


def fabric(scene: Scene) -> None:
    """What a healthy fabric manager logs on some nodes."""
    for node in scene.fleet.nodes[:48]:
        at = scene.start - scene.rng.uniform(1, 40) * 3600
        lines = (
            "Successfully configured all the available NVSwitches to route GPU NVLink traffic. NVLink Peer-to-Peer support will be enabled once the GPUs are successfully registered with the NVLink fabric.",
            "Received an inband message:  Message header details: magic Id:adbc, request Id:1034, status:0, type:2, length:28",
            "multicast group 1 is allocated.",
            "multicast group 1 is freed.",
        )  # fmt: skip
        for index, text in enumerate(lines):
            scene.fabric[node.index].append((at + index * 60, "INFO", text))


def bmc(scene: Scene) -> None:
    """What a healthy management controller has in its event log."""
    for node in scene.fleet.nodes[:48]:
        at = scene.start - scene.rng.uniform(3, 90) * 86400
        scene.bmc[node.index].append((at, "Event Logging Disabled SEL", "Log area reset/cleared | Asserted"))
        scene.bmc[node.index].append((at + 900, "System Event #0x83", "Timestamp Clock Sync | Asserted"))
        if scene.rng.random() < 0.2:
            scene.bmc[node.index].append((at + 5000, "Memory #0x87", "Correctable ECC | Asserted"))
