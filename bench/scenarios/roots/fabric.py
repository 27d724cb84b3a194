"""NVLink, NVSwitch, fabric manager."""

from bench.scenarios import cascades
from bench.scenarios.roots.common import announce, die
from bench.scenarios.scene import Scene
from bench.scenarios.shapes import shape
from bench.scenarios.truth import Finding

WORDS = " 0x00000000" * 4


@shape(
    "nvlink-fatal",
    "nvlink",
    "nvlink_fabric",
    needs="syslog",
    models="A100 H100 H200",
    weight=3,
    withhold=True,
    pair=True,
)
def nvlink_fatal(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, gpu = scene.fleet.node_of(rank), scene.fleet.gpu_of(rank)
    link = scene.rng.randrange(12)
    announce(scene, node.index, at - 0.0002, gpu.index)
    words = scene.rng.choice(
        (
            "0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0",
            "0x0, 0x20, 0x0, 0x0, 0x0, 0x0, 0x0",
            "0x0, 0x0, 0x0, 0x100000, 0x0, 0x0, 0x0",
        )
    )
    line = scene.xid(
        node.index, at, gpu.pci, 74, f"NVLink: fatal error detected on link {link}({words})", scene.no_proc()
    )
    scene.shift("DCGM_FI_DEV_XID_ERRORS", node.index, gpu.index, at, 74)
    scene.shift(
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", node.index, gpu.index, at - 240, 12, 180, 950, 4100, 9000
    )
    if scene.rng.random() < 0.5:
        port = scene.rng.randrange(64)
        scene.kernel(
            node.index,
            at + 0.003,
            f"nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034, Fatal, Link {port:02d} LTSSM Fault Up\nnvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034, Severity 1 Engine instance {port:02d} Sub-engine instance 00",
            3,
        )
        scene.fabric[node.index].append(
            (
                at + 0.4,
                "ERROR",
                f"detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:07:00.0 physical id 2 port {port}",
            )
        )
    scene.root_ranks.add(rank)
    if scene.rng.random() < 0.5:
        die(scene, [rank], at + 0.4, "unspecified launch failure")
    else:
        cascades.hang(scene, [rank], at)
    return Finding(
        "nvlink_fabric",
        ("nvlink_fabric",),
        (node,),
        None,
        {"kind": "nvlink", "pci": gpu.pci, "link": str(link)},
        None,
        [line],
        at,
    )


@shape(
    "nvswitch-fatal",
    "nvlink",
    "nvlink_fabric",
    needs="syslog",
    models="A100 H100 H200",
    weight=2,
    withhold=True,
    pair=True,
)
def nvswitch_fatal(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    switch, port = scene.rng.randrange(4), scene.rng.randrange(64)
    code, text = scene.rng.choice(
        (
            (19015, "NVLTLC RX Ctrl Parity Error"),
            (19004, "NVLTLC TX DLCREDITPARITY error"),
            (12021, "ingress request context mismatch error"),
        )
    )
    head = f"nvidia-nvswitch{switch}: SXid (PCI:0000:{5 + switch:02x}:00.0): {code}, "
    told = f"{head}Fatal, Link {port:02d} {text} (First)"
    scene.kernel(node.index, at, told, 3)
    scene.kernel(
        node.index,
        at + 0.0001,
        f"{head}Severity 1 Engine instance {port:02d} Sub-engine instance 00\n{head}Data {{0x00000400, 0x00000400, 0x00000000, 0x00000400, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000}}",
        3,
    )
    scene.fabric[node.index].append(
        (
            at + 0.2,
            "ERROR",
            f"detected NVSwitch fatal error {code} on fid 0 on NVSwitch pci bus id 00000000:{5 + switch:02x}:00.0 physical id {switch} port {port}",
        )
    )
    for gpu in node.gpus:
        if scene.rng.random() < 0.7:
            scene.xid(
                node.index,
                at + 0.01 + gpu.index * 0.0004,
                gpu.pci,
                74,
                f"NVLink: fatal error detected on link {scene.rng.randrange(12)}(0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
                scene.no_proc(),
            )
            scene.shift("DCGM_FI_DEV_XID_ERRORS", node.index, gpu.index, at, 74)
    scene.root_ranks.update(node.ranks)
    die(scene, node.ranks, at + 0.4, "unspecified launch failure")
    return Finding("nvlink_fabric", ("nvlink_fabric",), (node,), None, None, None, [told], at)


@shape(
    "nvlink5-fatal", "nvlink", "nvlink_fabric", needs="syslog", models="B200 GB200", weight=4, withhold=True, pair=True
)
def nvlink5_fatal(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, gpu = scene.fleet.node_of(rank), scene.fleet.gpu_of(rank)
    link = scene.rng.randrange(18)
    old = scene.fleet.driver < "575"
    word = (4 << 20) | (1 << 18) | (link << 13) | (1 << 10) | (14 << 5) | 6 if old else (4 << 20) | (1 << 7) | 17
    announce(scene, node.index, at - 0.0002, gpu.index)
    unit = "NETIR_LINK_EVT  Fatal  " if old else "NETIR_LINK_DOWN Fatal  "
    line = scene.xid(node.index, at, gpu.pci, 149, f"{unit} XC0 i0 Link {link:02d} (0x{word:08x} 0x00000000{WORDS})")
    scene.xid(
        node.index, at + 0.001, gpu.pci, 154, "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"
    )
    for other in node.gpus:
        local = node.ranks[other.index]
        if other is not gpu:
            head = f"{scene.proc(local)}RLW_RXPIPE Nonfatal XC0 i0 Link {scene.rng.randrange(18):02d} "
            scene.xid(
                node.index,
                at + 0.02 + other.index * 0.001,
                other.pci,
                145,
                head + "(0x000820c2 0x00000008 0x00000000 0x00000000 0x00000000 0x00000000)",
            )
        for channel in range(3):
            text = f"Ch {channel + 1:08x} caused by previous Xid {149 if other is gpu else 145}"
            scene.xid(
                node.index, at + 0.28 + channel * 0.001 + other.index * 0.003, other.pci, 45, text, scene.proc(local)
            )
        scene.shift("DCGM_FI_DEV_XID_ERRORS", node.index, other.index, at, 149 if other is gpu else 45)
    scene.xid(
        node.index,
        at + 0.41,
        gpu.pci,
        154,
        "GPU recovery action changed from 0x4 (Drain and Reset) to 0x1 (GPU Reset Required)",
    )
    scene.root_ranks.update(node.ranks)
    die(scene, node.ranks, at + 0.5, "Invalid access of peer GPU memory over nvlink or a hardware error")
    return Finding(
        "nvlink_fabric",
        ("nvlink_fabric",),
        (node,),
        None,
        {"kind": "nvlink", "pci": gpu.pci, "link": str(link)},
        None,
        [line],
        at,
    )


@shape(
    "fabric-manager-not-running",
    "nvlink",
    "nvlink_fabric",
    needs="applog fabric_manager",
    phase="launch",
    models="A100 H100 H200",
    weight=1.5,
)
def fabric_manager_not_running(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    told = "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager"
    scene.fabric[node.index].append((at - 400, "INFO", "Connected to 1 node."))
    scene.fabric[node.index].append((at - 380, "ERROR", told))
    scene.daemon(node.index, at - 380, "nv-fabricmanager", told, 3)
    scene.daemon(
        node.index,
        at - 379,
        "systemd",
        "nvidia-fabricmanager.service: Main process exited, code=exited, status=1/FAILURE",
        4,
        1,
    )
    scene.daemon(node.index, at - 378, "systemd", "nvidia-fabricmanager.service: Failed with result 'exit-code'.", 4, 1)
    frames = [
        scene.main,
        scene.frame(58, "setup", "torch.cuda.set_device(local_rank)"),
        scene.library("torch/cuda/__init__.py", 314, "_lazy_init", "torch._C._cuda_init()"),
    ]
    error = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 802: system not yet initialized"
    for rank in node.ranks:
        scene.traceback(rank, at + scene.rng.random() * 0.3, frames, error, False)
    cascades.crash(scene, node.ranks, at + 0.5, 1, "killed")
    return Finding(
        "nvlink_fabric",
        ("nvlink_fabric",),
        (node,),
        None,
        None,
        None,
        [told, "Error 802: system not yet initialized"],
        at - 380,
    )


@shape(
    "multicast-bind-fails",
    "nvlink",
    "nvlink_fabric",
    needs="applog fabric_manager",
    phase="launch",
    models="H100 H200",
    weight=1.2,
)
def multicast_bind_fails(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    handle = scene.rng.getrandbits(62)
    told = f"failed to find the GPU handle {handle} in the multicast team request setup {scene.rng.getrandbits(62)}."
    scene.fabric[node.index].append((at - 0.2, "ERROR", told))
    where = "transport/nvls.cc:244" if scene.job.torch_minor < 6 else "transport/nvls.cc:310"
    for rank in node.ranks:
        scene.nccl(rank, at, where, "NCCL WARN Cuda failure 1 'invalid argument'"[10:])
        frames = [
            scene.main,
            scene.frame(70, "setup", "dist.barrier()"),
            scene.library("torch/distributed/c10d_logger.py", 83, "wrapper", "return func(*args, **kwargs)"),
            scene.library("torch/distributed/distributed_c10d.py", 4159, "barrier", "work = group.barrier(opts=opts)"),
        ]
        scene.traceback(
            rank,
            at + 0.1 + scene.rng.random() * 0.1,
            frames,
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version "
            f"{scene.job.nccl}\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 1 'invalid argument'",
        )
    cascades.crash(scene, node.ranks, at + 0.5, 1, "killed")
    return Finding(
        "nvlink_fabric",
        ("nvlink_fabric",),
        (node,),
        None,
        None,
        None,
        [told, "Cuda failure 1 'invalid argument'"],
        at - 0.2,
    )
