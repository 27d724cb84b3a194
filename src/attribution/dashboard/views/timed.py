"""What the store answers as JSON takes it."""

from datetime import datetime
from typing import Any


def plain(value: Any) -> Any:
    """A value whose times are text, however deep they stand."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
