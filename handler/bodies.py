"""What a client sent -> ConversionRequest: JSON with base64, an image as the body, or a multipart form.

The parameters are the same everywhere: keys of the JSON object, query parameters, or fields of the form.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive

from handler.convert import ConversionRequest
from handler.errors import EmptyImage, InvalidBase64, InvalidParameter, PayloadTooLarge, UnsupportedFormat
from handler.image import OutputFormat
from handler.text import shown

ROOM_FOR_PARAMETERS = 64 * 1024  # bytes of a body around the image
SHOWN = 60  # characters of a wrong value that an error repeats
MOST_GIVEN = 50  # parameters that are looked at; there are seven
MOST_SHOWN = 5  # wrong values that an error names
AS_TEXT = b"\xef\xbf\xbd"  # U+FFFD in UTF-8: what JPEG's and PNG's first byte becomes where bytes are read as text
BASE64URL = str.maketrans("-_", "+/")


def _no_alias(name: Any) -> Any:
    return "jpeg" if name == "jpg" else name


class Parameters(BaseModel):
    """What may be said of a conversion besides its photo."""

    model_config = ConfigDict(extra="forbid")

    style: str | None = Field(None, description="a name from GET /styles; without it the default style")
    size: int | None = Field(None, ge=1, description="long side of the result in pixels")
    format: Annotated[OutputFormat | None, BeforeValidator(_no_alias)] = Field(
        None, description="without it the photo's own if it is one of these, else png"
    )
    quality: int = Field(92, ge=1, le=100, description="of a JPEG or WebP result")
    upscale: bool = Field(False, description="let the result be larger than the photo")
    side_by_side: bool = Field(False, description="photo left, result right")
    face: bool = Field(False, description="paint faces apart, at the size that the style is best at")


P = TypeVar("P", bound=Parameters)


class Reader:
    """Reads requests. Raises ConversionErrors that name what was wrong and what to do."""

    def __init__(self, default_style: str, max_input_bytes: int) -> None:
        self._style, self._max_image = default_style, max_input_bytes

    async def read(self, request: Request) -> ConversionRequest:
        """The body by its content type. Raises what its parts raise, and UnsupportedFormat for others."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        given: Mapping[str, Any] = request.query_params
        if kind == "application/json" or kind.endswith("+json"):
            data, more = self._json(await self._limited(request, 4 / 3).body())
        elif kind == "multipart/form-data":
            data, more = await self._form(await _form(self._limited(request)))
        elif kind.startswith("image/") or kind in ("", "application/octet-stream", "binary/octet-stream"):
            data, more = await self._limited(request).body(), {}
        else:
            raise UnsupportedFormat(
                f"The body is {kind}; send application/json, an image/* body, or multipart/form-data. With curl: "
                '--data-binary @photo.jpg -H "Content-Type: image/jpeg".'
            )
        return self._request(data, validated({**given, **more}))

    def _request(self, data: bytes, said: Parameters) -> ConversionRequest:
        if data.startswith(AS_TEXT):
            raise UnsupportedFormat(
                "The image was turned into text on its way (it begins with U+FFFD): set the API's binary media "
                "types to */*, or send JSON with the image in base64."
            )
        options = said.model_dump(exclude={"style", "image"})
        return ConversionRequest(data, style=said.style or self._style, **options)

    def _json(self, body: bytes) -> tuple[bytes, dict[str, Any]]:
        said = json_object(body, '{"image": "<base64>"}')
        image = said.pop("image", None)
        if image is None or image == "":
            raise EmptyImage('There is no "image" in the body; send {"image": "<base64>"}.')
        if not isinstance(image, str):
            raise InvalidParameter('"image" is not a string; send the photo in base64 or as a data URI.')
        return from_base64(image), said

    async def _form(self, form: FormData) -> tuple[bytes, dict[str, Any]]:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise EmptyImage('The form has no file part named "file"; with curl: -F file=@photo.jpg.')
        return await file.read(), {name: value for name, value in form.items() if name != "file"}

    def _limited(self, request: Request, growth: float = 1.0) -> Request:
        """The same request, which stops being read at the limit, whatever its Content-Length claims."""
        limit = int(self._max_image * growth) + ROOM_FOR_PARAMETERS
        return Request(request.scope, _limited(request.receive, limit, self._max_image))


def json_object(body: bytes, example: str) -> dict[str, Any]:
    """A body that has to be a JSON object, or nothing at all. Raises InvalidParameter."""
    try:
        said = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidParameter(f"The body is not JSON ({str(error)[:SHOWN]}).") from None
    if not isinstance(said, dict):
        raise InvalidParameter(f"The body is not a JSON object; send {example}.")
    return said


def from_base64(text: str) -> bytes:
    """Base64 or base64url, padded or not, with line breaks or not, bare or as a data URI. Raises InvalidBase64."""
    if text[:5].lower() == "data:":
        described, comma, text = text.partition(",")
        if not comma or not described.lower().endswith(";base64"):
            raise InvalidBase64("The data URI is not base64; it must begin like data:image/jpeg;base64,…")
    with suppress(ValueError):  # nearly all are standard and unbroken: making them so costs as much as decoding
        return base64.b64decode(text, validate=True)
    bare = "".join(text.split()).translate(BASE64URL).rstrip("=")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidBase64(f"The image is not base64 ({error}); encode the file's bytes once.") from None


def validated(given: Mapping[str, Any], model: type[P] = Parameters) -> P:  # type: ignore[assignment]
    """Parameters as they may be. Raises InvalidParameter, naming every wrong one."""
    try:
        return model.model_validate(dict(islice(given.items(), MOST_GIVEN)))
    except ValidationError as error:
        known = ", ".join(model.model_fields)
        wrong = "; ".join(map(_wrong, error.errors(include_url=False)[:MOST_SHOWN]))
        raise InvalidParameter(f"{wrong}. Parameters are {known}.") from None


def _wrong(error: Any) -> str:
    """The value is repeated only of parameters that are ours: others may be secrets, and errors are logged."""
    name = shown(".".join(map(str, error["loc"])), SHOWN)
    value = "" if error["type"] == "extra_forbidden" else f"={shown(error['input'], SHOWN)}"
    return f"{name}{value}: {error['msg']}"


async def _form(request: Request) -> FormData:
    try:
        return await request.form(max_files=1, max_fields=len(Parameters.model_fields))
    except HTTPException as error:
        raise InvalidParameter(f"The form cannot be read: {error.detail.rstrip('.')}.") from None
    except (LookupError, ValueError):  # python-multipart decodes names by whatever charset it is told
        raise InvalidParameter("The form cannot be read: its charset is none; leave it out.") from None


def _limited(receive: Receive, limit: int, max_image: int) -> Receive:
    taken = 0

    async def counting() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:
            raise PayloadTooLarge(f"The body is too large; at most {max_image:,} bytes of image are taken here.")
        return message

    return counting
