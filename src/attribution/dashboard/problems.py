"""What went wrong with a request is told with a remedy: as a page to people, as problem details to programs."""

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from attribution.contracts.exchange import MEDIA_PROBLEM, PROBLEM_TYPE, ProblemDetails, ProblemItem
from attribution.dashboard.rendering import page
from attribution.presentation.columns import clip

MAX_TEXT = 300
"""Columns of a reader's own text that an answer repeats."""

_TITLES = {
    400: ("invalid-request", "The address is not valid"),
    401: ("unauthorized", "A token is needed"),
    403: ("forbidden", "Not allowed"),
    404: ("not-found", "There is no such page"),
    405: ("method-not-allowed", "These pages can only be read"),
    421: ("wrong-host", "This is not the address of these pages"),
    500: ("internal-error", "The page could not be made"),
    503: ("store-unavailable", "The store does not answer"),
}


class WebProblem(Exception):
    """Ends a request. `detail` is one sentence; `items` name each thing that is wrong."""

    def __init__(
        self,
        status: int,
        detail: str,
        items: Sequence[ProblemItem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.items = tuple(items)
        self.headers = dict(headers or {})


def shown(text: str, columns: int = MAX_TEXT) -> str:
    """A reader's own text as an answer may repeat it: printable, bounded."""
    return clip(text, columns)


def wants_json(request: Request) -> bool:
    """Whether a program asks: by the suffix of the path, or because it accepts JSON and not HTML."""
    accepted = request.headers.get("accept", "")
    return request.url.path.endswith(".json") or ("json" in accepted and "html" not in accepted)


def answer(request: Request, problem: WebProblem) -> Response:
    """The answer that tells a problem."""
    kind, title = _TITLES.get(problem.status, ("error", "The request failed"))
    if not wants_json(request):
        html = page("problem.html", status=problem.status, title=title, detail=problem.detail, items=problem.items)
        return HTMLResponse(html, problem.status, problem.headers)
    details = ProblemDetails(
        type=PROBLEM_TYPE + kind,
        title=title,
        status=problem.status,
        detail=problem.detail,
        instance=shown(request.url.path),
        problems=problem.items,
    )
    return Response(details.model_dump_json(exclude_none=True), problem.status, problem.headers, MEDIA_PROBLEM)
