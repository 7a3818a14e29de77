"""Everything that can go wrong in a conversion, as one tree.

ConversionError                     (status, code)
├── InvalidBase64                   400  invalid_base64
├── EmptyImage                      400  empty_image
├── PayloadTooLarge                 413  payload_too_large
├── TooManyPixels                   413  too_many_pixels
├── UnsupportedFormat               415  unsupported_format
├── CorruptImage                    422  corrupt_image
├── UnknownStyle                    422  unknown_style
├── InvalidParameter                422  invalid_parameter
├── Busy                            503  busy            (carries Retry-After)
├── OutOfTime                       504  out_of_time
├── InternalError                   500  internal_error  (a defect of ours; the cause goes to the log)
├── UnreadableEvent                 400  unreadable_event
├── NotConfigured                   501  not_configured
└── StorageError
    ├── SourceMissing               404  source_missing
    ├── AccessDenied                403  access_denied
    ├── SourceArchived              409  source_archived
    ├── SourceChanged               409  source_changed
    ├── StorageRefused              502  storage_refused
    └── StorageUnavailable          503  storage_unavailable
Unfinished                          some objects of an event have to be tried again; raised so that they are
SettingsError                       the environment is misconfigured; names every wrong variable
StyleError                          a frozen style cannot be loaded
UnknownEvent                        lambda_handler was called with an event that it has no answer for

Every message says what was wrong and what to do about it: it is what the caller sees. `transient` tells what may
end otherwise when it is tried again (throttling, a cut connection, too little time) from what never will.
"""

from __future__ import annotations

from typing import ClassVar

from handler.text import encodable


class ConversionError(Exception):
    """A conversion that cannot be done. `code` is stable and documented; the message is for a person."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "The conversion failed"
    transient: ClassVar[bool] = False
    timings: dict[str, float]

    def __init__(self, message: str) -> None:
        super().__init__(encodable(message))
        self.timings = {}  # milliseconds per stage until it failed, as in Conversion


class InternalError(ConversionError):
    """A defect of ours, told without its traceback. Transient, so that no photo is given up for it."""

    transient = True


class InvalidBase64(ConversionError):
    status, code, title = 400, "invalid_base64", "The image is not valid base64"


class EmptyImage(ConversionError):
    status, code, title = 400, "empty_image", "There is no image"


class PayloadTooLarge(ConversionError):
    status, code, title = 413, "payload_too_large", "Too many bytes"


class TooManyPixels(ConversionError):
    status, code, title = 413, "too_many_pixels", "Too many pixels"


class UnsupportedFormat(ConversionError):
    status, code, title = 415, "unsupported_format", "This format is not supported"


class CorruptImage(ConversionError):
    status, code, title = 422, "corrupt_image", "The image is damaged"


class UnknownStyle(ConversionError):
    status, code, title = 422, "unknown_style", "There is no such style"


class InvalidParameter(ConversionError):
    status, code, title = 422, "invalid_parameter", "A parameter is wrong"


class Busy(ConversionError):
    """All slots and the queue are taken; `retry_after` is in seconds."""

    status, code, title = 503, "busy", "Too many conversions at once"
    transient = True

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OutOfTime(ConversionError):
    status, code, title = 504, "out_of_time", "Not enough time left"
    transient = True


class UnreadableEvent(ConversionError):
    status, code, title = 400, "unreadable_event", "A message or record that names no S3 object"


class NotConfigured(ConversionError):
    status, code, title = 501, "not_configured", "This function is not set up for that"


class StorageError(ConversionError):
    """Root of what S3 answers instead of an object."""


class SourceMissing(StorageError):
    status, code, title = 404, "source_missing", "There is no such object"


class AccessDenied(StorageError):
    status, code, title = 403, "access_denied", "S3 denies access"


class SourceArchived(StorageError):
    status, code, title = 409, "source_archived", "The object is archived"


class SourceChanged(StorageError):
    status, code, title = 409, "source_changed", "The object was replaced while it was read"
    transient = True


class StorageRefused(StorageError):
    status, code, title = 502, "storage_refused", "S3 refuses the request"


class StorageUnavailable(StorageError):
    status, code, title = 503, "storage_unavailable", "S3 cannot answer now"
    transient = True


class Unfinished(Exception):
    """Raised after the rest of the event is done; what was done is skipped when the event comes again."""


class SettingsError(Exception):
    """The environment variables do not make sense together; the message lists every wrong one."""


class StyleError(Exception):
    """A frozen style is missing, damaged or made for something else."""


class UnknownEvent(Exception):
    """An event that is neither HTTP, nor S3, nor a warm-up."""
