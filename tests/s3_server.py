"""S3 for tests: moto's server, and a proxy before it that makes the network and S3 misbehave."""

from __future__ import annotations

import http.client
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from moto.server import ThreadedMotoServer

REGION = "eu-central-1"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def s3_server() -> Iterator[str]:
    """Its URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line per request
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def error_document(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>by a test</Message></Error>".encode()


@dataclass
class Fault:
    """What happens to requests with this method and text in their path; `times` many of them."""

    method: str
    path: str = ""
    times: int = 1
    status: int = 0  # answered instead of forwarded
    code: str = ""
    cut: bool = False  # the connection closes half-way through the body
    stall: float = 0.0  # seconds of silence half-way through the body
    trickle: float = 0.0  # seconds between each twentieth of the body
    lost: bool = False  # it is forwarded, and the answer never arrives
    length: int = 0  # what a HEAD says instead of the object's
    before: Callable[[], Any] | None = None  # done before the request is forwarded


@dataclass
class Proxy:
    """Its URL, the faults that it still has to make, and the requests that it saw."""

    url: str = ""
    faults: list[Fault] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def fault(self, method: str, path: str) -> Fault | None:
        self.seen.append(f"{method} {path}")
        for fault in self.faults:
            if fault.times and fault.method == method and fault.path in path:
                fault.times -= 1
                return fault
        return None


class Quiet(ThreadingHTTPServer):
    """Where clients that went away are no news."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


@contextmanager
def proxy(target: str) -> Iterator[Proxy]:
    host, _, port = target.removeprefix("http://").partition(":")
    here = Proxy()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = here.fault(self.command, self.path)
            if fault and fault.before:
                fault.before()
            if fault and fault.status:
                self.send(fault.status, {}, error_document(fault.code), fault)
                return
            connection = http.client.HTTPConnection(host, int(port))
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            if fault and fault.lost:
                self.close_connection = True
                return
            self.send(answer.status, dict(answer.getheaders()), data, fault)

        def send(self, status: int, headers: dict[str, str], data: bytes, fault: Fault | None) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                    self.send_header(name, value)
            length = int(headers.get("Content-Length", 0)) if self.command == "HEAD" else len(data)
            self.send_header("Content-Length", str(fault.length if fault and fault.length else length))
            self.end_headers()
            if self.command == "HEAD":
                return
            half = len(data) // 2
            if fault and fault.trickle:
                self.slowly(data, fault.trickle)
                return
            self.wfile.write(data[:half])
            if fault and fault.stall:
                time.sleep(fault.stall)
            if fault and fault.cut:
                self.close_connection = True
                return
            self.wfile.write(data[half:])

        def slowly(self, data: bytes, pause: float) -> None:
            step = len(data) // 20 + 1
            for first in range(0, len(data), step):
                self.wfile.write(data[first : first + step])
                time.sleep(pause)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    here.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    yield here
    server.shutdown()
    server.server_close()
