"""Reads the table of NVSwitch errors. It is read once, when it is first asked for."""

from functools import cache
from importlib import resources
from typing import Any

import yaml


@cache
def sxids() -> Any:
    """The content of `sxid.yaml` beside this file. Callers share it and must not change it."""
    text = resources.files(__name__).joinpath("sxid.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=yaml.CSafeLoader)
