"""Coverage says what was asked of each source and what came back."""

from pydantic import Field

from attribution.contracts.base import Instant, Lenient
from attribution.contracts.vocabulary import Source, Status


class Gap(Lenient):
    """Bytes of a stream that no observation delivered. `end` is the offset where the next known byte lies."""

    start: int
    end: int


class CoverageLine(Lenient):
    """What was examined of one stream of one node."""

    source: Source
    node: str | None = None
    node_is_guess: bool = Field(default=False, description="only the file's own name or content says whose it is")
    rank: int | None = None
    stream: str = ""
    status: Status
    reason: str | None = None
    lines: int = 0
    bytes: int = 0
    first_at: Instant | None = None
    last_at: Instant | None = None
    gaps: tuple[Gap, ...] = ()
    truncated: bool = False
    unreadable: int = Field(default=0, description="bytes that were no valid text, or samples that were no number")
    long_lines: int = Field(default=0, description="lines over 1 MiB, examined in pieces")
    masked: int = Field(default=0, description="secrets hidden in the evidence that was kept")
    out_of_window: int = Field(default=0, description="events too early or too late to belong to the attempt")
