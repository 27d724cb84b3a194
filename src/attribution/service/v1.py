"""The routes of version 1, for clients that exist. They share sessions with version 2."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import EvidenceError
from attribution.contracts.exchange import ProblemItem
from attribution.contracts.observation import Observation
from attribution.service import documents, payload
from attribution.service.core import Service, service_of, tenant_of
from attribution.service.documents import problems
from attribution.service.problems import INVALID, ServiceProblem, items_of, printable
from attribution.service.reading import (
    MEDIA_JSON,
    Body,
    context_value,
    read_model,
    refuse_all,
    refuse_nodes,
    refuse_values,
    unfit_context,
)
from attribution.service.v1_evidence import observation_of
from attribution.service.v1_models import (
    AttributionAnswer,
    ObservationAccepted,
    ObservationRequest,
    OpenAnswer,
    OpenRequest,
    answer_of,
    context_of,
    format_of,
    ignored_keys,
    source_of,
    window_of,
)
from attribution.service.v2 import attributed, counted, json_answer, opened
from attribution.store.sessions import Session

router = APIRouter(prefix="/latest/attributor", tags=["version 1"])

_OPEN = {
    "workload": {
        "id": "418201",
        "type": "slurm",
        "job_start_time": "2026-05-04T02:31:00Z",
        "job_end_time": "2026-05-04T03:17:26Z",
        "status": "FAILED",
        "nodes": ["node-01", "node-02"],
        "exit_code_signal": "1:0",
    },
    "metadata": {"cluster": "example"},
}
_OBSERVATION = {
    "context": {
        "time_interval": {"start": "2026-05-04T02:31:00Z", "end": "2026-05-04T03:17:26Z"},
        "resources": "AllJobResources",
        "source": "syslog",
        "format": "raw_loki_streams",
    },
    "body": '[{"stream": {"hostname": "node-02"}, "values": [["1777864018112000000", "{\\"body\\": \\"NVRM: Xid '
    '(PCI:0000:1b:00): 79, GPU has fallen off the bus.\\", \\"attributes\\": {\\"hostname\\": \\"node-02\\", '
    '\\"appname\\": \\"kernel\\", \\"facility\\": \\"kern\\"}}"]]}]',
}


@router.post(
    "",
    summary="Open a session",
    response_model=OpenAnswer,
    responses=problems(400, 401, 403, 408, 413, 415, 422, 429, 503),
    openapi_extra=documents.body("OpenRequest", _OPEN),
)
async def open_session(request: Request) -> Response:
    """Times are seconds since 1970 or ISO 8601. Keys that are not known are ignored."""
    service = service_of(request)
    context = await service.opening(request, _context, service)
    session = await opened(service, context, tenant_of(request))
    return json_answer(OpenAnswer(attributor_id=session.id))


def _context(service: Service, body: Body) -> ExecutionContext:
    limits = service.settings.limits
    value = context_value(limits, body)
    request = read_model(value, OpenRequest)
    refuse_nodes(request.workload.nodes, limits)
    for part, count in ignored_keys(value, OpenRequest).items():
        service.meters.v1_ignored_keys.labels(part).inc(count)
    try:
        context = context_of(request)
    except ValueError as error:
        raise _wrong(error) from None
    refuse_all(unfit_context(context))
    return context


def _wrong(error: ValueError) -> ServiceProblem:
    place, message = (printable(part) for part in error.args)
    item = ProblemItem(place=place, code="wrong-value", message=message)
    return ServiceProblem(INVALID, f"At {place}: {message}.", [item])


@router.post(
    "/{attributor_id}/observation",
    summary="Submit an observation",
    response_model=ObservationAccepted,
    responses=problems(400, 401, 404, 408, 413, 415, 422, 503),
    openapi_extra=documents.body("ObservationRequest", _OBSERVATION),
)
async def observe(request: Request, attributor_id: str) -> Response:
    """`body` is a text: of `raw_loki_streams` a JSON array of streams, of `prometheus_metrics` an answer of the query
    API or its `result`. The same observation gets the same `observation_id`, and counts once.
    """
    service = service_of(request)
    session = await service.session(attributor_id, tenant_of(request))
    return json_answer(await service.taken(request, [MEDIA_JSON], _observe, service, session))


def _observe(service: Service, session: Session, body: Body) -> ObservationAccepted:
    refuse_values(body, service.settings.limits)
    value = payload.read_json(body.data)
    request = read_model(value, ObservationRequest)
    for part, count in ignored_keys(value, ObservationRequest).items():
        service.meters.v1_ignored_keys.labels(part).inc(count)
    observation = _observation(request)
    kept = service.sessions.add(session, [(0, observation)], service.clock(), service.limits)
    (answer,) = counted(service, tuple(kept)).observations
    if answer.outcome == "rejected":
        reason = answer.reason or "rejected"
        raise ServiceProblem(INVALID, reason, [ProblemItem(place="/body", code="rejected", message=reason)])
    return ObservationAccepted(observation_id=observation.digest)


def _observation(request: ObservationRequest) -> Observation:
    try:
        source, form = source_of(request.context.source), format_of(request.context.format)
        return observation_of(source, form, request.body, window_of(request.context.time_interval))
    except EvidenceError as error:
        items = items_of(error)
        raise ServiceProblem(INVALID, f"The body {items[0].message}.", items) from None
    except ValueError as error:
        raise _wrong(error) from None


@router.get(
    "/{attributor_id}/attribution",
    summary="Which nodes to avoid",
    response_model=AttributionAnswer,
    responses=problems(401, 404, 503),
)
async def attribution(request: Request, attributor_id: str) -> Response:
    """Every node of the workload. Those that a recovery system may avoid have attributions; all others have none."""
    service, tenant = service_of(request), tenant_of(request)
    found = await attributed(service, attributor_id, tenant)
    session = await service.session(attributor_id, tenant)
    context = await service.run(service.sessions.context, session.id)
    nodes = tuple(node.name for node in context.nodes)
    return json_answer(answer_of(found.diagnosed.diagnosis, nodes))
