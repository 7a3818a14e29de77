"""The objects of an S3 event: get, convert, put; each as often as it should be, with a line of log for each.

Imported only when an S3 event comes, since boto3 takes a quarter of a second.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from handler.converter import Converter
from handler.envelopes import Envelope
from handler.errors import ConversionError, InvalidParameter, OutOfTime, SourceChanged
from handler.lines import Caller, Line, logged
from handler.objects import Found, Ignored, Item, Leave, Outcome, S3Object
from handler.plan import is_output
from handler.reports import Reports
from handler.stages import Stages, milliseconds
from handler.storage import Storage
from handler.transfer import LEAST_MS, Transfer

HEADROOM = 1.2  # over what the longest object of the event has taken
LINE_MS = 0.5  # to hand one object back, with its log line: 0.3 ms of a server's CPU


class S3Events:
    """Answers S3 events, each in its envelope's format."""

    def __init__(self, converter: Converter, storage: Storage) -> None:
        self._converter, self._storage, self._settings = converter, storage, converter.settings
        self._transfer, self._reports = Transfer(converter, storage), Reports(converter.settings, storage)

    def __call__(self, envelope: Envelope, context: Any) -> dict[str, Any]:
        """One object after the other, the rest unprocessed when time runs short. Raises Unfinished."""
        outcomes: list[Outcome] = []
        longest = 0.0
        for rest, item in zip(range(len(envelope.items), 0, -1), envelope.items, strict=True):
            begun = time.perf_counter()
            caller = _caller(envelope.source, item, context, rest * LINE_MS)
            outcomes.append(self._outcome(item, caller, max(LEAST_MS, longest * HEADROOM)))
            longest = max(longest, milliseconds(time.perf_counter() - begun))
        return envelope.answer(outcomes)

    def _outcome(self, item: Item, caller: Caller, needed_ms: float) -> Outcome:
        try:
            with logged(self._converter.log, caller, Stages()) as line:
                source = self._wanted(item.found, caller, needed_ms)
                output = self._convert(source, caller, line)
            return Outcome(item, "converted", output=output)
        except Leave as left:
            return Outcome(item, left.status, left.reason, left.output)
        except OutOfTime as error:
            return Outcome(item, "unprocessed", error=error)
        except ConversionError as error:
            self._reports.write(item.found, error, caller)
            return Outcome(item, "failed", error=error)

    def _wanted(self, found: Found, caller: Caller, needed_ms: float) -> S3Object:
        """The object to convert, as far as can be told without S3. Raises Leave and ConversionErrors."""
        if isinstance(found, ConversionError):
            raise found
        if isinstance(found, Ignored):
            raise Leave("ignored", found.reason)
        source = replace(found, bucket=found.bucket or self._settings.source_bucket)
        if not source.bucket:
            raise InvalidParameter("The item names no bucket: pass it as BatchInput, or set SOURCE_BUCKET.")
        if is_output(source, self._settings):
            raise Leave("ignored", "it lies where pictures go")
        if caller.remaining_ms and (left := caller.remaining_ms()) < needed_ms:
            raise OutOfTime(f"{left} ms are left, and an object may take {needed_ms:.0f}: left for another time.")
        return source

    def _convert(self, source: S3Object, caller: Caller, line: Line) -> str:
        """The key of the picture. Raises Leave and ConversionErrors."""
        with line.stages("s3_get"):
            try:
                photo = self._transfer.fetch(source, caller)
            except SourceChanged:  # between HEAD and GET; what is there now has its own HEAD
                photo = self._transfer.fetch(source, caller)
        line.said["output"] = photo.plan.key
        picture = self._converter.picture(photo.request(), caller, line)
        with line.stages("s3_put"):
            self._transfer.deliver(photo, picture, caller)
        return photo.plan.key


def _caller(source: str, item: Item, context: Any, reserve_ms: float) -> Caller:
    """Whoever looks at the clock leaves the time to hand back the rest of the event."""
    found = item.found.object if isinstance(item.found, Ignored) else item.found
    said: dict[str, Any] = {"request_id": getattr(context, "aws_request_id", None), "item": item.id}
    if isinstance(found, S3Object):
        said |= {"bucket": found.bucket, "key": found.key, "version_id": found.version_id}
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return Caller(source, said, remaining and (lambda: max(0, int(remaining() - reserve_ms))))
