"""A real HTTP server of one file on this machine, which can be told to misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Host:
    """Serves `content`; every attribute may be changed between requests. `requests` has the headers of each."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Mapping[str, str]] = []
        self.content = b""
        self.etag: str | None = '"one"'
        self.ranges = True  # honours Range
        self.if_range = True  # honours If-Range
        self.range_start: int | None = None  # the first byte it claims to send in a 206, whatever was asked for
        self.status: int | None = None  # answers this and an error page
        self.cut_after: int | None = None  # closes the connection after so many bytes
        self.hangs_up = threading.Event()  # while clear, it keeps the connection open after what it sent
        self.hangs_up.set()
        self.length: int | None = None  # what Content-Length says instead of the truth
        self.tells_length = True
        self.repeat = 1  # sends the content so often

    def answer(self, to: BaseHTTPRequestHandler) -> None:
        self.requests.append(dict(to.headers.items()))
        if self.status is not None:
            self._send(to, self.status, b"an error page", {})
            return
        start = self._start(to)
        if start is None:
            self._send(to, 200, self.content, {})
        elif start >= len(self.content):
            self._send(to, 416, b"", {"Content-Range": f"bytes */{len(self.content)}"})
        else:
            first = start if self.range_start is None else self.range_start
            where = f"bytes {first}-{len(self.content) - 1}/{len(self.content)}"
            self._send(to, 206, self.content[first:], {"Content-Range": where})

    def _start(self, to: BaseHTTPRequestHandler) -> int | None:
        """The first byte asked for; None where the whole file is due (RFC 9110, 13.1.5 and 14.2)."""
        asked = to.headers.get("Range")
        if self.range_start is not None:
            return self.range_start
        if not asked or not self.ranges:
            return None
        if self.if_range and to.headers.get("If-Range", self.etag) != self.etag:
            return None
        return int(asked.removeprefix("bytes=").removesuffix("-"))

    def _send(self, to: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        to.send_response(status)
        for name, value in headers.items():
            to.send_header(name, value)
        if self.etag:
            to.send_header("ETag", self.etag)
        if self.tells_length and status != 204:
            to.send_header("Content-Length", str(self.length or len(body) * self.repeat))
        to.end_headers()
        for _ in range(self.repeat):
            to.wfile.write(body[: self.cut_after])
            self.hangs_up.wait(10)


@contextmanager
def hosting() -> Iterator[Host]:
    """A Host at `url`, until the end of the block."""
    host = Host()

    class Handler(BaseHTTPRequestHandler):  # HTTP/1.0: the connection closes after each answer
        def do_GET(self) -> None:
            host.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:  # a client that hangs up on too large a file
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        host.url = f"http://127.0.0.1:{server.server_port}/weights/x.pt"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield host
        finally:
            host.hangs_up.set()
            server.shutdown()
            thread.join()
