"""A double of a Prometheus server: series in memory, asked by a selector, at an instant, over a range or in steps."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from attribution.testing import Reply, Request

MATCHER = re.compile(r'\s*([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*,?')
LOOKBACK_SECS = 300
QUERY, QUERY_RANGE = "/api/v1/query", "/api/v1/query_range"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class PromError(Exception):
    """A refusal as the server words it."""

    def __init__(self, status: int, kind: str, text: str) -> None:
        self.reply = Reply(status, json.dumps({"status": "error", "errorType": kind, "error": text}))
        super().__init__(text)


@dataclass(slots=True)
class PrometheusDouble:
    """One server. `stale` are series that a scrape has marked as ended: they are not looked back to."""

    now: float
    points: int = 11_000
    most_samples: int = 50_000_000
    warnings: list[str] = field(default_factory=list)
    is_partial: bool = False
    series: list[tuple[dict[str, str], list[tuple[float, float]]]] = field(default_factory=list)

    def add(self, name: str, samples: "list[tuple[float, float]]", **labels: str) -> None:
        """A series with its samples in order of their times."""
        self.series.append(({"__name__": name, **labels}, samples))

    def __call__(self, request: Request) -> Reply:
        try:
            return self._answer(request)
        except PromError as error:
            return error.reply

    def _answer(self, request: Request) -> Reply:
        params = request.params
        if request.path not in {QUERY, QUERY_RANGE}:
            return Reply(404, "404 page not found\n", content_type="text/plain; charset=utf-8")
        query = params.get("query", "")
        if request.path == QUERY_RANGE:
            return self._stepped(query, params)
        at = _time(params, "time", self.now)
        counted = re.fullmatch(r"count(?: by \((\w+)\) )?\((.*)\)", query)
        if counted is not None:
            return self._count(self._selected(counted[2]), counted[1], at)
        ranged = re.fullmatch(r"(.*)\[(\d+)(ms|s|m|h)\]", query)
        if ranged is not None:
            start = at - int(ranged[2]) * _UNITS[ranged[3]]
            found = [(m, [s for s in own if start <= s[0] <= at]) for m, own in self._selected(ranged[1])]
            return self._matrix([(metric, samples) for metric, samples in found if samples])
        found = [(m, last) for m, own in self._selected(query) if (last := _last(own, at)) is not None]
        result = [{"metric": metric, "value": [at, _text(value)]} for metric, value in found]
        return self._success("vector", result)

    def _stepped(self, query: str, params: Mapping[str, str]) -> Reply:
        start, end = _time(params, "start", None), _time(params, "end", None)
        step = float(params["step"]) if params.get("step") else None
        if step is None:
            raise PromError(400, "bad_data", 'invalid parameter "step": cannot parse "" to a valid duration')
        if end < start:
            raise PromError(400, "bad_data", 'invalid parameter "end": end timestamp must not be before start time')
        if (end - start) / step > self.points:
            raise PromError(
                400,
                "bad_data",
                "exceeded maximum resolution of 11,000 points per timeseries. "
                "Try decreasing the query resolution (?step=XX)",
            )
        found = []
        for metric, own in self._selected(query):
            times = [start + step * index for index in range(math.floor((end - start) / step) + 1)]
            samples = [(at, last) for at in times if (last := _last(own, at)) is not None]
            if samples:
                found.append((metric, samples))
        return self._matrix(found)

    def _selected(self, query: str) -> "list[tuple[dict[str, str], list[tuple[float, float]]]]":
        if not (query.startswith("{") and query.endswith("}")):
            raise PromError(400, "bad_data", f"1:{len(query) + 1}: parse error: unexpected end of input")
        matchers = [_matcher(*match.groups()) for match in MATCHER.finditer(query[1:-1])]
        return [(metric, own) for metric, own in self.series if all(match(metric) for match in matchers)]

    def _count(
        self, found: "list[tuple[dict[str, str], list[tuple[float, float]]]]", by: str | None, at: float
    ) -> Reply:
        counts: dict[str, int] = {}
        for metric, own in found:
            if _last(own, at) is not None:
                key = metric.get(by, "") if by else ""
                counts[key] = counts.get(key, 0) + 1
        result = [{"metric": {by: key} if by else {}, "value": [at, str(n)]} for key, n in sorted(counts.items())]
        return self._success("vector", result)

    def _matrix(self, found: "list[tuple[dict[str, str], list[tuple[float, float]]]]") -> Reply:
        if sum(len(samples) for _, samples in found) > self.most_samples:
            words = "query processing would load too many samples into memory in query execution"
            raise PromError(422, "execution", words)
        result = [{"metric": m, "values": [[at, _text(value)] for at, value in samples]} for m, samples in found]
        return self._success("matrix", result)

    def _success(self, kind: str, result: "list[dict[str, object]]") -> Reply:
        answer: dict[str, object] = {"status": "success", "data": {"resultType": kind, "result": result}}
        if self.warnings:
            answer["warnings"] = self.warnings
        if self.is_partial:
            answer["isPartial"] = True
        return Reply(200, json.dumps(answer))


def _time(params: Mapping[str, str], name: str, default: float | None) -> float:
    text = params.get(name)
    if text is None and default is not None:
        return default
    try:
        return float(text or "")
    except ValueError:
        words = f'invalid parameter "{name}": cannot parse "{text}" to a valid timestamp'
        raise PromError(400, "bad_data", words) from None


def _matcher(name: str, operator: str, quoted: str) -> Callable[[Mapping[str, str]], bool]:
    value = str(json.loads(f'"{quoted}"'))

    def matches(metric: Mapping[str, str]) -> bool:
        held = metric.get(name, "")
        hit = held == value if operator in {"=", "!="} else re.fullmatch(value, held) is not None
        return hit != operator.startswith("!")

    return matches


def _last(samples: "list[tuple[float, float]]", at: float) -> float | None:
    """The last value before an instant, unless it is older than five minutes."""
    return next((value for when, value in reversed(samples) if at - LOOKBACK_SECS < when <= at), None)


def _text(value: float) -> str:
    return "NaN" if math.isnan(value) else "+Inf" if value == math.inf else repr(value).removesuffix(".0")
