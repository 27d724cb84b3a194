"""The result that a page is about: of the reader's own tenant, or there is none."""

import re

from starlette.requests import Request

from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.access import reader_of
from attribution.dashboard.problems import WebProblem, shown
from attribution.store.queries import get_result

_KEY = re.compile(r"[0-9a-f]{32}")


def result_of(request: Request) -> AttributionBlueprintResult:
    """The result that the path names. Raises WebProblem 404."""
    key = request.path_params["key"]
    found = get_result(request.app.state.store, key, reader_of(request).tenant) if _KEY.fullmatch(key) else None
    if found is None:
        raise WebProblem(404, f"No attempt is known by `{shown(key, 60)}`. It may never have been diagnosed here.")
    return found
