"""The Service as an ASGI application: its parts are put together, and its routes added."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from anyio import CapacityLimiter
from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from starlette.exceptions import HTTPException

import attribution
from attribution.configuration.tokens import Tokens, load_tokens
from attribution.diagnosis.verify import verify
from attribution.service import about, documents, manual, v1, v2
from attribution.service.attributing import Attributing
from attribution.service.core import STORE_THREADS, Service, unknown
from attribution.service.logs import logger
from attribution.service.meters import Meters
from attribution.service.problems import (
    DAMAGED,
    INVALID,
    KINDS,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    STORE,
    Kind,
    ServiceProblem,
    answer,
)
from attribution.service.rulebook import LoadRules, Rulebook, VerifyRules
from attribution.service.settings import ServiceSettings
from attribution.service.v1_models import ObservationRequest, OpenRequest
from attribution.service.watch import Watch
from attribution.store.faults import StoreDamaged, StoreUnavailable
from attribution.store.sessions import SessionGone, Sessions

RETRY_STORE_SECS = 5

DESCRIPTION = """Tells why a distributed AI workload failed.

Open a session for one workload attempt, submit what you have of its logs, metrics and scheduler records, in any order
and as often as you like, and ask for the diagnosis at any time. The same evidence gives the same bytes. Every error is
problem details (RFC 9457) with a stable `type`.
"""
TAGS = [
    {"name": "sessions", "description": "Evidence in, a diagnosis out."},
    {"name": "catalog", "description": "The rules that are asked."},
    {"name": "operation", "description": "For those who run the Service."},
    {"name": "version 1", "description": "For existing clients; new ones use version 2."},
]


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def create_app(
    load_rules: LoadRules,
    settings: ServiceSettings,
    sessions: Sessions,
    clock: Callable[[], datetime] = utc_now,
    verify_rules: VerifyRules = verify,
) -> FastAPI:
    """The application over an open store. `app.state.service` holds its parts.

    Loads the rules and runs their cases. Raises ConfigurationError if they cannot be loaded, a case does not hold
    (R035), or the tokens file is wrong (V001 to V004).
    """
    tokens = load_tokens(settings.tokens_file) if settings.tokens_file else Tokens()
    rulebook, meters = Rulebook(load_rules, verify_rules), Meters()
    meters.uses(rulebook.rules.identity)
    threads = CapacityLimiter(STORE_THREADS)
    attributing = Attributing(sessions, rulebook, settings.limits, settings.cache_bytes, meters, threads)
    service = Service(settings, sessions, rulebook, attributing, meters, clock, tokens, threads)
    app = FastAPI(
        title="Attribution Service",
        version=attribution.__version__,
        description=DESCRIPTION,
        openapi_tags=TAGS,
        openapi_url=None,  # `manual` answers it, off the event loop
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        redirect_slashes=False,
    )
    app.state.service = service
    for router in (v2.router, about.router, v1.router, manual.router):
        app.include_router(router)
    for error, handler in _HANDLERS.items():
        app.add_exception_handler(error, handler)
    app.add_middleware(Watch, service=service)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.stopping = False
    sweep = asyncio.create_task(_sweep(service))
    try:
        yield
    finally:
        service.stopping = True
        sweep.cancel()
        await asyncio.gather(sweep, return_exceptions=True)
        service.attributing.close()


async def _sweep(service: Service) -> None:
    """Delete sessions that are over, again and again."""
    while True:
        try:
            count = await service.run(service.sessions.expire, service.clock())
            if count:
                logger().info("sessions expired", count=count)
        except Exception as error:  # the next sweep may do better
            logger().warning("sessions not expired", error=type(error).__name__)
        await asyncio.sleep(service.settings.sweep_secs)


# --- errors ---------------------------------------------------------------------------------------------------------


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceProblem)
    return answer(request, error)


async def _gone(request: Request, error: Exception) -> Response:
    return answer(request, unknown(str(error)))


async def _store(request: Request, error: Exception) -> Response:
    assert isinstance(error, StoreUnavailable)
    logger().error("the session store does not answer", reason=error.problems[0].message)
    return answer(request, ServiceProblem.later(STORE, "The session store does not answer.", RETRY_STORE_SECS))


async def _damaged(request: Request, error: Exception) -> Response:
    logger().error("the session store is damaged", reason=str(error))
    detail = "What the session store holds is damaged; the Service's log tells more."
    return answer(request, ServiceProblem(DAMAGED, detail))


async def _http(request: Request, error: Exception) -> Response:
    """What the router itself refuses: an unknown path, a method that is not there."""
    assert isinstance(error, HTTPException)
    kind: Kind = next((kind for kind in KINDS if kind.status == error.status_code), INVALID)
    if error.status_code == NOT_FOUND.status:
        problem = ServiceProblem(NOT_FOUND, "There is nothing at this path; /openapi.json tells what there is.")
    elif error.status_code == METHOD_NOT_ALLOWED.status:
        problem = ServiceProblem(METHOD_NOT_ALLOWED, "The method is not allowed here.", headers=error.headers)
    else:
        problem = ServiceProblem(kind, kind.title + ".", headers=error.headers)
    return answer(request, problem)


Handler = Callable[[Request, Exception], Awaitable[Response]]
_HANDLERS: dict[type[Exception], Handler] = {
    ServiceProblem: _problem,
    SessionGone: _gone,
    StoreUnavailable: _store,
    StoreDamaged: _damaged,
    HTTPException: _http,
}


# --- the document ---------------------------------------------------------------------------------------------------


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            tags=app.openapi_tags,
        )
        with_tokens = bool(app.state.service.tokens)
        app.openapi_schema = documents.completed(document, (OpenRequest, ObservationRequest), with_tokens)
    return app.openapi_schema
