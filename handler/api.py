"""The HTTP routes. Conversions run in `Slots`, so that /health answers while they do."""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import replace
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handler import __version__
from handler.accept import wanted_image
from handler.answers import EveryAnswer, conversion_problem, http_problem, json_answer, server_timing
from handler.bodies import JsonBody, Parameters, Reader
from handler.convert import Conversion
from handler.converter import Caller, Converter
from handler.errors import ConversionError
from handler.events import source
from handler.slots import Slots
from handler.uploads import upload_routes


class Converted(BaseModel):
    """The JSON answer of POST /convert."""

    image: str = Field(description="the picture in base64")
    format: str
    width: int
    height: int
    style: str
    timings: dict[str, float] = Field(description="milliseconds per stage; total has everything")
    warnings: list[str]


BINARY = {"schema": {"type": "string", "format": "binary"}}
FORM = {"type": "object", "properties": {"file": BINARY["schema"]}, "required": ["file"]}
BODY: dict[str, Any] = {
    "parameters": [
        {"name": name, "in": "query", "schema": schema}
        for name, schema in Parameters.model_json_schema()["properties"].items()
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": JsonBody.model_json_schema()},
            "image/*": BINARY,
            "multipart/form-data": {"schema": FORM},
        },
    },
}


def create_app(converter: Converter, slots: Slots) -> FastAPI:
    """The ASGI application, for Mangum on Lambda and for uvicorn anywhere else."""
    app = FastAPI(title="animegan-lambda", version=__version__, description="Photos in, anime pictures out.")
    app.add_middleware(EveryAnswer)
    app.add_exception_handler(ConversionError, conversion_problem)
    app.add_exception_handler(HTTPException, http_problem)
    reader = Reader(converter.settings.style, converter.settings.max_input_bytes)
    started = time.monotonic()

    @app.post(
        "/convert",
        summary="Convert a photo",
        response_class=Response,
        responses={200: {"model": Converted, "content": {"image/*": BINARY}}},
        openapi_extra=BODY,
    )
    async def convert(request: Request) -> Response:
        as_image, format = wanted_image(request.headers.get("accept", ""))
        caller = _caller(request)
        try:
            wanted = await reader.read(request)
            wanted = replace(wanted, format=wanted.format or format, max_output_bytes=_limit(request, converter))
            future = slots.submit(lambda queued: converter(wanted, caller, queued))
        except ConversionError as refused:
            converter.refuse(refused, caller)
            raise
        done = await asyncio.wrap_future(future)
        return _picture(done) if as_image else _document(done)

    @app.get("/styles", summary="The styles that there are")
    async def styles() -> Response:
        return json_answer({"default": converter.settings.style, "styles": converter.styles.described()})

    @app.get("/health", summary="Whether it is ready, and what it runs")
    async def health() -> Response:
        digests = {style["name"]: style["digest"] for style in converter.styles.described()}
        uptime = round(time.monotonic() - started, 1)
        return json_answer({"status": "ok", "version": __version__, "styles": digests, "uptime_s": uptime})

    app.include_router(upload_routes(converter))
    return app


def _caller(request: Request) -> Caller:
    scope = request.scope
    remaining = getattr(scope.get("aws.context"), "get_remaining_time_in_millis", None)
    return Caller(source(scope.get("aws.event")), {"request_id": scope["animegan.request_id"]}, remaining)


def _limit(request: Request, converter: Converter) -> int | None:
    """Lambda bounds its responses; a plain server does not."""
    return converter.settings.max_output_bytes if "aws.event" in request.scope else None


def _picture(done: Conversion) -> Response:
    headers = {"Server-Timing": server_timing(done.timings)}
    if done.warnings:  # as Mangum decodes headers as UTF-8 and HTTP allows Latin-1, only ASCII is safe
        headers["X-Warnings"] = "; ".join(done.warnings).encode("ascii", "replace").decode()
    return Response(done.data, headers=headers, media_type=f"image/{done.format}")


def _document(done: Conversion) -> Response:
    document = Converted(
        image=base64.b64encode(done.data).decode(),
        format=done.format,
        width=done.width,
        height=done.height,
        style=done.style,
        timings=done.timings,
        warnings=list(done.warnings),
    )
    return json_answer(document.model_dump(), headers={"Server-Timing": server_timing(done.timings)})
