"""A proxy before S3 that takes its time, by method."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOP_BY_HOP = ("content-length", "connection", "transfer-encoding")


class Proxy(ThreadingHTTPServer):
    """`delays` are seconds by method, and may be changed at any time."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target.removeprefix("http://")
        self.delays: dict[str, float] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Proxy

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        time.sleep(self.server.delays.get(self.command, 0.0))
        connection = http.client.HTTPConnection(self.server.target)
        connection.request(self.command, self.path, body, dict(self.headers.items()))
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def proxy(target: str) -> Iterator[Proxy]:
    """Before `target`, an http:// address, while the block runs."""
    with Proxy(target) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
