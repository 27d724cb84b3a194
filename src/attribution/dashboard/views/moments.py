"""A moment as a page writes it: for people to the second or the minute in UTC, for programs as an instant."""

from datetime import UTC, datetime


def instant(at: datetime) -> str:
    """What stands in `datetime` of a `<time>`: `2026-05-04T03:06:58+00:00`."""
    return at.astimezone(UTC).isoformat(timespec="seconds")


def second(at: datetime) -> str:
    """`2026-05-04 03:06:58`, as tables show it."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds")


def minute(at: datetime) -> str:
    """`2026-05-04 03:06`, where a second says too much."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "minutes")
