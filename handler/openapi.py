"""What FastAPI cannot see of our routes, for the OpenAPI document: bodies are read by bodies.py, not by it.

Imported when somebody asks for the document, since building these schemas at each cold start would cost 40 ms.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from handler.bodies import Parameters
from handler.uploads import Upload

BINARY = {"schema": {"type": "string", "format": "binary"}}
FORM = {"type": "object", "properties": {"file": BINARY["schema"]}, "required": ["file"]}


class JsonBody(Parameters):
    """The JSON body of POST /convert."""

    image: str = Field(description="the photo in base64, or as a data URI")


class Converted(BaseModel):
    """The JSON answer of POST /convert."""

    image: str = Field(description="the picture in base64")
    format: str
    width: int
    height: int
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


def documented(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the bodies of POST /convert and POST /uploads, and the answers of /convert and /styles."""
    convert, uploads = document["paths"]["/convert"]["post"], document["paths"]["/uploads"]["post"]
    convert["parameters"] = [
        {"name": name, "in": "query", "schema": schema}
        for name, schema in Parameters.model_json_schema()["properties"].items()
    ]
    bodies = {"application/json": _schema(JsonBody), "image/*": BINARY, "multipart/form-data": {"schema": FORM}}
    convert["requestBody"] = {"required": True, "content": bodies}
    convert["responses"]["200"]["content"] = {"application/json": _schema(Converted), "image/*": BINARY}
    uploads["requestBody"] = {"content": {"application/json": _schema(Upload)}}
    known = Known.model_json_schema(ref_template="#/components/schemas/{model}")
    document.setdefault("components", {}).setdefault("schemas", {}).update(known.pop("$defs"))
    document["paths"]["/styles"]["get"]["responses"]["200"]["content"] = {"application/json": {"schema": known}}
    return document


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return {"schema": model.model_json_schema()}
