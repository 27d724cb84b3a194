"""The API itself, over HTTP, with a token from a file."""

import ssl
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx

from attribution.blueprint.connectors.base import Halted, never
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why, of_status
from attribution.client.retry import retry_after_secs

_ERROR_BYTES = 1 << 16


class Api:
    """Requests to an API server. The token's file is read for each of them, as a cluster renews its tokens."""

    def __init__(self, url: str, token_file: Path | None, ca_file: Path | None) -> None:
        self._url = url.rstrip("/")
        self._token_file = token_file
        trusted = _trusted(ca_file) if self._url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client = httpx.Client(verify=trusted, follow_redirects=False)

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
            with self._client.stream(
                method, self._url + path, params=query, content=body, headers=headers, timeout=secs
            ) as answer:
                if not answer.is_success:
                    raise _refusal(answer)
                for piece in answer.iter_bytes():
                    if halted():
                        raise ClusterError(Why.HALTED, "was halted")
                    if not idle and time.monotonic() > until:
                        raise ClusterError(Why.LATE, f"did not answer within {secs:g} s")
                    yield piece
        except httpx.TimeoutException:
            raise ClusterError(Why.LATE, f"{self._url} did not answer within {secs:g} s") from None
        except httpx.InvalidURL as error:
            raise ClusterError(Why.REFUSED, f"`{self._url}` is no address: {error}") from None
        except httpx.HTTPError as error:
            raise ClusterError(Why.UNAVAILABLE, f"{self._url}: {error or type(error).__name__}") from None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json, */*"}
        if self._token_file is None:
            return headers
        try:
            token = self._token_file.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text"
            raise ClusterError(Why.UNAUTHORIZED, f"cannot read the token in {self._token_file}: {why}") from None
        if not token.isprintable() or not token:
            raise ClusterError(Why.UNAUTHORIZED, f"{self._token_file} holds no token")
        return headers | {"Authorization": f"Bearer {token}"}


def _refusal(answer: httpx.Response) -> ClusterError:
    body = b""
    for piece in answer.iter_bytes():
        body += piece
        if len(body) > _ERROR_BYTES:
            break
    return of_status(answer.status_code, body, retry_after_secs(answer.headers.get("retry-after", "")))


def _trusted(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ClusterError(Why.REFUSED, f"cannot read the certificates in {ca_file}: {why}") from None
