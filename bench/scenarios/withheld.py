"""Takes the files that show a root out of a bundle, so that only its effects are left."""

import random

from bench.scenarios.scene import Scene
from bench.scenarios.writers.files import Files


def remove(files: Files, scene: Scene) -> list[str]:
    """Removes what the root's nodes and ranks wrote, and all metrics; the removed paths come back."""
    gone = [path for path in files.texts if _shows(path, scene)]
    for path in gone:
        del files.texts[path]
    return gone


def lose(files: Files, scene: Scene, rng: random.Random) -> None:
    """Some nodes that nothing started on could not be collected from."""
    names = [node.name for node in scene.fleet.nodes[1:] if node.index not in scene.root_nodes and rng.random() < 0.3]
    for path in [path for path in files.texts if _node_of(path) in names]:
        del files.texts[path]


def _node_of(path: str) -> str:
    source, _, name = path.partition("/")
    return name.split(".")[0] if source in ("applog", "syslog", "fabric_manager", "bmc", "flight_recorder") else ""


def _shows(path: str, scene: Scene) -> bool:
    source, _, name = path.partition("/")
    if source == "metrics":
        return True
    if source not in ("applog", "syslog", "fabric_manager", "bmc", "flight_recorder"):
        return False
    for index in scene.root_nodes:
        node = scene.fleet.nodes[index]
        if name == node.name or name.startswith(f"{node.name}."):
            if source != "applog" or ".rank" not in name:
                return True
            rank = int(name.split(".rank")[1].split(".")[0])
            return rank in scene.root_ranks
    return False
