"""A double of Loki: it keeps streams in memory and answers pushes and queries as the server does.

It understands selectors and line filters; other stages of LogQL are refused. Its answers are held to
`loki_exchanges.json`, which `tests/blueprint/test_loki_double.py` reads.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from attribution.testing import Reply, Request

HOUR_NS = 3600 * 10**9
PUSH = "/loki/api/v1/push"
QUERY_RANGE = "/loki/api/v1/query_range"

_LEVELS = ("error", "info", "warn", "debug", "critical", "fatal", "trace")
_MATCHER = re.compile(r'\s*([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*(,|\})')
_FILTER = re.compile(r'\s*(\|=|!=|\|~|!~)\s*"((?:[^"\\]|\\.)*)"')


class LokiError(Exception):
    """An answer other than 200; its text is all that the server says."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)


@dataclass(slots=True)
class _Stream:
    labels: dict[str, str]
    entries: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)
    newest: int = 0


class LokiDouble:
    """One server. `now_ns` is its clock; limits are those of the default configuration."""

    def __init__(self, now_ns: int, most_lines: int = 5000, most_hours: int = 721, tenants: bool = True) -> None:
        self.now_ns = now_ns
        self.most_lines = most_lines
        self.most_hours = most_hours
        self.tenants = tenants
        self.slow_hours: int | None = None
        """Queries over more than so many hours run out of time."""
        self._streams: dict[str, list[_Stream]] = {}
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply:
        try:
            with self._lock:
                return self._answer(request)
        except LokiError as error:
            return Reply(error.status, str(error), content_type="text/plain; charset=utf-8")

    def _answer(self, request: Request) -> Reply:
        if request.path == "/ready":
            return Reply(200, "ready\n", content_type="text/plain; charset=utf-8")
        tenant = self._tenant(request)
        if request.path == PUSH:
            return self._push(tenant, request.body)
        streams = self._streams.get(tenant, [])
        if request.path == QUERY_RANGE:
            categorized = "categorize-labels" in request.headers.get("x-loki-response-encoding-flags", "")
            return self._query_range(streams, request.params, categorized)
        if request.path == "/loki/api/v1/query":
            raise LokiError(
                400,
                "log queries are not supported as an instant query type, "
                "please change your query to a range query type",
            )
        if request.path == "/loki/api/v1/labels":
            return _json({"status": "success", "data": sorted({name for one in streams for name in one.labels})})
        if (found := re.fullmatch("/loki/api/v1/label/([^/]+)/values", request.path)) is not None:
            values = {one.labels[found[1]] for one in streams if found[1] in one.labels}
            return _json({"status": "success", "data": sorted(values)})
        if request.path == "/loki/api/v1/series":
            return self._series(streams, request.params)
        raise LokiError(404, "404 page not found\n")

    def _tenant(self, request: Request) -> str:
        if not self.tenants:
            return "fake"
        tenant = request.headers.get("x-scope-orgid", "")
        if not tenant:
            raise LokiError(401, "no org id\n")
        if "|" in tenant:
            raise LokiError(500, "multiple org IDs present")
        if odd := re.search(r"[^a-zA-Z0-9!\-_.*'()]", tenant):
            raise LokiError(400, f"tenant ID '{tenant}' contains unsupported character '{odd[0]}'")
        return tenant

    # --- push ---------------------------------------------------------------------------------------------------------

    def _push(self, tenant: str, body: bytes) -> Reply:
        try:
            streams = json.loads(body)["streams"]
        except (ValueError, KeyError, TypeError):
            raise LokiError(400, "loghttp.PushRequest.readFieldHash: this is no push request\n") from None
        for stream in streams:
            self.push(tenant, stream["stream"], [tuple(value) for value in stream["values"]])
        return Reply(204, b"")

    def push(self, tenant: str, labels: Mapping[str, str], values: "list[tuple[object, ...]]") -> None:
        """Take entries `(nanoseconds as text, line)` or with structured metadata behind. Raises LokiError."""
        held = self._streams.setdefault(tenant, [])
        own = dict(labels)
        own.setdefault("service_name", own.get("job") or "unknown_service")
        stream = next((one for one in held if one.labels == own), None)
        if stream is None:
            stream = _Stream(own)
        shown = "{" + ", ".join(f'{name}="{value}"' for name, value in sorted(own.items())) + "}"
        refused = []
        for value in values:
            ns, line = value[0], value[1]
            if not isinstance(ns, str) or not isinstance(line, str):
                raise LokiError(400, "loghttp.PushRequest.Streams: a time must be a text\n")
            metadata = dict(value[2]) if len(value) > 2 and isinstance(value[2], dict) else {}
            if why := self._why_refused(stream, int(ns), line, shown):
                refused.append(why)
                continue
            metadata.setdefault("detected_level", _level(line))
            entry = (int(ns), line, metadata)
            if not any(known[:2] == entry[:2] for known in stream.entries):
                stream.entries.append(entry)
            stream.newest = max(stream.newest, int(ns))
        if stream.entries and stream not in held:
            held.append(stream)
        stream.entries.sort(key=lambda entry: entry[0])
        if refused:
            raise LokiError(400, refused[0])

    def _why_refused(self, stream: _Stream, ns: int, line: str, shown: str) -> str | None:
        if len(line.encode()) > 262144:
            return (
                f"max entry size '262144' bytes exceeded for stream '{shown}' while adding an entry with length "
                f"'{len(line.encode())}' bytes\n"
            )
        if ns > self.now_ns + 600 * 10**9:
            return f"entry for stream '{shown}' has timestamp too new: {ns}\n"
        if stream.newest and ns < stream.newest - HOUR_NS:
            return f"entry with timestamp {ns} ignored, reason: 'entry too far behind'\n"
        return None

    # --- queries ------------------------------------------------------------------------------------------------------

    def _query_range(self, streams: list[_Stream], params: Mapping[str, str], categorized: bool) -> Reply:
        end = _instant(params, "end", self.now_ns)
        start = _instant(params, "start", end - _duration(params.get("since", "1h")))
        limit, backward = self._limit(params), _is_backward(params)
        chosen = _parsed(params.get("query", ""))
        if start > end:
            raise LokiError(400, "end timestamp must not be before or equal to start time")
        if params.get("step") and (end - start) // _duration(params["step"]) > 11_000:
            raise LokiError(
                400,
                "exceeded maximum resolution of 11,000 points per time series. "
                "Try increasing the value of the step parameter",
            )
        if end - start > self.most_hours * HOUR_NS:
            limit_words = f"{self.most_hours // 24}d{self.most_hours % 24}h"
            raise LokiError(
                400,
                f"the query time range exceeds the limit (query length: {_hours(end - start)}, limit: {limit_words})",
            )
        if self.slow_hours is not None and end - start > self.slow_hours * HOUR_NS:
            raise LokiError(504, "request timed out, decrease the duration of the request or add more label matchers")
        found = [
            (ns, place, index, stream, line, metadata)
            for place, stream in enumerate(streams)
            for index, (ns, line, metadata) in enumerate(stream.entries)
            if start <= ns < end and chosen(stream.labels, line)
        ]
        found.sort(key=lambda item: (-item[0], item[1], -item[2]) if backward else item[:3])
        results: dict[str, dict[str, object]] = {}
        for ns, _, _, stream, line, metadata in found[:limit]:
            labels = stream.labels if categorized else {**stream.labels, **metadata}
            result = results.setdefault(json.dumps(labels, sort_keys=True), {"stream": labels, "values": []})
            value = [str(ns), line, {"structuredMetadata": metadata}] if categorized else [str(ns), line]
            result["values"].append(value)  # type: ignore[attr-defined]
        data: dict[str, object] = {"resultType": "streams", "result": [results[key] for key in sorted(results)]}
        if categorized:
            data["encodingFlags"] = ["categorize-labels"]
        return _json({"status": "success", "data": {**data, "stats": {}}})

    def _limit(self, params: Mapping[str, str]) -> int:
        text = params.get("limit", "100")
        try:
            limit = int(text)
        except ValueError:
            raise LokiError(400, f'strconv.Atoi: parsing "{text}": invalid syntax') from None
        if limit <= 0:
            raise LokiError(400, "limit must be a positive value")
        if limit > self.most_lines:
            raise LokiError(
                400,
                "max entries limit per query exceeded, limit > max_entries_limit_per_query "
                f"({limit} > {self.most_lines})",
            )
        return limit

    def _series(self, streams: list[_Stream], params: Mapping[str, str]) -> Reply:
        chosen = _parsed(params.get("match[]", ""))
        start, end = _instant(params, "start", 0), _instant(params, "end", self.now_ns)
        found = [
            one.labels
            for one in streams
            if any(chosen(one.labels, line) and start <= ns < end for ns, line, _ in one.entries)
        ]
        return _json({"status": "success", "data": found})


def _json(body: object) -> Reply:
    return Reply(200, json.dumps(body), content_type="application/json; charset=UTF-8")


def _level(line: str) -> str:
    found = re.search(r"\blevel=(\w+)", line)
    return found[1] if found and found[1] in _LEVELS else "unknown"


def _is_backward(params: Mapping[str, str]) -> bool:
    direction = params.get("direction", "backward")
    if direction.lower() not in {"forward", "backward"}:
        raise LokiError(400, f"invalid direction '{direction}'")
    return direction.lower() == "backward"


def _instant(params: Mapping[str, str], name: str, default: int) -> int:
    text = params.get(name)
    if not text:
        return default
    if re.fullmatch(r"\d+", text):
        return int(text) * (10**9 if len(text) <= 10 else 1)
    if re.fullmatch(r"\d+\.\d*", text):
        return round(float(text) * 1000) * 10**6
    try:
        return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()) * 10**9
    except ValueError:
        raise LokiError(
            400, f"could not parse '{name}' parameter: strconv.ParseInt: parsing \"{text}\": invalid syntax"
        ) from None


def _duration(text: str) -> int:
    found = re.fullmatch(r"(\d+)([smh])", text)
    if found is None:
        raise LokiError(400, f'cannot parse "{text}" to a valid duration')
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]] * 10**9


def _hours(ns: int) -> str:
    seconds = ns // 10**9
    return f"{seconds // 3600}h{seconds % 3600 // 60}m{seconds % 60}s"


def _parsed(query: str) -> Callable[[Mapping[str, str], str], bool]:
    if not query:
        raise LokiError(400, "parse error : syntax error: unexpected $end")
    if not query.startswith("{"):
        raise LokiError(400, "parse error at line 1, col 1: syntax error: unexpected IDENTIFIER")
    matchers, at = [], 1
    while True:
        found = _MATCHER.match(query, at)
        if found is None:
            raise LokiError(400, f"parse error at line 1, col {len(query) + 1}: syntax error: unexpected $end")
        matchers.append((found[1], found[2], _text(found[3])))
        at = found.end()
        if found[4] == "}":
            break
    if not any(_demands(operator, value) for _, operator, value in matchers):
        raise LokiError(
            400, "parse error : queries require at least one regexp or equality matcher that does not have an "
            "empty-compatible value. For instance, app=~\".*\" does not meet this requirement, but app=~\".+\" will",
        )  # fmt: skip
    filters = list(_filters(query, at))

    def chosen(labels: Mapping[str, str], line: str) -> bool:
        return all(_matches(labels.get(name, ""), operator, value) for name, operator, value in matchers) and all(
            _passes(line, operator, value) for operator, value in filters
        )

    return chosen


def _filters(query: str, at: int) -> Iterator[tuple[str, str]]:
    while query[at:].strip():
        found = _FILTER.match(query, at)
        if found is None:
            raise LokiError(400, f"parse error at line 1, col {at + 1}: syntax error: the double knows no such stage")
        value = _text(found[2])
        if found[1] in {"|~", "!~"}:
            try:
                re.compile(value)
            except re.error:
                why = f"error parsing regexp: missing closing ): `{value}`"
                raise LokiError(400, f"parse error : stage '{found[1]} \"{value}\"' : {why}") from None
        yield found[1], value
        at = found.end()


def _demands(operator: str, value: str) -> bool:
    if operator == "=":
        return value != ""
    return operator == "=~" and re.fullmatch(value, "") is None


def _matches(label: str, operator: str, value: str) -> bool:
    hit = label == value if operator in {"=", "!="} else re.fullmatch(value, label) is not None
    return hit != operator.startswith("!")


def _passes(line: str, operator: str, value: str) -> bool:
    hit = value in line if operator in {"|=", "!="} else re.search(value, line) is not None
    return hit != operator.startswith("!")


def _text(quoted: str) -> str:
    return str(json.loads(f'"{quoted}"'))
