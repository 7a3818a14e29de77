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


def documented(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the bodies of POST /convert and POST /uploads, and the picture that the former answers."""
    convert, uploads = document["paths"]["/convert"]["post"], document["paths"]["/uploads"]["post"]
    convert["parameters"] = [
        {"name": name, "in": "query", "schema": schema}
        for name, schema in Parameters.model_json_schema()["properties"].items()
    ]
    bodies = {"application/json": _schema(JsonBody), "image/*": BINARY, "multipart/form-data": {"schema": FORM}}
    convert["requestBody"] = {"required": True, "content": bodies}
    convert["responses"]["200"]["content"] = {"application/json": _schema(Converted), "image/*": BINARY}
    uploads["requestBody"] = {"content": {"application/json": _schema(Upload)}}
    return document


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return {"schema": model.model_json_schema()}
