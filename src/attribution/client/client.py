"""The client speaks to one Attribution Service; every call is tried again where that is safe, which is everywhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx
import zstandard
from pydantic import BaseModel, ValidationError

import attribution
from attribution.client.bounded import below, in_time, within
from attribution.client.errors import ServiceError, ServiceMisunderstood, ServiceProblem, ServiceUnreachable
from attribution.client.retry import Busy, Retries, send
from attribution.contracts.context import ExecutionContext
from attribution.contracts.exchange import (
    MEDIA_NDJSON,
    Attribution,
    BatchAnswer,
    CatalogSnapshot,
    ObservationAnswer,
    ProblemDetails,
    SessionOpened,
    SessionState,
)
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The most that one request carries: bytes of JSON before compression, and observations.

    A single observation that is larger goes alone.
    """

    bytes: int = 4 << 20
    observations: int = 500


@dataclass(frozen=True, slots=True)
class Tagged:
    """An attribution and the `ETag` under which the Service knows it."""

    attribution: Attribution
    etag: str


class AttributionClient:
    """A connection to the Service at `base_url`. May be used by several threads at once; close it, or use `with`.

    `transport` takes the place of the network (see `in_process`). `timeout_secs` bounds a call to the last byte of its
    answer, `answer_timeout_secs` that for a diagnosis. Calls raise ServiceProblem (the Service refused),
    ServiceUnreachable (no answer after all retries) or ServiceMisunderstood (it is no Service that speaks version 2).
    """

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        transport: httpx.BaseTransport | None = None,
        timeout_secs: float = 30.0,
        answer_timeout_secs: float = 300.0,
        retries: Retries = Retries(),  # noqa: B008  frozen
        limits: BatchLimits = BatchLimits(),
    ) -> None:
        headers = {"User-Agent": f"attribution/{attribution.__version__}", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.base_url = base_url.rstrip("/")
        self.address = _shown(base_url)
        self._retries = retries
        self._limits = limits
        self._timeout_secs = timeout_secs
        self._answer_timeout_secs = answer_timeout_secs
        self._http = httpx.Client(headers=headers, transport=transport, follow_redirects=False)
        in_time(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give up the connections."""
        self._http.close()

    # --- sessions -----------------------------------------------------------------------------------------------------

    def open(self, context: ExecutionContext, retries: Retries | None = None) -> SessionOpened:
        """Open the session of an attempt, or give its open one the new context."""
        body = context.model_dump_json(exclude_defaults=True).encode()
        return self._read(SessionOpened, self._call("POST", "/v2/attributors", body, retries=retries))

    def submit(
        self, attributor_id: str, observations: Sequence[Observation], retries: Retries | None = None
    ) -> BatchAnswer:
        """Submit observations in batches, and tell what became of each, by its index in `observations`.

        What the Service holds to be too large even alone is `rejected`. If a batch is lost after all retries, the
        error's `answered` tells of the observations that were answered until then.
        """
        answers: list[ObservationAnswer] = []
        try:
            for first, lines in _batches(observations, self._limits):
                answers.extend(self._submit(attributor_id, first, lines, retries))
        except ServiceError as error:
            error.answered = (*answers, *error.answered)
            raise
        return BatchAnswer.of(answers)

    def attribution(self, attributor_id: str, retries: Retries | None = None) -> Attribution:
        """The diagnosis over everything that was accepted so far."""
        tagged = self.attribution_unless(attributor_id, None, retries)
        assert tagged is not None
        return tagged.attribution

    def attribution_unless(self, attributor_id: str, etag: str | None, retries: Retries | None = None) -> Tagged | None:
        """The diagnosis, or None if it is still the one known by `etag`."""
        headers = {"If-None-Match": etag} if etag else {}
        path = f"{_session(attributor_id)}/attribution"
        response = self._call("GET", path, headers=headers, retries=retries, timeout_secs=self._answer_timeout_secs)
        if response.status_code == httpx.codes.NOT_MODIFIED and etag:
            return None
        return Tagged(self._read(Attribution, response), response.headers.get("etag", ""))

    def state(self, attributor_id: str) -> SessionState:
        """What the session holds."""
        return self._read(SessionState, self._call("GET", _session(attributor_id)))

    def end(self, attributor_id: str) -> None:
        """End the session; what it holds is deleted."""
        self._call("DELETE", _session(attributor_id))

    # --- the catalog --------------------------------------------------------------------------------------------------

    def catalog(self, retries: Retries | None = None) -> CatalogSnapshot:
        """Everything that the loaded catalog says of itself; it changes with the rules only."""
        return self._read(CatalogSnapshot, self._call("GET", "/v2/catalog/snapshot", retries=retries))

    def plan(self, retries: Retries | None = None) -> CollectionPlan:
        """What evidence the loaded catalog can use."""
        return self._read(CollectionPlan, self._call("GET", "/v2/collection-plan", retries=retries))

    def told_time(self, retries: Retries | None = None) -> str:
        """The time that the Service tells with an answer, as a `Date` header has it; empty if it tells none."""
        return str(self._call("GET", "/v2/healthz", retries=retries).headers.get("date", ""))

    # --- calls --------------------------------------------------------------------------------------------------------

    def _submit(
        self, attributor_id: str, first: int, lines: Sequence[bytes], retries: Retries | None
    ) -> list[ObservationAnswer]:
        """Submit one batch; a batch that is refused as a whole is halved until the refused ones stand alone."""
        body = zstandard.ZstdCompressor(level=3).compress(b"\n".join(lines) + b"\n")
        headers = {"Content-Type": MEDIA_NDJSON, "Content-Encoding": "zstd"}
        try:
            response = self._call("POST", f"{_session(attributor_id)}/observations", body, headers, retries)
        except ServiceProblem as problem:
            if problem.status not in _REFUSED_AS_A_WHOLE:
                raise
            if len(lines) == 1:
                return [ObservationAnswer(index=first, outcome="rejected", reason=problem.details.detail)]
            return self._halves(attributor_id, first, lines, retries)
        answer = self._read(BatchAnswer, response)
        if sorted(item.index for item in answer.observations) != list(range(len(lines))):
            raise ServiceMisunderstood(self.address, "it did not answer each observation of a batch once")
        return [item.model_copy(update={"index": first + item.index}) for item in answer.observations]

    def _halves(
        self, attributor_id: str, first: int, lines: Sequence[bytes], retries: Retries | None
    ) -> list[ObservationAnswer]:
        middle = len(lines) // 2
        before = self._submit(attributor_id, first, lines[:middle], retries)
        try:
            return before + self._submit(attributor_id, first + middle, lines[middle:], retries)
        except ServiceError as error:
            error.answered = (*before, *error.answered)
            raise

    def _call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        retries: Retries | None = None,
        timeout_secs: float | None = None,
    ) -> httpx.Response:
        """One call with its retries. Anything but success, or `not modified`, is raised."""
        named = {"Content-Type": "application/json"} if body is not None else {}
        retries = retries or self._retries
        timeout = self._timeout_secs if timeout_secs is None else timeout_secs
        timeout = timeout if retries.try_secs is None else min(timeout, retries.try_secs)

        def call() -> httpx.Response:
            url = below(self.base_url, path)
            with within(timeout):
                return self._http.request(method, url, content=body, headers=named | (headers or {}), timeout=timeout)

        try:
            tried = send(call, retries)
        except httpx.DecodingError as error:
            raise ServiceMisunderstood(
                self.address, f"it sent what cannot be decompressed ({_reason(error)})"
            ) from None
        except httpx.InvalidURL:  # its words hold the address, which may be a secret
            raise ServiceUnreachable(self.address, "it is no address that can be used", 1) from None
        response = tried.response
        if isinstance(tried.error, Busy):
            response = tried.error.response
        elif tried.error is not None:
            raise ServiceUnreachable(self.address, _reason(tried.error), tried.tries) from None
        assert response is not None
        if response.is_success or response.status_code == httpx.codes.NOT_MODIFIED:
            return response
        raise self._problem(response)

    def _problem(self, response: httpx.Response) -> ServiceError:
        try:
            details = ProblemDetails.model_validate_json(response.content)
        except ValidationError:
            if response.status_code < httpx.codes.BAD_REQUEST:
                return ServiceMisunderstood(self.address, f"it answered with status {response.status_code}")
            phrase = response.reason_phrase or "no reason given"
            details = ProblemDetails(type="about:blank", title=phrase, status=response.status_code, detail=phrase)
        return ServiceProblem(response.status_code, details)

    def _read(self, model: type[M], response: httpx.Response) -> M:
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            what = f"its answer is no {model.__name__}" + (f" (`{where}`)" if where else "")
            raise ServiceMisunderstood(self.address, what) from None


_REFUSED_AS_A_WHOLE = frozenset({413, 422})


def _session(attributor_id: str) -> str:
    return f"/v2/attributors/{quote(attributor_id, safe='')}"


def _batches(observations: Sequence[Observation], limits: BatchLimits) -> Iterator[tuple[int, list[bytes]]]:
    """Runs of observations as lines of JSON, each with the index of its first one."""
    first, size, lines = 0, 0, list[bytes]()
    for index, item in enumerate(observations):
        line = item.model_dump_json(exclude_defaults=True).encode()
        if lines and (size + len(line) >= limits.bytes or len(lines) >= limits.observations):
            yield first, lines
            first, size, lines = index, 0, []
        lines.append(line)
        size += len(line) + 1
    if lines:
        yield first, lines


def _shown(url: str) -> str:
    """An address without a user, a password and a query, any of which may be a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(no address)"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")


def _reason(error: Exception) -> str:
    """Why the network failed, on one line."""
    if isinstance(error, httpx.TimeoutException):
        kind = "connection" if isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)) else "answer"
        return f"no {kind} within the time allowed"
    return " ".join(str(error).split()) or type(error).__name__
