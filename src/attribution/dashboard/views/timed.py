"""What the store answers as JSON takes it."""

from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any


def plain(value: Any) -> Any:
    """A value as names and values, its times as text, however deep they stand."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    return value
