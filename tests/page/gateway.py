"""An API Gateway on this machine, before the function: the page's requests become events, as on AWS.

It is as unhelpful as `sam local start-api`: every body is text, in both directions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Thread
from urllib.parse import unquote, urlsplit

from handler.function import Function
from tests.events import Context, http_api
from tests.s3_server import Quiet

EVENT_BYTES = 6_291_556  # Lambda quotas: request and response of a synchronous invocation


@contextmanager
def gateway(function: Function, stage: str) -> Iterator[str]:
    """The stage's URL, without a slash at its end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = unquote(urlsplit(self.path).path)
            headers = {name.lower(): value for name, value in self.headers.items()} | {"x-forwarded-proto": "http"}
            event = http_api(self.command, path, headers=headers, stage=stage, domain=self.headers["Host"])
            event |= {"body": body.decode(errors="replace"), "isBase64Encoded": False}
            if len(json.dumps(event, ensure_ascii=False)) > EVENT_BYTES:
                self.give(413, {}, b'{"message":"Request Entity Too Large"}')
                return
            answer = function(event, Context())
            assert len(json.dumps(answer)) <= EVENT_BYTES
            self.give(answer["statusCode"], answer["headers"], answer["body"].encode())

        def give(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                if name != "content-length":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = forward  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{stage}"
    server.shutdown()
    server.server_close()
