"""Reads the tables that rules are made from. Each is read once, when it is first asked for."""

from functools import cache
from importlib import resources
from typing import Any

import msgspec

from attribution.extraction.decoders import nvlink5 as nvlink5_decoder
from attribution.extraction.decoders import nvlink_xid74 as xid74_decoder
from attribution.extraction.decoders import xid as xid_decoder


@cache
def table(name: str) -> Any:
    """The content of `<name>.json` beside this file. Callers share it and must not change it."""
    return msgspec.json.decode(resources.files(__name__).joinpath(f"{name}.json").read_bytes())


@cache
def xids() -> dict[int, xid_decoder.XidEntry]:
    """The Xid codes."""
    return xid_decoder.read_table(table("xid"))


@cache
def nvlink5() -> nvlink5_decoder.Table:
    """How the words of Xids 144 to 150 decode."""
    return nvlink5_decoder.read_table(table("nvlink5"))


@cache
def xid74() -> xid74_decoder.Table:
    """The bits of the registers that an Xid 74 prints."""
    return xid74_decoder.read_table(table("xid74"))
