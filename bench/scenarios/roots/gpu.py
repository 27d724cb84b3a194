"""GPU memory, GPUs lost from the bus, engines, firmware of the GPU and its driver."""

from bench.scenarios import cascades
from bench.scenarios.roots.common import announce, cuda_error, die, sympathetic
from bench.scenarios.scene import Scene
from bench.scenarios.shapes import shape
from bench.scenarios.truth import Finding

ECC = "uncorrectable ECC error encountered"


def _ecc_metrics(scene: Scene, node: int, index: int, at: float, xid: int) -> None:
    scene.shift("DCGM_FI_DEV_XID_ERRORS", node, index, at, xid)
    scene.shift("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", node, index, at, 1)
    scene.shift("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", node, index, at, 1)


def _place(scene: Scene, rank: int) -> tuple[int, int]:
    return rank // scene.fleet.gpus_per_node, rank % scene.fleet.gpus_per_node


def _gpu(scene: Scene, sub: str, accept: tuple[str, ...], rank: int, lines: list[str], at: float) -> Finding:
    node = scene.fleet.node_of(rank)
    device: dict[str, object] = {"kind": "gpu", "pci": scene.fleet.gpu_of(rank).pci}
    return Finding(sub, accept, (node,), None, device, None, lines, at)


@shape(
    "hbm-double-bit",
    "gpu_memory",
    "gpu_hardware",
    needs="syslog",
    models="A100 H100 H200",
    weight=4,
    withhold=True,
    pair=True,
)
def hbm_double_bit(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    pci = scene.fleet.gpu_of(rank).pci
    announce(scene, node, at - 0.0002, index)
    rng = scene.rng
    address = f"0x{rng.getrandbits(36):x}"
    lines = [
        scene.xid(node, at, pci, 48, "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at "
                  f"physAddr {address} partition {rng.randrange(20)}, subpartition {rng.randrange(4)}.", scene.no_proc()),
        scene.xid(node, at + 0.023, pci, 63, f"Row Remapper: New row ({address}) marked for remapping, reset gpu to activate.", scene.no_proc()),
        scene.xid(node, at + 0.025, pci, 94, f"Contained: {rng.choice(('SM (0x1). RST: No, D-RST: No', 'CE User Channel (0x9). RST: No, D-RST: No'))}", scene.proc(rank)),
    ]  # fmt: skip
    sympathetic(scene, node, at + 0.3, index)
    _ecc_metrics(scene, node, index, at, 94)
    scene.root_ranks.add(rank)
    die(scene, [rank], at + 0.4, ECC)
    return _gpu(scene, "gpu_hardware", ("gpu_hardware",), rank, lines, at)


@shape("hbm-uncontained", "gpu_memory", "gpu_hardware", needs="syslog", weight=2, withhold=True, pair=True)
def hbm_uncontained(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    pci = scene.fleet.gpu_of(rank).pci
    unit = scene.rng.choice(("LTC TAG (0x5,0x0)", "FBHUB (0x8)", "DED CBC (0x2,0x1)", "PCIE Egress (0x14)"))
    announce(scene, node, at - 0.0002, index)
    lines = [scene.xid(node, at, pci, 95, f"Uncontained: {unit}. RST: Yes, D-RST: No", scene.no_proc())]
    if scene.fleet.driver[:3] in ("570", "580"):
        scene.xid(node, at + 0.01, pci, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    sympathetic(scene, node, at + 0.2, index, 95)
    _ecc_metrics(scene, node, index, at, 95)
    scene.root_ranks.add(rank)
    die(scene, [rank], at + 0.3, ECC)
    return _gpu(scene, "gpu_hardware", ("gpu_hardware",), rank, lines, at)


@shape(
    "row-remap-failure",
    "gpu_memory",
    "gpu_hardware",
    needs="syslog",
    models="A100 H100 H200",
    weight=1.5,
    withhold=True,
    pair=True,
)
def row_remap_failure(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    pci, address = scene.fleet.gpu_of(rank).pci, f"0x{scene.rng.getrandbits(36):016x}"
    announce(scene, node, at - 0.0002, index)
    lines = [
        scene.xid(node, at, pci, 48, "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at "
                  f"physAddr {address} partition 3, subpartition 0.", scene.no_proc()),
        scene.xid(node, at + 0.02, pci, 64, f"Row Remapper Error: ({address}) - All reserved rows for bank are remapped", scene.no_proc()),
    ]  # fmt: skip
    _ecc_metrics(scene, node, index, at, 64)
    scene.shift("DCGM_FI_DEV_ROW_REMAP_FAILURE", node, index, at, 1)
    scene.root_ranks.add(rank)
    die(scene, [rank], at + 0.3, ECC)
    return _gpu(scene, "gpu_hardware", ("gpu_hardware",), rank, lines, at)


@shape(
    "sram-contained",
    "gpu_memory",
    "gpu_hardware",
    needs="syslog",
    models="H100 H200 B200",
    weight=1.5,
    withhold=True,
    pair=True,
)
def sram_contained(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    pci = scene.fleet.gpu_of(rank).pci
    announce(scene, node, at - 0.0002, index)
    lines = [
        scene.xid(node, at, pci, 140, "An uncorrectable ECC error detected (possible firmware handling failure) DRAM:0, LTC:1, MMU:0, PCIE:0", scene.no_proc()),
        scene.xid(node, at + 0.01, pci, 94, "Contained: LTC Data (0x4,0x2). RST: No, D-RST: No", scene.proc(rank)),
    ]  # fmt: skip
    _ecc_metrics(scene, node, index, at, 94)
    scene.root_ranks.add(rank)
    die(scene, [rank], at + 0.2, ECC)
    return _gpu(scene, "gpu_hardware", ("gpu_hardware",), rank, lines, at)


@shape("ecc-in-application-only", "gpu_memory", "gpu_hardware", forbid="syslog metrics", weight=2)
def ecc_in_application_only(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    line = die(scene, [rank], at, ECC)
    return Finding("gpu_hardware", ("gpu_hardware",), (scene.fleet.node_of(rank),), None, None, rank, [line], at)


@shape("off-the-bus", "gpu_compute", "gpu_hardware", needs="syslog", weight=4, withhold=True, pair=True)
def off_the_bus(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    gpu = scene.fleet.gpu_of(rank)
    announce(scene, node, at - 0.0002, index)
    first = scene.xid(node, at, gpu.pci, 79, "GPU has fallen off the bus.", scene.no_proc())
    scene.kernel(
        node,
        at + 0.000004,
        f"NVRM: GPU {gpu.pci}.0: GPU has fallen off the bus.\nNVRM: GPU {gpu.pci}.0: GPU serial number is {gpu.serial}.",
        3,
    )
    if scene.fleet.driver[:3] in ("570", "580"):
        scene.xid(
            node, at + 0.02, gpu.pci, 154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
        )
    if scene.fleet.model in ("A100", "H100", "H200") and scene.fleet.gpus_per_node == 8:
        for switch in range(4):
            link = scene.rng.randrange(64)
            text = f"nvidia-nvswitch{switch}: SXid (PCI:0000:{5 + switch:02x}:00.0): 20034, "
            scene.kernel(node, at + 11.8 + switch * 0.004, text + f"Fatal, Link {link:02d} LTSSM Fault Up", 3)
            scene.kernel(
                node,
                at + 11.801 + switch * 0.004,
                text + f"Severity 1 Engine instance {link:02d} Sub-engine instance 00",
                3,
            )
    scene.kernel(
        node,
        at + 0.1,
        "NVRM: A GPU crash dump has been created. If possible, please run\nNVRM: nvidia-bug-report.sh as root to collect this data before\nNVRM: the NVIDIA kernel module is unloaded.",
        4,
    )
    scene.shift("DCGM_FI_DEV_XID_ERRORS", node, index, at, 79)
    for metric in ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE"):
        scene.shift(metric, node, index, at, float("nan"))
    scene.root_ranks.add(rank)
    _lost(scene, rank, at)
    return _gpu(scene, "gpu_hardware", ("gpu_hardware",), rank, [first], at)


def _lost(scene: Scene, rank: int, at: float) -> None:
    """A rank that lost its GPU fails with one of several errors, or hangs."""
    how = scene.rng.random()
    if how < 0.65:
        message = scene.rng.choice(("unspecified launch failure", "unknown error"))
        die(scene, [rank], at + 1.5, message)
    else:
        cascades.hang(scene, [rank], at)


@shape("pcie-containment", "gpu_compute", "gpu_hardware", needs="syslog", weight=2, withhold=True, pair=True)
def pcie_containment(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    gpu = scene.fleet.gpu_of(rank)
    port = f"pcieport {gpu.pci[:-5]}{int(gpu.pci[-5:-3], 16) - 1:02x}:01.0:"
    if scene.rng.random() < 0.5:
        told = f"{port} DPC: containment event, status:0x1f01 source:0x0000"
        scene.kernel(node, at - 0.05, f"{told}\n{port} DPC: unmasked uncorrectable error detected", 3)
    else:
        told = f"{port} AER: Uncorrected (Fatal) error received: {gpu.pci}.0"
        scene.kernel(node, at - 0.05, told + f"\nnvidia {gpu.pci}.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)\nnvidia {gpu.pci}.0:   device [10de:2330] error status/mask=00000020/00000000\nnvidia {gpu.pci}.0:    [ 5] SDES                   (First)", 3)  # fmt: skip
    scene.kernel(node, at - 0.03, f"{port} pciehp: Slot(5): Link Down", 6)
    line = scene.xid(node, at, gpu.pci, 79, "GPU has fallen off the bus.", scene.no_proc())
    scene.shift("DCGM_FI_DEV_XID_ERRORS", node, index, at, 79)
    scene.shift("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", node, index, at - 60, 40, 310, 2200)
    scene.root_ranks.add(rank)
    _lost(scene, rank, at)
    return _gpu(scene, "gpu_hardware", ("gpu_hardware", "host_hardware"), rank, [told, line], at - 0.05)


@shape("adapter-does-not-initialise", "gpu_compute", "gpu_hardware", needs="syslog applog", phase="launch", weight=1)
def adapter_does_not_initialise(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, _ = _place(scene, rank)
    gpu = scene.fleet.gpu_of(rank)
    told = f"NVRM: GPU {gpu.pci}.0: RmInitAdapter failed! (0x62:0x40:2477)"
    scene.kernel(
        node,
        at - 4,
        f"NVRM: The NVIDIA GPU {gpu.pci}.0\nNVRM: (PCI ID: 10de:2330) installed in this system has\nNVRM: fallen off the bus and is not responding to commands.",
        3,
    )
    scene.kernel(
        node, at - 3.9, f"{told}\nNVRM: GPU {gpu.pci}.0: rm_init_adapter failed, device minor number {gpu.index}", 3
    )
    scene.daemon(node, at - 3.8, "nvidia-persistenced", f"device {gpu.pci}.0 - failed to open.", 3)
    frames = [
        scene.main,
        scene.frame(61, "setup", "torch.cuda.set_device(local_rank)"),
        scene.library("torch/cuda/__init__.py", 420, "set_device", "torch._C._cuda_setDevice(device)"),
    ]
    last = scene.fleet.nodes[node].ranks[-1]
    scene.traceback(
        last,
        at,
        frames,
        "RuntimeError: CUDA error: invalid device ordinal\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        False,
    )
    cascades.crash(scene, [last], at + 0.2, 1, "killed")
    lines = [f"NVRM: The NVIDIA GPU {gpu.pci}.0", "fallen off the bus", told]
    return _gpu(scene, "gpu_hardware", ("gpu_hardware", "gpu_driver"), rank, lines, at - 4)


@shape("thermal-straggler", "slow", "gpu_hardware", needs="applog metrics", weight=1)
def thermal_straggler(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    begin = at - 900
    scene.shift("DCGM_FI_DEV_GPU_TEMP", node, index, begin, 84, 88, 91, 92, 93)
    scene.shift("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", node, index, begin, 72)
    scene.shift("DCGM_FI_DEV_SM_CLOCK", node, index, begin, 1100, 700, 420, 345)
    scene.shift("DCGM_FI_DEV_POWER_USAGE", node, index, begin, 420, 280, 210)
    for minute in range(3):
        scene.log(
            0,
            begin + 200 + minute * 240,
            "WARNING",
            f"step time {21.5 + minute:.1f}s is above 3x the moving average, possible straggler: rank {rank}",
        )
    scene.traceback(
        0,
        at,
        [
            scene.main,
            scene.frame(300, "main", "monitor.check(step_time)"),
            scene.frame(52, "check", "raise RuntimeError(message)", "/data/job/monitor.py"),
        ],
        f"RuntimeError: throughput below 30% of the expected value for 15 minutes, slowest rank {rank}, stopping",
    )
    cascades.crash(scene, [0], at + 0.5, 1, "killed")
    return _gpu(scene, "gpu_hardware", ("gpu_hardware",), rank, [], begin)


@shape("gsp-timeout", "gpu_compute", "gpu_driver", needs="syslog", weight=3, withhold=True, pair=True)
def gsp_timeout(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    pci = scene.fleet.gpu_of(rank).pci
    announce(scene, node, at - 0.0002, index)
    lines = []
    for count in range(scene.rng.randrange(2, 7)):
        function = scene.rng.choice(
            ("103 (GSP_RM_ALLOC) (0x2081 0x4)", "76 (GSP_RM_CONTROL) (0x20800a4c 0x4)", "10 (FREE) (0xa55a0010 0x0)")
        )
        lines.append(
            scene.xid(
                node,
                at + count * 6.1,
                pci,
                119,
                f"Timeout after {45 if count == 0 else 6}s of waiting for RPC response from GPU{index} GSP! Expected function {function}.",
                scene.proc(rank),
            )
        )
    scene.kernel(
        node,
        at + 44,
        f"NVRM: Rate limiting GSP RPC error prints for GPU at PCI:{pci} (printing 1 of every 30).  The GPU likely needs to be reset.",
        4,
    )
    scene.shift("DCGM_FI_DEV_XID_ERRORS", node, index, at, 119)
    for metric in ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE"):
        scene.shift(metric, node, index, at + 30, float("nan"))
    scene.root_ranks.add(rank)
    if scene.rng.random() < 0.5:
        cascades.hang(scene, [rank], at)
    else:
        die(scene, [rank], at + 8, "unspecified launch failure")
    return _gpu(scene, "gpu_driver", ("gpu_driver", "gpu_hardware"), rank, lines[:1], at)


@shape("microcontroller-halt", "gpu_compute", "gpu_driver", needs="syslog", weight=1, withhold=True, pair=True)
def microcontroller_halt(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    pci = scene.fleet.gpu_of(rank).pci
    announce(scene, node, at - 0.0002, index)
    words = " ".join(f"{scene.rng.getrandbits(32):08x}" for _ in range(6))
    line = scene.xid(node, at, pci, 62, f"{words} 00000000 00000000", scene.no_proc())
    sympathetic(scene, node, at + 0.01, index, 62)
    scene.shift("DCGM_FI_DEV_XID_ERRORS", node, index, at, 62)
    scene.root_ranks.add(rank)
    die(scene, [rank], at + 0.6, "unspecified launch failure")
    return _gpu(scene, "gpu_driver", ("gpu_driver", "gpu_hardware"), rank, [line], at)


@shape("driver-library-mismatch", "gpu_compute", "gpu_driver", needs="applog", phase="launch", weight=1)
def driver_library_mismatch(scene: Scene) -> Finding:
    node = scene.fleet.nodes[scene.pick() // scene.fleet.gpus_per_node]
    at = scene.onset
    old, new = scene.fleet.driver, scene.fleet.driver[:-2] + "90"
    line = f"NVRM: API mismatch: the client has the version {new}, but\nNVRM: this kernel module has the version {old}.  Please\nNVRM: make sure that this kernel module and all NVIDIA driver\nNVRM: components have the same version."
    scene.kernel(node.index, at - 1, line, 3)
    told = "Failed to initialize NVML: Driver/library version mismatch"
    scene.agent_raw(node.index, at - 0.5, f"{told}\nNVML library version: {new[:7]}")
    frames = [
        scene.main,
        scene.frame(58, "setup", "torch.cuda.set_device(local_rank)"),
        scene.library("torch/cuda/__init__.py", 420, "set_device", "torch._C._cuda_setDevice(device)"),
        scene.library("torch/cuda/__init__.py", 314, "_lazy_init", "torch._C._cuda_init()"),
    ]
    error = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / cuda driver combination"
    for rank in node.ranks:
        scene.traceback(rank, at + scene.rng.random() * 0.3, frames, error, False)
    cascades.crash(scene, node.ranks, at + 0.5, 1, "killed")
    return Finding(
        "gpu_driver",
        ("gpu_driver", "host_os"),
        (node,),
        None,
        None,
        None,
        [told, "Error 803: system has unsupported display driver", "API mismatch: the client has the version"],
        at - 1,
    )


@shape("driver-too-old", "gpu_compute", "gpu_driver", phase="launch", weight=0.7)
def driver_too_old(scene: Scene) -> Finding:
    node = scene.fleet.nodes[scene.pick() // scene.fleet.gpus_per_node]
    at = scene.onset
    frames = [
        scene.main,
        scene.frame(58, "setup", "torch.cuda.set_device(local_rank)"),
        scene.library("torch/cuda/__init__.py", 319, "_lazy_init", "torch._C._cuda_init()"),
    ]
    told = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
    for rank in node.ranks:
        scene.traceback(
            rank,
            at + scene.rng.random() * 0.3,
            frames,
            told
            + " Please update your GPU driver by downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to install a PyTorch version that has been compiled with your version of the CUDA driver.",
            False,
        )
    cascades.crash(scene, node.ranks, at + 0.5, 1, "killed")
    return Finding("gpu_driver", ("gpu_driver", "user_config"), (node,), None, None, None, [told], at)


@shape("unified-memory-driver-stopped", "gpu_compute", "gpu_driver", needs="syslog", weight=0.7, withhold=True)
def unified_memory_driver_stopped(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, _ = _place(scene, rank)
    told = "uvm encountered global fatal error 0x60, requiring os reboot to recover."
    scene.kernel(node, at, f"nvidia-uvm: {told}" if scene.rng.random() < 0.5 else f"NVRM: {told}", 3)
    scene.root_ranks.update(scene.fleet.nodes[node].ranks)
    die(scene, scene.fleet.nodes[node].ranks, at + 0.5, "unknown error")
    return Finding("gpu_driver", ("gpu_driver",), (scene.fleet.nodes[node],), None, None, None, [told], at)


@shape("mmu-fault-of-own-kernel", "gpu_compute", "user_code", needs="syslog applog", weight=3)
def mmu_fault_of_own_kernel(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    pci = scene.fleet.gpu_of(rank).pci
    engine = scene.rng.choice(("GRAPHICS GPCCLIENT_T1_3", "GRAPHICS GPCCLIENT_T1_0", "GRAPHICS GPCCLIENT_GPCMMU"))
    text = f"intr 00000000. MMU Fault: ENGINE {engine} faulted @ 0x7f{scene.rng.getrandbits(8):02x}_{scene.rng.getrandbits(32):08x}. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    line = scene.xid(node, at, pci, 31, f"Ch 0000000b, {text}", scene.proc(rank))
    scene.xid(node, at + 0.4, pci, 43, "Ch 0000000b", scene.proc(rank))
    scene.shift("DCGM_FI_DEV_XID_ERRORS", node, index, at, 43)
    frames = [
        scene.main,
        scene.frame(144, "main", "loss = model(batch)"),
        scene.frame(
            77, "forward", "out = fused_scatter.forward(x, index, self.buffer)", "/data/job/ops/fused_scatter.py"
        ),
    ]
    scene.traceback(
        rank,
        at + 0.5,
        frames,
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
        + "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    )
    scene.root_ranks.add(rank)
    cascades.crash(scene, [rank], at + 0.7, 1)
    found = _gpu(
        scene,
        "user_code",
        ("user_code", "framework", "ambiguous"),
        rank,
        [line, "an illegal memory access was encountered"],
        at,
    )
    found.exclude = ()
    found.rank = rank
    return found


@shape(
    "reset-required-at-start",
    "gpu_compute",
    "gpu_hardware",
    needs="syslog applog",
    phase="launch",
    models="H100 H200 B200 GB200",
    weight=0.7,
)
def reset_required_at_start(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = _place(scene, rank)
    pci = scene.fleet.gpu_of(rank).pci
    announce(scene, node, at - 0.001, index)
    line = scene.xid(node, at, pci, 95, "Uncontained: FBHUB (0x8). RST: Yes, D-RST: No")
    scene.xid(node, at + 0.01, pci, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    cuda_error(scene, rank, at + 0.4, ECC, False)
    scene.root_ranks.add(rank)
    cascades.crash(scene, [rank], at + 0.8, 1, "killed")
    return _gpu(scene, "gpu_hardware", ("gpu_hardware",), rank, [line], at)


@shape("gpu-lost-seen-by-tools", "gpu_compute", "gpu_hardware", forbid="syslog metrics", weight=1)
def gpu_lost_seen_by_tools(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, gpu = scene.fleet.node_of(rank), scene.fleet.gpu_of(rank)
    told = f"Unable to determine the device handle for GPU{gpu.index}: {gpu.pci}.0: GPU is lost.  Reboot the system to recover this GPU"
    line = cuda_error(scene, rank, at, "unspecified launch failure", False)
    scene.agent_raw(node.index, at + 0.2, f"running nvidia-smi after the failure of a rank\n{told}")
    cascades.crash(scene, [rank], at + 0.4, 1)
    return Finding(
        "gpu_hardware", ("gpu_hardware",), (node,), None, {"kind": "gpu", "pci": gpu.pci}, None, [told, line], at
    )


@shape("replicas-disagree", "slow", "gpu_hardware", forbid="syslog metrics", weight=1)
def replicas_disagree(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    told = f"parameter checksum mismatch: rank {rank} differs from all other replicas at the same step, suspected silent data corruption"
    scene.log(rank, at - 1, "ERROR", told)
    frames = [
        scene.main,
        scene.frame(201, "main", "verify_replicas(model)"),
        scene.frame(33, "verify_replicas", "raise RuntimeError(message)", "/data/job/verify.py"),
    ]
    scene.traceback(rank, at, frames, f"RuntimeError: {told}")
    cascades.crash(scene, [rank], at + 0.4, 1)
    return Finding(
        "gpu_hardware",
        ("gpu_hardware", "ambiguous", "insufficient_evidence", "user_code"),
        (scene.fleet.node_of(rank),),
        None,
        None,
        rank,
        [told],
        at - 1,
    )
