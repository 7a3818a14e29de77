"""What FastAPI cannot see of our routes, for the OpenAPI document: bodies, answers and errors.

Imported when somebody asks for the document, since building these schemas at each cold start would cost 40 ms.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from handler import errors
from handler.bodies import Parameters
from handler.errors import ConversionError
from handler.schemas import Converted, Form, Health, JsonBody, Known, Problem, Status
from handler.uploads import Upload

BINARY = {"type": "string", "format": "binary"}
REFERENCE = "#/components/schemas/{model}"
ID = {"type": "string", "pattern": "^[0-9a-f]{32}$", "examples": ["0123456789abcdef0123456789abcdef"]}
NOT_FOUND = (404, "not_found", "Not Found")  # of http_problem in answers.py

Codes = dict[int, list[tuple[str, str]]]  # status -> code and title of each
STORAGE = (errors.NotConfigured, errors.AccessDenied, errors.StorageRefused, errors.StorageUnavailable)
REQUEST = (errors.PayloadTooLarge, errors.UnknownStyle, errors.InvalidParameter)
PHOTO = (
    errors.InvalidBase64,
    errors.EmptyImage,
    errors.TooManyPixels,
    errors.UnsupportedFormat,
    errors.CorruptImage,
)
WORK = (errors.NotConfigured, errors.Busy, errors.OutOfTime)
RAISED: dict[tuple[str, str], tuple[type[ConversionError], ...]] = {
    ("/convert", "post"): (*PHOTO, *REQUEST, *WORK),
    ("/styles", "get"): (),
    ("/health", "get"): (),
    ("/uploads", "post"): (errors.InvalidBase64, *REQUEST, *STORAGE),
    ("/uploads/{id}", "get"): (*STORAGE, errors.SourceChanged),
}


def documented(document: dict[str, Any]) -> dict[str, Any]:
    """The document with all bodies, answers and error codes."""
    paths, kept = document["paths"], Kept(document)
    _convert(paths["/convert"]["post"], kept)
    _uploads(paths["/uploads"]["post"], kept)
    paths["/uploads/{id}"]["get"]["parameters"][0]["schema"] = ID
    answers: dict[str, type[BaseModel]] = {"/styles": Known, "/health": Health, "/uploads/{id}": Status}
    for path, model in answers.items():
        paths[path]["get"]["responses"] = {"200": _answer(kept.json(model))}
    for (path, method), raised in RAISED.items():
        codes = _codes((*raised, errors.InternalError), NOT_FOUND if "{" in path else None)
        paths[path][method]["responses"] |= {str(status): _problem(said, kept) for status, said in codes.items()}
    return document


class Kept:
    """The document's components, which the models that others refer to go to."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._schemas: dict[str, Any] = {}
        document["components"] = {"schemas": self._schemas}  # FastAPI's are of errors that nothing here answers

    def schema(self, model: type[BaseModel]) -> dict[str, Any]:
        said = model.model_json_schema(ref_template=REFERENCE)
        self._schemas.update(said.pop("$defs", {}))
        return said

    def json(self, model: type[BaseModel]) -> dict[str, Any]:
        return {"application/json": {"schema": self.schema(model)}}

    def problem(self) -> dict[str, str]:
        self._schemas.setdefault("Problem", self.schema(Problem))
        return {"$ref": REFERENCE.format(model="Problem")}


def _convert(convert: dict[str, Any], kept: Kept) -> None:
    parameters = kept.schema(Parameters)["properties"]
    convert["parameters"] = [
        {"name": name, "in": "query", "schema": schema} for name, schema in parameters.items()
    ]
    form = {"type": "object", "properties": {"file": BINARY, **parameters}, "required": ["file"]}
    image = {"image/*": {"schema": BINARY}}
    bodies = {**image, **kept.json(JsonBody), "multipart/form-data": {"schema": form}}
    convert["requestBody"] = {"required": True, "content": bodies}
    convert["responses"] = {"200": _answer({**kept.json(Converted), **image})}


def _uploads(uploads: dict[str, Any], kept: Kept) -> None:
    body = kept.json(Upload)
    body["application/json"]["schema"]["properties"]["content_type"]["examples"] = ["image/jpeg"]
    uploads["requestBody"] = {"required": True, "content": body}
    uploads["responses"] = {"201": _answer(kept.json(Form))}


def _answer(content: dict[str, Any]) -> dict[str, Any]:
    return {"description": "Done", "content": content}


def _codes(raised: tuple[type[ConversionError], ...], more: tuple[int, str, str] | None) -> Codes:
    codes: Codes = {}
    said = [(error.status, error.code, error.title) for error in raised]
    for status, code, title in sorted([*said, *([more] if more else [])], key=lambda one: one[0]):
        codes.setdefault(status, []).append((code, title))
    return codes


def _problem(said: list[tuple[str, str]], kept: Kept) -> dict[str, Any]:
    schema = {"allOf": [kept.problem()], "properties": {"code": {"enum": [code for code, _ in said]}}}
    answer: dict[str, Any] = {
        "description": "; ".join(f"{code}: {title}" for code, title in said),
        "content": {"application/problem+json": {"schema": schema}},
    }
    if any(code == errors.Busy.code for code, _ in said):
        seconds = {"description": "seconds, with busy", "schema": {"type": "integer"}}
        answer["headers"] = {"Retry-After": seconds}
    return answer
