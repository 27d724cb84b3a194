"""One scenario from its seed and number: plan, scene, files, truth."""

import math
import random
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bench.scenarios import fleet as fleets
from bench.scenarios import job as jobs
from bench.scenarios import layout as layouts
from bench.scenarios import negatives, noise, roots, shown, withheld
from bench.scenarios.scene import End, Scene
from bench.scenarios.shapes import SHAPES, Shape
from bench.scenarios.truth import SUB_DOMAINS, Finding, Truth
from bench.scenarios.writers import applog, context, metrics, recorder, scheduler, system
from bench.scenarios.writers.files import Files

__all__ = ["negatives", "roots"]  # importing them registers their shapes

BLOCK = 100
STATES = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "TIMEOUT": "timed_out",
    "PREEMPTED": "preempted",
    "NODE_FAIL": "node_failed",
    "NODE_LOST": "node_failed",
    "OUT_OF_MEMORY": "out_of_memory",
    "DEADLINE": "timed_out",
    "PENDING": "launch_failed",
    "REQUEUED": "launch_failed",
}


@dataclass(frozen=True)
class Plan:
    """What a scenario is to be."""

    kind: str
    shape: Shape
    second: Shape | None = None


@cache
def frequencies() -> dict[str, Any]:
    """The weights of kinds and groups."""
    loaded: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "frequencies.yaml").read_text())
    return loaded


def _draw(rng: random.Random, pool: list[Shape], groups: dict[str, Any]) -> Shape:
    """A shape by the weight of its group, then by its own within the group."""
    totals: dict[str, float] = {}
    for one in pool:
        totals[one.group] = totals.get(one.group, 0) + one.weight
    weights = [(groups[one.group]["weight"] or 1) * one.weight / totals[one.group] for one in pool]
    return rng.choices(pool, weights)[0]


def block(seed: int, number: int) -> list[Plan]:
    """The plans of a hundred scenarios: shares of kinds are exact, and every sub_domain occurs."""
    rng = random.Random(f"{seed}/block/{number}")
    told = frequencies()
    kinds = [kind for kind, count in told["kinds"].items() for _ in range(count)]
    pools = {
        "single": [one for one in SHAPES.values() if not one.negative],
        "withheld": [one for one in SHAPES.values() if one.withhold],
        "two_roots": [one for one in SHAPES.values() if one.pair],
        "negative": [one for one in SHAPES.values() if one.negative],
    }
    plans = []
    for kind in kinds:
        first = _draw(rng, pools[kind], told["groups"])
        second = None
        if kind == "two_roots":
            fitting = [
                one for one in pools[kind] if one.sub_domain != first.sub_domain and set(one.models) & set(first.models)
            ]
            second = _draw(rng, fitting, told["groups"])
        plans.append(Plan(kind, first, second))
    singles = [index for index, plan in enumerate(plans) if plan.kind == "single"]
    missing = [name for name in SUB_DOMAINS if name not in {plans[index].shape.sub_domain for index in singles}]
    for name in missing:
        crowded = [plans[index].shape.sub_domain for index in singles]
        most = max(sorted(set(crowded)), key=crowded.count)
        pool = [one for one in pools["single"] if one.sub_domain == name]
        plans[next(i for i in singles if plans[i].shape.sub_domain == most)] = Plan(
            "single", _draw(rng, pool, told["groups"])
        )
    rng.shuffle(plans)
    return plans


def nodes_of(rng: random.Random, most: int) -> int:
    """A number of nodes, log-distributed from 2."""
    return min(most, max(2, round(2 ** rng.uniform(0.7, math.log2(most + 0.5)))))


def scenario(seed: int, number: int, out: Path, most: int, size: int | None = None, only: str | None = None) -> Truth:
    """Writes one scenario's folder; its truth comes back."""
    if only is None:
        plan = block(seed, number // BLOCK)[number % BLOCK]
    else:
        plan = Plan("negative" if SHAPES[only].negative else "single", SHAPES[only])
    rng = random.Random(f"{seed}/scenario/{number}")
    size = size or nodes_of(rng, most)
    scene, findings = stage(rng, plan, size)
    needs, forbid = plan.shape.needs, plan.shape.forbid
    if plan.second:
        needs, forbid = needs | plan.second.needs, forbid | plan.second.forbid
    if plan.kind == "withheld":
        needs = needs | {"split", "applog"}
    drawn = layouts.draw(rng, scene.job.scheduler, needs, forbid, size)
    if drawn.applog == "job" and scene.job.launcher in ("mpirun", "ray") and drawn.context in (None, "no_nodes"):
        drawn = replace(drawn, context="plain")  # their output names ranks and addresses, nothing else names the nodes
    files = write(rng, scene, drawn, plan)
    truth = judge(f"scenario-{seed}-{number:05d}", plan, scene, findings, drawn, files)
    folder = out / truth.id
    files.write(folder / "bundle", drawn.compressed, rng)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "truth.yaml").write_text(
        yaml.safe_dump(truth.document(), sort_keys=False, width=1000, allow_unicode=True)
    )
    return truth


def stage(rng: random.Random, plan: Plan, size: int) -> tuple[Scene, list[Finding]]:
    """Plays a plan: the roots, what follows from them, and the ordinary lines around."""
    shape = plan.shape
    start = 1767225600 + rng.randrange(0, 300 * 86400) + rng.random()
    schedulers = {one.scheduler for one in (shape, plan.second) if one and one.scheduler}
    job = jobs.draw(rng, schedulers.pop() if schedulers else None, shape.launcher)
    models = tuple(name for name in shape.models if plan.second is None or name in plan.second.models)
    fleet = fleets.build(rng, size, start, models)
    onset = (
        start
        + {
            "launch": rng.uniform(14, 45),
            "load": rng.uniform(120, 600),
            "run": math.exp(rng.uniform(math.log(400), math.log(60000))),
        }[shape.phase]
    )
    scene = Scene(rng, fleet, job, start, onset, End(onset + 60))
    findings = [shape.build(scene)]
    scene.root_nodes.update(node.index for node in findings[0].nodes)
    if plan.second:
        scene.avoid = frozenset(scene.root_nodes)
        steps, end = list(scene.steps), scene.end.at
        scene.onset += rng.uniform(-1, 1)
        findings.append(plan.second.build(scene))
        scene.root_nodes.update(node.index for node in findings[1].nodes)
        later = [entry for entry in scene.steps[len(steps) :] if "srun: error:" in entry[1]]
        scene.steps = steps + later
        scene.end.at = max(end, scene.end.at)
    if scene.started:
        noise.app(scene, min(onset, scene.end.at))
    noise.nodes(scene)
    scene.apps = [line for line in scene.apps if line.rank is None or line.at <= scene.dead.get(line.rank, math.inf)]
    return scene, findings


def write(rng: random.Random, scene: Scene, drawn: layouts.Layout, plan: Plan) -> Files:
    """Lays the scene out as files."""
    files = Files()
    context.write(files, scene, drawn.context)
    if drawn.applog:
        applog.write(files, scene, drawn.applog, rng)
    if drawn.syslog:
        system.write(files, scene, drawn.syslog)
    if drawn.scheduler:
        scheduler.write(files, scene, drawn.scheduler)
    if drawn.controller:
        scheduler.controller(files, scene)
    if drawn.metrics:
        metrics.write(files, scene, drawn.metrics, rng)
    if drawn.fabric_manager:
        if scene.fleet.model in ("A100", "H100", "H200"):
            noise.fabric(scene)
        system.fabric_manager(files, scene)
    if drawn.recorder:
        recorder.write(files, scene)
    if drawn.bmc:
        noise.bmc(scene)
        system.controller(files, scene)
    if plan.kind == "withheld":
        withheld.remove(files, scene)
    elif scene.root_nodes and rng.random() < 0.15:
        withheld.lose(files, scene, rng)
    return files


def judge(name: str, plan: Plan, scene: Scene, findings: list[Finding], drawn: layouts.Layout, files: Files) -> Truth:
    """The truth of what was written."""
    found = findings[0]
    accept = list(found.accept or (found.sub_domain,))
    if plan.kind == "two_roots":
        other = findings[1]
        accept = list(dict.fromkeys(["ambiguous", *accept, *(other.accept or (other.sub_domain,))]))
        found = Finding(
            "ambiguous",
            nodes=tuple(dict.fromkeys((*found.nodes, *other.nodes))),
            root_lines=found.root_lines + other.root_lines,
        )
    elif plan.kind == "withheld":
        accept = ["insufficient_evidence", "ambiguous"]
        found = Finding("insufficient_evidence", states=found.states)
    if found.rank is not None and not shown.rank(files, scene, found.rank):
        found = replace(found, rank=None)
    if found.sub_domain in SUB_DOMAINS and plan.kind == "single":
        found = replace(found, root_lines=found.root_lines + shown.series(files, scene))
    states = list(found.states) or _states(scene, drawn)
    if plan.kind == "two_roots":  # what either root may be said to have ended in
        states = list(dict.fromkeys(states + [state for finding in findings for state in finding.states]))
    metric = any(path.startswith("metrics/") for path in files.texts)
    return Truth(name, plan.kind, plan.shape.name, scene.fleet, found, accept, states, metric)


def _states(scene: Scene, drawn: layouts.Layout) -> list[str]:
    """How the attempt ended, as far as the bundle says so."""
    state = STATES[scene.end.state.split()[0]]
    recorded = drawn.scheduler is not None or (drawn.context == "state" and scene.job.scheduler == "slurm")
    if recorded:
        return [state, "failed"] if scene.end.state == "NODE_LOST" else [state]
    if drawn.applog and (scene.steps or scene.says_exit):
        return [state] if state != "node_failed" or scene.steps else ["failed", "node_failed", "unknown"]
    if state == "completed":
        return ["completed", "unknown"]
    if not drawn.applog:
        return ["unknown", state]
    return list(dict.fromkeys(("failed", "unknown", state)))
