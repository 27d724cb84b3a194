"""NICs, ports, cables and switches of the fabric that the job's traffic uses."""

from bench.scenarios import cascades
from bench.scenarios.fleet import Nic, Node
from bench.scenarios.scene import Scene
from bench.scenarios.shapes import shape
from bench.scenarios.truth import Finding

NETWORK = ("network_fabric",)


def _completion(scene: Scene, rank: int, at: float, peer: int) -> str:
    """A rank's work request to a peer ran out of retries."""
    node, other = scene.fleet.node_of(rank), scene.fleet.node_of(peer)
    local = rank % scene.fleet.gpus_per_node
    port = 30000 + (peer * 131 + rank) % 29000
    if scene.fleet.roce:
        gids = f"localGid ::ffff:{node.address} remoteGids::ffff:{other.address}"
    else:
        gids = f"localGid fe80::a288:c203:{rank:04x}:1 remoteGids fe80::a288:c203:{peer:04x}:1"
    if scene.job.torch_minor < 2:
        text = f"NET/IB : Got completion from peer {other.address}<{port}> with error 12, opcode 0, len 0, vendor err 129 (Recv)"
        scene.nccl(rank, at, "transport/net_ib.cc:1300", text)
    elif scene.job.torch_minor < 7:
        text = f"NET/IB: Got completion from peer {other.address}<{port}> with status=12 opcode=0 len=0 vendor err 129 (Recv) {gids} hca mlx5_{local}"
        scene.nccl(rank, at, "transport/net_ib.cc:1741", text)
    else:
        text = f"NET/IB: Got completion from peer {other.address}<{port}> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 req_type=Recv {gids} hca mlx5_{local}"
        scene.nccl(rank, at, "transport/net_ib.cc:2118", text)
    return text


def peers_fail(scene: Scene, node: Node, rank: int, at: float, count: int = 3) -> str:
    """Ranks of other nodes that talk to a rank see retries run out, then the job ends."""
    rng, fleet = scene.rng, scene.fleet
    local = rank % fleet.gpus_per_node
    others = [other.ranks[local] for other in fleet.nodes if other is not node]
    hit = sorted(rng.sample(others, min(len(others), count)))
    after = at + rng.uniform(3, 20)
    line = ""
    for peer in hit:
        line = _completion(scene, peer, after, rank)
        cascades.async_error(scene, peer, after + 0.2, line)
    _completion(scene, rank, after + 0.4, hit[0])
    cascades.async_error(scene, rank, after + 0.6, f"NET/IB: Got completion from peer {fleet.node_of(hit[0]).address}")
    cascades.crash(scene, [*hit, rank], after + 1, -6, "killed")
    return line


def _down(scene: Scene, node: Node, nic: Nic, at: float, text: str = "Link down") -> str:
    line = f"mlx5_core {nic.pci} {nic.netdev}: {text}"
    scene.kernel(node.index, at, line, 6)
    return line


def port_metrics(scene: Scene, node: Node, index: int, at: float) -> None:
    """The counters of a port that goes down, after errors on it."""
    scene.shift("node_infiniband_link_downed_total", node.index, index, at, 1)
    scene.shift("node_infiniband_state_id", node.index, index, at, 1)
    scene.shift("node_infiniband_link_error_recovery_total", node.index, index, at - 60, 1, 2, 3)
    scene.shift("node_infiniband_port_errors_received_total", node.index, index, at - 60, 120, 250)


def _finding(
    scene: Scene, node: Node, nic: Nic, lines: list[str], at: float, accept: tuple[str, ...] = NETWORK
) -> Finding:
    device: dict[str, object] = {"kind": "nic", "pci": nic.pci, "nic": nic.name}
    return Finding("network_fabric", accept, (node,), None, device, None, lines, at)


@shape("port-down", "network", "network_fabric", needs="syslog applog", weight=4, withhold=False, pair=True)
def port_down(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = scene.fleet.node_of(rank), rank % scene.fleet.gpus_per_node
    nic = node.nics[index]
    lines = [_down(scene, node, nic, at)]
    if scene.fleet.roce and scene.rng.random() < 0.4:
        scene.kernel(
            node.index, at + 0.1, f"bond{index}: (slave {nic.netdev}): link status definitely down, disabling slave", 4
        )
    if scene.rng.random() < 0.6:
        told = f"NET/IB : {nic.name}:1 Got async event : port error"
        scene.nccl(
            rank, at + 0.01, "transport/net_ib.cc:93" if scene.job.torch_minor < 5 else "transport/net_ib.cc:207", told
        )
        lines.append(told)
    if scene.rng.random() < 0.5:
        _down(scene, node, nic, at + scene.rng.uniform(30, 90), "Link up")
    port_metrics(scene, node, index, at)
    peers_fail(scene, node, rank, at)
    return _finding(scene, node, nic, lines, at)


@shape("cable-unplugged-or-hot", "network", "network_fabric", needs="syslog applog", weight=2, pair=True)
def cable(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = scene.fleet.node_of(rank), rank % scene.fleet.gpus_per_node
    nic = node.nics[index]
    text = scene.rng.choice(
        (
            "Port module event: module 0, Cable unplugged",
            "Port module event[error]: module 0, Cable error, High Temperature",
            "Port module event[error]: module 0, Cable error, Bad or shorted cable/module",
        )
    )
    head = f"mlx5_core {nic.pci}: " + ("mlx5_port_module_event:1131:(pid 0): " if "error" in text else "")
    scene.kernel(node.index, at, head + text, 4)
    down = _down(scene, node, nic, at + 0.3)
    port_metrics(scene, node, index, at)
    peers_fail(scene, node, rank, at + 0.3)
    return _finding(scene, node, nic, [head + text, down], at)


@shape("nic-firmware-dead", "network", "network_fabric", needs="syslog applog", weight=2, pair=True)
def nic_firmware_dead(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = scene.fleet.node_of(rank), rank % scene.fleet.gpus_per_node
    nic = node.nics[index]
    head = f"mlx5_core {nic.pci}: "
    if scene.rng.random() < 0.5:
        lines = [f"{head}poll_health:781:(pid 0): Fatal error 1 detected"]
        scene.kernel(node.index, at, lines[0], 3)
        scene.kernel(
            node.index,
            at + 0.1,
            f"{head}print_health_info:418:(pid 0): Health issue observed, unrecoverable hardware error, severity(3) ERROR:\n{head}print_health_info:423:(pid 0): assert_var[0] 0x0000002b\n{head}print_health_info:436:(pid 0): synd 0x8: unrecoverable hardware error\n{head}print_health_info:438:(pid 0): ext_synd 0x8b21",
            3,
        )
    else:
        lines = [f"{head}poll_health:805:(pid 0): device's health compromised - reached miss count"]
        scene.kernel(node.index, at, lines[0], 3)
        scene.kernel(
            node.index,
            at + 60,
            f"{head}wait_func:1178:(pid 4120): QUERY_VPORT_COUNTER(0x770) timeout. Will cause a leak of a command resource",
            3,
        )
    scene.kernel(
        node.index,
        at + 1,
        f"{head}mlx5_health_try_recover:331:(pid 902): handling bad device here\n{head}mlx5_error_sw_reset:231:(pid 902): start",
        3,
    )
    port_metrics(scene, node, index, at)
    told = (
        f"NET/IB : {nic.name}:1 Got async fatal event: device fatal error"
        if scene.job.torch_minor > 4
        else "NET/IB : Got async event : device fatal error"
    )
    scene.nccl(rank, at + 0.2, "transport/net_ib.cc:93", told)
    peers_fail(scene, node, rank, at)
    return _finding(scene, node, nic, lines, at)


@shape("leaf-switch-lost", "network", "network_fabric", needs="syslog applog", weight=1.2)
def leaf_switch_lost(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = scene.fleet.node_of(rank), rank % scene.fleet.gpus_per_node
    rack = scene.fleet.rack_of(node)
    rack = rack[: max(1, len(scene.fleet.nodes) // 2)] if len(rack) >= len(scene.fleet.nodes) else rack
    node = rack[0]
    for other in rack:
        for port in range(len(other.nics)):
            if port in (index, (index + 1) % len(other.nics)):
                _down(scene, other, other.nics[port], at + scene.rng.random() * 0.4)
                port_metrics(scene, other, port, at)
    line = _down(scene, node, node.nics[index], at)
    peers_fail(scene, node, node.ranks[index], at, 6)
    return Finding("network_fabric", NETWORK, tuple(rack), tuple(rack), None, None, [line, "Link down"], at)


@shape("completion-errors-only", "network", "network_fabric", forbid="syslog metrics", weight=2)
def completion_errors_only(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    peers_fail(scene, node, rank, at, 5)
    found = Finding(
        "network_fabric",
        ("network_fabric", "insufficient_evidence", "ambiguous"),
        (),
        tuple(scene.fleet.nodes),
        None,
        None,
        ["Got completion from peer"],  # of several alike, none is before the others
        None,
    )
    found.exclude = ()
    return found


@shape("port-flaps-until-timeout", "network", "network_fabric", needs="syslog applog metrics", weight=1, pair=True)
def port_flaps(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = scene.fleet.node_of(rank), rank % scene.fleet.gpus_per_node
    nic = node.nics[index]
    lines = []
    for flap in range(scene.rng.randrange(4, 9)):
        lines.append(_down(scene, node, nic, at + flap * 7))
        _down(scene, node, nic, at + flap * 7 + 3, "Link up")
    scene.shift("node_infiniband_link_downed_total", node.index, index, at, 1, 3, 5, 7)
    scene.shift("node_infiniband_symbol_error_total", node.index, index, at - 120, 900, 7000, 22000, 61000)
    scene.root_ranks.add(rank)
    cascades.hang(scene, [rank], at + 2)
    return _finding(scene, node, nic, lines[:1], at)


@shape("no-route-to-master", "network", "network_fabric", phase="launch", weight=1)
def no_route(scene: Scene) -> Finding:
    at = scene.onset
    node = scene.fleet.nodes[scene.rng.randrange(1, len(scene.fleet.nodes))]
    master = scene.fleet.nodes[0].address
    told = f"socketStartConnect: Connect to {master}<{scene.rng.randrange(30000, 60000)}> failed : No route to host"
    for rank in node.ranks:
        scene.nccl(rank, at, "misc/socket.cc:483", told)
        frames = [
            scene.main,
            scene.frame(70, "setup", "dist.barrier()"),
            scene.library("torch/distributed/c10d_logger.py", 83, "wrapper", "return func(*args, **kwargs)"),
        ]
        scene.traceback(
            rank,
            at + 0.3,
            frames,
            f"torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version {scene.job.nccl}\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\n{told}",
        )
    cascades.crash(scene, node.ranks, at + 0.6, 1, "killed")
    return Finding(
        "network_fabric",
        ("network_fabric", "user_config"),
        (node,),
        (node, scene.fleet.nodes[0]),
        None,
        None,
        [told],
        at,
    )
