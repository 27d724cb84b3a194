"""Placeholders stand for what an attempt is called; one may have several values, such as the forms of a job's id."""

from attribution.contracts.context import ExecutionContext

PLACEHOLDERS = (
    *("workload_id", "job_id", "array_job_id", "array_task_id", "attempt", "name", "user"),
    *("cluster", "namespace", "uid"),
)
"""Placeholders that the context of an attempt has values for, or has none; those of nodes are the connectors' own."""


def values_of(context: ExecutionContext, placeholder: str) -> tuple[str, ...]:
    """What a placeholder may stand for, the likeliest first; nothing if the context does not say it."""
    ids = context.scheduler_ids
    array = f"{ids['array_job']}_{ids['array_task']}" if {"array_job", "array_task"} <= ids.keys() else None
    forms: dict[str, tuple[str | None, ...]] = {
        "workload_id": (context.workload_id,),
        "job_id": (ids.get("job"), array, ids.get("het_job")) if "job" in ids else (context.workload_id,),
        "array_job_id": (ids.get("array_job"),),
        "array_task_id": (ids.get("array_task"),),
        "attempt": (str(context.attempt),),
        "name": (context.name or ids.get("name"),),
        "user": (context.user,),
        "cluster": (context.cluster,),
        "namespace": (ids.get("namespace"),),
        "uid": (ids.get("uid"),),
    }
    return tuple(dict.fromkeys(value for value in forms[placeholder] if value is not None))
