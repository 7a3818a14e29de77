"""Pixels as stored, and OpenCV's decoder with its several ways to fail made one."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from handler.errors import CorruptImage, UnsupportedFormat
from handler.exif import orientation

DAMAGED = "The image data is damaged or ends early; send the whole file again."


@dataclass(frozen=True, slots=True)
class Raw:
    """Pixels as stored: H×W grey, H×W×3 BGR or H×W×4 BGRA, 8 or 16 bits, and what is still to be done."""

    pixels: NDArray[np.generic]
    orientation: int = 1
    profile: bytes = b""
    warnings: tuple[str, ...] = ()


def unpack(data: bytes, flags: int = cv2.IMREAD_UNCHANGED) -> Raw:
    """The first frame with its EXIF orientation and ICC profile. Raises CorruptImage."""
    try:
        pixels, kinds, blocks = cv2.imdecodeWithMetadata(np.frombuffer(data, np.uint8), flags)
    except cv2.error:  # raised for sizes over its limits and for some damaged headers; else it returns None
        raise CorruptImage(DAMAGED) from None
    if pixels is None:
        raise CorruptImage(DAMAGED)
    found = {kind: block.tobytes() for kind, block in zip(kinds, blocks, strict=True)}
    turn = orientation(found.get(cv2.IMAGE_METADATA_EXIF, b""))
    return Raw(pixels, turn, found.get(cv2.IMAGE_METADATA_ICCP, b""))


def to_8_bit(pixels: NDArray[np.generic]) -> NDArray[np.uint8]:
    """16-bit samples to 8-bit by rounding (65535 -> 255); 8-bit ones unchanged. Raises UnsupportedFormat."""
    if pixels.dtype == np.uint8:
        return pixels.astype(np.uint8, copy=False)
    if pixels.dtype == np.uint16:
        return np.asarray(cv2.convertScaleAbs(pixels.astype(np.uint16, copy=False), alpha=1 / 257), np.uint8)
    raise UnsupportedFormat(f"Its samples are {pixels.dtype}; send a picture of 8 or 16 bits per channel.")
