"""The objects of an S3 event: get, convert, put; each as often as it should be, with a line of log for each.

Imported only when an S3 event comes, since boto3 takes a quarter of a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from handler.converter import Caller, Converter
from handler.envelopes import Envelope
from handler.errors import ConversionError, InternalError, InvalidParameter, OutOfTime, SourceChanged
from handler.objects import Found, Ignored, Item, Leave, Outcome, S3Object
from handler.plan import is_output
from handler.reports import Reports
from handler.stages import milliseconds
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
            with self._logged(caller):
                source = self._wanted(item.found, caller, needed_ms)
            return Outcome(item, "converted", output=self._convert(source, caller))
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

    def _convert(self, source: S3Object, caller: Caller) -> str:
        """The key of the picture. Raises Leave and ConversionErrors, each logged once."""
        begun = time.perf_counter()
        with self._logged(caller):
            try:
                photo = self._transfer.fetch(source, caller)
            except SourceChanged:  # between HEAD and GET; what is there now has its own HEAD
                photo = self._transfer.fetch(source, caller)
        caller.properties |= {"fetch_ms": milliseconds(time.perf_counter() - begun), "output": photo.plan.key}
        picture = self._converter(photo.request(), caller)  # leaves its own line
        with self._logged(caller):
            self._transfer.deliver(photo, picture, caller)
        return photo.plan.key

    @contextmanager
    def _logged(self, caller: Caller) -> Iterator[None]:
        """A line for whatever keeps an object from being converted, or its picture from being delivered."""
        try:
            yield
        except Leave as left:
            self._converter.log.skipped(caller.source, {**caller.properties, "reason": left.reason})
            raise
        except ConversionError as error:
            self._converter.refuse(error, caller)
            raise
        except Exception as defect:
            caller.properties |= {"defect": repr(defect)}
            ours = InternalError("This failed by a defect of ours; the log line has the details.")
            self._converter.refuse(ours, caller)
            raise ours from defect


def _caller(source: str, item: Item, context: Any, reserve_ms: float) -> Caller:
    """Whoever looks at the clock leaves the time to hand back the rest of the event."""
    found = item.found.object if isinstance(item.found, Ignored) else item.found
    said: dict[str, Any] = {"request_id": getattr(context, "aws_request_id", None), "item": item.id}
    if isinstance(found, S3Object):
        said |= {"bucket": found.bucket, "key": found.key, "version_id": found.version_id}
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return Caller(source, said, remaining and (lambda: max(0, int(remaining() - reserve_ms))))
