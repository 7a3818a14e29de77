"""Error reports: why there is no picture and never will be, where the settings ask for it or somebody waits."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from handler.deadline import Deadline
from handler.errors import ConversionError
from handler.lines import Caller
from handler.naming import report_key
from handler.objects import Found, S3Object
from handler.plan import MARKER, is_upload, output_bucket
from handler.settings import Settings
from handler.storage import Storage
from handler.transfer import HAND_BACK_MS

log = logging.getLogger("animegan")


class Reports:
    """Writes them beside where the pictures go, marked like these: no other function may take one for a photo."""

    def __init__(self, settings: Settings, storage: Storage) -> None:
        self._settings, self._storage = settings, storage

    def write(self, found: Found, error: ConversionError, caller: Caller) -> None:
        """Lets nothing out: the reason is in the log already, and the rest of the event has to be done."""
        if not isinstance(found, S3Object) or error.transient or not found.bucket:
            return
        if not (self._settings.error_reports or is_upload(found, self._settings)):
            return
        try:
            self._write(found, error, caller)
        except ConversionError as denied:
            log.warning("the error report of %s could not be written: %s", found, denied)
        except Exception:
            log.exception("the error report of %s met a defect", found)

    def _write(self, found: S3Object, error: ConversionError, caller: Caller) -> None:
        said = {"code": error.code, "title": error.title, "detail": str(error), "bucket": found.bucket}
        said |= {"key": found.key, "versionId": found.version_id or "", "time": datetime.now(UTC).isoformat()}
        storage = self._storage.until(Deadline(caller.remaining_ms, HAND_BACK_MS))
        storage.write(
            output_bucket(found, self._settings),
            report_key(self._settings.output_prefix, found.key),
            json.dumps(said, ensure_ascii=False).encode(),
            {},
            ContentType="application/json",
            Metadata=dict([MARKER]),
        )
