"""A photo from S3 and its picture back, and what is looked at before: size, marker, what is there already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from handler.convert import Conversion
from handler.converter import Caller, Converter
from handler.errors import AccessDenied, OutOfTime, SourceMissing, StorageRefused
from handler.objects import Head, Leave, S3Object
from handler.plan import MARKER, Plan, check, is_placeholder, plan
from handler.storage import Storage

LEAST_MS = 1000.0  # an object is not worth going on with in less
CACHE_CONTROL = "max-age=86400"  # a day: a picture is replaced in place when its photo is


class Transfer:
    """`fetch` before a conversion, `deliver` after it. Both raise StorageErrors."""

    def __init__(self, converter: Converter, storage: Storage) -> None:
        self._settings, self._styles, self._storage = converter.settings, converter.styles, storage

    def fetch(self, source: S3Object, caller: Caller) -> tuple[Plan, bytes]:
        """Also raises Leave, OutOfTime, and what `check` and `plan` raise."""
        head = self._storage.head(source)
        if head.metadata.get(MARKER[0]) == MARKER[1]:
            raise Leave("ignored", "it is a picture of ours")
        if is_placeholder(source, head):
            raise Leave("ignored", "it is the placeholder of a folder")
        check(head, self._settings)
        planned = plan(source, head, self._settings, self._styles.manifests)
        self._look_for_picture(planned)
        return planned, b"".join(self._in_time(self._read(source, head), caller))

    def deliver(self, planned: Plan, picture: Conversion) -> None:
        self._storage.write(
            planned.bucket,
            planned.key,
            picture.data,
            ContentType=f"image/{picture.format}",
            CacheControl=CACHE_CONTROL,
            Metadata=planned.metadata,
        )

    def _look_for_picture(self, planned: Plan) -> None:
        """Raises Leave where the work is done, StorageRefused where it would undo another's."""
        with suppress(SourceMissing, AccessDenied):  # without s3:ListBucket, a missing object is a denied one
            there = self._storage.head(S3Object(planned.bucket, planned.key))
            if planned.is_anothers(there):
                other = there.metadata["source-bucket"]
                raise StorageRefused(
                    f"s3://{planned.bucket}/{planned.key} is a picture from bucket {other}: "
                    "give each bucket its own OUTPUT_PREFIX."
                )
            if not self._settings.force and planned.is_made(there):
                raise Leave("skipped", "its picture is there", planned.key)
            if not self._settings.force and planned.is_superseded(there):
                raise Leave("skipped", "a picture of a newer version is there", planned.key)

    def _read(self, source: S3Object, head: Head) -> Iterator[bytes]:
        return self._storage.read(source, head, self._settings.max_input_bytes)

    def _in_time(self, chunks: Iterator[bytes], caller: Caller) -> Iterator[bytes]:
        for chunk in chunks:
            if caller.remaining_ms and caller.remaining_ms() < LEAST_MS:
                raise OutOfTime("The time ran out during the download.")
            yield chunk
