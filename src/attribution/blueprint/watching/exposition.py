"""The watcher's metrics and health over HTTP, on a port of their own."""

import hmac
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as MEDIA_METRICS

_REQUEST_SECS = 10


@contextmanager
def exposed(
    listener: socket.socket, metrics: Callable[[], bytes], is_healthy: Callable[[], bool], token: str | None
) -> Iterator[None]:
    """Answer `GET /metrics` and `GET /healthz` while the block runs. A token guards the metrics."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _REQUEST_SECS
        server_version, sys_version = "attribution", ""

        def do_GET(self) -> None:
            if self.path == "/healthz":
                healthy = is_healthy()
                status = HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE
                self._answer(status, b"ok\n" if healthy else b"no round of discovery ended for long\n")
            elif self.path != "/metrics":
                self._answer(HTTPStatus.NOT_FOUND, b"/metrics and /healthz are here\n")
            elif token and not hmac.compare_digest(
                self.headers.get("Authorization", "").encode(), f"Bearer {token}".encode()
            ):
                self._answer(HTTPStatus.UNAUTHORIZED, b"show the token as Authorization: Bearer\n")
            else:
                self._answer(HTTPStatus.OK, metrics(), MEDIA_METRICS)

        def _answer(self, status: HTTPStatus, body: bytes, media: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            self.send_header("Content-Type", media)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            """Who reads metrics is not worth a line."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A reader that goes away is no error."""

    server = Server(listener.getsockname()[:2], Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.server_activate()
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
