"""The part of a kubelet that an API server asks for logs: files FOLDER/NAMESPACE/POD/CONTAINER[.previous].log.

    kubelet.py PORT CERTIFICATE KEY FOLDER

Each line of a file begins with its time stamp, as a kubelet's do.
"""

import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


def handler(folder: Path) -> type[BaseHTTPRequestHandler]:
    class Kubelet(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            asked = {name: values[-1] for name, values in parse_qs(address.query).items()}
            parts = address.path.strip("/").split("/")
            if len(parts) != 4 or parts[0] != "containerLogs":
                return self._answer(404, b"no such page")
            is_previous = asked.get("previous") == "true"
            pod, container = parts[2], parts[3]
            file = folder / parts[1] / pod / f"{container}{'.previous' if is_previous else ''}.log"
            if file.is_file():
                return self._answer(200, _chosen(file.read_bytes(), asked))
            if is_previous:
                words = f'previous terminated container "{container}" in pod "{pod}" not found'
            else:
                words = f'container "{container}" in pod "{pod}" is waiting to start: ContainerCreating'
            return self._answer(400, words.encode())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    return Kubelet


def _chosen(data: bytes, asked: dict[str, str]) -> bytes:
    lines = data.splitlines(keepends=True)
    if "sinceTime" in asked:
        lines = [line for line in lines if line[:19].decode() >= asked["sinceTime"][:19]]
    if "tailLines" in asked:
        lines = lines[-int(asked["tailLines"]) :]
    if asked.get("timestamps") != "true":
        lines = [line.partition(b" ")[2] for line in lines]
    body = b"".join(lines)
    return body[: int(asked["limitBytes"])] if "limitBytes" in asked else body


if __name__ == "__main__":
    port, certificate, key, folder = sys.argv[1:5]
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), handler(Path(folder)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
