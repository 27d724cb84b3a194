"""A call over HTTP ends in bounded time, whatever the server does, and says in one sentence why it gave no answer."""

import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import httpcore
import httpx
from pydantic import AfterValidator

import attribution
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.foreign import one_line


class Why(StrEnum):
    """Why there is no answer."""

    DENIED = "denied"
    BUSY = "busy"
    UNREACHABLE = "unreachable"
    WRONG = "wrong"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"


class Refused(ConnectorError):
    """There is no answer. `text` is what the server said, `status` its HTTP status if there was one."""

    def __init__(self, why: Why, message: str, status: int | None = None, text: str = "") -> None:
        self.why = why
        self.status = status
        self.text = text
        super().__init__(message)


def in_header(value: str) -> str:
    """The value, which may stand in a header. ValueError if it may not."""
    if not (value.isascii() and value.isprintable() and value.strip() == value):
        raise ValueError("holds characters that no header may hold")
    return value


Header = Annotated[str, AfterValidator(in_header)]
"""A setting that is sent in a header."""


def bearer(file: Path) -> dict[str, str]:
    """The header with the token that a file holds now. ConnectorError if it holds none that can be sent."""
    try:
        token = in_header(file.read_text(encoding="utf-8").strip())
    except OSError as error:
        raise ConnectorError(f"cannot read the token in {file}: {error.strerror or error}") from None
    except ValueError:
        raise ConnectorError(f"cannot use the token in {file}: it holds characters that no header may hold") from None
    if not token:
        raise ConnectorError(f"cannot use the token in {file}: the file is empty")
    return {"Authorization": f"Bearer {token}"}


def certificates(file: Path | None) -> ssl.SSLContext:
    """What a server's certificate is trusted by: a file, or what the system and httpx know. Raises ConnectorError."""
    try:
        if file is not None:
            return ssl.create_default_context(cafile=file)
        context = httpx.create_ssl_context()
        context.load_default_certs()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConnectorError(f"cannot read the certificates in {file or 'the system'}: {why}") from None
    return context


class Caller:
    """Calls one server. May be used by several threads at once; it connects when it is first asked.

    Redirects are not followed: what is sent goes where it was meant to go, or nowhere.
    """

    def __init__(
        self,
        url: str,
        timeout_secs: float,
        headers: Mapping[str, str] | None = None,
        auth: httpx.Auth | None = None,
        ca_file: Path | None = None,
    ) -> None:
        self._is_secure = url.startswith("https:")
        self._timeout_secs = timeout_secs
        self._headers = {"User-Agent": f"attribution/{attribution.__version__}", **(headers or {})}
        self._auth = auth
        self._ca_file = ca_file
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def open(self) -> None:
        """Read the certificates. Raises ConnectorError if they cannot be."""
        self._opened()

    def close(self) -> None:
        """Give up the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def answer(
        self, method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[httpx.Response]:
        """An answer of which the headers are there; all that the block reads of it must come in time, too.

        Raises httpx.TransportError where another try may do, which `unanswered` puts into words, and else Refused.
        """
        try:
            with (
                _within(self._timeout_secs),
                self._opened().stream(method, url, content=body, headers=headers) as found,
            ):
                yield found
        except httpx.DecodingError as error:
            raise Refused(Why.UNREADABLE, f"sent what cannot be decompressed: {one_line(error)}") from None
        except httpx.InvalidURL:  # its words hold the address, which may be a secret
            raise Refused(Why.WRONG, "has an address that cannot be used; check its host and port") from None
        except (httpx.LocalProtocolError, ValueError):  # its words hold the header, which may be a secret
            raise Refused(
                Why.WRONG, "cannot be asked: its address, a token, a user or a header holds characters that none may"
            ) from None

    def begun(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], secs: float
    ) -> httpx.Response:
        """An answer of which the headers came within `secs`; whoever called reads it, and closes it."""
        client = self._opened()
        request = client.build_request(method, url, content=body, headers=headers, timeout=secs)
        with _within(secs):
            return client.send(request, stream=True)

    def _opened(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                needs_trust = self._is_secure or self._ca_file is not None
                client = httpx.Client(
                    headers=self._headers,
                    auth=self._auth,
                    verify=certificates(self._ca_file) if needs_trust else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                    timeout=self._timeout_secs,
                    follow_redirects=False,
                )
                _in_time(client)
                self._client = client
            return self._client


def unanswered(error: Exception | None, secs: float, at: str | None = None) -> str:
    """Why no answer came, after a name."""
    if isinstance(error, httpx.TimeoutException):
        return f"did not answer within {secs:g} s"
    if isinstance(error, httpx.UnsupportedProtocol):
        return "has an address that cannot be used; it begins with neither http:// nor https://"
    said = one_line(error) if error is not None else "no answer"
    return f"cannot be reached{f' at {at}' if at else ''}: {said}"


# --- time -------------------------------------------------------------------------------------------------------------
#
# A time-out of httpx is one for each read, so that a server which sends a byte now and then is never late. Here each
# read is given what is left of the whole.

_until: ContextVar[float | None] = ContextVar("until", default=None)


@contextmanager
def _within(secs: float) -> Iterator[None]:
    """All that is read in this thread while the block runs must come within so much time."""
    token = _until.set(time.monotonic() + secs)
    try:
        yield
    finally:
        _until.reset(token)


def _in_time(client: httpx.Client) -> None:
    """Have a client read in time. httpx takes no network of ours, so it is put into the pools that it made."""
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        if isinstance(pool, httpcore.ConnectionPool):
            pool._network_backend = _InTime(pool._network_backend)


class _InTime(httpcore.NetworkBackend):
    """A network whose streams read in time."""

    def __init__(self, network: httpcore.NetworkBackend) -> None:
        self._network = network

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *args: Any, **named: Any) -> "_Stream":
        return _Stream(self._network.connect_tcp(host, port, _left(timeout), *args, **named))


class _Stream(httpcore.NetworkStream):
    """A connection that is read in time."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _left(timeout)
        if left is not None and left <= 0:
            raise httpcore.ReadTimeout("the answer did not end in time")
        return self._stream.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(timeout: float | None) -> float | None:
    """What is left of a time-out and of the whole."""
    until = _until.get()
    if until is None:
        return timeout
    left = until - time.monotonic()
    return left if timeout is None else min(timeout, left)
