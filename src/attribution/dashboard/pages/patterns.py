"""Every component of these pages in every state, so that whoever changes the sheet sees what changes."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from attribution.dashboard.rendering import page
from attribution.dashboard.views.keys import read_keys
from attribution.dashboard.views.patterns import patterns_view


def html(request: Request) -> Response:
    """The page. It reads nothing from the store, and has no twin: it tells of no attempt."""
    read_keys(request.query_params.multi_items(), ())
    return HTMLResponse(page("patterns.html", view=patterns_view()))


ROUTES = (Route("/patterns", html),)
