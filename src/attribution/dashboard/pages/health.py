"""Whether the pages are alive, and whether their store answers: for whatever watches over them."""

from sqlalchemy import select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from attribution.store.schema import results


async def alive(request: Request) -> Response:
    """Answered as long as the process runs."""
    return JSONResponse({"status": "ok"})


def ready(request: Request) -> Response:
    """Answered if the store can be read; else 503."""
    with request.app.state.store.read() as connection:
        connection.execute(select(results.c.id).order_by(results.c.at.desc()).limit(1)).all()
    return JSONResponse({"status": "ok"})


ROUTES = (Route("/healthz", alive), Route("/readyz", ready))
