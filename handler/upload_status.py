"""What became of an upload, told by what lies in S3: the photo, its picture, an error report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from handler.errors import AccessDenied, InvalidParameter, NotConfigured, SourceMissing, UnknownStyle
from handler.generator import Manifest
from handler.naming import report_key
from handler.objects import Head, S3Object
from handler.plan import is_of, origin, output_bucket, place
from handler.settings import Settings
from handler.wishes import wish

if TYPE_CHECKING:
    from handler.storage import Storage

LINK_SECONDS = 3600
REPORT_BYTES = 16 * 1024


class UploadStatus:
    """`waiting` for the photo, `converting`, `done` with a link, or `failed` with the reason."""

    def __init__(self, settings: Settings, styles: Mapping[str, Manifest], storage: Storage) -> None:
        self._settings, self._styles, self._storage = settings, styles, storage

    def __call__(self, source: S3Object) -> dict[str, Any]:
        """Raises NotConfigured where there is no such bucket, and StorageErrors."""
        head = self._head(source)
        if head is None:
            self._check_bucket(source.bucket)
            return {"status": "waiting"}
        return self._done(source, head) or self._failure(source, head) or {"status": "converting"}

    def _done(self, source: S3Object, head: Head) -> dict[str, Any] | None:
        """With a picture of whatever settings, as they may change meanwhile. Failed if there never can be one."""
        try:
            wanted = wish(source, head, self._settings)
        except InvalidParameter as wrong:
            return _failed(wrong.code, str(wrong))
        target = place(source, wanted, self._settings)
        picture = self._head(target)
        if picture and is_of(picture, origin(source, head)):
            link = self._storage.link(target.bucket, target.key, LINK_SECONDS)
            return {"status": "done", "url": link, "expires_in": LINK_SECONDS}
        if wanted.style not in self._styles:
            return _failed(UnknownStyle.code, f"There is no style {wanted.style!r} here any more.")
        return None

    def _failure(self, source: S3Object, head: Head) -> dict[str, Any] | None:
        """What the error report says, unless it is of an earlier upload to the same form, or no report."""
        key = report_key(self._settings.output_prefix, source.key)
        report = S3Object(output_bucket(source, self._settings), key)
        written = self._head(report)
        if written is None or written.modified < head.modified:
            return None
        with suppress(ValueError, LookupError, TypeError, RecursionError):
            said = json.loads(self._storage.read(report, written, REPORT_BYTES))
            return _failed(said["code"], said["detail"])
        return None

    def _head(self, wanted: S3Object) -> Head | None:
        """None also where access is denied: without s3:ListBucket that is S3's answer for what is missing."""
        try:
            return self._storage.head(wanted)
        except (SourceMissing, AccessDenied):
            return None

    def _check_bucket(self, bucket: str) -> None:
        if self._storage.is_missing(bucket):
            raise NotConfigured(f"There is no bucket {bucket}, which UPLOAD_BUCKET names.")


def _failed(code: str, detail: str) -> dict[str, Any]:
    return {"status": "failed", "code": code, "detail": detail}
