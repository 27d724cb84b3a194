"""What the OpenAPI document says beside the models: examples, bodies, headers and error answers."""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from attribution.contracts.context import ExecutionContext
from attribution.contracts.exchange import MEDIA_NDJSON, MEDIA_PROBLEM, PROBLEM_TYPE, ObservationBatch, ProblemDetails
from attribution.contracts.observation import Observation
from attribution.service.problems import KINDS, UNKNOWN_ATTRIBUTOR

Document = dict[str, Any]

CONTEXT: Document = {
    "workload_id": "418201",
    "attempt": 1,
    "scheduler": "slurm",
    "cluster": "example",
    "started_at": "2026-05-04T02:31:00Z",
    "ended_at": "2026-05-04T03:17:26Z",
    "scheduler_state": "FAILED",
    "nodes": [{"name": "node-01", "ranks": [0, 1]}, {"name": "node-02", "ranks": [2, 3]}],
}
OBSERVATION: Document = {
    "source": "syslog",
    "node": "node-02",
    "stream": "syslog/node-02.log",
    "body": "2026-05-04T03:06:58.112Z node-02 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', "
    "name=<unknown>, GPU has fallen off the bus.\n",
}
ETAG: Document = {"ETag": {"description": "Names this answer", "schema": {"type": "string"}}}
IF_NONE_MATCH: Document = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of the answer that you have",
    "schema": {"type": "string"},
}
RETRY_AFTER: Document = {"Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer"}}}
CHALLENGE: Document = {"WWW-Authenticate": {"description": "How to show a token", "schema": {"type": "string"}}}
BEARER: Document = {"type": "http", "scheme": "bearer", "description": "A token of the Service's tokens file"}

_BORDER = (ExecutionContext, Observation, ObservationBatch, ProblemDetails)
_NEVER = ("HTTPValidationError", "ValidationError")
"""Answers that the framework would give for parameters that are no texts, of which there are none."""

_REF = "#/components/schemas/{model}"


def ref(name: str) -> Document:
    """A reference to a schema of the document."""
    return {"$ref": _REF.format(model=name)}


def body(model: str, example: Document) -> Document:
    """A JSON request body."""
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": ref(model), "example": example}}}
    }


def batch_body() -> Document:
    """A batch as JSON or NDJSON."""
    lines: Document = {"schema": {"type": "string", "description": "One Observation a line"}}
    found = body("ObservationBatch", {"observations": [OBSERVATION]})
    found["requestBody"]["content"][MEDIA_NDJSON] = lines
    return found


def problems(*statuses: int) -> dict[int | str, Document]:
    """The error answers of a route. Where a token is asked for, a name of loopback is if there are no tokens."""
    other_sites = {403, 421} if 401 in statuses else set()
    return {status: _problem(status) for status in sorted({*statuses, *other_sites, 405, 500})}


def _problem(status: int) -> Document:
    kinds = [kind for kind in KINDS if kind.status == status]
    kind = UNKNOWN_ATTRIBUTOR if status == UNKNOWN_ATTRIBUTOR.status else kinds[0]
    example = {"type": PROBLEM_TYPE + kind.name, "title": kind.title, "status": status, "detail": kind.title + "."}
    found: Document = {
        "description": "; ".join(f"{kind.title} (`{kind.name}`)" for kind in kinds),
        "content": {MEDIA_PROBLEM: {"schema": ref("ProblemDetails"), "example": example}},
    }
    if status in {429, 503}:
        found["headers"] = RETRY_AFTER
    if status == 401:
        found["headers"] = CHALLENGE
    return found


def completed(document: Document, extra: tuple[type[BaseModel], ...], with_tokens: bool) -> Document:
    """The document with the schemas of what requests carry, and how to show a token."""
    wanted = [(model, "validation") for model in (*_BORDER, *extra)]
    _, found = models_json_schema(wanted, ref_template=_REF)  # type: ignore[arg-type]
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name, schema in found["$defs"].items():
        schemas.setdefault(name, schema)
    for name in _NEVER:
        schemas.pop(name, None)
    for calls in document["paths"].values():
        for call in calls.values():
            if MEDIA_PROBLEM not in call["responses"].get("422", {}).get("content", {MEDIA_PROBLEM: {}}):
                del call["responses"]["422"]
    components["schemas"] = dict(sorted(schemas.items()))
    components["securitySchemes"] = {"bearer": BEARER}
    if with_tokens:
        document["security"] = [{"bearer": []}]
    return document
