"""A transport carries one request to a cluster's API and its answer back."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from attribution.blueprint.connectors.base import Halted, never


class Transport(Protocol):
    """How the API of a cluster is reached. Safe to be used by several threads at once."""

    @property
    def name(self) -> str:
        """How messages name it."""

    def send(
        self,
        path: str,
        query: Mapping[str, str],
        body: bytes | None = None,
        *,
        secs: float,
        idle: bool = False,
        halted: Halted = never,
    ) -> Iterator[bytes]:
        """The bytes of the answer to a GET, or with a body to a POST, as they come.

        `secs` is how long the whole answer may take, or with `idle` how long each piece of it. An answer that is a
        refusal, or that breaks off, raises ClusterError: from a stream that was begun, too.
        """

    def close(self) -> None:
        """Give back what is held open."""
