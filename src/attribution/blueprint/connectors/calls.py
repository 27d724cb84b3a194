"""A call over HTTP ends in bounded time, whatever the server does, and says in one sentence why it gave no answer."""

import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import httpx
from pydantic import AfterValidator

import attribution
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.foreign import one_line
from attribution.client.bounded import in_time, within
from attribution.configuration.secrets import Secret


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


def _secret_in_header(value: Secret) -> Secret:
    in_header(value.get_secret_value())
    return value


SecretHeader = Annotated[Secret, AfterValidator(_secret_in_header)]
"""A secret that is sent in a header."""


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
        with (
            worded(),
            within(self._timeout_secs),
            self._opened().stream(method, url, content=body, headers=headers) as found,
        ):
            yield found

    def begun(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], secs: float
    ) -> httpx.Response:
        """An answer of which the headers came within `secs`; whoever called reads it with `pieces`, and closes it.

        Raises what `answer` raises.
        """
        with worded(), within(secs):
            client = self._opened()
            request = client.build_request(method, url, content=body, headers=headers, timeout=secs)
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
                in_time(client)
                self._client = client
            return self._client


@contextmanager
def worded() -> Iterator[None]:
    """What goes wrong in the block, and will go wrong again, is raised as Refused, without showing a secret."""
    try:
        yield
    except httpx.DecodingError as error:
        raise Refused(Why.UNREADABLE, f"sent what cannot be decompressed: {one_line(error)}") from None
    except httpx.InvalidURL:  # its words hold the address, which may be a secret
        raise Refused(Why.WRONG, "has an address that cannot be used; check its host and port") from None
    except (httpx.LocalProtocolError, ValueError):  # its words hold the header, which may be a secret
        raise Refused(
            Why.WRONG, "cannot be asked: its address, a token, a user or a header holds characters that none may"
        ) from None


def pieces(answer: httpx.Response, until: float, idle_secs: float | None = None) -> Iterator[bytes]:
    """What an answer that was `begun` holds: all of it by `until`, by time.monotonic(), or each piece in `idle_secs`.

    Raises what `Caller.answer` raises. The time that whoever reads takes for a piece counts as the server's.
    """
    parts = answer.iter_bytes()
    while True:
        with worded(), within(until - time.monotonic() if idle_secs is None else idle_secs):
            piece = next(parts, None)
        if piece is None:
            return
        yield piece


def unanswered(error: Exception | None, secs: float, at: str | None = None) -> str:
    """Why no answer came, after a name."""
    if isinstance(error, httpx.TimeoutException):
        return f"did not answer within {secs:g} s"
    if isinstance(error, httpx.UnsupportedProtocol):
        return "has an address that cannot be used; it begins with neither http:// nor https://"
    if isinstance(error, httpx.RemoteProtocolError):  # it was reached
        return f"gave no whole answer in HTTP{f' at {at}' if at else ''}: {one_line(error)}"
    said = one_line(error) if error is not None else "no answer"
    return f"cannot be reached{f' at {at}' if at else ''}: {said}"
