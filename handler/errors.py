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
└── InternalError                   500  internal_error  (a defect of ours; the cause goes to the log)
SettingsError                       the environment is misconfigured; names every wrong variable
StyleError                          a frozen style cannot be loaded
UnknownEvent                        lambda_handler was called with an event that it has no answer for

Every message says what was wrong and what to do about it: it is what the caller sees.
"""

from __future__ import annotations

from typing import ClassVar


class ConversionError(Exception):
    """A conversion that cannot be done. `code` is stable and documented; the message is for a person."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "The conversion failed"
    timings: dict[str, float]

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.timings = {}  # milliseconds per stage until it failed, as in Conversion


class InternalError(ConversionError):
    """A defect of ours, told to the caller without its traceback."""


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

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OutOfTime(ConversionError):
    status, code, title = 504, "out_of_time", "Not enough time left"


class SettingsError(Exception):
    """The environment variables do not make sense together; the message lists every wrong one."""


class StyleError(Exception):
    """A frozen style is missing, damaged or made for something else."""


class UnknownEvent(Exception):
    """An event that is neither HTTP, nor S3, nor a warm-up."""
