"""What is stored compressed reads back as it was, within the size it was stored with."""

import json
from datetime import datetime
from typing import TypeVar

import zstandard
from pydantic import BaseModel, ValidationError

from attribution.store.faults import damaged

M = TypeVar("M", bound=BaseModel)


def pack(data: bytes) -> bytes:
    """The bytes as one zstd frame."""
    return zstandard.ZstdCompressor(level=3).compress(data)


def unpack(frame: bytes, size: int, what: str) -> bytes:
    """The bytes of a frame that holds `size` of them. Raises StoreDamaged if it holds more, fewer or garbage."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(frame) as reader:
            data = reader.read(size + 1)
    except zstandard.ZstdError:
        raise damaged(what) from None
    if len(data) != size:
        raise damaged(what)
    return data


def to_json(model: BaseModel, exclude: set[str] | None = None) -> str:
    """ASCII JSON of a model: what no database takes as text, such as NUL or half a surrogate pair, is escaped."""
    # pydantic's own JSON form puts other characters in the place of such halves where they stand in keys
    return json.dumps(model.model_dump(exclude=exclude), separators=(",", ":"), default=datetime.isoformat)


def from_json(text: str | bytes, model: type[M]) -> M:
    """The model that `to_json` wrote."""
    try:
        return model.model_validate_json(text)
    except ValidationError:  # half a surrogate pair, which this reader refuses
        return model.model_validate(json.loads(text))
