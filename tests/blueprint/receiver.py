"""A server on loopback that takes what sinks post, and answers as it is told."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """What came, and what is answered next: (status, headers, body), the last one for good."""

    answers: list[tuple[int, Mapping[str, str], bytes]] = field(default_factory=lambda: [(200, {}, b"ok")])
    calls: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    def next(self) -> tuple[int, Mapping[str, str], bytes]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens while the block runs."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found.calls.append((self.command, self.path, dict(self.headers.items()), body))
            status, headers, said = found.next()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(said)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(said)

        do_HEAD = do_POST

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        found.url = f"http://127.0.0.1:{server.server_port}"
        yield found
        server.shutdown()
