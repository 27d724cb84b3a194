"""The result that a page is about: of the reader's own tenant, or there is none."""

import re
from collections.abc import Sequence

from starlette.requests import Request

from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.access import reader_of
from attribution.dashboard.problems import WebProblem, shown
from attribution.dashboard.views.keys import read_keys
from attribution.store.queries import get_result

_KEY = re.compile(r"[0-9a-f]{32}")


def result_of(request: Request, keys: Sequence[str] = ()) -> AttributionBlueprintResult:
    """The result that the path names, once the address is seen to have no other `keys`. Raises BadQuery, WebProblem."""
    read_keys(request.query_params.multi_items(), keys)
    key = request.path_params["key"]
    found = get_result(request.app.state.store, key, reader_of(request).tenant) if _KEY.fullmatch(key) else None
    if found is None:
        raise WebProblem(404, f"No attempt is known by `{shown(key, 60)}`. It may never have been diagnosed here.")
    return found
