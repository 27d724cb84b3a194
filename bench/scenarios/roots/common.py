"""Pieces that several roots print."""

from collections.abc import Iterable

from bench.scenarios import cascades
from bench.scenarios.scene import Scene

ASYNC_ADVICE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)


def step_frames(scene: Scene) -> list[tuple[str, int, str, str]]:
    """Frames of a training step in the job's own code and in the library."""
    line = scene.job.number % 90
    return [
        scene.main,
        scene.frame(line + 140, "main", "train_epoch(model, loader, optimizer)"),
        scene.frame(line + 88, "train_epoch", "loss.backward()"),
        scene.library("torch/_tensor.py", 525, "backward", "torch.autograd.backward("),
        scene.library("torch/autograd/__init__.py", 267, "backward", "_engine_run_backward("),
    ]


def cuda_error(scene: Scene, rank: int, at: float, message: str, by_watchdog: bool | None = None) -> str:
    """A rank dies of an error of the CUDA runtime; the telling line comes back."""
    if by_watchdog is None:
        by_watchdog = scene.rng.random() < 0.35
    if by_watchdog:
        minor = scene.job.torch_minor
        tag = f"[Rank {rank}]" if minor < 4 else f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
        head = f"{tag} Process group watchdog thread terminated with exception: CUDA error: {message}"
        where = (
            f"\n{ASYNC_ADVICE}\nException raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:43 "
            "(most recent call first):\n" + cascades.FRAMES[0].format(home=scene.job.torch_home)
        )
        scene.c10d(rank, at, "E", 1182 if minor < 4 else 1895, head + where)
        scene.raw(
            rank,
            at + 0.01,
            f"terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  {head}{where}",
        )
        return f"CUDA error: {message}"
    scene.traceback(rank, at, step_frames(scene), f"RuntimeError: CUDA error: {message}\n{ASYNC_ADVICE}")
    return f"CUDA error: {message}"


def die(scene: Scene, ranks: Iterable[int], at: float, message: str, spread: float = 0.3) -> str:
    """Ranks die of a CUDA error, and the job follows."""
    ranks = list(ranks)
    by_watchdog = scene.rng.random() < 0.35
    for rank in ranks:
        line = cuda_error(scene, rank, at + scene.rng.random() * spread, message, by_watchdog)
    cascades.crash(scene, ranks, at + spread + 0.1, -6 if by_watchdog else 1)
    return line


def sympathetic(scene: Scene, node: int, at: float, first: int, previous: int | None = None) -> None:
    """Channels of a GPU are torn down after an earlier fault."""
    place = scene.fleet.nodes[node]
    gpu = place.gpus[first]
    modern = scene.fleet.driver.startswith(("570", "580"))
    for channel in range(scene.rng.randrange(2, 7)):
        suffix = f" caused by previous Xid {previous}" if modern and previous else ""
        scene.xid(
            node, at + channel * 0.002, gpu.pci, 45, f"Ch {channel + 8:08x}{suffix}", scene.proc(place.ranks[first])
        )


def announce(scene: Scene, node: int, at: float, index: int) -> None:
    """Before its first Xid the driver prints which GPU sits at the address."""
    gpu = scene.fleet.nodes[node].gpus[index]
    scene.kernel(node, at, f"NVRM: GPU at PCI:{gpu.pci}: {gpu.uuid}\nNVRM: GPU Board Serial Number: {gpu.serial}", 5)
