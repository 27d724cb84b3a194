"""Series from a server that speaks the Prometheus HTTP API: Prometheus, VictoriaMetrics, Thanos, Mimir.

Asked for are the series that the catalog names, of one node at a time. Without `step_secs` the samples come as they
were scraped, by a range within an instant query: so a series that stops is seen to stop, and a counter that is reset is
seen to be. With it they are interpolated by the server, which repeats a last value for five minutes.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import msgspec
from pydantic import Field, field_validator

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import ConnectorError, Kind
from attribution.blueprint.connectors.calls import Header, Refused, Why
from attribution.blueprint.connectors.http import Answer, Call, HttpCollector, HttpSettings, Partial, Question
from attribution.blueprint.connectors.windows import Span, known
from attribution.bundle.names import NodeNames, short_name
from attribution.contracts.context import Node
from attribution.contracts.observation import Observation, Window
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Format, Source, Status

_FAMILIES = {
    "gpu": ("DCGM_", "nvidia_smi_", "dcgm_", "nvidia_"),
    "infiniband": ("node_infiniband_", "infiniband_"),
    "node": ("node_",),
}
"""What exporters are told apart by; a metric is of the first family that has its beginning, else of `other`."""
_KNOWN_BY = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_XID_ERRORS", "node_boot_time_seconds", "nvidia_smi_temperature_gpu")
"""Series by which `check` tells whether an exporter is scraped."""
_TOO_MUCH = (
    *("exceeded maximum resolution", "too many points", "maxPointsPerTimeseries"),
    *("too many samples", "maxSamplesPer", "maxMemoryPerQuery", "query timed out", "timeout exceeded"),
    *("exceeds the limit", "query time range"),
)
"""Words of refusals after which a shorter time may be answered."""
_SHORTEST_SECS = 60
_PIECE_BYTES = 1 << 20
_SAMPLES_IN_PIECE = 20_000


class PromqlSettings(HttpSettings):
    """Which server, whose series, and how finely they are read."""

    answer_bytes: int = Field(
        default=16 << 20, ge=1024, description="bytes of one answer, decompressed; more is refused"
    )
    tenant: Header | None = Field(default=None, description="value of `X-Scope-OrgID`, where a gateway asks for it")
    matchers: str | None = Field(
        default=None, description='further matchers of every query, such as `cluster="a",job!="test"`'
    )
    node_labels: tuple[str, ...] = Field(
        default=(
            "Hostname",
            "hostname",
            "node",
            "kubernetes_node",
            "nodename",
            "host",
            "instance",
            "exported_instance",
        ),
        min_length=1,
        description="labels that may name a node, in the order in which they are tried; ports and domains are ignored",
    )
    nodes_per_query: int = Field(default=20, ge=1, description="nodes whose series one query asks for")
    metric_names: dict[str, str] = Field(
        default_factory=dict, description="names of metrics on this server, by those that rules know them by"
    )
    step_secs: float | None = Field(
        default=None,
        gt=0,
        description="seconds between two samples of a series (default: samples as they were scraped)",
    )
    points: int = Field(
        default=11_000, ge=2, description="samples of one series in one answer, where `step_secs` is set"
    )
    slice_hours: float = Field(default=6.0, gt=0, description="hours that one query spans; longer times take several")

    @field_validator("matchers")
    @classmethod
    def _closed(cls, value: str | None) -> str | None:
        outside = re.sub(r'"(?:[^"\\]|\\.)*"', '""', value or "")
        if "{" in outside or "}" in outside or '"' in outside.replace('""', ""):
            raise ValueError('is no list of matchers such as `cluster="a",job!="test"`')
        return value

    @field_validator("node_labels")
    @classmethod
    def _are_labels(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if odd := [name for name in value if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name)]:
            raise ValueError(f"has `{odd[0]}`, which is no name of a label")
        return value


class Promql(HttpCollector[PromqlSettings]):
    """Asks a server that speaks PromQL for the series of each node that the catalog's rules read."""

    kind = Kind.METRICS
    Settings = PromqlSettings
    sources = frozenset({Source.NODE_METRICS, Source.NETWORK_METRICS})

    def __init__(self, settings: PromqlSettings) -> None:
        super().__init__(settings)
        self._labels = _Labels(settings.node_labels)

    def own_headers(self) -> Mapping[str, str]:
        """The tenant."""
        return {"X-Scope-OrgID": self.settings.tenant} if self.settings.tenant else {}

    def check(self) -> str:
        """Ask which of the best known series there are now."""
        names = "|".join(self.settings.metric_names.get(name, name) for name in _KNOWN_BY)
        form = {"query": f"count by (__name__) ({self._selector([names])})"}
        found = _read(_asked(self.call(), "/api/v1/query", form)).data
        known = sorted(item.metric.get("__name__", "") for item in found.result if isinstance(item, _Series))
        if not known:
            raise ConnectorError("has no series of a GPU or node exporter: are they scraped, and are `matchers` right?")
        return f"is answered by {self.http.address}, which has series of {', '.join(known)}"

    def questions(self, attempt: Attempt, plan: CollectionPlan) -> Iterator[Question]:
        """One for each source, family of metrics and group of nodes."""
        window = Span.of(attempt.context, plan.margin_secs).window(datetime.now(UTC))
        nodes, size = attempt.context.nodes, self.settings.nodes_per_query
        groups = [nodes[start : start + size] for start in range(0, len(nodes), size)] or [()]
        for source, family, metrics in _shared_out(plan):
            for group in groups:
                asking = _Asking(self, source, family, metrics, group, window)
                names = tuple(node.name for node in group) or (None,)
                yield Question(source, names, asking.ask, asking.nothing, window, f"promql/{family}")

    def _selector(self, metrics: Sequence[str], *matchers: str) -> str:
        return (
            "{"
            + ",".join([f'__name__=~"{"|".join(metrics)}"', *matchers, *filter(None, [self.settings.matchers])])
            + "}"
        )


class _Labels:
    """By which label the nodes of each family are found; the one that did so last is tried first."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = tuple(labels)
        self._lock = threading.Lock()
        self._first: dict[str, str] = {}

    def of(self, family: str) -> tuple[str, ...]:
        """The labels in the order in which they are tried."""
        with self._lock:
            first = self._first.get(family)
        return self._labels if first is None else (first, *(label for label in self._labels if label != first))

    def hit(self, family: str, label: str) -> None:
        """A label found a node."""
        with self._lock:
            self._first[family] = label


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    value: tuple[float, str] | None = None


class _Data(msgspec.Struct, rename={"kind": "resultType"}):
    kind: str
    result: list[_Series]


class _Told(msgspec.Struct, rename={"is_partial": "isPartial"}):
    status: str
    data: _Data
    warnings: list[str] | None = None
    is_partial: bool = False


class _Error(msgspec.Struct, rename={"kind": "errorType"}):
    error: str
    kind: str = "error"


_DECODER, _ERROR = msgspec.json.Decoder(_Told), msgspec.json.Decoder(_Error)


def _read(answer: Answer) -> _Told:
    try:
        told = _DECODER.decode(answer.body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConnectorError(f"sent what is no answer of the Prometheus API: {error}") from None
    if told.status != "success" or told.data.kind not in {"matrix", "vector"}:
        raise ConnectorError(f"answered with `{told.status}` and `{told.data.kind}`, not with series")
    return told


def _asked(call: Call, path: str, form: Mapping[str, str]) -> Answer:
    """The answer; a refusal tells what the server says in its JSON. Raises Refused."""
    try:
        return call.post(path, form)
    except Refused as error:
        try:
            said = _ERROR.decode(error.text)
        except msgspec.DecodeError:
            raise error from None
        before, _, _ = str(error).partition(": ")
        raise Refused(error.why, f"{before} ({said.kind}): {said.error[:300]}", error.status, error.text) from None


def _shared_out(plan: CollectionPlan) -> Iterator[tuple[Source, str, tuple[str, ...]]]:
    """The metrics of each source and family. One that both sources name is asked for once, of the network."""
    named = {part.source: part.metrics for part in plan.sources}
    network = set(named.get(Source.NETWORK_METRICS, ()))
    for source in (Source.NODE_METRICS, Source.NETWORK_METRICS):
        own = [name for name in named.get(source, ()) if source is Source.NETWORK_METRICS or name not in network]
        families: dict[str, list[str]] = {}
        for name in sorted(own):
            families.setdefault(_family(name), []).append(name)
        for family in sorted(families) or ["none"]:
            yield source, family, tuple(families.get(family, ()))


def _family(name: str) -> str:
    return next((family for family, beginnings in _FAMILIES.items() if name.startswith(beginnings)), "other")


@dataclass(frozen=True, slots=True)
class _Asking:
    """One question: the series of one family of some nodes, or of all where the context names none."""

    connector: Promql
    source: Source
    family: str
    metrics: tuple[str, ...]
    nodes: tuple[Node, ...]
    window: Window | None

    def ask(self, call: Call) -> Iterator[Observation]:
        """The series in observations of a bounded size, slice after slice."""
        if not self.metrics:
            return
        window = known(self.window)
        notes: list[str] = []
        offsets: dict[str | None, int] = {}
        for label in self._labels():
            missing = tuple(node for node in self.nodes if node.name not in offsets)
            found = False
            for told in self._slices(call, self._selector(label, missing), window):
                notes += [f"the server says that this is not all: {text}" for text in _shortcomings(told)]
                for node, series in self._by_node(label, missing, told.data.result):
                    found = True
                    for body in _bodies(self._renamed(series)):
                        offset = offsets.get(node, 0)
                        yield self._observation(node, offset, body)
                        offsets[node] = offset + 1
            if found and label is not None:
                self.connector._labels.hit(self.family, label)
            if offsets and len(offsets) >= len(self.nodes):
                break
        if notes:
            raise Partial("; ".join(dict.fromkeys(notes[:3])))

    def nothing(self, call: Call, node: str | None) -> str | None:
        """Whether the server has such series of other nodes."""
        if not self.metrics:
            return "no rule reads metrics of this source"
        if self.window is None:
            return None
        end = f"{self.window.end.timestamp():.3f}"
        form = {"query": f"count({self.connector._selector(self._names())})", "time": end}
        found = _read(_asked(call, "/api/v1/query", form)).data.result
        count = found[0].value[1] if found and found[0].value else None
        if count is None:
            return f"the server has no series of the family {self.family}: is its exporter scraped?"
        labels = ", ".join(self.connector.settings.node_labels)
        return f"the server has {count[:20]} such series, none of this node by one of the labels {labels}"

    # --- queries ------------------------------------------------------------------------------------------------------

    def _labels(self) -> Sequence[str | None]:
        return self.connector._labels.of(self.family) if self.nodes else (None,)

    def _names(self) -> list[str]:
        renamed = self.connector.settings.metric_names
        return [renamed.get(name, name) for name in self.metrics]

    def _selector(self, label: str | None, nodes: Sequence[Node]) -> str:
        if label is None:
            return self.connector._selector(self._names())
        names = dict.fromkeys(name for node in nodes for name in (node.name, short_name(node.name), *node.aliases))
        pattern = f"(?i:{'|'.join(re.escape(name) for name in names)})(?:[.][^:]*)?(?::[0-9]+)?"
        quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return self.connector._selector(self._names(), f'{label}=~"{quoted}"')

    def _by_node(
        self, label: str | None, nodes: Sequence[Node], found: Sequence[_Series]
    ) -> Iterator[tuple[str | None, list[_Series]]]:
        """The series of each node, in the order of the nodes."""
        if label is None:
            if found:
                yield None, list(found)
            return
        names = NodeNames(nodes)
        held: dict[str, list[_Series]] = {}
        for series in found:
            host = re.sub(r":[0-9]+$", "", series.metric.get(label, ""))
            if (node := names.known(host)) is not None:
                held.setdefault(node, []).append(series)
        for each in nodes:
            if each.name in held:
                yield each.name, held[each.name]

    def _slices(self, call: Call, selector: str, window: Window) -> Iterator[_Told]:
        """The answers for the window, in pieces that the server is willing to give."""
        own = self.connector.settings
        longest = own.slice_hours * 3600
        if own.step_secs is not None:
            longest = min(longest, own.step_secs * (own.points - 1))
        start, end = window.start.timestamp(), window.end.timestamp()
        count = max(1, -int(-(end - start) // longest))
        cuts = [start + min(longest * index, end - start) for index in range(count)] + [end]
        slices = [*pairwise(cuts)][::-1]
        while slices:
            begin, until = slices.pop()
            try:
                yield _read(self._range(call, selector, begin, until))
            except Refused as error:
                if not _may_be_halved(error) or until - begin < 2 * _SHORTEST_SECS:
                    raise
                middle = (begin + until) / 2
                slices += [(middle, until), (begin, middle)]

    def _range(self, call: Call, selector: str, begin: float, until: float) -> Answer:
        step = self.connector.settings.step_secs
        if step is None:
            millis = max(1, round((until - begin) * 1000)) + 1  # newer servers leave out what lies at the beginning
            return _asked(call, "/api/v1/query", {"query": f"{selector}[{millis}ms]", "time": f"{until:.3f}"})
        form = {"query": selector, "start": f"{begin:.3f}", "end": f"{until:.3f}", "step": f"{step:g}"}
        return _asked(call, "/api/v1/query_range", form)

    def _renamed(self, found: Sequence[_Series]) -> Iterator[_Series]:
        """The series by the names that rules know."""
        names = {there: here for here, there in self.connector.settings.metric_names.items()}
        for series in found:
            name = series.metric.get("__name__", "")
            if name in names:
                series.metric["__name__"] = names[name]
            yield series

    def _observation(self, node: str | None, offset: int, body: str) -> Observation:
        return Observation(
            source=self.source,
            format=Format.PROMETHEUS_METRICS,
            node=node,
            stream=f"promql/{self.family}",
            offset=offset,
            window=self.window,
            body=body,
            status=Status.OK,
        )


def _shortcomings(told: _Told) -> Iterator[str]:
    yield from (text[:200] for text in (told.warnings or [])[:3])
    if told.is_partial:
        yield "a part of its storage did not answer"


def _may_be_halved(error: Refused) -> bool:
    too_slow = error.status == 504 or (error.status == 503 and '"timeout"' in error.text)
    return error.why is Why.TOO_LARGE or too_slow or any(words in error.text for words in _TOO_MUCH)


def _bodies(found: Iterator[_Series]) -> Iterator[str]:
    """Answers of bounded size that hold the series; a long one is cut into several of the same name and labels."""
    held: list[bytes] = []
    size = 0
    for series in found:
        for start in range(0, len(series.values), _SAMPLES_IN_PIECE):
            part = {"metric": series.metric, "values": series.values[start : start + _SAMPLES_IN_PIECE]}
            text = msgspec.json.encode(part)
            if held and size + len(text) > _PIECE_BYTES:
                yield _matrix(held)
                held, size = [], 0
            held.append(text)
            size += len(text)
    if held:
        yield _matrix(held)


def _matrix(parts: Sequence[bytes]) -> str:
    return '{"resultType":"matrix","result":[' + b",".join(parts).decode() + "]}"
