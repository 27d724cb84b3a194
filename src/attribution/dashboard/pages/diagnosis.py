"""The diagnosis of one attempt: a page, the whole result as JSON, and Markdown for a ticket."""

import re

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.access import reader_of
from attribution.dashboard.pages.results import result_of
from attribution.dashboard.rendering import page
from attribution.dashboard.views import links
from attribution.dashboard.views.diagnosis import diagnosis_view, lead_causes
from attribution.dashboard.views.seen import SAME_DEVICE, SeenRow, seen_rows
from attribution.presentation import delivery
from attribution.presentation import markdown as as_markdown
from attribution.presentation.answer import Answer
from attribution.store.history import seen_before
from attribution.store.queries import get_row
from attribution.store.units import Pcis


def html(request: Request) -> Response:
    """The page."""
    result, key, now = result_of(request), request.path_params["key"], request.app.state.clock()
    return HTMLResponse(page("diagnosis.html", view=diagnosis_view(result, key, _seen(request, result), now)))


def json(request: Request) -> Response:
    """The AttributionBlueprintResult, whole."""
    return Response(result_of(request).model_dump_json(), media_type="application/json")


def markdown(request: Request) -> Response:
    """The diagnosis as Markdown, with its pages under the address that was asked: a ticket is read elsewhere."""
    result, key = result_of(request), request.path_params["key"]
    text = as_markdown.render(result.diagnosis) + "\n".join([*delivery.as_markdown(result), ""])
    if origin := _origin(request):
        found = [(title, origin + address) for title, address in _pages(key, result)]
        text += "\n".join(["", *as_markdown.pages(found), ""])
    return Response(text.encode("utf-8", "replace"), media_type="text/markdown")


_HOST = re.compile(r"(?:[0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)
_HOST_CHARS = 260
"""More than a name of the DNS and a port can have."""


def _origin(request: Request) -> str:
    """Where the reader found these pages, such as `https://attribution.example`; empty where that is not told."""
    host = request.headers.get("host", "")
    return f"{request.url.scheme}://{host}" if len(host) <= _HOST_CHARS and _HOST.fullmatch(host) else ""


def _pages(key: str, result: AttributionBlueprintResult) -> list[tuple[str, str]]:
    """What a reader of a ticket may want to open, with its address."""
    answer = Answer(result.diagnosis)
    found = [("the diagnosis", links.attempt(key)), ("how it was decided", links.decided(key))]
    decisive = [item for block in answer.blocks() for item in block.evidence]
    found += [("the decisive line", links.evidence(key, item.id)) for item in decisive[:1]]
    return [*found, ("the evidence as a bundle", links.excerpt(key))]


def _seen(request: Request, result: AttributionBlueprintResult) -> tuple[SeenRow, ...]:
    """What was seen before of the causes that count first, each thing once; nothing where none is named."""
    store, tenant = request.app.state.store, reader_of(request).tenant
    causes = lead_causes(Answer(result.diagnosis))
    row = get_row(store, request.path_params["key"], tenant) if causes else None
    if row is None:
        return ()
    told: dict[tuple[str, str], SeenRow] = {}
    pcis = Pcis(result.context)
    for cause in causes:
        found = seen_before(
            store, tenant, cause.node, cause.device, cause.symptom, row.at, cluster=row.cluster, pcis=pcis
        )
        for item in seen_rows(found, cause, row, pcis):
            told.setdefault((item.what, item.name if item.what != SAME_DEVICE else item.href), item)
    return tuple(told.values())


ROUTES = (
    Route("/attempts/{key}.json", json),
    Route("/attempts/{key}.md", markdown),
    Route("/attempts/{key}", html),
)
