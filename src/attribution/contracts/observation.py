"""An Observation is one bounded piece of evidence of one attempt."""

import hashlib
from functools import cached_property

from pydantic import Field

from attribution.contracts.base import Instant, Strict
from attribution.contracts.vocabulary import Format, Source, Status


class Window(Strict):
    """The span of time that was asked for."""

    start: Instant
    end: Instant


class Clock(Strict):
    """How to read stamps that do not say it themselves."""

    zone: str | None = Field(default=None, description="IANA name or ±HH:MM of stamps that carry no offset")
    year: int | None = Field(default=None, ge=1970, le=9999, description="year of stamps that carry none")
    boot_time: Instant | None = Field(default=None, description="when second 0 of kernel stamps was")


class Observation(Strict):
    """A run of log lines, a range of a metric, a scheduler record or a dump.

    `offset` and `first_line` place the body within its stream: bytes and lines (0-based) of the decoded text, the
    index of the first entry for Loki. A source that had nothing, or refused, is still one observation with an empty
    body and a `status`: only so can the diagnosis say what was not examined.
    """

    source: Source
    format: Format = Format.TEXT
    node: str | None = None
    node_is_guess: bool = Field(default=False, description="only the file's own name or content says whose it is")
    rank: int | None = Field(default=None, ge=0)
    stream: str = Field(default="", description="file name, stdout or stderr")
    offset: int = Field(default=0, ge=0)
    first_line: int = Field(default=0, ge=0)
    window: Window | None = None
    clock: Clock | None = None
    body: str = ""
    truncated: bool = False
    status: Status = Status.OK
    reason: str | None = None

    @cached_property
    def digest(self) -> str:
        """Names the content: where it stands, its body, how to read it and what was said of it. 32 hexadecimal digits.

        Only the window that was asked for is left out: it changes nothing that a diagnosis says.
        """
        clock = self.clock and (
            self.clock.zone,
            self.clock.year,
            self.clock.boot_time and self.clock.boot_time.isoformat(),
        )
        place = (self.source.value, self.node, self.node_is_guess, self.rank, self.stream, self.offset)
        reading = (self.format.value, self.first_line, clock)
        told = (self.truncated, self.status.value, self.reason)
        digest = hashlib.blake2b(repr((place, reading, told)).encode(), digest_size=16)
        digest.update(self.body.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()
