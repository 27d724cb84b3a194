"""Lines from a Loki server, by queries that a setting gives for each source."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice

import msgspec
from pydantic import Field, field_validator

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import ConnectorError, Kind
from attribution.blueprint.connectors.calls import Header, Refused, Why
from attribution.blueprint.connectors.http import Call, HttpCollector, HttpSettings, Partial, Question
from attribution.blueprint.connectors.logs import logql
from attribution.blueprint.connectors.logs.loki_pages import Entry, Labels, Pages
from attribution.blueprint.connectors.placeholders import values_of
from attribution.blueprint.connectors.windows import Span, known
from attribution.bundle.names import NodeNames
from attribution.bundle.walk import printable
from attribution.contracts.base import Strict
from attribution.contracts.context import MAX_RANK, ExecutionContext, Node
from attribution.contracts.observation import Observation, Window
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Source, Status

_CATEGORIZE = {"X-Loki-Response-Encoding-Flags": "categorize-labels"}
_NO_WRITER = frozenset({"level", "detected_level", "severity", "__error__", "__error_details__"})
"""Labels that differ from line to line of one writer."""
_PIECE_CHARACTERS = 1 << 20
_STREAM_CHARACTERS = 300
_HOUR_NS = 3600 * 10**9


class LokiQuery(Strict):
    """Which lines are of one source."""

    source: Source
    query: str = Field(description="LogQL with placeholders in its quoted values, such as `{node}` and `{job_id}`")
    push_down: bool | None = Field(default=None, description="ask only for lines that a rule can use")

    @field_validator("query")
    @classmethod
    def _usable(cls, value: str) -> str:
        if why := logql.why_wrong(value):
            raise ValueError(why)
        return value

    @property
    def is_filtered(self) -> bool:
        """Whether the catalog's literals are pushed down: if not said, for all but application logs.

        Their records have several lines, of which rules name one.
        """
        return self.source is not Source.APPLOG if self.push_down is None else self.push_down


class LokiSettings(HttpSettings):
    """Which server, whose lines, and how much of them."""

    tenant: Header | None = Field(default=None, description="value of `X-Scope-OrgID`; several are joined by `|`")
    queries: tuple[LokiQuery, ...] = Field(
        min_length=1,
        description="what to ask for each source: `source`, `query` in LogQL with placeholders such as `{node}` and "
        "`{job_id}` in its quoted values, and optionally `push_down`",
    )
    node_labels: tuple[str, ...] = Field(
        default=("node", "node_name", "nodename", "hostname", "host", "instance", "pod"),
        description="labels that name the node of a line, the most telling first",
    )
    rank_label: str | None = Field(default=None, description="label that holds the rank of a line")
    nodes_per_query: int = Field(default=50, ge=1, description="nodes that a query with `{nodes}` is of")
    page_lines: int = Field(default=5000, ge=1, description="lines of one page; the server has a limit of its own")
    lines: int = Field(default=2_000_000, ge=1, description="lines that are read for one query")
    end_lines: int = Field(
        default=100_000, ge=1, description="last lines that are read where there are more than `lines`"
    )
    slice_hours: int = Field(default=24, ge=1, description="hours that one query spans; longer times take several")
    filter_bytes: int = Field(default=60_000, ge=100, description="bytes of one filter that is pushed down")


class Loki(HttpCollector[LokiSettings]):
    """Asks a Loki server for the lines of each node, or of all nodes at once where a query names none."""

    kind = Kind.LOGS
    Settings = LokiSettings

    def own_headers(self) -> Mapping[str, str]:
        """The tenant, and that labels of lines are to be kept apart from those of streams."""
        return _CATEGORIZE | ({"X-Scope-OrgID": self.settings.tenant} if self.settings.tenant else {})

    @property
    def sources(self) -> frozenset[Source]:
        """The sources of the queries."""
        return frozenset(query.source for query in self.settings.queries)

    def check(self) -> str:
        """Ask for the labels of the last hours, and whether those that the queries name are among them."""
        now = datetime.now(UTC)
        params = {"start": str(_ns(now) - 6 * _HOUR_NS), "end": str(_ns(now))}
        try:
            body = self.call().get("/loki/api/v1/labels", params).body
        except Refused as error:
            raise _told(error) from None
        try:
            known = set(msgspec.json.decode(body, type=_Labels).data or [])
        except msgspec.DecodeError as error:
            raise ConnectorError(f"sent what is no answer of Loki: {error}") from None
        asked = {label for query in self.settings.queries for label in logql.labels(query.query)}
        if known and (missing := sorted(asked - known)):
            there = ", ".join(printable(name) for name in sorted(known)[:20])
            raise ConnectorError(f"has no label `{missing[0]}`, which a query asks for; the labels are {there}")
        return f"is answered by {self.http.address}, which has {len(known)} labels"

    def questions(self, attempt: Attempt, plan: CollectionPlan) -> Iterator[Question]:
        """One for each query and node, or one for each query that names no node."""
        window = Span.of(attempt.context, plan.margin_secs).window(datetime.now(UTC))
        literals = {part.source: part.literals for part in plan.sources}
        for query in self.settings.queries:
            filters = logql.filters(literals.get(query.source, ()), self.settings.filter_bytes)
            filters = filters if query.is_filtered else ()
            for nodes in self._groups(attempt.context, query):
                lines = _Lines(self.settings, attempt.context, query, nodes, filters, window)
                names = tuple(node.name for node in nodes) or (None,)
                yield Question(query.source, names, lines.ask, lines.nothing, window)

    def _groups(self, context: ExecutionContext, query: LokiQuery) -> Iterator[tuple[Node, ...]]:
        """The nodes that each query is of: one, many, or all."""
        named = logql.placeholders(query.query)
        size = (
            1 if logql.NODE in named else self.settings.nodes_per_query if logql.NODES in named else len(context.nodes)
        )
        for start in range(0, len(context.nodes), max(1, size)):
            yield context.nodes[start : start + size]
        if not context.nodes:
            yield ()


class _Labels(msgspec.Struct):
    status: str
    data: list[str] | None = None


class _Series(msgspec.Struct):
    status: str
    data: list[dict[str, str]] | None = None


def _told(error: Refused) -> Refused:
    if error.why is Why.DENIED and "no org id" in error.text:
        return Refused(
            error.why, f"asks for a tenant ({error.status}: no org id); set `tenant`", error.status, error.text
        )
    return error


@dataclass(frozen=True, slots=True)
class _Lines:
    """One question: the lines of one query, of some nodes or of all."""

    settings: LokiSettings
    context: ExecutionContext
    query: LokiQuery
    nodes: tuple[Node, ...]
    filters: tuple[str, ...]
    window: Window | None

    def ask(self, call: Call) -> Iterator[Observation]:
        """The lines of each stream as observations, in order."""
        query, window = self._filled(), known(self.window)
        pages = Pages(call, self.settings.page_lines, self.settings.slice_hours * _HOUR_NS)
        queries = tuple(query + text for text in self.filters) or (query,)
        writing = _Writing(self)
        try:
            entries = pages.merged(queries, _ns(window.start), _ns(window.end) + 1)
            for batch in _batches(islice(entries, self.settings.lines), self.settings.page_lines):
                yield from writing.written(batch)
            if (more := next(entries, None)) is not None:
                yield from writing.written(self._end(pages, queries, more, _ns(window.end) + 1))
        except Refused as error:
            raise _told(error) from None
        if pages.notes:
            raise Partial("; ".join(dict.fromkeys(pages.notes[:3])))

    def _end(self, pages: Pages, queries: tuple[str, ...], more: Entry, end: int) -> list[Entry]:
        """The last lines, where there are more than are read: `more` is the first that was not."""
        latest = pages.merged(queries, more.ns, end, backward=True)
        found = list(islice(latest, self.settings.end_lines))
        if next(latest, None) is not None:
            limit = self.settings.lines
            note = f"there are more than {limit} lines; of those after them only the last {len(found)} were read"
            pages.notes.append(note)
        return found[::-1]

    def nothing(self, call: Call, node: str | None) -> str | None:
        """Whether there is no such stream, or only no such line."""
        if self.window is None:
            return None
        selector = logql.selector(self._filled())
        form = {"match[]": selector, "start": str(_ns(self.window.start)), "end": str(_ns(self.window.end))}
        body = call.post("/loki/api/v1/series", form).body
        try:
            series = msgspec.json.decode(body, type=_Series).data or []
        except msgspec.DecodeError:
            return None
        of_node = [labels for labels in series if self.node_of(tuple(labels.items())) == node]
        if not of_node:
            return f"no stream has the labels {selector}" if not series else "no stream is of this node"
        return "its streams hold no line that a rule can use" if self.filters else "its streams hold no line"

    def _filled(self) -> str:
        """The query of this attempt and node. ConnectorError if the context lacks a value."""
        lacking = [name for name in logql.placeholders(self.query.query) if not self._values(name)]
        if lacking:
            raise ConnectorError(f"the context does not say its {lacking[0]}, which the query asks for")
        return logql.filled(self.query.query, self._values)

    def _values(self, placeholder: str) -> Sequence[str]:
        if placeholder in {logql.NODE, logql.NODES}:
            return tuple(dict.fromkeys(name for node in self.nodes for name in (node.name, *node.aliases)))
        return values_of(self.context, placeholder)

    def node_of(self, labels: Labels) -> str | None:
        """The node that labels name, by the context's name if it has one for it."""
        if logql.NODE in logql.placeholders(self.query.query):
            return self.nodes[0].name
        names, held = NodeNames(self.context.nodes), dict(labels)
        hosts = [_host(held[label]) for label in self.settings.node_labels if held.get(label)]
        known = next((name for host in hosts if (name := names.known(host))), None)
        return known or next((name for host in hosts if (name := names.resolve(host))), None)


@dataclass(slots=True)
class _Writing:
    """Entries become lines of streams; of each stream it is known how far it was written."""

    lines: _Lines
    places: dict[Labels, "_Place"] = field(default_factory=dict)

    def written(self, entries: Sequence[Entry]) -> Iterator[Observation]:
        """The next lines of each stream that the entries are of."""
        groups: dict[int, tuple[_Place, list[str]]] = {}
        for entry in entries:
            place = self._place(entry.labels)
            groups.setdefault(id(place), (place, []))[1].append(_record(entry, place.node))
        for place, records in groups.values():
            yield from self._observations(place, "".join(records))

    def _observations(self, place: "_Place", text: str) -> Iterator[Observation]:
        filtered = "only lines that a rule can use were asked for" if self.lines.filters else None
        for start in range(0, len(text), _PIECE_CHARACTERS):
            body = text[start : start + _PIECE_CHARACTERS]
            yield Observation(
                source=self.lines.query.source,
                node=place.node,
                rank=place.rank,
                stream=place.stream,
                offset=place.offset,
                first_line=place.line,
                window=self.lines.window,
                body=body,
                status=Status.OK,
                reason=filtered,
            )
            place.offset += len(body.encode("utf-8", "replace"))
            place.line += body.count("\n")

    def _place(self, labels: Labels) -> "_Place":
        """Where the entries of a stream go. Streams that differ only in what differs from line to line are one."""
        found = self.places.get(labels)
        if found is None:
            writer = tuple((name, value) for name, value in labels if name not in _NO_WRITER)
            found = self.places.get(writer)
            if found is None:
                rank = _rank(dict(labels).get(self.lines.settings.rank_label or ""))
                found = _Place(self.lines.node_of(labels), rank, _stream(writer))
                self.places[writer] = found
            self.places[labels] = found
        return found


@dataclass(slots=True)
class _Place:
    """One stream of observations, and how far it is written."""

    node: str | None
    rank: int | None
    stream: str
    offset: int = 0
    line: int = 0


def _stream(writer: Labels) -> str:
    name = printable("loki/" + ",".join(f"{name}={value}" for name, value in writer))
    if len(name) <= _STREAM_CHARACTERS:
        return name
    return f"{name[:_STREAM_CHARACTERS]}~{hashlib.blake2b(repr(writer).encode(), digest_size=8).hexdigest()}"


def _rank(value: str | None) -> int | None:
    if value is None or not value.isascii() or not value.isdigit() or len(value) > 10:
        return None
    return rank if (rank := int(value)) <= MAX_RANK else None


def _host(value: str) -> str:
    """A label's value as the name of a host, without its port."""
    host, colon, port = value.rpartition(":")
    return host.strip("[]") if colon and port.isdigit() and host else value


def _record(entry: Entry, node: str | None) -> str:
    """An entry as a line of JSON that keeps its time, as programs that ship logs write it."""
    record = {"time": entry.ns, "host": node, "message": entry.line}
    return msgspec.json.encode(record).decode() + "\n"


def _batches(entries: Iterator[Entry], size: int) -> Iterator[list[Entry]]:
    while batch := list(islice(entries, size)):
        yield batch


def _ns(at: datetime) -> int:
    return int(at.timestamp()) * 10**9 + at.microsecond * 1000
