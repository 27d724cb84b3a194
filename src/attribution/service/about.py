"""The routes that tell of the Service itself: its catalog, its plan, its health and its metrics."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from attribution.contracts.exchange import (
    CatalogSnapshot,
    CatalogState,
    Health,
    RuleDescription,
    SymptomList,
)
from attribution.contracts.plan import CollectionPlan
from attribution.service.core import service_of
from attribution.service.documents import problems
from attribution.service.meters import MEDIA_METRICS
from attribution.service.problems import NOT_FOUND, NOT_READY, ServiceProblem, printable
from attribution.service.v2 import json_answer

router = APIRouter()


@router.get(
    "/v2/catalog",
    tags=["catalog"],
    summary="The catalog in use, and its last reload",
    response_model=CatalogState,
    responses=problems(401),
)
async def catalog(request: Request) -> Response:
    """If a reload failed, `last_reload` says why, and the catalog before it stays in use."""
    return json_answer(service_of(request).rulebook.state())


@router.get(
    "/v2/catalog/snapshot",
    tags=["catalog"],
    summary="All rules and symptoms; the same digest always has the same content",
    response_model=CatalogSnapshot,
    responses=problems(401),
)
async def catalog_snapshot(request: Request) -> Response:
    """What the catalog says of itself, to be kept by its digest."""
    return json_answer(service_of(request).rulebook.rules.snapshot)


@router.get(
    "/v2/catalog/rules/{rule_id}",
    tags=["catalog"],
    summary="The manual of one rule",
    response_model=RuleDescription,
    responses=problems(401, 404),
)
async def rule(request: Request, rule_id: str) -> Response:
    """`rule_id` is an id, such as `XID001`, or the name of a rule."""
    rules = service_of(request).rulebook.rules
    found = rules.sets.catalog.rule(rule_id)
    if found is None:
        raise ServiceProblem(NOT_FOUND, f"There is no rule `{printable(rule_id)}`; GET /v2/catalog lists them.")
    return json_answer(next(item for item in rules.snapshot.rules if item.id == found.info.id))


@router.get(
    "/v2/catalog/symptoms",
    tags=["catalog"],
    summary="The registry of symptoms",
    response_model=SymptomList,
    responses=problems(401),
)
async def symptoms(request: Request) -> Response:
    """Every symptom that a rule can emit, with its role and the sub_domain of its cause."""
    snapshot = service_of(request).rulebook.rules.snapshot
    return json_answer(SymptomList(catalog=snapshot.catalog, symptoms=snapshot.symptoms))


@router.get(
    "/v2/collection-plan",
    tags=["catalog"],
    summary="What evidence the catalog can use",
    response_model=CollectionPlan,
    responses=problems(401),
)
async def collection_plan(request: Request) -> Response:
    """Literals and metrics for connectors to push down: a line that holds none of them cannot match any rule."""
    return json_answer(service_of(request).rulebook.rules.plan)


@router.get(
    "/v2/healthz",
    tags=["operation"],
    summary="Whether the process answers",
    response_model=Health,
    responses=problems(),
)
async def healthz() -> Response:
    """Needs no token."""
    return json_answer(Health())


@router.get(
    "/v2/readyz",
    tags=["operation"],
    summary="Whether requests should be sent here",
    response_model=Health,
    responses=problems(503),
)
async def readyz(request: Request) -> Response:
    """Not while the Service is stopping, nor while its store does not answer. Needs no token."""
    service = service_of(request)
    if service.stopping:
        raise ServiceProblem.later(NOT_READY, "The Service is stopping.", 5)
    await service.run(service.open_sessions)  # a store that does not answer is told as such
    return json_answer(Health())


@router.get(
    "/metrics",
    tags=["operation"],
    summary="Metrics in the Prometheus text format",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems(401, 503)},
)
async def metrics(request: Request) -> Response:
    """Needs a token where there are any, unless `metrics_open_on_loopback` is set and the caller is on this machine."""
    service = service_of(request)
    service.meters.sessions.set(await service.run(service.open_sessions))
    return Response(service.meters.text(), media_type=MEDIA_METRICS)
