"""POST /uploads and GET /uploads/{id}: photos over the payload limit go to S3 by a presigned form, and come back
by a presigned link. Nothing is kept here: the id is in the key, what is wanted in the object's metadata.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handler.accept import FORMATS
from handler.answers import json_answer
from handler.bodies import Parameters, json_object, validated
from handler.converter import Converter
from handler.errors import NotConfigured, PayloadTooLarge, UnknownStyle
from handler.objects import S3Object
from handler.settings import UPLOADS
from handler.upload_status import UploadStatus
from handler.wishes import OPTIONS

if TYPE_CHECKING:
    from handler.storage import Storage

FORM_SECONDS = 300  # to begin the upload
BODY_BYTES = 16 * 1024
ID = re.compile(r"[0-9a-f]{32}")  # 128 random bits, which nobody guesses


class Upload(Parameters):
    """The JSON body of POST /uploads."""

    model_config = ConfigDict(defer_build=True)  # conversions over HTTP need none of it

    content_type: str = Field(pattern=r"^image/[\w.+-]{1,64}$", description="of the photo, such as image/jpeg")


def upload_routes(converter: Converter) -> APIRouter:
    """The two routes."""
    router, uploads = APIRouter(), Uploads(converter)

    @router.post("/uploads", summary="Upload a large photo", status_code=201)
    async def begin(request: Request) -> Response:
        said = json_object(await _body(request), '{"content_type": "image/jpeg"}')
        form = await run_in_threadpool(uploads.begin, validated(said, Upload))
        here = request.scope.get("root_path", "") + f"/uploads/{form['id']}"
        return json_answer({**form, "status_url": here}, 201)

    @router.get("/uploads/{id}", summary="What became of an upload")
    async def status(id: str) -> Response:
        if not ID.fullmatch(id):
            raise HTTPException(404)
        return json_answer({"id": id, **await run_in_threadpool(uploads.status, id)})

    return router


class Uploads:
    """Raises NotConfigured without a bucket that is there, StorageErrors, and UnknownStyle."""

    def __init__(self, converter: Converter) -> None:
        self._settings, self._styles = converter.settings, converter.styles

    def begin(self, wanted: Upload) -> dict[str, Any]:
        """A form that takes one photo of this type, for five minutes."""
        bucket, id = self._bucket(), secrets.token_hex(16)
        if wanted.style and wanted.style not in self._styles.manifests:
            raise UnknownStyle(f"There is no style {wanted.style!r} here; see GET /styles.")
        options = wanted.model_dump(exclude={"content_type"}, exclude_none=True)
        options.setdefault("format", FORMATS.get(wanted.content_type, "png"))
        options["style"] = wanted.style or self._settings.style  # for good, whatever STYLE is later
        fields = {"Content-Type": wanted.content_type, f"x-amz-meta-{OPTIONS}": json.dumps(options)}
        most = self._settings.max_input_bytes
        url, form = self._storage().form(bucket, _source(bucket, id).key, fields, most, FORM_SECONDS)
        return {"id": id, "url": url, "fields": form, "max_bytes": most, "expires_in": FORM_SECONDS}

    def status(self, id: str) -> dict[str, Any]:
        """As `upload_status` has it."""
        source = _source(self._bucket(), id)
        return UploadStatus(self._settings, self._styles.manifests, self._storage())(source)

    def _bucket(self) -> str:
        if not self._settings.upload_bucket:
            raise NotConfigured("Uploads need a bucket: set UPLOAD_BUCKET, whose S3 events come to this function.")
        return self._settings.upload_bucket

    def _storage(self) -> Storage:
        from handler.storage import storage  # boto3 takes a quarter of a second, which other routes need not pay

        return storage()


def _source(bucket: str, id: str) -> S3Object:
    return S3Object(bucket, f"{UPLOADS}{id}/photo")


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES:
            raise PayloadTooLarge("The body is too large: photos go to the address that is answered, not here.")
    return body
