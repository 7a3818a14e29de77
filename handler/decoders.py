"""Encoded bytes to pixels as stored, one decoder per kind of container. The pixels come from OpenCV."""

from __future__ import annotations

import struct
from io import BytesIO

import cv2
import numpy as np
from numpy.typing import NDArray

from handler import bmp, exif, heif, jpeg
from handler.errors import CorruptImage, UnsupportedFormat
from handler.headers import Header, png_chunks
from handler.probe import SUPPORTED
from handler.raw import DAMAGED, Raw, unpack
from handler.tiff import byte_order, tiff_entries, tiff_tags, tiff_value

# TIFF photometric interpretations (TIFF 6.0, tag 262) that OpenCV takes for RGB although they are not.
TIFF_FOREIGN = {8: "CIE L*a*b*", 9: "ICC L*a*b*", 10: "ITU L*a*b*"}
TIFF_PALETTE = 3
TIFF_PREMULTIPLIED = 1  # of tag 338, ExtraSamples
ANIMATION = frozenset([b"acTL", b"fcTL", b"fdAT"])  # the chunks that make a PNG an APNG


def decode(data: bytes, header: Header, wanted_side: int) -> Raw:
    """Decode the first frame. Raises CorruptImage and UnsupportedFormat."""
    try:
        return _decode(data, header, wanted_side)
    except (struct.error, IndexError, ValueError):  # a structure of ours ran into the end of the data
        raise CorruptImage(DAMAGED) from None


def _decode(data: bytes, header: Header, wanted_side: int) -> Raw:
    if header.format == "jpeg":
        return jpeg.decode(data, header, wanted_side)
    if header.format == "png":
        return _png(_still(data) if header.animated else data)
    if header.format == "bmp":
        return bmp.decode(data)
    if header.format == "tiff":
        return _tiff(data)
    if header.format == "avif":
        return _avif(data)
    if header.format == "heic":
        return _heic(data)
    return unpack(data)


def _still(apng: bytes) -> bytes:
    """The PNG that a viewer without animation shows; OpenCV would decode a later frame over it."""
    kept = [apng[start:end] for kind, start, end in png_chunks(apng) if kind not in ANIMATION]
    return apng[:8] + b"".join(kept)


def _png(data: bytes) -> Raw:
    raw = unpack(data)
    key = next((data[start + 8 : start + 10] for kind, start, _ in png_chunks(data) if kind == b"tRNS"), b"")
    if raw.pixels.ndim == 3 or len(key) < 2:
        return raw
    return Raw(_keyed(raw.pixels, int.from_bytes(key, "big"), bits=data[24]), raw.orientation, raw.profile)


def _keyed(grey: NDArray[np.generic], key: int, bits: int) -> NDArray[np.generic]:
    """H×W grey, of which one value is transparent -> H×W×4. OpenCV leaves this to us, though not with RGB."""
    value, opaque = (key, 65535) if bits == 16 else (key * 255 // (2**bits - 1), 255)
    alpha = np.where(grey == value, 0, opaque).astype(grey.dtype)
    return np.dstack([grey, grey, grey, alpha])


def _tiff(data: bytes) -> Raw:
    tags = tiff_tags(data)
    _refuse_foreign(tags)
    # As stored, a palette comes out grey.
    palette = tags.get(262) == TIFF_PALETTE
    pixels = unpack(_as_stored(data), cv2.IMREAD_COLOR if palette else cv2.IMREAD_UNCHANGED).pixels
    if pixels.shape[2:] == (4,) and (pixels.dtype == np.uint8 or tags.get(338) == TIFF_PREMULTIPLIED):
        pixels = _straight(pixels)
    turn = tags.get(exif.ORIENTATION, 1)
    return Raw(pixels, turn if 1 <= turn <= 8 else 1, tiff_value(data, 34675))  # InterColorProfile


def _refuse_foreign(tags: dict[int, int]) -> None:
    """Raises UnsupportedFormat for what OpenCV would give the wrong colours or none."""
    kind, channels, bits = tags.get(262, 2), tags.get(277, 1), tags.get(258, 1)
    if kind in TIFF_FOREIGN:
        raise UnsupportedFormat(f"This TIFF is in {TIFF_FOREIGN[kind]}; save it as RGB.")
    if channels > 4:
        raise UnsupportedFormat(f"This TIFF has {channels} channels; save it as RGB.")
    if channels == 2:
        raise UnsupportedFormat("This TIFF is grey with transparency; save it as RGBA, or as PNG.")
    if channels == 1 and bits > 16:
        raise UnsupportedFormat(f"This TIFF has {bits} bits per sample; save it with 8 or 16.")


def _straight(pixels: NDArray[np.generic]) -> NDArray[np.generic]:
    """H×W×4 with colours multiplied by alpha, as libtiff gives all of 8 bits -> the colours themselves."""
    bgra = np.asarray(pixels, np.uint8 if pixels.dtype == np.uint8 else np.uint16)
    divisor = cv2.merge([np.maximum(bgra[:, :, 3], 1)] * 3)
    opaque = 255 if bgra.dtype == np.uint8 else 65535
    colours = cv2.divide(np.ascontiguousarray(bgra[:, :, :3]), divisor, scale=opaque)
    return np.dstack([colours, bgra[:, :, 3]])


def _as_stored(tiff: bytes) -> bytes:
    """The same TIFF with orientation 1, so that we turn the pixels ourselves.

    OpenCV 5.0 turns a TIFF while decoding it, and fails where that exchanges width and height.
    """
    order = byte_order(tiff)
    for tag, _, at in tiff_entries(tiff, order):
        if tag == exif.ORIENTATION:
            return tiff[:at] + struct.pack(order + "H", 1) + tiff[at + 2 :]
    return tiff


def _avif(data: bytes) -> Raw:
    pixels = unpack(data).pixels
    if pixels.dtype == np.uint16:  # OpenCV hands out the 10 or 12 stored bits as they are
        most = 2 ** heif.bits(data) - 1
        pixels = np.asarray(cv2.convertScaleAbs(pixels.astype(np.uint16, copy=False), alpha=255 / most))
    known = heif.primary(data)
    return Raw(pixels, heif.orientation(known), heif.profile(known))


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
    if pixels.ndim == 2:
        return Raw(pixels)
    channels = cv2.COLOR_RGB2BGR if pixels.shape[2] == 3 else cv2.COLOR_RGBA2BGRA
    return Raw(cv2.cvtColor(pixels, channels), 1, picture.info.get("icc_profile") or b"")
