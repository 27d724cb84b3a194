"""An HTTP server on loopback that answers as a test says, also in the ways in which servers fail."""

import contextlib
import gzip
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

_PIECE = 1 << 16
_POLL_SECS = 0.02
_DRIPPED_HEADERS = 60


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked. `params` are those of the address and of a form, the last of each name."""

    method: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    at: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered.

    `wait_secs` pass before the first byte. `cut_at` closes the connection after so many bytes of the body, although
    more were promised. `drip_secs` pass between two bytes of it, `drip_header_secs` between two headers that are sent
    before the others, for a while. `endless` repeats the body for as long as somebody
    reads. `clock_secs` is how far the server's clock is ahead.
    """

    status: int = 200
    body: bytes | str = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    wait_secs: float = 0.0
    cut_at: int | None = None
    drip_secs: float = 0.0
    drip_header_secs: float = 0.0
    endless: bool = False
    clock_secs: float = 0.0
    compressed: bool = False

    @property
    def data(self) -> bytes:
        """The body as it is sent."""
        data = self.body.encode() if isinstance(self.body, str) else self.body
        return gzip.compress(data) if self.compressed else data


Handler = Callable[[Request], Reply]


class Server:
    """Serves `handler` on a free port of loopback until the `with` block ends. `requests` are those that came.

    With `certificate`, files in PEM form of a certificate and its key, it speaks TLS.
    """

    def __init__(self, handler: Handler, certificate: tuple[Path, Path] | None = None) -> None:
        self.handler = handler
        self._certificate = certificate
        self.requests: list[Request] = []
        self.sent_bytes = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def __enter__(self) -> Self:
        self._server = _Threads(("127.0.0.1", 0), _handler_of(self))
        if self._certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*self._certificate)
            # The handshake belongs to the thread of its connection: a client that refuses us holds up nobody.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL_SECS,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.close_all()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The address of the server."""
        scheme = "http" if self._certificate is None else "https"
        return f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def _taken(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
        return self.handler(request)

    def _pause(self, secs: float) -> None:
        self._stopped.wait(secs)

    def _sent(self, count: int) -> None:
        with self._lock:
            self.sent_bytes += count


class _Threads(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def close_all(self) -> None:
        """End the connections that clients keep open."""
        with self._guard:
            held = list(self._open)
        for connection in held:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what many tests are about."""


def _handler_of(server: Server) -> type[BaseHTTPRequestHandler]:
    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body are two writes, and the second would wait 40 ms for an ACK

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            reply = server._taken(_request(self, body))
            server._pause(reply.wait_secs)
            data = reply.data
            self.send_response_only(reply.status)
            if reply.drip_header_secs:
                self._drip_headers(reply.drip_header_secs)
            now = formatdate(time.time() + reply.clock_secs, usegmt=True)
            headers = {"Date": now, "Content-Type": reply.content_type, **reply.headers}
            if reply.compressed:
                headers["Content-Encoding"] = "gzip"
            if not reply.endless and reply.status != 204:
                headers["Content-Length"] = str(len(data))
            if reply.endless or reply.cut_at is not None:
                headers["Connection"] = "close"
                self.close_connection = True
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self._send(reply, data)

        def _drip_headers(self, secs: float) -> None:
            for _ in range(_DRIPPED_HEADERS):
                self.send_header("X-Wait", "more")
                self.flush_headers()
                server._pause(secs)

        def _send(self, reply: Reply, data: bytes) -> None:
            data = data if reply.cut_at is None else data[: reply.cut_at]
            size = 1 if reply.drip_secs else _PIECE
            while not server._stopped.is_set():
                for start in range(0, len(data), size):
                    self.wfile.write(data[start : start + size])
                    server._sent(min(size, len(data) - start))
                    if reply.drip_secs:
                        server._pause(reply.drip_secs)
                    if server._stopped.is_set():
                        return
                if not reply.endless or not data:
                    return

        def do_GET(self) -> None:
            self._answer()

        def do_HEAD(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: Any) -> None:
            """Tests have their own words."""

    return Answering


def _request(found: BaseHTTPRequestHandler, body: bytes) -> Request:
    address = urlsplit(found.path)
    query = address.query
    if "form-urlencoded" in found.headers.get("Content-Type", ""):
        query = "&".join(filter(None, (query, body.decode("utf-8", "replace"))))
    params = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
    headers = {name.lower(): value for name, value in found.headers.items()}
    return Request(found.command, address.path, params, headers, body, time.monotonic())


def faulty(handler: Handler, *replies: Reply) -> Handler:
    """Answers the first requests with `replies`, one each, and all others as `handler` does."""
    left = list(replies)
    lock = threading.Lock()

    def answer(request: Request) -> Reply:
        with lock:
            first = left.pop(0) if left else None
        return first if first is not None else handler(request)

    return answer
