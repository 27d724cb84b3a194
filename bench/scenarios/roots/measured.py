"""Roots that only metrics show, because no log of the node was collected."""

from bench.scenarios import cascades
from bench.scenarios.roots.common import die
from bench.scenarios.roots.network import peers_fail, port_metrics
from bench.scenarios.scene import Scene
from bench.scenarios.shapes import shape
from bench.scenarios.truth import Finding


@shape(
    "memory-fault-in-metrics-only", "gpu_memory", "gpu_hardware", needs="applog metrics", forbid="syslog", weight=0.8
)
def memory_fault(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, gpu = scene.fleet.node_of(rank), scene.fleet.gpu_of(rank)
    scene.shift("DCGM_FI_DEV_XID_ERRORS", node.index, gpu.index, at, 95)
    scene.shift("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", node.index, gpu.index, at, 1, 2)
    scene.shift("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", node.index, gpu.index, at, 1)
    die(scene, [rank], at + 0.3, "unspecified launch failure")
    device: dict[str, object] = {"kind": "gpu", "pci": gpu.pci}
    return Finding("gpu_hardware", ("gpu_hardware",), (node,), None, device, None, [], at)


@shape("port-down-in-metrics-only", "network", "network_fabric", needs="applog metrics", forbid="syslog", weight=0.8)
def port_down_measured(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node, index = scene.fleet.node_of(rank), rank % scene.fleet.gpus_per_node
    port_metrics(scene, node, index, at)
    peers_fail(scene, node, rank, at)
    device: dict[str, object] = {"kind": "nic", "nic": node.nics[index].name}
    return Finding("network_fabric", ("network_fabric",), (node,), None, device, None, [], at)


@shape(
    "host-memory-in-metrics-only",
    "limits",
    "resource_limit",
    needs="applog metrics",
    forbid="syslog scheduler",
    weight=0.5,
)
def host_memory(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    scene.shift("node_memory_MemAvailable_bytes", node.index, 0, at - 300, 9e11, 5e11, 2e11, 6e10, 9e9, 4e8)
    cascades.crash(scene, [rank], at + 0.4, -9, "killed")
    accept = ("resource_limit", "host_os", "insufficient_evidence", "ambiguous")
    return Finding(
        "resource_limit", accept, (node,), (node,), None, None, [], at, ("failed", "out_of_memory", "unknown")
    )


@shape(
    "silent-node-that-no-scrape-reached",
    "host",
    "insufficient_evidence",
    needs="applog metrics",
    forbid="syslog scheduler bmc",
    weight=0.4,
)
def silent_node(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.node_of(scene.pick())
    scene.shift("up", node.index, 0, at, 0)
    cascades.node_lost(scene, node.index, at, "timeout")
    accept = ("insufficient_evidence", "scheduler", "ambiguous")
    return Finding("insufficient_evidence", accept, (node,), (node,), None, None, [], at)
