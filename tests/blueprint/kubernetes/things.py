"""Objects as clusters write them, made by hand under neutral names."""

from typing import Any

Thing = dict[str, Any]
SPACE = "team-a"


def at(secs: int) -> str:
    """A time so many seconds after 2026-05-04 03:00 UTC."""
    return f"2026-05-04T{3 + secs // 3600:02d}:{secs // 60 % 60:02d}:{secs % 60:02d}Z"


def uid(n: int) -> str:
    return f"0a1b2c3d-0000-4000-8000-{n:012x}"


def condition(kind: str, status: str, reason: str, message: str, secs: int) -> Thing:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at(secs)}


def owner(thing: Thing) -> list[Thing]:
    meta = thing["metadata"]
    return [
        {
            "apiVersion": thing["apiVersion"],
            "kind": thing["kind"],
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
        }
    ]


def made(kind: str, api: str, name: str, n: int, spec: Thing, status: Thing, **meta: Any) -> Thing:
    metadata = {"name": name, "namespace": SPACE, "uid": uid(n), "creationTimestamp": at(10), "labels": {}} | meta
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def template(command: str = "python train.py", gpus: int = 0) -> Thing:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    container = {"name": "trainer", "image": "images.example/train:1", "command": command.split(" ")}
    return {"spec": {"containers": [container | {"resources": {"limits": limits}}]}}


def job(name: str = "train", n: int = 1, pods: int = 2, *conditions: Thing, **status: Any) -> Thing:
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "backoffLimit": 0}
    return made("Job", "batch/v1", name, n, spec | {"template": template()}, {"conditions": list(conditions)} | status)


def failed_job(name: str = "train", n: int = 1, pods: int = 2) -> Thing:
    words = "Job has reached the specified backoff limit"
    return job(
        name,
        n,
        pods,
        condition("FailureTarget", "True", "BackoffLimitExceeded", words, 600),
        condition("Failed", "True", "BackoffLimitExceeded", words, 602),
        startTime=at(60),
        failed=1,
    )


def workload(of: Thing, n: int, *conditions: Thing, name: str = "", **status: Any) -> Thing:
    spec = {"active": True, "queueName": "queue-a", "podSets": [{"name": "main", "count": 2, "template": template()}]}
    return made(
        "Workload",
        "kueue.x-k8s.io/v1beta2",
        name or f"job-{of['metadata']['name']}-1a2b3",
        n,
        spec,
        {"conditions": list(conditions)} | status,
        ownerReferences=owner(of),
    )


def admitted(secs: int = 55) -> list[Thing]:
    return [
        condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue main", secs),
        condition("Admitted", "True", "Admitted", "The workload is admitted", secs),
    ]


def evicted(reason: str, words: str, secs: int) -> list[Thing]:
    return [
        condition("QuotaReserved", "False", "Pending", words, secs),
        condition("Admitted", "False", "NoReservation", "The workload has no reservation", secs),
        condition("Evicted", "True", reason, words, secs),
        condition("Requeued", "True", reason, words, secs + 2),
    ]


def container(state: Thing, name: str = "trainer", restarts: int = 0, last: Thing | None = None) -> Thing:
    return {"name": name, "ready": False, "restartCount": restarts, "state": state, "lastState": last or {}}


def ended(code: int, reason: str, secs: int = 600) -> Thing:
    return {"terminated": {"exitCode": code, "reason": reason, "startedAt": at(80), "finishedAt": at(secs)}}


RUNNING: Thing = {"running": {"startedAt": at(80)}}


def pod(
    of: Thing,
    index: int,
    n: int,
    node: str | None = "node-01",
    phase: str = "Running",
    state: Thing | None = None,
    command: str = "python train.py",
    gpus: int = 0,
    env: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    **status: Any,
) -> Thing:
    name = f"{of['metadata']['name']}-{index}-{n:05x}"
    own = {"job-name": of["metadata"]["name"], "batch.kubernetes.io/job-completion-index": str(index)}
    spec = template(command, gpus)["spec"] | ({"nodeName": node} if node else {})
    spec["containers"][0]["env"] = [{"name": key, "value": value} for key, value in (env or {}).items()]
    where = {"startTime": at(70), "hostIP": f"10.0.0.{node[-1]}", "podIP": f"10.1.0.{n}"} if node else {}
    statuses = [container(state or RUNNING)] if node else []
    found = made(
        "Pod",
        "v1",
        name,
        n,
        spec,
        {"phase": phase, "conditions": [], "containerStatuses": statuses} | where | status,
        labels=own if labels is None else labels,
        ownerReferences=owner(of),
    )
    found["metadata"]["creationTimestamp"] = at(65)
    return found


def event(about: Thing, n: int, reason: str, message: str, secs: int, last: int | None = None, **more: Any) -> Thing:
    meta = about["metadata"]
    involved = {"kind": about["kind"], "name": meta["name"], "uid": meta["uid"], "namespace": meta.get("namespace")}
    times = {"firstTimestamp": at(secs), "lastTimestamp": at(last or secs), "eventTime": None, "count": 1}
    return (
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{meta['name']}.{n:x}",
                "namespace": meta.get("namespace", "default"),
                "uid": uid(9000 + n),
            },
            "involvedObject": involved,
            "type": "Warning",
            "reason": reason,
            "message": message,
            "source": {"component": "kubelet"},
        }
        | times
        | more
    )


def node(name: str, *conditions: Thing) -> Thing:
    metadata = {"name": name, "uid": f"node-uid-of-{name}", "labels": {}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {},
        "status": {"conditions": list(conditions)},
    }
