"""Dumps of the process group's flight recorder, as JSON: what each rank had enqueued, started and completed."""

import json
from typing import Any

from bench.scenarios.scene import Recorded, Scene
from bench.scenarios.writers.files import Files

NAMES = {
    "ALLREDUCE": "nccl:all_reduce",
    "_ALLGATHER_BASE": "nccl:_all_gather_base",
    "_REDUCE_SCATTER_BASE": "nccl:_reduce_scatter_base",
    "COALESCED": "nccl:coalesced",
    "BROADCAST": "nccl:broadcast",
}


def write(files: Files, scene: Scene) -> None:
    """One dump a rank, of those that could still write one."""
    for rank, recorded in sorted(scene.recorded.items()):
        node = scene.fleet.node_of(rank)
        if node.index not in scene.silent_from:
            files.add(f"flight_recorder/{node.name}.rank{rank}.json", json.dumps(_dump(scene, recorded)))


def _dump(scene: Scene, recorded: Recorded) -> dict[str, Any]:
    last = recorded.work if recorded.entered else recorded.work - 1
    entries = [_entry(scene, recorded, work) for work in range(max(1, last - 7), last + 1)]
    return {
        "version": "2.5",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(scene.fleet.ranks)))}},
        "pg_status": {
            "0": {
                "last_enqueued_collective": last,
                "last_started_collective": last,
                "last_completed_collective": recorded.work - 1,
            }
        },
        "entries": entries,
    }


def _entry(scene: Scene, recorded: Recorded, work: int) -> dict[str, Any]:
    done = work < recorded.work
    created = int((recorded.at - (recorded.work - work) * 2.1) * 1e9)
    name, sent, received = recorded.operation
    return {
        "frames": [{"name": "train_step", "filename": f"/data/job/{scene.job.script}", "line": 188}],
        "record_id": work,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": work,
        "p2p_seq_id": 0,
        "op_id": work,
        "profiling_name": NAMES[name],
        "time_created_ns": created,
        "time_discovered_started_ns": created + 40000,
        "time_discovered_completed_ns": created + 90000000 if done else None,
        "input_sizes": [[sent]],
        "input_dtypes": ["BFloat16"],
        "output_sizes": [[received]],
        "output_dtypes": ["BFloat16"],
        "state": "completed" if done else "started",
        "retired": done,
        "timeout_ms": scene.job.timeout * 1000,
        "is_p2p": False,
    }
