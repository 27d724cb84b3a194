"""Reads the table of NVSwitch errors. It is read once, when it is first asked for."""

from functools import cache
from importlib import resources
from typing import Any

import msgspec


@cache
def sxids() -> Any:
    """The content of `sxid.json` beside this file. Callers share it and must not change it."""
    return msgspec.json.decode(resources.files(__name__).joinpath("sxid.json").read_bytes())
