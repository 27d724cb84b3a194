"""A cache keeps what takes long to make. The engine touches no files: it is handed one."""

from collections.abc import Callable

Cache = Callable[[str, Callable[[], bytes]], bytes]
"""Answers the bytes kept under a name, or makes and keeps them. What making raises, it raises too."""


def no_cache(_name: str, make: Callable[[], bytes]) -> bytes:
    """Keeps nothing."""
    return make()
