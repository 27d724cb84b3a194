"""Records as two versions of Slurm and the API of Kubernetes give them, written for tests: few fields."""

import json
from typing import Any

T0 = 1_777_863_600
"""2026-05-04T03:00:00Z."""

NO_TIME = 4_294_967_294


def job_of_22(
    job: int, state: str, start: int | None = 0, end: int = 600, nodes: str = "node-[01-02]", **more: Any
) -> dict[str, Any]:
    """A job as 22.05 prints it: plain values, and every exit code but a signal lost."""
    signal = more.get("signal")
    lost = {"status": "SUCCESS", "return_code": 0}
    killed = {"status": "SIGNALED", "return_code": None, "signal": {"signal_id": signal, "name": "Killed"}}
    array = more.get("array")
    return {
        "account": "team",
        "array": {"job_id": array[0] if array else 0, "task_id": array[1] if array else None},
        "association": {"account": "team", "cluster": "c1", "partition": None, "user": "alice"},
        "exit_code": killed if signal else lost,
        "het": {"job_id": 0, "job_offset": None},
        "job_id": job,
        "name": "train",
        "nodes": nodes,
        "kill_request_user": more.get("by"),
        "state": {"current": state, "reason": more.get("reason", "None")},
        "time": {"submission": T0, "start": None if start is None else T0 + start, "end": T0 + end, "limit": 5},
        "steps": [
            {
                "nodes": {"count": 1, "range": nodes},
                "exit_code": {"status": "SIGNALED", "return_code": None, "signal": {"signal_id": sig, "name": ""}}
                if sig
                else lost,
                "state": step_state,
                "step": {"job_id": job, "id": name, "name": str(name)},
                "time": {"start": T0 + (start or 0), "end": T0 + end},
            }
            for name, step_state, sig in more.get("steps", ())
        ],
    }


def job_of_25(
    job: int, state: str, start: int | None = 0, end: int = 600, nodes: str = "node-[01-02]", **more: Any
) -> dict[str, Any]:
    """A job as 25.11 prints it: states are lists, most numbers objects, and the failed node is named."""
    array, signal, states = (
        more.get("array"),
        more.get("signal"),
        ["PENDING", state] if state == "REQUEUED" else [state],
    )
    return {
        "account": "team",
        "array": {"job_id": array[0] if array else 0, "task_id": number(array[1] if array else None)},
        "association": {"account": "", "cluster": "c1", "partition": "", "user": "", "id": 5},
        "exit_code": exit_code(more.get("code", 0), signal),
        "failed_node": more.get("failed_node", ""),
        "het": {"job_id": 0, "job_offset": number(None)},
        "job_id": job,
        "name": "train",
        "nodes": nodes,
        "kill_request_user": more.get("by", ""),
        "state": {"current": states, "reason": more.get("reason", "None")},
        "time": {
            "submission": T0,
            "start": NO_TIME if start is None else T0 + start,
            "end": T0 + end,
            "limit": number(5),
        },
        "steps": [
            {
                "nodes": {"count": 1, "range": nodes},
                "exit_code": exit_code(0, sig),
                "state": [step_state],
                "step": {"id": f"{job}.{name}", "name": str(name)},
                "time": {"start": number(T0 + (start or 0)), "end": number(T0 + end)},
            }
            for name, step_state, sig in more.get("steps", ())
        ],
    }


def number(value: int | None) -> dict[str, Any]:
    """A number as newer versions write it."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


def exit_code(code: int, signal: int | None) -> dict[str, Any]:
    """An exit code as newer versions write it."""
    status = "SIGNALED" if signal else "ERROR" if code else "SUCCESS"
    told = number(None) if signal else number(code)
    return {"status": [status], "return_code": told, "signal": {"id": number(signal), "name": str(signal or "")}}


def sacct(*jobs: dict[str, Any]) -> str:
    """What `sacct --json` prints."""
    return json.dumps({"meta": {"slurm": {}}, "jobs": list(jobs), "errors": []}, indent=1)


FIELDS = "JobID|JobIDRaw|JobName|Partition|State|ExitCode|Reason|Submit|Start|End|NodeList"


def row(job: str, state: str, code: str = "0:0", **more: str) -> str:
    """A row of `sacct --parsable2` with FIELDS."""
    start, end = more.get("start", "2026-05-04T03:00:00"), more.get("end", "2026-05-04T03:10:00")
    raw, nodes, reason = more.get("raw", job), more.get("nodes", "node-[01-02]"), more.get("reason", "None")
    name = more.get("name", "train")
    return f"{job}|{raw}|{name}|gpu|{state}|{code}|{reason}|2026-05-04T03:00:00|{start}|{end}|{nodes}"


def table(*rows: str, fields: str = FIELDS) -> str:
    """What `sacct --parsable2` prints."""
    return "".join(f"{line}\n" for line in (fields, *rows))


def pod(name: str, node: str | None = "node-02", **status: Any) -> dict[str, Any]:
    """A pod."""
    metadata = {"name": name, "namespace": "team"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}, "status": status}


def container(**state: Any) -> list[dict[str, Any]]:
    """The status of a pod's only container."""
    return [{"name": "trainer", "ready": False, "restartCount": 0, "state": state, "lastState": {}}]


def thing(kind: str, name: str, conditions: list[dict[str, Any]], version: str = "batch/v1", **status: Any) -> Any:
    """A job of some kind, a workload or a node."""
    metadata = {"name": name, "namespace": "team"}
    status = {**status, "conditions": conditions}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {}, "status": status}


def condition(kind: str, status: str, reason: str = "", message: str = "", at: str = "03:10:00") -> dict[str, Any]:
    """A condition."""
    moment = f"2026-05-04T{at}Z"
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": moment}


def happened(
    reason: str, about: str, message: str, count: int = 1, new: bool = False, host: str = ""
) -> dict[str, Any]:
    """An event, as old reporters and as new ones write it."""
    kind, _, name = about.partition("/")
    found: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1", "namespace": "team"},
        "involvedObject": {"kind": kind, "name": name, "namespace": "team"},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": host},
    }
    first, last = "2026-05-04T03:05:00Z", "2026-05-04T03:09:00Z"
    if new:
        return {**found, "eventTime": first, "firstTimestamp": None, "lastTimestamp": None,
                "series": {"count": count, "lastObservedTime": last}}  # fmt: skip
    return {**found, "eventTime": None, "firstTimestamp": first, "lastTimestamp": last, "count": count}


def objects(*items: Any) -> str:
    """What `kubectl get -o json` prints for several kinds."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items), "metadata": {}}, indent=2)
