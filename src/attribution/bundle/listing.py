"""A bundle may list what file names and contents cannot say of its streams, in `streams.yaml`."""

from pydantic import Field

from attribution.bundle.evidence import StreamKey
from attribution.contracts.base import Strict
from attribution.contracts.observation import Clock
from attribution.contracts.vocabulary import Format, Source, Status

FILE_NAME = "streams.yaml"


class ListedSegment(Strict):
    """One file of a stream and where its bytes stand in it: `offset` in bytes, `first_line` 0-based."""

    file: str = Field(description="path within the bundle, with `/`")
    offset: int = Field(default=0, ge=0)
    first_line: int = Field(default=0, ge=0)


class ListedStream(Strict):
    """One stream as it was before it was written to files."""

    source: Source
    node: str | None = None
    rank: int | None = Field(default=None, ge=0)
    stream: str = ""
    format: Format = Format.TEXT
    status: Status = Status.OK
    reason: str | None = None
    truncated: bool = False
    clock: Clock | None = None
    node_is_guess: bool = False
    segments: tuple[ListedSegment, ...] = ()

    def key(self) -> StreamKey:
        """The name of the stream."""
        return StreamKey(self.source, self.node, self.rank, self.stream)


class Listing(Strict):
    """The streams whose files do not say it all. A file that is not listed speaks for itself."""

    streams: tuple[ListedStream, ...] = ()
