"""The machines of one attempt: nodes, GPUs, NICs, racks and clocks, and the versions of what runs on them."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

MODELS = {
    "A100": ("NVIDIA A100-SXM4-80GB", 8, (0x07, 0x0B, 0x48, 0x4C, 0x88, 0x8B, 0xC8, 0xCB), ("535.161.08", "550.90.07")),
    "H100": (
        "NVIDIA H100 80GB HBM3",
        8,
        (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB),
        ("535.183.06", "550.127.08", "570.86.15"),
    ),
    "H200": ("NVIDIA H200", 8, (0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF), ("550.144.03", "570.124.06")),
    "B200": ("NVIDIA B200", 8, (0x17, 0x3D, 0x60, 0x70, 0x98, 0xBB, 0xDD, 0xED), ("570.158.01", "580.65.06")),
    "GB200": ("NVIDIA GB200", 4, (0x08, 0x09, 0x18, 0x19), ("570.133.20", "580.82.07")),
}
NAMES: tuple[Callable[[int, int], str], ...] = (
    lambda i, n: f"node-{i + 1:0{max(2, len(str(n)))}d}",
    lambda i, n: f"gpu{i + 1:0{max(3, len(str(n)))}d}",
    lambda i, n: f"gn-{i // 16 + 1:02d}-{i % 16 + 1:02d}",
    lambda i, n: f"ip-10-0-{i // 200 + 1}-{i % 200 + 10}",
    lambda i, n: f"dgx-{i + 101}",
)


@dataclass(frozen=True)
class Gpu:
    """One GPU. `pci` is as Xid lines print it, without the function digit."""

    index: int
    pci: str
    uuid: str
    serial: str


@dataclass(frozen=True)
class Nic:
    """One port of one adapter that the job's traffic uses."""

    name: str
    netdev: str
    pci: str


@dataclass(frozen=True)
class Node:
    """One machine. `skew` is how many seconds its clock is ahead of the truth; `booted` is true time."""

    index: int
    name: str
    address: str
    rack: str
    skew: float
    booted: float
    ranks: tuple[int, ...]
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]


@dataclass(frozen=True)
class Fleet:
    """All nodes of an attempt and what they have in common. `zone` is what stamps without an offset are written in."""

    model: str
    product: str
    driver: str
    kernel: str
    roce: bool
    zone: timezone
    nodes: tuple[Node, ...]

    @property
    def gpus_per_node(self) -> int:
        return len(self.nodes[0].gpus)

    @property
    def ranks(self) -> int:
        return len(self.nodes) * self.gpus_per_node

    def node_of(self, rank: int) -> Node:
        return self.nodes[rank // self.gpus_per_node]

    def gpu_of(self, rank: int) -> Gpu:
        return self.node_of(rank).gpus[rank % self.gpus_per_node]

    def wall(self, node: Node, at: float) -> datetime:
        """What that node's clock shows at a true time, in the site's zone."""
        return datetime.fromtimestamp(at + node.skew, self.zone)

    def rack_of(self, node: Node) -> tuple[Node, ...]:
        return tuple(other for other in self.nodes if other.rack == node.rack)


def utc(at: float) -> datetime:
    """A true time as a moment."""
    return datetime.fromtimestamp(at, UTC)


def iso(moment: datetime, digits: int = 3) -> str:
    """A moment in ISO form with the offset, `Z` for UTC."""
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    if digits:
        text += "." + f"{moment.microsecond:06d}"[:digits]
    offset = moment.utcoffset() or timedelta()
    if not offset:
        return text + "Z"
    minutes = int(offset.total_seconds()) // 60
    return f"{text}{'+' if minutes >= 0 else '-'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def build(rng: random.Random, size: int, start: float, models: tuple[str, ...] = tuple(MODELS)) -> Fleet:
    """A fleet of so many nodes, of one of those GPU models."""
    weights = {"A100": 25, "H100": 40, "H200": 12, "B200": 13, "GB200": 10}
    model = rng.choices(models, [weights[name] for name in models])[0]
    product, width, buses, drivers = MODELS[model]
    if width == 8 and rng.random() < 0.12:
        width = 4
    zone = UTC if rng.random() < 0.88 else timezone(timedelta(hours=rng.choice((-7, -5, 1, 2, 8, 9))))
    name, roce = rng.choice(NAMES), rng.random() < 0.3
    per_rack = rng.choice((4, 8, 16)) if model != "GB200" else 18
    nodes = tuple(
        Node(
            index,
            name(index, size),
            f"10.1.{index // 200}.{index % 200 + 11}",
            f"rack-{index // per_rack + 1:02d}",
            _skew(rng),
            start - rng.uniform(2, 60) * 86400,
            tuple(range(index * width, (index + 1) * width)),
            tuple(_gpu(rng, k, buses[k], model) for k in range(width)),
            tuple(_nic(k, buses[k], model, roce) for k in range(width)),
        )
        for index in range(size)
    )
    kernel = rng.choice(("5.15.0-113-generic", "5.14.0-427.el9.x86_64", "6.8.0-45-generic", "5.15.0-1063-nvidia"))
    return Fleet(model, product, rng.choice(drivers), kernel, roce, zone, nodes)


def _skew(rng: random.Random) -> float:
    if rng.random() < 0.015:
        return rng.choice((-1, 1)) * rng.uniform(25, 35)
    return max(-1.5, min(1.5, rng.gauss(0, 0.35)))


def _gpu(rng: random.Random, index: int, bus: int, model: str) -> Gpu:
    pci = f"{bus:04x}:01:00" if model == "GB200" else f"0000:{bus:02x}:00"
    bits = f"{rng.getrandbits(128):032x}"
    uuid = f"GPU-{bits[:8]}-{bits[8:12]}-{bits[12:16]}-{bits[16:20]}-{bits[20:]}"
    return Gpu(index, pci, uuid, f"16{rng.randrange(10**11):011d}")


def _nic(index: int, bus: int, model: str, roce: bool) -> Nic:
    pci = f"{bus:04x}:03:00.0" if model == "GB200" else f"0000:{(bus + 3) & 0xFF:02x}:00.0"
    netdev = f"ens{10 + index * 2}np0" if roce else f"ibp{(bus + 3) & 0xFF}s0"
    return Nic(f"mlx5_{index}", netdev, pci)
