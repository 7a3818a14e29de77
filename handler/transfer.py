"""A photo from S3 and its picture back, each in the time that there is; and what is looked at before."""

from __future__ import annotations

from dataclasses import dataclass

from handler.convert import Conversion, ConversionRequest
from handler.converter import Converter
from handler.deadline import Deadline
from handler.lines import Caller
from handler.objects import Leave, S3Object
from handler.pictures import Pictures, Seen
from handler.plan import MARKER, Plan, check, is_placeholder, plan
from handler.storage import Storage

LEAST_MS = 1000.0  # an object is not worth going on with in less
HAND_BACK_MS = 250.0  # to end the event in, whatever S3 does


@dataclass(frozen=True, slots=True)
class Photo:
    """What was fetched: its bytes, what they are to become, and what was seen at the picture's place."""

    plan: Plan
    data: bytes
    seen: Seen

    def request(self) -> ConversionRequest:
        return self.plan.request(self.data)


class Transfer:
    """`fetch` before a conversion, `deliver` after it. Both raise Leave, StorageErrors and OutOfTime."""

    def __init__(self, converter: Converter, storage: Storage) -> None:
        self._settings, self._styles, self._storage = converter.settings, converter.styles, storage

    def fetch(self, source: S3Object, caller: Caller) -> Photo:
        """Also raises what `check` and `plan` raise."""
        storage = self._storage.until(Deadline(caller.remaining_ms, LEAST_MS))
        head = storage.head(source)
        if head.metadata.get(MARKER[0]) == MARKER[1]:
            raise Leave("ignored", "it is a picture or a report of ours")
        if is_placeholder(source, head):
            raise Leave("ignored", "it is the placeholder of a folder")
        check(head, self._settings)
        planned = plan(source, head, self._settings, self._styles.manifests)
        seen = Pictures(storage, self._settings.force).look(planned)
        return Photo(planned, storage.read(source, head, self._settings.max_input_bytes), seen)

    def deliver(self, photo: Photo, picture: Conversion, caller: Caller) -> None:
        storage = self._storage.until(Deadline(caller.remaining_ms, HAND_BACK_MS))
        Pictures(storage, self._settings.force).put(photo.plan, picture, photo.seen)
