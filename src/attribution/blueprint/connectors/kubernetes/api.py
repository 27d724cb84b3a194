"""The API itself, over HTTP, with a token from a file."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import httpx

from attribution.blueprint.connectors.base import ConnectorError, Halted, never
from attribution.blueprint.connectors.calls import Caller, bearer, unanswered
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why, of_status
from attribution.client.retry import retry_after_secs

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
        url = f"{self._url}{path}?{urlencode(query)}" if query else self._url + path
        until = time.monotonic() + secs
        try:
            with closing(self._caller.begun(method, url, body, headers, secs)) as answer:
                if not answer.is_success:
                    raise _refusal(answer)
                for piece in answer.iter_bytes():
                    if halted():
                        raise ClusterError(Why.HALTED, "was halted")
                    if not idle and time.monotonic() > until:
                        raise ClusterError(Why.LATE, f"{self._url} did not answer within {secs:g} s")
                    yield piece
        except httpx.InvalidURL as error:
            raise ClusterError(Why.REFUSED, f"`{self._url}` is no address: {error}") from None
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


def _refusal(answer: httpx.Response) -> ClusterError:
    body = b""
    for piece in answer.iter_bytes():
        body += piece
        if len(body) > _ERROR_BYTES:
            break
    return of_status(answer.status_code, body, retry_after_secs(answer.headers.get("retry-after", "")))
