"""The shapes of bodies and answers, for the OpenAPI document alone: routes read and write without them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from handler.bodies import Parameters


class JsonBody(Parameters):
    """The JSON body of POST /convert."""

    image: str = Field(description="the photo in base64, or as a data URI")


class Converted(BaseModel):
    """The JSON answer of POST /convert."""

    image: str = Field(description="the picture in base64")
    format: str
    width: int = Field(description="pixels")
    height: int = Field(description="pixels")
    style: str
    timings: dict[str, float] = Field(description="milliseconds per stage; total has everything")
    warnings: list[str]


class Style(BaseModel):
    name: str
    title: str
    licence: str
    precision: str
    kernel: str = Field(description="native: the style's own operators; torch: torch's alone")
    digest: str = Field(description="of its checkpoint")


class Limits(BaseModel):
    """What a client has to know before it sends a photo."""

    max_side: int = Field(description="largest long side of a result in pixels")
    max_input_bytes: int = Field(description="largest photo")
    max_input_pixels: int = Field(description="largest photo, its width times its height")
    max_payload_bytes: int = Field(description="largest photo in a request, as base64 in JSON")
    uploads: bool = Field(description="whether POST /uploads takes larger ones")


class Known(BaseModel):
    """The answer of GET /styles."""

    default: str
    styles: list[Style]
    limits: Limits
    faces: bool = Field(description="whether `face` can be asked for")


class Health(BaseModel):
    """The answer of GET /health."""

    status: Literal["ok"]
    version: str
    styles: dict[str, str] = Field(description="the digest of each style's checkpoint, by its name")
    uptime_s: float = Field(description="seconds since it was started")


class Form(BaseModel):
    """The answer of POST /uploads: a form that takes one photo."""

    id: str
    url: str = Field(description="where the form goes")
    fields: dict[str, str] = Field(description="its fields, to be sent before the part named file")
    max_bytes: int = Field(description="largest photo")
    expires_in: int = Field(description="seconds in which the upload has to begin")
    status_url: str = Field(description="path that tells what became of it")


class Status(BaseModel):
    """The answer of GET /uploads/{id}."""

    id: str
    status: Literal["waiting", "converting", "done", "failed"]
    url: str = Field("", description="done: where the picture is")
    expires_in: int = Field(0, description="done: seconds for which that address works")
    code: str = Field("", description="failed: as an error has it")
    detail: str = Field("", description="failed: why, for a person")


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: Literal["about:blank"]
    status: int
    code: str = Field(description="what went wrong; stable")
    title: str
    detail: str = Field(description="what was wrong and what to do about it, for a person")
