"""The picture that is there already, and ours in its place: looked at before a conversion, and put only over what
was seen then. So of two conversions at the same time the newer version's picture stays, whichever ends last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from handler.convert import Conversion
from handler.errors import AccessDenied, SourceChanged, SourceMissing, StorageRefused, StorageUnavailable
from handler.objects import Head, Leave, S3Object
from handler.plan import Plan
from handler.storage import Storage

TRIES = 3  # of a PUT whose place others write to at the same time
CACHE_CONTROL = "max-age=86400"  # a day: a picture is replaced in place when its photo is


@dataclass(frozen=True, slots=True)
class Seen:
    """What was there, as the condition on which put_object may replace it. `denied`: it could not be looked at."""

    condition: Mapping[str, str]
    denied: bool = False


class Pictures:
    """Both methods raise Leave where there is nothing left to do, and StorageErrors."""

    def __init__(self, storage: Storage, force: bool) -> None:
        self._storage, self._force = storage, force

    def look(self, planned: Plan) -> Seen:
        """Also raises StorageRefused where ours would replace another bucket's."""
        try:
            there = self._storage.head(S3Object(planned.bucket, planned.key))
        except (SourceMissing, AccessDenied) as none:  # without s3:ListBucket, a missing object is a denied one
            return Seen({"IfNoneMatch": "*"}, isinstance(none, AccessDenied))
        if planned.is_anothers(there):
            other = there.metadata["source-bucket"]
            raise StorageRefused(
                f"s3://{planned.bucket}/{planned.key} is a picture from bucket {other}: "
                "give each bucket its own OUTPUT_PREFIX."
            )
        if not self._force:
            self._leave(planned, there)
        return Seen({"IfMatch": there.etag})

    def put(self, planned: Plan, picture: Conversion, seen: Seen) -> None:
        """Raises StorageUnavailable where others never stop writing to the same place."""
        headers = {"ContentType": f"image/{picture.format}", "CacheControl": CACHE_CONTROL}
        said, condition = {**headers, "Metadata": planned.metadata}, seen.condition
        for _ in range(TRIES):
            try:
                self._storage.write(planned.bucket, planned.key, picture.data, condition, **said)
                return
            except SourceChanged:
                seen = self.look(planned)
                condition = {} if seen.denied else seen.condition  # one is there, and nobody may say which
        raise StorageUnavailable(f"s3://{planned.bucket}/{planned.key} was replaced {TRIES} times meanwhile.")

    def _leave(self, planned: Plan, there: Head) -> None:
        if planned.is_made(there):
            raise Leave("skipped", "its picture is there", planned.key)
        if planned.is_superseded(there) or (planned.is_tied(there) and not self._is_current(planned)):
            raise Leave("skipped", "a picture of a newer version is there", planned.key)

    def _is_current(self, planned: Plan) -> bool:
        """Whether S3 has no newer one. Where it names none (deleted, denied), the last to come is taken for it."""
        try:
            current = self._storage.head(S3Object(planned.source.bucket, planned.source.key))
        except (SourceMissing, AccessDenied):
            return True
        return planned.is_of(current)
