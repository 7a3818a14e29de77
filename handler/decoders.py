"""Encoded bytes to pixels as stored, one decoder per kind of container. The pixels come from OpenCV.

OpenCV hides what libjpeg warns about: a photo with damaged data decodes into one with a grey or shifted
half. So a JPEG is also read by simplejpeg, strict and at an eighth of the size, which costs about as much
as decoding at a reduced scale saves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO

import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from handler import exif
from handler.errors import CorruptImage, UnsupportedFormat
from handler.probe import SUPPORTED, Header, byte_order, tiff_entries

# What libjpeg warns of though every pixel is right: stray bytes between segments and unreadable ICC pieces;
# and what only simplejpeg minds: unusual chroma subsampling, which it does not know, and OpenCV decodes.
HARMLESS = re.compile(r"extraneous bytes|bad ICC marker|subsampling level")

# TIFF photometric interpretations (TIFF 6.0, tag 262) that OpenCV takes for RGB although they are not.
TIFF_FOREIGN = {8: "CIE L*a*b*", 9: "ICC L*a*b*", 10: "ITU L*a*b*"}


@dataclass(frozen=True, slots=True)
class Raw:
    """Pixels as stored: H×W grey, H×W×3 BGR or H×W×4 BGRA, 8 or 16 bits, and what is still to be done."""

    pixels: NDArray[np.generic]
    orientation: int = 1
    profile: bytes = b""
    warnings: tuple[str, ...] = ()


def decode(data: bytes, header: Header, wanted_side: int) -> Raw:
    """Decode the first frame. Raises CorruptImage and UnsupportedFormat."""
    if header.format == "jpeg":
        return _jpeg(data, header, wanted_side)
    if header.format == "tiff":
        return _tiff(data)
    if header.format == "avif":
        return _avif(data)
    if header.format == "heic":
        return _heic(data)
    return _with_metadata(data, cv2.IMREAD_UNCHANGED)


def to_8_bit(pixels: NDArray[np.generic]) -> NDArray[np.uint8]:
    """16-bit samples to 8-bit by rounding (65535 -> 255); 8-bit ones unchanged. Raises UnsupportedFormat."""
    if pixels.dtype == np.uint8:
        return pixels.astype(np.uint8, copy=False)
    if pixels.dtype == np.uint16:
        return np.asarray(cv2.convertScaleAbs(pixels.astype(np.uint16, copy=False), alpha=1 / 257), np.uint8)
    raise UnsupportedFormat(f"Its samples are {pixels.dtype}; send a picture of 8 or 16 bits per channel.")


def _with_metadata(data: bytes, flags: int) -> Raw:
    pixels, kinds, blocks = cv2.imdecodeWithMetadata(_buffer(data), flags)
    if pixels is None:
        raise CorruptImage("The image data is damaged or ends early; send the whole file again.")
    found = {kind: block.tobytes() for kind, block in zip(kinds, blocks, strict=True)}
    turn = exif.orientation(found.get(cv2.IMAGE_METADATA_EXIF, b""))
    return Raw(pixels, turn, found.get(cv2.IMAGE_METADATA_ICCP, b""))


def _jpeg(data: bytes, header: Header, wanted_side: int) -> Raw:
    shrink = reduction(max(header.width, header.height), wanted_side)
    raw = _with_metadata(data, _JPEG_FLAGS[shrink])
    try:
        simplejpeg.decode_jpeg(data, "GRAY", min_height=1, min_width=1, strict=True)
    except ValueError as warning:
        if not HARMLESS.search(str(warning)):
            raise CorruptImage(f"The JPEG is damaged ({warning}); send the whole file again.") from None
    return raw


def reduction(longest: int, wanted: int) -> int:
    """Largest of 8, 4, 2, 1 by which libjpeg can shrink while decoding and stay at or above `wanted`."""
    return next(scale for scale in (8, 4, 2, 1) if scale == 1 or longest // scale >= wanted)


_JPEG_FLAGS = {
    1: cv2.IMREAD_UNCHANGED,
    2: cv2.IMREAD_REDUCED_COLOR_2 | cv2.IMREAD_IGNORE_ORIENTATION,
    4: cv2.IMREAD_REDUCED_COLOR_4 | cv2.IMREAD_IGNORE_ORIENTATION,
    8: cv2.IMREAD_REDUCED_COLOR_8 | cv2.IMREAD_IGNORE_ORIENTATION,
}


def _tiff(data: bytes) -> Raw:
    order = byte_order(data)
    tags = {tag: (value, at) for tag, value, at in tiff_entries(data, order)}
    if (kind := tags.get(262, (2, 0))[0]) in TIFF_FOREIGN:
        raise UnsupportedFormat(f"This TIFF is in {TIFF_FOREIGN[kind]}; save it as RGB.")
    raw = _with_metadata(exif.as_stored(data), cv2.IMREAD_UNCHANGED)
    turn = tags.get(exif.ORIENTATION, (1, 0))[0]
    return Raw(raw.pixels, turn if 1 <= turn <= 8 else 1, _tiff_profile(data, tags))


def _tiff_profile(data: bytes, tags: dict[int, tuple[int, int]]) -> bytes:
    if 34675 not in tags:  # InterColorProfile
        return b""
    offset, at = tags[34675]
    return data[offset : offset + int.from_bytes(data[at - 4 : at], "little" if data[:2] == b"II" else "big")]


def _avif(data: bytes) -> Raw:
    raw = _with_metadata(data, cv2.IMREAD_UNCHANGED)
    pixels = raw.pixels
    if pixels.dtype == np.uint16:  # OpenCV hands out the 10 or 12 stored bits as they are
        deep = pixels.astype(np.uint16, copy=False)
        bits = 12 if int(deep.max()) > 1023 else 10
        pixels = np.asarray(cv2.convertScaleAbs(deep, alpha=255 / (2**bits - 1)))
    at = data.find(b"colrprof")
    size = int.from_bytes(data[at - 4 : at], "big") if at > 0 else 0
    # libavif turns and mirrors as the container says (irot, imir); EXIF orientation must then be ignored.
    return Raw(pixels, 1, data[at + 8 : at - 4 + size] if at > 0 else b"")


def _heic(data: bytes) -> Raw:
    try:
        import pillow_heif
    except ImportError:
        raise UnsupportedFormat(
            f"This is HEIC, which is not decoded here; send {SUPPORTED} (a phone can share a photo as JPEG), "
            "or install the extra `heic`."
        ) from None
    try:
        picture = pillow_heif.open_heif(BytesIO(data), convert_hdr_to_8bit=True)
        pixels = np.asarray(picture)
    except (ValueError, RuntimeError, OSError, EOFError, SyntaxError) as error:
        raise CorruptImage(f"The HEIC is damaged ({error}); send the whole file again.") from None
    channels = cv2.COLOR_RGB2BGR if pixels.shape[2] == 3 else cv2.COLOR_RGBA2BGRA
    return Raw(cv2.cvtColor(pixels, channels), 1, picture.info.get("icc_profile") or b"")


def _buffer(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)
