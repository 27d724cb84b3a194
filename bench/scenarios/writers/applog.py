"""Output of the application: one file a rank, a node or a job, as container runtimes and log stores keep it too."""

import json
import random
from collections import defaultdict

from bench.scenarios.fleet import utc
from bench.scenarios.scene import AppLine, Scene
from bench.scenarios.writers.files import Files


def write(files: Files, scene: Scene, form: str, rng: random.Random) -> None:
    """The application's lines in one of the forms of a layout."""
    lines = [line for line in scene.apps if line.at <= scene.silent_from.get(line.node, float("inf"))]
    lines.sort(key=lambda line: (line.at, line.node, -1 if line.rank is None else line.rank))
    match form:
        case "ranks":
            _ranks(files, scene, lines)
        case "nodes":
            _nodes(files, scene, lines, rng)
        case "job":
            _job(files, scene, lines, rng)
        case _:
            _loki(files, scene, lines)
    if form != "job" and scene.steps:
        name = f"applog/slurm-{scene.job.number}.err" if scene.job.scheduler == "slurm" else "applog/driver.log"
        files.add(name, "\n".join(text for _, text in sorted(scene.steps)))


def tagged(scene: Scene, line: AppLine) -> str:
    """A line as the launcher's own tee writes it, with the local rank in front of every part of it."""
    if line.rank is None or not scene.job.tee or scene.job.launcher != "torchrun":
        return line.text
    tag = f"[default{line.rank % scene.fleet.gpus_per_node}]:"
    return "\n".join(tag + part for part in line.text.split("\n"))


def _ranks(files: Files, scene: Scene, lines: list[AppLine]) -> None:
    by_rank: defaultdict[tuple[int, int | None], list[str]] = defaultdict(list)
    for line in lines:
        by_rank[line.node, line.rank].append(line.text)
    stream = "stderr.log" if scene.job.number % 3 else "out"
    for (node, rank), texts in sorted(by_rank.items(), key=lambda item: (item[0][0], item[0][1] or -1)):
        name = scene.fleet.nodes[node].name
        path = f"{name}.rank{rank}.{stream}" if rank is not None else f"{name}.launcher.log"
        files.add(f"applog/{path}", "\n".join(texts))


def _nodes(files: Files, scene: Scene, lines: list[AppLine], rng: random.Random) -> None:
    by_node: defaultdict[int, list[str]] = defaultdict(list)
    cri = scene.job.scheduler == "kubernetes" and rng.random() < 0.6
    for line in lines:
        text = tagged(scene, line)
        if cri:
            moment = scene.wall(line.node, line.at)
            stamp = f"{moment.astimezone(utc(0).tzinfo):%Y-%m-%dT%H:%M:%S.%f}{int(line.at * 1e9) % 1000:03d}Z stderr F "
            text = "\n".join(stamp + part for part in text.split("\n"))
        by_node[line.node].append(text)
    for node, texts in sorted(by_node.items()):
        files.add(f"applog/{scene.fleet.nodes[node].name}.log", "\n".join(texts))


def _job(files: Files, scene: Scene, lines: list[AppLine], rng: random.Random) -> None:
    job = scene.job
    labelled = rng.random() < 0.6 or not job.tee or job.launcher != "torchrun"
    torn = labelled and rng.random() < 0.5
    free: dict[tuple[int, int | None], float] = {}
    merged: list[tuple[float, str]] = list(scene.steps)
    for line in lines:
        text = tagged(scene, line)
        if not labelled:
            merged.append((line.at, text))
            continue
        parts = [_label(scene, line) + part for part in text.split("\n")]
        if torn:
            # Written line by line: records of ranks that fail at once stand between each other's lines.
            writer = (line.node, line.rank)
            begin, pace = max(line.at, free.get(writer, 0.0)), rng.uniform(0.002, 0.015)
            free[writer] = begin + len(parts) * pace
            merged += [(begin + index * pace, part) for index, part in enumerate(parts)]
        else:
            merged.append((line.at, "\n".join(parts)))
    merged.sort(key=lambda entry: entry[0])
    name = f"slurm-{job.number}.out" if job.scheduler == "slurm" else "train.log"
    files.add(f"applog/{name}", "\n".join(text for _, text in merged))


def _label(scene: Scene, line: AppLine) -> str:
    """What the job's launcher puts in front of every line of a process; what a node runs is of its first rank."""
    node = scene.fleet.nodes[line.node]
    rank = line.node * scene.fleet.gpus_per_node if line.rank is None else line.rank
    match scene.job.launcher:
        case "deepspeed":
            return f"{node.name}: "
        case "mpirun":
            return f"[1,{rank}]<stderr>:"
        case "ray" if line.rank is not None:
            return f"(RayTrainWorker pid={scene.pid(line.rank)}, ip={node.address}) "
        case "ray":
            return ""
        case launcher:
            task = line.node if launcher == "torchrun" else rank
            return f"{task:>{len(str(scene.fleet.ranks - 1))}}: "


def _loki(files: Files, scene: Scene, lines: list[AppLine]) -> None:
    by_node: defaultdict[int, dict[int | None, list[list[str]]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        at = int((line.at + scene.fleet.nodes[line.node].skew) * 1e6) * 1000
        for index, part in enumerate(line.text.split("\n")):
            by_node[line.node][line.rank].append([str(at + index), part])
    for node, streams in sorted(by_node.items()):
        name = scene.fleet.nodes[node].name
        result = [
            {
                "stream": {"job": "applog", "node": name, **({} if rank is None else {"rank": str(rank)})},
                "values": values,
            }
            for rank, values in sorted(streams.items(), key=lambda item: -1 if item[0] is None else item[0])
        ]
        answer = {"status": "success", "data": {"resultType": "streams", "result": result}}
        files.add(f"applog/{name}.json", json.dumps(answer))
