"""The HTTP routes. Conversions run in `Slots`, so that /health answers while they do."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handler import __version__
from handler.accept import wanted_image
from handler.answers import EveryAnswer, conversion_problem, http_problem, json_answer, server_timing
from handler.bodies import Reader
from handler.convert import Conversion
from handler.converter import Converter
from handler.errors import ConversionError
from handler.events import source
from handler.limits import largest_picture, limits
from handler.lines import Caller
from handler.page import ASK_FIRST, HEADERS, READ, answer, page_routes
from handler.slots import Slots
from handler.turns import awaited
from handler.uploads import upload_routes

API_GATEWAY = ("http-api", "rest-api")
API_GATEWAY_MS = 29_000  # after which they give up on an integration, whatever the timeout of the function


class Application(FastAPI):
    """FastAPI with our request bodies in its OpenAPI document, which costs nothing until somebody asks for it."""

    def openapi(self) -> dict[str, Any]:
        from handler.openapi import documented

        if self.openapi_schema is None:
            self.openapi_schema = documented(super().openapi())
        return self.openapi_schema


def create_app(converter: Converter, slots: Slots) -> FastAPI:
    """The ASGI application, for Mangum on Lambda and for uvicorn anywhere else."""
    about = "Photos in, anime pictures out."
    # FastAPI's own pages of documentation load their scripts from elsewhere.
    app = Application(
        title="animegan-lambda", version=__version__, description=about, docs_url=None, redoc_url=None
    )
    app.add_middleware(EveryAnswer)
    app.add_exception_handler(ConversionError, conversion_problem)
    app.add_exception_handler(HTTPException, http_problem)
    reader = Reader(converter.settings.style, converter.settings.max_input_bytes)
    started = time.monotonic()

    @app.post("/convert", summary="Convert a photo", response_class=Response)
    async def convert(request: Request) -> Response:
        as_image, format = wanted_image(request.headers.get("accept", ""))
        carried = _picture if as_image else _document
        caller = _caller(request)
        try:
            wanted = await reader.read(request)
            most = largest_picture(caller.source, converter.settings)
            wanted = replace(wanted, format=wanted.format or format, max_output_bytes=most)
            if found := converter.cached(wanted, caller):  # here and now: it takes neither a slot nor its turn
                return carried(found)
            future = slots.submit(lambda queued: converter(wanted, caller, queued))
        except ConversionError as refused:
            converter.refuse(refused, caller)
            raise
        return carried(await awaited(future, request))

    @app.get("/styles", summary="The styles that there are")
    async def styles(request: Request) -> Response:
        may = limits(source(request.scope.get("aws.event")), converter.settings)
        known = converter.styles.described()
        faces = await run_in_threadpool(converter.paints_faces)
        default = converter.settings.style
        return json_answer({"default": default, "styles": known, "limits": may, "faces": faces})

    @app.get("/health", summary="Whether it is ready, and what it runs")
    async def health() -> Response:
        digests = {style["name"]: style["digest"] for style in converter.styles.described()}
        uptime = round(time.monotonic() - started, 1)
        return json_answer({"status": "ok", "version": __version__, "styles": digests, "uptime_s": uptime})

    @app.api_route("/docs", methods=READ, include_in_schema=False)
    async def documentation(request: Request) -> Response:
        from handler import docs

        html = docs.page(app.openapi(), _address(request))
        return answer(request, "docs.html", html, ASK_FIRST, {**HEADERS, "Content-Security-Policy": docs.policy()})

    app.include_router(upload_routes(converter))
    app.include_router(page_routes(converter))
    return app


def _address(request: Request) -> str:
    """Where this was asked, stage and all, as its client wrote it: text, and perhaps no URL."""
    host = request.headers.get("host", "localhost")
    return f"{request.scope.get('scheme', 'http')}://{host}{request.scope.get('root_path', '')}"


def _caller(request: Request) -> Caller:
    scope = request.scope
    kind = source(scope.get("aws.event"))
    remaining = getattr(scope.get("aws.context"), "get_remaining_time_in_millis", None)
    if remaining and kind in API_GATEWAY:
        remaining = _at_most(API_GATEWAY_MS, remaining)
    return Caller(kind, {"request_id": scope["animegan.request_id"]}, remaining)


def _at_most(ms: int, remaining: Callable[[], int]) -> Callable[[], int]:
    """The function's own remaining time, or what is left of `ms` from now on, if that is less."""
    end = time.monotonic() + ms / 1000
    return lambda: min(remaining(), int((end - time.monotonic()) * 1000))


def _picture(done: Conversion) -> Response:
    headers = {"Server-Timing": server_timing(done.timings)}
    if done.warnings:  # as Mangum decodes headers as UTF-8 and HTTP allows Latin-1, only ASCII is safe
        headers["X-Warnings"] = "; ".join(done.warnings).encode("ascii", "replace").decode()
    return Response(done.data, headers=headers, media_type=f"image/{done.format}")


def _document(done: Conversion) -> Response:
    document = {
        "image": base64.b64encode(done.data).decode(),
        "format": done.format,
        "width": done.width,
        "height": done.height,
        "style": done.style,
        "timings": done.timings,
        "warnings": list(done.warnings),
    }
    return json_answer(document, headers={"Server-Timing": server_timing(done.timings)})
