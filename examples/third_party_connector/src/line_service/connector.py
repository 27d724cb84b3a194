"""Asks a line service, an imaginary one, for the system logs of each node.

`GET /lines?host=node-01&from=2026-05-04T03:00:00Z&to=...&after=120` answers `{"lines": ["..."], "next": 240}`: the
lines of one host in the order in which they were written, in pages; `next` is null on the last one.
"""

from collections.abc import Iterator

import msgspec
from pydantic import Field

from attribution.blueprint.attempt import Attempt, asked_window
from attribution.blueprint.connectors.base import ConnectorError, Kind
from attribution.blueprint.connectors.http import Call, HttpCollector, HttpSettings, Partial, Question
from attribution.contracts.observation import Observation, Window
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Source

PIECE_CHARACTERS = 1 << 20


class Page(msgspec.Struct, forbid_unknown_fields=True):
    """One page of lines."""

    lines: list[str]
    next: int | None


class LineServiceSettings(HttpSettings):
    """Where the service is, and how much is taken from it."""

    pages: int = Field(default=1000, ge=1, description="pages that are read of one node")


class LineService(HttpCollector[LineServiceSettings]):
    """Collects the system logs of each node from a line service."""

    kind = Kind.LOGS
    Settings = LineServiceSettings

    @property
    def sources(self) -> frozenset[Source]:
        """System logs."""
        return frozenset({Source.SYSLOG})

    def check(self) -> str:
        """Read one page of a host that there is not."""
        call = self.call()
        page = _page(call, {"host": "check", "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:01Z"})
        return f"is answered by {self.http.address} with {len(page.lines)} lines"

    def questions(self, attempt: Attempt, plan: CollectionPlan) -> Iterator[Question]:
        """One for each node."""
        window = asked_window(attempt.context, plan.margin_secs)
        for node in attempt.context.nodes:

            def ask(call: Call, host: str = node.name) -> Iterator[Observation]:
                return self._lines(call, host, window)

            yield Question(Source.SYSLOG, (node.name,), ask, window=window)

    def _lines(self, call: Call, host: str, window: Window | None) -> Iterator[Observation]:
        if window is None:
            raise ConnectorError("the context does not say when the attempt ran")
        asked = {"host": host, "from": window.start.isoformat(), "to": window.end.isoformat()}
        offset = line = 0
        after: int | None = 0
        for _ in range(self.settings.pages):
            page = _page(call, {**asked, "after": str(after)})
            text = "".join(f"{text}\n" for text in page.lines)
            for start in range(0, len(text), PIECE_CHARACTERS):
                body = text[start : start + PIECE_CHARACTERS]
                yield Observation(
                    source=Source.SYSLOG, node=host, stream="lines", offset=offset, first_line=line, body=body
                )
                offset, line = offset + len(body.encode()), line + body.count("\n")
            if page.next is None:
                return
            after = page.next
        raise Partial(f"more than {self.settings.pages} pages; the rest was not read")


def _page(call: Call, asked: dict[str, str]) -> Page:
    body = call.get("/lines", asked).body
    try:
        return msgspec.json.decode(body, type=Page)
    except msgspec.DecodeError as error:
        raise ConnectorError(f"sent what is no page of lines: {error}") from None
