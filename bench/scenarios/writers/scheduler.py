"""Records of the scheduler: Slurm's accounting in text or JSON, its controller's log, Kubernetes objects."""

import json
import re
from itertools import groupby
from typing import Any

from bench.scenarios.fleet import iso, utc
from bench.scenarios.scene import Scene
from bench.scenarios.writers.files import Files

COLUMNS = (
    "JobID|JobIDRaw|JobName|User|Account|Partition|State|ExitCode|DerivedExitCode|Reason|Submit|Eligible|Start|End|"
    "ElapsedRaw|TimelimitRaw|NNodes|NTasks|NodeList|MaxRSS|MaxRSSNode|QOS|Cluster"
)


def write(files: Files, scene: Scene, form: str) -> None:
    """The record in one of the forms of a layout."""
    match form:
        case "sacct_parsable2":
            files.add("scheduler/sacct.txt", _parsable(scene))
        case "sacct_json":
            files.add("scheduler/sacct.json", json.dumps(_json(scene)))
        case _:
            files.add("scheduler/objects.json", json.dumps(_objects(scene), indent=1))


def controller(files: Files, scene: Scene) -> None:
    """slurmctld's log around the attempt."""
    job, end = scene.job, scene.end
    lines = [
        (scene.start - 2, f"_slurm_rpc_submit_batch_job: JobId={job.number} InitPrio=4294901000 usec=612"),
        (
            scene.start,
            f"sched: Allocate JobId={job.number} NodeList={hostlist(scene)} #CPUs={scene.fleet.ranks * 12} Partition=train",
        ),
        *scene.controller,
    ]
    if not scene.controller:
        lines.append((end.at, f"_job_complete: JobId={job.number} WEXITSTATUS {end.code}"))
    lines.append((end.at + 0.2, f"_job_complete: JobId={job.number} done"))
    texts = []
    for at, text in sorted(lines):
        moment = scene.wall(0, at)
        texts.append(f"[{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}] {text}")
    files.add("scheduler/slurmctld.log", "\n".join(texts))


def hostlist(scene: Scene) -> str:
    """The nodes in Slurm's bracket form."""
    groups: dict[str, list[str]] = {}
    for node in scene.fleet.nodes:
        head, tail = re.match(r"(.*?)(\d+)$", node.name).groups()  # type: ignore[union-attr]
        groups.setdefault(head, []).append(tail)
    parts = []
    for head, tails in groups.items():
        runs = []
        for _, run in groupby(enumerate(tails), key=lambda item: int(item[1]) - item[0]):
            members = [tail for _, tail in run]
            runs.append(members[0] if len(members) == 1 else f"{members[0]}-{members[-1]}")
        parts.append(f"{head}{runs[0]}" if len(tails) == 1 else f"{head}[{','.join(runs)}]")
    return ",".join(parts)


def _derived(scene: Scene) -> str:
    end = scene.end
    if end.state == "OUT_OF_MEMORY" or end.step_state == "OUT_OF_MEMORY":
        return "0:125"
    return f"{end.code}:{end.signal}" if end.state == "FAILED" else "0:0"


def _rows(scene: Scene) -> list[tuple[str, str, str, str]]:
    """(suffix, name, state, exit code) of the steps."""
    job, end = scene.job, scene.end
    if not scene.started:
        return []
    rows = [
        (
            ".batch",
            "batch",
            "FAILED" if end.state == "FAILED" else "CANCELLED",
            f"{end.code}:0" if end.state == "FAILED" else "0:15",
        )
    ]
    if end.state == "COMPLETED":
        rows = [(".batch", "batch", "COMPLETED", "0:0")]
    if end.state == "OUT_OF_MEMORY":
        rows = [(".batch", "batch", "OUT_OF_MEMORY", "0:125")]
    rows.append((".extern", "extern", "COMPLETED", "0:0"))
    code = "0:0"
    if end.step_state == "OUT_OF_MEMORY":
        code = "0:125"
    elif end.step_state == "CANCELLED":
        code = "0:15"
    elif end.step_state == "FAILED":
        code = f"{end.code}:{end.signal}"
    rows.append((".0", "torchrun" if job.launcher == "torchrun" else "python", end.step_state, code))
    return rows


def _parsable(scene: Scene) -> str:
    job, end = scene.job, scene.end

    def clock(at: float) -> str:
        return f"{scene.wall(0, at):%Y-%m-%dT%H:%M:%S}"

    nodes = hostlist(scene) if end.state != "NONE" else "None assigned"
    submit, start, stop = clock(scene.start - 340), clock(scene.start), clock(end.at)
    count, tasks = len(scene.fleet.nodes), len(scene.fleet.nodes) if job.launcher == "torchrun" else scene.fleet.ranks
    elapsed = int(end.at - scene.start)
    limit = int((end.at - scene.start) // 60) if end.state == "TIMEOUT" else max(2880, elapsed // 60 + 100)
    lines = [
        COLUMNS,
        f"{job.number}|{job.number}|{job.name}|{job.user}|ml|train|{end.state}|{end.code}:{end.signal}|{_derived(scene)}|"
        f"{end.reason}|{submit}|{submit}|{start}|{stop}|{elapsed}|{limit}|{count}||{nodes}|||normal|cluster",
    ]
    for suffix, name, state, code in _rows(scene):
        where = scene.fleet.nodes[0].name if suffix == ".batch" else nodes
        size = 1 if suffix == ".batch" else count
        lines.append(
            f"{job.number}{suffix}|{job.number}{suffix}|{name}||ml||{state}|{code}||None|{start}|{start}|{start}|{stop}|"
            f"{elapsed}||{size}|{1 if suffix == '.batch' else tasks if suffix == '.0' else size}|{where}|"
            f"{scene.rng.randrange(9000, 90000000)}K|{scene.fleet.nodes[0].name}||cluster"
        )
    return "\n".join(lines)


def _json(scene: Scene) -> dict[str, Any]:
    new = scene.job.slurm != "22.05"
    version = ("25", "11", "7") if scene.job.slurm == "25.11" else ("23", "11", "4")
    meta = (
        {
            "plugin": {"data_parser": "data_parser/v0.0.44" if version[0] == "25" else "data_parser/v0.0.40"},
            "command": ["sacct", "--json", "-j", str(scene.job.number)],
            "slurm": {
                "version": dict(zip(("major", "micro", "minor"), (version[0], version[2], version[1]), strict=True)),
                "release": ".".join(version),
                "cluster": "cluster",
            },
        }
        if new
        else {
            "plugin": {"type": "openapi/dbv0.0.38"},
            "Slurm": {"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"},
        }
    )
    return {"meta": meta, "errors": [], "jobs": [_json_job(scene, new)]}


def _number(value: int, new: bool) -> object:
    return {"set": True, "infinite": False, "number": value} if new else value


def _exit(code: str, new: bool) -> dict[str, Any]:
    status, signal = map(int, code.split(":"))
    if not new:
        # This version's plugin loses the number of every process that exited; only signals survive.
        return (
            {"status": "SIGNALED", "return_code": 0, "signal": {"signal_id": signal, "name": str(signal)}}
            if signal
            else {"status": "SUCCESS", "return_code": 0}
        )
    word = "SIGNALED" if signal else "ERROR" if status else "SUCCESS"
    names = {15: "Terminated", 9: "Killed", 6: "Aborted", 125: "125"}
    return {
        "status": [word],
        "return_code": {"set": True, "infinite": False, "number": status},
        "signal": {"id": {"set": bool(signal), "infinite": False, "number": signal}, "name": names.get(signal, "")},
    }


def _json_job(scene: Scene, new: bool) -> dict[str, Any]:
    job, end, count = scene.job, scene.end, len(scene.fleet.nodes)
    start, stop = int(scene.start), int(end.at)
    state = end.state.split()[0]
    steps = [
        {
            "time": {"elapsed": stop - start, "end": _number(stop, new), "start": _number(start, new)},
            "exit_code": _exit(code, new),
            "nodes": {"count": count, "range": hostlist(scene)},
            "tasks": {"count": count},
            "state": [step_state] if new else step_state,
            "step": {
                "id": f"{job.number}{suffix}" if new else {"job_id": job.number, "step_id": suffix[1:]},
                "name": name,
            },
        }
        for suffix, name, step_state, code in _rows(scene)
    ]
    record: dict[str, Any] = {
        "account": "ml",
        "allocation_nodes": count,
        "association": {"account": "ml", "cluster": "cluster", "partition": None if not new else "", "user": job.user},
        "cluster": "cluster",
        "derived_exit_code": _exit(_derived(scene), new),
        "time": {
            "elapsed": stop - start, "eligible": start - 340, "end": stop, "start": start, "submission": start - 340,
            "limit": _number(max(1, (stop - start) // 60) if state == "TIMEOUT" else 2880, new),
        },
        "exit_code": _exit(f"{end.code}:{end.signal}", new),
        "flags": ["STARTED_ON_SUBMIT"],
        "job_id": job.number,
        "name": job.name,
        "nodes": hostlist(scene),
        "partition": "train",
        "kill_request_user": ({"CANCELLED": job.user}.get(state, "") if new else {"CANCELLED": job.user}.get(state)),
        "state": {"current": [state] if new else state, "reason": end.reason},
        "steps": steps,
    }  # fmt: skip
    if job.slurm == "25.11":
        record |= {"failed_node": end.failed_node, "restart_cnt": 0}
    return record


def _objects(scene: Scene) -> dict[str, Any]:
    job, end = scene.job, scene.end
    items: list[dict[str, Any]] = []
    for index, node in enumerate(scene.fleet.nodes):
        items.append(_pod(scene, index, node.name, f"{job.name}-worker-{index}"))
    items.extend(scene.objects)
    succeeded = end.state == "COMPLETED"
    finished = iso(utc(end.at), 0)
    condition = {
        "type": "Succeeded" if succeeded else "Failed",
        "status": "True",
        "lastUpdateTime": finished,
        "lastTransitionTime": finished,
    }
    condition |= {
        "reason": "PyTorchJobSucceeded" if succeeded else "PyTorchJobFailed",
        "message": f"PyTorchJob {job.name} is {'successfully completed' if succeeded else 'failed because some Worker replica(s) failed'}.",
    }
    if end.state in ("FAILED", "COMPLETED", "OUT_OF_MEMORY"):
        items.append(
            {
                "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
                "metadata": {"name": job.name, "namespace": "ml"},
                "status": {"startTime": iso(utc(scene.start), 0), "completionTime": finished, "conditions": [condition]},
            }
        )  # fmt: skip
    for number, event in enumerate(scene.events):
        at = iso(utc(float(event["at"])), 0)
        items.append(
            {
                "apiVersion": "v1", "kind": "Event", "type": event["type"], "reason": event["reason"], "message": event["message"],
                "metadata": {"name": f"{event['name']}.17e{number:09x}", "namespace": "default" if event["kind"] == "Node" else "ml"},
                "involvedObject": {"kind": event["kind"], "name": event["name"], "namespace": "ml"},
                "firstTimestamp": at, "lastTimestamp": at, "count": event.get("count", 1),
                "source": _source(scene, event),
            }
        )  # fmt: skip
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}


def _source(scene: Scene, event: dict[str, Any]) -> dict[str, str]:
    """Who reports an event; the kubelet names its own machine too."""
    source = {"component": str(event.get("by", "kubelet"))}
    name, _, index = str(event["name"]).rpartition("-worker-")
    if source["component"] == "kubelet" and name and index.isdigit() and int(index) < len(scene.fleet.nodes):
        source["host"] = scene.fleet.nodes[int(index)].name
    return source


def _pod(scene: Scene, index: int, node: str, name: str) -> dict[str, Any]:
    job, told = scene.job, scene.pods.get(index, {})
    start = iso(utc(scene.start), 0)
    spec = {
        "nodeName": node,
        "restartPolicy": "Never",
        "containers": [{"name": "pytorch", "image": "registry.local/train:1"}],
    }
    pod: dict[str, Any] = {
        "apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": name, "namespace": "ml", "labels": {"training.kubeflow.org/job-name": job.name, "training.kubeflow.org/replica-index": str(index)}},
    }  # fmt: skip
    status: dict[str, Any] = {
        "phase": "Succeeded",
        "startTime": start,
        "podIP": scene.fleet.nodes[index].address,
        "conditions": [],
    }
    if told.get("unscheduled"):
        del spec["nodeName"]
        status = {
            "phase": "Pending",
            "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": told["message"]}
            ],
        }
    elif told.get("lost"):
        at = iso(utc(float(told["finished"])), 0)
        pod["metadata"]["deletionTimestamp"] = at
        status["phase"] = "Running"
        status["conditions"] = [
            {"type": "Ready", "status": "False", "lastTransitionTime": at},
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "DeletionByTaintManager",
                "message": "Taint manager: deleting due to NoExecute taint",
                "lastTransitionTime": at,
            },
        ]
        status["containerStatuses"] = [
            {"name": "pytorch", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": start}}}
        ]
    elif told.get("waiting"):
        status["phase"] = "Pending"
        status["containerStatuses"] = [
            {
                "name": "pytorch",
                "ready": False,
                "restartCount": 0,
                "state": {"waiting": {"reason": told["waiting"], "message": told["message"]}},
            }
        ]
    elif told.get("evicted"):
        status |= {"phase": "Failed", "reason": told["reason"], "message": told["message"]}
        status["conditions"] = [
            {"type": "DisruptionTarget", "status": "True", "reason": told["condition"], "message": told["message"]}
        ]
        status["containerStatuses"] = [
            {
                "name": "pytorch",
                "restartCount": 0,
                "state": {
                    "terminated": {
                        "exitCode": told.get("exitCode", 137),
                        "reason": "Error",
                        "startedAt": start,
                        "finishedAt": iso(utc(float(told["finished"])), 0),
                    }
                },
            }
        ]
    else:
        code = told.get("exitCode", 0)
        if code:
            status["phase"] = "Failed"
        reason = told.get("reason", "Completed")
        finished = iso(utc(float(told.get("finished", scene.end.at))), 0)
        terminated = {"exitCode": code, "reason": reason, "startedAt": start, "finishedAt": finished}
        if told.get("message"):
            terminated["message"] = told["message"]
        status["containerStatuses"] = [
            {"name": "pytorch", "ready": False, "restartCount": 0, "state": {"terminated": terminated}}
        ]
    pod["status"] = status
    return pod
