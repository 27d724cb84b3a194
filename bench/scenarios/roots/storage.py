"""Shared and parallel file systems and object stores."""

from bench.scenarios import cascades
from bench.scenarios.scene import Scene
from bench.scenarios.shapes import shape
from bench.scenarios.truth import Finding

STORAGE = ("storage",)


def _save(scene: Scene) -> list[tuple[str, int, str, str]]:
    return [
        scene.main,
        scene.frame(231, "main", "save_checkpoint(state, path)"),
        scene.library("torch/serialization.py", 850, "save", "with _open_zipfile_writer(f) as opened_zipfile:"),
        scene.library("torch/serialization.py", 690, "__exit__", "self.file_like.write_end_of_file()"),
    ]


def _load(scene: Scene) -> list[tuple[str, int, str, str]]:
    return [
        scene.main,
        scene.frame(160, "main", "for batch in loader:"),
        scene.library("torch/utils/data/dataloader.py", 631, "__next__", "data = self._next_data()"),
        scene.frame(48, "__getitem__", "blob = handle.read(size)", "/data/job/data.py"),
    ]


@shape("lustre-evicts-client", "storage", "storage", needs="syslog applog", weight=2, pair=True)
def lustre_evicts(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    scene.kernel(
        node.index,
        at - 100,
        "Lustre: scratch-OST0012-osc-ffff9a1c42d8e000: Connection to scratch-OST0012 (at 10.9.1.12@o2ib) was lost; in progress operations using this service will wait for recovery to complete",
        4,
    )
    told = "LustreError: scratch-OST0012-osc-ffff9a1c42d8e000: This client was evicted by scratch-OST0012; in progress operations using this service will fail."
    scene.kernel(node.index, at, told, 3)
    scene.kernel(
        node.index,
        at + 1,
        "Lustre: scratch-OST0012-osc-ffff9a1c42d8e000: Connection restored to 10.9.1.12@o2ib (at 10.9.1.12@o2ib)",
        4,
    )
    error = scene.rng.choice(
        ("OSError: [Errno 5] Input/output error", "OSError: [Errno 108] Cannot send after transport endpoint shutdown")
    )
    line = f"{error}: '/scratch/ckpt/step_41000/shard_{rank:05d}.pt'"
    scene.traceback(rank, at + 0.3, _save(scene), line)
    scene.root_ranks.add(rank)
    cascades.crash(scene, [rank], at + 0.5, 1)
    return Finding("storage", STORAGE, (node,), None, None, rank, [told, line], at)


@shape("nfs-server-hangs", "storage", "storage", needs="syslog applog", weight=2)
def nfs_server_hangs(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    hit = [node] if scene.rng.random() < 0.5 else list(scene.fleet.nodes)
    told = "nfs: server 10.9.1.5 not responding, still trying"
    for place in hit:
        begin = at + scene.rng.random() * 8
        scene.kernel(place.index, begin, told, 4)
        scene.kernel(
            place.index,
            begin + 130,
            f'INFO: task python3:{scene.pid(place.ranks[0])} blocked for more than 120 seconds.\n      Tainted: P           OE     {scene.fleet.kernel}\n"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.\ntask:python3         state:D stack:    0 pid:{scene.pid(place.ranks[0])} ppid:     1 flags:0x00000004\nCall Trace:\n <TASK>\n __schedule+0x2cd/0x890\n nfs_wb_all+0x25/0x130 [nfs]\n nfs4_file_flush+0x7f/0xb0 [nfsv4]',
            3,
        )
    scene.root_ranks.add(rank)
    cascades.hang(scene, hit[0].ranks, at)
    return Finding("storage", STORAGE, tuple(hit), tuple(hit), None, None, [told], at)


@shape("nfs-soft-mount-times-out", "storage", "storage", needs="syslog applog", weight=1.2, pair=True)
def nfs_soft(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    told = "nfs: server 10.9.1.5 not responding, timed out"
    scene.kernel(node.index, at, told, 4)
    line = "OSError: [Errno 5] Input/output error"
    scene.traceback(rank, at + 0.2, _load(scene), line)
    cascades.crash(scene, [rank], at + 0.4, 1)
    return Finding("storage", STORAGE, (node,), None, None, rank, [told, line], at)


@shape("shared-volume-full", "storage", "storage", weight=1.5)
def shared_volume_full(scene: Scene) -> Finding:
    at = scene.onset
    ranks = range(0, scene.fleet.ranks, scene.fleet.gpus_per_node)
    line = "OSError: [Errno 28] No space left on device: '/shared/ckpt/iter_0042000/mp_rank_"
    for rank in ranks:
        scene.traceback(rank, at + scene.rng.random(), _save(scene), f"{line}{rank:02d}.pt'")
    cascades.crash(scene, list(ranks), at + 1.1, 1, "killed")
    return Finding("storage", ("storage", "resource_limit"), (), (), None, None, [line], None)


@shape("read-only-file-system", "storage", "storage", weight=1)
def read_only(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    line = "OSError: [Errno 30] Read-only file system: '/shared/ckpt/latest.tmp'"
    scene.traceback(rank, at, _save(scene), line)
    cascades.crash(scene, [rank], at + 0.3, 1)
    node = scene.fleet.node_of(rank)
    return Finding("storage", STORAGE, (node,), (node,), None, rank, [line], at)


@shape("stale-handle", "storage", "storage", weight=1)
def stale_handle(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    line = "OSError: [Errno 116] Stale file handle: '/shared/cache/triton/b1f3c0/kernel.json'"
    scene.traceback(rank, at, _load(scene), line)
    cascades.crash(scene, [rank], at + 0.3, 1)
    node = scene.fleet.node_of(rank)
    return Finding("storage", STORAGE, (node,), (node,), None, rank, [line], at)


@shape("mount-daemon-died", "storage", "storage", weight=0.8)
def mount_daemon_died(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    line = "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/objects/train/part-00017.parquet'"
    scene.traceback(rank, at, _load(scene), line)
    cascades.crash(scene, [rank], at + 0.3, 1)
    node = scene.fleet.node_of(rank)
    return Finding("storage", STORAGE, (node,), (node,), None, rank, [line], at)


@shape("object-store-slow-down", "storage", "storage", weight=1.2)
def object_store(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    for attempt in range(1, 5):
        scene.log(
            rank,
            at - 60 + attempt * 12,
            "WARNING",
            f"read of s3://corpus/shard-{rank:05d}.tar failed, retrying ({attempt}/5)",
        )
    line = scene.rng.choice((
        "botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 4): Please reduce your request rate.",
        "botocore.exceptions.ClientError: An error occurred (503) when calling the HeadObject operation (reached max retries: 4): Service Unavailable",
        "botocore.exceptions.ClientError: An error occurred (InternalError) when calling the GetObject operation (reached max retries: 4): We encountered an internal error. Please try again.",
    ))  # fmt: skip
    frames = [
        scene.main,
        scene.frame(160, "main", "for batch in loader:"),
        scene.library(
            "botocore/client.py", 1017, "_make_api_call", "raise error_class(parsed_response, operation_name)"
        ),
    ]
    scene.traceback(rank, at, frames, line)
    cascades.crash(scene, [rank], at + 0.3, 1)
    return Finding("storage", ("storage", "external_service"), (scene.fleet.node_of(rank),), (), None, rank, [line], at)
