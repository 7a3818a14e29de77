"""What a client gets back: problem documents, and two headers on every answer, whatever answers."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import uuid
from collections.abc import Mapping
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handler.errors import Busy, ConversionError, InternalError
from handler.stages import milliseconds

SANE_REQUEST_ID = re.compile(r"[\w.:/=+-]{1,128}", re.ASCII)  # goes into logs and headers, so nothing else does

log = logging.getLogger("animegan")


def problem(status: int, code: str, title: str, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as RFC 9457 has it, with our stable `code`."""
    document = {"type": "about:blank", "status": status, "code": code, "title": title, "detail": detail}
    return json_answer(document, status, headers, "application/problem+json")


def json_answer(
    document: object,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    media_type: str = "application/json",
) -> Response:
    body = json.dumps(document, ensure_ascii=False).encode(errors="replace")  # JSON may smuggle lone surrogates in
    return Response(body, status, headers, media_type)


async def conversion_problem(request: Request, error: Exception) -> Response:
    """A ConversionError as an answer, with the timings of the stages that it got through."""
    assert isinstance(error, ConversionError)
    headers = {"Server-Timing": server_timing(error.timings)} if error.timings else {}
    if isinstance(error, Busy):
        headers["Retry-After"] = str(error.retry_after)
    return problem(error.status, error.code, error.title, str(error), headers)


async def http_problem(request: Request, error: Exception) -> Response:
    """Starlette's own errors (no such route, wrong method) in the same form."""
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    code = phrase.lower().replace(" ", "_")
    detail = f"{request.method} {request.url.path}: {phrase}; see /docs for what there is."
    return problem(error.status_code, code, phrase, detail, error.headers)


def server_timing(timings: Mapping[str, float]) -> str:
    """Stage -> milliseconds, as a Server-Timing header (W3C)."""
    return ", ".join(f"{stage};dur={spent}" for stage, spent in timings.items())


class EveryAnswer:
    """Gives every answer Server-Timing and X-Request-Id, and lets no traceback out."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        scope["animegan.request_id"] = request_id = _request_id(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                total = {"total": milliseconds(time.perf_counter() - begun)}
                headers.setdefault("Server-Timing", server_timing(total))
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        except ClientDisconnect:
            log.info("request %s: its client has gone before the conversion began", request_id)
        except asyncio.CancelledError:  # a server does so to what is left when it stops
            stopping = Busy("The server is being stopped; try again in 1 s.", 1)
            await (await conversion_problem(Request(scope), stopping))(scope, receive, send_with_headers)
        except Exception:
            log.exception("request %s met a defect", request_id)
            broken = InternalError(f"This is a defect of ours; the log has the details of request {request_id}.")
            answer = problem(broken.status, broken.code, broken.title, str(broken))
            await answer(scope, receive, send_with_headers)


def _request_id(scope: Scope) -> str:
    """Lambda's, since its log lines have that one; else the client's; else a new one."""
    if context := scope.get("aws.context"):
        return str(context.aws_request_id)
    given = Headers(scope=scope).get("x-request-id", "")
    return given if SANE_REQUEST_ID.fullmatch(given) else str(uuid.uuid4())
