"""An attempt as bytes, so that another process can work on it later."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter

from attribution.blueprint.attempt import Attempt

_ADAPTER = TypeAdapter(Attempt)


def to_document(attempt: Attempt) -> bytes:
    """All of an attempt, the same bytes for the same attempt. Paths become absolute: others have another folder."""
    if attempt.bundle is not None:
        attempt = replace(attempt, bundle=replace(attempt.bundle, path=attempt.bundle.path.absolute()))
    # JSON of pydantic's own does not keep what a log may hold, such as half a surrogate pair
    return json.dumps(_ADAPTER.dump_python(attempt), separators=(",", ":"), default=_plain).encode()


def from_document(document: bytes) -> Attempt:
    """The attempt that `to_document` wrote. Raises ValueError."""
    return _ADAPTER.validate_python(json.loads(document))


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that a document holds")
