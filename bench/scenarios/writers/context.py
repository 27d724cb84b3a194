"""What a collector says of the attempt: `context.yaml`, more or less complete."""

from typing import Any

import yaml

from bench.scenarios.fleet import iso, utc
from bench.scenarios.scene import Scene
from bench.scenarios.writers.files import Files


def write(files: Files, scene: Scene, form: str | None) -> None:
    """The context in one of the forms of a layout, or none."""
    if form is None:
        return
    job, fleet, end = scene.job, scene.fleet, scene.end
    document: dict[str, Any] = {
        "workload_id": f"job-{job.number}",
        "scheduler": job.scheduler,
        "name": job.name,
        "started_at": iso(utc(scene.start)),
        "ended_at": iso(utc(end.at)),
    }
    if form == "state" and job.scheduler == "slurm":
        document |= {"scheduler_state": end.state.split()[0], "exit_code": end.code}
        if 0 < end.signal <= 64:  # 125 stands for running out of memory and is none
            document["signal"] = end.signal
    if form != "no_nodes":
        document["nodes"] = [_node(scene, index, form == "full") for index in range(len(fleet.nodes))]
        document["nranks"] = fleet.ranks
    files.add("context.yaml", yaml.dump(document, Dumper=_DUMPER, sort_keys=False, width=160))


_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def _node(scene: Scene, index: int, full: bool) -> dict[str, Any]:
    node = scene.fleet.nodes[index]
    entry: dict[str, Any] = {"name": node.name, "aliases": [node.address], "ranks": list(node.ranks)}
    if full:
        entry["gpus"] = [
            {"index": gpu.index, "pci": gpu.pci, "uuid": gpu.uuid, "serial": gpu.serial} for gpu in node.gpus
        ]
        entry["nics"] = [{"name": nic.name, "netdev": nic.netdev, "pci": nic.pci} for nic in node.nics]
        entry["rack"] = node.rack
    return entry
