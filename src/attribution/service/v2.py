"""The routes of version 2: sessions, observations and attributions."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from attribution.contracts.context import ExecutionContext
from attribution.contracts.exchange import (
    MEDIA_NDJSON,
    Attribution,
    BatchAnswer,
    ObservationAnswer,
    SessionOpened,
    SessionState,
)
from attribution.service import documents
from attribution.service.attributing import Attributed
from attribution.service.core import Service, service_of, tenant_of
from attribution.service.documents import problems
from attribution.service.problems import FORBIDDEN, TOO_MANY, ServiceProblem, printable
from attribution.service.reading import MEDIA_JSON, Body, read_batch, read_context
from attribution.store.sessions import Session

router = APIRouter(prefix="/v2/attributors", tags=["sessions"])
RETRY_SESSIONS_SECS = 60


def json_answer(model: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A model as the answer."""
    return Response(model.model_dump_json(), status, headers, MEDIA_JSON)


@router.post(
    "",
    summary="Open a session for a workload attempt",
    response_model=SessionOpened,
    response_description="The session; the same one as before if this attempt has one already",
    responses=problems(400, 401, 403, 408, 413, 415, 422, 429, 503),
    openapi_extra=documents.body("ExecutionContext", documents.CONTEXT),
)
async def open_session(request: Request) -> Response:
    """The same tenant, cluster, workload and attempt get the same session, and its context is replaced.

    A session ends when it is deleted, or 24 hours (a setting) after the last call that named it.
    """
    service, tenant = service_of(request), tenant_of(request)
    context = await service.opening(request, read_context, service.settings.limits)
    session = await opened(service, context, tenant)
    answer = SessionOpened(
        attributor_id=session.id,
        expires_at=session.expires_at,
        catalog=service.rulebook.rules.identity,
        tenant=session.tenant,
    )
    return json_answer(answer)


async def opened(service: Service, context: ExecutionContext, tenant: str | None) -> Session:
    """The session of a context. ServiceProblem: 403 for another tenant's, 429 if the tenant has too many."""
    if tenant is not None and context.tenant not in {None, tenant}:
        detail = f"The token is of tenant `{tenant}`, the context of tenant `{printable(context.tenant)}`."
        raise ServiceProblem(FORBIDDEN, detail)
    owner = tenant if tenant is not None else context.tenant
    limit, now = service.settings.limits.tenant_sessions, service.clock()
    session = await service.run(service.sessions.open, context, owner, now, service.settings.idle_secs, limit)
    if session is None:
        detail = f"The tenant has {limit} open sessions; end some, or wait until they expire."
        raise ServiceProblem.later(TOO_MANY, detail, RETRY_SESSIONS_SECS)
    return session


@router.post(
    "/{attributor_id}/observations",
    summary="Submit a batch of observations",
    response_model=BatchAnswer,
    response_description="What became of each; what is accepted or duplicate is durable",
    responses=problems(400, 401, 404, 408, 413, 415, 422, 503),
    openapi_extra=documents.batch_body(),
)
async def submit(request: Request, attributor_id: str) -> Response:
    """Idempotent: an observation that is there already is a `duplicate`. One that is wrong, contradicts what is held
    or is over a limit is `rejected` with the reason, and the others of the batch are accepted all the same.

    The body is JSON, or NDJSON with one observation a line; gzip and zstd content encodings are read.
    """
    service, tenant = service_of(request), tenant_of(request)
    session = await service.session(attributor_id, tenant)
    return json_answer(await service.taken(request, [MEDIA_JSON, MEDIA_NDJSON], _submit, service, session))


def _submit(service: Service, session: Session, body: Body) -> BatchAnswer:
    batch = read_batch(body, service.settings.limits)
    kept = service.sessions.add(session, batch.observations, service.clock(), service.limits)
    return counted(service, (*batch.refused, *kept))


def counted(service: Service, answers: tuple[ObservationAnswer, ...]) -> BatchAnswer:
    """The answer to a batch, which the metrics count."""
    answer = BatchAnswer.of(answers)
    for outcome in ("accepted", "duplicate", "rejected"):
        service.meters.observations.labels(outcome).inc(getattr(answer, outcome))
    return answer


@router.get(
    "/{attributor_id}/attribution",
    summary="The diagnosis over everything accepted so far",
    response_model=Attribution,
    responses={
        200: {"headers": documents.ETAG},
        304: {"description": "The diagnosis is still the one named by `If-None-Match`", "headers": documents.ETAG},
        **problems(401, 404, 503),
    },
    openapi_extra={"parameters": [documents.IF_NONE_MATCH]},
)
async def attribution(request: Request, attributor_id: str) -> Response:
    """`revision` grows only when the diagnosis changes. Asking never ends a session: submit more, ask again.

    `diagnosis` holds the bytes that `attribution diagnose --format json` prints for the same evidence.
    """
    service, tenant = service_of(request), tenant_of(request)
    found = await attributed(service, attributor_id, tenant)
    if _is_known(request.headers.get("if-none-match", ""), found.etag):
        return Response(status_code=304, headers={"ETag": found.etag})
    diagnosis = found.diagnosed.body.rstrip(b"\n")
    body = b'{"revision":%d,"diagnosis":%s}' % (found.revision, diagnosis)
    return Response(body, 200, {"ETag": found.etag}, MEDIA_JSON)


async def attributed(service: Service, attributor_id: str, tenant: str | None) -> Attributed:
    """The attribution of a session. ServiceProblem: 404, 503."""
    session = await service.session(attributor_id, tenant)
    return await service.attributing.attribute(session)


def _is_known(header: str, etag: str) -> bool:
    """Whether an `If-None-Match` header names this tag."""
    names = [name.strip().removeprefix("W/") for name in header.split(",")]
    return "*" in names or etag in names


@router.get(
    "/{attributor_id}",
    summary="What a session holds",
    response_model=SessionState,
    responses=problems(401, 404, 503),
)
async def state(request: Request, attributor_id: str) -> Response:
    """Counts of what was accepted, and the coverage: what was examined of each source, node and stream."""
    service, tenant = service_of(request), tenant_of(request)
    found = await attributed(service, attributor_id, tenant)
    session = await service.session(attributor_id, tenant)
    context = await service.run(service.sessions.context, session.id)
    content = await service.run(service.sessions.content, session.id)
    answer = SessionState(
        attributor_id=session.id,
        workload_id=context.workload_id,
        attempt=context.attempt,
        cluster=context.cluster,
        tenant=session.tenant,
        created_at=session.created_at,
        expires_at=session.expires_at,
        observations=content.count,
        bytes=content.bytes,
        revision=session.revision,
        coverage=found.diagnosed.diagnosis.coverage,
    )
    return json_answer(answer)


@router.delete(
    "/{attributor_id}",
    summary="End a session",
    status_code=204,
    response_description="Ended; what it held is deleted",
    responses=problems(401, 404, 503),
)
async def end(request: Request, attributor_id: str) -> Response:
    """Deletes everything that the session holds."""
    service, tenant = service_of(request), tenant_of(request)
    session = await service.session(attributor_id, tenant)
    await service.run(service.sessions.end, session.id)
    return Response(status_code=204)
