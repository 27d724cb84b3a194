"""The API itself, over HTTP, with a token from a file."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import httpx

from attribution.blueprint.connectors import calls
from attribution.blueprint.connectors.base import ConnectorError, Halted, never
from attribution.blueprint.connectors.calls import Caller, Refused, bearer, pieces, unanswered
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why, of_status
from attribution.client.bounded import below
from attribution.client.retry import retry_after_secs

WHY = {
    calls.Why.DENIED: Why.UNAUTHORIZED,
    calls.Why.BUSY: Why.BUSY,
    calls.Why.UNREACHABLE: Why.UNAVAILABLE,
    calls.Why.WRONG: Why.REFUSED,
    calls.Why.TOO_LARGE: Why.TOO_LARGE,
    calls.Why.UNREADABLE: Why.UNREADABLE,
}
"""What a call that has no answer means, for each reason there is."""
_ERROR_BYTES = 1 << 16
_CONNECT_SECS = 30.0


class Api:
    """Requests to an API server. The token's file is read for each of them, as a cluster renews its tokens."""

    def __init__(self, url: str, token_file: Path | None, ca_file: Path | None) -> None:
        self._url = url.rstrip("/")
        self._token_file = token_file
        self._caller = Caller(self._url, _CONNECT_SECS, ca_file=ca_file)
        try:
            self._caller.open()
        except ConnectorError as error:
            raise ClusterError(Why.REFUSED, str(error)) from None

    @property
    def name(self) -> str:
        """The address."""
        return self._url

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
        """See Transport."""
        method = "GET" if body is None else "POST"
        headers = self._headers() | ({} if body is None else {"Content-Type": "application/json"})
        until = time.monotonic() + secs
        try:
            with closing(self._caller.begun(method, below(self._url, path, query), body, headers, secs)) as answer:
                idle_secs = secs if idle and answer.is_success else None
                read = _until_halted(pieces(answer, until, idle_secs), halted)
                if not answer.is_success:
                    raise _refusal(answer, read)
                yield from read
        except Refused as error:
            raise ClusterError(WHY[error.why], f"{self._url} {error}") from None
        except httpx.HTTPError as error:
            why = Why.LATE if isinstance(error, httpx.TimeoutException) else Why.UNAVAILABLE
            raise ClusterError(why, f"{self._url} {unanswered(error, secs)}") from None

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json, */*"}
        try:
            return headers if self._token_file is None else headers | bearer(self._token_file)
        except ConnectorError as error:
            raise ClusterError(Why.UNAUTHORIZED, str(error)) from None


def _until_halted(read: Iterator[bytes], halted: Halted) -> Iterator[bytes]:
    for piece in read:
        if halted():
            raise ClusterError(Why.HALTED, "was halted")
        yield piece


def _refusal(answer: httpx.Response, read: Iterator[bytes]) -> ClusterError:
    """The error that an answer is. One whose text does not come in time, or cannot be read, still has its status."""
    body = b""
    try:
        for piece in read:
            body += piece
            if len(body) > _ERROR_BYTES:
                break
    except (httpx.HTTPError, Refused):
        pass
    return of_status(answer.status_code, body, retry_after_secs(answer.headers.get("retry-after", "")))
