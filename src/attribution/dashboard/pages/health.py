"""Whether the pages are alive, and whether their store answers: for whatever watches over them."""

from sqlalchemy import text
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


async def alive(request: Request) -> Response:
    """Answered as long as the process runs."""
    return JSONResponse({"status": "ok"})


def ready(request: Request) -> Response:
    """Answered if the store is; else 503."""
    with request.app.state.store.read() as connection:
        connection.execute(text("SELECT 1"))
    return JSONResponse({"status": "ok"})


ROUTES = (Route("/healthz", alive), Route("/readyz", ready))
