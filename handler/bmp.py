"""BMP, where OpenCV gets three things wrong: fields that are not where it expects them, alpha, 16-bit white.

Source: BITMAPINFOHEADER and BITMAPV5HEADER, Win32 documentation.
"""

from __future__ import annotations

import struct

import cv2
import numpy as np
from numpy.typing import NDArray

from handler.errors import UnsupportedFormat
from handler.raw import Raw, unpack

CORE = 12  # size of the oldest header
WITH_ALPHA = 56  # from this size on, a header says where alpha is
BGRX = (0xFF0000, 0xFF00, 0xFF)
WHOLE_BYTES = frozenset([0xFF, 0xFF00, 0xFF0000, 0xFF000000])
FIVE, FIVE_SIX_FIVE = (0x7C00, 0x3E0, 0x1F), (0xF800, 0x7E0, 0x1F)


def decode(data: bytes) -> Raw:
    """Raises CorruptImage and UnsupportedFormat."""
    size, bits, fields = _layout(data)
    if bits == 32 and fields:
        return Raw(_thirty_two(data, size, fields))
    pixels = unpack(data, cv2.IMREAD_COLOR).pixels  # as stored, a palette of one colour would come out grey
    return Raw(_full_range(pixels, 6 if fields[:3] == FIVE_SIX_FIVE else 5) if bits == 16 else pixels)


def _layout(data: bytes) -> tuple[int, int, tuple[int, ...]]:
    """(size of the header, bits per pixel, masks of red, green, blue and alpha where the file gives any)."""
    size = struct.unpack_from("<I", data, 14)[0]
    if size == CORE:
        return size, struct.unpack_from("<H", data, 24)[0], ()
    bits, compression = struct.unpack_from("<HI", data, 28)
    if compression != 3:  # BI_BITFIELDS
        return size, bits, ()
    fields = struct.unpack_from("<4I", data, 54)
    if not _usual(size, bits, fields[:3]):
        raise UnsupportedFormat("This BMP has unusual bit fields; save it with 24 bits per pixel, or as PNG.")
    return size, bits, fields


def _usual(size: int, bits: int, masks: tuple[int, ...]) -> bool:
    if bits == 16:
        return masks in (FIVE, FIVE_SIX_FIVE)
    return WHOLE_BYTES.issuperset(masks) if size >= WITH_ALPHA else all(masks)


def _thirty_two(data: bytes, size: int, fields: tuple[int, ...]) -> NDArray[np.generic]:
    """The fourth byte is alpha only where a header says so, and then not where it is nothing but zeros."""
    pixels = unpack(data).pixels
    if size < WITH_ALPHA and fields[:3] != BGRX:
        return _by_masks(pixels, fields)
    opaque = size < WITH_ALPHA or fields[3] == 0 or not pixels[:, :, 3].any()
    return np.ascontiguousarray(pixels[:, :, :3]) if opaque else pixels


def _by_masks(pixels: NDArray[np.generic], fields: tuple[int, ...]) -> NDArray[np.uint8]:
    """H×W×4 bytes, which OpenCV leaves as they stand where masks follow an old header -> H×W×3 BGR."""
    words = np.ascontiguousarray(pixels).view("<u4")[:, :, 0]
    samples = [(words & mask) // (mask & -mask) for mask in fields[2::-1]]
    most = [mask // (mask & -mask) for mask in fields[2::-1]]
    return np.dstack([np.rint(one / top * 255) for one, top in zip(samples, most, strict=True)]).astype(np.uint8)


def _full_range(pixels: NDArray[np.generic], green: int) -> NDArray[np.uint8]:
    """OpenCV puts zeros below the 5 or 6 bits of a sample, which makes white a grey: repeat the bits instead."""
    eight = pixels.astype(np.uint8, copy=False)
    return eight | (eight >> np.array([5, green, 5], np.uint8))
