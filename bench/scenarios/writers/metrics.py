"""Metrics of nodes, GPUs and ports, as a range query answers or as samples in exposition form."""

import json
import random
from dataclasses import dataclass

from bench.scenarios.fleet import Node
from bench.scenarios.scene import Scene, Shift
from bench.scenarios.writers.files import Files

# metric: (file, kind of device, resting value, spread)
METRICS: dict[str, tuple[str, str, float, float]] = {
    "DCGM_FI_DEV_GPU_TEMP": ("gpu", "gpu", 58, 5),
    "DCGM_FI_DEV_GPU_UTIL": ("gpu", "gpu", 97, 3),
    "DCGM_FI_DEV_POWER_USAGE": ("gpu", "gpu", 620, 40),
    "DCGM_FI_DEV_SM_CLOCK": ("gpu", "gpu", 1755, 60),
    "DCGM_FI_DEV_FB_USED": ("gpu", "gpu", 68000, 900),
    "DCGM_FI_DEV_XID_ERRORS": ("gpu", "gpu", 0, 0),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": ("gpu", "gpu", 0, 0),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": ("gpu", "gpu", 0, 0),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": ("gpu", "gpu", 0, 0),
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": ("gpu", "gpu", 0, 0),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": ("gpu", "gpu", 2, 0),
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": ("gpu", "gpu", 4, 0),
    "node_infiniband_link_downed_total": ("network", "port", 0, 0),
    "node_infiniband_link_error_recovery_total": ("network", "port", 0, 0),
    "node_infiniband_port_errors_received_total": ("network", "port", 0, 0),
    "node_infiniband_symbol_error_total": ("network", "port", 3, 0),
    "node_infiniband_state_id": ("network", "port", 4, 0),
    "node_memory_MemAvailable_bytes": ("node", "node", 1.4e12, 2e10),
    "node_memory_SwapFree_bytes": ("node", "node", 8.5e9, 0),
    "node_load1": ("node", "node", 44, 9),
    "up": ("node", "node", 1, 0),
}
ALWAYS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_XID_ERRORS")
IDLE = {"DCGM_FI_DEV_GPU_UTIL": 0.0, "DCGM_FI_DEV_POWER_USAGE": 92.0, "DCGM_FI_DEV_FB_USED": 4.0, "node_load1": 0.6}


@dataclass(frozen=True)
class Series:
    """One series: its labels with the name, and its samples (true time as the server stamps it, value)."""

    labels: dict[str, str]
    samples: list[tuple[int, str]]


def write(files: Files, scene: Scene, form: str, rng: random.Random) -> None:
    """The metrics of the nodes that something happened on and of a few others."""
    step = rng.choice((15, 30, 30, 60))
    end = int(scene.end.at) + 120
    begin = max(int(scene.start) - 120, min(int(scene.onset), int(scene.end.at)) - 40 * step)
    end = min(end, begin + 160 * step) if scene.end.at - begin > 160 * step else end
    times = range(begin // step * step, end, step)
    moved = {(shift.metric, shift.node) for shift in scene.shifts}
    nodes = sorted(
        {shift.node for shift in scene.shifts}
        | set(rng.sample(range(len(scene.fleet.nodes)), min(4, len(scene.fleet.nodes))))
    )[:24]
    names = sorted({metric for metric, _ in moved} | set(ALWAYS) | set(rng.sample(sorted(METRICS), 6)))
    by_file: dict[str, list[Series]] = {}
    for name in names:
        file, kind, rest, spread = METRICS[name]
        for index in nodes:
            node = scene.fleet.nodes[index]
            devices = range(1) if kind == "node" else range(len(node.gpus))
            for device in devices:
                shifts = [s for s in scene.shifts if (s.metric, s.node) == (name, index) and s.device in (device, -1)]
                samples = _course(scene, rng, name, rest, spread, shifts, times, index)
                by_file.setdefault(file, []).append(Series(_labels(scene, node, name, kind, device), samples))
    for file, series in sorted(by_file.items()):
        if form == "matrix":
            result = [{"metric": one.labels, "values": [[at, value] for at, value in one.samples]} for one in series]
            answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
            files.add(f"metrics/{file}.json", json.dumps(answer))
        else:
            files.add(f"metrics/{file}.prom", _exposition(series))


def _labels(scene: Scene, node: Node, name: str, kind: str, device: int) -> dict[str, str]:
    labels = {"__name__": name}
    if kind == "gpu":
        gpu = node.gpus[device]
        host = "Hostname" if scene.job.number % 2 else "hostname"
        labels |= {
            "gpu": str(gpu.index),
            "UUID": gpu.uuid,
            "pci_bus_id": f"0000{gpu.pci}.0",
            "device": f"nvidia{gpu.index}",
        }
        labels |= {"modelName": scene.fleet.product, host: node.name, "instance": f"{node.name}:9400", "job": "dcgm"}
    elif kind == "port":
        labels |= {"device": node.nics[device].name, "port": "1", "instance": f"{node.name}:9100", "job": "node"}
    else:
        labels |= {"instance": f"{node.name}:9100", "job": "node"}
    return labels


def _course(
    scene: Scene,
    rng: random.Random,
    name: str,
    rest: float,
    spread: float,
    shifts: list[Shift],
    times: range,
    node: int,
) -> list[tuple[int, str]]:
    samples = []
    gone = scene.silent_from.get(node, float("inf"))
    whole = rest < 1e6
    if not shifts and not spread and name not in IDLE and gone > times.stop:
        return [(at, f"{rest:.0f}" if whole else f"{rest:.6e}") for at in times]
    for at in times:
        if at > gone:
            if name == "up":
                samples.append((at, "0"))
            continue
        value = rest + (rng.uniform(-spread, spread) if spread else 0.0)
        if name == "DCGM_FI_DEV_GPU_UTIL":
            value = min(100.0, value)
        if at > scene.end.at or at < scene.start:
            value = IDLE.get(name, value)
        for shift in shifts:
            if shift.at <= at < shift.until:
                index = min(len(shift.values) - 1, int((at - shift.at) // max(1, times.step)))
                value = shift.values[index]
        if value != value:  # not a number: the exporter no longer reports it
            continue
        samples.append((at, f"{value:.0f}" if whole else f"{value:.6e}"))
    return samples


def _exposition(series: list[Series]) -> str:
    lines = []
    seen = ""
    for one in series:
        name = one.labels["__name__"]
        if name != seen:
            lines.append(f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}")
            seen = name
        labels = ",".join(f'{key}="{value}"' for key, value in one.labels.items() if key != "__name__")
        lines.extend(f"{name}{{{labels}}} {value} {at * 1000}" for at, value in one.samples)
    return "\n".join(lines)
